/**
 * When an isolate listens to what others have written of the units that it has read, and what of that its memory takes.
 * A request that was answered listens for those to come, for as long as the platform lets it live. Nobody waits for it, and
 * nothing depends on it: every version that a location uses is validated.
 */
import type { ListeningQuestion } from "@radical/protocol";
import type { LocationEffect, LocationEvent } from "./effects.ts";
import type { PrimaryLink } from "./primary-link.ts";

export interface ListeningBounds {
  /** How long one request listens before the next one takes over: less than the server's limit, which is less than the platform's. */
  readonly shiftMs: number;
  /** The wait after a failure. A server that knows no updates is one. */
  readonly pauseMs: number;
}

export const DEFAULT_LISTENING_BOUNDS: ListeningBounds = { shiftMs: 15_000, pauseMs: 5_000 };

type Of<Kind extends LocationEvent["kind"]> = Extract<LocationEvent, { kind: Kind }>;

export class Listening {
  readonly #primary: PrimaryLink;
  /** The name under which the isolate listens: the server tells each listener once. */
  readonly #listener: string;
  readonly #bounds: ListeningBounds;
  /** When the next request is to listen. */
  #dueAtMs = -Infinity;
  #shift = 0;

  constructor(primary: PrimaryLink, listener: string, bounds: ListeningBounds) {
    this.#primary = primary;
    this.#listener = listener;
    this.#bounds = bounds;
  }

  onFree({ location, atMs }: Of<"free">): readonly LocationEffect[] {
    if (atMs < this.#dueAtMs) return [];
    this.#dueAtMs = atMs + this.#bounds.shiftMs;
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
    if (shift === this.#shift) this.#dueAtMs = isOver ? -Infinity : atMs + this.#bounds.pauseMs;
    return [];
  }

  /** Memory takes what others have written only with a unit that it holds: a request that reads that unit asks for the rest. */
  onTold({ updates, held }: Of<"told">): readonly LocationEffect[] {
    return held.length === 0 ? [] : [{ kind: "refresh", entries: updates }];
  }
}
