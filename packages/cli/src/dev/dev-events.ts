/** What `radical dev` tells: with --json each of these is one line, otherwise a sentence. */
import type { Diagnostic } from "@radical/analyzer";
import type { DashboardTime, HandlerPlan } from "@radical/protocol";
import type { LogLine } from "@radical/runtime";
import type { LeftOutFile, Location } from "@radical/app";
import type { ToldBindings } from "@radical/local";
import type { FrontAnswer } from "./front-server.ts";
import type { DevFaults } from "./service-faults.ts";

export type RequestLine = Extract<LogLine, { readonly event: "request" }>;
export type HandlerLine = Extract<LogLine, { readonly event: "handler_log" }>;
type LifeLine = Extract<LogLine, { readonly event: "life" }>;
export type LocationWarning = Exclude<LogLine, RequestLine | HandlerLine | LifeLine>;

export type DevEvent =
  | { readonly event: "building"; readonly changed: readonly string[] }
  /** All that is said of the handlers, before there is a module. */
  | {
      readonly event: "analyzed";
      /** By handler. */
      readonly plans: Readonly<Record<string, HandlerPlan>>;
      readonly ms: number;
      readonly diagnostics: readonly Diagnostic[];
      /** As text with code frames, those that the build before did not have. */
      readonly frames: readonly string[];
    }
  | {
      readonly event: "built";
      readonly module: string;
      /** By handler. */
      readonly plans: Readonly<Record<string, HandlerPlan>>;
      readonly ms: number;
      readonly diagnostics: readonly Diagnostic[];
      /** Those that neither the analysis nor the build before had, as text with code frames. */
      readonly frames: readonly string[];
    }
  | {
      readonly event: "build_failed";
      readonly errors: number;
      /** Whether an earlier build goes on serving. */
      readonly serving: boolean;
      readonly diagnostics: readonly Diagnostic[];
      /** The diagnostics as text with code frames. */
      readonly frames: readonly string[];
    }
  /** Files in the static folder that are not served, without those that the build before left out too. */
  | { readonly event: "static_files_left_out"; readonly files: readonly LeftOutFile[] }
  /** The build that was made last serves when its indexes are built. */
  | { readonly event: "index_building"; readonly words: string }
  /** The build that was made last serves from now on. */
  | { readonly event: "serving"; readonly module: string; readonly ms: number }
  | { readonly event: "failed"; readonly code: string; readonly message: string; readonly hint: string }
  | {
      readonly event: "server_started";
      readonly pid: number | undefined;
      readonly port: number;
      readonly restarted: boolean;
    }
  | {
      readonly event: "server_died";
      readonly code: number | null;
      readonly signal: string | null;
      readonly stderr: string;
    }
  | { readonly event: "server_log"; readonly line: Readonly<Record<string, unknown>> }
  | { readonly event: "reaped"; readonly pids: readonly number[] }
  /** With --reset: what was deleted, relative to the project. */
  | { readonly event: "reset"; readonly deleted: readonly string[] }
  /** There was no data, so the items of this file were written. */
  | { readonly event: "seeded"; readonly file: string; readonly items: number }
  | { readonly event: "port_taken"; readonly wanted: number; readonly port: number }
  /** The first build has errors: every request is answered with them until there is a good one. */
  | { readonly event: "waiting_for_build"; readonly url: string }
  | ({ readonly event: "faults" } & DevFaults)
  /** By how much the time of tasks and handlers is ahead of this machine's: at the start, if it is, and whenever it is moved. */
  | ({ readonly event: "time" } & DashboardTime)
  | { readonly event: "caches_wiped"; readonly locations: readonly string[] }
  /** A file that is read at the start alone. */
  | { readonly event: "config_changed"; readonly file: string }
  /** The application has a wrangler configuration: what there is of it. `url`: where requests go. */
  | ({ readonly event: "bindings"; readonly url: string } & ToldBindings)
  | {
      readonly event: "ready";
      readonly url: string;
      /** The address of the dashboard; null: with another host than this machine's there is none. */
      readonly dashboard: string | null;
      readonly locations: readonly Location[];
      readonly handlers: readonly string[];
    }
  /** An answer of the application's Worker to something else than a call, or a static file. Its location tells calls. */
  | ({ readonly event: "answered" } & FrontAnswer & { readonly location: string })
  /** `centralMs`, with --central: how long the same caller would have waited for a server beside the primary, about. */
  | (RequestLine & { readonly centralMs?: number })
  /** Of a run at a location, or at the primary. */
  | HandlerLine
  | LocationWarning
  /** A line that a Worker wrote and that is none of the above. */
  | { readonly event: "worker_log"; readonly level: string; readonly message: string };
