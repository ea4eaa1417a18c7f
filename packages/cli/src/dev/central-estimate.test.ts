import { expect, test } from "vitest";
import { CentralEstimate } from "./central-estimate.ts";
import type { RequestLine } from "./dev-events.ts";

const LOCATIONS = [
  { name: "VA", roundTripMs: 7 },
  { name: "JP", roundTripMs: 146 },
  { name: "central", roundTripMs: 0 },
];

function call(location: string, line: Partial<RequestLine> = {}): RequestLine {
  const ids = { execution: "e", trace: null, status: 200, reason: null, verdict: null, code: null } as const;
  const base = { level: "info", event: "request", location, handler: "say", path: "speculative" } as const;
  return { ...base, ...ids, ms: { total: 150 }, fuel: null, ...line };
}

test("the wait is the round trip of the place, and the median run at central", () => {
  const central = new CentralEstimate(LOCATIONS);
  for (const total of [40, 20, 30])
    expect(central.of(call("central", { ms: { total }, path: "near-storage" }))).toBeNull();
  expect(central.of(call("JP"))).toBe(176);
  expect(central.of(call("VA", { fuel: 9 }))).toBe(37);
  central.of(call("central", { ms: { total: 50 }, path: "near-storage" }));
  expect(central.of(call("VA"))).toBe(42);
});

test("only the last runs count", () => {
  const central = new CentralEstimate(LOCATIONS);
  for (let run = 0; run < 40; run++) central.of(call("central", { ms: { total: run < 20 ? 500 : 10 } }));
  expect(central.of(call("VA"))).toBe(17);
});

test("without a run at central it is the fuel, at the speed of the long runs here", () => {
  const central = new CentralEstimate(LOCATIONS);
  expect(central.of(call("VA", { fuel: 40_000_000 }))).toBe(9);
  // Too short to show the speed.
  central.of(call("VA", { fuel: 20_000_000, ms: { f: 4 } }));
  expect(central.of(call("VA", { fuel: 40_000_000 }))).toBe(9);
  central.of(call("VA", { fuel: 20_000_000, ms: { f: 10 } }));
  expect(central.of(call("JP", { fuel: 6_000_000 }))).toBe(149);
});

test("a message without a run counts as the quickest of its place, and never as less than the round trip", () => {
  const central = new CentralEstimate(LOCATIONS);
  central.of(call("JP", { fuel: 0, ms: { lvi: 170 } }));
  central.of(call("JP", { path: "near-storage", ms: { lvi: 148 } }));
  expect(central.of(call("JP", { fuel: 20_000_000, ms: { lvi: 152 } }))).toBe(153);
  expect(central.of(call("JP", { fuel: 20_000_000, ms: { lvi: 160 } }))).toBe(153);
  for (let message = 0; message < 100; message++) central.of(call("JP", { ms: { lvi: 161 } }));
  expect(central.of(call("JP", { fuel: 0 }))).toBe(161);
  expect(central.of(call("VA", { fuel: 0, ms: { lvi: 5 } }))).toBe(7);
});

test("a call that ran at the primary has waited for that; one without an outcome tells nothing", () => {
  const central = new CentralEstimate(LOCATIONS);
  expect(central.of(call("JP", { path: "near-storage", ms: { lvi: 180, total: 181 } }))).toBe(180);
  expect(central.of(call("JP"))).toBeNull();
  expect(central.of(call("JP", { handler: null, path: null, fuel: 5 }))).toBeNull();
  expect(central.of(call("elsewhere", { fuel: 5 }))).toBeNull();
});
