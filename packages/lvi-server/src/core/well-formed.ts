/**
 * The invariants of the core's state between two steps: which phase goes with which locks, storage operations and runs.
 * The simulation asserts them after every step. In production they would cost a walk through all that is under way.
 */
import { assert, type ExecutionId, type Write } from "@radical/protocol";
import type { Usage } from "./budgets.ts";
import type { CallerId } from "./events.ts";
import { type Completing, type Execution, intentOf, isOwn, isTold, type NearStorage } from "./execution.ts";
import { declaredLocks, GATE } from "./lock-requests.ts";
import type { Access, LockTable } from "./lock-table.ts";
import type { ReadLeases } from "./read-leases.ts";

/** A storage operation under way. */
export interface OperationUnderWay {
  readonly kind: "look-up" | "load" | "warm" | "store" | "complete";
  readonly execution: Execution;
  /** A load for a re-execution. The followup may be faster than its answer. */
  readonly isReplay?: boolean;
  /** Of a completion: all executions that it completes; left out: the one. */
  readonly members?: readonly { readonly execution: Execution }[];
}

/** A run under way. The followup may be faster than a re-execution. */
export interface RunUnderWay {
  readonly execution: Execution;
  readonly isReplay: boolean;
  /** The other members of its train. */
  readonly followers?: readonly { readonly execution: Execution }[];
}

export interface CoreState {
  readonly executions: ReadonlyMap<ExecutionId, Execution>;
  /** Those that wait for read leases to end. */
  readonly clearing: ReadonlySet<Execution>;
  readonly leases: Pick<ReadLeases, "faultOf">;
  readonly locks: Pick<LockTable<Execution>, "modeOf" | "heldBy" | "owners" | "waitOf">;
  readonly operations: Iterable<OperationUnderWay>;
  readonly runs: Iterable<RunUnderWay>;
  /** Told executions whose followup did not come, and those of them that are being re-executed. */
  readonly lost: Iterable<Execution>;
  readonly replaced: Iterable<Execution>;
  /** The sum that the budgets of all locations count. */
  readonly used: Usage & { readonly executions: number };
}

/** The counts of everything that is under way for one execution. */
interface UnderWay {
  readonly lookUps: number;
  readonly loads: number;
  readonly stores: number;
  readonly completions: number;
  readonly runs: number;
  readonly replayLoads: number;
  readonly replayRuns: number;
}

const NOTHING: UnderWay = {
  lookUps: 0,
  loads: 0,
  stores: 0,
  completions: 0,
  runs: 0,
  replayLoads: 0,
  replayRuns: 0,
};

/** Throws if an invariant does not hold. */
export function assertWellFormed(state: CoreState): void {
  const underWay = countUnderWay(state);
  const callers = new Set<CallerId>();
  const sum = { executions: 0, units: 0, bytes: 0 };
  for (const [id, execution] of state.executions) {
    const fault = faultOf(execution, state, underWay.get(execution) ?? NOTHING);
    assert(fault === null, `execution ${id} fits its phase ${execution.phase.kind}, but ${fault}`);
    assert(execution.id === id, `execution ${id} is listed under its own id`);
    for (const caller of execution.callers) {
      assert(!callers.has(caller.id), `caller ${caller.id} waits for one execution`);
      callers.add(caller.id);
    }
    sum.executions++;
    sum.units += execution.usage.units;
    sum.bytes += execution.usage.bytes;
  }
  for (const [execution, { lookUps, loads, stores, completions, runs }] of underWay) {
    const isLate = lookUps + loads + stores + completions + runs === 0;
    assert(
      isLate || isUnderWay(execution, state),
      `execution ${execution.id} is under way, as something is under way for it`,
    );
  }
  for (const owner of state.locks.owners())
    assert(isUnderWay(owner, state), `execution ${owner.id} holds locks, so it is under way`);
  const leaseFault = state.leases.faultOf();
  assert(leaseFault === null, `read leases fit the rest, but ${leaseFault}`);
  for (const execution of state.clearing)
    assert(
      execution.phase.kind === "clearing" && isUnderWay(execution, state),
      `execution ${execution.id} waits for read leases to end`,
    );
  for (const lost of state.lost) assert(isTold(lost), `execution ${lost.id} has no followup, so it is told`);
  for (const replaced of state.replaced)
    assert(isTold(replaced), `execution ${replaced.id} is being replaced, so it is told`);
  const { executions, units, bytes } = state.used;
  assert(
    executions === sum.executions && units === sum.units && bytes === sum.bytes,
    `the budgets count ${executions} executions, ${units} units, ${bytes} bytes; under way are ${sum.executions}, ${sum.units}, ${sum.bytes}`,
  );
}

function isUnderWay(execution: Execution, { executions }: CoreState): boolean {
  return executions.get(execution.id) === execution;
}

function countUnderWay({ operations, runs }: CoreState): ReadonlyMap<Execution, UnderWay> {
  const counts = new Map<Execution, UnderWay>();
  const add = (execution: Execution, key: keyof UnderWay): void => {
    const count = counts.get(execution) ?? NOTHING;
    counts.set(execution, { ...count, [key]: count[key] + 1 });
  };
  for (const { kind, execution, isReplay, members } of operations) {
    if (kind === "load") add(execution, isReplay === true ? "replayLoads" : "loads");
    else if (kind === "complete") for (const member of members ?? [{ execution }]) add(member.execution, "completions");
    // Nobody waits for what only warms memory.
    else if (kind !== "warm") add(execution, kind === "look-up" ? "lookUps" : "stores");
  }
  for (const { execution, isReplay, followers = [] } of runs) {
    add(execution, isReplay ? "replayRuns" : "runs");
    for (const follower of followers) add(follower.execution, "runs");
  }
  return counts;
}

