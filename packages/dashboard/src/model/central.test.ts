import type { CommitId } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { life } from "../testing/lives.ts";
import { Central, type Distances, idealUs, soonerUs } from "./central.ts";
import type { Call } from "./join.ts";

const centralOf = (distances: Distances = () => null): Central =>
  new Central({ isCentral: (place) => place === "central", distances });

/** It asked for so long, and the primary took so long for its answer. */
function asked(sentUs: number, primaryUs: number, more: Partial<Call["life"]> = {}): Call {
  return {
    id: 1,
    life: life({ tookUs: sentUs, spans: [["send", 0, sentUs]], path: "speculative", reason: "valid", ...more }),
    primary: life({ side: "primary", tookUs: primaryUs }),
  };
}

/** It ran at the primary for so long, of all the time there. */
function ran(runUs: number, primaryUs: number, more: Partial<Call["life"]> = {}): Call {
  const { place = "JP", handler = "like", module = "m", commit = null } = more;
  return {
    id: 2,
    life: life({
      tookUs: 100_000 + primaryUs,
      spans: [["send", 0, 100_000 + primaryUs]],
      path: "near-storage",
      ...more,
    }),
    primary: life({ side: "primary", place, handler, module, commit, tookUs: primaryUs, spans: [["run", 500, runUs]] }),
  };
}

/** The call at the location beside the primary, which it asks in half a millisecond. */
function atCentral(tookUs: number, more: Partial<Call["life"]> = {}): Call {
  return ran(1_000, tookUs - 1_000, {
    place: "central",
    tookUs,
    spans: [["send", 0, tookUs - 500]],
    ...more,
  });
}

function learned(central: Central, calls: readonly Call[]): Central {
  for (const call of calls) central.learn(call);
  return central;
}

test("nothing is said of a place whose way nobody knows", () => {
  const central = centralOf();
  expect(central.of(ran(1_000, 2_000))).toBeNull();
  expect(central.centralUs(ran(1_000, 2_000))).toBeNull();
  expect(soonerUs(ran(1_000, 2_000), null)).toBeNull();
});

test("until a call has shown the way, the distance of the place counts", () => {
  const central = centralOf((place) => (place === "JP" ? 146_000 : null));
  const call = ran(1_000, 2_000);
  expect(central.of(call)).toMatchObject({ roundTripUs: 146_000, runUs: 1_000 });
  expect(central.of({ ...call, life: { ...call.life, place: "VA" } })).toBeNull();
  central.learn(asked(150_000, 2_000));
  expect(central.of(call)).toMatchObject({ roundTripUs: 148_000 });
});

test("central is the shortest way that was seen, the run, and the rest at the primary", () => {
  const central = learned(centralOf(), [asked(150_000, 2_000), asked(148_000, 2_000)]);
  const login = ran(40_000, 42_000, { handler: "login", tookUs: 152_000 });
  expect(central.of(login)).toEqual({ roundTripUs: 146_000, runUs: 40_000, restUs: 1_500, totalUs: 187_500 });
  expect(soonerUs(login, central.centralUs(login))).toBe(35_500);
});

test("the runs that were seen at the primary count, by the fuel of the call", () => {
  const commit = "00000001-000000000001" as CommitId;
  const central = learned(
    centralOf(),
    Array.from({ length: 4 }, () => ran(60_000, 64_000, { handler: "login", commit })),
  );
  const here = asked(150_000, 2_000, { handler: "login", fuel: 1_000, commit });
  central.learn(here);
  expect(central.of(here)).toMatchObject({ runUs: 60_000, restUs: 4_000 });
  // Of a handler of which nobody knows the rest, what others of its kind take.
  expect(central.of(ran(5_000, 9_000, { handler: "post", commit }))).toMatchObject({ restUs: 4_000 });
  expect(central.of(ran(5_000, 9_000, { handler: "posts" }))).toMatchObject({ restUs: 1_500 });
  // Twice the usual fuel, twice the time.
  expect(central.of(asked(150_000, 2_000, { handler: "login", fuel: 2_000 }))).toMatchObject({ runUs: 120_000 });
});

