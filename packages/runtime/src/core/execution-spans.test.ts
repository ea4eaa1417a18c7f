/** Executions that read spans: what is asked of the cache, what is sent, and what the cache learns. */
import {
  type CommitId,
  commitId,
  compareKeys,
  countEntry,
  directoryEntry,
  type DirectoryRow,
  type Entry,
  entryOf,
  type ExecutionId,
  type Key,
  type LviAnswer,
  type ModuleHash,
  NO_COMMIT,
  type Outcome,
  sessionId,
  spanId,
  type UnitId,
  unitId,
  type Write,
} from "@radical/protocol";
import { expect, test } from "vitest";
import { cachedAs, scanUnit } from "./directories.ts";
import type { Derivation, Effect, ExecutionEvent } from "./effects.ts";
import { DEFAULT_BOUNDS, Execution, type ExecutionInput } from "./execution.ts";
import { Experience } from "./experience.ts";
import { PrimaryLink } from "./primary-link.ts";
import type { CapturedSpan } from "./span-look.ts";
import { assertWellFormed } from "./well-formed.ts";

const INPUT: ExecutionInput = {
  executionId: "0123456789abcdef0123456789abcdef" as ExecutionId,
  module: "ab".repeat(32) as ModuleHash,
  handler: "timeline",
  args: Uint8Array.of(0xa0),
  environment: { timeMs: 1_000, seed: new Uint8Array(16), caller: null },
  location: "VA",
  plan: "sliced",
  retained: false,
  repeatKey: "",
  mustNotWrite: false,
  mayEffect: false,
  prefersSpeculative: false,
  speculative: false,
  watches: false,
  takesLeases: true,
  undeclaredTables: [],
};

const commit = (sequence: number): CommitId => commitId(1, sequence);
const item = (sequence: number): Entry => entryOf(commit(sequence), Uint8Array.of(sequence));
const rowOf = (key: string, { version }: Entry): DirectoryRow => ({
  key: key as Key,
  commitId: version.commitId,
  hash: version.hash!,
});
const [a, b] = [unitId("posts", "room/a"), unitId("posts", "room/b")];
const ROOM = { table: "posts", lo: "room/", hi: "room0" } as const;
const whole = spanId({ ...ROOM, kind: "rows" });
/** The newest post. */
const newest = spanId({ ...ROOM, lo: "room/b", kind: "rows" });
const total = spanId({ ...ROOM, kind: "count" });
const ROWS = [rowOf("room/a", item(1)), rowOf("room/b", item(2))];
const DONE: Outcome = { kind: "result", value: Uint8Array.of(1) };
const times = { receivedAtMs: 0, sentAtMs: 0 };

const started: ExecutionEvent = { kind: "started", atMs: 0 };
const captured = (entry: Entry, more: Partial<CapturedSpan> = {}): CapturedSpan => ({
  entry,
  of: whole,
  guess: null,
  told: entry.version,
  ...more,
});
const derived = (
  reads: readonly UnitId[],
  more: Partial<Extract<Derivation, { kind: "derived" }>> = {},
): ExecutionEvent => ({
  kind: "derived",
  derivation: {
    kind: "derived",
    set: { reads: new Set(reads), writes: new Set() },
    missing: [],
    lacking: [],
    captured: new Map(),
    spans: new Map(),
    run: null,
    isExhausted: false,
    ...more,
  },
  atMs: 0,
});
const fetched = (...entries: readonly (readonly [UnitId, Entry])[]): ExecutionEvent => ({
  kind: "fetched",
  entries: new Map(entries),
  atMs: 0,
});
const replied = (reply: LviAnswer): ExecutionEvent => ({ kind: "replied", reply: { ...reply, asOf: null }, atMs: 0 });
const valid = (id: CommitId | null): ExecutionEvent => replied({ kind: "valid", commitId: id, times });
const stale = (...repairs: readonly (readonly [UnitId, Entry])[]): ExecutionEvent =>
  replied({
    kind: "executed",
    cause: "stale",
    outcome: DONE,
    repairs: repairs.map(([unit, entry]) => ({ unit, entry })),
    times,
  });
