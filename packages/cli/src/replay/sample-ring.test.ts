import type { SampleLine } from "@radical/protocol";
import { expect, test } from "vitest";
import { type Sample, SampleRing } from "./sample-ring.ts";

function sample(execution: string, more: Partial<Sample> = {}): SampleLine {
  const base = { kind: "sample", path: "near-storage", location: "JP", handler: "like", timeMs: 7, seed: "" } as const;
  const rest = { module: "m", args: "", caller: null, commit: null, versions: [], values: [], ended: null };
  return { ...base, ...rest, execution, ...more } as SampleLine;
}

test("the last samples are kept, the latest first, and what was left out is counted", () => {
  const ring = new SampleRing();
  for (let at = 0; at < 600; at++) ring.add(sample(`e${at}`));
  ring.add({ kind: "left-out", count: 3 });
  const { records, leftOut } = ring.records;
  expect([records.length, records[0]?.execution, records.at(-1)?.execution, leftOut]).toEqual([500, "e599", "e100", 3]);
  expect(ring.get("e99")).toBeNull();
  expect(ring.get("e100")).toMatchObject({ handler: "like" });
});

test("values have a bound together; an execution that comes again takes its own place", () => {
  const ring = new SampleRing();
  const values = [["t/a", "x".repeat(6_000_000)]] as const;
  for (const execution of ["a", "b", "b", "b"]) ring.add(sample(execution, { values }));
  expect(ring.records.records.map(({ execution }) => execution)).toEqual(["b", "a"]);
  ring.add(sample("c", { values }));
  expect(ring.records.records.map(({ execution }) => execution)).toEqual(["c", "b"]);
});
