/**
 * Live queries of an isolate beside a primary that is modelled in a few lines. The primary keeps watches by session, and tells a
 * session of changes in order. Sessions lapse, streams stall, runs fail, requests disappear, clients read slowly. Each subscriber
 * hears of states in the order of the primary, none older than its question, and of the last one.
 */
import { sessionId, type SessionId, unitId, type UnitId } from "@radical/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { DEFAULT_LIVE_BOUNDS, type LiveEffect, type LiveEvent, LiveQueries, type RunManner } from "./live-queries.ts";

const UNITS = ["a", "b", "c"].map((key) => unitId("notes", key));

const WEATHER_MS = 20_000;
/** Longer than a run is waited for whose request is gone. */
const QUIET_MS = 45_000;

interface Weather {
  readonly seed: number;
  readonly delayMs: number;
  readonly writeMs: number;
  /** Probabilities. */
  readonly fails: number;
  readonly vanishes: number;
  /** Mean times between faults. */
  readonly lapseMs: number;
  readonly stallMs: number;
  readonly setBackMs: number;
  /** Most units that are watched. */
  readonly watched: number;
}

/** State of the primary, of which a run sees all at once. */
interface Sight {
  readonly writes: number;
  readonly id: string;
  readonly units: readonly UnitId[];
}

interface Client {
  readonly query: string;
  /** The writes when it asked. */
  readonly asked: number;
  readonly seen: Sight[];
  readonly isSlow: boolean;
  /** It was told that its state may be an old one: the state comes again. */
  isStale: boolean;
  repeats: number;
  hasLeft: boolean;
}

class World {
  readonly live: LiveQueries;
  readonly clients = new Map<number, Client>();
  nowMs = 0;
  /** How far the clock was set back. Timers run on. */
  #setBackMs = 0;
  #setBacks = 0;
  runs = 0;
  #writes = 0;
  readonly #versions = new Map<UnitId, number>(UNITS.map((unit) => [unit, 0]));
  /** By session, as the server keeps it: the units that it watches, and lines that were not delivered. */
  readonly #sessions = new Map<SessionId, { readonly watched: Set<UnitId>; readonly lines: (readonly UnitId[])[] }>();
  #named: SessionId | null = null;
  #provenAtMs = 0;
  #minted = 0;
  #isStalled = false;
  readonly #sights = new Map<string, Sight>();
  readonly #weather: Weather;
  #isQuiet = false;
  #random: number;
  #order = 0;
  #queue: { readonly atMs: number; readonly order: number; readonly act: () => void }[] = [];

  constructor(weather: Weather) {
    this.#weather = weather;
    this.live = new LiveQueries({ ...DEFAULT_LIVE_BOUNDS, watched: weather.watched });
    this.#random = weather.seed;
  }

  get clockMs(): number {
    return this.nowMs - this.#setBackMs;
  }

  #draw(): number {
    // xorshift
    this.#random ^= this.#random << 13;
    this.#random ^= this.#random >>> 17;
    this.#random ^= this.#random << 5;
    return (this.#random >>> 0) / 2 ** 32;
  }

