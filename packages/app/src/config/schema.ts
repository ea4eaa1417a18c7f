/**
 * The schema of `radical.config.ts`: the types of its fields, their defaults and their checks. The comments are what
 * editors show and what the reference says.
 */
import {
  CACHE_KINDS,
  type CacheChoice,
  DEFAULT_CACHE,
  DEFAULT_LIMITS,
  DEFAULT_MAX_AGE_HOURS,
  DEFAULT_MEMORY_BYTES,
  DEFAULT_OBJECT_BYTES,
  DEFAULT_READ_LEASE_MS,
  DEFAULT_TIMEOUT_MS,
  type Jurisdiction,
  JURISDICTIONS,
  LEAST_LEVELS,
  MAX_LIMITS,
  MAX_READ_LEASE_MS,
  limitsWithFuel,
} from "@radical/protocol";
import { z } from "zod";
import { blobsSchema } from "./blobs-schema.ts";
import { deploySchema } from "./deploy-schema.ts";
import { fields, fileInside, folder, listed, numberIn, oneOf, text, wholeNumber } from "./fields.ts";
import { isRegionIn, regionWords } from "./jurisdictions.ts";
import { MAX_LOSS_PERCENT, MAX_ROUND_TRIP_MS, NAME_OF_LOCATION, PAPER_LOCATIONS, locationOf } from "./locations.ts";

const withoutSlash = (path: string): string => path.replace(/\/+$/, "");

// ── Static files ─────────────────────────────────────────────────────────────────────────────────────────────────────

