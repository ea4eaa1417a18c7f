/**
 * The waterfall beside what really happened: calls whose every moment is known, told as both sides would. The location counts whole
 * milliseconds, the primary has a clock of its own, and the two ways of a message differ.
 */
import type { CommitId, LifeSpan, LifeSpanName, UnitId } from "@radical/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { life } from "../testing/lives.ts";
import { idealUs } from "./central.ts";
import type { Call } from "./join.ts";
import { PARTS, partsOf, roundTripOf, waitOf } from "./spans.ts";
import { sentenceOf, tickWords } from "./words.ts";

/** The bound of each bar, and of the sum. */
const WITHIN_US = 5_000;
const UNIT = "posts/7" as UnitId;
const [OLD, NEW] = ["00000001-000000000001", "00000001-000000000002"] as [CommitId, CommitId];

/** `here`: while the question is under way. `after`: when the answer to it has come. */
type RunsHere = "here" | "after" | "no";

const PATHS: readonly { readonly reason: string; readonly path: Call["life"]["path"]; readonly runs: RunsHere }[] = [
  { reason: "valid", path: "speculative", runs: "here" },
  { reason: "doubted", path: "speculative", runs: "after" },
  { reason: "unchanged", path: "leased", runs: "here" },
  // The run here is given up when the reply comes.
  { reason: "missing", path: "near-storage", runs: "here" },
  { reason: "stale", path: "near-storage", runs: "here" },
  { reason: "hot", path: "near-storage", runs: "no" },
  { reason: "plan", path: "near-storage", runs: "no" },
  { reason: "stored", path: "near-storage", runs: "no" },
  { reason: "suspended", path: "near-storage", runs: "no" },
];

/** Real times, in microseconds. */
interface Truth {
  readonly startUs: number;
  readonly setUs: number;
  readonly fetchUs: number;
  readonly thereUs: number;
  readonly atUs: number;
  readonly backUs: number;
  readonly runUs: number;
  readonly skewMs: number;
}

const us = (mostMs: number): fc.Arbitrary<number> => fc.nat(mostMs * 1_000);
const truths: fc.Arbitrary<Truth> = fc.record({
  startUs: us(1_000),
  setUs: us(4),
  fetchUs: us(8),
  // Ways there and back may differ by a few milliseconds: they are shown as equal.
  thereUs: fc.integer({ min: 70_000, max: 73_000 }),
  atUs: us(80),
  backUs: fc.integer({ min: 70_000, max: 73_000 }),
  runUs: us(250),
  skewMs: fc.integer({ min: -1e6, max: 1e6 }),
});

/** The call as it is told, and what really was. */
function happened({ path, reason, runs }: (typeof PATHS)[number], truth: Truth) {
  const { startUs, setUs, fetchUs, thereUs, atUs, backUs, runUs, skewMs } = truth;
  const asks = path !== "leased";
  const setFrom = startUs;
  const fetchFrom = setFrom + setUs;
  const sent = fetchFrom + fetchUs;
  const back = asks ? sent + thereUs + atUs + backUs : sent;
  const runFrom = runs === "after" ? back : sent;
  const ran = runs === "no" ? 0 : runUs;
  const isUsed = path !== "near-storage";
  // The isolate reads the reply when its run is over.
  const answered = Math.max(back, runFrom + ran);
  const spans: LifeSpan[] = [];
  const told = (name: LifeSpanName, from: number, to: number): void => {
    const ms = (at: number): number => Math.floor(at / 1_000) * 1_000;
    spans.push([name, ms(from) - ms(startUs), ms(to) - ms(from)]);
  };
  told("set", setFrom, fetchFrom);
  told("fetch", fetchFrom, sent);
  if (ran > 0) told("run", runFrom, runFrom + ran);
  if (asks) told("send", sent, runs === "here" ? Math.max(back, runFrom + ran) : back);
  const isOfUnit = reason === "missing" || reason === "stale" || reason === "hot";
  const call: Call = {
    id: 1,
    life: life({
      path,
      reason,
      attempt: asks ? 1 : 0,
      spans,
      units: [[UNIT, "read", OLD]],
      tookUs: Math.floor(answered / 1_000) * 1_000 - Math.floor(startUs / 1_000) * 1_000,
      atMs: Math.floor(startUs / 1_000),
    }),
    primary: asks
      ? life({
          side: "primary",
          atMs: Math.round((sent + thereUs) / 1_000) + skewMs,
          tookUs: atUs,
          because: isOfUnit ? { unit: UNIT, had: reason === "missing" ? null : OLD, is: NEW } : null,
        })
      : null,
  };
  return {
    call,
    sent,
    arrived: sent + thereUs,
    left: sent + thereUs + atUs,
    back,
    answered,
    runEnd: runFrom + ran,
    isUsed,
  };
}

const near = (shown: number, real: number): void => expect(Math.abs(shown - real)).toBeLessThanOrEqual(WITHIN_US);

test.each(PATHS)("$reason: the parts add up to the caller's time, and each bar is where it was", (known) => {
  fc.assert(
    fc.property(truths, (truth) => {
      const { call, sent, arrived, left, back, answered } = happened(known, truth);
      const { startUs } = truth;
      const parts = partsOf(call.life);
      near(
        PARTS.reduce((sum, part) => sum + parts[part], 0),
        answered - startUs,
      );
      const trip = roundTripOf(call, truth.thereUs + truth.backUs);
      expect(trip === null).toBe(call.primary === null);
      if (trip === null) return;
      near(trip.there.startUs, sent - startUs);
      near(trip.at.startUs, arrived - startUs);
      near(trip.at.startUs + trip.at.tookUs, left - startUs);
      near(trip.back.startUs + trip.back.tookUs, back - startUs);
      // Until it is read.
      const spanned = trip.there.tookUs + trip.at.tookUs + trip.back.tookUs + trip.unread.tookUs;
      near(spanned, call.life.spans.find(([name]) => name === "send")![2]);
    }),
  );
});

test.each(PATHS.filter(({ runs }) => runs !== "no"))(
  "$reason: the wait for the primary is what the run does not hide",
  (known) => {
    fc.assert(
      fc.property(truths, (truth) => {
        const { call, sent, back, answered, runEnd } = happened(known, truth);
        const wait = waitOf(call.life);
        expect(wait === null).toBe(call.primary === null);
        if (wait === null) return;
        if (known.runs === "after") near(wait.tookUs, back - sent);
        else near(wait.tookUs, Math.max(0, back - runEnd));
        if (known.path === "speculative") near(idealUs(call)!, answered - truth.startUs - wait.tookUs);
      }),
    );
  },
);

test.each(PATHS)("$reason: the sentence names the place, and the unit where one has decided", (known) => {
  const [truth] = fc.sample(truths, { numRuns: 1, seed: 1 });
  const { call } = happened(known, truth!);
  const sentence = sentenceOf(call);
  const names = { missing: UNIT, stale: UNIT, hot: UNIT } as Readonly<Record<string, string>>;
  expect(sentence).toContain(names[known.reason] ?? "");
  if (known.reason !== "stored" && known.reason !== "suspended") expect(sentence).toContain("Tokyo");
});

test("an axis of a few milliseconds has short numbers", () => {
  expect([0, 1, 2, 3].map((tick) => tickWords((tick * 2_400) / 4))).toEqual(["0", "0.6", "1.2", "1.8"]);
  expect(tickWords((1 * (150.00000000000003 * 4_000)) / 4)).toBe("150");
  expect(tickWords(600 * 1.0000000000000002)).toBe("0.6");
});
