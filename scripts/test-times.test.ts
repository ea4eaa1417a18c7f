import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Measured, MOST_PROCESSOR_SECONDS, dearest, overLimit, slownessOfMachine, timesOf } from "./test-times.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "radical-times-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const measured = (file: string, processorSeconds: number): Measured => ({ file, wallSeconds: 1, processorSeconds });

test("the times of a run have the dearest file first, and of a second try the second", () => {
  const lines = [measured("/r/a.test.ts", 1.2345), measured("/r/b/b.test.ts", 9), measured("/r/a.test.ts", 30)];
  const file = path.join(folder, "times");
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const times = timesOf("/r", file);
  expect(times).toEqual([measured("a.test.ts", 30), measured("b/b.test.ts", 9)]);
  expect(dearest(times, 1)).toBe("   30.0 s     1.0 s  a.test.ts");
});

describe("the limit of the short tier", () => {
  const files = [MOST_PROCESSOR_SECONDS + 0.1, MOST_PROCESSOR_SECONDS, 1].map((seconds) =>
    measured("a.test.ts", seconds),
  );

  test("is on processor time alone", () => {
    expect(overLimit(files, 1)).toEqual([files[0]]);
    expect(overLimit([{ ...measured("a.test.ts", 1), wallSeconds: 1_000 }], 1)).toEqual([]);
  });

  test("grows with the slowness of the machine, and does not shrink with its speed", () => {
    expect(overLimit(files, 1.1)).toEqual([]);
    expect(overLimit(files, 0.1)).toEqual([files[0]]);
    expect(overLimit([measured("a.test.ts", MOST_PROCESSOR_SECONDS * 2)], 1.9)).toHaveLength(1);
  });
});

test("the slowness of a machine is a number that it can count", () => {
  expect(slownessOfMachine()).toBeGreaterThan(0);
});
