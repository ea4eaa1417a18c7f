/**
 * The location's side of updates: while an isolate is in use it listens to what others have written of the units that it has
 * read, so that its memory has them before somebody asks for them. A request that was answered listens for those to come,
 * for as long as the platform lets it live; nobody waits for it, and nothing depends on it.
 */
import { type Entry, isCommitId, isContentHash, isIntact, type UnitId, type UpdateLine } from "@radical/protocol";
import { fromBase64 } from "./base64.ts";
import type { MemoryCache } from "./cache/memory-cache.ts";
import type { CachePut } from "./core/effects.ts";
import type { Leader } from "./core/leader.ts";
import type { Primary } from "./lvi/primary.ts";

/** How long one request listens before the next one takes over: less than the server's limit, which is less than the platform's. */
const SHIFT_MS = 15_000;
/** After a failure; a server that knows no updates is one. */
const PAUSE_MS = 5_000;

export interface UpdatesOptions {
  readonly primary: Pick<Primary, "listen">;
  readonly leader: Leader;
  readonly memory: MemoryCache;
  readonly now: () => number;
}

/** Of an isolate. */
export class Updates {
  readonly #options: UpdatesOptions;
  readonly #listener = crypto.randomUUID();
  /** When the next request is to listen. */
  #dueAtMs = -Infinity;
  #shift = 0;

  constructor(options: UpdatesOptions) {
    this.#options = options;
  }

  /** Settles when it listens no more, at once if another request does; never rejects. */
  async listen(location: string): Promise<void> {
    const { primary, leader, memory, now } = this.#options;
    if (now() < this.#dueAtMs) return;
    this.#dueAtMs = now() + SHIFT_MS;
    const shift = ++this.#shift;
    const server = leader.next(new Set()) ?? 0;
    const isOver = await primary.listen(server, { location, listener: this.#listener }, (line) =>
      memory.refresh(entriesOf(line)),
    );
    // Another shift has begun, and has set its own time.
    if (shift === this.#shift) this.#dueAtMs = isOver ? -Infinity : now() + PAUSE_MS;
  }
}

/** What of a line is whole. */
export function entriesOf(line: string): readonly CachePut[] {
  let updates: unknown;
  try {
    updates = JSON.parse(line);
  } catch {
    return [];
  }
  if (!Array.isArray(updates)) return [];
  return (updates as UpdateLine).flatMap((update) => {
    const put = Array.isArray(update) ? putOf(update) : null;
    return put === null ? [] : [put];
  });
}

function putOf([unit, commitId, hash, text]: readonly unknown[]): CachePut | null {
  if (typeof unit !== "string" || typeof commitId !== "string" || !isCommitId(commitId)) return null;
  if (hash === null && text === null)
    return { unit: unit as UnitId, entry: { version: { commitId, hash }, value: null } };
  if (typeof hash !== "string" || !isContentHash(hash) || typeof text !== "string") return null;
  const value = fromBase64(text);
  const entry: Entry | null = value === null ? null : { version: { commitId, hash }, value };
  return entry !== null && isIntact(entry) ? { unit: unit as UnitId, entry } : null;
}