const speculated = (...writes: readonly Write[]): ExecutionEvent => ({
  kind: "speculated",
  speculation: { kind: "completed", outcome: DONE, writes },
  atMs: 0,
});

function play(execution: Execution, ...events: readonly ExecutionEvent[]): readonly Effect[] {
  let effects: readonly Effect[] = [];
  for (const event of events) {
    effects = execution.step(event);
    assertWellFormed(execution);
  }
  return effects;
}

function only<Kind extends Effect["kind"]>(effects: readonly Effect[], kind: Kind): Extract<Effect, { kind: Kind }> {
  const found = effects.filter((effect) => effect.kind === kind);
  expect(found).toHaveLength(1);
  return found[0] as Extract<Effect, { kind: Kind }>;
}

const kinds = (effects: readonly Effect[]): string[] => effects.map(({ kind }) => kind);

/** A read of the newest post, whose rows and items the cache has. */
const knowing = derived([newest], {
  captured: new Map([[b, item(2)]]),
  spans: new Map([[newest, captured(directoryEntry(commit(5), [ROWS[1]!]))]]),
});

test("a span that memory knows is sent with its digest, and f runs on its directory and items", () => {
  const effects = play(new Execution(INPUT), started, knowing);
  expect(kinds(effects)).toEqual(["send", "speculate"]);
  const entry = directoryEntry(commit(5), [ROWS[1]!]);
  expect(only(effects, "send").request.units).toEqual([{ unit: newest, mode: "read", version: entry.version }]);
  const { snapshot } = only(effects, "speculate");
  expect([snapshot.get(newest), snapshot.get(b)]).toEqual([entry, item(2)]);
});

test("rows and numbers that memory lacks are asked for under the whole interval of their query, in one batch with items", () => {
  const execution = new Execution(INPUT);
  const effects = play(execution, started, derived([whole, total, a], { missing: [a] }));
  expect(only(effects, "fetch").units).toEqual(
    [a, scanUnit({ ...ROOM, kind: "count" }), scanUnit({ ...ROOM, kind: "rows" })].toSorted(compareKeys),
  );
});

test("rows that come from the cache make f^rw run again, and their items are captured with them", () => {
  const execution = new Execution(INPUT);
  const scan = entryOf(commit(5), new Uint8Array());
  const effects = play(
    execution,
    started,
    derived([whole]),
    fetched([scanUnit({ ...ROOM, kind: "rows" }), scan], [a, item(1)], [b, item(2)]),
  );
  expect(kinds(effects)).toEqual(["derive"]);
  expect(only(effects, "derive").snapshot).toEqual(
    new Map([
      [a, item(1)],
      [b, item(2)],
    ]),
  );
});

test("the items of rows that memory knows are asked for, and make f^rw run again", () => {
  const execution = new Execution(INPUT);
  const spans = new Map([[newest, captured(directoryEntry(NO_COMMIT, []))]]);
  const effects = play(execution, started, derived([newest], { lacking: [b], spans }));
  expect(only(effects, "fetch").units).toEqual([b]);
  expect(kinds(play(execution, fetched([b, item(2)])))).toEqual(["derive"]);
});

test("once memory has lost the rows of a scan to those of another, all scans are asked for together", () => {
  const execution = new Execution(INPUT);
  const other = spanId({ table: "users", lo: "", hi: "", kind: "rows" });
  const [rows, users] = [cachedAs(whole), cachedAs(other)];
  const stored = entryOf(commit(5), new Uint8Array());
  const known = (...units: readonly UnitId[]): ExecutionEvent =>
    derived([whole, other], {
      spans: new Map(units.map((of) => [of, captured(directoryEntry(commit(5), []), { of })])),
    });
  const asked = (...events: readonly ExecutionEvent[]): readonly UnitId[] =>
    only(play(execution, ...events), "fetch").units;
  expect(asked(started, derived([whole]))).toEqual([rows]);
  expect(asked(fetched([rows, stored]), known(whole))).toEqual([users]);
  expect(asked(fetched([users, stored]), known(other))).toEqual([rows, users].toSorted(compareKeys));
  // Once is enough: what is lost again is guessed.
  expect(kinds(play(execution, fetched([rows, stored], [users, stored]), known(other)))).toContain("send");
});

