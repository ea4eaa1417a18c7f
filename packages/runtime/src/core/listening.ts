/**
 * When an isolate listens to the primary, and how it keeps its session. A request that was answered listens for those to come,
 * for as long as the platform lets it live: one *shift*. Hints go into memory. Numbered lines go to the read leases, from one
 * stream at a time: the last one that has begun with a session.
 *
 * The isolate says what it has *heard*. That acknowledges the lines, and asks the server to renew the leases. It goes at once
 * after a revocation, since a writer waits for it. A message also goes each second while leases are held and requests come, or
 * while there are live queries.
 */
import type { HeardReply, Line, ListeningQuestion, SessionId, UnitId } from "@radical/protocol";
import type { CachePut, LocationEffect, LocationEvent, Wake } from "./effects.ts";
import type { ServerIndex } from "./leader.ts";
import type { LiveQueries } from "./live-queries.ts";
import type { PrimaryLink } from "./primary-link.ts";
import { CLOCK_MARGIN_MS } from "./read-leases.ts";

export interface ListeningBounds {
  /** How long one request listens before the next one takes over: less than the server's limit, which is less than the platform's. */
  readonly shiftMs: number;
  /** The wait after a failure. A server that knows no updates is one. */
  readonly pauseMs: number;
  /** The time between messages that only renew. */
  readonly beatMs: number;
  /** Without a request for so long, leases are left to end. */
  readonly idleMs: number;
  /** How long a message of `heard` waits for its answer. */
  readonly heardMs: number;
}

export const DEFAULT_LISTENING_BOUNDS: ListeningBounds = {
  shiftMs: 15_000,
  pauseMs: 5_000,
  beatMs: 1_000,
  idleMs: 10_000,
  heardMs: 5_000,
};

/** A renewal that is so many beats old is missing. */
const LATE = 1.5;
/** Most messages of `heard` under way: the platform bounds the connections of one request. */
const MOST_HEARINGS = 4;
/** Messages of `heard` after which the next request takes over: the platform bounds what one request may send. */
const HEARINGS_OF_SHIFT = 300;
/** Most units in one message. */
const MOST_SERVED = 1_000;

type Of<Kind extends LocationEvent["kind"]> = Extract<LocationEvent, { kind: Kind }>;

/** The stream whose numbered lines count. */
interface Stream {
  readonly shift: number;
  readonly server: ServerIndex;
  isOpen: boolean;
}

/** A message of `heard` on its way, of the present session. */
interface Hearing {
  readonly n: number;
  readonly sentAtMs: number;
  /** How often {@link CLOCK_MARGIN_MS} have passed since, by a timer: the clock may have been set meanwhile. */
  ticks: number;
}

export class Listening {
  readonly #primary: PrimaryLink;
  /** The name under which the isolate listens: the server tells each listener once. */
  readonly #listener: string;
  readonly #live: LiveQueries;
  readonly #bounds: ListeningBounds;
  /** When the next request is to listen. */
  #dueAtMs = -Infinity;
  #shift = 0;
  /** The question of each shift, until its stream ends. */
  readonly #asked = new Map<number, { readonly server: ServerIndex; readonly question: ListeningQuestion }>();
  #stream: Stream | null = null;
  /** When the last request was answered. */
  #askedAtMs = -Infinity;
  readonly #hearings = new Map<number, Hearing>();
  #hearing = 0;
  #heardAtMs = -Infinity;
  #hearingsOfShift = 0;
  /** Numbers of lines: the last one for which somebody waits, that was said to be heard, and of which the server knows that. */
  #owed = -1;
  #owedAtMs = -Infinity;
  #said = -1;
  #known = -1;
  /** The latest shift whose stream has begun. */
  #begun = 0;
  /** How often the clock was set back, as far as was taken into account. */
  #setBacks = 0;
  #provenAtMs = -Infinity;

  constructor(primary: PrimaryLink, listener: string, live: LiveQueries, bounds: ListeningBounds) {
    this.#primary = primary;
    this.#listener = listener;
    this.#live = live;
    this.#bounds = bounds;
  }

  /** At this time the server still had all that it has to tell the session. */
  get provenAtMs(): number {
    return this.#provenAtMs;
  }

