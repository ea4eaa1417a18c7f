/**
 * What must be true of a history, whatever the faults were:
 *
 * - strict serializability: the executions can be ordered one after the other so that each sees exactly what those
 *   before it wrote, and one that ended before another began comes first. Checked by versions: every value names its
 *   writer and storage's log gives the order of the versions of each unit, so all dependencies are known edges, and the
 *   order exists if and only if they close no cycle.
 * - exactly once: storage applied every execution at most once, and every answer to the same execution is the same.
 * - durability: every write whose execution was answered is in storage's log.
 */
import { encodeOutcome, type ExecutionId, type Outcome } from "@radical/protocol";
import type { Applied } from "./primary.ts";
import { seenIn, unitOf, writerOf } from "./programs.ts";

/** One client operation: what it was told, and when. */
export interface Operation {
  readonly name: string;
  readonly executionId: ExecutionId;
  readonly invokedAt: number;
  /** Null: it never got an answer. Times are positions in the history, all different. */
  readonly answeredAt: number | null;
  readonly outcome: Outcome | null;
  /** Whether it writes if it succeeds. */
  readonly mustBeApplied: boolean;
}

/** What is wrong, in words; empty if nothing is. */
export function check(operations: readonly Operation[], log: readonly Applied[]): readonly string[] {
  return [...checkOnce(operations, log), ...checkOrder(operations, log)];
}

function checkOnce(operations: readonly Operation[], log: readonly Applied[]): string[] {
  const problems: string[] = [];
  const applied = new Map<ExecutionId, Applied>();
  for (const entry of log) {
    if (applied.has(entry.executionId)) problems.push(`execution ${entry.executionId} was applied twice`);
    applied.set(entry.executionId, entry);
  }
  for (const { name, executionId, outcome, mustBeApplied } of operations) {
    if (outcome === null) continue;
    const entry = applied.get(executionId);
    if (entry === undefined) {
      if (mustBeApplied && outcome.kind === "result") problems.push(`${name} was answered, but its writes are lost`);
    } else if (!sameBytes(encodeOutcome(entry.outcome), encodeOutcome(outcome))) {
      problems.push(`${name} was told ${show(outcome)}, storage has ${show(entry.outcome)}`);
    }
  }
  return problems;
}

interface Node {
  readonly name: string;
  readonly next: Set<Node>;
  state: "new" | "open" | "closed";
}

