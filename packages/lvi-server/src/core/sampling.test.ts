import { commitId, type ExecutionId, type ModuleHash, type RunEffect } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import type { Ended } from "./execution.ts";
import { type Ground, type Sample, Sampler, type SampleEffect, type SampledActivation } from "./sampling.ts";
import type { Task } from "./task.ts";
import type { Workflow } from "./workflow.ts";

const [ID, PARENT] = ["8", "9"].map((digit) => digit.repeat(32)) as [ExecutionId, ExecutionId];
const EVERY_ONE = { every: 1, handlers: null, values: true, perSecond: null };
const NULL = Uint8Array.of(0xf6);
const invocation = {
  executionId: ID,
  module: "a".repeat(64) as ModuleHash,
  handler: "f",
  args: NULL,
  environment: { timeMs: 7, seed: NULL, caller: null },
};
const GROUND: Ground = { kind: "captured", snapshot: new Map(), reads: [] };

/** Fails a test that looks at any part of it. */
const UNTOUCHED = ((): never => {
  const refuse = (): never => {
    throw new Error("nobody has asked for samples");
  };
  return new Proxy(refuse, { get: refuse, has: refuse, ownKeys: refuse }) as never;
})();

function sampleOf(effects: readonly SampleEffect[]): Sample {
  const [first] = effects;
  if (effects.length !== 1 || first?.kind !== "sampled") throw new Error(JSON.stringify(effects));
  return first.sample;
}

function sampler(more: Partial<typeof EVERY_ONE> = {}): Sampler {
  const one = new Sampler(UNTOUCHED, UNTOUCHED);
  one.begin([{ ...EVERY_ONE, ...more }]);
  return one;
}

describe("while nobody asks", () => {
  test("nothing of an execution or a workflow is looked at", () => {
    const off = new Sampler(UNTOUCHED, UNTOUCHED);
    expect(off.sample(UNTOUCHED, "near-storage", null, UNTOUCHED, UNTOUCHED)).toEqual([]);
    expect(off.activation(UNTOUCHED, UNTOUCHED, null)).toEqual([]);
    const ending = sampler();
    ending.begin([]);
    expect(ending.sample(UNTOUCHED, "near-storage", null, UNTOUCHED, UNTOUCHED)).toEqual([]);
  });
});

describe("a sample", () => {
  const effects: readonly RunEffect[] = [{ kind: "cancel", task: PARENT }];
  const ended: Ended = { outcome: { kind: "result", value: NULL }, writes: [], effects };
  const call = { id: ID, location: "~tasks", invocation };

  test("has the effects of the execution", () => {
    const commit = commitId(1, 2);
    expect(sampleOf(sampler().sample(call, "near-storage", commit, GROUND, ended))).toMatchObject({
      ended: { effects },
      task: null,
      step: null,
      activation: null,
    });
  });

  test("says of which task it is an attempt, or which step it is", () => {
    const task = { attempt: 2, parent: PARENT } as Task;
    expect(sampleOf(sampler().sample({ ...call, task }, "near-storage", null, GROUND, ended))).toMatchObject({
      task: { attempt: 3, parent: PARENT },
    });
    const step = { workflow: PARENT, round: 1, command: 2 };
    expect(sampleOf(sampler().sample({ ...call, step }, "near-storage", null, GROUND, ended))).toMatchObject({ step });
  });

  test("of a workflow has its journal, if values are wanted", () => {
    const workflow = { ...invocation, id: ID, seed: NULL, caller: null, parent: null } as unknown as Workflow;
    const entry = { timeMs: 9, arrivals: [], commands: [], wait: null };
    const activation: SampledActivation = { round: 1, journal: [], arrivals: [], timeMs: 9, entry };
    const sample = sampleOf(sampler().activation(workflow, activation, null));
    expect(sample).toMatchObject({
      executionId: ID,
      path: "activation",
      location: "~tasks",
      commitId: null,
      ended: null,
      activation,
      invocation: { handler: "f", environment: { timeMs: 9 } },
    });
    expect([sample.versions.size, sample.values?.size]).toEqual([0, 0]);
    const versions = sampleOf(sampler({ values: false }).activation(workflow, activation, ended.outcome));
    expect(versions).toMatchObject({ values: null, activation: null, ended: { outcome: ended.outcome } });
  });
});