/** Why the execution does not fit its phase; null: it does. */
function faultOf(execution: Execution, state: CoreState, underWay: UnderWay): string | null {
  const { phase, ahead, behind, callers } = execution;
  const { locks } = state;
  for (const before of ahead) {
    if (!before.behind.has(execution)) return "it is behind an execution that does not know it";
    if (!isTold(before)) return "it is behind an execution that is not told";
  }
  for (const after of behind)
    if (!after.ahead.has(execution)) return "it is ahead of an execution that does not know it";
  if (intentOf(execution) === null && callers.length === 0 && !isOwn(execution))
    return "it has no intent, and nobody waits for it";

  if (underWay.lookUps !== (phase.kind === "looking-up" ? 1 : 0)) return "its look-up does not fit its phase";
  if (underWay.loads !== (phase.kind === "loading" ? 1 : 0)) return "its load does not fit its phase";
  if (underWay.stores !== (phase.kind === "storing" ? 1 : 0)) return "the storing of its intent does not fit its phase";
  if (underWay.completions !== (phase.kind === "completing" ? 1 : 0)) return "its completion does not fit its phase";
  if (underWay.runs !== (phase.kind === "running" ? 1 : 0)) return "its run does not fit its phase";
  if (underWay.replayLoads + underWay.replayRuns > 1) return "it is re-executed more than once at a time";

  const wait = phase.kind === "waiting" ? "locks" : phase.kind === "watching" ? "release" : null;
  if (locks.waitOf(execution) !== wait) return "its wait for others does not fit its phase";

  const lacks = (wanted: readonly Access[]): boolean =>
    wanted.some(({ unit, mode }) => {
      const held = locks.modeOf(execution, unit);
      return held === undefined || (mode === "exclusive" && held === "shared");
    });
  switch (phase.kind) {
    case "arrived":
    case "ended":
      return "no execution is in this phase between two steps";
    case "looking-up":
      return locks.heldBy(execution).size > 0 ? "it holds locks" : null;
    case "waiting":
    case "watching":
    case "loading": {
      const { stage } = phase;
      if (phase.kind === "waiting" && locks.heldBy(execution).size > 0) return "it waits for locks, and holds some";
      if (stage.kind !== "validate") return faultOfNear(execution, stage.near, state, phase.kind === "waiting");
      if (stage.declared !== execution.declared) return "it validates another set than its own";
      return callers.includes(stage.declared.speculator) ? null : "its speculator does not wait for it";
    }
    case "storing":
      if (phase.intent.executionId !== execution.id) return "it stores the intent of another execution";
      if (!callers.includes(phase.speculator)) return "its speculator does not wait for it";
      return lacks(declaredLocks(phase.intent.units)) ? "it lacks locks of its intent" : null;
    case "clearing": {
      if (!state.clearing.has(execution)) return "it is not among those that wait for read leases to end";
      const { next } = phase;
      if (next.kind === "complete")
        return faultOfCompletion(next.ending.of, next.ending.ended.writes, ahead.size, lacks);
      if (!callers.includes(next.storing.speculator)) return "its speculator does not wait for it";
      return lacks(declaredLocks(next.storing.intent.units)) ? "it lacks locks of its intent" : null;
    }
    case "pending":
      if (phase.intent.executionId !== execution.id) return "its intent is that of another execution";
      if (lacks(declaredLocks(phase.intent.units))) return "it lacks locks of its intent";
      if (ahead.size === 0 && (phase.wanted !== null || phase.early.length > 0))
        return "nobody is ahead, and what was put off has not been done";
      if (phase.audit !== null && phase.replay === null) return "its followup waits for a run that nobody has begun";
      if (ahead.size > 0 && phase.replay !== null) return "it is re-executed before those that are ahead";
      if (underWay.replayLoads !== (phase.replay === "loading" ? 1 : 0)) return "no load goes with its re-execution";
      return underWay.replayRuns !== (phase.replay === "running" ? 1 : 0) ? "no run goes with its re-execution" : null;
    case "running":
      return faultOfNear(execution, phase.near, state, false);
    case "abandoned":
      if (locks.heldBy(execution).size > 0) return "it holds locks";
      return ahead.size + behind.size > 0 ? "others are ahead of it or behind it" : null;
    case "completing":
      return faultOfCompletion(phase.of, phase.completion.writes, ahead.size, lacks);
  }
}

function faultOfCompletion(
  of: Completing["of"],
  writes: readonly Write[],
  ahead: number,
  lacks: (wanted: readonly Access[]) => boolean,
): string | null {
  if (ahead > 0) return "it is applied before those that are ahead";
  if (of.kind === "pending" && lacks(declaredLocks(of.intent.units))) return "it lacks locks of its intent";
  const written = writes.map(({ unit }) => ({ unit, mode: "exclusive" }) as const);
  return lacks(written) ? "it writes units that it does not hold" : null;
}

function faultOfNear(execution: Execution, near: NearStorage, { locks }: CoreState, isWaiting: boolean): string | null {
  if (execution.ahead.size + execution.behind.size > 0) return "others are ahead of it or behind it";
  if (near.abandoned !== null && near.abandoned.intent.executionId !== execution.id)
    return "its intent is that of another execution";
  return near.gated && !isWaiting && locks.modeOf(execution, GATE) !== "exclusive" ? "it lacks the gate" : null;
}
