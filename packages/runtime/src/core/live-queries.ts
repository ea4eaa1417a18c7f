/**
 * The live queries of an isolate. A *live query* is a handler that only reads, with its arguments and its caller. Its
 * *subscribers* are requests that hear of its outcome as long as they live. Each outcome is that of one ordinary execution, which
 * began after the outcome before it was computed. So a subscriber hears of states in real-time order, and of each state whole.
 *
 * A query runs again when a unit that its last run read has changed. The primary promises to tell of that: the units are *watched*
 * from the moment that validated the run. The promise belongs to a session. When the session is over, a query is *uncovered*: it
 * runs at once, then from time to time, until a run is watched again.
 *
 * The machine keeps no list of events. It compares the state that a subscriber was sent last with the newest one, whenever the
 * subscriber can take more. So a client that reads slowly hears of fewer states, and costs no memory.
 *
 * The clock of a platform may be set back. Times here are the machine's own. They pass as those of the clock do, and never go back.
 */
import { type SessionId, SpanMap, type UnitId } from "@radical/protocol";

/** Names one request that hears of a query. */
export type SubscriberId = number;

/** The answer to a GET. */
export interface LiveReply {
  /** Of HTTP. */
  readonly status: number;
  readonly body: string;
}

/** A message to a subscriber. */
export type LiveMessage =
  /** The outcome, as a GET answers it. The id is its digest. */
  | ({ readonly kind: "state"; readonly id: string } & LiveReply)
  /** The query can't be answered. The stream ends with it. */
  | ({ readonly kind: "error" } & LiveReply)
  /** The location is cut off: the last state may be an old one. */
  | { readonly kind: "stale" }
  /** The connection lives. */
  | { readonly kind: "alive" };

/** The end of a run. */
export type LiveRun =
  | {
      readonly kind: "outcome";
      readonly id: string;
      readonly reply: LiveReply;
      /** The units that it has read, as far as they are known here. */
      readonly units: Iterable<UnitId>;
      /** Whether these are all. */
      readonly isWhole: boolean;
      /** The session that hears when one of them changes; null: nobody promises that. */
      readonly session: SessionId | null;
    }
  | { readonly kind: "failed"; readonly reply: LiveReply; readonly isFinal: boolean };

export type LiveEvent =
  | {
      readonly kind: "subscribed";
      readonly subscriber: SubscriberId;
      /** Handler, arguments and caller, in one text. */
      readonly query: string;
      /** The id of the last state that its client knows. */
      readonly known: string | null;
      /** In [0, 1). */
      readonly random: number;
      readonly atMs: number;
    }
  | { readonly kind: "unsubscribed"; readonly subscriber: SubscriberId; readonly atMs: number }
  /** `spent`: the subrequests that the subscriber's request has made. */
  | {
      readonly kind: "ran";
      readonly subscriber: SubscriberId;
      readonly number: number;
      readonly run: LiveRun;
      readonly spent: number;
      readonly atMs: number;
    }
  /** The message that was sent last has left: the client reads. */
  | { readonly kind: "written"; readonly subscriber: SubscriberId; readonly atMs: number }
  /** A time is over that the machine waited for. `dueAtMs` is that of the effect. */
  | {
      readonly kind: "ticked";
      readonly subscriber: SubscriberId;
      readonly dueAtMs: number;
      readonly spent: number;
      readonly atMs: number;
    }
  /** Its stream has to end: its caller is nobody any more, or another build serves. */
  | {
      readonly kind: "retired";
      readonly subscriber: SubscriberId;
      /** Null: there is nothing to say. */
      readonly reply: LiveReply | null;
      readonly atMs: number;
    };

/** How a run of a query is executed. */
export interface RunManner {
  /** Read leases may answer, which nobody tells when they change. */
  readonly takesLeases: boolean;
  /** The primary is to tell of the next change of what it reads. */
  readonly watches: boolean;
}