test("a span that the cache lacks is guessed empty as of nothing, f waits, and a confirmed guess is learned", () => {
  const execution = new Execution(INPUT);
  const sent = play(execution, started, derived([whole, total]), fetched());
  expect(kinds(sent)).toEqual(["send"]);
  const [empty, none] = [directoryEntry(NO_COMMIT, []), countEntry(NO_COMMIT, 0)];
  expect(only(sent, "send").request.units).toEqual([
    { unit: total, mode: "read", version: none.version },
    { unit: whole, mode: "read", version: empty.version },
  ]);
  const confirmed = play(execution, valid(null));
  expect(only(confirmed, "speculate")).toMatchObject({ after: "reply" });
  expect(only(confirmed, "speculate").snapshot.get(whole)).toEqual(empty);
  const ended = play(execution, speculated());
  expect(only(ended, "answer").answer).toMatchObject({ path: "speculative", reason: "doubted" });
  expect(only(ended, "put").entries).toEqual([
    { unit: whole, entry: empty },
    { unit: total, entry: none },
  ]);
});

test("a scan that is often of nothing is not in doubt", () => {
  const experience = new Experience();
  const once = (): Effect["kind"][] => {
    const execution = new Execution(INPUT, DEFAULT_BOUNDS, experience);
    const sent = play(execution, started, derived([whole]), fetched());
    if (!kinds(sent).includes("speculate")) play(execution, valid(null));
    else play(execution, valid(null), speculated());
    return kinds(sent) as Effect["kind"][];
  };
  const paths = Array.from({ length: 4 }, once);
  expect(paths[0]).toEqual(["send"]);
  expect(paths.at(-1)).toEqual(["send", "speculate"]);
});

test("rows that were left out for lack of items are in doubt, and once confirmed they are gone", () => {
  const execution = new Execution(INPUT);
  const guess = directoryEntry(commit(5), [ROWS[0]!]);
  const spans = new Map([[whole, captured(directoryEntry(NO_COMMIT, [ROWS[0]!]), { guess })]]);
  const found = derived([whole], { lacking: [b], spans, captured: new Map([[a, item(1)]]) });
  expect(kinds(play(execution, started, found, fetched()))).toEqual(["send"]);
  const ended = play(execution, valid(null), speculated());
  expect(only(ended, "put").entries).toEqual([{ unit: whole, entry: guess }]);
});

test("a stale span is repaired, and what the cache has told of it goes first", () => {
  const execution = new Execution(INPUT);
  play(execution, started, knowing);
  // The primary has walked further back, because the newest post is gone.
  const walked = spanId({ ...ROOM, lo: "room/a", kind: "rows" });
  const fresh = directoryEntry(commit(8), [ROWS[0]!]);
  const effects = play(execution, stale([walked, fresh], [a, item(1)]));
  expect(only(effects, "answer").answer).toMatchObject({ path: "near-storage", reason: "stale" });
  const told = directoryEntry(commit(5), [ROWS[1]!]).version;
  expect(only(effects, "put").entries).toEqual([
    { unit: newest, entry: { version: { commitId: commit(5), hash: null }, value: null }, disproved: told },
    { unit: walked, entry: fresh },
    { unit: a, entry: item(1) },
  ]);
});

