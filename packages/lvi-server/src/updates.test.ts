import {
  type AccessedUnit,
  commitId,
  entryOf,
  type UnitId,
  unitId,
  type UpdateLine,
  type Write,
} from "@radical/protocol";
import { beforeEach, expect, test } from "vitest";
import { type Listener, Updates } from "./updates.ts";

const BOUNDS = {
  listenersOfLocation: 2,
  listeners: 3,
  units: 4,
  silent: 2,
  credit: 2,
  valueBytes: 8,
  lineBytes: 12,
  lines: 2,
};
const NONE: ReadonlySet<UnitId> = new Set();
const note = (key: string): UnitId => unitId("notes", key);
const reading = (...keys: readonly string[]): readonly AccessedUnit[] =>
  keys.map((key) => ({ unit: note(key), mode: "read", version: null }));
const writing = (...keys: readonly string[]): readonly Write[] =>
  keys.map((key) => ({ unit: note(key), value: Uint8Array.of(1) }));

let updates: Updates;
let told: { isSent: boolean; units: number }[];
let sequence: number;

beforeEach(() => {
  told = [];
  sequence = 0;
  updates = new Updates((isSent, units) => told.push({ isSent, units }), BOUNDS);
});

const commit = () => commitId(1, ++sequence);

/** Listens, and keeps the keys of what it is told. */
function listen(location: string, name = "one", reads = true) {
  const keys: string[] = [];
  const heard = { keys, ended: 0, lines: [] as UpdateLine[], stop: null as (() => void) | null };
  const listener: Listener = {
    tell: (text) => {
      if (!reads) return false;
      expect(text).toMatch(/^\[.*\]\n$/);
      const line = JSON.parse(text) as UpdateLine;
      heard.lines.push(line);
      keys.push(...line.map(([unit]) => unit.slice("notes/".length)));
      return true;
    },
    end: () => {
      heard.ended++;
    },
  };
  heard.stop = updates.listen(location, name, listener);
  return heard;
}

test("a location is told of what it has read, with the version and the value, and of nothing else", () => {
  const va = listen("VA");
  const jp = listen("JP");
  updates.read("VA", reading("a", "b"));
  updates.read("JP", [...reading("b"), { unit: note("c"), mode: "write" }]);
  const id = commit();
  const written = [
    { unit: note("a"), value: Uint8Array.of(1, 2, 255) },
    { unit: note("b"), value: null },
    { unit: note("c"), value: Uint8Array.of(3) },
  ];
  updates.applied(id, written, NONE);
  const { hash } = entryOf(id, Uint8Array.of(1, 2, 255)).version;
  expect(va.lines).toEqual([
    [
      [note("a"), id, hash, "AQL/"],
      [note("b"), id, null, null],
    ],
  ]);
  expect(jp.lines).toEqual([[[note("b"), id, null, null]]]);
  expect(told).toEqual([
    { isSent: true, units: 2 },
    { isSent: true, units: 1 },
  ]);
});

test("a location is told of what a reply has brought it, though it did not ask for that", () => {
  const va = listen("VA");
  updates.repaired("VA", [{ unit: note("a"), entry: entryOf(commit(), Uint8Array.of(1)) }]);
  updates.applied(commit(), writing("a", "b"), NONE);
  expect(va.keys).toEqual(["a"]);
});

test("what a location does not read again is sent to it a bounded number of times", () => {
  const va = listen("VA");
  updates.read("VA", reading("a"));
  for (let round = 0; round < 5; round++) updates.applied(commit(), writing("a"), NONE);
  expect(va.keys).toEqual(["a", "a"]);
  updates.read("VA", reading("a"));
  updates.applied(commit(), writing("a"), NONE);
  expect(va.keys).toHaveLength(3);
});

test("the last units that were read are remembered, at most twice as many", () => {
  const va = listen("VA");
  for (const key of ["a", "b", "c", "d", "e", "f", "g"]) updates.read("VA", reading(key));
  updates.applied(commit(), [...writing("a"), ...writing("g")], NONE);
  expect(va.keys).toEqual(["a", "g"]);
  updates.read("VA", reading("h"));
  updates.applied(commit(), [...writing("b"), ...writing("h")], NONE);
  expect(va.keys).toEqual(["a", "g", "h"]);
});

test("what was written unread along with what a location has read is told first, and read again is told no more", () => {
  const va = listen("VA");
  const jp = listen("JP");
  updates.read("VA", reading("list"));
  updates.applied(commit(), writing("list", "new", "other"), new Set([note("new")]));
  expect(va.keys).toEqual(["new", "list"]);
  updates.applied(commit(), writing("new"), new Set([note("new")]));
  expect(va.keys).toEqual(["new", "list"]);
  expect(jp.keys).toEqual([]);
});

test("large values, and what is more than some lines, are left out, and stay for what is smaller", () => {
  const va = listen("VA");
  updates.read("VA", reading("a", "b", "c"));
  updates.applied(commit(), [{ unit: note("a"), value: new Uint8Array(9) }, ...writing("b")], NONE);
  expect(va.keys).toEqual(["b"]);
  const large = ["a", "b", "c"].map((key) => ({ unit: note(key), value: new Uint8Array(8) }));
  updates.applied(commit(), large, NONE);
  expect(va.keys).toEqual(["b", "a", "b"]);
  expect(va.lines).toHaveLength(3);
  expect(told.filter(({ isSent }) => !isSent)).toEqual([
    { isSent: false, units: 1 },
    { isSent: false, units: 1 },
  ]);
});

test("every isolate of a location is told; who does not read loses what it is told", () => {
  const one = listen("VA", "one");
  listen("VA", "two", false);
  updates.read("VA", reading("a"));
  updates.applied(commit(), writing("a"), NONE);
  expect(one.keys).toEqual(["a"]);
  expect(told).toEqual([
    { isSent: true, units: 1 },
    { isSent: false, units: 1 },
  ]);
});

test("so many listen at a location and at all, and each once", () => {
  const first = listen("VA", "one");
  const second = listen("VA", "one");
  expect([first.ended, second.ended, updates.listeners]).toEqual([1, 0, 1]);
  first.stop!();
  expect(updates.listeners).toBe(1);
  listen("VA", "two");
  expect(listen("VA", "three").stop).toBeNull();
  listen("JP");
  expect(listen("DE").stop).toBeNull();
  expect(updates.listeners).toBe(3);

  updates.read("VA", reading("a"));
  updates.read("DE", reading("a"));
  second.stop!();
  updates.close();
  updates.applied(commit(), writing("a"), NONE);
  expect(second.keys).toEqual([]);
});

test("what a location has read before it listens, or between two times, is remembered: of so many locations", () => {
  for (const location of ["VA", "JP", "DE"]) updates.read(location, reading("a"));
  const [va, jp, de] = ["VA", "JP", "DE"].map((location) => listen(location));
  updates.applied(commit(), writing("a"), NONE);
  expect([va!.keys, jp!.keys, de!.keys]).toEqual([[], ["a"], ["a"]]);
  de!.stop!();
  updates.applied(commit(), writing("a"), NONE);
  const again = listen("DE");
  updates.applied(commit(), writing("a"), NONE);
  expect(again.keys).toEqual(["a"]);
});