/** Each effect is carried out in the request of its subscriber. */
export type LiveEffect =
  /** Execute the query. */
  | {
      readonly kind: "run-query";
      readonly subscriber: SubscriberId;
      readonly number: number;
      readonly manner: RunManner;
    }
  | { readonly kind: "send-event"; readonly subscriber: SubscriberId; readonly message: LiveMessage }
  /** Find out whether the caller is still the one that it was. */
  | { readonly kind: "check-caller"; readonly subscriber: SubscriberId }
  /** Tick after `waitMs`. `dueAtMs` names the tick: it is a time of the machine, not of the clock. */
  | {
      readonly kind: "tick";
      readonly subscriber: SubscriberId;
      readonly dueAtMs: number;
      readonly waitMs: number;
    }
  /**
   * The stream ends, and the client is to ask again after a time. `isCut`: it reads nothing, so nothing is written any more.
   * The machine has forgotten the subscriber.
   */
  | {
      readonly kind: "end-stream";
      readonly subscriber: SubscriberId;
      readonly message: LiveMessage | null;
      readonly retryMs: number;
      readonly isCut: boolean;
    }
  /** Too many subscribers, or queries: the stream does not begin. */
  | { readonly kind: "refuse-stream"; readonly subscriber: SubscriberId };

export interface LiveBounds {
  readonly subscribers: number;
  readonly queries: number;
  /**
   * Most units that are watched for the queries of the isolate. A query that reads more is polled. The server watches twice as many
   * for a session, so there is room for those that no query reads any more.
   */
  readonly watched: number;
  /** From the beginning of a run to the beginning of the next one, at least. */
  readonly spacingMs: number;
  /** A session counts as long as its last proof of life is not older. */
  readonly proofMs: number;
  /** From the beginning of a run to the next one, as long as nobody promises to tell of changes. */
  readonly pollMs: number;
  /** The wait after a run without an outcome. It doubles with each further one, up to the longest. */
  readonly backoffMs: number;
  readonly longestBackoffMs: number;
  /** An uncovered query counts as stale when it has had no outcome for so long. */
  readonly staleMs: number;
  /** A run that has not ended by then is not waited for: its request may be gone. */
  readonly runMs: number;
  /** Most time of a stream. */
  readonly lifeMs: number;
  /** How often the caller of a stream is checked anew, besides when its client comes back. */
  readonly callerMs: number;
  /** Most subrequests of a request; the platform has a limit of its own. */
  readonly spent: number;
  /** A client that takes nothing for so long is cut off. */
  readonly writeMs: number;
  /** A subscriber whose tick is late for so long is gone: the platform has ended its request. */
  readonly silentMs: number;
  readonly heartbeatMs: number;
  readonly tickMs: number;
}

export const DEFAULT_LIVE_BOUNDS: LiveBounds = {
  subscribers: 2_000,
  queries: 500,
  watched: 8_192,
  spacingMs: 100,
  proofMs: 3_000,
  pollMs: 1_000,
  backoffMs: 250,
  longestBackoffMs: 4_000,
  staleMs: 3_000,
  runMs: 30_000,
  lifeMs: 300_000,
  callerMs: 30_000,
  spent: 500,
  writeMs: 30_000,
  silentMs: 30_000,
  heartbeatMs: 15_000,
  tickMs: 1_000,
};

/** The part of its life that a stream may end earlier, so that many that began together do not end together. */
const LIFE_JITTER = 0.2;
/** After which a client comes back: at least and at most. */
const RETRY_MS = [100, 1_000] as const;
/** After an error that ends a stream, likewise. */
const ERROR_RETRY_MS = [5_000, 10_000] as const;

interface Subscriber {
  readonly id: SubscriberId;
  readonly query: Query;
  readonly random: number;
  readonly endsAtMs: number;
  /** States of later runs are new to it: they began after it had asked. */
  readonly after: number;
  /** The state that it was sent last; null: none. */
  sent: string | null;
  /** It was told that this state may be an old one. */
  isToldStale: boolean;
  /** Since when a message is on its way to the client. */
  writingSinceMs: number | null;
  writtenAtMs: number;
  callerCheckedAtMs: number;
  /** The earliest tick that is to come. */
  tickAtMs: number;
}

interface Running {
  readonly by: SubscriberId;
  readonly number: number;
  readonly sinceMs: number;
  readonly takesLeases: boolean;
  /** Units that have changed since. Whether the run has seen a change is not known. */
  readonly woken: Set<UnitId>;
  /** Another session has begun, or this one has ended. */
  isCutOff: boolean;
}

interface State {
  readonly number: number;
  readonly message: Extract<LiveMessage, { kind: "state" }>;
  readonly units: ReadonlySet<UnitId>;
  readonly isWhole: boolean;
  readonly session: SessionId | null;
}

interface Query {
  readonly key: string;
  /** In the order in which they came: the first one runs it. */
  readonly subscribers: Set<Subscriber>;
  running: Running | null;
  state: State | null;
  /** When it is to run; null: not before something changes. */
  dueAtMs: number | null;
  /** Too much is watched already: its runs watch nothing. */
  isPolled: boolean;
  /** When its last run began. */
  ranAtMs: number;
  /** Runs without an outcome since the last one that had one. */
  failures: number;
  /** Up to this time its state was known to be the newest. It still is as long as the query is current. */
  freshAtMs: number;
  isStale: boolean;
}

