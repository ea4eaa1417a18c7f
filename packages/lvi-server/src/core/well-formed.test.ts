/** Each invariant is broken once. */
import { commitId, type ExecutionId, type LviRequest, type ModuleHash, type UnitId } from "@radical/protocol";
import { beforeEach, describe, expect, test } from "vitest";
import {
  abandonedOf,
  type Caller,
  type Declared,
  type Ended,
  type Ending,
  type Execution,
  type NearStorage,
  type Pending,
  pendingOn,
  requested,
  type Storing,
  usageOf,
} from "./execution.ts";
import type { Completion, Intent } from "./intent.ts";
import { declaredLocks, GATE } from "./lock-requests.ts";
import { LockTable } from "./lock-table.ts";
import { assertWellFormed, type OperationUnderWay, type RunUnderWay } from "./well-formed.ts";

const X = "t/x" as UnitId;
const Y = "t/y" as UnitId;
const VERSION = { commitId: commitId(1, 1), hash: null };
const UNITS = [{ unit: X, mode: "read-write", version: VERSION }] as const;

let callers = 0;

function callerOf(id: string): Caller {
  const request: LviRequest = {
    executionId: id as ExecutionId,
    module: "a".repeat(64) as ModuleHash,
    handler: "f",
    args: new Uint8Array(),
    environment: { timeMs: 0, seed: new Uint8Array(16), caller: null },
    location: "near",
    units: UNITS,
    retained: false,
    deadlineMs: 10_000,
    attempt: 1,
    seen: null,
    mustNotWrite: false,
    mayEffect: false,
    lanes: [],
    session: null,
  };
  return { id: ++callers, request, receivedAtMs: 0, deadlineMs: 10_000 };
}

function intentOf({ id, invocation, location, retained, mustNotWrite }: Execution): Intent {
  const executionId = id;
  return {
    ...invocation,
    executionId,
    commitId: commitId(2, 1),
    location,
    units: UNITS,
    retained,
    mustNotWrite,
    lanes: [],
    createdAtMs: 0,
  };
}

function near(more: Partial<NearStorage> = {}): NearStorage {
  const fresh: NearStorage = {
    cause: "stale",
    abandoned: null,
    recording: false,
    guessing: true,
    wanted: new Set(),
    queries: new Map(),
    runs: 1,
    rounds: 0,
    gated: false,
  };
  return { ...fresh, ...more };
}

/** Two executions: `pending` was told and holds x; `other` has come just now. */
class State {
  readonly executions = new Map<ExecutionId, Execution>();
  readonly clearing = new Set<Execution>();
  leaseFault: string | null = null;
  readonly leases = { faultOf: (): string | null => this.leaseFault };
  readonly locks = new LockTable<Execution>();
  readonly operations: OperationUnderWay[] = [];
  readonly runs: RunUnderWay[] = [];
  readonly lost: Execution[] = [];
  readonly replaced: Execution[] = [];
  readonly excess = { executions: 0, units: 0, bytes: 0 };
  readonly pending: Execution;
  readonly phase: Pending;
  readonly other: Execution;
  readonly declared: Declared;

  constructor() {
    this.pending = this.#add("1");
    this.pending.callers = [];
    this.phase = pendingOn(intentOf(this.pending), 1);
    this.pending.phase = this.phase;
    this.locks.acquireBehind(this.pending, declaredLocks(UNITS), this.pending.ticket, () => false);
    this.other = this.#add("2");
    this.declared = this.other.declared!;
    this.other.phase = { kind: "running", near: near(), snapshot: new Map() };
    this.runs.push({ execution: this.other, isReplay: false });
  }

