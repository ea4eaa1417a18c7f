/**
 * Trains: executions near storage that wait for one another's units, in one message to one worker and in one commit.
 *
 * The *head* of a train holds its locks and is about to run. Waiters for its units *follow* it in the order of their tickets,
 * as long as only members are in their way. The worker runs them in line, each on what those before it have written. Then
 * everybody who was done within its locks is in the commit of the train. A member that needs more units, or is stopped from
 * outside, leaves. So does a step of a workflow that has failed. Those behind it have not run, and wait again under their tickets.
 *
 * Only durable values leave a train: nobody else reads what a member has written, and no member is answered, before the commit.
 */
import { type CommitId, type Entry, entryOf, isSpan, type UnitId } from "@radical/protocol";
import type { Completing, Execution, NearStorage, Ran } from "./execution.ts";
import type { RunResult } from "./run.ts";

/**
 * Most members of a train: a transaction of DynamoDB takes a hundred actions. Each member has its record there, and most
 * have an item of their own beside those that they share.
 */
export const MOST_MEMBERS = 48;

export interface Member {
  readonly execution: Execution;
  readonly near: NearStorage;
  /** The values that it runs on. */
  readonly snapshot: ReadonlyMap<UnitId, Entry>;
}

/** Of a head that runs alone. */
export const NO_FOLLOWERS: readonly never[] = [];

/** The commit id of a member, and its sequence. */
export interface TakenCommit {
  readonly id: CommitId;
  readonly sequence: number;
}

/** A member that was done within its locks. */
export interface DoneMember extends Member {
  readonly ran: Ran;
  /** Null: it leaves no trace, and has read durable values only. */
  readonly commit: TakenCommit | null;
}

/** How a train came back. */
export interface Arrival {
  /** In order. All of them have run on durable values and on the writes of those before. */
  readonly done: readonly DoneMember[];
  /** Those that leave, each with the result of its run. */
  readonly left: readonly { readonly member: Member; readonly result: RunResult }[];
  /** Those that run again. */
  readonly again: readonly Member[];
}

/**
 * Whether an execution may be the head of a train, or follow one. A promised one goes on whatever happens, and goes alone. So
 * does one that reads spans: the writes of members before it would change what it has captured.
 */
export function mayTravel({ mustNotWrite, declared }: Execution, near: NearStorage): boolean {
  const readsSpans = near.queries.size > 0 || declared?.units.some(({ unit }) => isSpan(unit)) === true;
  // variant: train-member
  return !mustNotWrite && !near.gated && near.abandoned === null && !readsSpans;
}

/**
 * Takes the results of a train apart. `covers`: whether a member holds all that its run has touched. `takeCommit`: the next
 * commit id, for a member that leaves a trace. A member that only reads leaves one if it has read what is not durable yet.
 */
export function arrivalOf(
  members: readonly Member[],
  results: readonly RunResult[],
  covers: (execution: Execution, result: RunResult & { readonly kind: "completed" }) => boolean,
  takeCommit: () => TakenCommit,
): Arrival {
  const done: DoneMember[] = [];
  const left: { readonly member: Member; readonly result: RunResult }[] = [];
  const again: Member[] = [];
  const coming = new Map<UnitId, Entry>();
  let isWhole = true;
  for (const [index, member] of members.entries()) {
    const result = results[index] ?? NOT_RUN;
    if (isWhole && result.kind === "completed" && !failsAsStep(member, result) && covers(member.execution, result)) {
      // variant: train-values
      const snapshot = overlaid(member.snapshot, coming);
      // variant: train-trace
      const leavesTrace = coming.size > 0 || mustLeaveTrace(member.execution, result);
      const commit = leavesTrace ? takeCommit() : null;
      done.push({ ...member, snapshot, ran: { snapshot, result }, commit });
      if (commit !== null) for (const { unit, value } of result.writes) coming.set(unit, entryOf(commit.id, value));
      continue;
    }
    // The results of members behind it may rest on writes that it does not make.
    if (result.kind === "not-run" || (!isWhole && result.kind === "completed")) again.push(member);
    else left.push({ member, result });
    // variant: train-cut
    isWhole = false;
  }
  return { done, left, again };
}

/** A step that has failed may be tried again: its workflow decides on a run that has read durable values only. */
function failsAsStep({ execution }: Member, { outcome }: RunResult & { readonly kind: "completed" }): boolean {
  return execution.step !== null && outcome.kind !== "result";
}

/** Whether the end of a run is more than an answer. */
export function mustLeaveTrace(
  { retained, task }: Execution,
  { writes, effects = [] }: RunResult & { readonly kind: "completed" },
): boolean {
  // variant: task-trace
  return retained || task !== null || writes.length > 0 || effects.length > 0;
}

const NOT_RUN: RunResult = { kind: "not-run" };

/** The same values with those in their place that are coming. */
export function overlaid(
  snapshot: ReadonlyMap<UnitId, Entry>,
  coming: ReadonlyMap<UnitId, Entry>,
): ReadonlyMap<UnitId, Entry> {
  let changed: Map<UnitId, Entry> | null = null;
  for (const unit of snapshot.keys()) {
    const entry = coming.get(unit);
    if (entry !== undefined) (changed ??= new Map(snapshot)).set(unit, entry);
  }
  return changed ?? snapshot;
}

/** An execution that is completed, alone or as a member of a train. */
export interface CompletingMember {
  readonly execution: Execution;
  readonly completing: Completing;
}

/** By unit, the commit id of the last member that writes it. */
export function lastWriters(members: readonly CompletingMember[]): ReadonlyMap<UnitId, CommitId> {
  const last = new Map<UnitId, CommitId>();
  for (const { completing } of members)
    for (const { unit } of completing.completion.writes) last.set(unit, completing.completion.commitId);
  return last;
}