type Of<Kind extends LiveEvent["kind"]> = Extract<LiveEvent, { kind: Kind }>;

const NOTHING: readonly LiveEffect[] = [];

export class LiveQueries {
  readonly #bounds: LiveBounds;
  readonly #queries = new Map<string, Query>();
  readonly #subscribers = new Map<SubscriberId, Subscriber>();
  /** The queries whose last run read a unit. */
  readonly #readers = new SpanMap<Set<Query>>();
  /** How many of them are told by a session, where any is. */
  readonly #watched = new Map<UnitId, number>();
  /** The queries whose last run read units that are not known here. */
  readonly #unsure = new Set<Query>();
  readonly #running = new Set<Query>();
  /** The session of the isolate, and when it was known to live for certain. */
  #named: SessionId | null = null;
  #provenAtMs = -Infinity;
  /** The machine's time, and how far it is ahead of the clock. */
  #nowMs = -Infinity;
  #aheadMs = 0;
  /** Null: the isolate has no session, or none that lives for certain. */
  #session: SessionId | null = null;
  #runs = 0;
  /** When the next look for subscribers that are gone is due. */
  #lookAtMs = -Infinity;
  #effects: LiveEffect[] = [];

  constructor(bounds: LiveBounds = DEFAULT_LIVE_BOUNDS) {
    this.#bounds = bounds;
  }

  /** Whether anybody subscribes here. */
  get isUsed(): boolean {
    return this.#subscribers.size > 0;
  }

  step(event: LiveEvent): readonly LiveEffect[] {
    const nowMs = this.#timeAt(event.atMs);
    switch (event.kind) {
      case "subscribed":
        this.#onSubscribed(event, nowMs);
        break;
      case "unsubscribed":
        this.#onUnsubscribed(event, nowMs);
        break;
      case "ran":
        this.#onRan(event, nowMs);
        break;
      case "written":
        this.#onWritten(event, nowMs);
        break;
      case "ticked":
        this.#onTicked(event, nowMs);
        break;
      case "retired":
        this.#onRetired(event, nowMs);
        break;
    }
    return this.take();
  }