function checkOrder(operations: readonly Operation[], log: readonly Applied[]): string[] {
  const problems: string[] = [];
  const nodes = new Map<ExecutionId, Node>();
  const byName = new Map<string, Node>();
  const nodeOf = (executionId: ExecutionId, name: string): Node => {
    let node = nodes.get(executionId);
    if (node === undefined) {
      nodes.set(executionId, (node = { name, next: new Set(), state: "new" }));
      byName.set(name, node);
    }
    return node;
  };
  const before = (a: Node | undefined, b: Node | undefined): void => {
    if (a !== undefined && b !== undefined && a !== b) a.next.add(b);
  };

  // What each execution saw: as its client was told, or as storage recorded it.
  const outcomes = new Map<ExecutionId, Outcome>();
  for (const { name, executionId, outcome } of operations) {
    if (outcome === null) continue;
    nodeOf(executionId, name);
    outcomes.set(executionId, outcome);
  }
  const nameOf = new Map(operations.map(({ name, executionId }) => [executionId, name]));
  for (const { executionId, outcome } of log) {
    nodeOf(executionId, nameOf.get(executionId)!);
    if (!outcomes.has(executionId)) outcomes.set(executionId, outcome);
  }

  // The versions of each unit, in the order of storage's log; null: absent. The first is "never written".
  const versions = new Map<string, { readonly writer: Node | undefined; readonly value: string | null }[]>();
  const versionsOf = (unit: string): { readonly writer: Node | undefined; readonly value: string | null }[] => {
    let list = versions.get(unit);
    if (list === undefined) versions.set(unit, (list = [{ writer: undefined, value: null }]));
    return list;
  };
  const lastCommit = new Map<string, string>();
  for (const { executionId, commitId, writes } of log) {
    for (const { unit, value } of writes) {
      if ((lastCommit.get(unit) ?? "") >= commitId)
        problems.push(`${unit} got commit ${commitId} after ${lastCommit.get(unit)}`);
      lastCommit.set(unit, commitId);
      const list = versionsOf(unit);
      before(list.at(-1)!.writer, nodes.get(executionId));
      list.push({ writer: nodes.get(executionId), value: writerOf(value) });
    }
  }

  const invokedAt = new Map<Node, number>();
  const answeredAt = new Map<Node, number>();
  for (const operation of operations) {
    const node = nodes.get(operation.executionId);
    if (node === undefined) continue;
    // The same execution may be asked for several times: it lies between the first question and the first answer.
    invokedAt.set(node, Math.min(invokedAt.get(node) ?? Infinity, operation.invokedAt));
    if (operation.answeredAt !== null)
      answeredAt.set(node, Math.min(answeredAt.get(node) ?? Infinity, operation.answeredAt));
  }

  for (const [executionId, outcome] of outcomes) {
    const reader = nodes.get(executionId)!;
    for (const [key, value] of Object.entries(seenIn(outcome))) {
      const list = versionsOf(unitOf(key));
      const candidates: number[] = [];
      list.forEach((version, index) => {
        if (version.value === value && feasible(reader, version.writer, list[index + 1]?.writer))
          candidates.push(index);
      });
      if (candidates.length === 0) problems.push(`${reader.name} saw ${key}=${value}, which was never so at that time`);
      // A unit may have been absent several times; which time it was is then not known.
      if (candidates.length !== 1) continue;
      before(list[candidates[0]!]!.writer, reader);
      before(reader, list[candidates[0]! + 1]?.writer);
    }
  }

  /** Whether a version can have been current at some time while the reader ran. */
  function feasible(reader: Node, writer: Node | undefined, overwriter: Node | undefined): boolean {
    if (overwriter === reader) return true;
    if (writer !== undefined && (invokedAt.get(writer) ?? 0) > (answeredAt.get(reader) ?? Infinity)) return false;
    return overwriter === undefined || (answeredAt.get(overwriter) ?? Infinity) > (invokedAt.get(reader) ?? 0);
  }

  // Real time: a chain of instants, which executions leave when they are invoked and join when they are answered.
  const instants: { readonly at: number; readonly node: Node; readonly answer: boolean }[] = [];
  for (const [node, at] of invokedAt) instants.push({ at, node, answer: false });
  for (const [node, at] of answeredAt) instants.push({ at, node, answer: true });
  instants.sort((a, b) => a.at - b.at);
  let last: Node | undefined;
  for (const { at, node, answer } of instants) {
    if (!answer) {
      before(last, node);
      continue;
    }
    const instant: Node = { name: `time ${at}`, next: new Set(), state: "new" };
    before(node, instant);
    before(last, instant);
    last = instant;
  }

  const cycle = findCycle(nodes.values());
  if (cycle !== null) problems.push(`no order is possible: ${cycle.map(({ name }) => name).join(" → ")}`);
  return problems;
}

/** Depth first, without recursion. */
function findCycle(nodes: Iterable<Node>): readonly Node[] | null {
  for (const start of nodes) {
    if (start.state !== "new") continue;
    const path: { readonly node: Node; readonly rest: Iterator<Node> }[] = [];
    const open = (node: Node): void => {
      node.state = "open";
      path.push({ node, rest: node.next.values() });
    };
    open(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = top.rest.next();
      if (next.done === true) {
        top.node.state = "closed";
        path.pop();
      } else if (next.value.state === "open") {
        const from = path.findIndex(({ node }) => node === next.value);
        return [...path.slice(from).map(({ node }) => node), next.value];
      } else if (next.value.state === "new") open(next.value);
    }
  }
  return null;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

function show(outcome: Outcome): string {
  return outcome.kind === "result" ? new TextDecoder().decode(outcome.value) : `${outcome.kind} ${outcome.message}`;
}
