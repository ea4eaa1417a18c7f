/**
 * Goes through a table in the order of its keys, and stores each item as the classes of the present build do. All that is done
 * stays done if it ends before. It may begin anew, or where it was: an item that is rewritten already stays as it is.
 */
import { batchesOf, MAX_BATCH } from "./data-module.ts";

export interface StoredKey {
  readonly key: string;
  /** The size of the value. */
  readonly bytes: number;
}

export interface RewritingPorts {
  /** The first keys that are not before `from`. */
  keys(from: string, most: number): Promise<readonly StoredKey[]>;
  /** One execution. How many of the items have changed; a text says why none could be. */
  rewrite(keys: readonly string[]): Promise<number | string>;
  /** An item that does not fit the classes, and the words of the trap. */
  misfit(key: string, words: string): void;
  /** Called after each page. */
  progress(progress: RewritingProgress): Promise<void>;
}

export interface RewritingProgress {
  /** How many items were read. */
  readonly read: number;
  /** How many of them were stored anew, or would be. */
  readonly rewritten: number;
  /** How many did not fit, and are as they were. */
  readonly misfits: number;
  /** The last key that was read: a rewriting that begins with it goes on. Null: none was. */
  readonly last: string | null;
  readonly isDone: boolean;
}

/** Ends behind the page under way when it is told to. */
export async function rewriteItems(
  ports: RewritingPorts,
  from: string,
  signal: AbortSignal,
): Promise<RewritingProgress> {
  let done: RewritingProgress = { read: 0, rewritten: 0, misfits: 0, last: null, isDone: false };
  while (!done.isDone && !signal.aborted) {
    let { read, rewritten, misfits, last } = done;
    // Behind the last key.
    const page = await ports.keys(last === null ? from : `${last}\0`, MAX_BATCH);
    for (const batch of batchesOf(page, ({ bytes }) => bytes)) {
      // The halves of what fails: an item that does not fit stops nothing but itself.
      for (let left = [batch.map(({ key }) => key)]; left.length > 0;) {
        const [keys, ...others] = left as [string[], ...string[][]];
        const ended = await ports.rewrite(keys);
        left = others;
        if (typeof ended === "number") rewritten += ended;
        else if (keys.length === 1) {
          misfits++;
          ports.misfit(keys[0]!, ended);
        } else left.unshift(keys.slice(0, keys.length >> 1), keys.slice(keys.length >> 1));
      }
    }
    read += page.length;
    last = page.at(-1)?.key ?? last;
    done = { read, rewritten, misfits, last, isDone: page.length < MAX_BATCH };
    await ports.progress(done);
  }
  return done;
}

/** How long to wait so that no more than `rate` items a second are read. */
export function pauseMs(read: number, rate: number, elapsedMs: number): number {
  return Math.max(0, (read / rate) * 1000 - elapsedMs);
}
