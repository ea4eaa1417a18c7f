import {
  type AccessedUnit,
  commitId,
  countEntry,
  directoryEntry,
  entryOf,
  spanId,
  type UnitId,
  unitId,
  type Write,
} from "@radical/protocol";
import { beforeEach, describe, expect, test } from "vitest";
import { type ListenerBounds, type ListenerId, Listeners, type ListeningEffect } from "./listeners.ts";

const BOUNDS: ListenerBounds = {
  listenersOfLocation: 2,
  listeners: 3,
  units: 4,
  silent: 2,
  credit: 2,
  valueBytes: 8,
  lineBytes: 12,
  lines: 2,
  watched: 3,
  sessionsOfLocation: 2,
  sessions: 3,
  unheardUnits: 4,
  silentMs: 1_000,
  deafMs: 3_000,
  unitsOfLocation: 16,
  holdings: 100,
  firstUnits: 2,
  counted: 100,
  locations: 10,
};
const GROUND = { isWanted: () => false, versionOf: () => null, areNamed: () => true };
const TERM = { nowMs: 0, untilMs: 0 };
const note = (key: string): UnitId => unitId("notes", key);
const reading = (...keys: readonly string[]): readonly AccessedUnit[] =>
  keys.map((key) => ({ unit: note(key), mode: "read", version: null }));
const writing = (...keys: readonly string[]): readonly Write[] =>
  keys.map((key) => ({ unit: note(key), value: Uint8Array.of(1) }));

let listeners: Listeners;
let sequence: number;
let names: number;
/** The keys that each listener has heard of. */
let told: Map<ListenerId, string[]>;
let lines: ListeningEffect[];
let ended: ListenerId[];
let refused: ListenerId[];
let leftOut: number;

beforeEach(() => {
  listeners = new Listeners({ epoch: 1, ground: GROUND, emit: (effect) => perform([effect]), bounds: BOUNDS });
  [sequence, names, leftOut] = [0, 0, 0];
  [lines, ended, refused] = [[], [], []];
  told = new Map();
});

function perform(effects: readonly ListeningEffect[]): void {
  for (const effect of effects) {
    switch (effect.kind) {
      case "tell":
        lines.push(effect);
        for (const id of effect.listeners)
          told.set(id, [
            ...(told.get(id) ?? []),
            ...(effect.line.kind === "hint" ? effect.line.entries.map(({ unit }) => unit.slice("notes/".length)) : []),
          ]);
        break;
      case "hints-left-out":
        leftOut += effect.units;
        break;
      case "end-listening":
        (effect.isRefused ? refused : ended).push(effect.listener);
        break;
      case "heard-reply":
      case "not-leading":
      case "session-over":
        throw new Error(`${effect.kind}, and nobody has a session`);
    }
  }
}

function listen(location: string, name = "one"): ListenerId {
  const listener = ++names;
  told.set(listener, []);
  listeners.step({ kind: "listens", listener, location, name, session: undefined, heard: 0, ends: null }, TERM);
  return listener;
}

function stop(listener: ListenerId): void {
  listeners.step({ kind: "stopped-listening", listener }, TERM);
}

const commit = () => commitId(1, ++sequence);

function apply(writes: readonly Write[], ...blind: readonly string[]): void {
  listeners.applied(commit(), writes, () => new Set(blind.map(note)), TERM);
}

test("what is private is not told, though it was written with what the location has read", () => {
  const isPrivate = (unit: UnitId): boolean => unit === note("secret");
  const emit = (effect: ListeningEffect): void => perform([effect]);
  listeners = new Listeners({ epoch: 1, ground: GROUND, emit, bounds: BOUNDS, isPrivate });
  const va = listen("VA");
  listeners.read("VA", reading("a", "secret"));
  apply(writing("a", "secret"));
  apply(writing("secret"));
  expect(told.get(va)).toEqual(["a"]);
});

test("a location is told of what it has read, with the version and the value, and of nothing else", () => {
  const va = listen("VA");
  const jp = listen("JP");
  listeners.read("VA", reading("a", "b"));
  listeners.read("JP", [...reading("b"), { unit: note("c"), mode: "write" }]);
  const writes = [
    { unit: note("a"), value: Uint8Array.of(1, 2, 255) },
    { unit: note("b"), value: null },
    { unit: note("c"), value: Uint8Array.of(3) },
  ];
  apply(writes);
  const id = commitId(1, 1);
  const [a, b] = writes.map(({ unit, value }) => ({ unit, entry: entryOf(id, value) }));
  expect(lines).toEqual([
    { kind: "tell", listeners: [va], line: { kind: "hint", entries: [a, b] } },
    { kind: "tell", listeners: [jp], line: { kind: "hint", entries: [b] } },
  ]);
});

test("a location that has read a span is told of rows inside, those that it did not know too, and of none beside", () => {
  const va = listen("VA");
  const { version } = directoryEntry(commitId(1, 1), []);
  const page = spanId({ table: "notes", kind: "rows", lo: "b", hi: "d" });
  listeners.read("VA", [{ unit: page, mode: "read", version }]);
  apply(writing("a", "b", "d"));
  apply([{ unit: note("c"), value: null }]);
  expect(told.get(va)).toEqual(["b", "c"]);
  // Its credit is spent by changes of different rows.
  apply(writing("b"));
  expect(told.get(va)).toEqual(["b", "c"]);
});

