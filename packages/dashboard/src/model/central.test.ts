import type { CommitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { life } from "../testing/lives.ts";
import { Central, idealUs, soonerUs } from "./central.ts";
import type { Call } from "./join.ts";

/** It asked for so long, and the primary took so long for its answer. */
function asked(sentUs: number, primaryUs: number, more: Partial<Call["life"]> = {}): Call {
  return {
    id: 1,
    life: life({ tookUs: sentUs, spans: [["send", 0, sentUs]], path: "speculative", reason: "valid", ...more }),
    primary: life({ side: "primary", tookUs: primaryUs }),
  };
}

test("nothing is said of a place whose way nobody knows", () => {
  const central = new Central();
  expect(central.of(asked(100_000, 2_000))).toBeNull();
  expect(soonerUs(asked(100_000, 2_000), null)).toBeNull();
});

test("until a call has shown the way, the distance of the place counts", () => {
  const central = new Central((place) => (place === "JP" ? 146_000 : null));
  const call = asked(150_000, 2_000, { fuel: 20_000_000 });
  expect(central.of(call)).toMatchObject({ roundTripUs: 146_000, runUs: 1_000 });
  expect(central.of({ ...call, life: { ...call.life, place: "VA" } })).toBeNull();
  central.learn(asked(150_000, 2_000));
  expect(central.of(call)).toMatchObject({ roundTripUs: 148_000 });
});

test("central is the shortest way that was seen, the run, and the rest at the primary", () => {
  const central = new Central();
  central.learn(asked(150_000, 2_000));
  central.learn(asked(148_000, 2_000));
  const login = asked(152_000, 2_000, { handler: "login", fuel: 800_000_000 });
  central.learn(login);
  expect(central.of(login)).toEqual({ roundTripUs: 146_000, runUs: 40_000, restUs: 1_500, totalUs: 187_500 });
  expect(soonerUs(login, central.of(login))).toBe(35_500);
});

test("runs that were seen at the primary count for more than fuel", () => {
  const central = new Central();
  const near: Call = {
    id: 2,
    life: life({
      tookUs: 160_000,
      spans: [["send", 0, 160_000]],
      path: "near-storage",
      reason: "missing",
      handler: "login",
    }),
    primary: life({
      side: "primary",
      tookUs: 64_000,
      spans: [["run", 2_000, 60_000]],
      commit: "00000001-000000000001" as CommitId,
    }),
  };
  for (let run = 0; run < 3; run++) central.learn(near);
  const here = asked(150_000, 2_000, { handler: "login", fuel: 1_000, commit: "00000001-000000000002" as CommitId });
  central.learn(here);
  expect(central.of(here)).toMatchObject({ runUs: 60_000, restUs: 4_000 });
  // Of a handler that nobody has seen there, what others of its kind take.
  expect(central.of(asked(150_000, 2_000, { handler: "post", commit: here.life.commit }))).toMatchObject({
    restUs: 4_000,
  });
  expect(central.of(asked(150_000, 2_000, { handler: "posts" }))).toMatchObject({ restUs: 1_500 });
  // Twice the usual fuel, twice the time.
  expect(central.of(asked(150_000, 2_000, { handler: "login", fuel: 2_000 }))).toMatchObject({ runUs: 120_000 });
});

test("the first run at the primary compiles: it counts for no more than a run here", () => {
  const central = new Central(() => 100_000);
  central.learn({
    id: 2,
    life: life({ spans: [["send", 0, 180_000]], path: "near-storage", reason: "missing", handler: "home" }),
    primary: life({ side: "primary", tookUs: 72_000, spans: [["run", 1_000, 70_000]] }),
  });
  const warm = life({ handler: "home", path: "leased", fuel: 30_000_000, spans: [["run", 0, 2_000]], tookUs: 3_000 });
  expect(central.of({ id: 3, life: warm, primary: null })).toMatchObject({ runUs: 2_000 });
  // Nobody knows how long it runs here.
  expect(central.of({ id: 3, life: { ...warm, fuel: null }, primary: null })).toMatchObject({ runUs: 70_000 });
});

test("differences below five milliseconds are none", () => {
  const call = asked(100_000, 2_000);
  expect(soonerUs(call, { roundTripUs: 0, runUs: 0, restUs: 0, totalUs: 104_900 })).toBe(0);
  expect(soonerUs(call, { roundTripUs: 0, runUs: 0, restUs: 0, totalUs: 105_100 })).toBe(5_100);
  expect(soonerUs(call, { roundTripUs: 0, runUs: 0, restUs: 0, totalUs: 90_000 })).toBe(-10_000);
});

test("ideal is the call without its wait; one that ran at the primary would have run here", () => {
  const spans = [
    ["run", 1_000, 37_000],
    ["send", 1_000, 150_000],
  ] as const;
  expect(idealUs({ id: 1, life: life({ tookUs: 152_000, spans }), primary: null })).toBe(39_000);
  const away = life({ tookUs: 152_000, spans: [["send", 1_000, 150_000]] });
  const primary = life({ side: "primary", tookUs: 9_000, spans: [["run", 1_000, 8_000]] });
  expect(idealUs({ id: 1, life: away, primary })).toBe(10_000);
  expect(idealUs({ id: 1, life: life({ code: "busy" }), primary: null })).toBeNull();
});

test("calls beside the primary are central itself, but for the way", () => {
  const central = new Central();
  central.learn(asked(150_000, 4_000));
  expect(central.measuredUs(asked(150_000, 4_000))).toBeNull();
  for (const tookUs of [9_000, 3_000, 5_000])
    central.learnCentral({ id: 3, life: life({ place: "central", tookUs }), primary: null });
  // Of 9 ms it was on its own way for 4.
  central.learnCentral({
    id: 5,
    life: life({ place: "central", tookUs: 9_000, spans: [["send", 1_000, 8_000]] }),
    primary: life({ side: "primary", tookUs: 4_000 }),
  });
  central.learnCentral({ id: 4, life: life({ place: "central", tookUs: 1, code: "busy" }), primary: null });
  expect(central.measuredUs(asked(150_000, 4_000))).toBe(151_000);
});
