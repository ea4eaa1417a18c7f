/**
 * Whether samples tell the truth. A sample says what an execution ran on and what came of it, and so does the history:
 *
 * - a sample of an execution that storage has applied has its outcome, its writes and its commit id, and the versions of what it saw;
 * - a sample of any other is a reader of its own: somewhere between question and sample its versions must have been there together.
 */
import { type Sample } from "@radical/lvi-server/core";
import {
  type CommitId,
  contains,
  decodeDirectory,
  encodeOutcome,
  entryOf,
  type ExecutionId,
  isSpan,
  type Outcome,
  type Span,
  spanOf,
  splitUnit,
  type UnitId,
} from "@radical/protocol";
import type { Operation } from "../history.ts";
import type { Applied } from "../model-storage.ts";
import { bytesOf, encodeArgs, ITEMS_OF, nameOfUnit, toldBy, writerOf } from "../programs.ts";

export interface TakenSample {
  readonly sample: Sample;
  /** Its position in the history. */
  readonly at: number;
  /** Whether storage had applied the execution by then. One that left no trace may have been run again, and written, later. */
  readonly isApplied: boolean;
}

interface CheckedSamples {
  /** Mistakes, in words. */
  readonly problems: readonly string[];
  /** Executions whose versions must fit into the order of the history. */
  readonly readers: readonly Operation[];
}

export function checkSamples(
  history: readonly Operation[],
  log: readonly Applied[],
  samples: readonly TakenSample[],
): CheckedSamples {
  const problems: string[] = [];
  const readers: Operation[] = [];
  if (samples.length === 0) return { problems, readers };
  const applied = new Map(log.map((entry) => [entry.executionId, entry]));
  const written = new Map<string, Uint8Array | null>();
  for (const { commitId, writes } of log)
    for (const { unit, value } of writes) written.set(nameOfWrite(unit, commitId), value);
  for (const [number, { sample, at, isApplied }] of samples.entries()) {
    const asked = history.filter(({ executionId }) => executionId === sample.executionId);
    const [first] = asked;
    const about = `the sample of ${first?.name ?? sample.executionId} (${sample.path})`;
    if (first === undefined || !isCallOf(sample, first)) {
      problems.push(`${about} is of another call`);
      continue;
    }
    const saw = new Map<UnitId, string | null>();
    const { spans, absent } = spansIn(sample);
    for (const unit of absent) saw.set(unit, null);
    for (const [unit, { commitId, hash }] of sample.versions) {
      if (isSpan(unit)) continue;
      const value = hash === null ? null : written.get(nameOfWrite(unit, commitId));
      if (value === undefined || entryOf(commitId, value).version.hash !== hash) {
        problems.push(`${about} names a version of ${unit} that never was`);
        continue;
      }
      saw.set(unit, writerOf(value));
      const shown = sample.values?.get(unit);
      if (sample.values !== null && (shown === undefined || !isSameValue(shown, value)))
        problems.push(`${about} has another value of ${unit} than of its version`);
    }
    const entry = isApplied ? applied.get(sample.executionId) : undefined;
    const isOfEntry = sample.ended !== null && entry !== undefined;
    if (isOfEntry && !isEndOf(sample, entry)) problems.push(`${about} did not end like that`);
    if (!isOfEntry && (sample.commitId !== null || (sample.ended?.writes.length ?? 0) > 0))
      problems.push(`${about} was taken before its writes were durable`);
    if (sample.ended !== null) {
      for (const [unit, writer] of toldBy(sample.ended.outcome).seen)
        if (!isSpan(unit) && (saw.has(unit) || !isIn(spans, unit)) && saw.get(unit) !== writer)
          problems.push(`${about} did not see that version of ${unit}`);
    }
    if (isOfEntry) continue;
    // Its place in the order is the step that validates it; a run near storage has begun some time before its sample.
    const invokedAt = sample.path === "valid" ? at : Math.min(...asked.map((operation) => operation.invokedAt));
    const outcome: Outcome = { kind: "result", value: bytesOf(`|${shownReads(saw)}`) };
    const executionId = `sample ${number}` as ExecutionId;
    readers.push({ ...first, name: about, executionId, invokedAt, answeredAt: at, outcome });
  }
  return { problems, readers };
}

/** The spans of rows in a sample, and the items that they say are absent. A sample without values has no directories. */
function spansIn({ versions, values }: Sample): {
  readonly spans: readonly Span[];
  readonly absent: readonly UnitId[];
} {
  const spans: Span[] = [];
  const absent: UnitId[] = [];
  for (const unit of versions.keys()) {
    const span = isSpan(unit) ? spanOf(unit) : null;
    if (span?.kind !== "rows") continue;
    spans.push(span);
    const value = values?.get(unit) ?? null;
    if (value === null) continue;
    const keys = new Set(decodeDirectory(value).map(({ key }) => key));
    for (const item of ITEMS_OF.get(span.table) ?? []) {
      const { key } = splitUnit(item);
      if (contains(span, key) && !keys.has(key) && !versions.has(item)) absent.push(item);
    }
  }
  return { spans, absent };
}

function isIn(spans: readonly Span[], unit: UnitId): boolean {
  const { table, key } = splitUnit(unit);
  return spans.some((span) => span.table === table && contains(span, key));
}

function isCallOf({ invocation }: Sample, { name, program, units, amount }: Operation): boolean {
  return invocation.handler === program && isSameValue(invocation.args, encodeArgs({ operation: name, units, amount }));
}

function isEndOf({ ended, commitId, invocation }: Sample, entry: Applied): boolean {
  if (ended === null) return false;
  const { writes, outcome, environment, module } = entry;
  return (
    commitId === (writes.length === 0 ? null : entry.commitId) &&
    invocation.module === module &&
    isSameValue(invocation.environment.seed, environment.seed) &&
    isSameValue(encodeOutcome(ended.outcome), encodeOutcome(outcome)) &&
    ended.writes.length === writes.length &&
    ended.writes.every(({ unit, value }, i) => unit === writes[i]!.unit && isSameValue(value, writes[i]!.value))
  );
}

function isSameValue(a: Uint8Array | null, b: Uint8Array | null): boolean {
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

function nameOfWrite(unit: UnitId, commitId: CommitId): string {
  return `${unit} ${commitId}`;
}

function shownReads(saw: ReadonlyMap<UnitId, string | null>): string {
  return Array.from(saw, ([unit, writer]) => `${nameOfUnit(unit)}=${writer ?? ""}`).join(",");
}