  /** The effects of what the machine was told since. */
  take(): readonly LiveEffect[] {
    if (this.#effects.length === 0) return NOTHING;
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  /** By the machine's time. It goes on from where it was when the clock was set back. */
  #timeAt(atMs: number): number {
    const { silentMs } = this.#bounds;
    const beforeMs = this.#nowMs;
    this.#aheadMs = Math.max(this.#aheadMs, beforeMs - atMs);
    this.#nowMs = atMs + this.#aheadMs;
    // After the isolate has stood still all ticks are late.
    if (this.#nowMs - beforeMs >= silentMs) this.#lookAtMs = this.#nowMs + silentMs;
    else if (this.#nowMs >= this.#lookAtMs) this.#endSilent(this.#nowMs);
    return this.#nowMs;
  }

  /** Subscribers whose ticks do not come count no more, and a query ends with the last of its subscribers. */
  #endSilent(nowMs: number): void {
    const { silentMs } = this.#bounds;
    this.#lookAtMs = nowMs + silentMs;
    for (const subscriber of this.#subscribers.values())
      if (nowMs - subscriber.tickAtMs >= silentMs) this.#end(subscriber, null, nowMs);
  }

  /** These units have changed. */
  changed(units: Iterable<UnitId>, atMs: number): void {
    if (!this.isUsed) return;
    const nowMs = this.#timeAt(atMs);
    const woken = new Set<Query>(this.#unsure);
    for (const unit of units) {
      for (const [, readers] of this.#readers.overlapping(unit)) for (const query of readers) woken.add(query);
      // variant: change-during-run
      for (const { running } of this.#running) running?.woken.add(unit);
    }
    for (const query of woken) if (query.running === null) this.#wake(query, nowMs);
  }

  /** The primary has told of these units unasked. Covered queries hear of it by the promise. */
  hinted(entries: Iterable<{ readonly unit: UnitId }>, atMs: number): void {
    if (!this.isUsed) return;
    const nowMs = this.#timeAt(atMs);
    for (const { unit } of entries) {
      for (const query of this.#running) if (!this.#isCovered(query)) query.running?.woken.add(unit);
      for (const [, readers] of this.#readers.overlapping(unit))
        for (const query of readers) if (query.running === null && !this.#isCovered(query)) this.#wake(query, nowMs);
    }
  }

  /** The session of the isolate from now on; null: it has none. `provenAtMs`: at this time it still lived for certain. */
  inSession(session: SessionId | null, provenAtMs: number, atMs: number): void {
    const nowMs = this.#timeAt(atMs);
    const provenBeforeMs = this.#provenAtMs;
    this.#named = session;
    this.#provenAtMs = nowMs - Math.max(0, atMs - provenAtMs);
    this.#judge(nowMs, provenBeforeMs);
  }

  /** `freshAtMs`: up to this time the states that are covered were known to be the newest. */
  #judge(nowMs: number, freshAtMs = this.#provenAtMs): void {
    const session = nowMs - this.#provenAtMs < this.#bounds.proofMs ? this.#named : null;
    if (session === this.#session) return;
    // variant: session-over
    for (const query of this.#queries.values()) {
      if (query.running !== null) query.running.isCutOff = true;
      // A session that was in doubt, and lives, has told of every change: its id is never given twice.
      else if (session === null || query.state?.session !== session) this.#wake(query, nowMs, freshAtMs);
    }
    this.#session = session;
  }

  // ── Subscribers ────────────────────────────────────────────────────────────────────────────────────────────────────

  #onSubscribed({ subscriber: id, query: key, known, random }: Of<"subscribed">, nowMs: number): void {
    const { subscribers, queries, lifeMs } = this.#bounds;
    this.#judge(nowMs);
    const query = this.#queries.get(key) ?? newQuery(key, nowMs);
    if (this.#subscribers.size >= subscribers || (query.subscribers.size === 0 && this.#queries.size >= queries))
      return void this.#effects.push({ kind: "refuse-stream", subscriber: id });
    this.#queries.set(key, query);
    const subscriber: Subscriber = {
      id,
      query,
      random,
      endsAtMs: nowMs + lifeMs * (1 - LIFE_JITTER * random),
      after: this.#runs,
      sent: known,
      isToldStale: false,
      writingSinceMs: null,
      writtenAtMs: nowMs,
      callerCheckedAtMs: nowMs,
      tickAtMs: Infinity,
    };
    this.#subscribers.set(id, subscriber);
    query.subscribers.add(subscriber);
    this.#tickAt(subscriber, nowMs + this.#bounds.tickMs);
    this.#wake(query, nowMs);
  }

  #onUnsubscribed({ subscriber: id }: Of<"unsubscribed">, nowMs: number): void {
    const subscriber = this.#subscribers.get(id);
    if (subscriber !== undefined) this.#forget(subscriber, nowMs);
  }

  #onRetired({ subscriber: id, reply }: Of<"retired">, nowMs: number): void {
    const subscriber = this.#subscribers.get(id);
    if (subscriber !== undefined) this.#end(subscriber, reply, nowMs);
  }

  #forget(subscriber: Subscriber, nowMs: number): void {
    const { id, query } = subscriber;
    this.#subscribers.delete(id);
    query.subscribers.delete(subscriber);
    if (query.subscribers.size === 0) {
      this.#queries.delete(query.key);
      this.#running.delete(query);
      this.#readNothing(query);
      return;
    }
    // Its run ends with it: another subscriber begins one.
    if (query.running?.by === id) this.#giveUp(query, nowMs);
    else this.#schedule(query, nowMs);
  }

  #end(subscriber: Subscriber, reply: LiveReply | null, nowMs: number): void {
    const [least, most] = reply === null ? RETRY_MS : ERROR_RETRY_MS;
    this.#effects.push({
      kind: "end-stream",
      subscriber: subscriber.id,
      message: reply === null ? null : { kind: "error", ...reply },
      retryMs: Math.round(least + (most - least) * subscriber.random),
      isCut: subscriber.writingSinceMs !== null && nowMs - subscriber.writingSinceMs >= this.#bounds.writeMs,
    });
    this.#forget(subscriber, nowMs);
  }

  #onTicked({ subscriber: id, dueAtMs, spent }: Of<"ticked">, nowMs: number): void {
    const subscriber = this.#subscribers.get(id);
    if (subscriber === undefined) return;
    if (dueAtMs === subscriber.tickAtMs) subscriber.tickAtMs = Infinity;
    this.#judge(nowMs);
    const { query, writingSinceMs } = subscriber;
    const { writeMs, runMs, staleMs, callerMs, tickMs } = this.#bounds;
    if (writingSinceMs !== null && nowMs - writingSinceMs >= writeMs) return this.#end(subscriber, null, nowMs);
    if (this.#endsItsLife(subscriber, spent, nowMs)) return;
    if (nowMs - subscriber.callerCheckedAtMs >= callerMs) {
      subscriber.callerCheckedAtMs = nowMs;
      this.#effects.push({ kind: "check-caller", subscriber: id });
    }
    if (query.running !== null && nowMs - query.running.sinceMs >= runMs) {
      // The platform may have cut its request off. Another subscriber has its turn.
      const runner = this.#subscribers.get(query.running.by);
      if (runner !== undefined && query.subscribers.delete(runner)) query.subscribers.add(runner);
      this.#giveUp(query, nowMs);
    }
    if (!query.isStale && !this.#isCurrent(query) && nowMs - query.freshAtMs >= staleMs) {
      query.isStale = true;
      for (const one of query.subscribers) this.#tell(one, nowMs);
    }
    this.#schedule(query, nowMs);
    this.#tell(subscriber, nowMs);
    this.#tickAt(subscriber, nowMs + tickMs);
  }

  /** Not while it runs the query: the run would be lost. */
  #endsItsLife(subscriber: Subscriber, spent: number, nowMs: number): boolean {
    if (subscriber.query.running?.by === subscriber.id) return false;
    if (nowMs < subscriber.endsAtMs && spent < this.#bounds.spent) return false;
    this.#end(subscriber, null, nowMs);
    return true;
  }

  #tickAt(subscriber: Subscriber, dueAtMs: number): void {
    if (dueAtMs >= subscriber.tickAtMs) return;
    subscriber.tickAtMs = dueAtMs;
    this.#effects.push({ kind: "tick", subscriber: subscriber.id, dueAtMs, waitMs: dueAtMs - this.#nowMs });
  }

  // ── Runs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Somebody will tell when a unit of its state changes. */
  #isCovered({ state }: Query): boolean {
    // variant: covered-in-session
    return state !== null && state.session !== null && state.session === this.#session;
  }

  /** Its state is the newest. */
  #isCurrent(query: Query): boolean {
    return query.running === null && query.dueAtMs === null && this.#isCovered(query);
  }

