/**
 * Strict serializability: an order of the transactions exists in which each reads what those before it wrote. In it, a
 * transaction that was answered comes before each one that was asked for later.
 *
 * The known edges of that order are of four kinds. A writer comes before the writer of the unit's next version. A writer
 * comes before the reader of its version. A reader comes before the writer of the next version. The answer to a transaction
 * comes before the question for a later one. The order exists if and only if these edges close no cycle.
 *
 * A unit may have been absent several times, and a read does not tell which of these absences it saw. An absence is ruled
 * out if it would close a cycle with the known edges. The edges of the last one left become known. A scan that tells no more
 * than a sum of what it saw is treated likewise: see {@link Scan}.
 */
export interface Transaction {
  /** As it is called in problems. */
  readonly name: string;
  /** By the one clock of the history. Transactions of the same instant have no order. */
  readonly invokedAt: number;
  /** Infinity: it never got an answer. */
  readonly answeredAt: number;
  /** Each unit with the value that was read, before the transaction wrote itself; null: it was absent. */
  readonly reads: Iterable<readonly [unit: string, value: string | null]>;
  /** Left out: none. */
  readonly scans?: Iterable<Scan>;
}

/** A read of several units at one instant, absences included. It tells a sum of what it saw: a digest of the values, or their number. */
export interface Scan {
  /** As it is called in problems. */
  readonly name: string;
  /** All that were ever there to be seen. */
  readonly units: readonly string[];
  /** Modulo 2⁶⁴, of the weights of all units. */
  readonly sum: bigint;
  /** The addend of a value of a unit. An absence adds nothing. */
  readonly weightOf: (unit: string, value: string) => bigint;
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
    const at = read.candidates.find((candidate) => isFeasible(graph, read.reader, candidate));
    if (at === undefined) return { problems, order: null };
    draw(graph, read.reader, at);
  }
  return { problems, order: graph.inOrder() };
}

interface Ordered {
  readonly problems: readonly string[];
  readonly graph: Graph;
  /** Reads of an absence that is one of several, and scans whose sum several sights have. */
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
  const openScans: OpenScan[] = [];
  for (const [reader, transaction] of transactions.entries()) {
    const take = (what: string, candidates: readonly Sight[]): void => {
      if (candidates.length === 0) problems.push(notThen(transaction.name, what));
      else if (candidates.length === 1) draw(graph, reader, candidates[0]!);
      else open.push({ reader, what, candidates });
    };
    for (const [unit, value] of transaction.reads) {
      const all = versions.get(unit) ?? NEVER_WRITTEN;
      const places = placesOf(all, value);
      // A read tells what was there before its own transaction wrote.
      const candidates = places.filter((at) => all[at]!.writer !== reader);
      if (candidates.length === 0)
        problems.push(
          `${transaction.name} saw ${unit}=${value ?? ""}, which ${places.length === 0 ? "never was" : "only it wrote"}`,
        );
      // Time alone decides most, so that few have to be searched for.
      else
        take(
          `${unit}=${value ?? ""}`,
          candidates.length === 1
            ? sightsOf(all, candidates)
            : sightsOf(
                all,
                candidates.filter((at) => isInTime(transactions, reader, all, at)),
              ),
        );
    }
    for (const scan of transaction.scans ?? []) openScans.push(openScan(transactions, reader, versions, scan, take));
  }
  let undecided: readonly OpenScan[] = openScans;
  do {
    undecided = decided(undecided, graph, open, problems);
    const cycle = graph.findCycle();
    if (cycle !== null) return { problems: [...problems, `no order is possible: ${cycle.join(" → ")}`], graph, open };
    problems.push(...narrow(graph, open));
  } while (problems.length === 0 && undecided.map((scan) => limit(scan, graph)).includes(true));
  for (const { reader, name, units } of undecided)
    problems.push(
      `${transactions[reader]!.name} scanned ${name} beside too many writers for a check: ${units.length} of its units may have changed`,
    );
  return { problems, graph, open: open.filter(({ candidates }) => candidates.length > 1) };
}

/** A version that a transaction may have seen. */
interface Seen {
  readonly versions: readonly Version[];
  readonly at: number;
}

