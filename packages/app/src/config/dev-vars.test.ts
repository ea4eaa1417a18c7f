import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readDevVars } from "./dev-vars.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-vars-"));
});
afterEach(() => rm(folder, { recursive: true }));

const files = async (texts: Readonly<Record<string, string>>): Promise<void> => {
  for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, name), text);
};

test(".dev.vars of the environment goes first, alone", async () => {
  await files({ ".dev.vars": "A=1\nB=2\n", ".dev.vars.staging": "A=3\n", ".env": "C=4\n" });
  expect(await readDevVars(folder, null)).toEqual({ A: "1", B: "2" });
  expect(await readDevVars(folder, "staging")).toEqual({ A: "3" });
  expect(await readDevVars(folder, "other")).toEqual({ A: "1", B: "2" });
});

test("without .dev.vars the .env files are laid over each other", async () => {
  expect(await readDevVars(folder, null)).toEqual({});
  await files({
    ".env": "A=1\nB=1\nC=1\n",
    ".env.local": "B=2\nC=2\n",
    ".env.staging": "C=3\n",
    ".env.staging.local": "",
  });
  expect(await readDevVars(folder, null)).toEqual({ A: "1", B: "2", C: "2" });
  expect(await readDevVars(folder, "staging")).toEqual({ A: "1", B: "2", C: "3" });
});
