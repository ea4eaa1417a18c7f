import { DEFAULT_CACHE } from "@radical/protocol";
import { expect, test } from "vitest";
import { bindingsOf } from "./bindings.ts";

test("each cache is bound as a wrangler configuration says it", () => {
  expect(bindingsOf(DEFAULT_CACHE, null, "/app/dist")).toEqual({
    durable_objects: { bindings: [{ name: "RADICAL_CACHE", class_name: "RadicalCache" }] },
    migrations: [{ tag: "radical-cache-1", new_sqlite_classes: ["RadicalCache"] }],
  });
  expect(bindingsOf({ kind: "kv", memoryBytes: 0, timeoutMs: 1, maxAgeHours: 168 }, null, "/app/dist")).toEqual({
    kv_namespaces: [{ binding: "RADICAL_CACHE_KV" }],
  });
  expect(bindingsOf({ kind: "memory", memoryBytes: 0, maxAgeHours: 168 }, null, "/app/dist")).toEqual({});
});

test("and the static files that are served", () => {
  const assets = { folder: "/app/public", notFound: "404-page", workerFirst: ["/api/*", "/login"], files: [] } as const;
  expect(bindingsOf({ kind: "memory", memoryBytes: 0, maxAgeHours: 168 }, assets, "/app/dist")).toEqual({
    assets: { directory: "../public", not_found_handling: "404-page", run_worker_first: ["/api/*", "/login"] },
  });
});