  onFree({ location, atMs }: Of<"free">): readonly LocationEffect[] {
    this.#observe(atMs);
    this.#askedAtMs = atMs;
    const isDue = atMs >= this.#dueAtMs;
    // The request that listens also renews, with timers of its own. If no renewal comes, that request has ended.
    const heard = isDue || atMs - this.#heardAtMs >= LATE * this.#bounds.beatMs ? this.#beat(atMs) : [];
    if (!isDue) return heard;
    this.#dueAtMs = atMs + this.#bounds.shiftMs;
    this.#hearingsOfShift = 0;
    const question: ListeningQuestion = { location, listener: this.#listener, ...this.#leases.question };
    const server = this.#primary.leader.believed;
    this.#asked.set(++this.#shift, { server, question });
    return [...heard, { kind: "listen", shift: this.#shift, server, question }];
  }

  onListened({ shift, isOver, atMs }: Of<"listened">): readonly LocationEffect[] {
    this.#observe(atMs);
    this.#asked.delete(shift);
    const hasBegun = shift === this.#begun;
    if (this.#stream?.shift === shift) this.#stream.isOpen = false;
    // Another shift has begun, and has set its own time. A stream that broke is missing lines, for which a writer may wait.
    if (shift === this.#shift) this.#dueAtMs = isOver || hasBegun ? -Infinity : atMs + this.#bounds.pauseMs;
    return [];
  }

  onTold({ shift, lines, held, atMs }: Of<"told">): readonly LocationEffect[] {
    this.#observe(atMs);
    const wanted = new Set(held);
    for (const line of lines) if (line.kind === "lease") for (const { unit } of line.units) wanted.add(unit);
    const effects: LocationEffect[] = [];
    for (const line of lines) effects.push(...this.#onLine(line, shift, wanted, atMs));
    return [...effects, ...this.#hearNow(atMs)];
  }

  #onLine(line: Line, shift: number, wanted: ReadonlySet<UnitId>, atMs: number): readonly LocationEffect[] {
    switch (line.kind) {
      case "hint":
        this.#live.hinted(line.entries, atMs);
        return refreshed(line.entries, wanted);
      case "session":
        this.#begin(line.session, line.n, shift, atMs);
        return [];
      case "lease":
      case "revoke":
      case "changed":
        if (this.#stream?.shift !== shift) return [];
        if (!this.#leases.take(line)) this.#lose();
        else if (line.kind === "revoke") [this.#owed, this.#owedAtMs] = [this.#leases.heard, atMs];
        else if (line.kind === "changed") this.#live.changed(line.units, atMs);
        return [];
    }
  }

  /** From here on the lines of this stream count, and no other's. */
  #begin(session: SessionId, n: number, shift: number, atMs: number): void {
    const asked = this.#asked.get(shift);
    if (asked === undefined || shift <= this.#begun) return;
    this.#begun = shift;
    const before = this.#leases.session;
    this.#stream = { shift, server: asked.server, isOpen: true };
    if (!this.#leases.open(session, n)) return this.#lose();
    this.#leases.met(asked.question);
    // It was asked before the earlier session was given up, whose writers wait.
    if (this.#leases.question.ends !== null) this.#dueAtMs = -Infinity;
    // The first answer tells the server how far away the isolate is, and begins the term of the leases to come.
    if (session !== before) {
      this.#restart(n);
      this.#owedAtMs = atMs;
      // A server that does not lead answers questions too. Only one that leads answers `heard`.
      this.#provenAtMs = -Infinity;
    }
  }

  /** There is no session any more: the next request asks for one. */
  #lose(): void {
    this.#leases.giveUp();
    this.#stream = null;
    this.#restart(-1);
    this.#dueAtMs = -Infinity;
  }

  /** An answer about an earlier session says nothing of this one. */
  #restart(owed: number): void {
    [this.#owed, this.#said, this.#known] = [owed, -1, -1];
    this.#hearings.clear();
  }

  onHeard({ hearing, reply, atMs }: Of<"heard">): readonly LocationEffect[] {
    this.#observe(atMs);
    const sent = this.#hearings.get(hearing);
    this.#hearings.delete(hearing);
    if (sent === undefined) return [];
    const effects = reply === null ? [] : this.#onHeardReply(sent, reply);
    // A line that came while too many messages were under way.
    return [...effects, ...this.#hearNow(atMs)];
  }

  #onHeardReply({ n, sentAtMs, ticks }: Hearing, reply: HeardReply): readonly LocationEffect[] {
    if (reply.kind === "lapsed") {
      this.#lose();
      return [];
    }
    this.#known = Math.max(this.#known, n);
    this.#provenAtMs = Math.max(this.#provenAtMs, sentAtMs);
    const begun = this.#leases.renew(sentAtMs, reply.untilMs - reply.nowMs);
    if (begun === null) return [];
    // Less than these ticks and one more have passed since it was sent, by timers alone.
    // variant: timer-from-question
    const ms = begun.ms - (ticks + 1) * CLOCK_MARGIN_MS;
    if (ms > 0) return [{ kind: "wake", ms, why: { kind: "term", term: begun.term } }];
    this.#leases.endTerm(begun.term);
    return [];
  }

  onWoken({ why, atMs }: Of<"woken">): readonly LocationEffect[] {
    this.#observe(atMs);
    switch (why.kind) {
      case "term":
        this.#leases.endTerm(why.term);
        return [];
      case "tick": {
        const hearing = this.#hearings.get(why.hearing);
        if (hearing === undefined) return [];
        hearing.ticks++;
        return [wake(why)];
      }
      case "beat":
        // A later message has a beat of its own.
        return why.hearing === this.#hearing ? this.#beat(atMs) : [];
    }
  }

  get #leases(): PrimaryLink["leases"] {
    return this.#primary.leases;
  }

  /**
   * With another clock nothing that is on its way can be counted, and nothing that was planned. The look of an execution may have
   * seen first that the clock was set back.
   */
  #observe(atMs: number): void {
    this.#leases.observe(atMs);
    if (this.#leases.setBacks === this.#setBacks) return;
    this.#setBacks = this.#leases.setBacks;
    this.#hearings.clear();
    this.#provenAtMs = -Infinity;
    this.#heardAtMs = -Infinity;
    this.#askedAtMs = atMs;
    this.#dueAtMs = -Infinity;
  }

  /** After a line for which somebody waits. One message is for all that have come. */
  #hearNow(atMs: number): readonly LocationEffect[] {
    return this.#owed > this.#said ? this.#hear(atMs) : [];
  }

  /** Also again what the server does not know of after a second. */
  #beat(atMs: number): readonly LocationEffect[] {
    const isHolding = this.#leases.isHolding && atMs - this.#askedAtMs < this.#bounds.idleMs;
    const isWanted = (isHolding || this.#live.isUsed) && this.#stream?.isOpen === true;
    // A server that is gone never knows of it, and its leases are over by then.
    const isOwed = this.#owed > this.#known && atMs - this.#owedAtMs < this.#bounds.idleMs;
    return isWanted || isOwed ? this.#hear(atMs) : [];
  }

  #hear(atMs: number): readonly LocationEffect[] {
    const { session, heard: n } = this.#leases;
    if (session === null || this.#stream === null) return [];
    // Those of requests that were cut off.
    for (const [hearing, { sentAtMs }] of this.#hearings)
      if (atMs - sentAtMs > this.#bounds.heardMs) this.#hearings.delete(hearing);
    // The next answer lets it go.
    if (this.#hearings.size >= MOST_HEARINGS) return [];
    this.#said = n;
    this.#heardAtMs = atMs;
    if (++this.#hearingsOfShift >= HEARINGS_OF_SHIFT) this.#dueAtMs = -Infinity;
    const hearing = ++this.#hearing;
    this.#hearings.set(hearing, { n, sentAtMs: atMs, ticks: 0 });
    const heard = { session, n, served: this.#leases.takeServed(MOST_SERVED) };
    return [
      { kind: "hear", hearing, server: this.#stream.server, heard, timeoutMs: this.#bounds.heardMs },
      wake({ kind: "tick", hearing }),
      { kind: "wake", ms: this.#bounds.beatMs, why: { kind: "beat", hearing } },
    ];
  }
}

function wake(why: Extract<Wake, { kind: "tick" }>): LocationEffect {
  return { kind: "wake", ms: CLOCK_MARGIN_MS, why };
}

/** Memory takes a line with a unit that it holds, or that is leased with it. A request that reads that unit asks for the rest. */
function refreshed(entries: readonly CachePut[], wanted: ReadonlySet<UnitId>): readonly LocationEffect[] {
  return entries.some(({ unit }) => wanted.has(unit)) ? [{ kind: "refresh", entries }] : [];
}
