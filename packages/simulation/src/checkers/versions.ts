/**
 * Strict serializability by versions: the executions can be ordered one after the other so that each sees exactly what
 * those before it wrote, and one that ended before another began comes first.
 *
 * Every value names its writer, every outcome the values that its execution saw, and storage's log gives the order of
 * the versions of each unit. So the dependencies are known edges: write order, write before its read, read before the
 * next write, and real time. The order exists if and only if they close no cycle.
 *
 * A unit may have been absent several times, and which time an execution saw is not told: a time is ruled out if it would
 * close a cycle with what is known, and an edge is drawn when one is left.
 */
import {
  type CommitId,
  compareCommits,
  type ExecutionId,
  NO_COMMIT,
  type Outcome,
  type UnitId,
} from "@radical/protocol";
import type { Operation } from "../history.ts";
import type { Applied } from "../model-storage.ts";
import { toldBy, writerOf } from "../programs.ts";

/** What is wrong, in words; empty if nothing is. */
export function checkVersions(history: readonly Operation[], log: readonly Applied[]): readonly string[] {
  const problems: string[] = [];
  const graph = new Graph();
  const nodes = new Map<ExecutionId, number>();
  const invokedAt: number[] = [];
  const answeredAt: number[] = [];
  const outcomes: (Outcome | null)[] = [];
  for (const { name, executionId, invokedAt: from, answeredAt: until, outcome } of history) {
    let node = nodes.get(executionId);
    if (node === undefined) {
      nodes.set(executionId, (node = graph.add(name)));
      invokedAt[node] = Infinity;
      answeredAt[node] = Infinity;
      outcomes[node] = null;
    }
    // The same execution may be asked for several times: it lies between the first question and the first answer.
    invokedAt[node] = Math.min(invokedAt[node]!, from);
    answeredAt[node] = Math.min(answeredAt[node]!, until ?? Infinity);
    outcomes[node] ??= outcome;
  }

  // The versions of each unit in the order of the log. The first is "never written".
  interface Versions {
    readonly writers: (number | null)[];
    readonly values: (string | null)[];
    lastCommit: CommitId;
  }
  const units = new Map<UnitId, Versions>();
  const versionsOf = (unit: UnitId): Versions => {
    let versions = units.get(unit);
    if (versions === undefined)
      units.set(unit, (versions = { writers: [null], values: [null], lastCommit: NO_COMMIT }));
    return versions;
  };
  for (const { executionId, commitId, outcome, writes } of log) {
    const node = nodes.get(executionId);
    if (node === undefined) {
      problems.push(`storage applied ${executionId}, which nobody asked for`);
      continue;
    }
    outcomes[node] ??= outcome;
    for (const { unit, value } of writes) {
      const versions = versionsOf(unit);
      if (compareCommits(versions.lastCommit, commitId) >= 0)
        problems.push(`${unit} got ${commitId} after ${versions.lastCommit}`);
      versions.lastCommit = commitId;
      const previous = versions.writers.at(-1)!;
      if (previous !== null) graph.before(previous, node);
      const writer = writerOf(value);
      if (writer !== null && versions.values.includes(writer)) problems.push(`${writer} wrote ${unit} twice`);
      versions.writers.push(node);
      versions.values.push(writer);
    }
  }

  // Real time: a chain of instants, which executions leave when they are invoked and join when they are answered.
  const instants: { readonly at: number; readonly node: number; readonly isAnswer: boolean }[] = [];
  for (const node of nodes.values()) {
    instants.push({ at: invokedAt[node]!, node, isAnswer: false });
    if (answeredAt[node]! < Infinity) instants.push({ at: answeredAt[node]!, node, isAnswer: true });
  }
  instants.sort((a, b) => a.at - b.at);
  let last: number | null = null;
  for (const { node, isAnswer } of instants) {
    if (!isAnswer) {
      if (last !== null) graph.before(last, node);
      continue;
    }
    const instant = graph.add(null);
    graph.before(node, instant);
    if (last !== null) graph.before(last, instant);
    last = instant;
  }

  const draw = (reader: number, { writers }: Versions, at: number): void => {
    const writer = writers[at]!;
    const overwriter = writers[at + 1] ?? null;
    if (writer !== null && writer !== reader) graph.before(writer, reader);
    if (overwriter !== null && overwriter !== reader) graph.before(reader, overwriter);
  };
  const open: { readonly reader: number; readonly versions: Versions; candidates: number[] }[] = [];
  for (const [node, outcome] of outcomes.entries()) {
    if (outcome === null) continue;
    for (const [unit, value] of toldBy(outcome).seen) {
      const versions = versionsOf(unit);
      const candidates: number[] = [];
      for (let at = 0; at < versions.values.length; at++) if (versions.values[at] === value) candidates.push(at);
      if (candidates.length === 0) problems.push(`${graph.name(node)} saw ${unit}=${value}, which never was`);
      else if (candidates.length === 1) draw(node, versions, candidates[0]!);
      else open.push({ reader: node, versions, candidates });
    }
  }

  const cycle = graph.findCycle();
  if (cycle !== null) return [...problems, `no order is possible: ${cycle.join(" → ")}`];
  for (
    let left = open, isChanged = true;
    isChanged && left.length > 0;
    left = left.filter((read) => read.candidates.length > 1)
  ) {
    isChanged = false;
    for (const read of left) {
      const { reader, versions } = read;
      const feasible = read.candidates.filter((at) => {
        const writer = versions.writers[at]!;
        const overwriter = versions.writers[at + 1] ?? null;
        if (writer !== null && graph.reaches(reader, writer)) return false;
        return overwriter === null || overwriter === reader || !graph.reaches(overwriter, reader);
      });
      if (feasible.length === read.candidates.length) continue;
      isChanged = true;
      read.candidates = feasible;
      if (feasible.length === 0)
        return [...problems, `no order is possible: ${graph.name(reader)} saw something absent that was there`];
      if (feasible.length === 1) draw(reader, versions, feasible[0]!);
    }
  }
  return problems;
}

