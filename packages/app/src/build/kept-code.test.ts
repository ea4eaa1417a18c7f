import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { scriptOf } from "./kept-code.ts";

const SCRIPT = "(function (n) { const twice = (x) => 2 * x; return twice(n); })";

function folderWith(script: string): { readonly folder: string; readonly file: URL; readonly kept: () => string[] } {
  const folder = mkdtempSync(join(tmpdir(), "radical-kept-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "script.js");
  writeFileSync(path, script);
  const kept = (): string[] => readdirSync(folder).filter((name) => name !== "script.js");
  return { folder, file: pathToFileURL(path), kept };
}

function run(file: URL, folder: string | undefined): number {
  const { value, keepCode } = scriptOf(file, folder);
  const result = (value as (n: number) => number)(21);
  keepCode();
  return result;
}

test("code is kept after a run, and the next one takes it", () => {
  const { folder, file, kept } = folderWith(SCRIPT);
  expect(run(file, folder)).toBe(42);
  const [name] = kept();
  if (name === undefined) throw new Error("nothing was kept");
  const { ino } = statSync(join(folder, name));
  expect(run(file, folder)).toBe(42);
  expect(kept()).toEqual([name]);
  // Code that is kept again is in another file.
  expect(statSync(join(folder, name)).ino).toBe(ino);
});

test("code of another script of the same length is not taken", () => {
  const { folder, file, kept } = folderWith(SCRIPT);
  run(file, folder);
  writeFileSync(file, SCRIPT.replace("2 * x", "3 * x"));
  expect(run(file, folder)).toBe(63);
  expect(kept()).toHaveLength(2);
});

test.each([
  ["part of the code", (bytes: Buffer) => bytes.subarray(0, bytes.length - 1)],
  [
    "other code",
    (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -1), Buffer.from([bytes.readUInt8(bytes.length - 1) ^ 1])]),
  ],
  ["nothing", () => Buffer.alloc(0)],
])("%s is replaced", (_, change) => {
  const { folder, file, kept } = folderWith(SCRIPT);
  run(file, folder);
  const path = join(folder, kept()[0]!);
  const whole = readFileSync(path);
  writeFileSync(path, change(whole));
  expect(run(file, folder)).toBe(42);
  expect(readFileSync(path)).toHaveLength(whole.length);
});

test.each([
  ["there is no folder", undefined],
  ["it can't be written", "/nonexistent/folder"],
])("a script runs where %s", (_, folder) => {
  const { file, kept } = folderWith(SCRIPT);
  expect(run(file, folder)).toBe(42);
  expect(kept()).toEqual([]);
});
