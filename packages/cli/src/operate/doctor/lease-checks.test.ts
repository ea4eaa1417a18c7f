import type { LeasedLocation } from "@radical/protocol";
import { expect, test } from "vitest";
import { leaseFinding } from "./lease-checks.ts";

const well: LeasedLocation = {
  location: "JP",
  sessions: 2,
  units: 40,
  roundTripMs: 146,
  revocations: 100,
  waitedMs: 15_000,
  longestWaitMs: 3_000,
  lapsed: 1,
  refusedForMs: 12_500,
};

function messagesOf(location: Partial<LeasedLocation>, configured = 3_000): readonly string[] {
  const findings = leaseFinding({ readLeaseMs: 3_000, locations: [{ ...well, ...location }] }, configured);
  expect(findings.map(({ check }) => check)).toEqual(["read_leases"]);
  return findings.flatMap(({ problems }) => problems.map(({ message }) => message));
}

test("an older server says nothing, and nothing is said of it", () => {
  expect(leaseFinding(null, 3_000)).toEqual([]);
});

test("one lease that ran out, and waits of about the round trip, are well", () => {
  expect(messagesOf({})).toEqual([]);
  expect(messagesOf({ lapsed: 9, refusedForMs: 0 })).toEqual([]);
});

test("a location that lets its leases run out time after time", () => {
  expect(messagesOf({ lapsed: 3 })).toEqual([
    "Writes have waited for the location JP, at most 3000 ms. It let its read leases run out 3 times, and gets none for 13 s.",
  ]);
});

test("a location that is slow to hear; a few waits say nothing", () => {
  expect(messagesOf({ waitedMs: 40_000 })).toEqual([
    "The location JP takes 400 ms on average to hear that a read lease ends. Its round trip is 146 ms, and writes wait for it.",
  ]);
  expect(messagesOf({ revocations: 19, waitedMs: 40_000 })).toEqual([]);
  expect(messagesOf({ roundTripMs: null, waitedMs: 40_000 })).toEqual([]);
});

test("another time than that of the configuration", () => {
  expect(messagesOf({}, 0)).toEqual([
    "The primary grants read leases of 3000 ms, and radical.config.ts says no read leases.",
  ]);
});
