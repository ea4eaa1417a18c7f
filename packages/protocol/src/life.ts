/**
 * The life of an execution, as one side knows it: where its time went, and what decided its path. Drivers tell it, cores know
 * nothing of it. Both sides tell of the same execution and attempt, each by its own clock: nobody compares the two.
 */
import type { CommitId, ExecutionId, UnitId } from "./ids.ts";

/** `POST` of a {@link LivesQuestion}: lives of the primary from now on, each as a {@link LifeLine}. While nobody asks, nothing is kept. */
export const LIVES_PATH = "/v1/lives";

export interface LivesQuestion {
  /** One of so many executions tells its life; 1: all do. Of several questions the smallest number counts. */
  readonly every: number;
}

export const LIFE_SPANS = [
  // At the location: derive the set, read the cache, ask the primary, run the handler.
  "set",
  "fetch",
  "send",
  "run",
  // At the primary, in their usual order.
  "look-up",
  "lock",
  "leases",
  "load",
  "worker",
  "intent",
  "followup",
  "apply",
  "re-execute",
] as const;
export type LifeSpanName = (typeof LIFE_SPANS)[number];

/** `startUs`: from the start of the execution at this side. */
export type LifeSpan = readonly [name: LifeSpanName, startUs: number, tookUs: number];

/** The version that this side had; null: none. */
export type LifeUnit = readonly [unit: UnitId, mode: "read" | "write" | "read-write", had: CommitId | null];

export interface Life {
  readonly v: 1;
  readonly kind: "life";
  readonly side: "location" | "primary";
  readonly execution: ExecutionId;
  /** The last sending that this side knows of, from 1; 0: nothing was sent. */
  readonly attempt: number;
  /** The trace that its request belongs to; null: none was named, or only the other side knows it. */
  readonly trace: string | null;
  readonly place: string;
  readonly handler: string;
  readonly module: string;
  /** When it began, by the clock of this side. */
  readonly atMs: number;
  /** Until this side has answered. */
  readonly tookUs: number;
  /** The location knows it; null: there is no outcome. */
  readonly path: "speculative" | "leased" | "near-storage" | null;
  /** Of the path, or of the run at the primary. docs/http.md lists those of the path. */
  readonly reason: string | null;
  /** Of an error or of a refusal; null: there was none. */
  readonly code: string | null;
  /** Names the writes; null: there are none, or only the other side knows it. */
  readonly commit: CommitId | null;
  /** The first unit that kept the location's run from being the answer; null: none did. */
  readonly because: { readonly unit: UnitId; readonly had: CommitId | null; readonly is: CommitId | null } | null;
  /** In the order of their ends; at most {@link MAX_SPANS}. */
  readonly spans: readonly LifeSpan[];
  /** At most {@link MAX_UNITS}; of the others only their number is told. */
  readonly units: readonly LifeUnit[];
  readonly unitsLeftOut: number;
  /** The units that it waited for, and behind which execution; at most {@link MAX_WAITS}. */
  readonly waited: readonly (readonly [unit: UnitId, behind: ExecutionId | null, tookUs: number])[];
  /** Of the last run here; null: only the other side knows it. */
  readonly fuel: number | null;
}

/** A line of the primary's answer. Under load some executions are left out: their number comes before the next life. */
export type LifeLine = Life | { readonly kind: "left-out"; readonly count: number };

export const MAX_SPANS = 24;
export const MAX_UNITS = 32;
export const MAX_WAITS = 8;

/** Milliseconds as whole microseconds. */
export function microseconds(ms: number): number {
  return Math.max(0, Math.round(ms * 1_000));
}

/** The life in a line of log, or of the primary's answer; null: it is something else. Fields that it does not know stay. */
export function lifeIn(value: unknown): Life | null {
  if (!isRecord(value) || value["kind"] !== "life" || value["v"] !== 1) return null;
  const { side, spans, units, waited, because } = value;
  const isLife =
    (side === "location" || side === "primary") &&
    TEXTS.every((name) => typeof value[name] === "string") &&
    NUMBERS.every((name) => typeof value[name] === "number") &&
    TEXTS_OR_NULL.every((name) => value[name] === null || typeof value[name] === "string") &&
    (value["fuel"] === null || typeof value["fuel"] === "number") &&
    (because === null || (isRecord(because) && typeof because["unit"] === "string")) &&
    areRows(spans, MAX_SPANS, ["string", "number", "number"]) &&
    areRows(units, MAX_UNITS, ["string", "string", "text or null"]) &&
    areRows(waited, MAX_WAITS, ["string", "text or null", "number"]);
  return isLife ? (value as unknown as Life) : null;
}

const TEXTS = ["execution", "place", "handler", "module"];
const NUMBERS = ["attempt", "atMs", "tookUs", "unitsLeftOut"];
const TEXTS_OR_NULL = ["trace", "path", "reason", "code", "commit"];

type Column = "string" | "number" | "text or null";

function areRows(value: unknown, most: number, columns: readonly Column[]): boolean {
  if (!Array.isArray(value) || value.length > most) return false;
  return value.every(
    (row: unknown) =>
      Array.isArray(row) &&
      row.length === columns.length &&
      columns.every((column, at) => {
        const cell: unknown = row[at];
        return column === "text or null" ? cell === null || typeof cell === "string" : typeof cell === column;
      }),
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
