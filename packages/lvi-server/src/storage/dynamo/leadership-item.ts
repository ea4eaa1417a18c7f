/** The leadership in the table `meta`, and the fences that are rewritten with it. */
import type { Leadership } from "../../core/leadership.ts";
import { number } from "./attributes.ts";
import type { Item } from "./limits.ts";

/** Null: no server has led yet. */
export function leadershipOf(item: Item | null): Leadership {
  if (item === null) return { epoch: 0, beat: 0, termMs: 0, readLeaseMs: 0 };
  const leader = item["leader"]?.S;
  const setBackEpoch = item["set_back_epoch"]?.N;
  return {
    epoch: number(item, "epoch"),
    beat: number(item, "beat"),
    termMs: number(item, "term_ms"),
    // A server of an earlier version gives none.
    readLeaseMs: Number(item["read_lease_ms"]?.N ?? 0),
    ...(leader === undefined ? {} : { leader }),
    ...(setBackEpoch === undefined ? {} : { setBackEpoch: Number(setBackEpoch) }),
  };
}

/** Of a leadership that no server holds. */
export function leadershipAttributes({ epoch, beat, termMs, readLeaseMs, setBackEpoch }: Leadership): Item {
  return {
    epoch: { N: String(epoch) },
    beat: { N: String(beat) },
    term_ms: { N: String(termMs) },
    read_lease_ms: { N: String(readLeaseMs) },
    ...(setBackEpoch === undefined ? {} : { set_back_epoch: { N: String(setBackEpoch) } }),
  };
}

export function fenceKey(name: string): Record<"kind" | "name", { S: string }> {
  return { kind: { S: "fence" }, name: { S: name } };
}
