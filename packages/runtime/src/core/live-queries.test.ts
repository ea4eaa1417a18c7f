/** When a live query runs, and what its subscribers are sent. */
import { sessionId, type SessionId, spanId, unitId, type UnitId } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import {
  DEFAULT_LIVE_BOUNDS,
  type LiveBounds,
  type LiveEffect,
  LiveQueries,
  type LiveRun,
  type RunManner,
} from "./live-queries.ts";

const A = unitId("notes", "a");
const B = unitId("notes", "b");
const SESSION = sessionId(1, 1);
const NEXT = sessionId(1, 2);
const NEAR_ONE = 0.999_999;
const REPLY = { status: 200, body: "{}" };

/** A machine with a clock, whose runs end when the test says so. */
class Isolate {
  readonly live: LiveQueries;
  nowMs = 0;
  /** How far the clock was set back since. Timers run on. */
  setBackMs = 0;
  /** Runs that have begun and not ended, by number. */
  readonly running = new Map<number, number>();
  /** The last of them. */
  manner: RunManner | null = null;
  /** The messages to each subscriber, in order. */
  readonly sent = new Map<number, string[]>();
  readonly ended = new Map<number, Extract<LiveEffect, { kind: "end-stream" }>>();
  readonly refused: number[] = [];
  readonly checked: number[] = [];
  /** Those whose clients read nothing. */
  readonly stuck = new Set<number>();
  /** Those whose requests the platform has ended: their timers do not come. */
  readonly gone = new Set<number>();
  spent = 0;
  /** No proof comes that the session lives. */
  isCutOff = false;
  #session: SessionId | null = null;
  #ticks: { readonly subscriber: number; readonly dueAtMs: number; readonly atMs: number }[] = [];
  #subscribers = 0;

  constructor(bounds: Partial<LiveBounds> = {}) {
    this.live = new LiveQueries({ ...DEFAULT_LIVE_BOUNDS, ...bounds });
  }

  get clockMs(): number {
    return this.nowMs - this.setBackMs;
  }

  subscribe(query = "q", { known = null, random = 0 }: { known?: string | null; random?: number } = {}): number {
    const subscriber = ++this.#subscribers;
    this.sent.set(subscriber, []);
    this.take(this.live.step({ kind: "subscribed", subscriber, query, known, random, atMs: this.clockMs }));
    return subscriber;
  }

  /** The messages to the subscriber but signs of life. */
  news(subscriber: number): readonly string[] {
    return this.sent.get(subscriber)!.filter((text) => text !== "(alive)");
  }

  leave(subscriber: number): void {
    this.take(this.live.step({ kind: "unsubscribed", subscriber, atMs: this.clockMs }));
  }

  /** The one run that is under way ends with this state. */
  ran(id: string, units: readonly UnitId[], more: { session?: SessionId | null; isWhole?: boolean } = {}): void {
    this.ends({
      kind: "outcome",
      id,
      reply: { status: 200, body: id },
      units,
      isWhole: true,
      session: SESSION,
      ...more,
    });
  }

  ends(run: LiveRun): void {
    const [entry, ...others] = this.running;
    if (entry === undefined || others.length > 0) throw new Error(`${this.running.size} runs are under way.`);
    const [number, subscriber] = entry;
    this.running.delete(number);
    this.take(this.live.step({ kind: "ran", subscriber, number, run, spent: this.spent, atMs: this.clockMs }));
  }

  /** Time passes, and what is due happens. */
  pass(ms: number): void {
    const endMs = this.nowMs + ms;
    for (;;) {
      const [next] = this.#ticks.toSorted((a, b) => a.atMs - b.atMs);
      if (next === undefined || next.atMs > endMs) break;
      this.#ticks = this.#ticks.filter((tick) => tick !== next);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      this.#prove();
      const { subscriber, dueAtMs } = next;
      if (this.gone.has(subscriber)) continue;
      this.take(this.live.step({ kind: "ticked", subscriber, dueAtMs, spent: this.spent, atMs: this.clockMs }));
    }
    this.nowMs = endMs;
  }

