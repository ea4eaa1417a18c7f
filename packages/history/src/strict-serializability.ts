/**
 * Strict serializability: an order of the transactions exists in which each reads what those before it wrote. In it, a
 * transaction that was answered comes before each one that was asked for later.
 *
 * The known edges of that order are of four kinds. A writer comes before the writer of the unit's next version. A writer
 * comes before the reader of its version. A reader comes before the writer of the next version. The answer to a transaction
 * comes before the question for a later one. The order exists if and only if these edges close no cycle.
 *
 * A unit may have been absent several times, and a read does not tell which of these absences it saw. An absence is ruled
 * out if it would close a cycle with the known edges. The edges of the last one left become known.
 */
export interface Transaction {
  /** As it is called in problems. */
  readonly name: string;
  /** By the one clock of the history. Transactions of the same instant have no order. */
  readonly invokedAt: number;
  /** Infinity: it never got an answer. */
  readonly answeredAt: number;
  /** Each unit with the value that was read; null: it was absent. */
  readonly reads: Iterable<readonly [unit: string, value: string | null]>;
}

export interface Version {
  /** The place of its writer among the transactions; null: it was there before the first of them. */
  readonly writer: number | null;
  /** By which reads tell the version; null: the unit is absent. */
  readonly value: string | null;
}

/** A unit that nobody wrote. */
const NEVER_WRITTEN: readonly Version[] = [{ writer: null, value: null }];

export interface SerialOrder {
  /** The violations, in words; empty if there are none. */
  readonly problems: readonly string[];
  /** Places of the transactions, in an order as above; null: there is none, or none was found among ambiguous absences. */
  readonly order: readonly number[] | null;
}

/** The violations, in words; empty if there are none. `versions`: of each unit in their order, from the one before all writers. */
export function checkStrictSerializability(
  transactions: readonly Transaction[],
  versions: ReadonlyMap<string, readonly Version[]>,
): readonly string[] {
  return orderOf(transactions, versions).problems;
}

/** One order of the transactions, of which there may be many. `versions`: of each unit in their order, from the one before all writers. */
export function serialOrder(
  transactions: readonly Transaction[],
  versions: ReadonlyMap<string, readonly Version[]>,
): SerialOrder {
  const { problems, graph, open } = orderOf(transactions, versions);
  if (problems.length > 0) return { problems, order: null };
  for (const read of open) {
    // Decisions on others may have ruled it out since.
    const at = read.candidates.find((candidate) => isFeasible(graph, read, candidate));
    if (at === undefined) return { problems, order: null };
    draw(graph, read.reader, read.versions, at);
  }
  return { problems, order: graph.inOrder() };
}

interface Ordered {
  readonly problems: readonly string[];
  readonly graph: Graph;
  /** Reads of an absence that is one of several. */
  readonly open: readonly OpenRead[];
}

function orderOf(transactions: readonly Transaction[], versions: ReadonlyMap<string, readonly Version[]>): Ordered {
  const problems: string[] = [];
  const graph = new Graph(transactions);
  for (const all of versions.values()) {
    for (let at = 1; at < all.length; at++) {
      const [previous, writer] = [all[at - 1]!.writer, all[at]!.writer];
      if (previous !== null && writer !== null) graph.before(previous, writer);
    }
  }

  const open: OpenRead[] = [];
  for (const [reader, { name, reads }] of transactions.entries()) {
    for (const [unit, value] of reads) {
      const all = versions.get(unit) ?? NEVER_WRITTEN;
      const candidates: number[] = [];
      for (let at = 0; at < all.length; at++) if (all[at]!.value === value) candidates.push(at);
      if (candidates.length === 0) {
        problems.push(`${name} saw ${unit}=${value ?? ""}, which never was`);
        continue;
      }
      // Time alone decides most, so that few have to be searched for.
      const possible =
        candidates.length === 1 ? candidates : candidates.filter((at) => isInTime(transactions, reader, all, at));
      if (possible.length === 0) problems.push(notThen(name, unit, value));
      else if (possible.length === 1) draw(graph, reader, all, possible[0]!);
      else open.push({ reader, unit, value, versions: all, candidates: possible });
    }
  }
  const cycle = graph.findCycle();
  if (cycle !== null) return { problems: [...problems, `no order is possible: ${cycle.join(" → ")}`], graph, open };
  problems.push(...narrow(graph, open));
  return { problems, graph, open: open.filter(({ candidates }) => candidates.length > 1) };
}

interface OpenRead {
  readonly reader: number;
  readonly unit: string;
  readonly value: string | null;
  readonly versions: readonly Version[];
  /** Versions that it may have seen. */
  candidates: readonly number[];
}

function notThen(name: string, unit: string, value: string | null): string {
  return `no order is possible: ${name} saw ${unit}=${value ?? ""} when it was something else`;
}

/** Whether a version was not yet overwritten when its reader was asked for, and was asked for before the reader's answer. */
function isInTime(
  transactions: readonly Transaction[],
  reader: number,
  versions: readonly Version[],
  at: number,
): boolean {
  const { invokedAt, answeredAt } = transactions[reader]!;
  const writer = versions[at]!.writer;
  if (writer !== null && writer !== reader && transactions[writer]!.invokedAt > answeredAt) return false;
  const overwriter = versions[at + 1]?.writer ?? null;
  return overwriter === null || overwriter === reader || transactions[overwriter]!.answeredAt >= invokedAt;
}

