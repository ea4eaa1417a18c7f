/**
 * The state of storage at the end, whatever the faults were:
 *
 * - exactly once: every execution was applied at most once, and all answers to one execution are the same;
 * - durability: every answered write is in the log, and the items are what the log made of them;
 * - determinism: outcome and writes of every execution are those of one pure run on the values that it saw;
 * - a GET has written nothing;
 * - nothing is left: no intent is pending.
 */
import {
  compareKeys,
  contains,
  type DirectoryRow,
  encodeOutcome,
  type Entry,
  entryOf,
  type ExecutionId,
  NO_COMMIT,
  type Outcome,
  type Query,
  spanId,
  splitUnit,
  type UnitId,
  NO_EXECUTION,
} from "@radical/protocol";
import type { Scanned } from "@radical/wasm-host";
import type { Operation } from "../history.ts";
import type { Applied, ModelStorage } from "../model-storage.ts";
import { encodeArgs, ITEMS_OF, MODULES, READERS, toldBy, truthfulHost, writerOf } from "../programs.ts";

/** The violations, in words; empty if there are none. */
export function checkStorage(
  history: readonly Operation[],
  storage: Pick<ModelStorage, "applied" | "items" | "intents">,
): readonly string[] {
  const { problems, applied } = checkOnce(history, storage.applied);
  return [...problems, ...checkItems(storage), ...checkRuns(history, storage.applied, applied)];
}

function checkOnce(
  history: readonly Operation[],
  log: readonly Applied[],
): { readonly problems: string[]; readonly applied: ReadonlyMap<ExecutionId, Applied> } {
  const problems: string[] = [];
  const applied = new Map<ExecutionId, Applied>();
  for (const entry of log) {
    if (applied.has(entry.executionId)) problems.push(`execution ${entry.executionId} was applied twice`);
    applied.set(entry.executionId, entry);
  }
  const told = new Map<ExecutionId, Outcome>();
  for (const { name, executionId, program, mustNotWrite, outcome } of history) {
    if (mustNotWrite && (applied.get(executionId)?.writes.length ?? 0) > 0)
      problems.push(`${name} must not write, and has written`);
    if (outcome === null) continue;
    const other = applied.get(executionId)?.outcome ?? told.get(executionId);
    told.set(executionId, outcome);
    if (other !== undefined && !sameOutcome(other, outcome))
      problems.push(`${name} was told ${show(outcome)}, and elsewhere it is ${show(other)}`);
    if (outcome.kind === "result" && !READERS.has(program) && !applied.has(executionId))
      problems.push(`${name} was answered, but its writes are lost`);
  }
  return { problems, applied };
}

function checkItems({ applied, items, intents }: Pick<ModelStorage, "applied" | "items" | "intents">): string[] {
  const problems: string[] = [];
  const expected = new Map<UnitId, { readonly commitId: string; readonly value: Uint8Array | null }>();
  for (const { commitId, writes } of applied)
    for (const { unit, value } of writes) expected.set(unit, { commitId, value });
  for (const [unit, { commitId, value }] of expected) {
    const item = items.get(unit);
    const same = value === null ? item === undefined : item?.commitId === commitId && sameBytes(item.value, value);
    if (!same) problems.push(`${unit} is not what commit ${commitId} made of it`);
  }
  for (const [id, record] of intents)
    if (record.state === "pending") problems.push(`intent ${id} is pending at the end`);
  return problems;
}

function checkRuns(
  history: readonly Operation[],
  log: readonly Applied[],
  applied: ReadonlyMap<ExecutionId, Applied>,
): string[] {
  const problems: string[] = [];
  const values = new Map<string, Uint8Array>();
  for (const { writes } of log)
    for (const { unit, value } of writes) if (value !== null) values.set(`${unit} ${writerOf(value)}`, value);
  const checked = new Set<ExecutionId>();
  for (const { name, executionId, program, units, amount, outcome } of history) {
    const entry = applied.get(executionId);
    const told = entry?.outcome ?? outcome;
    if (told === null || checked.has(executionId)) continue;
    checked.add(executionId);
    const { seen, kind } = toldBy(told);
    // The primary could not run it.
    if (kind === "abort" && told.kind === "abort" && told.status === 500) continue;
    const item = (unit: UnitId): Entry | undefined => {
      const writer = seen.get(unit);
      if (writer === undefined) return undefined;
      return entryOf(NO_COMMIT, writer === null ? null : (values.get(`${unit} ${writer}`) ?? null));
    };
    const snapshot = Object.assign(item, { scan: (query: Query) => answerOf(query, seen, item) });
    const call = {
      executionId: NO_EXECUTION,
      module: entry?.module ?? MODULES[0],
      handler: program,
      args: encodeArgs({ operation: name, units, amount }),
      environment: entry?.environment ?? { timeMs: 0, seed: new Uint8Array(16), caller: null },
    };
    const { run } = truthfulHost.recordHandler(call, snapshot, { guess: false });
    const writes = entry?.writes ?? [];
    const isSame =
      run !== null &&
      sameOutcome(run.outcome, told) &&
      run.writes.length === writes.length &&
      run.writes.every(({ unit, value }, i) => unit === writes[i]!.unit && sameValue(value, writes[i]!.value));
    if (!isSame) problems.push(`${name} is not what a run on what it saw gives`);
  }
  return problems;
}

/** The answer to a query by what an execution has seen: its walk has not gone beyond the first item that it has not seen. */
function answerOf(
  query: Query,
  seen: ReadonlyMap<UnitId, string | null>,
  item: (unit: UnitId) => Entry | undefined,
): Scanned | undefined {
  if (query.kind === "count") {
    const count = seen.get(spanId(query));
    return count === undefined || count === null ? undefined : { count: Number(count) };
  }
  const all = (ITEMS_OF.get(query.table) ?? [])
    .filter((unit) => contains(query, splitUnit(unit).key))
    .toSorted(compareKeys);
  const rows: DirectoryRow[] = [];
  for (const unit of query.isReversed ? all.toReversed() : all) {
    const entry = item(unit);
    if (entry === undefined || rows.length === query.limit) return { rows, reachesEnd: false };
    const { commitId, hash } = entry.version;
    if (hash !== null) rows.push({ key: splitUnit(unit).key, commitId, hash });
  }
  return { rows, reachesEnd: true };
}

function sameValue(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : sameBytes(a, b);
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function sameOutcome(a: Outcome, b: Outcome): boolean {
  if (a.kind === "result") return b.kind === "result" && sameBytes(a.value, b.value);
  return sameBytes(encodeOutcome(a), encodeOutcome(b));
}

function show(outcome: Outcome): string {
  return outcome.kind === "result" ? new TextDecoder().decode(outcome.value) : `${outcome.kind} ${outcome.message}`;
}
