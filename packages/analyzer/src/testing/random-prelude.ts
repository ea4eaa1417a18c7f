/**
 * For tests: what every random program starts with. Its functions and classes hide accesses, aliases and effects in
 * the places where the slicer could overlook them.
 */

/** Texts that keys are made of; also for the store and the arguments. */
export const KEY_TEXTS: readonly string[] = ["ka", "kb", "k0", "k1", "k2"];
export const TABLES: readonly string[] = ["A", "B", "C", "T", "P"];

export const PRELUDE = `import { Range, Row, Table, abort, caller, cancel, enqueue, log, now, random, uuid } from "@radical/sdk";
export class Part { label: string = "p"; weight: i32 = 1; }
export class Item {
  n: i32 = 0;
  list: string[] = [];
  part: Part = new Part();
  parts: Part[] = [];
  other: Part | null = null;
  flag: bool = false;
  ratio: f64 = 0.5;
  tiny: u8 = 3;
  constructor(public id: string) {}
}
const A = new Table<Item>("A");
const B = new Table<Item>("B");
const C = new Table<Item>("C");
const T = new Table<string>("T");
type Mood = "calm" | "loud";
interface Place { at: string; near?: string; level: i32 | null; kinds: Record<string, i32>; spots: { tag: string; x?: i32 }[]; mood: Mood }
const P = new Table<Place>("P");
export function later(text: string, n: i32 = 1): void { T.put(key(text), n.toString()); }
enum Color { Red, Green = 3, Blue }
class Node {
  next: Node | null = null;
  numbers: i32[] = [];
  constructor(public x: i32, public s: string) { this.numbers.push(x); }
  get twice(): i32 { return this.x * 2; }
  set twice(value: i32) { this.x = value / 2; }
  get known(): bool { return A.has(key(this.s)); }
  set mark(value: string) { T.put(key(value), this.s); this.s = value; }
  bump(by: i32): i32 { this.x = (this.x + by) % 97; return this.x; }
  label(): string { return "n" + this.x.toString(); }
  attach(other: Node): Node { this.next = other; return this; }
  chain(depth: i32): i32 { const next = this.next; return depth > 0 && next != null ? next.chain(depth - 1) + this.x : this.x; }
}
type Fn = (text: string) => string;
type Act = (node: Node, text: string) => void;
class Holder {
  static chosen: Fn = plain;
  own: Fn = noting;
  node: Node = shared;
  nodes: Node[] = [];
  names: Map<string, Node> = new Map<string, Node>();
  static held: Node = new Node(4, "st");
  static hits: i32 = 1;
  static tick(): i32 { return Holder.hits++; }
  keep(node: Node): Holder { this.nodes.push(node); this.names.set(node.s, node); return this; }
  first(): Node { return this.nodes.length > 0 ? this.nodes[0] : this.node; }
  named(name: string): Node { return this.names.has(name) ? this.names.get(name) : this.node; }
}
class Box<T> {
  constructor(public value: T) {}
  get(): T { return this.value; }
  swap(value: T): T { const old = this.value; this.value = value; return old; }
}
abstract class Shape {
  constructor(public tag: string) {}
  abstract go(node: Node): string;
  side(): void { B.has(key(this.tag)); }
  area(): i32 { return 1; }
}
class Circle extends Shape { go(node: Node): string { node.x += 1; return this.tag + node.s; } }
class Ring extends Circle {
  inner: i32 = count;
  go(node: Node): string { const text = super.go(node); node.s = "r"; return text; }
  area(): i32 { return super.area() + this.inner; }
}
class Square extends Shape {
  size: i32 = 2;
  constructor(tag: string) { super("s" + tag); }
  go(node: Node): string { this.size += node.x; return this.size.toString(); }
  side(): void { C.has(key(this.tag)); super.side(); }
  area(): i32 { return this.size * this.size; }
}
interface Sound { level: i32; sound(text: string): string; }
interface LoudSound extends Sound { louder(by: i32): i32; }
class Bell implements Sound {
  level: i32 = 1;
  sound(text: string): string { this.level++; return clip(text + "b"); }
}
class Horn implements LoudSound {
  heard: Node[] = [];
  get level(): i32 { return this.heard.length + count; }
  set level(value: i32) { count = value & 7; T.has(near(value)); }
  sound(text: string): string { this.heard.push(shared); C.has(key(text)); return text; }
  louder(by: i32): i32 { this.level = by; return this.level; }
}
class Pair {
  left: i32 = 1;
  right: string = "p";
  @operator("+") plus(other: Pair): Pair { return pair(this.left + other.left, clip(this.right + other.right)); }
  @operator("==") same(other: Pair): bool { B.has(near(other.left)); return this.left == other.left; }
  @operator("<") less(other: Pair): bool { count++; return this.left < other.left; }
  @operator("[]") at(index: i32): i32 { return this.left + index; }
  @operator("[]=") put(index: i32, value: i32): void { this.left = value - index; shared.x = index; }
}
let count: i32 = 3;
let word: string = "a";
let shared: Node = new Node(5, "g");
let register: Node[] = [shared];
const texts: string[] = ["a", "b"];
const limits: i32[] = [1, 2, 3];
const fns: Fn[] = [plain];
const commands = new Map<string, Fn>().set("a", plain);
const nested = new Map<string, Map<string, Fn>>().set("n", commands);
const acts: Act[] = [tallying];
function key(text: string): string { return "k" + (text.length > 0 ? text.charAt(text.length - 1) : "0"); }
function wide(text: string): string { return "k" + clip(text); }
function near(n: i32): string { return "k" + (n & 1).toString(); }
function clip(text: string): string { return text.length > 6 ? text.substring(text.length - 6) : text; }
function few<T>(list: T[]): T[] { return list.length > 5 ? list.slice(0, 5) : list; }
function item(id: string, n: i32, list: string[]): Item { const made = new Item(id); made.n = n; made.list = few<string>(list); return made; }
function place(at: string, n: i32): Place { return { at: clip(at), level: n > 2 ? n : null, kinds: { a: n }, spots: [{ tag: clip(at) }], mood: n > 3 ? "calm" : "loud" }; }
function placeAt(at: string): Place { const found = P.get(key(at)); return found == null ? place(at, 1) : found; }
function noteOf(text: string, n: i32) { return { text: clip(text), n: n & 31, node: shared, items: [item(text, n, texts)] }; }
function spotsOf(text: string, n: i32) { if (n > 2) return [{ at: key(text), n: 1 }, { at: near(n), n: n & 7 }]; return [{ at: "k1", n: count }]; }
function latest() { let last = shared; for (const each of register) if (each.x > last.x) last = each; return last; }
function spotOf(p: Place): { tag: string; x?: i32 } { return p.spots.length > 0 ? p.spots[0] : { tag: "s" }; }
function shape(n: i32, tag: string): Shape { return n % 3 == 0 ? new Circle(tag) : n % 3 == 1 ? new Square(tag) : new Ring(tag); }
/** @wrapping */
function slow(text: string): i32 { let h = 7; for (let i = 0; i < 5000; i++) h = (h ^ (text.length > 0 ? <i32>text.charCodeAt(i % text.length) : 1)) * 16777619; return (h >>> 13) & 255; }
function orNull(node: Node | null): Node | null { return node; }
function seven(): u8 { return 7; }
function whoever(): string { const me = caller(); return me == null ? "k0" : me; }
function textOf(text: string | null): string { return text == null ? "none" : clip(text); }
function same<T>(value: T): T { return value; }
function choose<T>(first: T, second: T, n: i32): T { if (n > 2) return first; count++; return second; }
function load<T>(table: Table<T>, id: string): T | null { return table.get(key(id)); }
function save<T>(table: Table<T>, id: string, value: T): bool { table.put(key(id), value); return table.has(key(id)); }
function rangeOf(table: Table<Item>, text: string): Range<Item> { return text == "" ? table.all() : table.prefix("k").after(key(text)); }
function rowsBehind(range: Range<Item>, rows: Row<Item>[]): Row<Item>[] { return rows.length > 0 ? range.after(rows[rows.length - 1].cursor).first(2) : range.last(1); }
function itemOf(rows: Row<Item>[]): Item | null { return rows.length > 0 ? rows[0].value : null; }
function where(n: i32): Table<Item> { return n > 3 ? A : n > 1 ? B : C; }
function plain(text: string): string { return "f" + text; }
function noting(text: string): string { T.has(key(text)); return text + "g"; }
function changing(text: string): string { word = clip(text); count += 2; return text; }
function twiceOf(f: (text: string) => string, text: string): string { return f(f(text)); }
function marking(node: Node, text: string): void { node.mark = clip(text); }
function renaming(node: Node, text: string): void { node.s = clip(text + "r"); node.x = text.length; }
function tallying(node: Node, text: string): void { count++; }
function keeping(list: Fn[], f: Fn): Fn[] { if (list.length < 5) list.push(f); return list; }
function commandOf(name: string, f: Fn): Map<string, Fn> { const all = new Map<string, Fn>(); all.set(name, f); return all; }
function fixed(f: Fn): StaticArray<Fn> { const all = new StaticArray<Fn>(2); all[0] = plain; all[1] = f; return all; }
function increment(n: i32): i32 { return n + 1; }
function counting(n: i32): i32 { return n + count++; }
function counted(n: i32, at: i32, all: i32[]): i32 { return n + count++ + at; }
function noted(n: i32, at: i32, all: i32[]): i32 { C.has(near(n)); return all.length; }
function pair(left: i32, right: string): Pair { return { left, right }; }
function bell(n: i32): Sound { if (n > 1) return new Horn(); return new Bell(); }
function named(text: string, other: string = text + word, n: i32 = count++): string { return clip(text + other + n.toString()); }
function joined(separator: string, ...parts: string[]): string { return clip(parts.join(separator)); }
function even(n: i32, text: string): bool { if (n <= 0) { A.has(key(text)); return true; } return odd(n - 1, text + "e"); }
function odd(n: i32, text: string): bool { if (n <= 0) { B.has(key(text)); return false; } return even(n - 1, text + "o"); }
function rank(nodes: Node[]): Node[] { const copy = nodes.slice(0); copy.sort((p, q) => q.x - p.x); return copy; }
function slowRank(nodes: Node[]): Node[] { const copy = nodes.slice(0); copy.sort((p, q) => slow(p.s) - slow(q.s)); return copy; }
function best(texts: string[]): string[] { return texts.slice(0).sort((p, q) => slow(q) - slow(p)).slice(0, 2); }
class Store<T> {
  constructor(public table: Table<T>) {}
  find(id: string): T | null { return this.table.get(key(id)); }
  keep(id: string, value: T): void { this.table.put(key(id), value); }
  drop(id: string): bool { const known = this.table.has(key(id)); if (known) this.table.delete(key(id)); return known; }
}
const stores: Store<Item>[] = [new Store<Item>(A), new Store<Item>(B)];
class Shelf { static table: Table<Item> = C; store: Store<Item> = stores[0]; }
class Board {
  constructor(public list: string[]) {}
  ranked(): string[] { const copy = this.list.slice(0); copy.sort((p, q) => slow(q) - slow(p)); return copy; }
  top(n: i32): string[] { return this.ranked().slice(0, n); }
}
function ordered(texts: string[], most: i32 = 2): string[] { return texts.slice().sort((p, q) => slow(p) - slow(q)).slice(0, most); }
function n7(n: i32): i32 { return n & 7; }
function walk(from: Item | null, depth: i32): i32 {
  if (from == null || depth <= 0) return 0;
  let sum = from.n;
  for (let i = 0; i < from.list.length && i < 2; i++) sum += walk(A.get(key(from.list[i])), depth - 1);
  return sum;
}
function tree(node: Node, depth: i32): string { if (depth <= 0) return node.s; B.has(key(node.s)); const left = tree(shared, depth - 1); return clip(left + tree(node, depth - 2)); }
function spread(text: string, n: i32 = count, other: string = text + n.toString()): string { return clip(text + n.toString() + other); }
function check(text: string): i32 { if (slow(text) == 77) abort(409, "slow", text); return text.length; }
`;
