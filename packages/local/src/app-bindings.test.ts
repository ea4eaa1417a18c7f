import { expect, test } from "vitest";
import type { WranglerConfig } from "@radical/app";
import { type AppBindings, bindingsOfConfig } from "./app-bindings.ts";

const of = (config: WranglerConfig, vars: Readonly<Record<string, string>> = {}): AppBindings =>
  bindingsOfConfig({ file: "wrangler.jsonc", config }, vars);
const names = (found: readonly { readonly name: string }[]): readonly string[] => found.map(({ name }) => name);

test("data has the ids by which wrangler's local commands find it", () => {
  const { env } = of({
    kv_namespaces: [{ binding: "A", id: "a1" }, { binding: "B" }],
    r2_buckets: [{ binding: "C", bucket_name: "c1" }, { binding: "D" }],
    d1_databases: [
      { binding: "E", database_id: "e1", preview_database_id: "e2" },
      { binding: "F", database_id: "f1" },
    ],
  });
  expect(env("own", "host")).toEqual({
    A: { type: "kv", id: "a1" },
    B: { type: "kv", id: "B" },
    C: { type: "r2", name: "c1" },
    D: { type: "r2", name: "D" },
    E: { type: "d1", id: "e2" },
    F: { type: "d1", id: "f1" },
  });
});

test("objects and workflows are the host's, a service of one's own name is the location's", () => {
  const found = of({
    name: "shop",
    durable_objects: {
      bindings: [
        { name: "ROOM", class_name: "Room" },
        { name: "OLD", class_name: "Old", script_name: "shop" },
        { name: "FAR", class_name: "Far", script_name: "other" },
      ],
    },
    migrations: [{ tag: "v1", new_classes: ["Old"], new_sqlite_classes: ["Room"] }],
    exports: { Hall: { type: "durable-object", storage: "sqlite" } },
    workflows: [{ binding: "FLOW", name: "flow", class_name: "Flow" }],
    services: [
      { binding: "SELF", service: "shop", entrypoint: "Admin" },
      { binding: "OTHER", service: "other" },
    ],
  });
  expect(found.env("own", "host")).toEqual({
    ROOM: { type: "durable-object", worker: "host", exportName: "Room" },
    OLD: { type: "durable-object", worker: "host", exportName: "Old" },
    FLOW: { type: "workflow", name: "flow", worker: "host", exportName: "Flow" },
    SELF: { type: "worker", worker: "own", exportName: "Admin" },
  });
  expect(Object.entries(found.classes).map(([name, one]) => [name, "storage" in one ? one.storage : null])).toEqual([
    ["Room", "sqlite"],
    ["Old", "legacy-kv"],
    ["Hall", "sqlite"],
  ]);
  expect(names(found.told.missing)).toEqual(["FAR", "OTHER"]);
});

test("queues are bound by their names, and consumed as the file says", () => {
  const { env, consumers } = of({
    queues: {
      producers: [{ binding: "JOBS", queue: "jobs", delivery_delay: 5 }],
      consumers: [
        {
          queue: "jobs",
          max_batch_size: 3,
          max_batch_timeout: 1,
          max_retries: 2,
          dead_letter_queue: "dead",
          retry_delay: 4,
        },
        { queue: "pulled", type: "http_pull" },
      ],
    },
  });
  expect(env("own", "host")).toEqual({ JOBS: { type: "queue", name: "jobs", deliveryDelay: 5 } });
  expect(consumers).toEqual([
    {
      type: "queue",
      name: "jobs",
      maxBatchSize: 3,
      maxBatchTimeout: 1,
      maxRetries: 2,
      deadLetterQueue: "dead",
      retryDelay: 4,
    },
  ]);
});

test("a binding of a kind that nobody here knows is missing; names that bind nothing are not", () => {
  const { told } = of({
    name: "shop",
    ai: { binding: "AI" },
    someday: [{ binding: "NEW" }],
    unsafe: { bindings: [{ name: "RISKY", type: "x" }] },
    containers: [{ name: "box", class_name: "Box" }],
    assets: { binding: "ASSETS" },
    vars: { name: "not a binding" },
    routes: [{ pattern: "shop.example.com", custom_domain: true }],
  });
  expect(told.missing.map(({ name, field }) => `${name} ${field}`)).toEqual([
    "AI ai",
    "NEW someday",
    "RISKY unsafe.bindings",
  ]);
});

test("secrets that the file requires are missed until a file has them", () => {
  const config = { secrets: { required: ["TOKEN", "KEY"] } };
  expect(of(config, { KEY: "k" }).told.missingSecrets).toEqual(["TOKEN"]);
  expect(of(config, { KEY: "k", TOKEN: "" }).told.missingSecrets).toEqual([]);
});