/** What comes before what. */
class Graph {
  /** Null: an instant. */
  readonly #names: (string | null)[] = [];
  readonly #next: number[][] = [];
  /** By node: the number of the last search that met it. */
  readonly #met: number[] = [];
  #searches = 0;

  add(name: string | null): number {
    this.#next.push([]);
    this.#met.push(0);
    return this.#names.push(name) - 1;
  }

  name(node: number): string {
    return this.#names[node] ?? "time";
  }

  before(a: number, b: number): void {
    this.#next[a]!.push(b);
  }

  reaches(from: number, to: number): boolean {
    const search = ++this.#searches;
    const stack = [from];
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      for (const next of this.#next[node]!) {
        if (next === to) return true;
        if (this.#met[next] === search) continue;
        this.#met[next] = search;
        stack.push(next);
      }
    }
    return false;
  }

  /** Depth first, without recursion. */
  findCycle(): readonly string[] | null {
    const OPEN = -1;
    const CLOSED = -2;
    const path: number[] = [];
    /** By place in the path: which edge of the node is next. */
    const edges: number[] = [];
    const state: number[] = Array.from({ length: this.#next.length }, () => 0);
    for (let start = 0; start < this.#next.length; start++) {
      if (state[start] !== 0) continue;
      path.push(start);
      edges.push(0);
      state[start] = OPEN;
      while (path.length > 0) {
        const node = path.at(-1)!;
        const next = this.#next[node]![edges[edges.length - 1]!++];
        if (next === undefined) {
          state[node] = CLOSED;
          path.pop();
          edges.pop();
        } else if (state[next] === OPEN) {
          return [...path.slice(path.indexOf(next)), next].map((each) => this.name(each));
        } else if (state[next] === 0) {
          path.push(next);
          edges.push(0);
          state[next] = OPEN;
        }
      }
    }
    return null;
  }
}
