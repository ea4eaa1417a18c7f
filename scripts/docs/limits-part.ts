/** The tables of limits: each number is read from the code. */
import { constantOf } from "./constants.ts";

/** How a number is said. */
type Unit = "bytes" | "ms" | "seconds" | "count" | "million";

interface Limit {
  readonly what: string;
  /** The constants: one, or several that are said one after the other. */
  readonly from: string;
  readonly unit: Unit;
  /** The unit or thing, after the number. */
  readonly of?: string;
  /** The consequence at the limit. */
  readonly atLimit: string;
}

const PROTOCOL = "packages/protocol/src";
const SERVER = "packages/lvi-server/src";
const RUNTIME = "packages/runtime/src";
const APP = "packages/app/src";
const DEPLOY = "packages/deploy/src";
const LIVE = `${RUNTIME}/core/live-queries.ts#DEFAULT_LIVE_BOUNDS`;

const TRAPS = "trap, nothing is written";
const FAILS = "`execution_failed`, nothing is written";
/** The numbers are not ours. */
const HINTED = "a hint, and Cloudflare may refuse";
const STUCK = "the workflow is stuck";

const LIMITS: Readonly<Record<string, readonly Limit[]>> = {
  blobs: [
    {
      what: "bytes of one blob, unless `blobs.maxBytes` sets it",
      from: `${PROTOCOL}/blob.ts#DEFAULT_MAX_BLOB_BYTES`,
      unit: "bytes",
      atLimit: "`blob_too_large`",
    },
    {
      what: "bytes of one blob, at most",
      from: `${APP}/config/blobs-schema.ts#MAX_BLOB_BYTES`,
      unit: "bytes",
      atLimit: "`config_invalid`",
    },
    {
      what: "bytes that one isolate holds of uploads, together",
      from: `${RUNTIME}/blobs/blob-requests.ts#MOST_HELD_BYTES`,
      unit: "bytes",
      atLimit: "`blob_busy`",
    },
  ],
  services: [
    {
      what: "one call of a service",
      from: `${SERVER}/core/services.ts#DEFAULT_SERVICE_OPTIONS.timeoutMs`,
      unit: "ms",
      atLimit: "its `signal` is aborted; it is called again",
    },
    {
      what: "calls of one service at once, unless `@limit` says less",
      from: `${SERVER}/core/services.ts#DEFAULT_SERVICE_OPTIONS.atOnce`,
      unit: "count",
      atLimit: "other tasks wait",
    },
    {
      what: "time in which a service is taken to know a key, unless `keyWindow` sets it",
      from: `${PROTOCOL}/services.ts#DEFAULT_KEY_WINDOW_MS`,
      unit: "seconds",
      atLimit: "the task is dead as `unknown`",
    },
    {
      what: "result of a service",
      from: `${PROTOCOL}/messages/service-call.ts#MAX_SERVICE_RESULT_BYTES`,
      unit: "bytes",
      atLimit: "the call has failed",
    },
  ],
  workflows: [
    {
      what: "commands of one activation: calls, sleeps and waits for signals between two results",
      from: `${PROTOCOL}/workflows.ts#MAX_ACTIVATION_COMMANDS`,
      unit: "count",
      atLimit: STUCK,
    },
    { what: "commands of a workflow", from: `${PROTOCOL}/workflows.ts#MAX_COMMANDS`, unit: "count", atLimit: STUCK },
    {
      what: "entries of a journal: times that a workflow runs",
      from: `${PROTOCOL}/workflows.ts#MAX_JOURNAL_ENTRIES`,
      unit: "count",
      atLimit: STUCK,
    },
    { what: "journal", from: `${PROTOCOL}/workflows.ts#MAX_JOURNAL_BYTES`, unit: "bytes", atLimit: STUCK },
    {
      what: "workflows of an application that have not ended",
      from: `${SERVER}/core/core-options.ts#DEFAULT_CORE_OPTIONS.maxTasks`,
      unit: "count",
      atLimit: "`primary_busy`",
    },
  ],
  execution: [
    {
      what: "memory",
      from: `${PROTOCOL}/module-content.ts#DEFAULT_LIMITS.memoryPages`,
      unit: "bytes",
      atLimit: "trap `out_of_memory`",
    },
    {
      what: "items touched, each row of a range among them",
      from: `${PROTOCOL}/module-content.ts#DEFAULT_LIMITS.accesses`,
      unit: "count",
      atLimit: TRAPS,
    },
    {
      what: "values read at the primary, together",
      from: `${SERVER}/core/core-options.ts#DEFAULT_CORE_OPTIONS.maxReadBytes`,
      unit: "bytes",
      atLimit: FAILS,
    },
    {
      what: "one value that is written",
      from: `${PROTOCOL}/host-functions.ts#MAX_VALUE_BYTES`,
      unit: "bytes",
      atLimit: TRAPS,
    },
    {
      what: "all values that are written",
      from: `${PROTOCOL}/host-functions.ts#MAX_WRITTEN_BYTES`,
      unit: "bytes",
      atLimit: TRAPS,
    },
    { what: "result", from: `${PROTOCOL}/host-functions.ts#MAX_RESULT_BYTES`, unit: "bytes", atLimit: TRAPS },
    {
      what: "nesting of values and results",
      from: `${PROTOCOL}/cbor.ts#MAX_DEPTH`,
      unit: "count",
      of: "deep",
      atLimit: TRAPS,
    },
    {
      what: "key of an item, in UTF-8",
      from: `${PROTOCOL}/ids.ts#MAX_KEY_BYTES`,
      unit: "count",
      of: "bytes, at least 1",
      atLimit: TRAPS,
    },
    {
      what: "indexed fields with the key of the item, in UTF-8",
      from: `${PROTOCOL}/index-entry.ts#MAX_ENTRY_KEY_BYTES`,
      unit: "count",
      of: "bytes",
      atLimit: TRAPS,
    },
    {
      what: "fuel: about the number of WebAssembly instructions",
      from: `${PROTOCOL}/module-content.ts#DEFAULT_LIMITS.fuel`,
      unit: "million",
      of: "or `limits.fuel` of [the configuration](cli.md#radicalconfigts)",
      atLimit: "trap `out_of_fuel`",
    },
    {
      what: "fuel of a run at a location",
      from: `${PROTOCOL}/module-content.ts#DEFAULT_LIMITS.speculationFuel`,
      unit: "million",
      of: "or `limits.fuel`, if that is less",
      atLimit: "the call goes near storage",
    },
    {
      what: "fuel of a read/write-set function",
      from: `${PROTOCOL}/host-functions.ts#READ_WRITE_SET_FUEL`,
      unit: "million",
      atLimit: "the call goes near storage",
    },
    {
      what: "frames of nested calls: about 2,500 calls of a small function",
      from: `${PROTOCOL}/module-content.ts#MAX_LIMITS.stackBytes`,
      unit: "bytes",
      atLimit: "trap `stack_overflow`",
    },
    { what: "time at the primary", from: `${SERVER}/server.ts#DEFAULT_EXECUTION_LIMIT_MS`, unit: "ms", atLimit: FAILS },
    {
      what: "time at the primary while others wait for a worker",
      from: `${SERVER}/server.ts#DEFAULT_CROWDED_LIMIT_MS`,
      unit: "ms",
      atLimit: "`primary_busy`, nothing is written",
    },
    {
      what: "lines that it logs",
      from: `${PROTOCOL}/logged-line.ts#MAX_LOGGED_LINES`,
      unit: "count",
      atLimit: "the rest is left out, and one more line says so",
    },
    {
      what: "one line that it logs, in UTF-16 units",
      from: `${PROTOCOL}/logged-line.ts#MAX_LOGGED_CHARACTERS`,
      unit: "count",
      atLimit: "it is cut, and says so",
    },
  ],
  request: [
    {
      what: "body of a call",
      from: `${RUNTIME}/settings.ts#DEFAULT_MAX_BODY_BYTES`,
      unit: "bytes",
      atLimit: "`request_too_large`",
    },
    {
      what: "one call, with all its repeats to the primary",
      from: `${RUNTIME}/core/execution.ts#DEFAULT_BOUNDS.totalMs`,
      unit: "ms",
      atLimit: "`primary_unreachable`",
    },
    {
      what: "wait of a location for one reply of the primary",
      from: `${RUNTIME}/core/execution.ts#DEFAULT_BOUNDS.attemptMs`,
      unit: "ms",
      atLimit: "it asks again",
    },
    {
      what: "times that a location sends one request",
      from: `${RUNTIME}/core/execution.ts#DEFAULT_BOUNDS.attempts`,
      unit: "count",
      atLimit: "`primary_unreachable`",
    },
    {
      what: "wait for items that others hold",
      from: `${SERVER}/core/core-options.ts#DEFAULT_CORE_OPTIONS.maxWaitMs`,
      unit: "ms",
      atLimit: "`primary_busy`; the location asks again",
    },
    {
      what: "answers kept for an `Idempotency-Key`",
      from: `${SERVER}/core/core-options.ts#DEFAULT_CORE_OPTIONS.retentionMs`,
      unit: "seconds",
      atLimit: "then the key is free: [Retention](operations.md#retention)",
    },
    {
      what: "answers kept under an id that a location chose",
      from: `${SERVER}/core/finished-executions.ts#REPEAT_WINDOW_MS`,
      unit: "seconds",
      atLimit: "then a repeat is refused: [`answer_not_kept`](operations.md#retention)",
    },
    {
      what: "runs of a handler in record mode, when items are missing",
      from: `${RUNTIME}/core/execution.ts#DEFAULT_BOUNDS.recordRuns`,
      unit: "count",
      atLimit: "the call goes near storage",
    },
    {
      what: "batches read from the cache to find a set",
      from: `${RUNTIME}/core/execution.ts#DEFAULT_BOUNDS.fetchRounds`,
      unit: "count",
      atLimit: "the call goes near storage",
    },
  ],
  application: [
    {
      what: "nesting of source code",
      from: "packages/analyzer/src/check/nesting.ts#MOST_LEVELS",
      unit: "count",
      of: "levels",
      atLimit: "[`nested_too_deeply`](diagnostics/nested_too_deeply.md)",
    },
    {
      what: "estimated steps from which work is expensive",
      from: "packages/analyzer/src/infer/cost.ts#EXPENSIVE_STEPS",
      unit: "count",
      atLimit: "[transformations](analysis.md#what-is-expensive)",
    },
    {
      what: "module, both halves",
      from: `${PROTOCOL}/signature.ts#MAX_MODULE_BYTES`,
      unit: "bytes",
      atLimit: "`message_too_large`",
    },
    {
      what: "`limits.fuel`, at most",
      from: `${PROTOCOL}/module-content.ts#MAX_LIMITS.fuel`,
      unit: "million",
      atLimit: "`config_invalid`",
    },
    {
      what: "modules kept that no location asks for",
      from: `${SERVER}/core/core-options.ts#DEFAULT_CORE_OPTIONS.moduleRetentionMs`,
      unit: "seconds",
      atLimit: "removed: [Retention](operations.md#retention)",
    },
  ],
  cache: [
    {
      what: "memory of an isolate, unless set",
      from: `${PROTOCOL}/cache-choice.ts#DEFAULT_MEMORY_BYTES`,
      unit: "bytes",
      atLimit: "least recently used first",
    },
    {
      what: "memory of an isolate, at most",
      from: `${APP}/config/schema.ts#MAX_MEMORY_BYTES`,
      unit: "bytes",
      atLimit: "`config_invalid`",
    },
    {
      what: "Durable Object of a location, unless set",
      from: `${PROTOCOL}/cache-choice.ts#DEFAULT_OBJECT_BYTES`,
      unit: "bytes",
      atLimit: "what was neither written nor read lately goes first",
    },
    {
      what: "Durable Object of a location, at most",
      from: `${APP}/config/schema.ts#MAX_OBJECT_BYTES`,
      unit: "bytes",
      atLimit: "`config_invalid`",
    },
    {
      what: "one value in a Durable Object",
      from: `${RUNTIME}/cache/radical-cache.ts#MAX_VALUE_BYTES`,
      unit: "count",
      of: "bytes",
      atLimit: "not cached there",
    },
    {
      what: "one value in KV",
      from: `${RUNTIME}/cache/kv-cache.ts#MAX_VALUE_BYTES`,
      unit: "bytes",
      atLimit: "not cached there",
    },
    {
      what: "writes to KV of one execution",
      from: `${RUNTIME}/cache/kv-cache.ts#MAX_WRITES`,
      unit: "count",
      atLimit: "the rest is not cached there",
    },
    {
      what: "age of an entry, unless set",
      from: `${PROTOCOL}/cache-choice.ts#DEFAULT_MAX_AGE_HOURS`,
      unit: "count",
      of: "hours",
      atLimit: "gone from every cache",
    },
    {
      what: "locations in the list of caches",
      from: `${PROTOCOL}/cache-orders.ts#MOST_LOCATIONS`,
      unit: "count",
      atLimit: "`radical cache purge` empties the others by name: `--location`",
    },
    {
      what: "wait for a cache, unless set",
      from: `${PROTOCOL}/cache-choice.ts#DEFAULT_TIMEOUT_MS`,
      unit: "ms",
      atLimit: "a miss",
    },
  ],
  live: [
    {
      what: "streams of one isolate, unless `RADICAL_MAX_STREAMS` sets it",
      from: `${LIVE}.subscribers`,
      unit: "count",
      atLimit: "`too_many_streams`",
    },
    {
      what: "different live queries of one isolate",
      from: `${LIVE}.queries`,
      unit: "count",
      atLimit: "`too_many_streams`",
    },
    {
      what: "items that are watched for the live queries of one isolate",
      from: `${LIVE}.watched`,
      unit: "count",
      atLimit: "a query that reads more runs each second instead",
    },
    {
      what: "time from one run of a live query to the next",
      from: `${LIVE}.spacingMs`,
      unit: "ms",
      of: "at least",
      atLimit: "the changes between are in the next run",
    },
    {
      what: "life of a stream",
      from: `${LIVE}.lifeMs`,
      unit: "ms",
      of: "at most, and a fifth less at least",
      atLimit: "it ends with `retry`, and the client comes back",
    },
    {
      what: "subrequests of the request of a stream",
      from: `${LIVE}.spent`,
      unit: "count",
      atLimit: "likewise",
    },
    {
      what: "time between two checks of the caller, unless `RADICAL_CALLER_CHECK_MS` sets it",
      from: `${LIVE}.callerMs`,
      unit: "ms",
      atLimit: "a caller that is refused ends the stream",
    },
    {
      what: "time in which a client reads nothing",
      from: `${LIVE}.writeMs`,
      unit: "ms",
      atLimit: "the stream is cut off",
    },
    {
      what: "time in which a location is cut off from the primary",
      from: `${LIVE}.staleMs`,
      unit: "ms",
      atLimit: "the event `stale`",
    },
    {
      what: "time after which a stream counts no more whose request the platform has ended",
      from: `${LIVE}.silentMs`,
      unit: "ms",
      atLimit: "another stream may take its place",
    },
  ],
  cloudflare: [
    {
      what: "a Worker with its modules, not compressed",
      from: `${DEPLOY}/checks.ts#STATED_BUNDLE_BYTES`,
      unit: "bytes",
      atLimit: HINTED,
    },
    {
      what: "one static file",
      from: `${DEPLOY}/checks.ts#MAX_FILE_BYTES`,
      unit: "bytes",
      atLimit: "`static_files_too_large`",
    },
    {
      what: "static files of a Worker",
      from: `${DEPLOY}/checks.ts#MAX_FILES`,
      unit: "count",
      of: "(20,000 without the paid plan)",
      atLimit: "`static_files_too_large`",
    },
    {
      what: "Workers of an account",
      from: `${DEPLOY}/edge/account-quotas.ts#PAID.workers`,
      unit: "count",
      of: "(100 without the paid plan)",
      atLimit: HINTED,
    },
    {
      what: "Durable Object classes of an account",
      from: `${DEPLOY}/edge/account-quotas.ts#PAID.classes`,
      unit: "count",
      of: "(100 without the paid plan)",
      atLimit: HINTED,
    },
    {
      what: "KV namespaces of an account",
      from: `${DEPLOY}/edge/account-quotas.ts#PAID.namespaces`,
      unit: "count",
      atLimit: HINTED,
    },
    {
      what: "tunnels of an account",
      from: `${DEPLOY}/edge/account-quotas.ts#PAID.tunnels`,
      unit: "count",
      atLimit: HINTED,
    },
    {
      what: "Workers VPC services of an account",
      from: `${DEPLOY}/edge/account-quotas.ts#PAID.services`,
      unit: "count",
      atLimit: HINTED,
    },
  ],
  primary: [
    {
      what: "items of one request",
      from: `${SERVER}/core/core-options.ts#DEFAULT_CORE_OPTIONS.maxUnits`,
      unit: "count",
      atLimit: FAILS,
    },
    {
      what: "arguments of one request",
      from: `${PROTOCOL}/messages/lvi-request.ts#MAX_ARGUMENT_BYTES`,
      unit: "bytes",
      atLimit: "`message_too_large`",
    },
    {
      what: "one message",
      from: `${SERVER}/http/http-server.ts#MAX_MESSAGE_BYTES`,
      unit: "bytes",
      atLimit: "`message_too_large`",
    },
    {
      what: "messages being received, together",
      from: `${SERVER}/memory-budget.ts#MOST_RECEIVING_BYTES`,
      unit: "bytes",
      of: "[less where memory is short](operations.md#memory)",
      atLimit: "`primary_busy`",
    },
    {
      what: "executions under way",
      from: `${SERVER}/core/core-options.ts#DEFAULT_CORE_OPTIONS.maxExecutions`,
      unit: "count",
      atLimit: "`primary_busy`",
    },
    {
      what: "executions that wait for one item",
      from: `${SERVER}/core/core-options.ts#DEFAULT_CORE_OPTIONS.maxQueue`,
      unit: "count",
      atLimit: "`primary_busy`",
    },
    {
      what: "executions of one location under way",
      from: `${SERVER}/core/core-options.ts#DEFAULT_CORE_OPTIONS.executions`,
      unit: "count",
      atLimit: "`primary_busy`: [Budgets](operations.md#budgets-of-a-location)",
    },
    {
      what: "share of the workers' time for one location, in percent",
      from: `${SERVER}/server.ts#DEFAULT_WORKERS_PERCENT`,
      unit: "count",
      atLimit: "`primary_busy`",
    },
    {
      what: "a followup is waited for",
      from: `${SERVER}/core/core-options.ts#DEFAULT_CORE_OPTIONS.followupTimeoutMs`,
      unit: "ms",
      atLimit: "the primary runs the handler itself",
    },
    {
      what: "clock of a location beside that of the primary",
      from: `${SERVER}/core/core-options.ts#DEFAULT_CORE_OPTIONS.maxClockSkewMs`,
      unit: "ms",
      of: "either way",
      atLimit: "refused",
    },
    {
      what: "leadership: a dead server is replaced after",
      from: `${SERVER}/server.ts#DEFAULT_LEASE_MS`,
      unit: "ms",
      of: "and 5 %",
      atLimit: "the standby serves",
    },
    {
      what: "a key of the signatures",
      from: `${SERVER}/http/keys.ts#MIN_KEY_BYTES`,
      unit: "count",
      of: "bytes at least",
      atLimit: "refused at the start",
    },
  ],
};