test("a location that knows a number of rows is told the new one", () => {
  const number = spanId({ table: "notes", kind: "count", lo: "b", hi: "d" });
  const entry = countEntry(commitId(1, 9), 2);
  const known: UnitId[] = [];
  listeners = new Listeners({
    epoch: 1,
    ground: GROUND,
    emit: (effect) => perform([effect]),
    entryOfSpan: (span) => (known.push(span), entry),
    bounds: BOUNDS,
  });
  listen("VA");
  listeners.read("VA", [{ unit: number, mode: "read", version: countEntry(commitId(1, 1), 1).version }]);
  apply(writing("a"));
  expect(lines).toEqual([]);
  apply(writing("c"));
  expect(lines).toMatchObject([{ line: { kind: "hint", entries: [{ unit: note("c") }, { unit: number, entry }] } }]);
  expect(known).toEqual([number]);
});

test("locations that have read the same are told in one line", () => {
  const all = [listen("VA"), listen("JP", "one"), listen("JP", "two")];
  for (const location of ["VA", "JP"]) listeners.read(location, reading("a"));
  apply(writing("a"));
  expect(lines).toMatchObject([{ listeners: all }]);
});

test("where nobody listens nothing is done, and it is not asked what was read", () => {
  listeners.read("VA", reading("a"));
  const asked = (): ReadonlySet<UnitId> => {
    throw new Error("nobody listens");
  };
  listeners.applied(commit(), writing("a"), asked, TERM);
  listen("VA");
  listeners.applied(commit(), [], asked, TERM);
  expect(lines).toEqual([]);
});

test("a location is told of what a reply has brought it, though it did not ask for that", () => {
  const va = listen("VA");
  listeners.repaired("VA", [{ unit: note("a"), entry: entryOf(commit(), Uint8Array.of(1)) }]);
  apply(writing("a", "b"));
  expect(told.get(va)).toEqual(["a"]);
});

test("what a location does not read again is sent to it a bounded number of times", () => {
  const va = listen("VA");
  listeners.read("VA", reading("a"));
  for (let round = 0; round < 5; round++) apply(writing("a"));
  expect(told.get(va)).toEqual(["a", "a"]);
  listeners.read("VA", reading("a"));
  apply(writing("a"));
  expect(told.get(va)).toHaveLength(3);
});

test("the last units that were read are remembered, at most twice as many", () => {
  const va = listen("VA");
  for (const key of ["a", "b", "c", "d", "e", "f", "g"]) listeners.read("VA", reading(key));
  apply([...writing("a"), ...writing("g")]);
  expect(told.get(va)).toEqual(["a", "g"]);
  listeners.read("VA", reading("h"));
  apply([...writing("b"), ...writing("h")]);
  expect(told.get(va)).toEqual(["a", "g", "h"]);
});

test("what was written unread along with what a location has read is told first, and then known no more than before", () => {
  const va = listen("VA");
  const jp = listen("JP");
  listeners.read("VA", reading("list"));
  apply(writing("list", "new", "other"), "new");
  expect(told.get(va)).toEqual(["new", "list"]);
  apply(writing("new"), "new");
  expect(told.get(va)).toEqual(["new", "list"]);
  expect(told.get(jp)).toEqual([]);
});

test("large values, and what is more than some lines, are left out, and stay for what is smaller", () => {
  const va = listen("VA");
  listeners.read("VA", reading("a", "b", "c"));
  apply([{ unit: note("a"), value: new Uint8Array(9) }, ...writing("b")]);
  expect(told.get(va)).toEqual(["b"]);
  expect(leftOut).toBe(1);
  apply(["a", "b", "c"].map((key) => ({ unit: note(key), value: new Uint8Array(8) })));
  expect(told.get(va)).toEqual(["b", "a", "b"]);
  expect(lines).toHaveLength(3);
  expect(leftOut).toBe(2);
});

describe("listeners", () => {
  test("are so many at a location and at all, and each once", () => {
    const first = listen("VA", "one");
    const second = listen("VA", "one");
    expect(ended).toEqual([first]);
    expect(listeners.size).toBe(1);
    stop(first);
    expect(listeners.size).toBe(1);
    listen("VA", "two");
    expect(refused).toEqual([]);
    const third = listen("VA", "three");
    listen("JP");
    const other = listen("DE");
    expect(refused).toEqual([third, other]);
    expect(listeners.size).toBe(3);

    listeners.read("VA", reading("a"));
    stop(second);
    stop(third);
    expect(listeners.size).toBe(2);
    apply(writing("a"));
    expect(told.get(second)).toEqual([]);
  });

  test("are all ended when the server is about to stop, and are told of nothing from then on", () => {
    const va = listen("VA");
    const jp = listen("JP");
    listeners.read("VA", reading("a"));
    listeners.end(0);
    expect(ended).toEqual([va, jp]);
    expect(listeners.size).toBe(0);
    stop(va);
    apply(writing("a"));
    expect(lines).toEqual([]);
  });
});

test("what a location has read before it listens, or between two times, is remembered: of so many locations", () => {
  for (const location of ["VA", "JP", "DE"]) listeners.read(location, reading("a"));
  const [va, jp, de] = ["VA", "JP", "DE"].map((location) => listen(location)) as [number, number, number];
  apply(writing("a"));
  expect([va, jp, de].map((id) => told.get(id))).toEqual([[], ["a"], ["a"]]);
  stop(de);
  apply(writing("a"));
  expect(told.get(de)).toEqual(["a"]);
  const again = listen("DE");
  apply(writing("a"));
  expect(told.get(again)).toEqual(["a"]);
});
