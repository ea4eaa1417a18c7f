/**
 * The read leases of an isolate. A *session* is all that one server has told this isolate in numbered lines. A *read lease* is
 * the server's promise to the session that a unit keeps its version. It ends when the session has heard its revocation, or at a
 * time.
 *
 * Two things are kept apart. *Lines* say which units are leased. They count in the order of their numbers, and a missing number
 * ends the session. *Time* says whether the leases may be used: a *term*, which each answer of the server begins anew. A term that
 * ends leaves the leases as they are, because the server may still renew them. It ends in one of two ways:
 *
 *   A look finds the clock at its end. The clock of a platform may be set, so a look takes the greatest value that was seen. A
 *   value that lies far behind it shows that the clock was set back.
 *   A timer runs out, whatever the clock says.
 */
import {
  type ListeningQuestion,
  type NumberedLine,
  sameVersion,
  type SenderSession,
  SpanMap,
  spanOf,
} from "@radical/protocol";
import type { Entry, Served, SessionId, UnitId, Version } from "@radical/protocol";
import { LeaseCover } from "./lease-cover.ts";
import type { KnownRows } from "./span-look.ts";

/** A clock that lies so far behind its greatest value was set back. */
export const CLOCK_MARGIN_MS = 250;
/** The clocks of server and isolate may each run 5 % too fast or too slow. */
const RATE = 0.9;

export class ReadLeases {
  #session: SessionId | null = null;
  /** The number of the last line of the session that was processed. */
  #heard = 0;
  /** A session that was given up, and that the server may still keep. */
  #ends: SessionId | null = null;
  #leases = new SpanMap<Version>();
  /** By unit, the reads that leases have answered and that the server was not told of yet. */
  readonly #served = new Map<UnitId, number>();
  /** By the greatest clock value: leases may be used before it. */
  #validUntilMs = -Infinity;
  #greatestMs = -Infinity;
  #setBacks = 0;
  #term = 0;
  readonly #known: KnownRows;

  /** @param known the rows that the isolate's memory has of spans: see `lease-cover.ts` */
  constructor(known: KnownRows) {
    this.#known = known;
  }

  /** Null: the isolate has none. */
  get session(): SessionId | null {
    return this.#session;
  }

  get heard(): number {
    return this.#heard;
  }

  get isHolding(): boolean {
    return this.#leases.size > 0;
  }

