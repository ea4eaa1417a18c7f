/** How an isolate keeps its session: what it hears, when it says so, and for how long it counts on its leases. */
import { commitId, type Entry, entryOf, type Line, sessionId, type UnitId, unitId } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import type { LocationEffect, LocationEvent, Wake } from "./effects.ts";
import { DEFAULT_LISTENING_BOUNDS, Listening } from "./listening.ts";
import { LiveQueries } from "./live-queries.ts";
import { PrimaryLink } from "./primary-link.ts";

const UNIT = unitId("notes", "a");
const OTHER = unitId("notes", "b");
const ENTRY = entryOf(commitId(3, 5), Uint8Array.of(7));
const ONE = sessionId(3, 1);
const TWO = sessionId(3, 2);

const begins = (session = ONE, n = 0): Line => ({ kind: "session", session, n });
const leases = (n: number, unit: UnitId = UNIT): Line => ({
  kind: "lease",
  n,
  units: [{ unit, version: ENTRY.version }],
});
const revokes = (n: number, unit: UnitId = UNIT): Line => ({ kind: "revoke", n, units: [unit] });

/** An isolate and what it wants. Nothing happens to it by itself: no message arrives, no timer runs out. */
class Isolate {
  readonly primary = new PrimaryLink(2);
  readonly live = new LiveQueries();
  readonly listening = new Listening(this.primary, "isolate", this.live, DEFAULT_LISTENING_BOUNDS);

  free(atMs: number): readonly LocationEffect[] {
    return this.listening.onFree({ kind: "free", location: "VA", atMs });
  }

  told(atMs: number, shift: number, ...lines: readonly Line[]): readonly LocationEffect[] {
    return this.listening.onTold({ kind: "told", shift, lines, held: [], atMs });
  }

  heard(atMs: number, hearing: number, forMs: number | "lapsed" | null): readonly LocationEffect[] {
    const reply: Extract<LocationEvent, { kind: "heard" }>["reply"] =
      forMs === null
        ? null
        : forMs === "lapsed"
          ? { kind: "lapsed" }
          : { kind: "renewed", untilMs: 90_000 + forMs, nowMs: 90_000 };
    return this.listening.onHeard({ kind: "heard", hearing, reply, atMs });
  }

  woken(atMs: number, why: Wake): readonly LocationEffect[] {
    return this.listening.onWoken({ kind: "woken", why, atMs });
  }

  listened(atMs: number, shift: number, isOver: boolean): void {
    this.listening.onListened({ kind: "listened", shift, isOver, atMs });
  }

  isLeased(atMs: number, entry: Entry = ENTRY, unit = UNIT): boolean {
    return this.primary.leases.look(new Set([unit]), new Map([[unit, entry]]), atMs);
  }
}

/** It listens with a session, holds a lease of the unit, and the server has promised it for 3 s from 1,000 on. */
function leasing(): Isolate {
  const isolate = new Isolate();
  isolate.free(1_000);
  expect(hears(isolate.told(1_000, 1, begins(), leases(1)))).toEqual([1]);
  expect(wakes(isolate.heard(1_100, 1, 3_000))).toEqual(["term 2200"]);
  expect(isolate.isLeased(1_200)).toBe(true);
  return isolate;
}

/** The numbers up to which the effects say that all was heard. */
const hears = (effects: readonly LocationEffect[]): readonly number[] =>
  effects.flatMap((effect) => (effect.kind === "hear" ? [effect.heard.n] : []));
const wakes = (effects: readonly LocationEffect[]): readonly string[] =>
  effects.flatMap((effect) => (effect.kind === "wake" ? [`${effect.why.kind} ${effect.ms}`] : []));
const questions = (effects: readonly LocationEffect[]): readonly unknown[] =>
  effects.flatMap((effect) =>
    effect.kind === "listen" ? [[effect.question.session, effect.question.heard, effect.question.ends]] : [],
  );