  changed(...units: readonly UnitId[]): void {
    this.live.changed(units, this.clockMs);
    this.take(this.live.take());
  }

  hinted(unit: UnitId): void {
    this.live.hinted([{ unit }], this.clockMs);
    this.take(this.live.take());
  }

  #prove(): void {
    if (!this.isCutOff) this.live.inSession(this.#session, this.clockMs, this.clockMs);
    this.take(this.live.take());
  }

  inSession(session: SessionId | null): void {
    this.#session = session;
    this.#prove();
  }

  reads(subscriber: number): void {
    this.stuck.delete(subscriber);
    this.take(this.live.step({ kind: "written", subscriber, atMs: this.clockMs }));
  }

  take(effects: readonly LiveEffect[]): void {
    for (const effect of effects) {
      const { subscriber } = effect;
      switch (effect.kind) {
        case "run-query":
          this.running.set(effect.number, subscriber);
          this.manner = effect.manner;
          break;
        case "tick":
          this.#ticks.push({ subscriber, dueAtMs: effect.dueAtMs, atMs: this.nowMs + effect.waitMs });
          break;
        case "send-event": {
          const { message } = effect;
          this.sent.get(subscriber)!.push(message.kind === "state" ? message.id : `(${message.kind})`);
          if (!this.stuck.has(subscriber)) this.reads(subscriber);
          break;
        }
        case "end-stream":
          this.ended.set(subscriber, effect);
          break;
        case "refuse-stream":
          this.refused.push(subscriber);
          break;
        case "check-caller":
          this.checked.push(subscriber);
      }
    }
  }
}

/** An isolate with a session and one subscriber of a query that has read A. */
function settled(bounds: Partial<LiveBounds> = {}): { readonly isolate: Isolate; readonly one: number } {
  const isolate = new Isolate(bounds);
  isolate.inSession(SESSION);
  const one = isolate.subscribe();
  isolate.ran("1", [A]);
  isolate.pass(500);
  return { isolate, one };
}

