/** What `radical dev` tells: with --json each of these is one line, otherwise a sentence. */
import type { Diagnostic } from "@radical/analyzer";
import type { HandlerPlan } from "@radical/protocol";
import type { LogLine } from "@radical/runtime";

export type RequestLine = Extract<LogLine, { readonly event: "request" }>;
export type LocationWarning = Exclude<LogLine, { readonly event: "request" }>;

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
  | { readonly event: "config_changed" }
  | {
      readonly event: "ready";
      readonly url: string;
      readonly locations: readonly { readonly name: string; readonly roundTripMs: number }[];
      readonly handlers: readonly string[];
    }
  | RequestLine
  | LocationWarning
  /** A line that a Worker wrote and that is none of the above. */
  | { readonly event: "worker_log"; readonly level: string; readonly message: string };