describe("heard is said", () => {
  test("when a session begins, with timers for its age and for the next one", () => {
    const isolate = new Isolate();
    expect(questions(isolate.free(0))).toEqual([[null, 0, null]]);
    const [hear, ...timers] = isolate.told(5, 1, begins());
    const heard = { session: ONE, n: 0, served: [] };
    expect(hear).toEqual({ kind: "hear", hearing: 1, server: 0, heard, timeoutMs: 5_000 });
    expect(wakes(timers)).toEqual(["tick 250", "beat 1000"]);
  });

  test("once for all lines that have come together, after all of them were processed", () => {
    const isolate = leasing();
    expect(hears(isolate.told(1_200, 1, leases(2, OTHER), revokes(3), revokes(4, OTHER)))).toEqual([4]);
    expect(isolate.isLeased(1_200)).toBe(false);
    expect(isolate.isLeased(1_200, ENTRY, OTHER)).toBe(false);
  });

  test("at once after a revocation, and for a lease or a change only with the next renewal", () => {
    const isolate = leasing();
    expect(hears(isolate.told(1_200, 1, leases(2, OTHER), { kind: "changed", n: 3, units: [UNIT] }))).toEqual([]);
    expect(hears(isolate.woken(2_000, { kind: "beat", hearing: 1 }))).toEqual([3]);
    expect(hears(isolate.told(2_001, 1, revokes(4)))).toEqual([4]);
  });

  test("each second while leases are held and requests come", () => {
    const isolate = leasing();
    expect(hears(isolate.woken(2_000, { kind: "beat", hearing: 1 }))).toEqual([1]);
    // The beat of an earlier message says nothing: the later one has its own.
    expect(hears(isolate.woken(2_001, { kind: "beat", hearing: 1 }))).toEqual([]);
    isolate.free(9_000);
    expect(hears(isolate.woken(9_900, { kind: "beat", hearing: 3 }))).toEqual([1]);
    expect(hears(isolate.woken(20_000, { kind: "beat", hearing: 4 }))).toEqual([]);
  });

  test("by the next request, if the one whose timers ran has ended", () => {
    const isolate = leasing();
    expect(hears(isolate.free(2_499))).toEqual([]);
    expect(hears(isolate.free(2_500))).toEqual([1]);
  });

  test("by the request that takes over, so that timers live with the one that listens", () => {
    const isolate = leasing();
    isolate.listened(1_300, 1, true);
    isolate.free(1_400);
    isolate.told(1_400, 2, begins(ONE, 1));
    isolate.listened(1_500, 2, true);
    expect(hears(isolate.free(1_600))).toEqual([]);
    isolate.told(1_700, 3, begins(ONE, 1));
    expect(hears(isolate.free(16_600))).toEqual([1]);
  });

  test("again after a second, if no answer says that the server knows of a revocation", () => {
    const isolate = leasing();
    expect(hears(isolate.told(1_200, 1, revokes(2)))).toEqual([2]);
    isolate.heard(1_300, 2, null);
    expect(hears(isolate.woken(2_200, { kind: "beat", hearing: 2 }))).toEqual([2]);
    isolate.heard(2_300, 3, 3_000);
    expect(hears(isolate.woken(3_200, { kind: "beat", hearing: 3 }))).toEqual([]);
  });

  test("not again forever to a server that is gone", () => {
    const isolate = leasing();
    isolate.told(1_200, 1, revokes(2));
    isolate.heard(1_300, 2, null);
    expect(hears(isolate.woken(11_100, { kind: "beat", hearing: 2 }))).toEqual([2]);
    isolate.heard(11_150, 3, null);
    expect(hears(isolate.woken(12_100, { kind: "beat", hearing: 3 }))).toEqual([]);
  });

  test("by at most four messages at a time; the next answer lets the rest go", () => {
    const isolate = leasing();
    for (const n of [2, 3, 4, 5]) expect(hears(isolate.told(1_200, 1, revokes(n)))).toEqual([n]);
    for (const n of [6, 7]) expect(hears(isolate.told(1_200, 1, revokes(n)))).toEqual([]);
    expect(hears(isolate.heard(1_300, 2, 3_000))).toEqual([7]);
    // Requests that were cut off hear no answer.
    for (const n of [8, 9]) expect(hears(isolate.told(1_300, 1, revokes(n)))).toEqual([]);
    expect(hears(isolate.told(6_301, 1, revokes(10)))).toEqual([10]);
  });

  test("with the reads of leases that have ended, once", () => {
    const isolate = leasing();
    isolate.isLeased(1_200);
    const [first] = isolate.told(1_300, 1, revokes(2));
    expect(first).toMatchObject({ heard: { served: [{ unit: UNIT, reads: 2 }] } });
    expect(isolate.woken(2_300, { kind: "beat", hearing: 2 })[0]).toMatchObject({ heard: { n: 2, served: [] } });
  });

  test("never of a session that the isolate has not", () => {
    const isolate = new Isolate();
    isolate.free(0);
    expect(isolate.told(0, 1, leases(1), revokes(2))).toEqual([]);
    expect(isolate.isLeased(0)).toBe(false);
  });
});