describe("a handler that is asked for elsewhere, and reads by leases here", () => {
  const leased: Call = {
    id: 3,
    life: life({ path: "leased", reason: "unchanged", fuel: 30_000_000, tookUs: 3_000 }),
    primary: null,
  };
  const cold = ran(420_000, 4100_000);

  test("is not compared before the primary has run it often enough", () => {
    const central = centralOf();
    for (const call of [cold, ran(1_000, 2_000), ran(1_000, 2_000)]) {
      central.learn(call);
      expect([central.of(leased), central.centralUs(leased)]).toEqual([null, null]);
    }
    central.learn(ran(1_000, 2_000));
    expect(central.centralUs(leased)).toBe(102_000);
  });

  test("is not compared with the first run of a build, which compiles", () => {
    const central = centralOf();
    // A build at each save, and one call of it: all of these runs have compiled.
    for (const module of ["a", "b", "c", "d", "e"]) central.learn(ran(420_000, 4100_000, { module }));
    expect(central.centralUs(leased)).toBeNull();
  });

  test("is not compared with the first runs of other threads, which compile too", () => {
    const central = learned(centralOf(), [cold, cold, cold, ran(1_000, 2_000)]);
    expect(central.centralUs(leased)).toBe(102_000);
    // Of many, the usual one counts.
    learned(
      central,
      [...Array(20)].map(() => ran(3_000, 4_000)),
    );
    expect(central.centralUs(leased)).toBe(104_000);
  });

  test("is compared with its runs for calls at central, which take no way", () => {
    const central = learned(centralOf(), [cold, ...[...Array(15)].map(() => atCentral(3_000))]);
    expect(central.of(leased)).toEqual({ roundTripUs: 100_000, runUs: 1_000, restUs: 1_000, totalUs: 102_000 });
    expect(central.measuredUs(leased)).toBe(102_500);
    expect(central.roundTripOf("central")).toBeNull();
  });
});

test("differences below five milliseconds are none", () => {
  const call = asked(100_000, 2_000);
  expect(soonerUs(call, 104_900)).toBe(0);
  expect(soonerUs(call, 105_100)).toBe(5_100);
  expect(soonerUs(call, 90_000)).toBe(-10_000);
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

test("calls beside the primary are central itself, but for their way: what they took counts for more than what is reckoned", () => {
  const central = learned(centralOf(), [asked(150_000, 4_000), atCentral(400_000), atCentral(9_000), atCentral(3_000)]);
  const call = ran(400_000, 404_000);
  expect(central.measuredUs(call)).toBeNull();
  expect(central.centralUs(call)).toBe(central.of(call)!.totalUs);
  central.learn(atCentral(5_000));
  // Half a millisecond of its own way, and the shortest of a few.
  expect(central.measuredUs(call)).toBe(146_000 + 2_500);
  expect(central.centralUs(call)).toBe(148_500);
  learned(
    central,
    [...Array(10)].map(() => atCentral(7_000)),
  );
  expect(central.centralUs(call)).toBe(146_000 + 6_500);
});

test("a call without an outcome is not compared, nor is one that was answered before, nor one at central", () => {
  const central = learned(
    centralOf(() => 40_000),
    [...Array(5)].map(() => atCentral(3_000)),
  );
  expect(central.centralUs(ran(1_000, 2_000))).toBe(42_500);
  for (const call of [ran(1_000, 2_000, { code: "busy" }), ran(1_000, 2_000, { reason: "stored" }), atCentral(3_000)]) {
    expect([central.of(call), central.measuredUs(call), central.centralUs(call)]).toEqual([null, null, null]);
    expect(central.compares(call)).toBe(false);
  }
});
