import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildServerArtefact, type ServerArtefact } from "./server-artefact.ts";
import { tarOf } from "./tar.ts";

let folder: string;
let artefact: ServerArtefact;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "radical-artefact-"));
  artefact = await buildServerArtefact();
});
afterAll(() => rmSync(folder, { recursive: true }));

test("the same sources give the same artefact", async () => {
  expect((await buildServerArtefact()).sha256).toBe(artefact.sha256);
});

test("tar unpacks what was packed: names, bytes, what can be run", () => {
  const texts = { "a.txt": "ä".repeat(300), "b/c.sh": "#!/bin/sh\necho hello\n", "d/empty": "" };
  writeFileSync(join(folder, "some.tar"), tarOf(texts));
  execFileSync("tar", ["-xf", "some.tar"], { cwd: folder });
  for (const [path, text] of Object.entries(texts)) expect(readFileSync(join(folder, path), "utf8")).toBe(text);
  expect(execFileSync(join(folder, "b/c.sh"), { encoding: "utf8" })).toBe("hello\n");
  expect(statSync(join(folder, "a.txt")).mode & 0o111).toBe(0);
});

test("a path that has no room in a header is refused", () => {
  expect(() => tarOf({ ["a".repeat(101)]: "" })).toThrow("too long");
});
