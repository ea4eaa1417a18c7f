import { DEFAULT_CACHE } from "@radical/protocol";
import { expect, test } from "vitest";
import { bindingsOf } from "./bindings.ts";

test("each cache is bound as a wrangler configuration says it", () => {
  expect(bindingsOf(DEFAULT_CACHE)).toEqual({
    durable_objects: { bindings: [{ name: "RADICAL_CACHE", class_name: "RadicalCache" }] },
    migrations: [{ tag: "radical-cache-1", new_sqlite_classes: ["RadicalCache"] }],
  });
  expect(bindingsOf({ kind: "kv", memoryBytes: 0, timeoutMs: 1 })).toEqual({
    kv_namespaces: [{ binding: "RADICAL_CACHE_KV" }],
  });
  expect(bindingsOf({ kind: "memory", memoryBytes: 0 })).toEqual({});
});
