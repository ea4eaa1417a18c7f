import { Counter } from "@radical/sdk";

const longs = new Counter("longs");

export function longValue(name: string): i64 {
  return longs.get(name);
}

/** @nearstorage */
export function addAndGet(name: string, n: i64): i64 {
  longs.add(name, n);
  return longs.get(name);
}

/** @nearstorage */
export function compareAndSetLong(name: string, expected: i64, next: i64): bool {
  if (longs.get(name) != expected) return false;
  longs.put(name, next);
  return true;
}
