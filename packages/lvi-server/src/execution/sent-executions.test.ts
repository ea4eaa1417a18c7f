import { commitId, type Entry, entryOf, type ModuleHash, type UnitId, unitId, NO_EXECUTION } from "@radical/protocol";
import { expect, test } from "vitest";
import type { Run } from "../core/run.ts";
import type { Invocation } from "../core/intent.ts";
import { SentExecutions } from "./sent-executions.ts";

const environment = { timeMs: 0, seed: new Uint8Array(16), caller: null };
const invoked = (): Invocation => ({
  executionId: NO_EXECUTION,
  module: "" as ModuleHash,
  handler: "f",
  args: new Uint8Array(10),
  environment,
});
const unit = (index: number): UnitId => unitId("t", String(index));
const valueOf = (bytes: number, sequence = 1): Entry => entryOf(commitId(1, sequence), new Uint8Array(bytes));
const runOf = (invocation: Invocation, snapshot: ReadonlyMap<UnitId, Entry>): Run => ({
  id: 1,
  invocation,
  snapshot,
  access: { kind: "record", guess: false },
  kills: 0,
});

test("each value of an execution goes to a thread once, in however many rounds", () => {
  const sent = new SentExecutions(32 * 1024 * 1024);
  const invocation = invoked();
  const snapshot = new Map<UnitId, Entry>();
  let bytes = 0;
  const ROUNDS = 200;
  const VALUE_BYTES = 300;
  for (let round = 0; round < ROUNDS; round++) {
    snapshot.set(unit(round), valueOf(VALUE_BYTES));
    const sending = sent.send(runOf(invocation, new Map(snapshot)));
    expect([sending.execution, sending.invocation, sending.dropped]).toEqual([1, round === 0 ? invocation : null, []]);
    for (const { value } of sending.values.values()) bytes += value!.length;
  }
  expect(bytes).toBe(ROUNDS * VALUE_BYTES);
});

test("a value that has changed goes again; without a unit that was there it is another execution", () => {
  const sent = new SentExecutions(32 * 1024 * 1024);
  const invocation = invoked();
  sent.send(
    runOf(
      invocation,
      new Map([
        [unit(1), valueOf(1)],
        [unit(2), valueOf(1)],
      ]),
    ),
  );
  const changed = sent.send(
    runOf(
      invocation,
      new Map([
        [unit(1), valueOf(2, 2)],
        [unit(2), valueOf(1)],
      ]),
    ),
  );
  expect([...changed.values.keys()]).toEqual([unit(1)]);
  const fewer = sent.send(runOf(invocation, new Map([[unit(1), valueOf(2, 2)]])));
  expect(fewer).toMatchObject({ execution: 2, invocation, dropped: [1] });
  expect([...fewer.values.keys()]).toEqual([unit(1)]);
});

test("what a thread keeps is bounded: in number, and in bytes", () => {
  const sent = new SentExecutions(32 * 1024 * 1024);
  const invocations = Array.from({ length: 9 }, invoked);
  const dropped = invocations.map((invocation) => sent.send(runOf(invocation, new Map())).dropped);
  expect(dropped.flat()).toEqual([1]);
  const large = new Map([[unit(1), valueOf(33 * 1024 * 1024)]]);
  expect(sent.send(runOf(invoked(), large)).dropped).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
  expect(sent.has(runOf(invocations[8]!, new Map()))).toBe(false);
});
