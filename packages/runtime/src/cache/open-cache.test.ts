import { type CacheChoice, DEFAULT_CACHE } from "@radical/protocol";
import { expect, test } from "vitest";
import { openCache } from "./open-cache.ts";

const UNBOUND = {};

test.each<[CacheChoice, string]>([
  [DEFAULT_CACHE, "RADICAL_CACHE must be bound to the Durable Object class RadicalCache"],
  [{ kind: "kv", memoryBytes: 0, timeoutMs: 1 }, "RADICAL_CACHE_KV must be bound to a KV namespace"],
])("$kind without its binding is told, with the binding's name", (choice, message) => {
  expect(() => openCache(choice, "app", UNBOUND)).toThrow(message);
});

test("memory needs no binding", () => {
  expect(openCache({ kind: "memory", memoryBytes: 1 }, "app", UNBOUND).of).toBeTypeOf("function");
});
