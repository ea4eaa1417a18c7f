import type { Sample } from "@radical/lvi-server/core";
import {
  commitId,
  entryOf,
  type ExecutionId,
  NO_COMMIT,
  type Outcome,
  type UnitId,
  type Version,
} from "@radical/protocol";
import { describe, expect, test } from "vitest";
import type { Operation } from "../history.ts";
import type { Applied } from "../model-storage.ts";
import { bytesOf, encodeArgs, MODULES, type ProgramName } from "../programs.ts";
import { checkSamples } from "./samples.ts";
import { checkVersions } from "./versions.ts";

const unit = (key: string): UnitId => `item/${key}` as UnitId;
const idOf = (name: string): ExecutionId => name.padStart(32, "0") as ExecutionId;
const environment = { timeMs: 0, seed: new Uint8Array(16), caller: null };
const result = (seen: string): Outcome => ({ kind: "result", value: bytesOf(`|${seen}`) });
const valueOf = (writer: string): Uint8Array => bytesOf(`${writer}:`);
const versionOf = (writer: string, sequence: number): Version =>
  entryOf(commitId(1, sequence), valueOf(writer)).version;
const ABSENT: Version = { commitId: NO_COMMIT, hash: null };

function operation(name: string, program: ProgramName, at: readonly [number, number], outcome: Outcome): Operation {
  const [invokedAt, answeredAt] = at;
  const units = [unit("a")];
  return {
    name,
    executionId: idOf(name),
    program,
    units,
    amount: 0,
    mustNotWrite: false,
    invokedAt,
    answeredAt,
    outcome,
  };
}

function applied(name: string, sequence: number, outcome: Outcome): Applied {
  const writes = [{ unit: unit("a"), value: valueOf(name) }];
  return { executionId: idOf(name), commitId: commitId(1, sequence), module: MODULES[0], environment, outcome, writes };
}

function sample(name: string, program: ProgramName, version: Version, more: Partial<Sample> = {}): Sample {
  return {
    executionId: idOf(name),
    path: "valid",
    location: "location 0",
    invocation: {
      executionId: idOf(name),
      module: MODULES[0],
      handler: program,
      args: encodeArgs({ operation: name, units: [unit("a")], amount: 0 }),
      environment,
    },
    commitId: null,
    versions: new Map([[unit("a"), version]]),
    values: null,
    ended: null,
    task: null,
    step: null,
    activation: null,
    ...more,
  };
}

// v writes a, w writes it after that, and r reads it in between.
const V = applied("v", 1, result(""));
const W = applied("w", 2, result("item/a=v"));
const HISTORY = [
  operation("v", "overwrite", [1, 2], V.outcome),
  operation("r", "read", [3, 6], result("item/a=v")),
  operation("w", "update", [7, 8], W.outcome),
];
const LOG = [V, W];

function problemsOf(taken: Sample, at: number, isApplied = taken.ended !== null): readonly string[] {
  const { problems, readers } = checkSamples(HISTORY, LOG, [{ sample: taken, at, isApplied }]);
  return [...problems, ...checkVersions([...HISTORY, ...readers], LOG)];
}

describe("a sample of a read-only execution", () => {
  const R = sample("r", "read", versionOf("v", 1), { values: new Map([[unit("a"), valueOf("v")]]) });

  test("is right if its versions were there when it was taken", () => {
    expect(problemsOf(R, 5)).toEqual([]);
  });

  test("is wrong before what it read was written, and after it was written again", () => {
    expect(problemsOf(R, 0.5).join()).toContain("no order is possible");
    expect(problemsOf(R, 9).join()).toContain("no order is possible");
  });

  test("is wrong if it says absent of what was there", () => {
    expect(problemsOf(sample("r", "read", ABSENT), 5).join()).toContain("no order is possible");
  });

  test.each([
    ["a version that never was", { versions: new Map([[unit("a"), versionOf("v", 7)]]) }, "never was"],
    ["a version with another hash", { versions: new Map([[unit("a"), versionOf("x", 1)]]) }, "never was"],
    ["another value", { values: new Map([[unit("a"), valueOf("x")]]) }, "another value"],
    ["no value", { values: new Map() }, "another value"],
    ["another handler", { invocation: { ...R.invocation, handler: "update" } }, "another call"],
    ["another id", { executionId: idOf("z") }, "another call"],
  ] as const)("with %s is found", (_what, more, problem) => {
    expect(problemsOf({ ...R, ...more }, 5).join()).toContain(problem);
  });
});

describe("a sample of an execution that wrote", () => {
  const { outcome, writes } = W;
  const UPDATE = sample("w", "update", versionOf("v", 1), {
    path: "followup",
    commitId: W.commitId,
    ended: { outcome, writes },
  });

  test("is right if it ended like that, whenever it is taken", () => {
    expect(problemsOf(UPDATE, 20)).toEqual([]);
  });

  test("is wrong before storage has its writes", () => {
    expect(problemsOf(UPDATE, 20, false).join()).toContain("before its writes were durable");
  });

  test("may be followed by another run, if it has left no trace", () => {
    const read = { ...UPDATE, path: "near-storage", commitId: null, ended: { outcome, writes: [] } } as const;
    expect(problemsOf(read, 6, false).join()).not.toContain("did not end like that");
  });

  test.each([
    ["another outcome", { ended: { outcome: result("item/a="), writes } }, "did not end like that"],
    ["without its writes", { ended: { outcome, writes: [] } }, "did not end like that"],
    [
      "other writes",
      { ended: { outcome, writes: [{ unit: unit("a"), value: valueOf("x") }] } },
      "did not end like that",
    ],
    ["the commit id of another", { commitId: V.commitId }, "did not end like that"],
    ["another module", { invocation: { ...UPDATE.invocation, module: MODULES[1] } }, "did not end like that"],
    ["what it wrote in place of what it read", { versions: new Map([[unit("a"), versionOf("w", 2)]]) }, "did not see"],
    ["nothing of what it read", { versions: new Map() }, "did not see"],
  ] as const)("with %s is found", (_what, more, problem) => {
    expect(problemsOf({ ...UPDATE, ...more }, 20).join()).toContain(problem);
  });
});
