/** The breaker of a service, in virtual time. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Breaker } from "./breaker.ts";

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
    expect(breaker.began()).toBe(true);
    expect([breaker.mayCall(nowMs), breaker.state, breaker.wakeAtMs(nowMs)]).toEqual([false, "probing", Infinity]);
    expect(breaker.failed(true, false, nowMs)).toBe(false);
  }
  expect(breaker.succeeded()).toBe(true);
  expect([breaker.state, breaker.failures]).toEqual(["closed", 0]);
});

test("calls that began before others failed change nothing, unless one succeeds", () => {
  const breaker = opened();
  expect(breaker.failed(false, false, 900)).toBe(false);
  expect(breaker.mayCall(1_000)).toBe(true);
  breaker.began();
  breaker.gaveUp(true);
  expect(breaker.mayCall(1_000)).toBe(true);
  expect(breaker.succeeded()).toBe(true);
  expect(breaker.mayCall(0)).toBe(true);
});

test("property: while it is not closed one probe at most is under way, and a success always closes it", () => {
  const steps = fc.array(
    fc.record({ ms: fc.integer({ min: 0, max: 5_000 }), end: fc.constantFrom("ok", "bad", "none") }),
  );
  fc.assert(
    fc.property(steps, (list) => {
      const breaker = new Breaker(OPTIONS);
      const calls: boolean[] = [];
      let nowMs = 0;
      for (const { ms, end } of list) {
        nowMs += ms;
        if (breaker.mayCall(nowMs)) calls.push(breaker.began());
        if (breaker.state !== "closed") expect(calls.filter((isProbe) => isProbe).length).toBeLessThanOrEqual(1);
        if (end === "none") continue;
        const isProbe = calls.shift();
        if (isProbe === undefined) continue;
        if (end === "bad") breaker.failed(isProbe, false, nowMs);
        else {
          breaker.succeeded();
          expect(breaker.state).toBe("closed");
          // Probes are calls like others from then on.
          calls.fill(false);
        }
      }
    }),
  );
});
