import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Project } from "@radical/app";
import { afterEach, beforeEach, expect, test } from "vitest";
import { seedOfNewData } from "./seed-data.ts";

let root: string;
let stateFolder: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "radical-seed-"));
  stateFolder = join(root, ".radical");
  await mkdir(stateFolder);
  await writeFile(join(root, "seed.json"), "{}");
});
afterEach(() => rm(root, { recursive: true }));

/** Whether a start would write the seed. */
function seeds(isWanted: boolean): boolean {
  const never = (): never => {
    throw new Error("nothing is written yet");
  };
  const project = { root } as Project;
  const rest = { server: never, program: never, onEvent: never, isOver: never };
  return seedOfNewData({ project, isWanted, stateFolder, ...rest }) !== null;
}

test("new data is seeded, also by the next start if the first one was interrupted", async () => {
  expect(seeds(true)).toBe(true);
  await writeFile(join(stateFolder, "data.sqlite"), "");
  expect(seeds(true)).toBe(true);
});

test("data is not seeded", async () => {
  await writeFile(join(stateFolder, "data.sqlite"), "");
  expect(seeds(true)).toBe(false);
});

test("after a start without the seed the data is the developer's, whatever was interrupted before", async () => {
  expect(seeds(true)).toBe(true);
  await writeFile(join(stateFolder, "data.sqlite"), "");
  expect(seeds(false)).toBe(false);
  expect(existsSync(join(stateFolder, "seed-unfinished"))).toBe(false);
  expect(seeds(true)).toBe(false);
});

test("the same holds for a start of a project that has no seed file", async () => {
  expect(seeds(true)).toBe(true);
  await writeFile(join(stateFolder, "data.sqlite"), "");
  await rm(join(root, "seed.json"));
  expect(seeds(true)).toBe(false);
  await writeFile(join(root, "seed.json"), "{}");
  expect(seeds(true)).toBe(false);
});
