/** A call of a host function by a handler, as it is shown to those who watch a run. */
import type { LogLineLevel, RunEffect, Settled, UnitId, Wait, WorkflowCommand } from "@radical/protocol";

export type RunStep =
  /** Null: the item is absent. `isOwn`: the run has written it before. */
  | { readonly kind: "get"; readonly unit: UnitId; readonly value: Uint8Array | null; readonly isOwn: boolean }
  | { readonly kind: "has"; readonly unit: UnitId; readonly isThere: boolean; readonly isOwn: boolean }
  /** The unit is the span of the range that was asked for. */
  | { readonly kind: "scan"; readonly unit: UnitId; readonly keys: readonly string[] }
  | { readonly kind: "count"; readonly unit: UnitId; readonly count: number }
  /** Null: the item is deleted. */
  | { readonly kind: "write"; readonly unit: UnitId; readonly value: Uint8Array | null }
  | { readonly kind: "caller"; readonly caller: string | null }
  | { readonly kind: "now"; readonly timeMs: number }
  /** `site`: the place in the source. */
  | { readonly kind: "draw"; readonly site: string; readonly drawn: string }
  | { readonly kind: "log"; readonly level: LogLineLevel; readonly text: string }
  /** Of a handler. */
  | { readonly kind: "effect"; readonly ordinal: number; readonly effect: RunEffect }
  /** Of a workflow. `place`: in the source; empty: not known. */
  | { readonly kind: "command"; readonly number: number; readonly command: WorkflowCommand; readonly place: string }
  /** The run has come to a wait that is not over by what has arrived so far. */
  | { readonly kind: "wait"; readonly wait: Wait }
  /** The run reads the result of a command. */
  | { readonly kind: "settled"; readonly command: number; readonly settled: Settled }
  | { readonly kind: "abort"; readonly status: number; readonly code: string; readonly message: string };
