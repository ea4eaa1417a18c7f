import type { Life } from "@radical/protocol";
import { expect, test } from "vitest";
import { life } from "../testing/lives.ts";
import { Reckoner } from "./reckoner.ts";

const reckoner = (): Reckoner =>
  new Reckoner({ most: 10, isCentral: (place) => place === "central", distances: () => null });

const here = (more: Partial<Life> = {}): Life =>
  life({
    tookUs: 150_000,
    spans: [["send", 0, 150_000]],
    path: "speculative",
    reason: "valid",
    fuel: 20_000_000,
    ...more,
  });
const there = (more: Partial<Life> = {}): Life => life({ side: "primary", tookUs: 4_000, ...more });

test("a call is learned from when both halves are there, in any order", () => {
  for (const halves of [
    [here(), there()],
    [there(), here()],
  ]) {
    const reckoning = reckoner();
    for (const half of halves) {
      expect(reckoning.central.roundTripOf("JP")).toBeNull();
      reckoning.add(half);
    }
    expect(reckoning.central.roundTripOf("JP")).toBe(146_000);
    expect(reckoning.calls).toHaveLength(1);
  }
});

test("calls of the location beside the primary are central itself, and no way", () => {
  const reckoning = reckoner();
  reckoning.add(there());
  reckoning.add(here());
  for (let count = 0; count < 4; count++) {
    reckoning.add(here({ place: "central", path: "near-storage", tookUs: 9_000, spans: [["send", 0, 8_500]] }));
    reckoning.add(there({ place: "central", tookUs: 8_000, spans: [["run", 1_000, 6_000]] }));
  }
  const call = reckoning.calls.at(-1)!;
  // 9 ms, but for half a millisecond of its own way.
  expect(reckoning.central.measuredUs(call)).toBe(154_500);
  expect(reckoning.central.of(call)).toMatchObject({ runUs: 6_000, restUs: 2_000 });
  expect(reckoning.central.roundTripOf("central")).toBeNull();
});