/** Versions that a transaction has seen together, if it has seen one of them. */
type Sight = readonly Seen[];

interface OpenRead {
  readonly reader: number;
  /** As it is called in problems. */
  readonly what: string;
  /** One of them is what it has seen. */
  candidates: readonly Sight[];
}

function placesOf(versions: readonly Version[], value: string | null): number[] {
  const places: number[] = [];
  for (let at = 0; at < versions.length; at++) if (versions[at]!.value === value) places.push(at);
  return places;
}

function sightsOf(versions: readonly Version[], places: readonly number[]): readonly Sight[] {
  return places.map((at) => [{ versions, at }]);
}

function notThen(name: string, what: string): string {
  return `no order is possible: ${name} saw ${what} when it was something else`;
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

/** Most sights of a scan that are looked at, and most sums of one half of what may be in it. */
const MOST_SIGHTS = 4_096;
const MOST_SUMS = 1 << 17;
const MASK = (1n << 64n) - 1n;

/** A version that a scan may have seen of a unit. */
interface Choice extends Seen {
  readonly weight: bigint;
}

/** A scan of which time alone does not decide everything. */
interface OpenScan {
  readonly reader: number;
  readonly name: string;
  /** The units that time has not decided about, each with what may have been seen of it. */
  readonly units: { readonly unit: string; choices: readonly Choice[] }[];
  /** The sum that these units make together. */
  readonly sum: bigint;
}

/** Takes what time decides about a scan. */
function openScan(
  transactions: readonly Transaction[],
  reader: number,
  versions: ReadonlyMap<string, readonly Version[]>,
  { name, units, sum, weightOf }: Scan,
  take: (what: string, candidates: readonly Sight[]) => void,
): OpenScan {
  const open: OpenScan["units"] = [];
  let rest = sum;
  for (const unit of units) {
    const all = weighed(versions.get(unit) ?? NEVER_WRITTEN, (value) => weightOf(unit, value));
    const choices = all.versions.flatMap(({ writer }, at): readonly Choice[] =>
      // A scan tells what was there before its own transaction wrote.
      writer === reader || !isInTime(transactions, reader, all.versions, at)
        ? []
        : [{ versions: all.versions, at, weight: all.weights[at]! }],
    );
    const [first] = choices;
    if (choices.length > 1) open.push({ unit, choices });
    else if (first === undefined) take(`${unit} in ${name}`, []);
    else {
      rest -= first.weight;
      // Most rows are there from before all writers to the end, so that a read of them says nothing.
      if (first.versions.length > 1) take(`${unit} in ${name}`, [[first]]);
    }
  }
  return { reader, name, units: open, sum: rest & MASK };
}

/** Versions of a unit, of which those in a row with the same weight are one: a scan can't tell them apart. */
function weighed(
  versions: readonly Version[],
  weightOf: (value: string) => bigint,
): { readonly versions: readonly Version[]; readonly weights: readonly bigint[] } {
  const weights = versions.map(({ value }) => (value === null ? 0n : weightOf(value)));
  const isNew = (at: number): boolean => at === 0 || weights[at] !== weights[at - 1];
  return { versions: versions.filter((_, at) => isNew(at)), weights: weights.filter((_, at) => isNew(at)) };
}

/** Takes what the sums of scans decide, and returns the scans that have too many sights yet. */
function decided(scans: readonly OpenScan[], graph: Graph, open: OpenRead[], problems: string[]): readonly OpenScan[] {
  return scans.filter(({ reader, name, units, sum }) => {
    const lists = units.map(({ choices }) => [...Map.groupBy(choices, ({ weight }) => weight).values()]);
    const found = chosen(lists, sum);
    if (found === null) return true;
    const [only] = found;
    if (only === undefined) {
      problems.push(`${graph.name(reader)} saw in ${name} what never was there at one time`);
      return false;
    }
    // A digest tells which rows they were, but not at which of their absences. A number tells less.
    if (found.length > 1) {
      const size = found.reduce(
        (all, choices) => all + choices.reduce((product, { length }) => product * length, 1),
        0,
      );
      if (size > MOST_SIGHTS) return true;
      open.push({ reader, what: name, candidates: found.flatMap((choices) => combined(choices)) });
      return false;
    }
    for (const [index, choices] of only.entries()) {
      if (choices.length === 1) draw(graph, reader, choices);
      else open.push({ reader, what: `${units[index]!.unit} in ${name}`, candidates: choices.map((one) => [one]) });
    }
    return false;
  });
}

/** Rules out what other edges rule out of a scan. Whether there was any. */
function limit({ reader, units }: OpenScan, graph: Graph): boolean {
  let isLimited = false;
  for (const one of units) {
    const choices = one.choices.filter((choice) => isFeasible(graph, reader, [choice]));
    if (choices.length < one.choices.length) isLimited = true;
    one.choices = choices;
  }
  return isLimited;
}

/** Every way to choose from each of the lists so that the weights have the sum; null: there are too many. A choice is of one weight. */
function chosen(
  lists: readonly (readonly (readonly Choice[])[])[],
  sum: bigint,
): readonly (readonly (readonly Choice[])[])[] | null {
  const middle = lists.length >> 1;
  const [firsts, seconds] = [lists.slice(0, middle), lists.slice(middle)];
  for (const half of [firsts, seconds])
    if (half.reduce((product, { length }) => product * length, 1) > MOST_SUMS) return null;
  const bySum = Map.groupBy(combined(firsts), weightOfAll);
  const found: (readonly (readonly Choice[])[])[] = [];
  for (const second of combined(seconds)) {
    for (const first of bySum.get((sum - weightOfAll(second)) & MASK) ?? []) {
      if (found.push([...first, ...second]) > MOST_SIGHTS) return null;
    }
  }
  return found;
}

function weightOfAll(choices: readonly (readonly Choice[])[]): bigint {
  let sum = 0n;
  for (const [first] of choices) sum += first!.weight;
  return sum & MASK;
}

/** Every way to take one of each list. */
function combined<T>(lists: readonly (readonly T[])[]): readonly (readonly T[])[] {
  let all: (readonly T[])[] = [[]];
  for (const list of lists) all = all.flatMap((begun) => list.map((one) => [...begun, one]));
  return all;
}

/** Writers and overwriters of what was seen, but for the reader itself. */
function edgesOf(
  reader: number,
  sight: Sight,
): { readonly writers: readonly number[]; readonly overwriters: readonly number[] } {
  const writers: number[] = [];
  const overwriters: number[] = [];
  for (const { versions, at } of sight) {
    const writer = versions[at]!.writer;
    const overwriter = versions[at + 1]?.writer ?? null;
    if (writer !== null && writer !== reader) writers.push(writer);
    if (overwriter !== null && overwriter !== reader) overwriters.push(overwriter);
  }
  return { writers, overwriters };
}

/** The edges of a sight. */
function draw(graph: Graph, reader: number, sight: Sight): void {
  const { writers, overwriters } = edgesOf(reader, sight);
  for (const writer of writers) graph.before(writer, reader);
  for (const overwriter of overwriters) graph.before(reader, overwriter);
}

/** Rules out sights until no more can be; tells the first read of which none is left. */
function narrow(graph: Graph, open: readonly OpenRead[]): readonly string[] {
  let left = open;
  let isChanged = true;
  while (isChanged && left.length > 0) {
    isChanged = false;
    for (const read of left) {
      const { reader, what } = read;
      const feasible = read.candidates.filter((sight) => isFeasible(graph, reader, sight));
      if (feasible.length === read.candidates.length) continue;
      isChanged = true;
      read.candidates = feasible;
      if (feasible.length === 0) return [notThen(graph.name(reader), what)];
      if (feasible.length === 1) draw(graph, reader, feasible[0]!);
    }
    left = left.filter(({ candidates }) => candidates.length > 1);
  }
  return [];
}

/** Whether the edges of this sight close no cycle. */
function isFeasible(graph: Graph, reader: number, sight: Sight): boolean {
  const { writers, overwriters } = edgesOf(reader, sight);
  if (writers.some((writer) => graph.reaches(reader, writer))) return false;
  return overwriters.every(
    (overwriter) =>
      !graph.reaches(overwriter, reader) &&
      writers.every((writer) => overwriter !== writer && !graph.reaches(overwriter, writer)),
  );
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
