/**
 * Strict serializability by versions: there is one order of all executions in which each read what those before it wrote, and
 * which agrees with the clients' clocks. Its known edges are: writers of a unit in the order of their commits; a writer and
 * who reads its version; who reads a version and the writer of the next; who was answered and who was asked for later. There is
 * such an order if and only if they close no circle.
 */
import type { UnitId } from "@radical/protocol";
import type { Versioned } from "./history.ts";
import { VersionOrder } from "./version-order.ts";

/** What is wrong, in words; empty if nothing is. */
export function checkStrictSerializability(
  history: readonly Versioned[],
  initial: ReadonlySet<UnitId>,
): readonly string[] {
  const order = new VersionOrder(history, initial);
  const problems: string[] = [];
  const graph = new Graph(history.map(({ handler, id }) => `${handler} ${id}`));
  const nodeOf = new Map(history.map((executed, node) => [executed, node]));
  const writerNode = (writer: number): number => nodeOf.get(order.writers[writer]!)!;

  for (const [node, executed] of history.entries()) {
    const place = executed.commit === null ? order.placeOf(executed) : order.writers.indexOf(executed);
    if (typeof place === "string") {
      problems.push(`${executed.handler} ${executed.id} ${place}`);
      continue;
    }
    for (const [unit, commit] of executed.reads) {
      const read = commit === null ? order.currentAt(unit, place).writer : order.writerOf(unit, commit);
      if (read === null || (commit === null && order.currentAt(unit, place).isPresent)) {
        problems.push(`${executed.handler} ${executed.id} read ${unit} as of ${commit}, which was not there`);
        continue;
      }
      if (read >= 0 && writerNode(read) !== node) graph.before(writerNode(read), node);
      const next = order.nextWriter(unit, read);
      if (next !== null && writerNode(next) !== node) graph.before(node, writerNode(next));
    }
    for (const unit of executed.writes.keys()) {
      const next = order.nextWriter(unit, place);
      if (next !== null) graph.before(node, writerNode(next));
    }
  }
  graph.inRealTime(history);
  const circle = graph.circle();
  return circle === null ? problems : [...problems, `no order is possible: ${circle.join(" → ")}`];
}

class Graph {
  /** Undefined: an instant. */
  readonly #names: readonly string[];
  readonly #next: number[][];

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#next = names.map(() => []);
  }

  before(a: number, b: number): void {
    this.#next[a]!.push(b);
  }

  /** A chain of instants, which executions leave when they are asked for and join when they are answered. */
  inRealTime(history: readonly Versioned[]): void {
    const events = history
      .flatMap(({ invokedAtMs, answeredAtMs }, node) => [
        { atMs: invokedAtMs, node, isAnswer: false },
        ...(answeredAtMs === Infinity ? [] : [{ atMs: answeredAtMs, node, isAnswer: true }]),
      ])
      // What happens at once has no order.
      .toSorted((a, b) => a.atMs - b.atMs || Number(a.isAnswer) - Number(b.isAnswer));
    let last: number | null = null;
    for (const { node, isAnswer } of events) {
      if (!isAnswer) {
        if (last !== null) this.before(last, node);
        continue;
      }
      const instant = this.#next.push([]) - 1;
      this.before(node, instant);
      if (last !== null) this.before(last, instant);
      last = instant;
    }
  }

  /** Depth first, without recursion. */
  circle(): readonly string[] | null {
    const state = new Uint8Array(this.#next.length);
    const [UNMET, OPEN, CLOSED] = [0, 1, 2];
    for (let start = 0; start < state.length; start++) {
      if (state[start] !== UNMET) continue;
      const path = [{ node: start, edge: 0 }];
      state[start] = OPEN;
      while (path.length > 0) {
        const step = path.at(-1);
        const next = this.#next[step.node]![step.edge++];
        if (next === undefined) {
          state[step.node] = CLOSED;
          path.pop();
        } else if (state[next] === OPEN) {
          const nodes = path.map(({ node }) => node);
          return [...nodes.slice(nodes.indexOf(next)), next].map((node) => this.#names[node] ?? "time");
        } else if (state[next] === UNMET) {
          state[next] = OPEN;
          path.push({ node: next, edge: 0 });
        }
      }
    }
    return null;
  }
}
