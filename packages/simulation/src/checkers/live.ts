/**
 * Checks of live queries. Each state that a subscriber is shown is that of one execution. It began after the subscriber had asked, and
 * after the state before it was computed. So it is a reader of its own, which must fit into the order of the history. No state is shown
 * twice in a row without a warning between. At the end each subscriber has the last state.
 */
import {
  contentHash,
  encodeOutcome,
  type Entry,
  entryOf,
  type ExecutionId,
  type Key,
  NO_COMMIT,
  type Outcome,
  type Query,
  splitUnit,
  type UnitId,
  NO_EXECUTION,
} from "@radical/protocol";
import type { Operation } from "../history.ts";
import type { LiveQuery } from "../live-streams.ts";
import type { Scanned } from "@radical/wasm-host";
import { type ModelStorage, rowsIn } from "../model-storage.ts";
import { MODULES, truthfulHost } from "../programs.ts";

/** A state that a client was shown. Positions are those of the history. */
export interface ShownState {
  readonly id: string;
  readonly outcome: Outcome;
  /** When its isolate had computed it, and when the client had asked for the stream. */
  readonly at: number;
  readonly askedAt: number;
  /** The client was told before that its state may be an old one. */
  readonly isAfterStale: boolean;
}

export interface Subscription {
  readonly name: string;
  readonly query: LiveQuery;
  readonly shown: readonly ShownState[];
  readonly isStale: boolean;
  readonly hasLeft: boolean;
}

interface CheckedSubscriptions {
  /** Mistakes, in words. */
  readonly problems: readonly string[];
  /** Each subscriber that has stayed knows the last state. */
  readonly areShown: boolean;
  /** Executions whose versions must fit into the order of the history. */
  readonly readers: readonly Operation[];
}

export function checkLive(
  subscriptions: readonly Subscription[],
  storage: Pick<ModelStorage, "items">,
): CheckedSubscriptions {
  const problems: string[] = [];
  const missing: string[] = [];
  const readers: Operation[] = [];
  for (const subscription of subscriptions) {
    const { name, shown, isStale, hasLeft } = subscription;
    for (const [number, { at, askedAt, id, isAfterStale }] of shown.entries()) {
      const before = shown[number - 1];
      const afterAt = Math.max(askedAt, before?.at ?? 0);
      if (at < afterAt)
        problems.push(`${name} is shown a state that was computed before it asked, or before the last one`);
      if (id === before?.id && !isAfterStale) problems.push(`${name} is shown the same state twice`);
      readers.push(operationOf(subscription, number, afterAt));
    }
    if (hasLeft) continue;
    const last = shown.at(-1);
    if (last === undefined || !isSame(last.outcome, outcomeNow(subscription, storage)))
      missing.push(`${name} is not shown the last state`);
    else if (isStale) missing.push(`${name} is told that the last state may be an old one`);
  }
  return { problems: [...problems, ...missing], readers, areShown: missing.length === 0 };
}

/** Its place in the order lies behind that position. */
function operationOf({ name, query, shown }: Subscription, number: number, afterAt: number): Operation {
  const { at, outcome } = shown[number]!;
  return {
    name: `${name}, state ${number}`,
    executionId: `${name}, state ${number}` as ExecutionId,
    program: query.program,
    units: query.args.units,
    amount: query.args.amount,
    mustNotWrite: true,
    invokedAt: afterAt + 0.5,
    answeredAt: at,
    outcome,
  };
}

/** The outcome of the query on what is in storage. */
function outcomeNow({ query }: Subscription, { items }: Pick<ModelStorage, "items">): Outcome | null {
  const environment = { timeMs: 0, seed: new Uint8Array(16), caller: query.caller };
  const call = {
    executionId: NO_EXECUTION,
    module: MODULES[0],
    handler: query.program,
    args: query.encodedArgs,
    environment,
  };
  const itemOf = (unit: UnitId): Entry => {
    const item = items.get(unit);
    return item === undefined ? entryOf(NO_COMMIT, null) : entryOf(item.commitId, item.value);
  };
  const scan = (asked: Query): Scanned => {
    const range = { table: asked.table, from: (asked.lo || null) as Key | null, to: (asked.hi || null) as Key | null };
    if (asked.kind === "count") return { count: rowsIn(items, range, Infinity).length };
    const rows = rowsIn(items, { ...range, isReversed: asked.isReversed }, asked.limit).map(
      ({ unit, commitId, value }) => ({
        key: splitUnit(unit).key,
        commitId,
        hash: contentHash(value),
      }),
    );
    return { rows, reachesEnd: rows.length < asked.limit };
  };
  const snapshot = Object.assign(itemOf, { scan });
  return truthfulHost.recordHandler(call, snapshot, { guess: true }).run?.outcome ?? null;
}

function isSame(a: Outcome, b: Outcome | null): boolean {
  return b !== null && Buffer.compare(encodeOutcome(a), encodeOutcome(b)) === 0;
}
