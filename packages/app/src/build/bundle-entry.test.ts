import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleEntry } from "./bundle-entry.ts";

const DEPLOYED = { colours: false, isReplaceable: false };

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "radical-entry-"));
});
afterAll(() => rm(root, { recursive: true }));

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

test("the entry is bundled around the runtime, with what it imports; modules and manifest stay beside it", async () => {
  await write(
    "src/worker.ts",
    `import { createRadical } from "radical:worker"; import { A } from "./lib/a.ts"; import "words";
    export class Counter {} export default createRadical({ authenticate: () => A });`,
  );
  await write("src/lib/a.ts", 'export const A: string = "the letter";');
  await write("node_modules/words/package.json", '{ "name": "words", "type": "module", "exports": "./index.js" }');
  await write("node_modules/words/index.js", "globalThis.words = 'of a package';");
  const { worker, folders } = (await bundleEntry(root, "src/worker.ts", DEPLOYED))!;
  expect(folders).toEqual(["src", "src/lib"]);
  expect(worker).toContain("the letter");
  expect(worker).toContain("of a package");
  const imported = [...worker.matchAll(/^import .* from "(.*)";$/gm)].map((match) => match[1] ?? "");
  expect([...new Set(imported)].toSorted()).toEqual([
    "./manifest.json",
    "./module.rw.wasm",
    "./module.wasm",
    "cloudflare:workers",
  ]);
  expect(worker).toMatch(/export \{\n  Counter,\n  RadicalCache,/);
});

test("there need not be one", async () => {
  expect(await bundleEntry(root, "src/nothing.ts", DEPLOYED)).toBeNull();
});

test.each([
  ["wrong", "./parts/wrong.ts"],
  ["not there yet", "./parts/no-such-file.ts"],
])(
  "of one that can't be bundled the folders are known, since what is %s may be in another than its own",
  async (_, path) => {
    await write("src/parts/wrong.ts", "export const {");
    await write("src/of-parts.ts", `import ${JSON.stringify(path)}; import "words";`);
    await expect(bundleEntry(root, "src/of-parts.ts", DEPLOYED)).rejects.toMatchObject({
      folders: ["src", "src/parts"],
    });
  },
);

test.each([
  ["syntax", "export default {;", /src\/broken\.ts:1:16:/],
  ["a package that is not there", 'import "no-such-package";', /Could not resolve "no-such-package"/],
  ["a module of Node", 'import "node:fs";', /Could not resolve "node:fs"/],
])("what is wrong is shown at its place: %s", async (_, text, words) => {
  await write("src/broken.ts", text);
  await expect(bundleEntry(root, "src/broken.ts", DEPLOYED)).rejects.toMatchObject({
    name: "CommandError",
    code: "worker_not_bundled",
    message: expect.stringMatching(words) as unknown,
  });
});