describe("a run", () => {
  test("begins with the first subscriber, and when a unit that it read has changed, not when another has", () => {
    const { isolate, one } = settled();
    isolate.changed(B);
    expect([isolate.running.size, isolate.sent.get(one)]).toEqual([0, ["1"]]);
    isolate.changed(A);
    isolate.ran("2", [A]);
    expect(isolate.sent.get(one)).toEqual(["1", "2"]);
  });

  test("that read a span begins again when an item in it has changed, and not for one beside it", () => {
    const isolate = new Isolate();
    isolate.subscribe();
    const early = spanId({ table: "notes", kind: "rows", lo: "", hi: "b" });
    isolate.inSession(SESSION);
    isolate.ran("1", [early]);
    isolate.pass(1_000);
    isolate.changed(B);
    expect(isolate.running.size).toBe(0);
    isolate.changed(A);
    expect(isolate.running.size).toBe(1);
  });

  test("of a covered query is not repeated as long as nothing changes", () => {
    const { isolate } = settled();
    isolate.pass(120_000);
    expect(isolate.running.size).toBe(0);
  });

  test("is one for all who ask the same, and there is one at a time", () => {
    const { isolate } = settled();
    const others = [isolate.subscribe(), isolate.subscribe(), isolate.subscribe()];
    expect(isolate.running.size).toBe(1);
    isolate.ran("1", [A]);
    // The second and the third came while it ran.
    isolate.pass(100);
    isolate.ran("1", [A]);
    isolate.pass(1_000);
    expect(isolate.running.size).toBe(0);
    expect(others.map((other) => isolate.sent.get(other))).toEqual([["1"], ["1"], ["1"]]);
  });

  test("that began before a subscriber came is not for it: it may be older than what its client knows", () => {
    const isolate = new Isolate();
    isolate.inSession(SESSION);
    const first = isolate.subscribe();
    const second = isolate.subscribe();
    isolate.ran("1", [A]);
    expect([isolate.sent.get(first), isolate.sent.get(second)]).toEqual([["1"], []]);
    isolate.pass(100);
    isolate.ran("2", [A]);
    expect([isolate.sent.get(first), isolate.sent.get(second)]).toEqual([["1", "2"], ["2"]]);
  });

  test("is repeated if a unit that it read has changed while it ran: it may have read it before", () => {
    const { isolate, one } = settled();
    isolate.changed(A);
    isolate.changed(B);
    isolate.ran("2", [A, B]);
    isolate.pass(100);
    isolate.ran("3", [A, B]);
    isolate.pass(1_000);
    expect([isolate.running.size, isolate.sent.get(one)]).toEqual([0, ["1", "2", "3"]]);
  });

  test("is not repeated for a unit that it did not read", () => {
    const { isolate } = settled();
    isolate.changed(A);
    isolate.changed(B);
    isolate.ran("2", [A]);
    isolate.pass(1_000);
    expect(isolate.running.size).toBe(0);
  });

  test("that read more than is known here is repeated for every change", () => {
    const { isolate } = settled();
    isolate.changed(A);
    isolate.ran("2", [A], { isWhole: false });
    isolate.pass(100);
    isolate.changed(B);
    isolate.ran("3", [A]);
    isolate.pass(100);
    isolate.changed(B);
    expect(isolate.running.size).toBe(0);
  });

  test("that read more than is known here is repeated for a change that came while it ran", () => {
    const { isolate } = settled();
    isolate.changed(A);
    isolate.changed(B);
    isolate.ran("2", [A], { isWhole: false });
    isolate.pass(100);
    expect(isolate.running.size).toBe(1);
  });

  test("that read leases answered is followed at once by one that is watched", () => {
    const isolate = new Isolate();
    isolate.inSession(SESSION);
    const one = isolate.subscribe();
    isolate.ran("1", [A], { session: null });
    isolate.pass(100);
    isolate.ran("1", [A]);
    isolate.pass(60_000);
    expect([isolate.running.size, isolate.news(one)]).toEqual([0, ["1"]]);
  });

  test("begins a tenth of a second after the one before at the earliest", () => {
    const { isolate } = settled();
    isolate.changed(A);
    isolate.ran("2", [A]);
    isolate.pass(10);
    isolate.changed(A);
    expect(isolate.running.size).toBe(0);
    isolate.pass(89);
    expect(isolate.running.size).toBe(0);
    isolate.pass(1);
    expect(isolate.running.size).toBe(1);
  });

  test("whose request is gone is begun by another subscriber", () => {
    const { isolate, one } = settled();
    const other = isolate.subscribe();
    expect([...isolate.running.values()]).toEqual([one]);
    isolate.running.clear();
    isolate.leave(one);
    isolate.pass(100);
    expect([...isolate.running.values()]).toEqual([other]);
  });

  test("that does not end is given up, and its late end is heard by nobody", () => {
    const { isolate, one } = settled({ runMs: 30_000 });
    isolate.changed(A);
    const [[number] = [0]] = isolate.running;
    isolate.running.clear();
    isolate.pass(31_000);
    expect(isolate.running.size).toBe(1);
    const late = {
      kind: "outcome",
      id: "old",
      reply: REPLY,
      units: [A],
      isWhole: true,
      session: SESSION,
    } as const;
    isolate.take(
      isolate.live.step({ kind: "ran", subscriber: one, number, run: late, spent: 0, atMs: isolate.clockMs }),
    );
    isolate.ran("2", [A]);
    expect(isolate.news(one)).toEqual(["1", "(stale)", "2"]);
  });
});

