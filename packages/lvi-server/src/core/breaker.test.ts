/** The breaker of a service, in virtual time. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Breaker, type Probe } from "./breaker.ts";

const OPTIONS = { opensAfter: 3, firstPauseMs: 1_000, longestPauseMs: 4_000 };

function opened(): Breaker {
  const breaker = new Breaker(OPTIONS);
  for (let n = 0; n < 3; n++) breaker.failed(breaker.began(), false, 0);
  return breaker;
}

test("it opens after failures in a row, and a success between them counts anew", () => {
  const breaker = new Breaker(OPTIONS);
  expect([1, 2].map(() => breaker.failed(breaker.began(), false, 0))).toEqual([false, false]);
  expect(breaker.succeeded()).toBe(false);
  expect([1, 2, 3].map(() => breaker.failed(breaker.began(), false, 0))).toEqual([false, false, true]);
  expect([breaker.state, breaker.mayCall(999), breaker.wakeAtMs(0)]).toEqual(["open", false, 1_000]);
});

test("where nobody is to be called, one failure is enough", () => {
  const breaker = new Breaker(OPTIONS);
  expect(breaker.failed(breaker.began(), true, 5)).toBe(true);
  expect(breaker.wakeAtMs(5)).toBe(1_005);
});

test("after the pause one call is the probe, and pauses grow up to the longest", () => {
  const breaker = opened();
  let nowMs = 0;
  for (const pauseMs of [1_000, 2_000, 4_000, 4_000]) {
    expect([breaker.mayCall(nowMs + pauseMs - 1), breaker.mayCall(nowMs + pauseMs)]).toEqual([false, true]);
    nowMs += pauseMs;
    const probe = breaker.began();
    expect(probe).not.toBeNull();
    expect([breaker.mayCall(nowMs), breaker.state, breaker.wakeAtMs(nowMs)]).toEqual([false, "probing", Infinity]);
    expect(breaker.failed(probe, false, nowMs)).toBe(false);
  }
  expect(breaker.succeeded()).toBe(true);
  expect([breaker.state, breaker.failures]).toEqual(["closed", 0]);
});

test("calls that began before others failed change nothing, unless one succeeds", () => {
  const breaker = opened();
  expect(breaker.failed(null, false, 900)).toBe(false);
  expect(breaker.mayCall(1_000)).toBe(true);
  breaker.gaveUp(breaker.began());
  expect(breaker.mayCall(1_000)).toBe(true);
  expect(breaker.succeeded()).toBe(true);
  expect(breaker.mayCall(0)).toBe(true);
});

test("a probe from before the breaker was closed does not count as one when it is open again", () => {
  const breaker = opened();
  const stale = breaker.began();
  breaker.succeeded();
  for (let n = 0; n < 3; n++) breaker.failed(breaker.began(), false, 2_000);
  const probe = breaker.began();
  expect(breaker.failed(stale, false, 3_000)).toBe(false);
  breaker.gaveUp(stale);
  expect([breaker.state, breaker.mayCall(1e9)]).toEqual(["probing", false]);
  breaker.failed(probe, false, 3_000);
  expect([breaker.state, breaker.wakeAtMs(3_000)]).toEqual(["open", 5_000]);
});

test("property: while it probes, the probe that it began last is under way, and no other call begins", () => {
  const steps = fc.array(
    fc.record({ ms: fc.integer({ min: 0, max: 5_000 }), end: fc.constantFrom("ok", "bad", "none") }),
  );
  fc.assert(
    fc.property(steps, (list) => {
      const breaker = new Breaker(OPTIONS);
      const calls: Probe[] = [];
      let nowMs = 0;
      for (const { ms, end } of list) {
        nowMs += ms;
        if (breaker.mayCall(nowMs)) calls.push(breaker.began());
        const last = Math.max(0, ...calls.map((probe) => probe ?? 0));
        if (breaker.state === "probing") expect(calls).toContain(last);
        if (breaker.state !== "closed") expect(breaker.state === "open" || !breaker.mayCall(Infinity)).toBe(true);
        if (end === "none") continue;
        const probe = calls.shift();
        if (probe === undefined) continue;
        if (end === "bad") breaker.failed(probe, false, nowMs);
        else {
          breaker.succeeded();
          expect([breaker.state, breaker.failures]).toEqual(["closed", 0]);
        }
      }
    }),
  );
});