  /** The leased units, whether a term lasts or not. */
  get units(): readonly UnitId[] {
    return Array.from(this.#leases, ([unit]) => unit);
  }

  /** An LVI request names the session, and the lines up to which its sender has dropped what they have revoked. */
  get sender(): SenderSession | null {
    return this.#session === null ? null : { id: this.#session, heard: this.#heard, watches: false };
  }

  get question(): Pick<ListeningQuestion, "session" | "heard" | "ends"> {
    return { session: this.#session, heard: this.#heard, ends: this.#ends };
  }

  // ── Lines ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The first line of a stream. Returns whether the stream's numbered lines are those of the session of this isolate. */
  open(session: SessionId, n: number): boolean {
    // The question was asked before the session was given up.
    if (session === this.#ends) return false;
    if (session !== this.#session) {
      // variant: session-before
      this.giveUp();
      this.#session = session;
      this.#heard = n;
      return true;
    }
    if (n > this.#heard) this.giveUp();
    return this.#session !== null;
  }

  /** A server has met this question. So it keeps none of the sessions that the question names, but the one that it has answered. */
  met(question: ListeningQuestion): void {
    if (this.#ends === question.ends || this.#ends === question.session) this.#ends = null;
  }

  /** Returns false if the line has ended the session, because lines before it are missing. */
  take(line: NumberedLine): boolean {
    // It comes again.
    if (line.n <= this.#heard) return true;
    if (line.n > this.#heard + 1) {
      this.giveUp();
      return false;
    }
    this.#heard = line.n;
    switch (line.kind) {
      case "lease":
        for (const { unit, version } of line.units) this.#leases.set(unit, version);
        break;
      case "revoke":
        // The server names each unit that it has leased, the spans around an item too. All else is leased still.
        // variant: revocation-processed
        for (const unit of line.units) this.#leases.delete(unit);
        break;
      case "changed":
        // No unit of it is leased for that.
        break;
    }
    return true;
  }

  /**
   * Ends leases of all that an execution of this isolate is about to change by writing these units. The server need not hear it:
   * see `sender`.
   */
  drop(units: Iterable<UnitId>): void {
    // variant: leases-dropped-overlap
    for (const changed of units) for (const [unit] of this.#leases.overlapping(changed)) this.#leases.delete(unit);
  }

  /** The session is over here, with all its leases. The next question says so to the server. */
  giveUp(): void {
    this.#ends = this.#session ?? this.#ends;
    this.#session = null;
    this.#heard = 0;
    this.#leases = new SpanMap();
    this.#served.clear();
    this.endTerm();
  }

  /** Reads that leases have answered, each once, of so many units: the server weighs leases by them. */
  takeServed(most: number): readonly Served[] {
    const served: Served[] = [];
    for (const [unit, reads] of this.#served) {
      if (served.length === most) break;
      served.push({ unit, reads });
      this.#served.delete(unit);
    }
    return served;
  }

  // ── Time ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** How often the clock was set back, as far as looks and events have shown. */
  get setBacks(): number {
    return this.#setBacks;
  }

  /** A clock that was set back ends the term, since nobody knows how much of it has passed. */
  observe(atMs: number): void {
    if (atMs < this.#greatestMs - CLOCK_MARGIN_MS) {
      this.#greatestMs = atMs;
      this.#setBacks++;
      this.endTerm();
    }
    this.#greatestMs = Math.max(this.#greatestMs, atMs);
  }

  /**
   * The server has promised the leases for `forMs` from when it heard a message that was sent at `sentAtMs`. Returns the term that
   * this begins, with its length from `sentAtMs`. Null: none begins, because nothing is left of it or the present one lasts longer.
   */
  renew(sentAtMs: number, forMs: number): { readonly term: number; readonly ms: number } | null {
    // variant: drift-allowed
    const ms = forMs * RATE - CLOCK_MARGIN_MS;
    if (ms <= 0 || sentAtMs + ms <= this.#validUntilMs) return null;
    // variant: term-from-question
    this.#validUntilMs = sentAtMs + ms;
    return { term: ++this.#term, ms };
  }

  /** Ends a term, or without one named the present one. */
  endTerm(term = this.#term): void {
    if (term === this.#term) this.#validUntilMs = -Infinity;
  }

  /** Whether a lease of the item, or of a range of rows around it, counts at this time. Nothing is noted: see `look`. */
  covers(item: UnitId, atMs: number): boolean {
    if (Math.max(atMs, this.#greatestMs) >= this.#validUntilMs) return false;
    return this.#leases.overlapping(item).some(([unit]) => unit === item || spanOf(unit)?.kind === "rows");
  }

  /**
   * The look: whether all these units are leased at this one instant, in the versions of the snapshot, or are covered by leased
   * spans. The answer of an execution that reads nothing else has its place in the order here.
   */
  look(units: ReadonlySet<UnitId>, snapshot: ReadonlyMap<UnitId, Entry>, atMs: number): boolean {
    this.observe(atMs);
    // variant: term-looked-at
    if (this.#greatestMs >= this.#validUntilMs) return false;
    const covers = new LeaseCover(this.#leases, this.#known);
    const answering: UnitId[] = [];
    for (const unit of units) {
      // variant: unit-looked-at
      const version = this.#leases.get(unit);
      const entry = snapshot.get(unit);
      if (entry === undefined) return false;
      if (version === undefined) {
        const cover = covers.of(unit, entry.version);
        if (cover === null) return false;
        answering.push(...cover);
        continue;
      }
      // variant: lease-version
      if (!sameVersion(unit, version, entry.version)) return false;
      answering.push(unit);
    }
    for (const unit of new Set(answering)) this.#served.set(unit, (this.#served.get(unit) ?? 0) + 1);
    return true;
  }
}
