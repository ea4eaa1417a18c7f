/**
 * `radical.config.ts`: its type, its defaults and its validation. The first location of `dev.locations` is the one
 * that serves requests that name none.
 */
import {
  limitsWithFuel,
  CACHE_KINDS,
  DEFAULT_BLOB_KEEP_HOURS,
  DEFAULT_MAX_BLOB_BYTES,
  type CacheChoice,
  type CacheKind,
  DEFAULT_CACHE,
  DEFAULT_LIMITS,
  DEFAULT_MEMORY_BYTES,
  DEFAULT_OBJECT_BYTES,
  DEFAULT_READ_LEASE_MS,
  DEFAULT_TIMEOUT_MS,
  LEAST_LEVELS,
  type LeastLevel,
  type Limits,
  MAX_LIMITS,
  MAX_READ_LEASE_MS,
} from "@radical/protocol";
import { CommandError, EXIT_USAGE } from "../command-error.ts";
import {
  DEFAULT_DEPLOY_CONFIG,
  DEPLOY_FIELDS,
  type DeployConfig,
  type ResolvedDeployConfig,
  resolveDeployConfig,
} from "./deploy-config.ts";

export interface RadicalConfig {
  /** Name of the application: lowercase letters, digits and dashes. Cache entries are bound to it. */
  readonly name: string;
  /** Folder whose `.ts` files export the handlers, relative to the config file. Default: `handlers`. */
  readonly handlers?: string;
  /**
   * The entry of the application's own Worker, if there is such a file, relative to the config file. Default:
   * `src/worker.ts`. See docs/worker.md.
   */
  readonly worker?: string;
  /** Static files. Default: those in the folder `public`, if there is one. */
  readonly assets?: AssetsConfig;
  /** Of an application with Blobs. See docs/how-to/blobs.md. */
  readonly blobs?: BlobsConfig;
  /** Folder that `radical build` writes to, relative to the config file. Default: `dist`. */
  readonly outDir?: string;
  /**
   * Where locations keep what they have read, behind the memory of their isolates. Default: `durable-object`.
   * The costs of each: docs/caches.md.
   */
  readonly cache?: CacheKind | CacheConfig;
  /**
   * How long a read lease lasts without being renewed, in milliseconds; 0: the primary grants none. Default: 3000. A write waits
   * so long for a location that has died.
   */
  readonly readLeaseMs?: number;
  /**
   * The least level that handlers log: `debug`, `info`, `warn`, `error`, or `silent` for nothing. Default: `debug`. It is part of
   * the build, in `radical dev` too. See docs/handlers.md, "Logging".
   */
  readonly log?: LeastLevel;
  readonly limits?: {
    /** The most that one execution of a handler may compute. Default: 50,000,000,000. See docs/handlers.md, "Limits". */
    readonly fuel?: number;
  };
  readonly dev?: {
    /** Port of `radical dev`; 0 takes any free one. Default: 8787. */
    readonly port?: number;
    /** Locations by name with their way to the primary: its round trip in ms, or all of it. Default: the five of the paper. */
    readonly locations?: Readonly<Record<string, number | Distance>>;
  };
  /** The settings of `radical deploy`; its options win. See docs/deploy.md. */
  readonly deploy?: DeployConfig;
}

export interface CacheConfig {
  /** Default: `durable-object`. */
  readonly kind?: CacheKind;
  /** Most bytes in the memory of an isolate. Default: 16 MiB. */
  readonly memoryBytes?: number;
  /** `durable-object`: most bytes of the database of a location. Default: 512 MiB. */
  readonly objectBytes?: number;
  /** Not `memory`: after how many milliseconds a slow cache is missed. Default: 500. */
  readonly timeoutMs?: number;
}

