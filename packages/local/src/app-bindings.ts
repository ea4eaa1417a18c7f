/**
 * The bindings of an application's own wrangler configuration on this machine, as miniflare makes them. All locations share
 * them, as in a deployment. One location is their *host*: it runs the application's Durable Objects and takes its queues.
 */
import type { MiniflareOptions } from "miniflare";
import type { ClassBinding, UserConfig, WranglerConfig } from "@radical/app";

type MiniflareConfig = MiniflareOptions["workers"][number]["config"];
type Env = NonNullable<MiniflareConfig["env"]>;
type Binding = Env[string];
type Trigger = NonNullable<MiniflareConfig["triggers"]>[number];
type QueueTrigger = Extract<Trigger, { readonly type: "queue" }>;
type ClassExports = NonNullable<MiniflareConfig["exports"]>;

export interface AppBindings {
  /** Null: Radical's own. */
  readonly compatibilityDate: string | null;
  readonly compatibilityFlags: readonly string[];
  /** Of each location. `own` is its Worker's name, `host` that of the host's. */
  readonly env: (own: string, host: string) => Env;
  /** Under this name each location has the static files; null: under none. */
  readonly assets: string | null;
  /** Of the host alone: the classes of Durable Objects. */
  readonly classes: ClassExports;
  /** Of the host alone. */
  readonly consumers: readonly QueueTrigger[];
  readonly told: ToldBindings;
}

/** A binding by its name in `env`, and its field in the wrangler configuration. */
export interface NamedBinding {
  readonly name: string;
  readonly field: string;
}

/** A wrangler configuration in words: its bindings, and those that are missing here. */
export interface ToldBindings {
  readonly file: string;
  readonly present: readonly NamedBinding[];
  /** Bindings that exist when the Worker is deployed, and not here. */
  readonly missing: readonly (NamedBinding & { readonly hint: string | null })[];
  /** Bindings that the file has at Cloudflare (`remote`), and that are on this machine all the same. */
  readonly madeLocal: readonly NamedBinding[];
  readonly crons: readonly string[];
  /** Secrets that the file requires, and that no file of this machine has. */
  readonly missingSecrets: readonly string[];
}

/** An entry of a list of bindings. */
type Entry = Readonly<Record<string, unknown>>;

/** How a field of the configuration binds. */
type Bind = (entry: Entry, names: WorkerNames) => Binding | null;

