/** The reports of a location: one line per request, the lines that handlers log, and warnings for the operator. */
import type { Life, LogLineLevel } from "@radical/protocol";
import type { ExecutionPath, PathReason, Verdict, WarningCode } from "./core/effects.ts";

export type LogLine =
  | {
      readonly level: "info";
      readonly event: "request";
      readonly location: string;
      /** Null if the request named none. */
      readonly handler: string | null;
      readonly execution: string | null;
      /** The trace that the request belongs to, by its header `traceparent`. */
      readonly trace: string | null;
      readonly status: number;
      readonly path: ExecutionPath | null;
      /** Why the execution took its path; null if it did not come to an outcome. */
      readonly reason: PathReason | null;
      /** On the result that its client was shown before the answer; null: none was shown. */
      readonly verdict: Verdict | null;
      /** Code of the error, null for a result. */
      readonly code: string | null;
      /** Milliseconds by phase: rw, cache, lvi, f, total. */
      readonly ms: Readonly<Record<string, number>>;
      /** Of the last run of the handler at the location; null if there was none. */
      readonly fuel: number | null;
    }
  /** Where the time of one execution went. Nobody reads it by line: `radical dev` shows it. */
  | { readonly level: "debug"; readonly event: "life"; readonly life: Life }
  /** A line that the handler has logged, in the run that was confirmed. docs/http.md shows it. */
  | {
      readonly level: LogLineLevel;
      readonly event: "handler_log";
      readonly location: string;
      readonly handler: string;
      readonly execution: string;
      /** Its place among the lines of the execution, from 1, and how many these are. */
      readonly line: number;
      readonly lines: number;
      readonly message: string;
    }
  | {
      readonly level: "warn" | "error";
      readonly event:
        | WarningCode
        | "cache_failed"
        | "internal_error"
        | "blobs_open"
        | "blobs_not_collected"
        | "limit_failed"
        | "service_failed"
        | "spans_not_taken";
      readonly location: string;
      readonly handler: string | null;
      readonly execution: string | null;
      readonly message: string;
    };

export type Log = (line: LogLine) => void;

export const consoleLog: Log = (line) => {
  console.log(JSON.stringify(line));
};