export interface AssetsConfig {
  /** Relative to the config file. */
  readonly folder?: string;
  /**
   * The answer for a path without a file: the Worker's answer (`none`), the nearest `404.html` with status 404
   * (`404-page`), or `index.html` with status 200 (`single-page-application`). Default: `none`.
   */
  readonly notFound?: NotFound;
  /** Paths that the Worker answers and files never do, like `/login` and `/pages/*`. `/api/*` always is one. */
  readonly workerFirst?: readonly string[];
  /**
   * File in the folder that the build writes: the client of the handlers as JavaScript, for pages, like `client.js`. It
   * names all handlers to everybody. Default: none.
   */
  readonly client?: string;
}

const NOT_FOUND = ["none", "404-page", "single-page-application"] as const;
export type NotFound = (typeof NOT_FOUND)[number];

/** A simulated way between a location and the primary. */
export interface Distance {
  /** In milliseconds. */
  readonly roundTripMs: number;
  /** How far the round trip of a message is from that at most, either way, in milliseconds. Default: 0. */
  readonly jitterMs?: number;
  /** Of a hundred pieces of data that many are lost and sent again. Default: 0. */
  readonly lossPercent?: number;
}

export interface BlobsConfig {
  /** Most bytes of one blob: 1 to 67108864. Default: 16777216, which is 16 MiB. A location holds them in memory. */
  readonly maxBytes?: number;
  /** Hours for which bytes that no item names are kept. Default: 24. */
  readonly keepHours?: number;
  /** The R2 bucket of a deployment. Default: one with the name of the Worker and `-blobs`, which `radical deploy` makes. */
  readonly bucket?: string;
}

export interface ResolvedBlobsConfig {
  readonly maxBytes: number;
  readonly keepHours: number;
  /** Null: that of the Worker. */
  readonly bucket: string | null;
}

/** The variables of a location by which it knows the config. */
export function blobVarsOf({ maxBytes, keepHours }: ResolvedBlobsConfig): Readonly<Record<string, string>> {
  return { RADICAL_MAX_BLOB_BYTES: String(maxBytes), RADICAL_BLOB_KEEP_MS: String(keepHours * 3_600_000) };
}

/** Types the config file; returns it unchanged. */
export function defineConfig(config: RadicalConfig): RadicalConfig {
  return config;
}

export interface Location extends Distance {
  readonly name: string;
}

/** A validated config with its defaults filled in. */
export interface ResolvedConfig {
  readonly name: string;
  readonly handlers: string;
  readonly worker: string;
  readonly assets: Required<Omit<AssetsConfig, "client">> & { readonly client: string | null };
  readonly blobs: ResolvedBlobsConfig;
  readonly outDir: string;
  readonly cache: CacheChoice;
  readonly readLeaseMs: number;
  readonly log: LeastLevel;
  readonly limits: Limits;
  readonly dev: { readonly port: number; readonly locations: readonly Location[] };
  readonly deploy: ResolvedDeployConfig;
}

/** The locations of the paper's evaluation (section 5.1) with their round trips to the primary. */
export const PAPER_LOCATIONS: readonly Location[] = [
  { name: "VA", roundTripMs: 7 },
  { name: "CA", roundTripMs: 74 },
  { name: "IE", roundTripMs: 70 },
  { name: "DE", roundTripMs: 93 },
  { name: "JP", roundTripMs: 146 },
];

const FIELDS = [
  "name",
  "handlers",
  "worker",
  "assets",
  "blobs",
  "outDir",
  "cache",
  "readLeaseMs",
  "log",
  "limits",
  "dev",
  "deploy",
] as const satisfies readonly (keyof RadicalConfig)[];

const DEFAULT_PORT = 8787;

export const MAX_ROUND_TRIP_MS = 10_000;
export const MAX_LOSS_PERCENT = 50;
const APPLICATION_NAME = /^[a-z][a-z0-9-]{0,62}$/;
const LOCATION_NAME = /^[A-Za-z][A-Za-z0-9-]{0,31}$/;