test("a repair of the very span disproves what the cache has told, and a repaired item the one that was a row", () => {
  const execution = new Execution(INPUT);
  const told = directoryEntry(commit(6), ROWS).version;
  const spans = new Map([[newest, captured(directoryEntry(NO_COMMIT, [rowOf("room/b", item(9))]), { told })]]);
  play(execution, started, derived([newest], { captured: new Map([[b, item(9)]]), spans }));
  const fresh = directoryEntry(commit(8), [rowOf("room/b", item(7))]);
  expect(only(play(execution, stale([newest, fresh], [b, item(7)])), "put").entries).toEqual([
    { unit: newest, entry: fresh, disproved: told },
    { unit: b, entry: item(7), disproved: item(9).version },
  ]);
});

test("a wrong guess of a span is missing, although the repair has other bounds", () => {
  const execution = new Execution(INPUT);
  play(execution, started, derived([whole]), fetched());
  const effects = play(execution, stale([newest, directoryEntry(commit(8), [ROWS[1]!])], [b, item(2)]));
  expect(only(effects, "answer").answer).toMatchObject({ path: "near-storage", reason: "missing" });
});

test("a scan is hot if its rows were stale time after time, whatever their bounds", () => {
  const experience = new Experience();
  for (let time = 0; time < 5; time++) {
    const observed = spanId({ ...ROOM, lo: `room/b${time}`, kind: "rows" });
    const spans = new Map([[observed, captured(directoryEntry(commit(time), []))]]);
    const execution = new Execution(INPUT, DEFAULT_BOUNDS, experience);
    expect(kinds(play(execution, started, derived([observed], { spans })))).toEqual(["send", "speculate"]);
    play(execution, stale([newest, directoryEntry(commit(time + 1), [ROWS[1]!])]));
  }
  const execution = new Execution(INPUT, DEFAULT_BOUNDS, experience);
  expect(kinds(play(execution, started, knowing))).toEqual(["send"]);
  const answered = play(execution, stale([newest, directoryEntry(commit(9), [])]));
  expect(only(answered, "answer").answer).toMatchObject({ reason: "hot" });
});

test("a span that is leased in its digest answers, as of whatever commit", () => {
  const experience = new Experience();
  experience.confirmed(INPUT.module, true, 0);
  const primary = new PrimaryLink();
  primary.leases.open(sessionId(1, 1), 0);
  const { version } = directoryEntry(commit(3), [ROWS[1]!]);
  primary.leases.take({ kind: "lease", n: 1, units: [{ unit: newest, version }] });
  primary.leases.renew(0, 3_000);
  const execution = new Execution(INPUT, DEFAULT_BOUNDS, experience, primary);
  expect(only(play(execution, started, knowing), "speculate").after).toBe("lease");
  expect(only(play(execution, speculated()), "answer").answer).toMatchObject({ path: "leased" });
});

test("in record mode the run counts that has seen the rows, and it is sent with their digest", () => {
  const execution = new Execution({ ...INPUT, plan: "recorded" });
  const run = { kind: "completed", outcome: DONE, writes: [] } as const;
  const spans = new Map([[newest, captured(directoryEntry(commit(5), [ROWS[1]!]))]]);
  const effects = play(execution, started, derived([newest], { run, spans, captured: new Map([[b, item(2)]]) }));
  expect(kinds(effects)).toEqual(["send"]);
  expect(only(play(execution, valid(null)), "answer").answer).toMatchObject({ path: "speculative", reason: "valid" });
});

test("in record mode a run that was ended early sends a version of each span, and f does not run", () => {
  const execution = new Execution({ ...INPUT, plan: "recorded" });
  const early = derived([whole, a], { missing: [a] });
  const effects = play(execution, started, early, fetched());
  expect(kinds(effects)).toEqual(["send"]);
  expect(only(effects, "send").request.units).toEqual([
    { unit: a, mode: "read", version: null },
    { unit: whole, mode: "read", version: directoryEntry(NO_COMMIT, []).version },
  ]);
});

test("a table that is left out of the set leaves its spans out", () => {
  const execution = new Execution({ ...INPUT, undeclaredTables: ["posts"] });
  expect(only(play(execution, started, knowing), "send").request.units).toEqual([]);
});
