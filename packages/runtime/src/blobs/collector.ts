/**
 * Removes the bytes that nobody has named for long. The primary says which: in the execution that says it, the hash ceases to be
 * one that executions can name. Only then the bytes go, and only then the primary forgets the hash.
 */
import type { AskBlobs } from "./ask.ts";
import type { BlobStore } from "./blob-store.ts";

export interface Collecting {
  readonly ask: AskBlobs;
  readonly store: BlobStore;
  /** For how long bytes that nobody names are kept. */
  readonly keepMs: number;
  readonly nowMs: () => number;
  /** Where in the order of hashes it begins: from 0 to 1. All of them have their turn, even if time is short. */
  readonly start: number;
}

/** Hashes of one execution. */
const PAGE = 20;
/** How long a collection may take: a scheduled Worker has 15 minutes. */
const MOST_MS = 10 * 60_000;
/** How soon after the primary's word the bytes are removed, or not at all: `REMOVAL_MS` of the SDK's `blobs.ts` is an hour. */
const REMOVAL_MS = 60_000;

/** Gives how many hashes are gone. */
export async function collectBlobs({ ask, store, keepMs, nowMs, start }: Collecting): Promise<number> {
  const beganMs = nowMs();
  const first = Math.floor(start * 0x10000)
    .toString(16)
    .padStart(4, "0");
  let gone = 0;
  for (const [from, end] of [
    [first, null],
    ["", first],
  ] as const) {
    for (let at = from; ;) {
      if (nowMs() - beganMs > MOST_MS) return gone;
      const askedMs = nowMs();
      const [last = "", token = "", ...hashes] = await ask("blobs.sweep", [at, PAGE, keepMs]);
      if (hashes.length > 0) {
        // A later collection takes them up.
        if (nowMs() - askedMs > REMOVAL_MS) return gone;
        await store.remove(hashes);
        await ask("blobs.swept", [token, ...hashes]);
        gone += hashes.length;
      }
      if (last === "" || (end !== null && last >= end)) break;
      at = `${last}\0`;
    }
  }
  return gone;
}