/** Throws a CommandError that names every wrong field of `config`, which came from `file`. */
export function resolveConfig(config: unknown, file: string): ResolvedConfig {
  const problems: string[] = [];
  const wrong = (field: string, expected: string, value: unknown): void => {
    problems.push(`${field} must be ${expected}, not ${describe(value)}`);
  };
  const unknownFields = (prefix: string, object: Readonly<Record<string, unknown>>, known: readonly string[]): void => {
    for (const key of Object.keys(object)) {
      if (!known.includes(key)) problems.push(`${prefix}${key} is not a field; the fields are ${known.join(", ")}`);
    }
  };

  if (!isObject(config)) {
    throw new CommandError(
      "config_invalid",
      `${file} must export an object by default, not ${describe(config)}`,
      'write `export default defineConfig({ name: "my-app" })`',
      { exitCode: EXIT_USAGE },
    );
  }
  unknownFields("", config, FIELDS);

  const name = config["name"];
  if (typeof name !== "string" || !APPLICATION_NAME.test(name)) {
    wrong("name", "1 to 63 lowercase letters, digits and dashes, a letter first", name);
  }
  const folder = (field: string, value: unknown, fallback: string): string => {
    if (value === undefined) return fallback;
    if (typeof value === "string" && isPathInside(value)) return value.replace(/\/+$/, "");
    wrong(field, "the relative path of a folder inside the project", value);
    return fallback;
  };
  const handlers = folder("handlers", config["handlers"], "handlers");
  const outDir = folder("outDir", config["outDir"], "dist");

  const worker = config["worker"] ?? "src/worker.ts";
  if (typeof worker !== "string" || !isPathInside(worker) || !/\.[cm]?[jt]sx?$/.test(worker))
    wrong("worker", "the relative path of a TypeScript file inside the project", worker);
  const assets = config["assets"] ?? {};
  let assetsFolder = "public";
  let notFound: NotFound = "none";
  let workerFirst: readonly string[] = [];
  let client: string | null = null;
  if (!isObject(assets)) wrong("assets", "an object", assets);
  else {
    unknownFields("assets.", assets, ["folder", "notFound", "workerFirst", "client"]);
    assetsFolder = folder("assets.folder", assets["folder"], assetsFolder);
    const wanted = assets["notFound"] ?? notFound;
    const known = NOT_FOUND.find((candidate) => candidate === wanted);
    if (known === undefined)
      wrong("assets.notFound", `one of ${NOT_FOUND.map((word) => `"${word}"`).join(", ")}`, wanted);
    else notFound = known;
    const paths = assets["workerFirst"] ?? [];
    if (!Array.isArray(paths) || !paths.every((path) => typeof path === "string" && /^!?\//.test(path)))
      wrong("assets.workerFirst", 'a list of paths like "/login" and "/pages/*"', paths);
    else workerFirst = paths as readonly string[];
    const page = assets["client"];
    if (typeof page === "string" && isPathInside(page) && /\.m?js$/.test(page)) client = page;
    else if (page !== undefined)
      wrong("assets.client", 'the relative path of a JavaScript file, like "client.js"', page);
  }

  const blobs = resolveBlobs(config["blobs"], wrong, unknownFields);

  const cache = resolveCache(config["cache"], wrong, unknownFields);

  const readLeaseMs = config["readLeaseMs"] ?? DEFAULT_READ_LEASE_MS;
  if (!Number.isInteger(readLeaseMs) || !isUpTo(readLeaseMs, MAX_READ_LEASE_MS))
    wrong("readLeaseMs", `a whole number of milliseconds from 0 to ${MAX_READ_LEASE_MS}`, readLeaseMs);

  const least = config["log"] ?? "debug";
  const log = LEAST_LEVELS.find((level) => level === least);
  if (log === undefined) wrong("log", `one of ${LEAST_LEVELS.map((level) => `"${level}"`).join(", ")}`, least);

  const limits = config["limits"] ?? {};
  let fuel: unknown = DEFAULT_LIMITS.fuel;
  if (!isObject(limits)) wrong("limits", "an object", limits);
  else {
    unknownFields("limits.", limits, ["fuel"]);
    fuel = limits["fuel"] ?? fuel;
    if (!Number.isInteger(fuel) || Number(fuel) < 1 || Number(fuel) > MAX_LIMITS.fuel)
      wrong("limits.fuel", `a whole number from 1 to ${MAX_LIMITS.fuel}`, fuel);
  }

  const dev = config["dev"] ?? {};
  let port: unknown = DEFAULT_PORT;
  let locations: readonly Location[] = PAPER_LOCATIONS;
  if (!isObject(dev)) wrong("dev", "an object", dev);
  else {
    unknownFields("dev.", dev, ["port", "locations"]);
    port = dev["port"] ?? DEFAULT_PORT;
    if (!isPort(port)) wrong("dev.port", "an integer from 0 to 65535", port);
    const configured = dev["locations"];
    if (configured !== undefined) {
      if (!isObject(configured) || Object.keys(configured).length === 0) {
        wrong("dev.locations", "an object with at least one location, like { VA: 7 }", configured);
      } else {
        locations = Object.entries(configured).map(([location, distance]) => {
          const field = `dev.locations.${location}`;
          if (!LOCATION_NAME.test(location))
            wrong(field, "named by 1 to 32 letters, digits and dashes, a letter first", location);
          const parts = isObject(distance) ? distance : { roundTripMs: distance };
          unknownFields(`${field}.`, parts, ["roundTripMs", "jitterMs", "lossPercent"]);
          const { roundTripMs, jitterMs, lossPercent } = parts;
          if (!isUpTo(roundTripMs, MAX_ROUND_TRIP_MS))
            wrong(isObject(distance) ? `${field}.roundTripMs` : field, ROUND_TRIP_WORDS, roundTripMs);
          else if (jitterMs !== undefined && !isUpTo(jitterMs, roundTripMs))
            wrong(`${field}.jitterMs`, "0 ms to the round trip", jitterMs);
          if (lossPercent !== undefined && !isUpTo(lossPercent, MAX_LOSS_PERCENT))
            wrong(`${field}.lossPercent`, LOSS_WORDS, lossPercent);
          return locationOf(location, Number(roundTripMs), jitterMs, lossPercent);
        });
      }
    }
  }

  const deployFields = config["deploy"] ?? {};
  let deploy = DEFAULT_DEPLOY_CONFIG;
  if (!isObject(deployFields)) wrong("deploy", "an object", deployFields);
  else {
    unknownFields("deploy.", deployFields, DEPLOY_FIELDS);
    deploy = resolveDeployConfig(deployFields, wrong, unknownFields);
  }

  if (problems.length > 0) {
    throw new CommandError(
      "config_invalid",
      problems.map((problem) => `${file}: ${problem}`).join("\n"),
      "correct the fields named above",
      {
        exitCode: EXIT_USAGE,
      },
    );
  }
  return {
    name: String(name),
    handlers,
    worker: String(worker),
    assets: { folder: assetsFolder, notFound, workerFirst, client },
    blobs,
    outDir,
    cache,
    readLeaseMs: Number(readLeaseMs),
    log: log ?? "debug",
    limits: limitsWithFuel(Number(fuel)),
    dev: { port: Number(port), locations },
    deploy,
  };
}

/** Of all uploads of an isolate together. */
const MAX_BLOB_BYTES = 64 * 1024 * 1024;
const MAX_KEEP_HOURS = 24 * 365;
/** Of R2. */
const BUCKET_NAME = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;

function resolveBlobs(
  config: unknown,
  wrong: (field: string, expected: string, value: unknown) => void,
  unknownFields: (prefix: string, object: Readonly<Record<string, unknown>>, known: readonly string[]) => void,
): ResolvedBlobsConfig {
  const defaults = { maxBytes: DEFAULT_MAX_BLOB_BYTES, keepHours: DEFAULT_BLOB_KEEP_HOURS, bucket: null };
  if (config === undefined) return defaults;
  if (!isObject(config)) {
    wrong("blobs", "an object", config);
    return defaults;
  }
  unknownFields("blobs.", config, ["maxBytes", "keepHours", "bucket"]);
  const { maxBytes = defaults.maxBytes, keepHours = defaults.keepHours, bucket = null } = config;
  if (!Number.isInteger(maxBytes) || maxBytes === 0 || !isUpTo(maxBytes, MAX_BLOB_BYTES))
    wrong("blobs.maxBytes", `a whole number of bytes from 1 to ${MAX_BLOB_BYTES}`, maxBytes);
  if (!Number.isInteger(keepHours) || keepHours === 0 || !isUpTo(keepHours, MAX_KEEP_HOURS))
    wrong("blobs.keepHours", `a whole number of hours from 1 to ${MAX_KEEP_HOURS}`, keepHours);
  if (bucket !== null && (typeof bucket !== "string" || !BUCKET_NAME.test(bucket)))
    wrong("blobs.bucket", "3 to 63 lowercase letters, digits and dashes, with a letter or digit at both ends", bucket);
  return {
    maxBytes: Number(maxBytes),
    keepHours: Number(keepHours),
    bucket: typeof bucket === "string" ? bucket : null,
  };
}

/** Of an isolate's 128 MB, which its requests need as well. */
const MAX_MEMORY_BYTES = 64 * 1024 * 1024;
/** What a Durable Object holds. */
const MAX_OBJECT_BYTES = 10 * 1024 ** 3;
const MIN_OBJECT_BYTES = 1024 * 1024;
/** A location answers within 20 s. */
const MAX_TIMEOUT_MS = 10_000;

function resolveCache(
  config: unknown,
  wrong: (field: string, expected: string, value: unknown) => void,
  unknownFields: (prefix: string, object: Readonly<Record<string, unknown>>, known: readonly string[]) => void,
): CacheChoice {
  const kinds = CACHE_KINDS.map((kind) => `"${kind}"`).join(", ");
  if (config === undefined) return DEFAULT_CACHE;
  if (typeof config === "string" && !isCacheKind(config)) {
    wrong("cache", `one of ${kinds}`, config);
    return DEFAULT_CACHE;
  }
  const fields: unknown = typeof config === "string" ? { kind: config } : config;
  if (!isObject(fields)) {
    wrong("cache", `one of ${kinds}, or an object`, fields);
    return DEFAULT_CACHE;
  }
  const kind = fields["kind"] ?? DEFAULT_CACHE.kind;
  if (!isCacheKind(kind)) {
    wrong("cache.kind", `one of ${kinds}`, kind);
    return DEFAULT_CACHE;
  }
  const number = (field: string, least: number, most: number, unit: string, fallback: number): number => {
    const value = fields[field] ?? fallback;
    if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
    wrong(`cache.${field}`, `a whole number of ${unit} from ${least} to ${most}`, value);
    return fallback;
  };
  const memoryBytes = (): number => number("memoryBytes", 0, MAX_MEMORY_BYTES, "bytes", DEFAULT_MEMORY_BYTES);
  const timeoutMs = (): number => number("timeoutMs", 1, MAX_TIMEOUT_MS, "milliseconds", DEFAULT_TIMEOUT_MS);
  switch (kind) {
    case "memory":
      unknownFields("cache.", fields, ["kind", "memoryBytes"]);
      return { kind, memoryBytes: memoryBytes() };
    case "durable-object": {
      unknownFields("cache.", fields, ["kind", "memoryBytes", "objectBytes", "timeoutMs"]);
      const objectBytes = number("objectBytes", MIN_OBJECT_BYTES, MAX_OBJECT_BYTES, "bytes", DEFAULT_OBJECT_BYTES);
      return { kind, memoryBytes: memoryBytes(), objectBytes, timeoutMs: timeoutMs() };
    }
    case "kv":
      unknownFields("cache.", fields, ["kind", "memoryBytes", "timeoutMs"]);
      return { kind, memoryBytes: memoryBytes(), timeoutMs: timeoutMs() };
  }
}

function isCacheKind(value: unknown): value is CacheKind {
  return CACHE_KINDS.some((kind) => kind === value);
}

/** The distance of locations that name none; null leaves a location as it is. */
export interface CommonDistance {
  readonly jitterMs: number | null;
  readonly lossPercent: number | null;
}

/** `146`, `146±5`, `146+-5`, `146/1%`, `146±5/1%`. */
const DISTANCE = /^(\d+(?:\.\d+)?)(?:(?:±|\+-)(\d+(?:\.\d+)?))?(?:\/(\d+(?:\.\d+)?)%)?$/;

/** `VA=7,JP=146±5/1%` as `--locations` takes it. Throws a CommandError. */
export function parseLocations(text: string): readonly Location[] {
  const locations = text.split(",").map((part): Location => {
    const [name = "", distance = "", ...more] = part.split("=").map((side) => side.trim());
    const match = DISTANCE.exec(distance);
    const [roundTripMs, jitterMs, lossPercent] = (match?.slice(1) ?? []).map((digits) =>
      digits === undefined ? undefined : Number(digits),
    );
    if (
      !LOCATION_NAME.test(name) ||
      more.length > 0 ||
      !isUpTo(roundTripMs, MAX_ROUND_TRIP_MS) ||
      !isUpTo(jitterMs ?? 0, roundTripMs) ||
      !isUpTo(lossPercent ?? 0, MAX_LOSS_PERCENT)
    ) {
      throw usage(
        `--locations: "${part.trim()}" is not NAME=MILLISECONDS[±MILLISECONDS][/PERCENT%]`,
        `name each location with its round trip to the primary (at most ${MAX_ROUND_TRIP_MS} ms), and if you like how much it varies and how much is lost (at most ${MAX_LOSS_PERCENT} %): --locations VA=7,JP=146±5/1%`,
      );
    }
    return locationOf(name, roundTripMs, jitterMs, lossPercent);
  });
  const names = new Set(locations.map(({ name }) => name));
  if (names.size !== locations.length)
    throw usage(`--locations names a location twice: ${text}`, "name each location once");
  return locations;
}

/** The locations, each with what is common to all as far as it says nothing itself; none varies by more than its round trip. */
export function withCommonDistance(locations: readonly Location[], common: CommonDistance): readonly Location[] {
  return locations.map(({ name, roundTripMs, jitterMs, lossPercent }) =>
    locationOf(
      name,
      roundTripMs,
      jitterMs ?? (common.jitterMs === null ? undefined : Math.min(common.jitterMs, roundTripMs)),
      lossPercent ?? common.lossPercent ?? undefined,
    ),
  );
}

/** `146 ms`, `146±5 ms, 1 % lost`. */
export function describeDistance({ roundTripMs, jitterMs = 0, lossPercent = 0 }: Distance): string {
  return `${roundTripMs}${jitterMs === 0 ? "" : `±${jitterMs}`} ms${lossPercent === 0 ? "" : `, ${lossPercent} % lost`}`;
}

function locationOf(name: string, roundTripMs: number, jitterMs?: unknown, lossPercent?: unknown): Location {
  return {
    name,
    roundTripMs,
    ...(jitterMs === undefined ? {} : { jitterMs: Number(jitterMs) }),
    ...(lossPercent === undefined ? {} : { lossPercent: Number(lossPercent) }),
  };
}

const ROUND_TRIP_WORDS = `a round trip of 0 to ${MAX_ROUND_TRIP_MS} ms`;
const LOSS_WORDS = `0 to ${MAX_LOSS_PERCENT} percent`;

function usage(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}

function isPort(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 65_535;
}

function isUpTo(value: unknown, most: number): value is number {
  return typeof value === "number" && value >= 0 && value <= most;
}

function isPathInside(path: string): boolean {
  return (
    path !== "" &&
    !path.startsWith("/") &&
    !path.includes("\\") &&
    path.split("/").every((part) => part !== ".." && part !== ".")
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function describe(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "function") return "a function";
  return JSON.stringify(value);
}