describe("a subscriber whose request is gone", () => {
  test("counts no more after half a minute, and its query ends with it", () => {
    const { isolate, one } = settled({ subscribers: 2, queries: 2 });
    const other = isolate.subscribe("r");
    isolate.ran("1", [B]);
    isolate.gone.add(other);
    isolate.pass(20_000);
    isolate.subscribe("s");
    expect(isolate.refused).toHaveLength(1);
    isolate.pass(45_000);
    expect([...isolate.ended.keys()]).toEqual([other]);
    isolate.changed(B);
    expect(isolate.running.size).toBe(0);
    const third = isolate.subscribe("s");
    isolate.ran("1", [B]);
    expect([isolate.refused.length, isolate.news(one), isolate.news(third)]).toEqual([1, ["1"], ["1"]]);
  });

  test("is told apart from those of an isolate that has stood still", () => {
    const { isolate, one } = settled();
    isolate.nowMs += 120_000;
    isolate.pass(40_000);
    isolate.changed(A);
    isolate.ran("2", [A]);
    expect([isolate.ended.size, isolate.news(one).at(-1)]).toEqual([0, "2"]);
  });
});

describe("a subscriber", () => {
  test("is sent nothing if the state is the one that it was sent last, and a state again that it had before", () => {
    const { isolate, one } = settled();
    for (const id of ["1", "2", "1"]) {
      isolate.changed(A);
      isolate.ran(id, [A]);
      isolate.pass(200);
    }
    expect(isolate.sent.get(one)).toEqual(["1", "2", "1"]);
  });

  test("that knows the state is sent nothing", () => {
    const isolate = new Isolate();
    isolate.inSession(SESSION);
    const known = isolate.subscribe("q", { known: "1" });
    isolate.ran("1", [A]);
    expect(isolate.sent.get(known)).toEqual([]);
    isolate.pass(100);
    isolate.changed(A);
    isolate.ran("2", [A]);
    expect(isolate.sent.get(known)).toEqual(["2"]);
  });

  test("whose client reads slowly is sent the newest state only, and nothing if that is the one it has", () => {
    const { isolate, one } = settled();
    isolate.stuck.add(one);
    for (const id of ["2", "3", "4"]) {
      isolate.changed(A);
      isolate.ran(id, [A]);
      isolate.pass(200);
    }
    expect(isolate.sent.get(one)).toEqual(["1", "2"]);
    isolate.reads(one);
    expect(isolate.sent.get(one)).toEqual(["1", "2", "4"]);
    isolate.stuck.add(one);
    for (const id of ["5", "6", "5"]) {
      isolate.changed(A);
      isolate.ran(id, [A]);
      isolate.pass(200);
    }
    isolate.reads(one);
    expect(isolate.sent.get(one)).toEqual(["1", "2", "4", "5"]);
  });

  test("whose client reads nothing is cut off, and the others go on", () => {
    const { isolate, one } = settled({ writeMs: 30_000 });
    const other = isolate.subscribe();
    isolate.ran("1", [A]);
    isolate.stuck.add(one);
    isolate.pass(100);
    isolate.changed(A);
    isolate.ran("2", [A]);
    isolate.pass(31_000);
    expect(isolate.ended.get(one)).toMatchObject({ isCut: true, message: null });
    isolate.changed(A);
    isolate.ran("3", [A]);
    expect(isolate.news(other)).toEqual(["1", "2", "3"]);
  });

  test("hears after a quarter of a minute that its connection lives", () => {
    const { isolate, one } = settled({ heartbeatMs: 15_000 });
    isolate.pass(46_000);
    expect(isolate.sent.get(one)).toEqual(["1", "(alive)", "(alive)", "(alive)"]);
  });

  test("is to come back when its time is over, not in step with others, and not while it runs the query", () => {
    const isolate = new Isolate({ lifeMs: 300_000 });
    isolate.inSession(SESSION);
    const [one, other] = [isolate.subscribe("q", { random: 0 }), isolate.subscribe("r", { random: NEAR_ONE })];
    for (const [number, subscriber] of isolate.running) {
      isolate.running.delete(number);
      const run = {
        kind: "outcome",
        id: "1",
        reply: REPLY,
        units: [A],
        isWhole: true,
        session: SESSION,
      } as const;
      isolate.take(isolate.live.step({ kind: "ran", subscriber, number, run, spent: 0, atMs: isolate.clockMs }));
    }
    isolate.pass(241_000);
    expect([isolate.ended.get(one), isolate.ended.get(other)?.retryMs]).toEqual([undefined, 1_000]);
    isolate.pass(58_500);
    isolate.changed(A);
    isolate.pass(5_000);
    expect(isolate.ended.has(one)).toBe(false);
    isolate.ran("2", [A]);
    expect(isolate.sent.get(one)!.at(-1)).toBe("2");
    expect(isolate.ended.get(one)).toMatchObject({ message: null, retryMs: 100, isCut: false });
    expect(isolate.live.isUsed).toBe(false);
  });

  test("is to come back when its request has made as many subrequests as it may", () => {
    const { isolate, one } = settled({ spent: 500 });
    isolate.spent = 499;
    isolate.pass(2_000);
    expect(isolate.ended.has(one)).toBe(false);
    isolate.spent = 500;
    isolate.pass(1_000);
    expect(isolate.ended.get(one)).toMatchObject({ message: null });
  });

  test("has its caller checked anew from time to time", () => {
    const { isolate, one } = settled({ callerMs: 30_000 });
    isolate.pass(29_000);
    expect(isolate.checked).toEqual([]);
    isolate.pass(32_000);
    expect(isolate.checked).toEqual([one, one]);
  });

  test("is refused beyond the limits, of subscribers and of queries", () => {
    const isolate = new Isolate({ subscribers: 3, queries: 2 });
    isolate.subscribe("a");
    isolate.subscribe("b");
    const third = isolate.subscribe("c");
    const same = isolate.subscribe("a");
    const fourth = isolate.subscribe("a");
    expect([isolate.refused, isolate.refused.includes(same)]).toEqual([[third, fourth], false]);
    isolate.leave(same);
    isolate.leave(2);
    isolate.subscribe("c");
    expect(isolate.refused).toHaveLength(2);
  });
});

