/** Names with intervals of keys: a treap in the order of lower bounds, in which each node knows the last upper bound below it. */
import { compareKeys, type UnitId } from "./ids.ts";
import { compareBounds, isBelow } from "./span.ts";

/** The keys from `lo` up to `hi`, without `hi`. An empty `hi` is after the last key. */
export interface NamedInterval {
  readonly name: UnitId;
  readonly lo: string;
  readonly hi: string;
}

interface Node extends NamedInterval {
  readonly priority: number;
  left: Node | null;
  right: Node | null;
  /** The last upper bound of the node and of all nodes below it. */
  lastHi: string;
}

export class IntervalTree {
  #root: Node | null = null;
  #random = 1;

  get isEmpty(): boolean {
    return this.#root === null;
  }

  /** The name is not in the tree. */
  add({ name, lo, hi }: NamedInterval): void {
    const node: Node = { name, lo, hi, priority: this.#draw(), left: null, right: null, lastHi: hi };
    const [before, after] = split(this.#root, node);
    this.#root = join(join(before, node), after);
  }

  /** The name is in the tree, with this interval. */
  delete(interval: NamedInterval): void {
    this.#root = without(this.#root, interval);
  }

  /** The names of intervals that share a place with this one, in the order of their lower bounds. */
  meeting(lo: string, hi: string): readonly UnitId[] {
    const names: UnitId[] = [];
    collect(this.#root, lo, hi, names);
    return names;
  }

  meets(lo: string, hi: string): boolean {
    return meets(this.#root, lo, hi);
  }

  /** Xorshift. Priorities don't depend on names, so nobody can choose names that make the tree deep. */
  #draw(): number {
    this.#random ^= this.#random << 13;
    this.#random ^= this.#random >>> 17;
    this.#random ^= this.#random << 5;
    return this.#random;
  }
}

function collect(node: Node | null, lo: string, hi: string, names: UnitId[]): void {
  if (node === null || !isBelow(lo, node.lastHi)) return;
  collect(node.left, lo, hi, names);
  if (!isBelow(node.lo, hi)) return;
  if (isBelow(lo, node.hi)) names.push(node.name);
  collect(node.right, lo, hi, names);
}

function meets(node: Node | null, lo: string, hi: string): boolean {
  if (node === null || !isBelow(lo, node.lastHi)) return false;
  if (isBelow(node.lo, hi) && isBelow(lo, node.hi)) return true;
  return meets(node.left, lo, hi) || (isBelow(node.lo, hi) && meets(node.right, lo, hi));
}

function compare(a: NamedInterval, b: NamedInterval): number {
  return compareBounds(a.lo, b.lo) || compareKeys(a.name, b.name);
}

function laterHi(a: string, b: string): string {
  return isBelow(a, b) && a !== "" ? b : a;
}

function update(node: Node): Node {
  node.lastHi = node.hi;
  if (node.left !== null) node.lastHi = laterHi(node.lastHi, node.left.lastHi);
  if (node.right !== null) node.lastHi = laterHi(node.lastHi, node.right.lastHi);
  return node;
}

/** The nodes before an interval, and those after it. */
function split(node: Node | null, at: NamedInterval): readonly [Node | null, Node | null] {
  if (node === null) return [null, null];
  if (compare(node, at) < 0) {
    const [before, after] = split(node.right, at);
    node.right = before;
    return [update(node), after];
  }
  const [before, after] = split(node.left, at);
  node.left = after;
  return [before, update(node)];
}

/** All of `a` is before all of `b`. */
function join(a: Node | null, b: Node | null): Node | null {
  if (a === null) return b;
  if (b === null) return a;
  if (a.priority > b.priority) {
    a.right = join(a.right, b);
    return update(a);
  }
  b.left = join(a, b.left);
  return update(b);
}

function without(node: Node | null, gone: NamedInterval): Node | null {
  if (node === null) return null;
  const order = compare(gone, node);
  if (order === 0) return join(node.left, node.right);
  if (order < 0) node.left = without(node.left, gone);
  else node.right = without(node.right, gone);
  return update(node);
}
