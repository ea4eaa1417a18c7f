import { expect, test } from "vitest";
import { cacheAnswerIn, readCacheOrder, readCacheQuestion } from "./cache-orders.ts";
import { MalformedError } from "./malformed-error.ts";

const PURGE = { kind: "purge", location: "FRA", table: "users", key: "ann", after: null } as const;

test("orders and questions are read as they were sent", () => {
  expect(readCacheOrder({ kind: "look" })).toEqual({ kind: "look" });
  expect(readCacheOrder(PURGE)).toEqual(PURGE);
  expect(readCacheQuestion({ worker: "https://app.example.com", order: PURGE })).toEqual({
    worker: "https://app.example.com",
    order: PURGE,
  });
  expect(readCacheQuestion({ order: { kind: "look" } })).toEqual({ worker: null, order: { kind: "look" } });
});

test.each([
  null,
  "purge",
  {},
  { kind: "wipe" },
  { ...PURGE, location: "" },
  { ...PURGE, table: "no table" },
  { ...PURGE, table: null },
  { ...PURGE, key: "" },
  { ...PURGE, key: "k".repeat(513) },
  { ...PURGE, after: 7 },
  { ...PURGE, after: undefined },
])("%j is not an order", (order) => {
  expect(() => readCacheOrder(order)).toThrow(MalformedError);
});

test.each([
  "app.example.com",
  "ftp://app.example.com",
  "http://app.example.com",
  "http://169.254.169.254",
  "https://app.example.com/path",
  "https://ann@app",
  7,
])("%j is not the origin of a Worker", (worker) => {
  expect(() => readCacheQuestion({ worker, order: { kind: "look" } })).toThrow(MalformedError);
});

test("answers are read, and nothing else is one", () => {
  for (const answer of [
    { kind: "looked", cache: "durable-object", locations: ["FRA"] },
    { kind: "looked", cache: "kv", locations: null },
    { kind: "purged", entries: 3, next: "more" },
  ])
    expect(cacheAnswerIn(answer)).toEqual(answer);
  for (const other of [null, 1, {}, { kind: "looked", cache: "disk", locations: [] }, { kind: "purged", entries: 3 }])
    expect(cacheAnswerIn(other)).toBeNull();
});