describe("without a promise", () => {
  test("a query runs from time to time, and when a hint tells of a unit that it read", () => {
    const isolate = new Isolate({ pollMs: 1_000 });
    const one = isolate.subscribe();
    isolate.ran("1", [A], { session: null });
    isolate.pass(999);
    expect(isolate.running.size).toBe(0);
    isolate.pass(1);
    isolate.ran("2", [A], { session: null });
    isolate.pass(200);
    isolate.hinted(B);
    expect(isolate.running.size).toBe(0);
    isolate.hinted(A);
    isolate.ran("3", [A], { session: null });
    expect(isolate.sent.get(one)).toEqual(["1", "2", "3"]);
  });

  test("of which there is one, hints are not needed", () => {
    const { isolate } = settled();
    isolate.hinted(A);
    expect(isolate.running.size).toBe(0);
  });

  test("because its session is over, a query runs at once, and in the next session again", () => {
    const { isolate, one } = settled();
    isolate.inSession(null);
    isolate.ran("2", [A], { session: null });
    isolate.pass(200);
    isolate.inSession(NEXT);
    isolate.ran("3", [A], { session: NEXT });
    isolate.pass(60_000);
    expect([isolate.running.size, isolate.news(one)]).toEqual([0, ["1", "2", "3"]]);
  });

  test("because the session ended while it ran, a query runs again", () => {
    const { isolate } = settled();
    isolate.changed(A);
    isolate.inSession(NEXT);
    isolate.ran("2", [A], { session: SESSION });
    isolate.pass(100);
    isolate.ran("2", [A], { session: NEXT });
    isolate.pass(60_000);
    expect(isolate.running.size).toBe(0);
  });
});

