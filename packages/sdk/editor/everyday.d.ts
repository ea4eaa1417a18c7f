/**
 * Members and types that handlers have beyond AssemblyScript's library, as editors see them: loops over collections,
 * spread, and methods of JavaScript's library. `pnpm build` makes `Symbol.iterator` known to TypeScript.
 */
/// <reference path="./assemblyscript.d.ts" />

interface IteratorYieldResult<T> {
  done?: false;
  value: T;
}
interface IteratorReturnResult<R> {
  done: true;
  value: R;
}
type IteratorResult<T, R = any> = IteratorYieldResult<T> | IteratorReturnResult<R>;
interface Iterator<T, R = any, N = any> {
  next(...values: [] | [N]): IteratorResult<T, R>;
}
interface Iterable<T, R = any, N = any> {
  [Symbol.iterator](): Iterator<T, R, N>;
}
interface IterableIterator<T, R = any, N = any> extends Iterator<T, R, N> {
  [Symbol.iterator](): IterableIterator<T, R, N>;
}

interface Object {
  /** Puts an object of a class with `Objects` under its `id`. The build refuses it elsewhere. */
  save(): void;
}
interface Array<T> {
  [Symbol.iterator](): IterableIterator<T>;
  filter<S extends T>(predicate: (value: T, index: i32, array: T[]) => value is S): S[];
  /** The first element for which the function holds; null: there is none. */
  find<S extends T>(predicate: (value: T, index: i32, array: T[]) => value is S): S | null;
  find(predicate: (value: T, index: i32, array: T[]) => bool): T | null;
  /** The last element for which the function holds; null: there is none. */
  findLast(predicate: (value: T, index: i32, array: T[]) => bool): T | null;
  entries(): IterableIterator<[i32, T]>;
  push(...values: T[]): i32;
  concat(...lists: (T | T[])[]): T[];
  /** A sorted copy. */
  toSorted(compare?: (one: T, other: T) => number): T[];
  /** Of `for…of` and spread. */
  keys(): IterableIterator<i32>;
  flatMap<U>(mapped: (value: T, index: i32, array: T[]) => U[]): U[];
  /** A sorted copy. */
  toSorted(comparator?: (a: T, b: T) => i32): T[];
  /** A copy from the last element to the first. */
  toReversed(): T[];
}
declare namespace Array {
  /** The values of a collection as a list, or what a function makes of each. */
  function from<T>(values: Iterable<T>): T[];
  function from<T, U>(values: Iterable<T>, made: (value: T, index: i32) => U): U[];
  /** A list of a length: the function makes each element of its index. */
  function from<U>(values: { length: number }, made: (none: null, index: i32) => U): U[];
}
interface IMath<T> {
  max(...values: T[]): T;
  min(...values: T[]): T;
}
interface StaticArray<T> {
  [Symbol.iterator](): IterableIterator<T>;
}
interface String {
  [Symbol.iterator](): IterableIterator<string>;
}
interface Map<K, V> {
  entries(): IterableIterator<[K, V]>;
  [Symbol.iterator](): IterableIterator<[K, V]>;
}
interface Set<K> {
  [Symbol.iterator](): IterableIterator<K>;
}

/** The text of a value, as TypeScript writes it. */
declare function String(value: string | number | boolean | null | (string | number | boolean | null)[]): string;
/** Whether a value is neither null, false, zero, NaN nor an empty text. */
declare function Boolean(value: unknown): bool;
interface Number {
  /** The number with so many decimals: `"12.50"`. */
  toFixed(places?: i32): string;
}
declare namespace Object {
  /** The keys, in the order in which they were added. */
  function keys<T>(entries: { [key: string]: T }): string[];
  /** The values, in the order in which their keys were added. */
  function values<T>(entries: { [key: string]: T }): T[];
  /** The keys with their values, in the order in which the keys were added. */
  function entries<T>(entries: { [key: string]: T }): [string, T][];
  /** Sets the fields of the literals. */
  function assign<T>(target: T, ...sources: { [P in keyof T]?: T[P] }[]): T;
}
declare namespace JSON {
  /** The JSON of a record, an array, a text, a number or a boolean. */
  function stringify(value: unknown): string;
}

/** The values by their keys. A key that is not there gives null. */
type Record<K extends keyof any, T> = { [P in K]: T };