describe("lines count from one stream at a time", () => {
  test("a stream goes on with the session, and repeats what was not heard", () => {
    const isolate = leasing();
    isolate.listened(1_300, 1, false);
    expect(questions(isolate.free(1_301))).toEqual([[ONE, 1, null]]);
    expect(isolate.isLeased(1_302)).toBe(true);
    expect(hears(isolate.told(1_400, 2, begins(ONE, 0), leases(1), revokes(2)))).toEqual([2]);
    expect(isolate.isLeased(1_401)).toBe(false);
  });

  test("the earlier stream counts until the later one has begun, and no longer", () => {
    const isolate = leasing();
    isolate.free(16_000);
    expect(hears(isolate.told(16_001, 1, revokes(2)))).toEqual([2]);
    isolate.told(16_002, 2, begins(TWO), leases(1));
    isolate.heard(16_100, 4, 3_000);
    isolate.told(16_200, 1, revokes(2), leases(3, OTHER));
    expect(isolate.isLeased(16_201)).toBe(true);
    expect(isolate.isLeased(16_201, ENTRY, OTHER)).toBe(false);
    // Also a first line that comes too late begins nothing.
    isolate.told(16_300, 1, begins(ONE, 2), revokes(3));
    expect(isolate.primary.leases.session).toBe(TWO);
    expect(isolate.isLeased(16_301)).toBe(true);
  });

  test("hints of any stream count", () => {
    const isolate = leasing();
    const entries = [{ unit: UNIT, entry: ENTRY }];
    isolate.free(16_000);
    isolate.told(16_002, 2, begins(TWO));
    const hint: Line = { kind: "hint", entries };
    const effects = isolate.listening.onTold({ kind: "told", shift: 1, lines: [hint], held: [UNIT], atMs: 16_003 });
    expect(effects).toEqual([{ kind: "refresh", entries }]);
  });

  test("a gap ends the session: the next request ends it at the server, and asks for another one", () => {
    const isolate = leasing();
    expect(hears(isolate.told(1_200, 1, revokes(3, OTHER)))).toEqual([]);
    expect(isolate.isLeased(1_201)).toBe(false);
    // Its later lines are not heard.
    expect(isolate.told(1_202, 1, revokes(4))).toEqual([]);
    expect(questions(isolate.free(1_203))).toEqual([[null, 0, ONE]]);
    expect(hears(isolate.told(1_300, 2, begins(TWO)))).toEqual([0]);
  });

  test("a session is ended at the server though another one begins by a question that did not say so", () => {
    const isolate = new Isolate();
    expect(questions(isolate.free(1_000))).toEqual([[null, 0, null]]);
    expect(questions(isolate.free(16_001))).toEqual([[null, 0, null]]);
    isolate.told(16_100, 1, begins(), leases(1));
    isolate.told(16_200, 1, revokes(3, OTHER));
    isolate.told(16_300, 2, begins(TWO));
    expect(questions(isolate.free(16_301))).toEqual([[TWO, 0, ONE]]);
    // A question that no server has met says nothing.
    isolate.listened(16_400, 3, false);
    expect(questions(isolate.free(21_401))).toEqual([[TWO, 0, ONE]]);
    isolate.told(21_500, 4, begins(TWO));
    expect(questions(isolate.free(36_402))).toEqual([[TWO, 0, null]]);
  });

  test("another server that leads mints another session, which has no leases of the one before", () => {
    const isolate = leasing();
    isolate.listened(1_300, 1, false);
    isolate.free(1_301);
    isolate.told(1_400, 2, begins(sessionId(4, 1)));
    expect(isolate.isLeased(1_401)).toBe(false);
  });

  test("a session lives for certain once a server that leads has answered what was heard of it", () => {
    const isolate = new Isolate();
    isolate.free(1_000);
    isolate.told(1_100, 1, begins());
    expect(isolate.listening.provenAtMs).toBe(-Infinity);
    isolate.heard(1_200, 1, 3_000);
    expect(isolate.listening.provenAtMs).toBe(1_100);
    isolate.listened(1_300, 1, false);
    isolate.free(1_301);
    isolate.told(1_400, 2, begins(sessionId(4, 1)));
    expect(isolate.listening.provenAtMs).toBe(-Infinity);
  });

  test("a server that knows no sessions leases nothing", () => {
    const isolate = new Isolate();
    isolate.free(0);
    expect(isolate.told(1, 1, { kind: "hint", entries: [{ unit: UNIT, entry: ENTRY }] })).toEqual([]);
    isolate.listened(2, 1, true);
    expect(questions(isolate.free(3))).toEqual([[null, 0, null]]);
  });
});