const assetsSchema = fields({
  /** Relative to the config file. Default: `public`. */
  folder: folder().transform(withoutSlash).prefault("public"),
  /**
   * The answer for a path without a file: the Worker's answer (`none`), the nearest `404.html` with status 404
   * (`404-page`), or `index.html` with status 200 (`single-page-application`). Default: `none`.
   */
  notFound: oneOf(["none", "404-page", "single-page-application"]).default("none"),
  /** Paths that the Worker answers and files never do, like `/login` and `/pages/*`. `/api/*` always is one. */
  workerFirst: z
    .array(text(/^!?\//, 'a path like "/login" or "/pages/*"'), 'a list of paths like "/login" and "/pages/*"')
    .default([]),
  /**
   * File in the folder that the build writes: the client of the handlers as JavaScript, for pages, like `client.js`. It
   * names all handlers to everybody. Default: none.
   */
  client: fileInside(/\.m?js$/, 'the relative path of a JavaScript file, like "client.js"').optional(),
  /**
   * A module for pages, relative to the config file, like `page/page.ts`. The build bundles it with all that it imports, and
   * writes `page.js` into the folder, and `page.css` with its styles. In it `#radical` is the client. Default: none.
   */
  page: fileInside(/\.[jt]sx?$/, 'the relative path of a module, like "page/page.ts"').optional(),
}).transform(({ client = null, page = null, ...others }) => ({ ...others, client, page }));

export type NotFound = z.output<typeof assetsSchema>["notFound"];

// ── The cache of a location ──────────────────────────────────────────────────────────────────────────────────────────

/** Of an isolate's 128 MB, which its requests need as well. */
const MAX_MEMORY_BYTES = 64 * 1024 * 1024;
/** The size of a Durable Object. */
const MAX_OBJECT_BYTES = 10 * 1024 ** 3;
const MIN_OBJECT_BYTES = 1024 * 1024;
/** A location answers within 20 s. */
const MAX_TIMEOUT_MS = 10_000;
/** A year. */
const MAX_AGE_HOURS = 8_784;

const whole = (unit: string, least: number, most: number): z.ZodNumber =>
  wholeNumber(least, most, `a whole number of ${unit} from ${least} to ${most}`);
const memoryBytes = whole("bytes", 0, MAX_MEMORY_BYTES).default(DEFAULT_MEMORY_BYTES);
const timeoutMs = whole("milliseconds", 1, MAX_TIMEOUT_MS).default(DEFAULT_TIMEOUT_MS);

const maxAgeHours = whole("hours", 1, MAX_AGE_HOURS).default(DEFAULT_MAX_AGE_HOURS);

const KIND_WORDS = `one of ${listed(CACHE_KINDS)}`;
const cacheObjectSchema = z
  .discriminatedUnion(
    "kind",
    [
      fields({
        /** Default: `durable-object`. */
        kind: z.literal("durable-object").optional(),
        /** Most bytes in the memory of an isolate. Default: 16 MiB. */
        memoryBytes,
        /** `durable-object`: most bytes of the database of a location. Default: 512 MiB. */
        objectBytes: whole("bytes", MIN_OBJECT_BYTES, MAX_OBJECT_BYTES).default(DEFAULT_OBJECT_BYTES),
        /** Not `memory`: after how many milliseconds a slow cache is missed. Default: 500. */
        timeoutMs,
        /** After how many hours an entry is gone from every cache of a location, unless it is written again. Default: 168. */
        maxAgeHours,
      }),
      fields({ kind: z.literal("kv"), memoryBytes, timeoutMs, maxAgeHours }),
      fields({ kind: z.literal("memory"), memoryBytes, maxAgeHours }),
    ],
    KIND_WORDS,
  )
  .transform((cache): CacheChoice =>
    cache.kind === "kv" || cache.kind === "memory" ? cache : { ...cache, kind: "durable-object" },
  );

const cacheSchema = z.union(
  [z.enum(CACHE_KINDS).transform((kind): CacheChoice => cacheObjectSchema.parse({ kind })), cacheObjectSchema],
  `${KIND_WORDS}, or an object`,
);

// ── Locations of `radical dev` ───────────────────────────────────────────────────────────────────────────────────────

const ROUND_TRIP_WORDS = `a round trip of 0 to ${MAX_ROUND_TRIP_MS} ms`;
const roundTripMs = numberIn(0, MAX_ROUND_TRIP_MS, ROUND_TRIP_WORDS);

/** A simulated way between a location and the primary. */
const distanceSchema = fields({
  /** In milliseconds. */
  roundTripMs,
  /** How far the round trip of a message is from that at most, either way, in milliseconds. Default: 0. */
  jitterMs: z.number("0 ms to the round trip").min(0, "0 ms to the round trip").optional(),
  /** Of a hundred pieces of data that many are lost and sent again. Default: 0. */
  lossPercent: numberIn(0, MAX_LOSS_PERCENT, `0 to ${MAX_LOSS_PERCENT} percent`).optional(),
}).refine(({ roundTripMs: most, jitterMs = 0 }) => jitterMs <= most, {
  path: ["jitterMs"],
  error: "0 ms to the round trip",
});

const locationsSchema = z
  .record(
    text(NAME_OF_LOCATION, "named by 1 to 32 letters, digits and dashes, a letter first"),
    z.union([roundTripMs, distanceSchema], ROUND_TRIP_WORDS),
    "an object with at least one location, like { VA: 7 }",
  )
  .refine((locations) => Object.keys(locations).length > 0, "an object with at least one location, like { VA: 7 }")
  .transform((locations) =>
    Object.entries(locations).map(([name, distance]) =>
      locationOf(name, typeof distance === "number" ? { roundTripMs: distance } : distance),
    ),
  );

function boundTo(jurisdiction: Jurisdiction | undefined, cache: CacheChoice): CacheChoice {
  return jurisdiction === undefined || cache.kind !== "durable-object" ? cache : { ...cache, jurisdiction };
}

// ── The whole ────────────────────────────────────────────────────────────────────────────────────────────────────────

const DEFAULT_PORT = 8787;

export const configSchema = fields({
  /** Name of the application: lowercase letters, digits and dashes. Cache entries are bound to it. */
  name: text(/^[a-z][a-z0-9-]{0,62}$/, "1 to 63 lowercase letters, digits and dashes, a letter first"),
  /** Folder whose `.ts` files export the handlers, relative to the config file. Default: `handlers`. */
  handlers: folder().transform(withoutSlash).prefault("handlers"),
  /**
   * The entry of the application's own Worker, if there is such a file, relative to the config file. Default:
   * `src/worker.ts`. See docs/worker.md.
   */
  worker: fileInside(/\.[cm]?[jt]sx?$/, "the relative path of a TypeScript file inside the project").default(
    "src/worker.ts",
  ),
  /** Static files. Default: those in the folder `public`, if there is one. */
  assets: assetsSchema.prefault({}),
  /** Of an application with Blobs. See docs/how-to/blobs.md. */
  blobs: blobsSchema.prefault({}),
  /** Folder that `radical build` writes to, relative to the config file. Default: `dist`. */
  outDir: folder().transform(withoutSlash).prefault("dist"),
  /**
   * Where locations keep what they have read, behind the memory of their isolates. Default: `durable-object`.
   * The costs of each: docs/caches.md.
   */
  cache: cacheSchema.prefault(DEFAULT_CACHE.kind),
  /**
   * Where data is stored: `eu` or `us`. It binds the caches of locations, and `radical deploy` holds the region of the primary to
   * it. Default: caches are near users, wherever these are. See docs/personal-data.md.
   */
  jurisdiction: oneOf(JURISDICTIONS).optional(),
  /**
   * How long a read lease lasts without being renewed, in milliseconds; 0: the primary grants none. Default: 3000. A write waits
   * so long for a location that has died.
   */
  readLeaseMs: whole("milliseconds", 0, MAX_READ_LEASE_MS).default(DEFAULT_READ_LEASE_MS),
  /**
   * The least level that handlers log: `debug`, `info`, `warn`, `error`, or `silent` for nothing. Default: `debug`. It is part of
   * the build, in `radical dev` too. See docs/handlers.md, "Logging".
   */
  log: oneOf(LEAST_LEVELS).default("debug"),
  limits: fields({
    /** The most that one execution of a handler may compute. Default: 50,000,000,000. See docs/handlers.md, "Limits". */
    fuel: wholeNumber(1, MAX_LIMITS.fuel, `a whole number from 1 to ${MAX_LIMITS.fuel}`).default(DEFAULT_LIMITS.fuel),
  })
    .transform(({ fuel }) => limitsWithFuel(fuel))
    .prefault({}),
  dev: fields({
    /** Port of `radical dev`; 0 takes any free one. Default: 8787. */
    port: wholeNumber(0, 65_535, "an integer from 0 to 65535").default(DEFAULT_PORT),
    /** Locations by name with their way to the primary: its round trip in ms, or all of it. Default: the five of the paper. */
    locations: locationsSchema.default([...PAPER_LOCATIONS]),
  }).prefault({}),
  /** The settings of `radical deploy`; its options win. See docs/deploy.md. */
  deploy: deploySchema.prefault({}),
})
  .superRefine(({ jurisdiction, cache, deploy: { region } }, context) => {
    if (jurisdiction === undefined) return;
    const wrong = (path: string[], message: string): void => context.addIssue({ code: "custom", path, message });
    if (cache.kind === "kv")
      wrong(["cache"], `"durable-object" or "memory" with a jurisdiction, since Workers KV stores everywhere`);
    if (region !== null && !isRegionIn(jurisdiction, region)) wrong(["deploy", "region"], regionWords(jurisdiction));
  })
  .transform(({ jurisdiction, cache, ...others }) => ({
    ...others,
    cache: boundTo(jurisdiction, cache),
    /** Null: none. */
    jurisdiction: jurisdiction ?? null,
  }));
