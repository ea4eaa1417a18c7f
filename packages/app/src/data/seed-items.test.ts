import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seedItems } from "./seed-items.ts";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "radical-seed-"));
});
afterAll(() => rm(root, { recursive: true }));

const seeded = async (text: string): Promise<readonly string[]> => {
  await writeFile(join(root, "seed.json"), text);
  return (await seedItems(root, null)).map(({ unit }) => unit);
};

test("a seed has its items by table and key", async () => {
  expect(await seeded('{"counts": {"a": 1, "b": {"n": 2.0}}, "none": {}}')).toEqual(["counts/a", "counts/b"]);
});

test.each([
  ["3", "is not a JSON object"],
  ["[]", "is not a JSON object"],
  ['{"counts": 3}', "counts is not a JSON object"],
  ['{"counts": "three"}', "counts is not a JSON object"],
  ['{"counts": [1]}', "counts is not a JSON object"],
  ['{"counts": null}', "counts is not a JSON object"],
  ['{"counts": {"": 1, "a": "\\ud800"}}', "has a wrong key[^]*counts/a has text with a lone surrogate"],
  ['{"counts": {', "is not JSON: "],
])("%s is refused", async (text, message) => {
  await expect(seeded(text)).rejects.toMatchObject({
    name: "CommandError",
    message: expect.stringMatching(message) as unknown,
  });
});