  #add(id: string): Execution {
    const caller = callerOf(id);
    const execution = requested(caller, usageOf(caller.request.args, UNITS), this.executions.size + 1);
    this.executions.set(execution.id, execution);
    return execution;
  }

  get used(): { executions: number; units: number; bytes: number } {
    const all = [...this.executions.values()].map(({ usage }) => usage);
    return {
      executions: all.length + this.excess.executions,
      units: all.reduce((sum, { units }) => sum + units, 0) + this.excess.units,
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0) + this.excess.bytes,
    };
  }

  /** The told one waits to complete until read leases are over, as after an early takeover. */
  clear(writes: Completion["writes"]): void {
    const ended: Ended = { outcome: { kind: "result", value: new Uint8Array() }, writes };
    const commit = { id: commitId(2, 1), sequence: 1 };
    const ending: Ending = { execution: this.pending, of: this.phase, commit, ended, path: "followup", followups: [] };
    this.pending.phase = { kind: "clearing", next: { kind: "complete", ending, members: [ending] }, sinceMs: 0 };
    this.clearing.add(this.pending);
  }

  /** The other one has stored its intent, and is not told before read leases are over. */
  tell(): void {
    const storing: Storing = {
      kind: "storing",
      intent: { ...intentOf(this.other), units: [] },
      sequence: 2,
      speculator: this.declared.speculator,
    };
    this.runs.length = 0;
    this.other.phase = { kind: "clearing", next: { kind: "tell", storing, operation: 7 }, sinceMs: 0 };
    this.clearing.add(this.other);
  }

  completing(writes: Completion["writes"]): void {
    const completion = { executionId: this.pending.id, writes } as Completion;
    const rest = { sequence: 1, hash: "" as never, sampled: [], logged: [], followups: [] };
    this.pending.phase = { kind: "completing", of: this.phase, expects: "pending", completion, ...rest };
    this.operations.push({ kind: "complete", execution: this.pending });
  }
}

let state: State;
beforeEach(() => {
  state = new State();
});

test("a state that is well-formed", () => {
  assertWellFormed(state);
  state.completing([{ unit: X, value: null }]);
  assertWellFormed(state);
});

test("an execution that waits for read leases to end", () => {
  state.clear([{ unit: X, value: null }]);
  assertWellFormed(state);
  state.tell();
  assertWellFormed(state);
});

type Break = readonly [name: string, words: RegExp, broken: (state: State) => void];

