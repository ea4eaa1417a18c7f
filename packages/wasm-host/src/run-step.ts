/** A call of a host function by a handler, as it is shown to those who watch a run. */
import type { LogLineLevel, UnitId } from "@radical/protocol";

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
  | { readonly kind: "abort"; readonly status: number; readonly code: string; readonly message: string };
