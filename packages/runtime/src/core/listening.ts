/**
 * When an isolate listens to what others have written of the units that it has read, and what of that its memory takes.
 * A request that was answered listens for those to come, for as long as the platform lets it live. Nobody waits for it, and
 * nothing depends on it: every version that a location uses is validated.
 */
import type { ListeningQuestion } from "@radical/protocol";
import type { LocationEffect, LocationEvent } from "./effects.ts";
import type { PrimaryLink } from "./primary-link.ts";

/** How long one request listens before the next one takes over: less than the server's limit, which is less than the platform's. */
const SHIFT_MS = 15_000;
/** The same of a request that lasts. The server ends its answer before. */
const LASTING_SHIFT_MS = 30_000;
/** The wait after a failure. A server that knows no updates is one. */
const PAUSE_MS = 5_000;
/** The same for a request that lasts: a live query depends on it. */
const LASTING_PAUSE_MS = 500;

type Of<Kind extends LocationEvent["kind"]> = Extract<LocationEvent, { kind: Kind }>;

export class Listening {
  readonly #primary: PrimaryLink;
  /** The name under which the isolate listens: the server tells each listener once. */
  readonly #listener: string;
  /** When the next request is to listen. */
  #dueAtMs = -Infinity;
  #shift = 0;
  #pauseMs = PAUSE_MS;

  constructor(primary: PrimaryLink, listener: string) {
    this.#primary = primary;
    this.#listener = listener;
  }

  onFree({ location, isLasting, atMs }: Of<"free">): readonly LocationEffect[] {
    if (atMs < this.#dueAtMs) return [];
    this.#dueAtMs = atMs + (isLasting ? LASTING_SHIFT_MS : SHIFT_MS);
    this.#pauseMs = isLasting ? LASTING_PAUSE_MS : PAUSE_MS;
    const question: ListeningQuestion = {
      location,
      listener: this.#listener,
      session: undefined,
      heard: 0,
      ends: null,
    };
    return [{ kind: "listen", shift: ++this.#shift, server: this.#primary.leader.believed, question }];
  }

  onListened({ shift, isOver, atMs }: Of<"listened">): readonly LocationEffect[] {
    // Another shift has begun, and has set its own time.
    if (shift === this.#shift) this.#dueAtMs = isOver ? -Infinity : atMs + this.#pauseMs;
    return [];
  }

  /** Memory takes what others have written only with a unit that it holds: a request that reads that unit asks for the rest. */
  onTold({ updates, held }: Of<"told">): readonly LocationEffect[] {
    return held.length === 0 ? [] : [{ kind: "refresh", entries: updates }];
  }
}
