import { DEFAULT_CACHE } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import type { WranglerConfig } from "@radical/app";
import { driftOf } from "./edge-steps.ts";
import { type EdgeNeeds, originsOf, wranglerConfigOf } from "./wrangler-config.ts";

const NEEDS: EdgeNeeds = {
  name: "shop-production",
  folder: "/app/.radical/deploy/production",
  project: "/app",
  entry: "src/worker.ts",
  cache: DEFAULT_CACHE,
  cacheNamespaceId: null,
  assets: null,
  blobs: null,
  primary: { kind: "vpc", services: { RADICAL_PRIMARY_A: "service-a", RADICAL_PRIMARY_B: null } },
  keyId: "k1",
  vars: {},
};
const configOf = (config: WranglerConfig): WranglerConfig =>
  wranglerConfigOf(NEEDS, { file: "wrangler.jsonc", config });

describe("the wrangler configuration", () => {
  test("has what Radical needs", () => {
    expect(wranglerConfigOf(NEEDS, null)).toEqual({
      name: "shop-production",
      main: "worker.js",
      compatibility_date: "2026-11-01",
      vars: { RADICAL_KEY_ID: "k1" },
      durable_objects: { bindings: [{ name: "RADICAL_CACHE", class_name: "RadicalCache" }] },
      migrations: [{ tag: "radical-cache-1", new_sqlite_classes: ["RadicalCache"] }],
      vpc_services: [
        { binding: "RADICAL_PRIMARY_A", service_id: "service-a" },
        { binding: "RADICAL_PRIMARY_B", service_id: "made-by-this-deployment" },
      ],
      observability: { enabled: true, head_sampling_rate: 0.1 },
    });
  });

  test("the developer's own say about the log of the Worker wins", () => {
    for (const observability of [{ enabled: false }, { enabled: true, head_sampling_rate: 1 }])
      expect(configOf({ observability })["observability"]).toEqual(observability);
  });

  test("binds the bucket of blobs, and collects each hour beside the developer's own schedules", () => {
    const needs: EdgeNeeds = { ...NEEDS, blobs: { bucket: "shop-blobs", vars: { RADICAL_MAX_BLOB_BYTES: "1" } } };
    const own = { binding: "FILES", bucket_name: "files" };
    const config = { r2_buckets: [own], triggers: { crons: ["0 3 * * *"] } };
    expect(wranglerConfigOf(needs, { file: "wrangler.jsonc", config })).toMatchObject({
      vars: { RADICAL_MAX_BLOB_BYTES: "1" },
      r2_buckets: [own, { binding: "RADICAL_BLOBS", bucket_name: "shop-blobs" }],
      triggers: { crons: ["0 3 * * *", "23 * * * *"] },
    });
    const same = { file: "wrangler.jsonc", config: { triggers: { crons: ["23 * * * *"] } } };
    expect(() => wranglerConfigOf(needs, same)).toThrow("choose another minute");
  });

  test("keeps what the developer has", () => {
    const config = configOf({
      name: "shop",
      main: "/app/src/worker.ts",
      compatibility_date: "2026-10-01",
      vars: { GREETING: "hello" },
      routes: [{ pattern: "shop.example.com", custom_domain: true }],
      d1_databases: [{ binding: "DB", database_id: "1" }],
      durable_objects: { bindings: [{ name: "ROOM", class_name: "Room" }] },
      migrations: [
        { tag: "v1", new_sqlite_classes: ["Room"] },
        { tag: "v2", new_sqlite_classes: ["RadicalCache"] },
      ],
      // As wrangler fills it in.
      queues: { producers: [], consumers: [] },
      build: { watch_dir: "./src" },
      targetEnvironment: "production",
    });
    expect(config).toMatchObject({
      name: "shop",
      main: "worker.js",
      compatibility_date: "2026-10-01",
      vars: { GREETING: "hello", RADICAL_KEY_ID: "k1" },
      d1_databases: [{ binding: "DB", database_id: "1" }],
      durable_objects: { bindings: [{ name: "ROOM" }, { name: "RADICAL_CACHE" }] },
      migrations: [{ tag: "v1" }, { tag: "v2" }],
    });
    expect(Object.keys(config)).not.toContain("queues");
    expect(Object.keys(config)).not.toContain("build");
    expect(Object.keys(config)).not.toContain("targetEnvironment");
  });

  test("declares the class where the developer declares classes", () => {
    const config = configOf({ exports: { Room: { type: "durable-object", storage: "sqlite" } } });
    expect(Object.keys(config.exports ?? {})).toEqual(["RadicalCache", "Room"]);
    expect(config.migrations).toBeUndefined();
  });

  test("a placement that is off stays off", () => {
    expect(configOf({ placement: { mode: "off" } })).toMatchObject({ placement: { mode: "off" } });
  });

  test.each<readonly [string, WranglerConfig, RegExp]>([
    ["smart placement", { placement: { mode: "smart" } }, /placement: mode smart moves every location away/],
    ["a place at a region", { placement: { region: "aws:eu-central-1" } }, /placement: region aws:eu-central-1 moves/],
    [
      "a place at a host",
      { placement: { mode: "targeted", host: "db.example.com:5432" } },
      /placement: host db\.example/,
    ],
    ["another Worker", { main: "src/other.ts" }, /main is src\/other.ts, but .* src\/worker.ts/],
    ["static files", { assets: { directory: "./site" } }, /assets.directory/],
    ["a variable of Radical's", { vars: { RADICAL_KEY: "x" } }, /RADICAL_KEY: names that begin with/],
    [
      "a binding of Radical's",
      { kv_namespaces: [{ binding: "RADICAL_CACHE_KV", id: "1" }] },
      /RADICAL_CACHE_KV: names/,
    ],
    ["migrations without the class", { migrations: [{ tag: "v1" }] }, /migrations: add .*RadicalCache/],
  ])("a contradiction is an error: %s", (_, config, problem) => {
    expect(() => configOf(config)).toThrow(problem);
  });
});