  #after(ms: number, act: () => void): void {
    this.#queue.push({ atMs: this.nowMs + ms, order: this.#order++, act });
  }

  #often(meanMs: number, act: () => void): void {
    this.#after(1 + this.#draw() * 2 * meanMs, () => {
      if (this.#isQuiet) return;
      act();
      this.#often(meanMs, act);
    });
  }

  #run(untilMs: number): void {
    for (;;) {
      const [next] = this.#queue.toSorted((x, y) => x.atMs - y.atMs || x.order - y.order);
      if (next === undefined || next.atMs > untilMs) break;
      this.#queue = this.#queue.filter((event) => event !== next);
      this.nowMs = next.atMs;
      next.act();
    }
    this.nowMs = untilMs;
  }

  pass(): void {
    const { writeMs, lapseMs, stallMs, setBackMs } = this.#weather;
    this.#beat();
    this.#often(writeMs, () => this.#write());
    this.#often(3_000, () => this.#subscribe());
    this.#often(6_000, () => this.#leave());
    this.#often(lapseMs, () => this.#sessions.clear());
    this.#often(stallMs, () => {
      this.#isStalled = !this.#isStalled;
    });
    this.#often(setBackMs, () => {
      this.#setBackMs += this.#draw() * 3_600_000;
      this.#setBacks++;
      this.#provenAtMs = -Infinity;
    });
    this.#subscribe();
    this.#run(WEATHER_MS);
    this.#isQuiet = true;
    this.#isStalled = false;
    this.#run(WEATHER_MS + QUIET_MS);
  }

  /** Each second the isolate says what it has heard, if its stream and its messages pass. */
  #beat(): void {
    const [sentAtMs, setBacks] = [this.clockMs, this.#setBacks];
    this.#after(1_000, () => this.#beat());
    if (this.#isStalled) return;
    this.#after(this.#draw() * this.#weather.delayMs, () => {
      const known = this.#named !== null && this.#sessions.has(this.#named);
      if (!known) {
        this.#named = this.#named === null ? sessionId(1, ++this.#minted) : null;
        if (this.#named !== null) this.#sessions.set(this.#named, { watched: new Set(), lines: [] });
      }
      // With another clock nobody knows when it was sent.
      if (setBacks === this.#setBacks) this.#provenAtMs = sentAtMs;
      this.#deliver();
      this.live.inSession(this.#named, this.#provenAtMs, this.clockMs);
      this.#perform(this.live.take());
    });
  }

  #deliver(): void {
    if (this.#isStalled || this.#named === null) return;
    for (const units of this.#sessions.get(this.#named)?.lines.splice(0) ?? []) this.live.changed(units, this.clockMs);
    this.#perform(this.live.take());
  }

  #write(): void {
    const unit = UNITS[Math.floor(this.#draw() * UNITS.length)]!;
    this.#writes++;
    this.#versions.set(unit, Math.floor(this.#draw() * 3));
    for (const session of this.#sessions.values()) {
      if (!session.watched.delete(unit)) continue;
      session.lines.push([unit]);
      this.#after(this.#draw() * this.#weather.delayMs, () => this.#deliver());
    }
  }

  /** The units that a query reads depend on their values. */
  look(query: string): Sight {
    const [a, b, c] = UNITS;
    const first = query === "p" ? a! : b!;
    const units = this.#versions.get(first) === 1 ? [first, c!] : [first];
    const id = units.map((unit) => `${unit}=${this.#versions.get(unit)}`).join();
    return { writes: this.#writes, id, units };
  }

  #subscribe(): void {
    const id = this.clients.size + 1;
    const query = this.#draw() < 0.5 ? "p" : "q";
    this.clients.set(id, {
      query,
      asked: this.#writes,
      seen: [],
      isSlow: this.#draw() < 0.3,
      isStale: false,
      repeats: 0,
      hasLeft: false,
    });
    this.#step({ kind: "subscribed", subscriber: id, query, known: null, random: this.#draw(), atMs: this.clockMs });
  }

  #leave(): void {
    const staying = [...this.clients].filter(([, { hasLeft }]) => !hasLeft);
    if (staying.length < 2) return;
    const [id, client] = staying[Math.floor(this.#draw() * staying.length)]!;
    client.hasLeft = true;
    this.#step({ kind: "unsubscribed", subscriber: id, atMs: this.clockMs });
  }

  #step(event: LiveEvent): void {
    this.#perform(this.live.step(event));
  }

  #perform(effects: readonly LiveEffect[]): void {
    for (const effect of effects) {
      const { subscriber } = effect;
      switch (effect.kind) {
        case "run-query":
          this.#execute(subscriber, effect.number, effect.manner);
          break;
        case "tick": {
          const { dueAtMs, waitMs } = effect;
          this.#after(waitMs, () => this.#step({ kind: "ticked", subscriber, dueAtMs, spent: 0, atMs: this.clockMs }));
          break;
        }
        case "send-event": {
          const client = this.clients.get(subscriber)!;
          if (effect.message.kind === "stale") client.isStale = true;
          if (effect.message.kind === "state") {
            if (effect.message.id === client.seen.at(-1)?.id && !client.isStale) client.repeats++;
            client.isStale = false;
            client.seen.push(this.#sights.get(effect.message.body)!);
          }
          const ms = client.isSlow ? this.#draw() * 2_000 : 0;
          this.#after(ms, () => this.#step({ kind: "written", subscriber, atMs: this.clockMs }));
          break;
        }
        case "end-stream":
        case "refuse-stream":
          this.clients.get(subscriber)!.hasLeft = true;
          break;
        case "check-caller":
          break;
      }
    }
  }

  #execute(subscriber: number, number: number, { takesLeases, watches }: RunManner): void {
    this.runs++;
    const { delayMs, fails, vanishes } = this.#weather;
    const chance = (of: number): boolean => !this.#isQuiet && this.#draw() < of;
    const session = this.#named;
    // A request that is cut off says nothing any more.
    if (chance(vanishes)) return;
    const isLeased = takesLeases && this.#draw() < 0.3;
    const answer = (act: () => LiveEvent): void => this.#after(this.#draw() * delayMs, () => this.#step(act()));
    if (chance(fails)) {
      const run = { kind: "failed", reply: { status: 503, body: "{}" }, isFinal: false } as const;
      return answer(() => ({ kind: "ran", subscriber, number, run, spent: 0, atMs: this.clockMs }));
    }
    this.#after(isLeased ? 0 : this.#draw() * delayMs, () => {
      const { query } = this.clients.get(subscriber)!;
      const sight = this.look(query);
      const body = `${number}`;
      this.#sights.set(body, sight);
      const watched = session === null || isLeased || !watches ? undefined : this.#sessions.get(session)?.watched;
      for (const unit of sight.units) watched?.add(unit);
      // Near storage the location learns a part of the units only.
      const isWhole = this.#draw() < 0.7;
      const units = isWhole ? sight.units : sight.units.slice(0, 1);
      const named = isLeased || !watches ? null : session;
      const run = {
        kind: "outcome",
        id: sight.id,
        reply: { status: 200, body },
        units,
        isWhole,
        session: named,
      } as const;
      answer(() => ({ kind: "ran", subscriber, number, run, spent: 0, atMs: this.clockMs }));
    });
  }
}

