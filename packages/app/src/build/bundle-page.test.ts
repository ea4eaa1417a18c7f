import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundlePage } from "./bundle-page.ts";

const CLIENT = "export const createClient = (): string => 'the client';";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "radical-page-"));
});
afterAll(() => rm(root, { recursive: true }));

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

test("a page is bundled with its parts and its styles; #radical is the client of the build", async () => {
  await write(
    "page/page.ts",
    'import { createClient } from "#radical"; import { part } from "./parts/part.ts"; import "./page.css"; part(createClient());',
  );
  await write("page/parts/part.ts", "export const part = (text: string): void => console.log(text, 'a part');");
  await write("page/page.css", "p { color: teal; }");
  const { files, folders } = await bundlePage(root, "page/page.ts", CLIENT, false);
  expect(files.map(({ name }) => name).toSorted()).toEqual(["page.css", "page.js"]);
  const textOf = (name: string): string | undefined => files.find((file) => file.name === name)?.text;
  expect(textOf("page.js")).toMatch(/the client[^]*a part/);
  expect(textOf("page.css")).toContain("teal");
  expect(folders).toEqual(["page", "page/parts"]);
});

test("of a page that can't be bundled the folders are known, also of a part that is not there", async () => {
  await write("page/wrong.ts", 'import "./missing/part.ts";');
  await expect(bundlePage(root, "page/wrong.ts", CLIENT, false)).rejects.toMatchObject({
    code: "page_not_bundled",
    folders: ["page", "page/missing"],
  });
  await expect(bundlePage(root, "page/none.ts", CLIENT, false)).rejects.toThrow("There is no file page/none.ts.");
});
