/**
 * One run on one module: a worker thread does it, and the simulation does it with modelled handlers.
 */
import {
  type AccessSet,
  type deriveAccessSet,
  type HandlerModule,
  type recordHandler,
  type runHandler,
  type runWorkflow,
  type Snapshot,
  spanSnapshot,
} from "@radical/wasm-host";
import { entryOf, isSpan, NO_COMMIT, spanOf, type Entry, type UnitId } from "@radical/protocol";
import type { Follower, RunResult } from "../core/run.ts";
import { overlaid } from "../core/train.ts";

/** The runs that the protocol knows, bound to a module. */
export interface Host {
  readonly deriveAccessSet: (
    invocation: Parameters<typeof deriveAccessSet>[1],
    snapshot: Snapshot,
  ) => ReturnType<typeof deriveAccessSet>;
  readonly runHandler: (
    invocation: Parameters<typeof runHandler>[1],
    snapshot: Snapshot,
    access: AccessSet,
    options?: Parameters<typeof runHandler>[4],
  ) => ReturnType<typeof runHandler>;
  readonly recordHandler: (
    invocation: Parameters<typeof recordHandler>[1],
    snapshot: Snapshot,
    options: Parameters<typeof recordHandler>[3],
  ) => ReturnType<typeof recordHandler>;
  readonly runWorkflow: (
    invocation: Parameters<typeof runWorkflow>[1],
    activation: Parameters<typeof runWorkflow>[2],
  ) => ReturnType<typeof runWorkflow>;
}

export function hostOf(
  module: HandlerModule,
  wasmHost: {
    deriveAccessSet: typeof deriveAccessSet;
    runHandler: typeof runHandler;
    recordHandler: typeof recordHandler;
    runWorkflow: typeof runWorkflow;
  },
): Host {
  return {
    deriveAccessSet: (invocation, snapshot) => wasmHost.deriveAccessSet(module, invocation, snapshot),
    runHandler: (invocation, snapshot, access, options) =>
      wasmHost.runHandler(module, invocation, snapshot, access, options),
    recordHandler: (invocation, snapshot, options) => wasmHost.recordHandler(module, invocation, snapshot, options),
    runWorkflow: (invocation, activation) => wasmHost.runWorkflow(module, invocation, activation),
  };
}

/** Of a run, the part that a worker thread needs. */
export type RunInThread = Follower;

/** Runs the members of a train, each on what those before it have written, up to the first that has no outcome. */
export function* executeTrain(host: Host, members: Iterable<RunInThread>): Generator<RunResult> {
  const coming = new Map<UnitId, Entry>();
  for (const member of members) {
    // variant: train-overlay
    const result = execute(host, { ...member, snapshot: overlaid(member.snapshot, coming) });
    yield result;
    if (result.kind !== "completed") return;
    // The commit ids are not taken yet, and no run sees them.
    for (const { unit, value } of result.writes) coming.set(unit, entryOf(NO_COMMIT, value));
  }
}

export function execute(host: Host, run: RunInThread): RunResult {
  const { invocation, access } = run;
  const snapshot = spanSnapshot(run.snapshot);
  switch (access.kind) {
    case "workflow":
      return { kind: "activated", run: host.runWorkflow({ ...invocation, round: access.round }, access.activation) };
    case "declared":
      // As its location has run it.
      return outsideIsUndeclared(host.runHandler(invocation, snapshot, access.set, { speculative: true }));
    case "record": {
      const { run: ended, missing, missingQueries } = host.recordHandler(invocation, snapshot, access);
      const isWhole = ended !== null && missing.length + missingQueries.length === 0;
      return isWhole ? ended : { kind: "missing", units: missing, queries: missingQueries };
    }
    case "derive": {
      const derived = host.deriveAccessSet(invocation, snapshot);
      if (derived.kind === "failed") return { kind: "no-set", reason: derived.reason };
      const { set, missing, missingQueries } = derived;
      const captured =
        missing.length + missingQueries.length === 0 && [...set.reads].every((unit) => isCaptured(run.snapshot, unit));
      const { writable } = access;
      const covered = writable === null || [...set.writes].every((unit) => writable.has(unit));
      if (!captured || !covered) return { kind: "needs", set, queries: missingQueries };
      return outsideIsUndeclared(host.runHandler(invocation, snapshot, set));
    }
  }
}

/** Whether the value of a unit was captured. The queries that have observed spans of rows have had their answers. */
function isCaptured(snapshot: RunInThread["snapshot"], unit: UnitId): boolean {
  return snapshot.has(unit) || (isSpan(unit) && spanOf(unit)?.kind === "rows");
}

/** Under a set, all that is declared was captured: a unit that was not is outside of it. */
function outsideIsUndeclared(run: ReturnType<Host["runHandler"]>): RunResult {
  switch (run.kind) {
    case "completed":
    case "exhausted":
      return run;
    case "undeclared":
      return { kind: "undeclared", reason: `${run.mode} of ${run.unit} is outside the set` };
    case "undeclared-lane":
      return { kind: "undeclared", reason: `the lane ${JSON.stringify(run.lane)} is outside the set` };
    case "missing":
      return { kind: "undeclared", reason: `${run.unit} was not captured` };
  }
}
