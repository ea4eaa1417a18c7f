/**
 * Strict serializability of a simulated history. Every value names its writer, every outcome the values that its execution
 * saw, and storage's log gives the order of the versions of each unit.
 */
import { checkStrictSerializability, type Scan, type Transaction, type Version } from "@radical/history";
import {
  type CommitId,
  compareCommits,
  contains,
  type ExecutionId,
  isSpan,
  NO_COMMIT,
  type Outcome,
  type Span,
  spanOf,
  splitUnit,
  type UnitId,
} from "@radical/protocol";
import type { Operation } from "../history.ts";
import type { Applied } from "../model-storage.ts";
import { ITEMS_OF, toldBy, writerOf } from "../programs.ts";

/** An execution lies between the first question for it and its first answer. */
class Execution implements Transaction {
  readonly name: string;
  invokedAt: number;
  answeredAt = Infinity;
  outcome: Outcome | null = null;

  constructor({ name, invokedAt }: Operation) {
    this.name = name;
    this.invokedAt = invokedAt;
  }

  get reads(): Transaction["reads"] {
    if (this.outcome === null) return [];
    return [...toldBy(this.outcome).seen].filter(([unit]) => !isSpan(unit));
  }

  /** Of a number of rows the items are not known. */
  get scans(): readonly Scan[] {
    if (this.outcome === null) return [];
    return [...toldBy(this.outcome).seen].flatMap(([unit, number]) => {
      const span = isSpan(unit) ? spanOf(unit) : null;
      return span === null ? [] : [{ name: unit, units: itemsIn(span), sum: BigInt(number ?? 0), weightOf: () => 1n }];
    });
  }
}

function itemsIn(span: Span): readonly UnitId[] {
  return (ITEMS_OF.get(span.table) ?? []).filter((unit) => contains(span, splitUnit(unit).key));
}

/** The violations, in words; empty if there are none. */
export function checkVersions(history: readonly Operation[], log: readonly Applied[]): readonly string[] {
  const problems: string[] = [];
  const executions: Execution[] = [];
  const places = new Map<ExecutionId, number>();
  for (const operation of history) {
    const { executionId, invokedAt, answeredAt, outcome } = operation;
    let place = places.get(executionId);
    if (place === undefined) {
      place = executions.push(new Execution(operation)) - 1;
      places.set(executionId, place);
    }
    const execution = executions[place]!;
    execution.invokedAt = Math.min(execution.invokedAt, invokedAt);
    execution.answeredAt = Math.min(execution.answeredAt, answeredAt ?? Infinity);
    execution.outcome ??= outcome;
  }

  const units = new Map<UnitId, { readonly versions: Version[]; lastCommit: CommitId }>();
  for (const { executionId, commitId, outcome, writes } of log) {
    const writer = places.get(executionId);
    if (writer === undefined) {
      problems.push(`storage applied ${executionId}, which nobody asked for`);
      continue;
    }
    executions[writer]!.outcome ??= outcome;
    for (const { unit, value: bytes } of writes) {
      let written = units.get(unit);
      if (written === undefined) {
        written = { versions: [{ writer: null, value: null }], lastCommit: NO_COMMIT };
        units.set(unit, written);
      }
      if (compareCommits(written.lastCommit, commitId) >= 0)
        problems.push(`${unit} got ${commitId} after ${written.lastCommit}`);
      written.lastCommit = commitId;
      const value = writerOf(bytes);
      if (value !== null && written.versions.some((version) => version.value === value))
        problems.push(`${value} wrote ${unit} twice`);
      written.versions.push({ writer, value });
    }
  }
  const versions = new Map(Array.from(units, ([unit, written]) => [unit, written.versions]));
  return [...problems, ...checkStrictSerializability(executions, versions)];
}