test("the deployment is reached at its routes, its domains and on workers.dev", () => {
  const reached = (config: WranglerConfig): readonly string[] => originsOf({ name: "shop", ...config }, "anns");
  expect(reached({})).toEqual(["https://shop.anns.workers.dev"]);
  expect(reached({ routes: [{ pattern: "shop.example.com", custom_domain: true }] })).toEqual([
    "https://shop.example.com",
  ]);
  expect(reached({ route: "https://example.com/*", workers_dev: true })).toEqual([
    "https://example.com",
    "https://shop.anns.workers.dev",
  ]);
  // No host, and not where handlers are.
  expect(reached({ routes: ["*.example.com/*", "example.com/shop/*"] })).toEqual([]);
});

test("drift is what a version lacks, or has otherwise", () => {
  const config = wranglerConfigOf(
    { ...NEEDS, cache: { kind: "kv", memoryBytes: 0, timeoutMs: 1, maxAgeHours: 168 }, cacheNamespaceId: "n1" },
    null,
  );
  const bindings = [
    { name: "RADICAL_KEY", type: "secret_text" },
    { name: "RADICAL_KEY_ID", type: "plain_text", text: "k1" },
    { name: "RADICAL_CACHE_KV", type: "kv_namespace", namespace_id: "n1" },
    { name: "RADICAL_PRIMARY_A", type: "vpc_service", service_id: "service-a" },
    { name: "RADICAL_PRIMARY_B", type: "vpc_service", service_id: "made-by-this-deployment" },
    { name: "OTHER", type: "plain_text", text: "stays" },
  ];
  expect(driftOf(bindings, config)).toEqual([]);
  expect(driftOf(bindings.slice(1), config)).toEqual(["RADICAL_KEY is missing"]);
  const other = bindings.map((one) => ({
    ...one,
    ...("text" in one ? { text: "k0" } : {}),
    service_id: "x",
    namespace_id: "y",
  }));
  expect(driftOf(other, config)).toEqual([
    "RADICAL_KEY_ID is another one",
    "RADICAL_CACHE_KV is another one",
    "RADICAL_PRIMARY_A is another one",
    "RADICAL_PRIMARY_B is another one",
  ]);
});
