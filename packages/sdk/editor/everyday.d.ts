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
  /** A sorted copy. */
  toSorted(compare?: (one: T, other: T) => number): T[];
  /** Of `for…of` and spread. */
  keys(): IterableIterator<i32>;
  flatMap<U>(mapped: (value: T, index: i32, array: T[]) => U[]): U[];
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

/** The values by their keys. A key that is not there gives null. */
type Record<K extends keyof any, T> = { [P in K]: T };
