import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { discoverSources } from "./discover-sources.ts";

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "radical-sources-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

test("handler files are those directly in the folder; imports are followed, cycles too", async () => {
  await write({
    "handlers/b.ts": `import { x } from "./lib/x";\nexport * from '../models/index.ts'`,
    "handlers/a.ts": `import "../models";`,
    "handlers/a.test.ts": "",
    "handlers/types.d.ts": "",
    "handlers/readme.md": "",
    "handlers/lib/x.ts": `import { y } from "./y"; // from "./nowhere"`,
    "handlers/lib/y.ts": `import { x } from "./x";`,
    "handlers/lib/unused.ts": "",
    "models/index.ts": "",
  });
  const { handlerFiles, sources, folders } = await discoverSources(root, "handlers");
  expect(handlerFiles).toEqual(["handlers/a.ts", "handlers/b.ts"]);
  expect(sources.map(({ path }) => path)).toEqual([
    "handlers/a.ts",
    "handlers/b.ts",
    "handlers/lib/x.ts",
    "handlers/lib/y.ts",
    "models/index.ts",
  ]);
  expect(folders).toEqual(["handlers", "handlers/lib", "models"]);
});

test("nothing outside the project is read", async () => {
  await write({ "app/handlers/a.ts": `import "../../secret";`, "secret.ts": "" });
  const { sources } = await discoverSources(join(root, "app"), "handlers");
  expect(sources.map(({ path }) => path)).toEqual(["handlers/a.ts"]);
});

test("no folder and no files are told apart", async () => {
  await expect(discoverSources(root, "handlers")).rejects.toThrow(/has no folder handlers\//);
  await mkdir(join(root, "handlers"));
  await expect(discoverSources(root, "handlers")).rejects.toThrow(/no \.ts files/);
});