const BROKEN: readonly Break[] = [
  [
    "a new execution that a step forgets",
    /no execution is in this phase/,
    ({ other, runs }) => {
      runs.splice(0);
      other.phase = { kind: "arrived" };
    },
  ],
  [
    "an ended one that is still listed",
    /no execution is in this phase/,
    ({ other, runs }) => {
      runs.splice(0);
      other.phase = { kind: "ended", hash: null };
    },
  ],
  [
    "one that is listed under another id",
    /its own id/,
    ({ executions, other }) => {
      executions.delete(other.id);
      executions.set("9" as ExecutionId, other);
    },
  ],
  ["one that nobody waits for", /nobody waits for it/, ({ other }) => (other.callers = [])],
  [
    "a caller that waits twice",
    /waits for one execution/,
    ({ pending, other }) => (pending.callers = [...other.callers]),
  ],
  ["a budget that counts what has ended", /the budgets count/, ({ excess }) => (excess.bytes = 1)],
  ["a run that was forgotten", /its run does not/, ({ runs }) => runs.splice(0)],
  [
    "a member of a train whose run was forgotten",
    /its run does not/,
    ({ runs, other }) => runs.splice(0, 1, { ...runs[0]!, execution: { ...other }, followers: [] }),
  ],
  [
    "a member of a train that runs in another one too",
    /its run does not/,
    ({ runs, other }) => runs.push({ execution: { ...other }, isReplay: false, followers: [{ execution: other }] }),
  ],
  [
    "a member of a commit that is not completing",
    /its completion does not/,
    ({ operations, pending, other }) => {
      operations.push({ kind: "complete", execution: other, members: [{ execution: pending }] });
    },
  ],
  ["two runs at once", /its run does not/, ({ runs, other }) => runs.push({ execution: other, isReplay: false })],
  [
    "a run beside a pending intent",
    /its run does not/,
    ({ runs, pending }) => runs.push({ execution: pending, isReplay: false }),
  ],
  [
    "a look-up of what is past it",
    /its look-up does not/,
    ({ operations, other }) => operations.push({ kind: "look-up", execution: other }),
  ],
  [
    "a load of what does not wait for it",
    /its load does not/,
    ({ operations, other }) => operations.push({ kind: "load", execution: other }),
  ],
  [
    "an intent that nobody stores",
    /the storing of its intent/,
    ({ other, runs, declared }) => {
      runs.splice(0);
      other.phase = { kind: "storing", intent: intentOf(other), sequence: 2, speculator: declared.speculator };
    },
  ],
  [
    "an intent without its locks",
    /lacks locks of its intent/,
    ({ other, runs, operations, declared }) => {
      runs.splice(0);
      operations.push({ kind: "store", execution: other });
      other.phase = { kind: "storing", intent: intentOf(other), sequence: 2, speculator: declared.speculator };
    },
  ],
  ["a pending intent without its locks", /lacks locks of its intent/, ({ locks, pending }) => locks.release(pending)],
  [
    "a pending intent that is only shared",
    /lacks locks of its intent/,
    ({ locks, pending }) => {
      locks.release(pending);
      locks.acquireBehind(pending, [{ unit: X, mode: "shared" }], pending.ticket, () => false);
    },
  ],
  [
    "the intent of another execution",
    /that of another/,
    ({ other, pending }) => (pending.phase = pendingOn(intentOf(other), 1)),
  ],
  ["a re-execution without its load", /no load goes with/, ({ phase }) => (phase.replay = "loading")],
  ["a re-execution without its run", /no run goes with/, ({ phase }) => (phase.replay = "running")],
  [
    "two re-executions at once",
    /more than once at a time/,
    ({ runs, pending, phase }) => {
      phase.replay = "running";
      runs.push({ execution: pending, isReplay: true }, { execution: pending, isReplay: true });
    },
  ],
  ["a followup that is put off behind nobody", /nobody is ahead/, ({ phase }) => (phase.wanted = "contention")],
  ["a place that only one side knows", /does not know it/, ({ other, pending }) => void other.ahead.add(pending)],
  [
    "a place ahead that only one side knows",
    /does not know it/,
    ({ other, pending }) => void pending.behind.add(other),
  ],
  [
    "a place behind one that is not told",
    /not told/,
    ({ other, pending }) => {
      pending.ahead.add(other);
      other.behind.add(pending);
    },
  ],
  [
    "a re-execution before those ahead",
    /before those that are ahead/,
    (broken) => {
      const first = broken.pending;
      const second = broken.other;
      broken.runs.splice(0);
      broken.locks.acquireBehind(second, declaredLocks(UNITS), second.ticket, () => true);
      second.phase = { ...pendingOn(intentOf(second), 2), replay: "paused" };
      second.ahead.add(first);
      first.behind.add(second);
    },
  ],
  [
    "a completion of what is not held",
    /does not hold/,
    (broken) => broken.completing([{ unit: "t/y" as UnitId, value: null }]),
  ],
  [
    "a completion that nobody carries out",
    /its completion does not/,
    (broken) => {
      broken.completing([]);
      broken.operations.splice(0);
    },
  ],
  [
    "an abandoned intent with locks",
    /holds locks/,
    ({ pending, phase }) => (pending.phase = abandonedOf(phase.intent, 0, false)),
  ],
  [
    "a look-up with locks",
    /holds locks/,
    ({ pending, operations }) => {
      pending.callers = [callerOf("1")];
      pending.phase = { kind: "looking-up" };
      operations.push({ kind: "look-up", execution: pending });
    },
  ],
  [
    "a wait for locks that is in no queue",
    /its wait for others/,
    ({ other, runs }) => {
      runs.splice(0);
      other.phase = { kind: "waiting", stage: { kind: "capture", near: near() }, sinceMs: 0, on: null };
    },
  ],
  [
    "a place in a queue of one that runs",
    /its wait for others/,
    ({ other, locks }) => locks.acquire(other, declaredLocks(UNITS), 9),
  ],
  [
    "a release that nobody watches",
    /its wait for others/,
    ({ other, runs }) => {
      runs.splice(0);
      other.phase = { kind: "watching", stage: { kind: "capture", near: near() }, sinceMs: 0, on: null };
    },
  ],
  [
    "a gate that is not held",
    /lacks the gate/,
    ({ other }) => (other.phase = { kind: "running", near: near({ gated: true }), snapshot: new Map() }),
  ],
  [
    "a validation of another set",
    /another set/,
    ({ other, runs, operations }) => {
      runs.splice(0);
      operations.push({ kind: "load", execution: other });
      const declared = { units: UNITS, lanes: [], mayEffect: false, speculator: other.callers[0]! };
      other.phase = { kind: "loading", stage: { kind: "validate", declared } };
    },
  ],
  [
    "a speculator that has gone",
    /speculator/,
    ({ other, runs, declared, operations }) => {
      runs.splice(0);
      operations.push({ kind: "load", execution: other });
      other.callers = [callerOf("2")];
      other.phase = { kind: "loading", stage: { kind: "validate", declared } };
    },
  ],
  [
    "locks of one that waits for some",
    /waits for locks, and holds some/,
    ({ locks, other, declared, runs }) => {
      runs.splice(0);
      other.phase = { kind: "waiting", stage: { kind: "validate", declared }, sinceMs: 0, on: null };
      locks.acquire(other, declaredLocks(UNITS), other.ticket);
      locks.tryAcquire(other, [{ unit: GATE, mode: "shared" }], other.ticket);
    },
  ],
  [
    "locks of one that has ended",
    /so it is under way/,
    ({ locks }) => {
      const ended = requested(callerOf("3"), { units: 0, bytes: 0 }, 3);
      locks.acquireBehind(ended, [{ unit: GATE, mode: "shared" }], ended.ticket, () => false);
    },
  ],
  [
    "an operation of one that has ended",
    /something is under way for it/,
    ({ operations }) =>
      operations.push({ kind: "store", execution: requested(callerOf("3"), { units: 0, bytes: 0 }, 3) }),
  ],
  ["a place among those that clear", /waits for read leases to end/, ({ clearing, other }) => clearing.add(other)],
  [
    "a phase without a place among those that clear",
    /not among those that wait for read leases/,
    (broken) => {
      broken.clear([]);
      broken.clearing.clear();
    },
  ],
  [
    "a completion to come of units that are not held",
    /it writes units that it does not hold/,
    (broken) => broken.clear([{ unit: Y, value: null }]),
  ],
  [
    "a success to be told to a caller that has gone",
    /its speculator does not wait for it/,
    (broken) => {
      broken.tell();
      broken.other.callers = [callerOf("9")];
    },
  ],
  [
    "a fault of the leases",
    /read leases fit the rest, but x is leased/,
    (broken) => (broken.leaseFault = "x is leased"),
  ],
  ["a place in the line of lost followups", /has no followup/, ({ lost, other }) => lost.push(other)],
  ["a place among the replaced", /being replaced/, ({ replaced, other }) => replaced.push(other)],
];

describe("each broken invariant is found", () => {
  test.each(BROKEN)("%s", (_, words, broken) => {
    broken(state);
    expect(() => assertWellFormed(state)).toThrow(words);
  });
});

test("the followup may be faster than the load or the run of a re-execution", () => {
  state.completing([]);
  state.runs.push({ execution: state.pending, isReplay: true });
  assertWellFormed(state);
  const ended = requested(callerOf("3"), { units: 0, bytes: 0 }, 3);
  ended.phase = { kind: "ended", hash: null };
  state.operations.push({ kind: "load", execution: ended, isReplay: true });
  assertWellFormed(state);
});