const weathers = fc.record<Weather>({
  seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  delayMs: fc.constantFrom(1, 50, 400),
  writeMs: fc.constantFrom(20, 300, 3_000),
  fails: fc.constantFrom(0, 0, 0.3),
  vanishes: fc.constantFrom(0, 0, 0.1),
  lapseMs: fc.constantFrom(1_000_000, 2_000),
  stallMs: fc.constantFrom(1_000_000, 1_500),
  setBackMs: fc.constantFrom(1_000_000, 1_000_000, 5_000),
  watched: fc.constantFrom(8_192, 8_192, 1),
});

test("subscribers hear of states in order, none older than their question, and of the last one", () => {
  fc.assert(
    fc.property(weathers, (weather) => {
      const world = new World(weather);
      world.pass();
      for (const [id, { query, asked, seen, isStale, repeats, hasLeft }] of world.clients) {
        const writes = [asked, ...seen.map((sight) => sight.writes)];
        expect(writes, `client ${id}`).toEqual(writes.toSorted((x, y) => x - y));
        expect(repeats).toBe(0);
        if (!hasLeft) expect([seen.at(-1)?.id, isStale], `client ${id}`).toEqual([world.look(query).id, false]);
      }
    }),
    { numRuns: 300 },
  );
});

test("in calm weather a query runs about once for each change, and no more", () => {
  const calm = {
    seed: 7,
    delayMs: 50,
    writeMs: 500,
    fails: 0,
    vanishes: 0,
    lapseMs: 1e9,
    stallMs: 1e9,
    setBackMs: 1e9,
    watched: 3,
  };
  const world = new World(calm);
  world.pass();
  // About forty writes concern each of two queries in two of three cases; each new subscriber is a run or two.
  expect(world.runs).toBeLessThan(40);
});