const PAGE_BYTES = 65_536;

export function limitsPart(group: string): string {
  const limits = LIMITS[group];
  if (limits === undefined) throw new Error(`there is no group of limits "${group}"`);
  const rows = limits.map(({ what, from, unit, of, atLimit }) => {
    const value = constantOf(from) * (from.endsWith(".memoryPages") ? PAGE_BYTES : 1);
    return `| ${what} | ${wordsOf(value, unit)}${of === undefined ? "" : ` ${of}`} | ${atLimit} |`;
  });
  return ["| limit | value | at the limit |", "| --- | --- | --- |", ...rows].join("\n");
}

function wordsOf(value: number, unit: Unit): string {
  switch (unit) {
    case "bytes": {
      const [size, name] =
        value % 1024 ** 3 === 0 ? [1024 ** 3, "GiB"] : value % 1024 ** 2 === 0 ? [1024 ** 2, "MiB"] : [1024, "KiB"];
      return `${value / size} ${name}`;
    }
    case "ms":
      return value >= 60_000 ? `${value / 60_000} min` : value >= 1_000 ? `${value / 1_000} s` : `${value} ms`;
    case "seconds":
      return value > 48 * 3_600_000 ? `${value / (24 * 3_600_000)} days` : `${value / 3_600_000} h`;
    case "million":
      return `${grouped(value / 1e6)} million`;
    case "count":
      return grouped(value);
  }
}

function grouped(value: number): string {
  return value.toLocaleString("en-US");
}
