import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RecordingFile } from "./recording-file.ts";
import { RecordingSeal } from "./sealed-recording.ts";

const HEAD = { key: "2026-01-01-01234567", deployment: null, environment: null, madeAtMs: 1, untilMs: 2 };

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(path.join(tmpdir(), "radical-recording-"))));
afterEach(() => rm(folder, { recursive: true }));

test("a file in a folder that is not there is told with its name, and is not a fault of Radical", () => {
  const output = path.join(folder, "missing", "records.jsonl");
  expect(() => new RecordingFile(output, null)).toThrow(
    expect.objectContaining({
      code: "file_not_written",
      message: expect.stringContaining(`${output} can't be written`),
    }),
  );
});

test("a sealed file without records has its first line and its end, and is its owner's alone", async () => {
  const output = path.join(folder, "records.jsonl");
  const seal = new RecordingSeal(HEAD, new Uint8Array(32));
  // An earlier one may be everybody's.
  await writeFile(output, "earlier", { mode: 0o644 });
  new RecordingFile(output, seal).close();
  const [first, end, ...more] = (await readFile(output, "utf8")).split("\n");
  expect([first, more]).toEqual([seal.head, [""]]);
  expect(end).toMatch(/^"[A-Za-z0-9+/]+={0,2}"$/);
  expect((await stat(output)).mode & 0o777).toBe(0o600);
});