describe("cut off", () => {
  const failed: LiveRun = { kind: "failed", reply: REPLY, isFinal: false };

  test("a query warns that its state may be old, once, and sends the state again when it is the newest for certain", () => {
    const { isolate, one } = settled({ staleMs: 3_000 });
    isolate.inSession(null);
    for (let run = 0; run < 6; run++) {
      isolate.ends(failed);
      isolate.pass(4_000);
    }
    expect(isolate.news(one)).toEqual(["1", "(stale)"]);
    isolate.inSession(NEXT);
    isolate.ran("1", [A], { session: NEXT });
    expect(isolate.news(one)).toEqual(["1", "(stale)", "1"]);
  });

  test("a query runs when nobody has said for three seconds that the session lives, and then from time to time", () => {
    const { isolate } = settled({ proofMs: 3_000, pollMs: 1_000 });
    isolate.isCutOff = true;
    isolate.pass(2_400);
    expect(isolate.running.size).toBe(0);
    isolate.pass(1_000);
    isolate.ran("1", [A]);
    isolate.pass(1_000);
    isolate.ran("1", [A]);
    isolate.isCutOff = false;
    isolate.pass(2_000);
    isolate.ran("1", [A]);
    isolate.pass(60_000);
    expect(isolate.running.size).toBe(0);
  });

  test("a session that was in doubt for a moment costs one run, and not another one when it proves to live", () => {
    const { isolate } = settled({ proofMs: 3_000, pollMs: 60_000 });
    isolate.isCutOff = true;
    isolate.pass(3_400);
    isolate.ran("1", [A]);
    isolate.isCutOff = false;
    isolate.pass(30_000);
    expect(isolate.running.size).toBe(0);
    isolate.changed(A);
    expect(isolate.running.size).toBe(1);
  });

  test("nor does one that proves to live while that run is under way", () => {
    const { isolate } = settled({ proofMs: 3_000 });
    isolate.isCutOff = true;
    isolate.pass(3_400);
    isolate.isCutOff = false;
    isolate.pass(1_000);
    isolate.ran("1", [A]);
    isolate.pass(60_000);
    expect(isolate.running.size).toBe(0);
  });

  test("runs that fail are repeated after a wait that doubles", () => {
    const { isolate } = settled({ backoffMs: 250, longestBackoffMs: 1_000 });
    isolate.changed(A);
    const waits: number[] = [];
    for (let run = 0; run < 5; run++) {
      isolate.ends(failed);
      let ms = 0;
      for (; isolate.running.size === 0; ms += 10) isolate.pass(10);
      waits.push(ms);
    }
    expect(waits).toEqual([250, 500, 1_000, 1_000, 1_000]);
  });

  test("a run that can't succeed ends the streams with its error", () => {
    const { isolate, one } = settled();
    isolate.changed(A);
    isolate.ends({ kind: "failed", reply: { status: 500, body: "broken" }, isFinal: true });
    expect(isolate.ended.get(one)).toMatchObject({ message: { kind: "error", body: "broken" }, retryMs: 5_000 });
    expect(isolate.live.isUsed).toBe(false);
  });

  test("a stream that has to end says why", () => {
    const { isolate, one } = settled();
    isolate.take(
      isolate.live.step({
        kind: "retired",
        subscriber: one,
        reply: { status: 401, body: "signed out" },
        atMs: isolate.clockMs,
      }),
    );
    expect(isolate.ended.get(one)).toMatchObject({ message: { kind: "error", body: "signed out" } });
  });
});

test("a run that does not end keeps the query from nobody: another subscriber has the next one", () => {
  const { isolate, one } = settled();
  const two = isolate.subscribe();
  isolate.ran("1", [A]);
  isolate.pass(500);
  isolate.changed(A);
  expect([...isolate.running.values()]).toEqual([one]);
  isolate.pass(31_000);
  expect([...isolate.running.values()]).toEqual([one, two]);
  isolate.running.delete(Math.min(...isolate.running.keys()));
  isolate.ran("2", [A]);
  expect(isolate.news(two).at(-1)).toBe("2");
});