/** The edges of a read of a version. */
function draw(graph: Graph, reader: number, versions: readonly Version[], at: number): void {
  const writer = versions[at]!.writer;
  const overwriter = versions[at + 1]?.writer ?? null;
  if (writer !== null && writer !== reader) graph.before(writer, reader);
  if (overwriter !== null && overwriter !== reader) graph.before(reader, overwriter);
}

/** Rules out versions of reads until no more can be; tells the first read of which none is left. */
function narrow(graph: Graph, open: readonly OpenRead[]): readonly string[] {
  let left = open;
  let isChanged = true;
  while (isChanged && left.length > 0) {
    isChanged = false;
    for (const read of left) {
      const { reader, unit, versions } = read;
      const feasible = read.candidates.filter((at) => isFeasible(graph, read, at));
      if (feasible.length === read.candidates.length) continue;
      isChanged = true;
      read.candidates = feasible;
      if (feasible.length === 0) return [notThen(graph.name(reader), unit, read.value)];
      if (feasible.length === 1) draw(graph, reader, versions, feasible[0]!);
    }
    left = left.filter(({ candidates }) => candidates.length > 1);
  }
  return [];
}

/** Whether the read of this version closes no cycle. */
function isFeasible(graph: Graph, { reader, versions }: OpenRead, at: number): boolean {
  const writer = versions[at]!.writer;
  const overwriter = versions[at + 1]?.writer ?? null;
  if (writer !== null && graph.reaches(reader, writer)) return false;
  return overwriter === null || overwriter === reader || !graph.reaches(overwriter, reader);
}

/** The edges of the order. The first nodes are the transactions; instants of time follow. */
class Graph {
  readonly #transactions: readonly Transaction[];
  readonly #next: number[][];
  /** By node: when it was asked for; of an instant, when it is. */
  readonly #from: number[];
  /** By node: the number of the last search that met it. */
  readonly #met: number[];
  #searches = 0;

  constructor(transactions: readonly Transaction[]) {
    this.#transactions = transactions;
    this.#next = transactions.map(() => []);
    this.#from = transactions.map(({ invokedAt }) => invokedAt);
    this.#addTime();
    this.#met = this.#next.map(() => 0);
  }

  name(node: number): string {
    return this.#transactions[node]?.name ?? "time";
  }

  before(a: number, b: number): void {
    this.#next[a]!.push(b);
  }

  /**
   * Whether a node comes before a transaction. The edges must have no cycle: then nothing behind its answer can lead to it.
   */
  reaches(from: number, to: number): boolean {
    const until = this.#transactions[to]!.answeredAt;
    const search = ++this.#searches;
    const stack = [from];
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      for (const next of this.#next[node]!) {
        if (next === to) return true;
        if (this.#met[next] === search || this.#from[next]! > until) continue;
        this.#met[next] = search;
        stack.push(next);
      }
    }
    return false;
  }

  findCycle(): readonly string[] | null {
    return this.#search(() => undefined);
  }

  /** The transactions, each behind all that come before it. The edges must have no cycle. */
  inOrder(): readonly number[] {
    const last: number[] = [];
    this.#search((node) => {
      if (node < this.#transactions.length) last.push(node);
    });
    return last.toReversed();
  }

  /** Depth first, without recursion. Returns a cycle. `left`: called with each node after all that come behind it. */
  #search(left: (node: number) => void): readonly string[] | null {
    const OPEN = -1;
    const CLOSED = -2;
    const path: number[] = [];
    /** By place in the path: which edge of the node is next. */
    const edges: number[] = [];
    const state: number[] = this.#next.map(() => 0);
    for (let start = 0; start < this.#next.length; start++) {
      if (state[start] !== 0) continue;
      path.push(start);
      edges.push(0);
      state[start] = OPEN;
      while (path.length > 0) {
        const node = path[path.length - 1]!;
        const next = this.#next[node]![edges[edges.length - 1]!++];
        if (next === undefined) {
          state[node] = CLOSED;
          left(node);
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

  /** A chain of instants: transactions leave it when they are asked for, and join it when they are answered. */
  #addTime(): void {
    const events: { readonly at: number; readonly node: number; readonly isAnswer: boolean }[] = [];
    for (const [node, { invokedAt, answeredAt }] of this.#transactions.entries()) {
      events.push({ at: invokedAt, node, isAnswer: false });
      if (answeredAt < Infinity) events.push({ at: answeredAt, node, isAnswer: true });
    }
    // Questions first: events of the same instant have no order.
    events.sort((a, b) => (a.at === b.at ? Number(a.isAnswer) - Number(b.isAnswer) : a.at - b.at));
    let last: number | null = null;
    for (const { at, node, isAnswer } of events) {
      if (!isAnswer) {
        if (last !== null) this.before(last, node);
        continue;
      }
      const instant = this.#next.push([]) - 1;
      this.#from[instant] = at;
      this.before(node, instant);
      if (last !== null) this.before(last, instant);
      last = instant;
    }
  }
}