  #wake(query: Query, nowMs: number, freshAtMs = nowMs): void {
    if (this.#isCurrent(query)) query.freshAtMs = freshAtMs;
    if (query.dueAtMs === null || query.dueAtMs > nowMs) query.dueAtMs = nowMs;
    this.#schedule(query, nowMs);
  }

  /** Nobody waits for the run that is under way. */
  #giveUp(query: Query, nowMs: number): void {
    query.running = null;
    this.#running.delete(query);
    query.dueAtMs = nowMs;
    this.#schedule(query, nowMs);
  }

  /** Begins the run that is due, or sees to it that somebody ticks when it is. */
  #schedule(query: Query, nowMs: number): void {
    const { dueAtMs, ranAtMs } = query;
    if (query.running !== null || dueAtMs === null) return;
    const [first] = query.subscribers;
    if (first === undefined) return;
    const beginsAtMs = Math.max(dueAtMs, ranAtMs + this.#bounds.spacingMs);
    if (beginsAtMs > nowMs) return this.#tickAt(first, beginsAtMs);
    query.dueAtMs = null;
    query.ranAtMs = nowMs;
    const number = ++this.#runs;
    // The first result is there at once, if it can be. The run after it is watched.
    const takesLeases = query.state === null || query.isPolled;
    const manner: RunManner = { takesLeases, watches: !query.isPolled };
    query.running = { by: first.id, number, sinceMs: nowMs, takesLeases, woken: new Set(), isCutOff: false };
    this.#running.add(query);
    this.#effects.push({ kind: "run-query", subscriber: first.id, number, manner });
  }

  #onRan({ subscriber: id, number, run, spent }: Of<"ran">, nowMs: number): void {
    const runner = this.#subscribers.get(id);
    if (runner === undefined) return;
    const { query } = runner;
    const { running } = query;
    // It was given up, and another one has begun.
    if (running?.number !== number) return;
    query.running = null;
    this.#running.delete(query);
    if (run.kind === "failed") this.#onFailed(query, run, nowMs);
    else this.#onOutcome(query, running, run, nowMs);
    if (this.#subscribers.has(id)) this.#endsItsLife(runner, spent, nowMs);
  }

  #onFailed(query: Query, { reply, isFinal }: Extract<LiveRun, { kind: "failed" }>, nowMs: number): void {
    if (isFinal) {
      for (const subscriber of query.subscribers) this.#end(subscriber, reply, nowMs);
      return;
    }
    const { backoffMs, longestBackoffMs } = this.#bounds;
    query.dueAtMs = nowMs + Math.min(longestBackoffMs, backoffMs * 2 ** query.failures++);
    this.#schedule(query, nowMs);
  }

  #onOutcome(
    query: Query,
    { number, takesLeases, woken, isCutOff }: Running,
    { id, reply, units, isWhole, session }: Extract<LiveRun, { kind: "outcome" }>,
    nowMs: number,
  ): void {
    const read = new Set(units);
    this.#readNothing(query);
    query.state = { number, message: { kind: "state", id, ...reply }, units: read, isWhole, session };
    for (const unit of read) {
      const readers = this.#readers.get(unit) ?? new Set<Query>();
      readers.add(query);
      this.#readers.set(unit, readers);
      if (session !== null) this.#watched.set(unit, (this.#watched.get(unit) ?? 0) + 1);
    }
    let watched = this.#watched.size;
    for (const unit of read) if (!this.#watched.has(unit)) watched++;
    query.isPolled = watched > this.#bounds.watched;
    if (!isWhole) this.#unsure.add(query);
    query.failures = 0;
    query.freshAtMs = query.ranAtMs;
    query.isStale = false;
    const isLeased = takesLeases && !query.isPolled && session === null && this.#session !== null;
    if (
      (isCutOff && !this.#isCovered(query)) ||
      isLeased ||
      [...woken].some((unit) => !isWhole || this.#hasRead(query, unit))
    )
      query.dueAtMs = nowMs;
    else if (!this.#isCovered(query)) query.dueAtMs ??= query.ranAtMs + this.#bounds.pollMs;
    for (const subscriber of query.subscribers) this.#tell(subscriber, nowMs);
    this.#schedule(query, nowMs);
  }

  #hasRead(query: Query, unit: UnitId): boolean {
    return this.#readers.overlapping(unit).some(([, readers]) => readers.has(query));
  }

  #readNothing(query: Query): void {
    this.#unsure.delete(query);
    const isWatched = query.state !== null && query.state.session !== null;
    for (const unit of query.state?.units ?? []) {
      const watchers = isWatched ? (this.#watched.get(unit) ?? 0) : 0;
      if (watchers > 1) this.#watched.set(unit, watchers - 1);
      else if (isWatched) this.#watched.delete(unit);
      const readers = this.#readers.get(unit);
      readers?.delete(query);
      if (readers?.size === 0) this.#readers.delete(unit);
    }
  }

  // ── Messages ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #onWritten({ subscriber: id }: Of<"written">, nowMs: number): void {
    const subscriber = this.#subscribers.get(id);
    if (subscriber === undefined) return;
    subscriber.writingSinceMs = null;
    subscriber.writtenAtMs = nowMs;
    this.#tell(subscriber, nowMs);
  }

  /** Sends what is new to the subscriber, if its client has taken what came before. */
  #tell(subscriber: Subscriber, nowMs: number): void {
    if (subscriber.writingSinceMs !== null) return;
    const message = this.#newTo(subscriber, nowMs);
    if (message === null) return;
    subscriber.writingSinceMs = nowMs;
    subscriber.isToldStale = message.kind === "stale" || (message.kind === "alive" && subscriber.isToldStale);
    if (message.kind === "state") subscriber.sent = message.id;
    this.#effects.push({ kind: "send-event", subscriber: subscriber.id, message });
  }

  #newTo({ query, after, sent, isToldStale, writtenAtMs }: Subscriber, nowMs: number): LiveMessage | null {
    const { state, isStale } = query;
    // variant: state-computed-after
    const isNew = state !== null && state.number > after;
    // After a warning the same state is sent again: it is the newest.
    // variant: state-compared
    if (isNew && (state.message.id !== sent || (isToldStale && !isStale))) return state.message;
    if (isStale && !isToldStale) return { kind: "stale" };
    return nowMs - writtenAtMs >= this.#bounds.heartbeatMs ? { kind: "alive" } : null;
  }
}

function newQuery(key: string, nowMs: number): Query {
  return {
    key,
    subscribers: new Set(),
    running: null,
    state: null,
    dueAtMs: null,
    isPolled: false,
    ranAtMs: -Infinity,
    failures: 0,
    freshAtMs: nowMs,
    isStale: false,
  };
}
