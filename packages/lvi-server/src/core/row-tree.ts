/**
 * A B+ tree has the rows of one table without values, in the order of their keys. Each node knows how many rows it has, and the
 * sum of their parts in digests. So the digest and the number of the rows in any interval cost a walk from the root.
 */
import {
  type CommitId,
  commitId,
  commitParts,
  compareBounds,
  type ContentHash,
  type DirectoryRow,
  hashText,
  hashWords,
  type Key,
  rowWords,
} from "@radical/protocol";

/** How many rows there are, and the halves of the sum of their parts in digests. */
export interface Sum {
  readonly count: number;
  readonly high: number;
  readonly low: number;
}

interface Total {
  count: number;
  high: number;
  low: number;
}

interface Leaf extends Total {
  readonly isLeaf: true;
  readonly keys: Key[];
  /** Of each row {@link WORDS} words. */
  readonly words: Uint32Array;
}

interface Inner extends Total {
  readonly isLeaf: false;
  readonly children: Node[];
}

type Node = Leaf | Inner;

const LEAF_ROWS = 64;
const MOST_CHILDREN = 32;

/** Of a row: epoch and sequence of its commit id, its content hash, its part in digests. */
const WORDS = 7;
const EPOCH = 0;
const SEQUENCE_HIGH = 1;
const SEQUENCE_LOW = 2;
const CONTENT_HIGH = 3;
const CONTENT_LOW = 4;
const PART_HIGH = 5;
const PART_LOW = 6;

export class RowTree {
  #root: Node = newLeaf();

  get size(): number {
    return this.#root.count;
  }