describe("a clock that is set back by an hour", () => {
  const HOUR_MS = 3_600_000;

  test("holds up no run, and no check of the caller", () => {
    const { isolate, one } = settled();
    isolate.setBackMs = HOUR_MS;
    isolate.pass(1_000);
    isolate.changed(A);
    isolate.pass(1_000);
    isolate.ran("2", [A]);
    expect(isolate.news(one).at(-1)).toBe("2");
    isolate.pass(DEFAULT_LIVE_BOUNDS.callerMs);
    expect(isolate.checked).toContain(one);
  });

  test("does not keep from a client that the last state may be an old one", () => {
    const { isolate, one } = settled();
    isolate.isCutOff = true;
    isolate.setBackMs = HOUR_MS;
    // The first tick sees the clock. The time since the one before it is not known.
    isolate.pass(1_000 + DEFAULT_LIVE_BOUNDS.proofMs + DEFAULT_LIVE_BOUNDS.staleMs);
    expect(isolate.news(one).at(-1)).toBe("(stale)");
  });

  test("lengthens neither a stream's life nor the time for which a run is waited for", () => {
    const { isolate, one } = settled();
    const two = isolate.subscribe();
    isolate.ran("1", [A]);
    isolate.pass(500);
    isolate.changed(A);
    expect([...isolate.running.values()]).toEqual([one]);
    isolate.setBackMs = HOUR_MS;
    isolate.pass(DEFAULT_LIVE_BOUNDS.runMs + 3_000);
    expect([...isolate.running.values()]).toContain(two);
    isolate.running.clear();
    isolate.pass(DEFAULT_LIVE_BOUNDS.lifeMs + DEFAULT_LIVE_BOUNDS.runMs);
    expect(isolate.ended.has(one)).toBe(true);
  });
});

describe("of more units than may be watched", () => {
  test("a query is polled, and takes no watch from another one", () => {
    const { isolate } = settled({ watched: 2 });
    const two = isolate.subscribe("r");
    expect(isolate.manner).toEqual({ takesLeases: true, watches: true });
    isolate.ran("2", [A, B, unitId("notes", "c")]);
    isolate.changed(B);
    isolate.pass(100);
    expect(isolate.manner).toEqual({ takesLeases: true, watches: false });
    isolate.ran("3", [A, B, unitId("notes", "c")], { session: null });
    // A lease may have answered, and no watched run follows for that.
    isolate.pass(900);
    expect(isolate.running.size).toBe(0);
    isolate.pass(100);
    expect([...isolate.running.values()]).toEqual([two]);
    expect(isolate.manner).toEqual({ takesLeases: true, watches: false });
    isolate.ran("4", [A, B], { session: null });
    // There is room for it now.
    isolate.pass(100);
    expect(isolate.manner).toEqual({ takesLeases: false, watches: true });
    isolate.ran("4", [A, B]);
    isolate.pass(5_000);
    expect(isolate.running.size).toBe(0);
  });

  test("a query is watched that reads what others watch, and one that comes after they have ended", () => {
    const { isolate, one } = settled({ watched: 1 });
    isolate.subscribe("r");
    isolate.ran("1", [A]);
    isolate.pass(5_000);
    expect(isolate.running.size).toBe(0);
    isolate.leave(one);
    const three = isolate.subscribe("s");
    isolate.ran("1", [B]);
    isolate.changed(B);
    isolate.pass(100);
    expect(isolate.manner?.watches).toBe(false);
    isolate.ran("2", [B], { session: null });
    isolate.leave(2);
    isolate.pass(1_000);
    isolate.ran("2", [B], { session: null });
    isolate.pass(100);
    expect([...isolate.running.values()]).toEqual([three]);
    expect(isolate.manner?.watches).toBe(true);
  });
});

test("a state counts as fresh up to the last proof of the session that covered it, and no warning comes before", () => {
  const { isolate, one } = settled();
  // The next session is not proven yet.
  isolate.live.inSession(NEXT, -Infinity, isolate.clockMs);
  isolate.take(isolate.live.take());
  isolate.isCutOff = true;
  isolate.pass(2_000);
  expect(isolate.news(one)).toEqual(["1"]);
  isolate.pass(2_000);
  expect(isolate.news(one)).toEqual(["1", "(stale)"]);
});
