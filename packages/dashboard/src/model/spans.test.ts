import type { LifeSpan, LifeSpanName } from "@radical/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { life } from "../testing/lives.ts";
import { PARTS, partsOf, roundTripOf, waitOf } from "./spans.ts";

const tookUs = 200_000;
const spans: readonly LifeSpan[] = [
  ["set", 1_000, 500],
  ["run", 2_000, 37_000],
  ["send", 1_600, 150_000],
];

test("the parts of a call are its time: whatever overlaps counts once", () => {
  const name = fc.constantFrom<LifeSpanName>("set", "fetch", "run", "send");
  const span = fc.tuple(name, fc.nat(300_000), fc.nat(300_000));
  fc.assert(
    fc.property(fc.array(span, { maxLength: 24 }), fc.nat(300_000), (all, took) => {
      const parts = partsOf(life({ tookUs: took, spans: all }));
      expect(PARTS.reduce((sum, part) => sum + parts[part], 0)).toBe(took);
      for (const part of PARTS) expect(parts[part]).toBeGreaterThanOrEqual(0);
    }),
  );
});

test("the run hides the time of the question, as far as it lasts", () => {
  expect(partsOf(life({ tookUs, spans }))).toEqual({
    run: 37_000,
    set: 500,
    fetch: 0,
    send: 112_600 + 400,
    rest: 200_000 - 37_000 - 500 - 113_000,
  });
});

test("the primary's time lies in the middle of the way", () => {
  const call = { id: 1, life: life({ tookUs, spans }), primary: life({ side: "primary", tookUs: 10_000 }) };
  const trip = roundTripOf(call, null);
  expect(trip).toEqual({
    there: { startUs: 1_600, tookUs: 70_000 },
    at: { startUs: 71_600, tookUs: 10_000 },
    back: { startUs: 81_600, tookUs: 70_000 },
    unread: { startUs: 151_600, tookUs: 0 },
    before: 0,
  });
  expect(roundTripOf({ ...call, primary: null }, null)).toBeNull();
});

test("a reply that came while the handler ran here has waited to be read", () => {
  const long = life({
    tookUs,
    spans: [
      ["send", 0, 60_000],
      ["run", 1_000, 59_000],
    ],
  });
  const trip = roundTripOf({ id: 1, life: long, primary: life({ side: "primary", tookUs: 4_000 }) }, 8_000);
  expect(trip).toMatchObject({
    there: { tookUs: 4_000 },
    back: { tookUs: 4_000 },
    unread: { startUs: 12_000, tookUs: 48_000 },
  });
});

test("an answer of the primary is never longer than the question for it", () => {
  const trip = roundTripOf(
    { id: 1, life: life({ tookUs, spans }), primary: life({ side: "primary", tookUs: 900_000 }) },
    1_000,
  );
  expect(trip).toMatchObject({ there: { tookUs: 0 }, at: { tookUs: 150_000 }, back: { tookUs: 0 } });
});

test("the caller waits for the primary from the end of the run", () => {
  expect(waitOf(life({ tookUs, spans }))).toEqual({ startUs: 39_000, tookUs: 112_600 });
  expect(waitOf(life({ tookUs, spans: [["run", 0, 5]] }))).toBeNull();
});