interface WorkerNames {
  readonly own: string;
  readonly host: string;
  /** The Worker's name in the configuration. */
  readonly configured: string | undefined;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const optionalText = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

/** The bindings that miniflare can make, by their fields. A field is a list of entries, or one entry. */
const LOCAL: Readonly<Record<string, Bind>> = {
  // The ids are those of `wrangler --local`, so that its commands find the same data.
  kv_namespaces: ({ binding, id }) => ({ type: "kv", id: optionalText(id) ?? text(binding) }),
  r2_buckets: ({ binding, bucket_name: name }) => ({ type: "r2", name: optionalText(name) ?? text(binding) }),
  d1_databases: ({ binding, database_id: id, preview_database_id: preview }) => ({
    type: "d1",
    id: optionalText(preview) ?? optionalText(id) ?? text(binding),
  }),
  "queues.producers": ({ binding, queue, delivery_delay: delay }) => ({
    type: "queue",
    name: optionalText(queue) ?? text(binding),
    ...(typeof delay === "number" ? { deliveryDelay: delay } : {}),
  }),
  "durable_objects.bindings": (entry, { host, configured }) =>
    isOwnClass(entry as unknown as ClassBinding, configured)
      ? { type: "durable-object", worker: host, exportName: text(entry["class_name"]) }
      : null,
  services: ({ service, entrypoint }, { own, configured }) =>
    configured === undefined || service !== configured
      ? null
      : { type: "worker", worker: own, ...(typeof entrypoint === "string" ? { exportName: entrypoint } : {}) },
  analytics_engine_datasets: ({ binding, dataset }) => ({
    type: "analytics-engine-dataset",
    name: optionalText(dataset) ?? text(binding),
  }),
  ratelimits: ({ name, namespace_id: namespace, simple }) => ({
    type: "rate-limit",
    namespace: optionalText(namespace) ?? text(name),
    simple: simple as { readonly limit: number; readonly period: 60 | 10 },
  }),
  hyperdrive: ({ id, localConnectionString: connectionString }) =>
    typeof connectionString === "string" ? { type: "hyperdrive", id: text(id), dev: { connectionString } } : null,
  workflows: ({ name, class_name: exportName, script_name: script }, { host, configured }) =>
    script === undefined || script === configured
      ? { type: "workflow", name: text(name), worker: host, exportName: text(exportName) }
      : null,
  version_metadata: () => ({ type: "version-metadata" }),
};

/** Why such a binding is missing, where miniflare could make it. */
const HINTS: Readonly<Record<string, string>> = {
  hyperdrive: "give it a localConnectionString, the address of a database on this machine",
  services: "another Worker does not run here",
  workflows: "another Worker does not run here",
  "durable_objects.bindings": "another Worker does not run here",
};

/** Fields with names that are not bindings. */
const NOT_BINDINGS = ["name", "vars", "migrations", "exports", "containers", "assets", "env", "dev", "build", "site"];

export function bindingsOfConfig({ file, config }: UserConfig, devVars: Readonly<Record<string, string>>): AppBindings {
  const entries = entriesOf(config);
  const local = entries.filter(({ field }) => Object.hasOwn(LOCAL, field));
  const boundWith = (names: WorkerNames) =>
    local.map((one) => ({ ...one, bound: LOCAL[one.field]!(one.entry, names) }));
  // Which exist does not depend on the Workers' names.
  const bound = boundWith({ own: "", host: "", configured: config.name });
  const isMissing = (name: string): boolean => bound.every((one) => one.name !== name || one.bound === null);
  return {
    compatibilityDate: config.compatibility_date ?? null,
    compatibilityFlags: (config["compatibility_flags"] as readonly string[] | undefined) ?? [],
    env: (own, host) => ({
      ...Object.fromEntries(Object.entries(config.vars ?? {}).map(([name, value]) => [name, variable(value)])),
      ...Object.fromEntries(
        boundWith({ own, host, configured: config.name }).flatMap(({ name, bound: binding }) =>
          binding === null ? [] : [[name, binding]],
        ),
      ),
    }),
    assets: config.assets?.binding ?? null,
    classes: classesOf(config),
    consumers: consumersOf(config),
    told: {
      file,
      present: bound.filter((one) => one.bound !== null).map(({ name, field }) => ({ name, field })),
      missing: entries
        .filter(({ name }) => isMissing(name))
        .map(({ name, field }) => ({ name, field, hint: HINTS[field] ?? null })),
      madeLocal: bound
        .filter((one) => one.bound !== null && one.entry["remote"] === true)
        .map(({ name, field }) => ({ name, field })),
      crons: config.triggers?.crons ?? [],
      missingSecrets: requiredSecrets(config).filter((name) => !Object.hasOwn(devVars, name)),
    },
  };
}

/** Every entry that binds something, by its field. */
function entriesOf(config: WranglerConfig): readonly (NamedBinding & { readonly entry: Entry })[] {
  const found = (field: string, value: unknown): readonly (NamedBinding & { readonly entry: Entry })[] => {
    if (Array.isArray(value)) return value.flatMap((one) => found(field, one));
    if (!isEntry(value)) return [];
    const { bindings, producers } = value;
    const name = value["binding"] ?? value["name"];
    return [
      ...(typeof name === "string" ? [{ name, field, entry: value }] : []),
      ...found(`${field}.bindings`, bindings),
      ...found(`${field}.producers`, producers),
    ];
  };
  return Object.entries(config).flatMap(([field, value]) => (NOT_BINDINGS.includes(field) ? [] : found(field, value)));
}

function isEntry(value: unknown): value is Entry {
  return typeof value === "object" && value !== null;
}

function variable(value: unknown): Binding {
  return typeof value === "string" ? { type: "text", value } : { type: "json", value: value as never };
}

function isOwnClass({ script_name: script }: ClassBinding, configured: string | undefined): boolean {
  return script === undefined || script === configured;
}

/** Those that are bound, or that a migration or an export makes. */
function classesOf(config: WranglerConfig): ClassExports {
  const { migrations = [], exports = {} } = config;
  const older = migrations.flatMap(({ new_classes: names = [] }) => names);
  const bound = (config.durable_objects?.bindings ?? [])
    .filter((one) => isOwnClass(one, config.name))
    .map((one) => one.class_name);
  const exported = Object.keys(exports).filter((name) => (exports[name] as Entry)["type"] === "durable-object");
  return Object.fromEntries(
    [...bound, ...exported].map((name) => [
      name,
      {
        type: "durable-object",
        storage: older.includes(name) ? "legacy-kv" : "sqlite",
        // Under it they are kept on disk, whatever the Worker is called.
        unsafeUniqueKey: `application-${name}`,
      } as const,
    ]),
  );
}

function consumersOf(config: WranglerConfig): readonly QueueTrigger[] {
  const { consumers = [] } = (config["queues"] ?? {}) as { readonly consumers?: readonly QueueConsumer[] };
  // A consumer by HTTP pulls from the queue at Cloudflare.
  return consumers
    .filter(({ type }) => type !== "http_pull")
    .map(({ queue, max_batch_size, max_batch_timeout, max_retries, dead_letter_queue, retry_delay }) => ({
      type: "queue",
      name: queue,
      ...(max_batch_size === undefined ? {} : { maxBatchSize: max_batch_size }),
      ...(max_batch_timeout === undefined ? {} : { maxBatchTimeout: max_batch_timeout }),
      ...(max_retries === undefined ? {} : { maxRetries: max_retries }),
      ...(dead_letter_queue === undefined ? {} : { deadLetterQueue: dead_letter_queue }),
      ...(retry_delay === undefined ? {} : { retryDelay: retry_delay }),
    }));
}

interface QueueConsumer {
  readonly queue: string;
  readonly type?: string;
  readonly max_batch_size?: number;
  readonly max_batch_timeout?: number;
  readonly max_retries?: number;
  readonly dead_letter_queue?: string;
  readonly retry_delay?: number;
}

function requiredSecrets(config: WranglerConfig): readonly string[] {
  return ((config["secrets"] ?? {}) as { readonly required?: readonly string[] }).required ?? [];
}