describe("the time of leases", () => {
  test("counts from the sending of the message, not from its answer", () => {
    const isolate = leasing();
    isolate.woken(2_000, { kind: "beat", hearing: 1 });
    isolate.heard(4_000, 2, 3_000);
    expect(isolate.isLeased(4_449)).toBe(true);
    expect(isolate.isLeased(4_450)).toBe(false);
  });

  test("ends with a timer, whatever the clock says", () => {
    const isolate = leasing();
    isolate.woken(1_100, { kind: "term", term: 1 });
    expect(isolate.isLeased(1_101)).toBe(false);
  });

  test("is shorter by that timer for an answer that took long, since the clock may have been set meanwhile", () => {
    const isolate = leasing();
    isolate.woken(2_000, { kind: "beat", hearing: 1 });
    for (let tick = 0; tick < 3; tick++)
      expect(wakes(isolate.woken(2_000, { kind: "tick", hearing: 2 }))).toEqual(["tick 250"]);
    expect(wakes(isolate.heard(2_000, 2, 3_000))).toEqual(["term 1450"]);
    expect(wakes(isolate.woken(2_000, { kind: "tick", hearing: 2 }))).toEqual([]);

    const late = leasing();
    late.woken(2_000, { kind: "beat", hearing: 1 });
    for (let tick = 0; tick < 9; tick++) late.woken(2_000, { kind: "tick", hearing: 2 });
    expect(wakes(late.heard(2_000, 2, 3_000))).toEqual([]);
    expect(late.isLeased(2_000)).toBe(false);
  });

  test("is unknown after a clock was set back: answers on their way say nothing, and the next one does", () => {
    const isolate = leasing();
    isolate.woken(2_000, { kind: "beat", hearing: 1 });
    isolate.heard(1_000, 2, 3_000);
    expect(isolate.isLeased(1_001)).toBe(false);
    expect(hears(isolate.free(1_002))).toEqual([1]);
    isolate.heard(1_100, 3, 3_000);
    expect(isolate.isLeased(1_101)).toBe(true);
  });

  test("is unknown too after an execution was the first to see that the clock was set back", () => {
    const isolate = leasing();
    expect(hears(isolate.free(3_600_000))).toEqual([1]);
    expect(isolate.isLeased(1_000)).toBe(false);
    expect(isolate.heard(1_100, 2, 3_000)).toEqual([]);
    expect(isolate.isLeased(1_101)).toBe(false);
    expect(isolate.listening.provenAtMs).toBe(-Infinity);
    expect(questions(isolate.free(1_102))).toHaveLength(1);
  });

  test("a session that has lapsed is over, with its leases, and a later answer does not bring it back", () => {
    const isolate = leasing();
    isolate.woken(2_000, { kind: "beat", hearing: 1 });
    isolate.woken(3_000, { kind: "beat", hearing: 2 });
    isolate.heard(3_100, 3, "lapsed");
    expect(isolate.isLeased(3_101)).toBe(false);
    expect(isolate.heard(3_102, 2, 3_000)).toEqual([]);
    expect(isolate.isLeased(3_103)).toBe(false);
    isolate.free(3_200);
    isolate.told(3_201, 2, begins(TWO), leases(1));
    isolate.heard(3_202, 2, 3_000);
    expect(isolate.isLeased(3_203)).toBe(false);
  });

  test("no answer is not an end: the leases last as long as was promised", () => {
    const isolate = leasing();
    isolate.woken(2_000, { kind: "beat", hearing: 1 });
    isolate.heard(2_100, 2, null);
    expect(isolate.isLeased(3_449)).toBe(true);
    expect(isolate.isLeased(3_450)).toBe(false);
  });
});