  /** False: another version of the row was there. */
  set(row: DirectoryRow): boolean {
    const before = this.#root.count;
    const sibling = insert(this.#root, row);
    if (sibling !== null) this.#root = innerOf([this.#root, sibling]);
    return this.#root.count > before;
  }

  /** Whether the row was there. */
  delete(key: Key): boolean {
    const before = this.#root.count;
    remove(this.#root, key);
    while (!this.#root.isLeaf && this.#root.children.length === 1) this.#root = this.#root.children[0]!;
    return this.#root.count < before;
  }

  /** The sum over all rows before an upper bound; "" is after the last one. */
  before(bound: string): Sum {
    const sum: Total = { count: 0, high: 0, low: 0 };
    if (bound === "") add(sum, this.#root);
    else addBefore(sum, this.#root, bound);
    return sum;
  }

  /** The sum over the rows before a lower bound; "" is before the first one. */
  from(bound: string): Sum {
    return bound === "" ? NOTHING : this.before(bound);
  }

  /** The rows from one place to another, counted from 0 and without the latter, in the order of their keys. */
  slice(from: number, to: number): readonly DirectoryRow[] {
    const rows: DirectoryRow[] = [];
    collect(this.#root, from, to, rows);
    return rows;
  }
}

const NOTHING: Sum = { count: 0, high: 0, low: 0 };

function newLeaf(): Leaf {
  return { isLeaf: true, keys: [], words: new Uint32Array(LEAF_ROWS * WORDS), count: 0, high: 0, low: 0 };
}

function innerOf(children: Node[]): Inner {
  const node: Inner = { isLeaf: false, children, count: 0, high: 0, low: 0 };
  refresh(node);
  return node;
}

function add(sum: Total, { count, high, low }: Sum): void {
  sum.count += count;
  addWords(sum, high, low);
}

function addWords(sum: Total, high: number, low: number): void {
  const whole = (sum.low >>> 0) + (low >>> 0);
  sum.low = whole | 0;
  sum.high = (sum.high + high + (whole > 0xffffffff ? 1 : 0)) | 0;
}

/** Counts its rows anew. */
function refresh(node: Node): void {
  [node.count, node.high, node.low] = [0, 0, 0];
  if (!node.isLeaf) for (const child of node.children) add(node, child);
  else {
    node.count = node.keys.length;
    addRows(node, node, 0, node.count);
  }
}

function addRows(sum: Total, { words }: Leaf, from: number, to: number): void {
  for (let at = from * WORDS; at < to * WORDS; at += WORDS)
    addWords(sum, words[at + PART_HIGH]!, words[at + PART_LOW]!);
}

function firstKey(node: Node): Key {
  let first = node;
  while (!first.isLeaf) first = first.children[0]!;
  return first.keys[0]!;
}

/** How many keys are before the bound. */
function placeOf(keys: readonly Key[], bound: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareBounds(keys[middle]!, bound) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The child that has the key, or would have it. */
function childOf({ children }: Inner, key: string): number {
  let low = 1;
  let high = children.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareBounds(firstKey(children[middle]!), key) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The new node after this one, if it has split; else null. */
function insert(node: Node, row: DirectoryRow): Node | null {
  const sibling = node.isLeaf ? insertRow(node, row) : insertBelow(node, row);
  refresh(node);
  if (sibling !== null) refresh(sibling);
  return sibling;
}

function insertBelow(node: Inner, row: DirectoryRow): Node | null {
  const at = childOf(node, row.key);
  const next = insert(node.children[at]!, row);
  if (next === null) return null;
  node.children.splice(at + 1, 0, next);
  return node.children.length <= MOST_CHILDREN ? null : innerOf(node.children.splice(MOST_CHILDREN >> 1));
}

function insertRow(leaf: Leaf, row: DirectoryRow): Node | null {
  const at = placeOf(leaf.keys, row.key);
  // variant: row-replaced
  if (leaf.keys[at] === row.key) {
    write(leaf, at, row);
    return null;
  }
  if (leaf.keys.length < LEAF_ROWS) {
    makeRoom(leaf, at);
    leaf.keys.splice(at, 0, row.key);
    write(leaf, at, row);
    return null;
  }
  // Keys that grow fill their leaves.
  const half = at === LEAF_ROWS ? LEAF_ROWS : LEAF_ROWS >> 1;
  const sibling = newLeaf();
  sibling.words.set(leaf.words.subarray(half * WORDS));
  sibling.keys.push(...leaf.keys.splice(half));
  if (at < half || (at === half && half < LEAF_ROWS)) insertRow(leaf, row);
  else insertRow(sibling, row);
  return sibling;
}

function makeRoom({ words, keys }: Leaf, at: number): void {
  words.copyWithin((at + 1) * WORDS, at * WORDS, keys.length * WORDS);
}

function write({ words }: Leaf, place: number, row: DirectoryRow): void {
  const at = place * WORDS;
  const { epoch, sequence } = commitParts(row.commitId);
  words[at + EPOCH] = epoch;
  words[at + SEQUENCE_HIGH] = Math.floor(sequence / 2 ** 32);
  words[at + SEQUENCE_LOW] = sequence;
  [words[at + CONTENT_HIGH], words[at + CONTENT_LOW]] = hashWords(row.hash);
  [words[at + PART_HIGH], words[at + PART_LOW]] = rowWords(row);
}

function remove(node: Node, key: Key): void {
  if (node.isLeaf) {
    const at = placeOf(node.keys, key);
    if (node.keys[at] !== key) return;
    node.words.copyWithin(at * WORDS, (at + 1) * WORDS, node.keys.length * WORDS);
    node.keys.splice(at, 1);
  } else {
    const at = childOf(node, key);
    remove(node.children[at]!, key);
    joinChildren(node, at);
  }
  refresh(node);
}

/** Joins a child that has become small with the one before or after it. An empty one goes. */
function joinChildren(node: Inner, at: number): void {
  const { children } = node;
  if (children[at]!.count === 0 && children.length > 1) return void children.splice(at, 1);
  if (widthOf(children[at]!) > mostOf(children[at]!) / 4) return;
  const first = at === 0 ? 0 : at - 1;
  const [left, right] = [children[first]!, children[first + 1]];
  if (right === undefined || widthOf(left) + widthOf(right) > mostOf(left)) return;
  if (left.isLeaf && right.isLeaf) {
    left.words.set(right.words.subarray(0, right.keys.length * WORDS), left.keys.length * WORDS);
    left.keys.push(...right.keys);
  } else if (!left.isLeaf && !right.isLeaf) left.children.push(...right.children);
  refresh(left);
  children.splice(first + 1, 1);
}

function widthOf(node: Node): number {
  return node.isLeaf ? node.keys.length : node.children.length;
}

function mostOf(node: Node): number {
  return node.isLeaf ? LEAF_ROWS : MOST_CHILDREN;
}

function addBefore(sum: Total, node: Node, bound: string): void {
  if (node.isLeaf) {
    const count = placeOf(node.keys, bound);
    sum.count += count;
    return addRows(sum, node, 0, count);
  }
  const at = childOf(node, bound);
  for (let i = 0; i < at; i++) add(sum, node.children[i]!);
  addBefore(sum, node.children[at]!, bound);
}

function collect(node: Node, from: number, to: number, rows: DirectoryRow[]): void {
  if (node.isLeaf) {
    for (let at = Math.max(0, from); at < Math.min(to, node.keys.length); at++) rows.push(read(node, at));
    return;
  }
  let start = 0;
  for (const child of node.children) {
    if (start >= to) return;
    if (start + child.count > from) collect(child, from - start, to - start, rows);
    start += child.count;
  }
}

function read({ keys, words }: Leaf, place: number): DirectoryRow {
  const at = place * WORDS;
  const commit: CommitId = commitId(
    words[at + EPOCH]!,
    words[at + SEQUENCE_HIGH]! * 2 ** 32 + words[at + SEQUENCE_LOW]!,
  );
  const hash: ContentHash = hashText(words[at + CONTENT_HIGH]!, words[at + CONTENT_LOW]!);
  return { key: keys[place]!, commitId: commit, hash };
}
