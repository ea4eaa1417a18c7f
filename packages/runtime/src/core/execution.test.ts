import {
  type CommitId,
  type Entry,
  type ExecutionId,
  type FollowupResult,
  type LviAnswer,
  type LviRequest,
  type ModuleHash,
  type Outcome,
  type UnitId,
  NO_COMMIT,
  commitId,
  compareKeys,
  entryOf,
  sessionId,
  unitId,
} from "@radical/protocol";
import type { AccessSet } from "@radical/wasm-host";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Answer, CapturedSnapshot, Derivation, Effect, ExecutionEvent, Verdict } from "./effects.ts";
import { DEFAULT_BOUNDS, Execution, type ExecutionInput } from "./execution.ts";
import { Experience } from "./experience.ts";
import { PrimaryLink } from "./primary-link.ts";
import type { CapturedSpan } from "./span-look.ts";
import { assertWellFormed } from "./well-formed.ts";

const ann = unitId("users", "ann");
const bob = unitId("users", "bob");
const feed = unitId("feeds", "ann");

const INPUT: ExecutionInput = {
  executionId: "0123456789abcdef0123456789abcdef" as ExecutionId,
  module: "ab".repeat(32) as ModuleHash,
  handler: "follow",
  args: Uint8Array.of(0xa0),
  environment: { timeMs: 1_000, seed: new Uint8Array(16), caller: "ann" },
  location: "VA",
  plan: "sliced",
  retained: false,
  repeatKey: "execution-0123456789abcdef0123456789abcdef",
  mustNotWrite: false,
  mayEffect: false,
  prefersSpeculative: false,
  speculative: false,
  watches: false,
  takesLeases: true,
  undeclaredTables: [],
};

const commit = (sequence: number): CommitId => commitId(1, sequence);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const item = (sequence: number, text: string): Entry => entryOf(commit(sequence), bytes(text));
const result = (text: string): Outcome => ({ kind: "result", value: bytes(text) });
const times = { receivedAtMs: 0, sentAtMs: 0 };
/** The entry that a location assumes for a unit that its cache lacks. */
const GUESS: Entry = { version: { commitId: NO_COMMIT, hash: null }, value: null };

/** Of runs that read items only. */
const NO_SPANS = { lacking: [], spans: new Map<UnitId, CapturedSpan>() } as const;

const set = (reads: readonly UnitId[], writes: readonly UnitId[]): AccessSet => ({
  reads: new Set(reads),
  writes: new Set(writes),
});
const started = (atMs = 0): ExecutionEvent => ({ kind: "started", atMs });
const derived = (access: AccessSet, missing: readonly UnitId[] = []): ExecutionEvent => ({
  kind: "derived",
  derivation: {
    kind: "derived",
    set: access,
    missing,
    captured: new Map(),
    run: null,
    isExhausted: false,
    ...NO_SPANS,
  },
  atMs: 0,
});
const fetched = (entries: Readonly<Record<UnitId, Entry>> = {}): ExecutionEvent => ({
  kind: "fetched",
  entries: new Map(Object.entries(entries) as [UnitId, Entry][]),
  atMs: 0,
});
const completed = (outcome: Outcome, writes: Readonly<Record<UnitId, Uint8Array | null>> = {}): ExecutionEvent => ({
  kind: "speculated",
  speculation: {
    kind: "completed",
    outcome,
    writes: (Object.entries(writes) as [UnitId, Uint8Array | null][]).map(([unit, value]) => ({ unit, value })),
  },
  atMs: 0,
});
const stopped: ExecutionEvent = {
  kind: "speculated",
  speculation: { kind: "stopped", reason: "left its set", undeclared: "read" },
  atMs: 0,
};
const exhausted: ExecutionEvent = { kind: "speculated", speculation: { kind: "exhausted" }, atMs: 0 };
const replied = (reply: LviAnswer, atMs = 0, asOf: CommitId | null = null): ExecutionEvent => ({
  kind: "replied",
  reply: { ...reply, asOf },
  atMs,
});
const valid = (commitIdOrNull: CommitId | null): ExecutionEvent =>
  replied({ kind: "valid", commitId: commitIdOrNull, times });
const executed = (outcome: Outcome, repairs: Readonly<Record<UnitId, Entry>> = {}): ExecutionEvent =>
  replied({
    kind: "executed",
    cause: "stale",
    outcome,
    repairs: (Object.entries(repairs) as [UnitId, Entry][]).map(([unit, entry]) => ({ unit, entry })),
    times,
  });
const unanswered = (atMs = 0): ExecutionEvent => ({ kind: "unanswered", reason: "timeout", atMs });
const notLeading = (atMs = 0): ExecutionEvent => ({ kind: "not-leading", reason: "it waits for the leadership", atMs });
const waited = (before: "lvi" | "followup", atMs = 0): ExecutionEvent => ({ kind: "waited", before, atMs });

const kinds = (effects: readonly Effect[]): string[] => effects.map(({ kind }) => kind);
function only<Kind extends Effect["kind"]>(effects: readonly Effect[], kind: Kind): Extract<Effect, { kind: Kind }> {
  const found = effects.filter((effect) => effect.kind === kind);
  expect(found).toHaveLength(1);
  return found[0] as Extract<Effect, { kind: Kind }>;
}

/** Plays events and returns the effects of the last one. */
function play(execution: Execution, ...events: readonly ExecutionEvent[]): readonly Effect[] {
  let effects: readonly Effect[] = [];
  for (const event of events) effects = execution.step(event);
  return effects;
}

/** An execution that reads ann and writes her feed, with ann in the cache: sent, and speculating. */
function speculating(input: Partial<ExecutionInput> = {}, primary = new PrimaryLink()): Execution {
  const execution = new Execution({ ...INPUT, ...input }, DEFAULT_BOUNDS, undefined, primary);
  play(execution, started(), derived(set([ann], [feed])), fetched({ [ann]: item(5, "Ann") }));
  return execution;
}

describe("lines of a handler", () => {
  const LOGGED = [{ level: "info", text: "hello" }] as const;
  const speaks = (outcome: Outcome = result("done")): ExecutionEvent => ({
    kind: "speculated",
    speculation: { kind: "completed", outcome, writes: [], logged: LOGGED },
    atMs: 0,
  });
  const told = (effects: readonly Effect[]): unknown => {
    const { answer } = only(effects, "answer");
    return answer.kind === "outcome" ? answer.logged : null;
  };

  test("come with the answer of a run that was confirmed, whichever was there first", () => {
    const first = speculating();
    expect(first.step(speaks())).toEqual([]);
    expect(told(first.step(valid(commit(9))))).toEqual(LOGGED);
    const last = speculating();
    last.step(valid(commit(9)));
    expect(told(last.step(speaks()))).toEqual(LOGGED);
  });

  test("come with an abort and a trap", () => {
    const outcomes: readonly Outcome[] = [
      { kind: "abort", status: 404, code: "gone", message: "" },
      { kind: "trap", code: "assertion_failed", message: "no" },
    ];
    for (const outcome of outcomes) {
      const execution = speculating();
      execution.step(speaks(outcome));
      expect(told(execution.step(valid(commit(9))))).toEqual(LOGGED);
    }
  });

  test("are dropped with a run in whose place the primary has run the handler", () => {
    const execution = speculating();
    execution.step(speaks());
    expect(told(execution.step(executed(result("right"), { [ann]: item(7, "Ann") })))).toBeUndefined();
  });

  test("of a run whose result was shown early wait for its confirmation", () => {
    const execution = speculating({ prefersSpeculative: true, speculative: true });
    expect(kinds(execution.step(speaks()))).toEqual(["show"]);
    expect(told(execution.step(valid(commit(9))))).toEqual(LOGGED);
  });

  test("are dropped when nobody knows the outcome", () => {
    const execution = speculating();
    execution.step(speaks());
    const end = execution.step({ kind: "too-large", reason: "it is", atMs: 0 });
    expect(told(end)).toBeNull();
  });

  test("in record mode are those of the last run", () => {
    const execution = new Execution({ ...INPUT, plan: "recorded" });
    const ranWith = (text: string, missing: readonly UnitId[]): ExecutionEvent => ({
      kind: "derived",
      derivation: {
        kind: "derived",
        set: set([ann], []),
        missing,
        captured: new Map(),
        run: { kind: "completed", outcome: result("done"), writes: [], logged: [{ level: "info", text }] },
        isExhausted: false,
        ...NO_SPANS,
      },
      atMs: 0,
    });
    play(execution, started(), ranWith("on a guess", [ann]), fetched({ [ann]: item(5, "Ann") }));
    execution.step(ranWith("on Ann", []));
    expect(told(execution.step(valid(null)))).toEqual([{ level: "info", text: "on Ann" }]);
  });
});

describe("the common case: everything cached and current", () => {
  test("derive, capture, send and speculate, join, answer, follow up", () => {
    const execution = new Execution(INPUT);

    expect(execution.step(started())).toEqual([{ kind: "derive", snapshot: new Map() }]);
    expect(execution.step(derived(set([ann, bob], [feed, ann])))).toEqual([{ kind: "fetch", units: [ann, bob] }]);

    const effects = execution.step(fetched({ [ann]: item(5, "Ann"), [bob]: item(6, "Bob") }));
    expect(kinds(effects)).toEqual(["send", "speculate"]);
    // Each unit once, sorted, one both read and written too; a blind write names no version.
    expect(only(effects, "send").request.units).toEqual([
      { unit: feed, mode: "write" },
      { unit: ann, mode: "read-write", version: item(5, "Ann").version },
      { unit: bob, mode: "read", version: item(6, "Bob").version },
    ]);
    // The order is data: f must not take the CPU before the request has left.
    expect(only(effects, "speculate").after).toBe("send");

    expect(execution.step(completed(result("done"), { [feed]: bytes("post") }))).toEqual([]);

    const end = execution.step(valid(commit(9)));
    expect(kinds(end)).toEqual(["answer", "follow", "put"]);
    expect(only(end, "answer").answer).toEqual({
      kind: "outcome",
      outcome: result("done"),
      path: "speculative",
      reason: "valid",
    });
    expect(only(end, "follow").followup).toEqual({
      executionId: INPUT.executionId,
      commitId: commit(9),
      outcome: result("done"),
      writes: [{ unit: feed, value: bytes("post") }],
      effects: [],
    });
    expect(only(end, "put").entries).toEqual([{ unit: feed, entry: item(9, "post") }]);
  });

  test("the reply first: the answer waits for the speculation", () => {
    const execution = speculating();
    expect(execution.step(valid(commit(9)))).toEqual([]);
    expect(kinds(execution.step(completed(result("done"), { [feed]: bytes("post") })))).toEqual([
      "answer",
      "follow",
      "put",
    ]);
  });

  test("a read-only execution makes no intent: no followup, no put", () => {
    const execution = new Execution(INPUT);
    play(execution, started(), derived(set([ann], [])), fetched({ [ann]: item(5, "Ann") }), valid(null));
    expect(kinds(execution.step(completed(result("Ann"))))).toEqual(["answer"]);
  });

  test("a retained read-only execution has an intent, which its followup completes", () => {
    const execution = new Execution({ ...INPUT, retained: true });
    play(execution, started(), derived(set([ann], [])), fetched({ [ann]: item(5, "Ann") }), valid(commit(9)));
    const end = execution.step(completed(result("Ann")));
    expect(kinds(end)).toEqual(["answer", "follow"]);
    expect(only(end, "follow").followup.writes).toEqual([]);
  });

  test("abort and trap are told only after validation, and release the locks by an empty followup", () => {
    const abort: Outcome = { kind: "abort", status: 409, code: "taken", message: "taken" };
    const execution = speculating();
    expect(execution.step(completed(abort))).toEqual([]);
    const end = execution.step(valid(commit(9)));
    expect(kinds(end)).toEqual(["answer", "follow"]);
    expect(only(end, "follow").followup).toMatchObject({ outcome: abort, writes: [] });
  });

  test("deletes reach the cache as absences", () => {
    const execution = speculating();
    play(execution, valid(commit(9)));
    const end = execution.step(completed(result("done"), { [feed]: null }));
    expect(only(end, "put").entries).toEqual([
      { unit: feed, entry: { version: { commitId: commit(9), hash: null }, value: null } },
    ]);
  });

  test("nothing to read: no fetch", () => {
    const execution = new Execution(INPUT);
    expect(kinds(play(execution, started(), derived(set([], [feed]))))).toEqual(["send", "speculate"]);
  });
});

describe("the read/write set", () => {
  test("dependent reads: all that is missing is fetched in one batch, then f^rw runs again", () => {
    const execution = new Execution(INPUT);
    play(execution, started());
    // ann is needed to know the rest; bob is part of the set already and comes in the same batch.
    expect(execution.step(derived(set([ann, bob], []), [ann]))).toEqual([{ kind: "fetch", units: [ann, bob] }]);
    const again = execution.step(fetched({ [ann]: item(5, "Ann"), [bob]: item(6, "Bob") }));
    expect(again).toEqual([
      {
        kind: "derive",
        snapshot: new Map([
          [ann, item(5, "Ann")],
          [bob, item(6, "Bob")],
        ]),
      },
    ]);
    expect(execution.step(derived(set([ann, bob, feed], [])))).toEqual([{ kind: "fetch", units: [feed] }]);
    expect(kinds(execution.step(fetched({ [feed]: item(7, "post") })))).toEqual(["send", "speculate"]);
  });

  test("one captured snapshot: f gets the very entries whose versions are sent", () => {
    const execution = new Execution(INPUT);
    play(
      execution,
      started(),
      derived(set([ann], []), [ann]),
      fetched({ [ann]: item(5, "Ann") }),
      derived(set([ann, bob], [])),
    );
    // The cache has moved on and offers ann again: the first look counts.
    const effects = execution.step(fetched({ [ann]: item(8, "Ann II"), [bob]: item(6, "Bob") }));
    const sent = only(effects, "send").request.units ?? [];
    const snapshot = only(effects, "speculate").snapshot;
    expect(sent).toHaveLength(2);
    for (const accessed of sent) expect(accessed).toMatchObject({ version: snapshot.get(accessed.unit)?.version });
    expect(snapshot.get(ann)).toEqual(item(5, "Ann"));
  });

  test("a needed value that the cache lacks: the set for its absence is sent, with the guess", () => {
    const execution = new Execution(INPUT);
    const effects = play(execution, started(), derived(set([ann, bob], []), [ann]), fetched({ [bob]: item(6, "Bob") }));
    expect(kinds(effects)).toEqual(["send"]);
    expect(only(effects, "send").request.units).toEqual([
      { unit: ann, mode: "read", version: GUESS.version },
      { unit: bob, mode: "read", version: item(6, "Bob").version },
    ]);
  });

  test("absent in the cache is a version like any other", () => {
    const absent: Entry = { version: { commitId: commit(3), hash: null }, value: null };
    const execution = new Execution(INPUT);
    const effects = play(execution, started(), derived(set([ann], [])), fetched({ [ann]: absent }));
    expect(kinds(effects)).toEqual(["send", "speculate"]);
    expect(only(effects, "send").request.units).toEqual([{ unit: ann, mode: "read", version: absent.version }]);
  });

  test("rounds are bounded: a chain that goes on is left to the primary", () => {
    const execution = new Execution(INPUT, { ...DEFAULT_BOUNDS, fetchRounds: 3 });
    play(execution, started());
    const chain = Array.from({ length: 10 }, (_, index) => unitId("chain", String(index)));
    for (let round = 0; round < 3; round++) {
      const reads = chain.slice(0, round + 1);
      expect(kinds(execution.step(derived(set(reads, []), [chain[round]!])))).toEqual(["fetch"]);
      expect(kinds(execution.step(fetched({ [chain[round]!]: item(1, "next") })))).toEqual(["derive"]);
    }
    const effects = execution.step(derived(set(chain.slice(0, 4), []), [chain[3]!]));
    expect(kinds(effects)).toEqual(["send"]);
    expect(only(effects, "send").request.units?.at(-1)).toEqual({ unit: chain[3], mode: "read", version: null });
  });

  test("a failed derivation runs near storage and is reported", () => {
    const execution = new Execution(INPUT);
    const effects = play(execution, started(), {
      kind: "derived",
      derivation: { kind: "failed", reason: "stack" },
      atMs: 0,
    });
    expect(kinds(effects)).toEqual(["warn", "send"]);
    expect(only(effects, "send").request.units).toBeNull();
  });

  test("a handler that can't be analyzed goes to the primary at once", () => {
    const effects = play(new Execution({ ...INPUT, plan: "near-storage" }), started());
    expect(kinds(effects)).toEqual(["send"]);
    expect(only(effects, "send").request.units).toBeNull();
  });
});

describe("a unit that the cache lacks is guessed absent", () => {
  const inserting = (experience = new Experience()): readonly [Execution, readonly Effect[]] => {
    const execution = new Execution(INPUT, DEFAULT_BOUNDS, experience);
    const access = set([ann, bob], [bob]);
    return [execution, play(execution, started(), derived(access), fetched({ [ann]: item(5, "Ann") }))];
  };

  test("one that f writes: an insertion runs at the location, under a version of no execution", () => {
    const [execution, effects] = inserting();
    expect(kinds(effects)).toEqual(["send", "speculate"]);
    expect(only(effects, "send").request.units).toEqual([
      { unit: ann, mode: "read", version: item(5, "Ann").version },
      { unit: bob, mode: "read-write", version: { commitId: NO_COMMIT, hash: null } },
    ]);
    expect(only(effects, "speculate")).toMatchObject({ after: "send" });
    expect(only(effects, "speculate").snapshot.get(bob)).toEqual(GUESS);
    const end = play(execution, completed(result("made"), { [bob]: bytes("Bob") }), valid(commit(9)));
    expect(only(end, "answer").answer).toMatchObject({ path: "speculative", reason: "valid" });
    expect(only(end, "put").entries).toEqual([{ unit: bob, entry: item(9, "Bob") }]);
  });

  test("wrong: one run in vain, and the primary's outcome", () => {
    const [execution] = inserting();
    const theirs = executed(result("theirs"), { [bob]: item(7, "Bob") });
    const end = play(execution, completed(result("mine"), { [bob]: bytes("Bob") }), theirs);
    expect(only(end, "answer").answer).toMatchObject({ outcome: result("theirs"), reason: "missing" });
    expect(only(end, "put").entries).toEqual([{ unit: bob, entry: item(7, "Bob") }]);
  });

  test("after a wrong guess f waits for the reply, and runs if the guess was right after all", () => {
    const experience = new Experience();
    const [first] = inserting(experience);
    play(first, completed(result("mine")), executed(result("theirs"), { [bob]: item(7, "Bob") }));

    const [second, effects] = inserting(experience);
    expect(kinds(effects)).toEqual(["send"]);
    const late = second.step(valid(commit(9)));
    expect(late).toMatchObject([{ kind: "speculate", after: "reply" }]);
    const end = second.step(completed(result("made"), { [bob]: bytes("Bob") }));
    expect(kinds(end)).toEqual(["answer", "follow", "put"]);
    expect(only(end, "answer").answer).toMatchObject({ path: "speculative", reason: "doubted" });

    // And so that is likely again.
    expect(kinds(inserting(experience)[1])).toEqual(["send", "speculate"]);
  });

  test("one that f only reads: it waits, until such guesses came true", () => {
    const experience = new Experience();
    const look = (): readonly [Execution, readonly Effect[]] => {
      const execution = new Execution(INPUT, DEFAULT_BOUNDS, experience);
      return [execution, play(execution, started(), derived(set([ann], [])), fetched())];
    };
    let waits = 0;
    let [execution, effects] = look();
    while (!effects.some(({ kind }) => kind === "speculate")) {
      expect(++waits).toBeLessThan(5);
      expect(kinds(execution.step(valid(null)))).toEqual(["speculate"]);
      const end = execution.step(completed(result("nobody")));
      // From here on the absence is known.
      expect(end).toMatchObject([{ kind: "answer" }, { kind: "put", entries: [{ unit: ann, entry: GUESS }] }]);
      [execution, effects] = look();
    }
    expect(waits).toBeGreaterThan(0);
  });

  test("what the bound on fetches left out is not guessed: it goes with null, and f is not run", () => {
    const execution = new Execution(INPUT, { ...DEFAULT_BOUNDS, fetchRounds: 1 });
    play(execution, started(), derived(set([ann], []), [ann]), fetched({ [ann]: item(5, "Ann") }));
    const effects = execution.step(derived(set([ann, bob], [])));
    expect(kinds(effects)).toEqual(["send"]);
    expect(only(effects, "send").request.units?.at(-1)).toEqual({ unit: bob, mode: "read", version: null });
    const end = execution.step(executed(result("theirs"), { [bob]: item(7, "Bob") }));
    expect(only(end, "answer").answer).toMatchObject({ reason: "missing" });
  });
});

describe("a unit that is hot: stale here time after time", () => {
  const reading = (experience: Experience): readonly [Execution, readonly Effect[]] => {
    const execution = new Execution(INPUT, DEFAULT_BOUNDS, experience);
    const effects = play(execution, started(), derived(set([ann], [feed])), fetched({ [ann]: item(5, "Ann") }));
    return [execution, effects];
  };
  const stale = executed(result("theirs"), { [ann]: item(7, "Ann II") });

  test("f waits for the reply; validity lets it run, and cools the unit down", () => {
    const experience = new Experience();
    let staleInARow = 0;
    let [execution, effects] = reading(experience);
    while (effects.some(({ kind }) => kind === "speculate")) {
      expect(++staleInARow).toBeLessThan(10);
      expect(only(execution.step(stale), "answer").answer).toMatchObject({ reason: "stale" });
      [execution, effects] = reading(experience);
    }
    // A unit that is stale now and then is not hot.
    expect(staleInARow).toBeGreaterThan(2);
    expect(only(execution.step(stale), "answer").answer).toMatchObject({ path: "near-storage", reason: "hot" });

    let [again] = reading(experience);
    for (let valids = 0; ; valids++) {
      expect(valids).toBeLessThan(10);
      expect(kinds(again.step(valid(commit(9))))).toEqual(["speculate"]);
      const end = again.step(completed(result("mine"), { [feed]: bytes("post") }));
      expect(only(end, "answer").answer).toMatchObject({ path: "speculative", reason: "doubted" });
      [again, effects] = reading(experience);
      if (effects.some(({ kind }) => kind === "speculate")) break;
    }
  });

  test("a unit that f writes is held stale only if nothing else explains the reply", () => {
    const experience = new Experience();
    for (let repeat = 0; repeat < 20; repeat++) {
      const execution = new Execution(INPUT, DEFAULT_BOUNDS, experience);
      const cached = fetched({ [ann]: item(5, "Ann"), [feed]: item(6, "feed") });
      play(execution, started(), derived(set([ann, feed], [feed])), cached);
      // The primary has written the feed: that it comes as a repair says nothing of what was there before.
      execution.step(executed(result("theirs"), { [ann]: item(7, "Ann II"), [feed]: item(9, "post") }));
    }
    expect(experience.doubt(INPUT.handler, [], [ann], 0)).toBe("hot");
    expect(experience.doubt(INPUT.handler, [], [feed], 0)).toBeNull();
  });
});

describe("record mode", () => {
  const RECORDED: ExecutionInput = { ...INPUT, plan: "recorded" };
  const found = (
    access: AccessSet,
    {
      missing = [],
      captured = {},
      outcome = result("done"),
    }: {
      missing?: readonly UnitId[];
      captured?: Readonly<Record<UnitId, Entry>>;
      outcome?: Outcome;
    } = {},
  ): ExecutionEvent => ({
    kind: "derived",
    derivation: {
      kind: "derived",
      set: access,
      missing,
      captured: new Map(Object.entries(captured) as [UnitId, Entry][]),
      isExhausted: false,
      ...NO_SPANS,
      run: { kind: "completed", outcome, writes: [{ unit: feed, value: bytes("post") }] },
    },
    atMs: 0,
  });

  test("all in memory: f runs once, and its run is the speculation", () => {
    const execution = new Execution(RECORDED);
    expect(execution.step(started())).toEqual([{ kind: "record", snapshot: new Map() }]);
    const effects = execution.step(found(set([ann], [feed]), { captured: { [ann]: item(5, "Ann") } }));
    expect(kinds(effects)).toEqual(["send"]);
    expect(only(effects, "send").request.units).toEqual([
      { unit: feed, mode: "write" },
      { unit: ann, mode: "read", version: item(5, "Ann").version },
    ]);
    const end = execution.step(valid(commit(9)));
    expect(kinds(end)).toEqual(["answer", "follow", "put"]);
    expect(only(end, "answer").answer).toMatchObject({ outcome: result("done"), path: "speculative" });
    expect(only(end, "follow").followup.writes).toEqual([{ unit: feed, value: bytes("post") }]);
  });

  test("what is not in memory is fetched in one batch, and f runs again on one snapshot", () => {
    const execution = new Execution(RECORDED);
    const captured = { [ann]: item(5, "Ann") };
    const first = play(execution, started(), found(set([ann, bob], []), { missing: [bob], captured }));
    expect(first).toEqual([{ kind: "fetch", units: [bob] }]);
    const again = execution.step(fetched({ [bob]: item(6, "Bob") }));
    expect(again).toEqual([
      {
        kind: "record",
        snapshot: new Map([
          [ann, item(5, "Ann")],
          [bob, item(6, "Bob")],
        ] as const),
      },
    ]);
    expect(kinds(execution.step(found(set([ann, bob], [feed]))))).toEqual(["send"]);
  });

  test("a value that the cache lacks is guessed absent, as the run has done: that run is the speculation", () => {
    const recording = (): Execution => {
      const execution = new Execution(RECORDED);
      const effects = play(execution, started(), found(set([ann], [feed]), { missing: [ann] }), fetched());
      expect(kinds(effects)).toEqual(["send"]);
      expect(only(effects, "send").request.units?.at(-1)).toEqual({ unit: ann, mode: "read", version: GUESS.version });
      return execution;
    };
    const right = recording().step(valid(commit(9)));
    expect(only(right, "answer").answer).toMatchObject({ outcome: result("done"), path: "speculative" });
    expect(only(right, "put").entries).toEqual([
      { unit: feed, entry: item(9, "post") },
      { unit: ann, entry: GUESS },
    ]);
    const wrong = recording().step(executed(result("right"), { [ann]: item(7, "Ann") }));
    expect(only(wrong, "answer").answer).toMatchObject({ outcome: result("right"), reason: "missing" });
  });

  test("a run that was ended early guesses nothing: the set goes with null", () => {
    const execution = new Execution(RECORDED);
    play(execution, started(), {
      kind: "derived",
      derivation: {
        kind: "derived",
        set: set([ann], []),
        missing: [ann],
        captured: new Map(),
        run: null,
        isExhausted: false,
        ...NO_SPANS,
      },
      atMs: 0,
    });
    const effects = execution.step(fetched());
    expect(kinds(effects)).toEqual(["send"]);
    expect(only(effects, "send").request.units).toEqual([{ unit: ann, mode: "read", version: null }]);
    expect(kinds(execution.step(executed(result("right"), { [ann]: item(7, "Ann") })))).toEqual(["answer", "put"]);
  });

  test("an abort is part of the answer", () => {
    const outcome: Outcome = { kind: "abort", status: 404, code: "no_such_user", message: "" };
    const execution = new Execution(RECORDED);
    play(execution, started(), found(set([ann], []), { captured: { [ann]: item(5, "Ann") }, outcome }));
    expect(only(execution.step(executed(outcome)), "answer").answer).toMatchObject({ outcome });
  });

  test("a limit that the run met is an outcome", () => {
    const outcome: Outcome = { kind: "trap", code: "out_of_fuel", message: "used up" };
    const execution = new Execution(RECORDED);
    expect(kinds(play(execution, started(), found(set([], [feed]), { outcome })))).toEqual(["send"]);
    expect(only(execution.step(valid(commit(9))), "answer").answer).toMatchObject({ outcome });
  });

  test("too many runs, or a limit of this host: near storage", () => {
    const chain = Array.from({ length: 5 }, (_, index) => unitId("chain", String(index)));
    const execution = new Execution(RECORDED, { ...DEFAULT_BOUNDS, recordRuns: 2 });
    play(execution, started(), found(set(chain.slice(0, 1), []), { missing: [chain[0]!] }));
    play(execution, fetched({ [chain[0]!]: item(1, "next") }));
    play(execution, found(set(chain.slice(0, 2), []), { missing: [chain[1]!] }));
    const effects = execution.step(fetched({ [chain[1]!]: item(1, "next") }));
    expect(kinds(effects)).toEqual(["warn", "send"]);
    expect(only(effects, "warn").code).toBe("record_mode_failed");
    expect(only(effects, "send").request.units).toBeNull();

    const failed = { kind: "derived", derivation: { kind: "failed", reason: "stack" }, atMs: 0 } as const;
    const deep = play(new Execution(RECORDED), started(), failed);
    expect(kinds(deep)).toEqual(["warn", "send"]);
    expect(only(deep, "send").request.units).toBeNull();
  });

  test("a run that uses up its fuel is not the speculation: near storage, nothing was sent before", () => {
    const derivation = {
      kind: "derived",
      set: set([ann], [feed]),
      missing: [],
      captured: new Map([[ann, item(5, "Ann")]]),
      run: null,
      isExhausted: true,
      ...NO_SPANS,
    } as const;
    const effects = play(new Execution(RECORDED), started(), { kind: "derived", derivation, atMs: 0 });
    // Writes that nothing is read of are not fetched.
    expect(kinds(effects)).toEqual(["send"]);
    expect(only(effects, "send").request.units).toBeNull();
  });

  test("a run on guesses that uses up its fuel runs again on what the cache has", () => {
    const derivation = {
      kind: "derived",
      set: set([ann], []),
      missing: [ann],
      captured: new Map(),
      run: null,
      isExhausted: true,
      ...NO_SPANS,
    } as const;
    const execution = new Execution(RECORDED);
    expect(kinds(play(execution, started(), { kind: "derived", derivation, atMs: 0 }))).toEqual(["fetch"]);
    expect(kinds(execution.step(fetched({ [ann]: item(5, "Ann") })))).toEqual(["record"]);
  });

  test("the guard: a run that touched what is not asked for is never sent", () => {
    const execution = new Execution({ ...RECORDED, undeclaredTables: ["feeds"] });
    const effects = play(execution, started(), found(set([ann], [feed]), { captured: { [ann]: item(5, "Ann") } }));
    expect(kinds(effects)).toEqual(["warn", "send"]);
    expect(only(effects, "warn").code).toBe("speculation_stopped");
    expect(only(effects, "send").request.units).toBeNull();
  });
});

describe("a result is shown before its confirmation", () => {
  const SHOWING = { prefersSpeculative: true, speculative: true } as const;
  const show = (text: string): Effect => ({ kind: "show", result: bytes(text) });

  test("confirmed: the answer says so", () => {
    const execution = speculating(SHOWING);
    expect(execution.shows).toBe(true);
    expect(execution.step(completed(result("mine")))).toEqual([show("mine")]);
    expect(only(execution.step(valid(null)), "answer")).toMatchObject({ verdict: "confirmed" });
  });

  test.each<[Verdict, ExecutionEvent]>([
    ["confirmed", executed(result("mine"))],
    ["corrected", executed(result("min"))],
    ["corrected", executed(result("mind"))],
    ["failed", executed({ kind: "abort", status: 403, code: "no", message: "No." })],
    ["failed", executed({ kind: "trap", code: "unreachable", message: "out of range" })],
    ["failed", replied({ kind: "refused", code: "unknown_handler", message: "", retryAfterMs: null })],
  ])("%s by the primary's own answer", (verdict, event) => {
    const end = play(speculating(SHOWING), completed(result("mine")), event);
    expect(only(end, "answer")).toMatchObject({ verdict });
  });

  test.each<[string, Partial<ExecutionInput>]>([
    ["without the tag", { ...SHOWING, speculative: false }],
    ["without the preference", { ...SHOWING, prefersSpeculative: false }],
  ])("never %s", (_, input) => {
    const execution = speculating(input);
    expect(execution.shows).toBe(false);
    expect(execution.step(completed(result("mine")))).toEqual([]);
    expect(only(execution.step(valid(null)), "answer")).not.toHaveProperty("verdict");
  });

  test.each<[string, ExecutionEvent]>([
    ["a refusal", completed({ kind: "abort", status: 403, code: "no", message: "No." })],
    ["a trap", completed({ kind: "trap", code: "unreachable", message: "out of range" })],
    ["a run that was stopped", stopped],
    ["a run without fuel", exhausted],
  ])("never %s", (_, event) => {
    expect(kinds(speculating(SHOWING).step(event))).not.toContain("show");
  });

  test("a reply that beats f leaves nothing to show", () => {
    const execution = speculating(SHOWING);
    const [answer] = play(execution, valid(null), completed(result("mine")));
    expect(answer).toMatchObject({ kind: "answer" });
    expect(answer).not.toHaveProperty("verdict");
  });

  test("while an attempt is repeated it is shown, and once", () => {
    const execution = speculating(SHOWING);
    execution.step(unanswered());
    expect(kinds(execution.step(completed(result("mine"))))).toEqual(["show"]);
    expect(kinds(execution.step(waited("lvi")))).toEqual(["send"]);
    expect(only(execution.step(valid(null)), "answer")).toMatchObject({ verdict: "confirmed" });
  });

  test("in doubt nothing is shown, in record mode neither", () => {
    for (const plan of ["sliced", "recorded"] as const) {
      const experience = new Experience();
      for (let count = 0; count < 10; count++) experience.compared(ann, true, 0);
      const execution = new Execution({ ...INPUT, ...SHOWING, plan }, DEFAULT_BOUNDS, experience);
      const access = set([ann], [feed]);
      const run = { kind: "completed", outcome: result("mine"), writes: [] } as const;
      const captured = new Map([[ann, item(5, "Ann")]]);
      const isRecorded = plan === "recorded";
      const derivation = {
        kind: "derived",
        set: access,
        missing: [],
        captured,
        run: isRecorded ? run : null,
        isExhausted: false,
        ...NO_SPANS,
      } as const;
      const before = play(execution, started(), { kind: "derived", derivation, atMs: 0 });
      expect(kinds(before)).toEqual(["send"]);
      const after = play(execution, valid(commit(9)), ...(isRecorded ? [] : [completed(result("mine"))]));
      expect(isRecorded ? [] : kinds(after)).not.toContain("show");
    }
  });

  test("a run in record mode is shown once the request is sent", () => {
    const execution = new Execution({ ...INPUT, ...SHOWING, plan: "recorded" });
    const run = { kind: "completed", outcome: result("mine"), writes: [] } as const;
    const captured = new Map([[ann, item(5, "Ann")]]);
    const derivation = {
      kind: "derived",
      set: set([ann], []),
      missing: [],
      captured,
      run,
      isExhausted: false,
      ...NO_SPANS,
    } as const;
    const effects = play(execution, started(), { kind: "derived", derivation, atMs: 0 });
    expect(kinds(effects)).toEqual(["send", "show"]);
    expect(only(execution.step(valid(null)), "answer")).toMatchObject({ verdict: "confirmed" });
  });
});

describe("the speculation is not confirmed", () => {
  test("stale: the server's outcome, the repairs, and nothing of the speculation", () => {
    const execution = speculating();
    play(execution, completed(result("wrong"), { [feed]: bytes("wrong") }));
    const end = execution.step(executed(result("right"), { [ann]: item(8, "Ann II") }));
    expect(end).toEqual([
      { kind: "answer", answer: { kind: "outcome", outcome: result("right"), path: "near-storage", reason: "stale" } },
      { kind: "put", entries: [{ unit: ann, entry: item(8, "Ann II") }] },
    ]);
  });

  test("the server's outcome does not wait for the speculation, which is dropped", () => {
    const execution = speculating();
    expect(kinds(execution.step(executed(result("right"))))).toEqual(["answer"]);
    expect(execution.answered).toBe(true);
    expect(execution.step(completed(result("wrong"), { [feed]: bytes("wrong") }))).toEqual([]);
  });

  test("a repair that is no newer than what was sent disproves it, so that the cache lets go of it", () => {
    const execution = speculating();
    const restored = item(2, "Ann before");
    const end = execution.step(executed(result("right"), { [ann]: restored, [feed]: item(9, "post") }));
    expect(only(end, "put").entries).toEqual([
      { unit: ann, entry: restored, disproved: item(5, "Ann").version },
      { unit: feed, entry: item(9, "post") },
    ]);
  });

  test("an undeclared access stops it: asked again without a set, under the same execution id", () => {
    const execution = speculating();
    expect(kinds(execution.step(stopped))).toEqual(["warn"]);
    const again = execution.step(valid(commit(9)));
    expect(kinds(again)).toEqual(["send"]);
    expect(only(again, "send").request).toMatchObject({ executionId: INPUT.executionId, units: null });
    expect(kinds(execution.step(executed(result("right"))))).toEqual(["answer"]);
  });

  test("an undeclared access after the confirmation asks at once", () => {
    const execution = speculating();
    expect(execution.step(valid(commit(9)))).toEqual([]);
    const again = execution.step(stopped);
    expect(kinds(again)).toEqual(["warn", "send"]);
    expect(only(again, "send").request.units).toBeNull();
  });

  test("a run that uses up its fuel is asked for near storage, under the same execution id, and warns of nothing", () => {
    for (const events of [
      [exhausted, valid(commit(9))],
      [valid(commit(9)), exhausted],
      [unanswered(), exhausted, waited("lvi")],
    ]) {
      const execution = speculating();
      const again = play(execution, ...events);
      expect(kinds(again)).toEqual(["send"]);
      expect(only(again, "send").request).toMatchObject({ executionId: INPUT.executionId, units: null });
      const end = execution.step(
        replied({ kind: "executed", cause: "requested", outcome: result("right"), repairs: [], times }),
      );
      expect(only(end, "answer").answer).toMatchObject({
        outcome: result("right"),
        path: "near-storage",
        reason: "long",
      });
    }
  });

  test("a handler that uses up its fuel time after time is not run here for some time", () => {
    const experience = new Experience();
    const executions = [0, 1, 2].map(() => new Execution(INPUT, DEFAULT_BOUNDS, experience));
    for (const execution of executions)
      play(execution, started(), derived(set([ann], [feed])), fetched({ [ann]: item(5, "Ann") }));
    for (const execution of executions) execution.step(exhausted);
    const asked = new Execution(INPUT, DEFAULT_BOUNDS, experience).step(started());
    expect(only(asked, "send").request.units).toBeNull();
    expect(kinds(new Execution(INPUT, DEFAULT_BOUNDS, experience).step(started(120_000)))).toEqual(["derive"]);
    const other = { ...INPUT, handler: "view" };
    expect(kinds(new Execution(other, DEFAULT_BOUNDS, experience).step(started()))).toEqual(["derive"]);
  });

  test("an undeclared access, and the set was stale anyway: one request is enough", () => {
    const execution = speculating();
    expect(kinds(play(execution, stopped, executed(result("right"))))).toEqual(["answer"]);
  });

  test("the hook: units of undeclared tables are in neither set nor request", () => {
    const execution = new Execution({ ...INPUT, undeclaredTables: ["feeds"] });
    const effects = play(
      execution,
      started(),
      derived(set([ann, feed], [feed])),
      fetched({ [ann]: item(5, "Ann"), [feed]: item(6, "f") }),
    );
    expect(only(effects, "send").request.units?.map(({ unit }) => unit)).toEqual([ann]);
    expect(only(effects, "speculate").set).toEqual(set([ann], []));
  });
});

describe("a primary of two servers", () => {
  function sent(primary: PrimaryLink): {
    readonly execution: Execution;
    readonly first: Extract<Effect, { kind: "send" }>;
  } {
    const execution = new Execution(INPUT, DEFAULT_BOUNDS, undefined, primary);
    play(execution, started(), derived(set([ann], [feed])));
    const first = only(execution.step(fetched({ [ann]: item(5, "Ann") })), "send");
    play(execution, completed(result("done"), { [feed]: bytes("post") }));
    return { execution, first };
  }

  test("a standby's refusal: the other one at once, with the next attempt, and whoever comes later asks that first", () => {
    const primary = new PrimaryLink(2);
    const { execution, first } = sent(primary);
    const effects = execution.step(notLeading());
    expect(kinds(effects)).toEqual(["send"]);
    const second = only(effects, "send");
    expect([first.server, second.server]).toEqual([0, 1]);
    // A later attempt, whatever the refusal says: what comes late of the first one counts for nothing.
    expect(second.request).toEqual({ ...first.request, attempt: 2 });
    const end = execution.step(valid(commit(9)));
    expect(only(end, "follow").server).toBe(1);
    expect(sent(primary).first.server).toBe(1);
  });

  test("a server that does not answer: the other one at once; what the first may have done it can tell", () => {
    const primary = new PrimaryLink(2);
    const { execution, first } = sent(primary);
    const effects = execution.step(unanswered());
    expect(kinds(effects)).toEqual(["warn", "send"]);
    expect(only(effects, "send")).toMatchObject({ server: 1, request: { ...first.request, attempt: 2 } });
    // It has done nothing of it, and has another server's word for that: the next attempt at once, at the same.
    const inDoubt = replied({ kind: "refused", code: "in_doubt", message: "", retryAfterMs: 0 });
    expect(only(execution.step(inDoubt), "send")).toMatchObject({ server: 1, request: { attempt: 3 } });
  });

  test("nobody leads: rounds with a wait between them, in the time that there is for all", () => {
    const primary = new PrimaryLink(2);
    const { execution, first } = sent(primary);
    const asked = [first.server];
    let atMs = 0;
    for (;;) {
      const effects = execution.step(asked.length % 2 === 0 ? notLeading(atMs) : unanswered(atMs));
      if (execution.answered) {
        expect(only(effects, "answer").answer).toMatchObject({ code: "primary_unreachable" });
        break;
      }
      const wait = effects.find((effect) => effect.kind === "wait");
      // Waits come after each second one.
      expect(wait !== undefined).toBe(asked.length % 2 === 0);
      atMs += wait?.ms ?? 10;
      asked.push(only(wait === undefined ? effects : execution.step(waited("lvi", atMs)), "send").server);
    }
    expect(asked).toEqual(Array.from({ length: 2 * DEFAULT_BOUNDS.attempts }, (_, index) => index % 2));
    expect(atMs).toBeLessThan(DEFAULT_BOUNDS.totalMs);
  });

  test("one that drains: its successor is asked", () => {
    const { execution } = sent(new PrimaryLink(2));
    const draining = replied({ kind: "refused", code: "draining", message: "", retryAfterMs: 1_000 });
    expect(only(execution.step(draining), "send").server).toBe(1);
    expect(execution.step(draining)).toMatchObject([{ kind: "wait", ms: 1_000 }]);
  });

  test("a followup whose leader is gone goes to the next one", () => {
    const { execution } = sent(new PrimaryLink(2));
    const end = execution.step(valid(commit(9)));
    const lost: ExecutionEvent = { kind: "followup-unanswered", reason: "reset" };
    expect(only(end, "follow").server).toBe(0);
    expect(only(execution.step(lost), "follow")).toMatchObject({ server: 1, followup: only(end, "follow").followup });
    expect(kinds(execution.step(lost))).toEqual(["wait"]);
  });
});

describe("the primary does not answer", () => {
  test("the same request again, under the same execution id; never an answer from speculation", () => {
    const execution = new Execution(INPUT);
    const first = play(execution, started(), derived(set([ann], [feed])), fetched({ [ann]: item(5, "Ann") }));
    play(execution, completed(result("done"), { [feed]: bytes("post") }));
    expect(kinds(execution.step(unanswered()))).toEqual(["warn", "wait"]);
    const second = execution.step(waited("lvi"));
    expect(kinds(second)).toEqual(["send"]);
    expect(only(second, "send").request).toEqual({ ...only(first, "send").request, attempt: 2 });
    expect(kinds(execution.step(valid(commit(9))))).toEqual(["answer", "follow", "put"]);
  });

  test("the lost reply had executed: its stored outcome is the answer", () => {
    const execution = speculating();
    const end = play(execution, completed(result("mine")), unanswered(), waited("lvi"), executed(result("stored")));
    expect(only(end, "answer").answer).toMatchObject({ outcome: result("stored"), path: "near-storage" });
  });

  test("attempts are bounded: 503, with the execution id for a safe repeat", () => {
    const execution = speculating();
    let effects: readonly Effect[] = play(execution, completed(result("done")));
    let attempts = 0;
    while (!execution.answered) {
      attempts++;
      effects = execution.step(unanswered());
      if (!execution.answered) execution.step(waited("lvi"));
    }
    expect(attempts).toBe(DEFAULT_BOUNDS.attempts);
    const { answer } = only(effects, "answer");
    expect(answer).toMatchObject({ kind: "failed", code: "primary_unreachable", retryAfterMs: 1_000 });
    expect((answer as Extract<Answer, { kind: "failed" }>).hint).toContain(INPUT.executionId);
  });

  test("time is bounded: an attempt never outlasts what is left", () => {
    const execution = speculating();
    const late = DEFAULT_BOUNDS.totalMs - 500;
    play(execution, unanswered(late));
    expect(only(execution.step(waited("lvi", late + 200)), "send").timeoutMs).toBe(300);
    const end = execution.step(unanswered(DEFAULT_BOUNDS.totalMs));
    expect(only(end, "answer").answer).toMatchObject({ kind: "failed", code: "primary_unreachable" });
  });

  test("a speculation that stopped meanwhile: the next attempt asks without a set", () => {
    const execution = speculating();
    play(execution, unanswered(), stopped);
    expect(only(execution.step(waited("lvi")), "send").request.units).toBeNull();
  });

  test("busy: again after the time it names, then 503", () => {
    const execution = speculating();
    const busy = replied({ kind: "refused", code: "busy", message: "queue full", retryAfterMs: 700 });
    expect(execution.step(busy)).toEqual([{ kind: "wait", before: "lvi", ms: 700 }]);
    let effects: readonly Effect[] = [];
    for (let attempt = 1; attempt < DEFAULT_BOUNDS.attempts; attempt++) {
      play(execution, waited("lvi"));
      effects = execution.step(busy);
    }
    expect(only(effects, "answer").answer).toMatchObject({
      kind: "failed",
      code: "primary_busy",
      message: "queue full",
    });
  });

  test("still pending at the primary: asked again, and in the end nobody can tell whether it happened", () => {
    const execution = speculating();
    const pending = replied({ kind: "refused", code: "pending", message: "still pending", retryAfterMs: 1_000 });
    let effects = execution.step(pending);
    expect(effects).toEqual([{ kind: "wait", before: "lvi", ms: 1_000 }]);
    for (let attempt = 1; attempt < DEFAULT_BOUNDS.attempts; attempt++) {
      play(execution, waited("lvi"));
      effects = execution.step(pending);
    }
    const { answer } = only(effects, "answer");
    // Its intent is held, and this says so.
    expect(answer).toMatchObject({
      kind: "failed",
      code: "primary_unreachable",
      message: "The primary goes on with it: still pending",
      retryAfterMs: 1_000,
    });
    const { hint } = answer as Extract<Answer, { kind: "failed" }>;
    expect(hint).toContain(INPUT.executionId);
    expect(hint).not.toContain("nothing is held");
  });

  test.each([
    ["unknown_module", "unknown_module"],
    ["index_building", "index_building"],
    ["unknown_handler", "unknown_handler"],
    ["idempotency_key_reused", "idempotency_key_reused"],
    ["execution_failed", "execution_failed"],
    ["too_many_units", "execution_failed"],
    ["wrote_on_get", "wrote_on_get"],
  ] as const)("refused as %s: answered as %s without another attempt", (code, expected) => {
    const end = speculating().step(replied({ kind: "refused", code, message: "no", retryAfterMs: null }));
    expect(kinds(end)).toEqual(code === "wrote_on_get" ? ["warn", "answer"] : ["answer"]);
    expect(only(end, "answer").answer).toMatchObject({ kind: "failed", code: expected });
  });

  test("a set that the primary refuses as outside of the handler's tables: asked near storage, without a set", () => {
    const refused = { kind: "refused", code: "outside_tables", message: "no", retryAfterMs: null } as const;
    const effects = speculating().step(replied(refused));
    expect(kinds(effects)).toEqual(["warn", "send"]);
    expect(only(effects, "warn")).toMatchObject({ code: "impossible_reply" });
    expect(only(effects, "send").request).toMatchObject({ units: null });
  });

  test("a rejected request: 503 without a word about signatures, and the log has the cause", () => {
    const end = speculating().step({ kind: "rejected", reason: "status 401 unauthorized: the signature", atMs: 0 });
    expect(kinds(end)).toEqual(["warn", "answer"]);
    expect(only(end, "warn")).toMatchObject({
      code: "primary_rejected",
      message: "status 401 unauthorized: the signature",
    });
    const { answer } = only(end, "answer");
    expect(answer).toMatchObject({ code: "primary_unreachable", retryAfterMs: 1_000 });
    expect(JSON.stringify(answer)).not.toMatch(/signature|\b401\b/);
  });

  test("a request that one server rejects is sent to the other one", () => {
    const execution = new Execution(INPUT, DEFAULT_BOUNDS, undefined, new PrimaryLink(2));
    play(execution, started(), derived(set([ann], [feed])), fetched({ [ann]: item(5, "Ann") }));
    const rejected = { kind: "rejected", reason: "status 401", atMs: 0 } as const;
    expect(kinds(execution.step(rejected))).toEqual(["warn", "send"]);
    expect(kinds(execution.step(rejected))).toEqual(["warn", "answer"]);
  });

  test("a clock that is off: 503, and the log has the cause", () => {
    const end = speculating().step(
      replied({ kind: "refused", code: "clock_skew", message: "the time is too far off", retryAfterMs: null }),
    );
    expect(only(end, "warn")).toMatchObject({ code: "primary_rejected", message: "the time is too far off" });
    expect(only(end, "answer").answer).toMatchObject({ code: "primary_unreachable" });
  });

  test("a message that is too large is not sent again", () => {
    const end = speculating().step({ kind: "too-large", reason: "status 413", atMs: 0 });
    expect(end).toMatchObject([{ kind: "answer", answer: { kind: "failed", code: "execution_failed" } }]);
  });

  test("the key to repeat with is told as it is to be sent", () => {
    const execution = new Execution({ ...INPUT, repeatKey: "pay-42" }, { ...DEFAULT_BOUNDS, attempts: 1 });
    play(execution, started(), derived(set([ann], [feed])), fetched({ [ann]: item(5, "Ann") }));
    const { answer } = only(execution.step(unanswered()), "answer");
    expect(answer).toMatchObject({ hint: expect.stringContaining('"Idempotency-Key: pay-42"') as unknown });
  });
});

describe("a primary that is wrong", () => {
  test("valid for a unit that was sent without a version: never believed", () => {
    const execution = new Execution(INPUT, { ...DEFAULT_BOUNDS, fetchRounds: 0 });
    play(execution, started(), derived(set([ann], [])));
    const again = execution.step(valid(null));
    expect(kinds(again)).toEqual(["warn", "send"]);
    expect(only(again, "send").request.units).toBeNull();
    expect(kinds(execution.step(valid(null)))).toEqual(["warn", "answer"]);
  });

  test("valid without a commit id for an execution that wrote: never believed", () => {
    const execution = speculating();
    play(execution, completed(result("done"), { [feed]: bytes("post") }));
    const again = execution.step(valid(null));
    expect(kinds(again)).toEqual(["warn", "send"]);
  });
});

describe("an event that nobody asked for is an invariant that is broken", () => {
  test.each([
    ["started", [started(), started()]],
    ["derived", [derived(set([], []))]],
    ["fetched", [started(), fetched()]],
    ["replied", [started(), replied({ kind: "valid", commitId: null, times })]],
    ["waited", [started(), waited("followup")]],
  ])("%s", (kind, events) => {
    expect(() => play(new Execution(INPUT), ...events)).toThrow(`hears "${kind}", which it did not ask for`);
  });
});

describe("the followup", () => {
  const answered = (): Execution => {
    const execution = speculating();
    play(execution, valid(commit(9)), completed(result("done"), { [feed]: bytes("post") }));
    return execution;
  };
  const followupAnswered = (outcome: FollowupResult): ExecutionEvent => ({
    kind: "followup-answered",
    result: outcome,
  });
  const lost: ExecutionEvent = { kind: "followup-unanswered", reason: "reset" };

  test.each(["applied", "completed_before"] as const)("%s ends the execution", (outcome) => {
    expect(answered().step(followupAnswered(outcome))).toEqual([]);
  });

  test.each(["unknown_intent", "not_covered"] as const)("%s is reported", (outcome) => {
    expect(answered().step(followupAnswered(outcome))).toMatchObject([{ kind: "warn", code: "followup_refused" }]);
  });

  test("lost: sent again a bounded number of times, then left to the primary", () => {
    const execution = answered();
    let sent = 1;
    let effects = execution.step(lost);
    while (effects[0]?.kind === "wait") {
      expect(kinds(execution.step(waited("followup")))).toEqual(["follow"]);
      sent++;
      effects = execution.step(lost);
    }
    expect(sent).toBe(DEFAULT_BOUNDS.followupAttempts);
    expect(effects).toMatchObject([{ kind: "warn", code: "followup_unanswered" }]);
  });
});

// ── Any order of events, any cache, any primary ──────────────────────────────────────────────────────────────────────

const UNITS = [ann, bob, feed, unitId("feeds", "bob"), unitId("links", "1")];

const accessSet = fc
  .record({ reads: fc.subarray(UNITS), writes: fc.subarray(UNITS) })
  .map(({ reads, writes }) => set(reads, writes));
const derivation: fc.Arbitrary<Derivation> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(accessSet, fc.subarray(UNITS)).map(([access, missing]): Derivation => ({
      kind: "derived",
      set: access,
      missing: missing.filter((unit) => access.reads.has(unit)),
      captured: new Map(),
      run: null,
      isExhausted: false,
      ...NO_SPANS,
    })),
  },
  { weight: 1, arbitrary: fc.constant<Derivation>({ kind: "failed", reason: "trap" }) },
);
const reply: fc.Arbitrary<LviAnswer> = fc.oneof(
  fc.integer({ min: 1, max: 9 }).map((n): LviAnswer => ({ kind: "valid", commitId: commit(n), times })),
  fc.constant<LviAnswer>({ kind: "valid", commitId: null, times }),
  fc.subarray(UNITS).map((units): LviAnswer => ({
    kind: "executed",
    cause: "stale",
    outcome: result("theirs"),
    repairs: units.map((unit) => ({ unit, entry: item(4, "fresh") })),
    times,
  })),
  fc
    .constantFrom("busy", "in_doubt", "unknown_module")
    .map((code): LviAnswer => ({ kind: "refused", code, message: "no", retryAfterMs: 10 })),
);
/** The world around one execution: each effect takes its next answer from here. */
const world = fc.record({
  servers: fc.integer({ min: 1, max: 3 }),
  plan: fc.constantFrom("sliced", "recorded"),
  prefersSpeculative: fc.boolean(),
  speculative: fc.boolean(),
  /** Units that the cache has in memory. */
  memory: fc.subarray(UNITS),
  derivations: fc.array(derivation, { minLength: 1, maxLength: 12 }),
  cached: fc.subarray(UNITS),
  replies: fc.array(fc.option(reply, { freq: 4 }), { minLength: 1, maxLength: 16 }),
  speculation: fc.constantFrom("completed", "stopped", "exhausted"),
  followups: fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
  /** Which of the open effects comes back next. */
  order: fc.array(fc.nat(), { minLength: 1, maxLength: 40 }),
});

test("every sending is a later attempt, also of another question, and says what the location has seen", () => {
  const primary = new PrimaryLink();
  primary.heard(commit(3));
  const execution = speculating({}, primary);
  const second = play(execution, unanswered(), waited("lvi"));
  expect(only(second, "send").request).toMatchObject({ attempt: 2, seen: commit(3) });
  const busy = { kind: "refused", code: "busy", message: "no", retryAfterMs: 0 } as const;
  const third = play(execution, replied(busy, 0, commit(8)), waited("lvi"));
  expect(only(third, "send").request).toMatchObject({ attempt: 3, seen: commit(8) });
  const near = play(execution, stopped, valid(null));
  expect(only(near, "send").request).toMatchObject({ attempt: 4, seen: commit(8), units: null });
  // Executions to come say it too.
  expect(primary.seen).toBe(commit(8));
});

test("in doubt: the same is sent again at once, now that the location has heard of the server", () => {
  const execution = speculating();
  const doubt = { kind: "refused", code: "in_doubt", message: "?", retryAfterMs: 0 } as const;
  const effects = execution.step(replied(doubt, 0, commit(8)));
  expect(kinds(effects)).toEqual(["send"]);
  expect(only(effects, "send").request).toMatchObject({ attempt: 2, seen: commit(8) });
  expect(kinds(play(execution, valid(commit(9)), completed(result("done"))))).toEqual(["answer", "follow"]);
});

/** A derivation in record mode, as a truthful host makes it: all that it reads is captured, in memory, or missing. */
function recorded(found: Derivation, snapshot: CapturedSnapshot, memory: readonly UnitId[]): Derivation {
  if (found.kind === "failed") return found;
  const reads = [...found.set.reads].filter((unit) => !snapshot.has(unit));
  const captured = new Map(reads.filter((unit) => memory.includes(unit)).map((unit) => [unit, item(5, unit)]));
  const missing = reads.filter((unit) => !captured.has(unit));
  const writes = [...found.set.writes].map((unit) => ({ unit, value: bytes("mine") }));
  return {
    ...found,
    captured,
    missing,
    isExhausted: false,
    ...NO_SPANS,
    run: { kind: "completed", outcome: result("mine"), writes },
  };
}

test("property: whatever happens, one answer, and nothing speculative before its confirmation unless it is shown as such", () => {
  fc.assert(
    fc.property(world, ({ servers, plan, prefersSpeculative, speculative, ...others }) => {
      const { memory, derivations, cached, replies, speculation, followups, order } = others;
      const input = { ...INPUT, plan, prefersSpeculative, speculative };
      const execution = new Execution(input, DEFAULT_BOUNDS, undefined, new PrimaryLink(servers));
      let shown = 0;
      const sends: LviRequest[] = [];
      const fetches: UnitId[] = [];
      const answers: Answer[] = [];
      let openSends = 0;
      let confirmed: CommitId | null = null;
      let isConfirmed = false;
      let lastReply: LviAnswer | null = null;
      let steps = 0;
      let records = 0;

      const open: (() => ExecutionEvent)[] = [started];
      const next = <T>(from: readonly T[], index: number): T => from[index % from.length]!;
      const taken = { derivations: 0, replies: 0, followups: 0 };

      const perform = (effect: Effect): void => {
        switch (effect.kind) {
          case "derive":
            open.push(() => ({ kind: "derived", derivation: next(derivations, taken.derivations++), atMs: 0 }));
            break;
          case "record":
            expect(++records).toBeLessThanOrEqual(DEFAULT_BOUNDS.recordRuns);
            open.push(() => ({
              kind: "derived",
              derivation: recorded(next(derivations, taken.derivations++), effect.snapshot, memory),
              atMs: 0,
            }));
            break;
          case "fetch":
            fetches.push(...effect.units);
            open.push(() =>
              fetched(
                Object.fromEntries(
                  effect.units.filter((unit) => cached.includes(unit)).map((unit) => [unit, item(5, unit)]),
                ),
              ),
            );
            break;
          case "send":
            sends.push(effect.request);
            expect(effect.server).toBeLessThan(servers);
            expect(++openSends).toBe(1);
            open.push(() => {
              openSends--;
              lastReply = next(replies, taken.replies++);
              if (lastReply === null) return taken.replies % 3 === 0 ? notLeading() : unanswered();
              isConfirmed ||= lastReply.kind === "valid";
              if (lastReply.kind === "valid") confirmed = lastReply.commitId;
              return replied(lastReply);
            });
            break;
          case "speculate": {
            expect(plan).toBe("sliced");
            if (effect.after === "reply") expect(isConfirmed).toBe(true);
            // f sees the very values whose versions were sent, and every value it may read.
            const units = sends.at(-1)?.units ?? [];
            for (const unit of effect.set.reads) expect(effect.snapshot.has(unit)).toBe(true);
            for (const accessed of units) {
              if (accessed.mode !== "write")
                expect(accessed.version).toEqual(effect.snapshot.get(accessed.unit)?.version);
            }
            open.push(() =>
              speculation === "completed"
                ? completed(
                    result("mine"),
                    Object.fromEntries([...effect.set.writes].map((unit) => [unit, bytes("mine")])),
                  )
                : { stopped, exhausted }[speculation],
            );
            break;
          }
          case "show":
            expect([prefersSpeculative, speculative, isConfirmed, answers.length, ++shown]).toEqual([
              true,
              true,
              false,
              0,
              1,
            ]);
            break;
          case "answer":
            answers.push(effect.answer);
            expect(effect.verdict === undefined).toBe(shown === 0);
            if (effect.answer.kind === "outcome" && effect.answer.path === "speculative") {
              // Only confirmed, and only a request that named every version can be.
              expect(lastReply).toMatchObject({ kind: "valid" });
              const units = sends.at(-1)?.units ?? null;
              expect(units).not.toBeNull();
              expect(units?.every((accessed) => accessed.mode === "write" || accessed.version !== null)).toBe(true);
            }
            break;
          case "put":
            expect(answers).toHaveLength(1);
            for (const { entry } of effect.entries) {
              if (entry.version.commitId === NO_COMMIT) expect([isConfirmed, entry.value]).toEqual([true, null]);
              else expect([confirmed, commit(4)]).toContain(entry.version.commitId);
            }
            break;
          case "follow":
            expect(effect.followup.commitId).toBe(confirmed);
            open.push(() =>
              next(followups, taken.followups++)
                ? { kind: "followup-answered", result: "applied" }
                : { kind: "followup-unanswered", reason: "lost" },
            );
            break;
          case "wait":
            open.push(() => waited(effect.before));
            break;
          case "alarm":
          case "warn":
        }
      };

      while (open.length > 0) {
        expect(++steps).toBeLessThan(servers * 200);
        const [produce] = open.splice(next(order, steps) % open.length, 1);
        const effects = execution.step(produce!());
        assertWellFormed(execution);
        for (const effect of effects) perform(effect);
      }

      expect(answers).toHaveLength(1);
      expect(new Set(fetches).size).toBe(fetches.length);
      expect(sends.length).toBeLessThanOrEqual(2 * servers * DEFAULT_BOUNDS.attempts);
      expect(sends.map(({ attempt }) => attempt)).toEqual(sends.map((_, index) => index + 1));
      for (const request of sends) {
        expect(request.executionId).toBe(INPUT.executionId);
        expect(request.environment).toBe(INPUT.environment);
        const units = (request.units ?? []).map(({ unit }) => unit);
        expect(units).toEqual([...new Set(units)].toSorted(compareKeys));
      }
      // After a request without a set, no request has one.
      const nearStorage = sends.findIndex(({ units }) => units === null);
      if (nearStorage >= 0) expect(sends.slice(nearStorage).every(({ units }) => units === null)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

describe("a GET never writes", () => {
  const GET = { mustNotWrite: true } as const;
  const expectRefused = (effects: readonly Effect[], by: "location" | "primary" = "location"): void => {
    expect(kinds(effects.filter(({ kind }) => kind !== "warn"))).toEqual(
      by === "location" ? ["answer", "alarm"] : ["answer"],
    );
    // The primary counts what it has not seen itself.
    if (by === "location")
      expect(only(effects, "alarm")).toMatchObject({ server: 0, alarm: { alarm: "wrote_on_get", handler: "follow" } });
    expect(effects).toContainEqual(expect.objectContaining({ kind: "warn", code: "wrote_on_get" }));
    const { answer } = only(effects, "answer");
    expect(answer).toMatchObject({ code: "wrote_on_get", message: expect.stringContaining('"follow"') as unknown });
    expect(JSON.stringify(answer)).not.toContain(feed);
  };

  test("a run that has written ends it also during the wait before another sending: nothing is sent any more", () => {
    const execution = new Execution({ ...INPUT, ...GET });
    const effects = play(execution, started(), derived(set([ann], [])), fetched({ [ann]: item(5, "Ann") }));
    expect(kinds(effects)).toEqual(["send", "speculate"]);
    expect(kinds(execution.step(unanswered()))).toEqual(["warn", "wait"]);
    expectRefused(execution.step(completed(result("done"), { [feed]: bytes("post") })));
    expect(execution.step(waited("lvi"))).toEqual([]);
  });

  test("a set with a unit to write ends it before anything is sent", () => {
    const execution = new Execution({ ...INPUT, ...GET });
    expectRefused(play(execution, started(), derived(set([ann], [feed])), fetched({ [ann]: item(5, "Ann") })));
  });

  test("so does a run in record mode that has touched a unit to write", () => {
    const execution = new Execution({ ...INPUT, ...GET, plan: "recorded" });
    const run = { kind: "completed", outcome: result("x"), writes: [{ unit: feed, value: bytes("post") }] } as const;
    const found = {
      kind: "derived",
      set: set([], [feed]),
      missing: [],
      captured: new Map(),
      run,
      isExhausted: false,
      ...NO_SPANS,
    } as const;
    expectRefused(play(execution, started(), { kind: "derived", derivation: found, atMs: 0 }));
  });

  test.each(["before the reply", "after it"])("a run that leaves its set to write ends it, %s", (when) => {
    const execution = new Execution({ ...INPUT, ...GET });
    const sent = play(execution, started(), derived(set([ann], [])), fetched({ [ann]: item(5, "Ann") }));
    expect(only(sent, "send").request).toMatchObject({ mustNotWrite: true });
    if (when === "after it") expect(execution.step(valid(null))).toEqual([]);
    const wrote = { kind: "stopped", reason: "write of feeds/ann", undeclared: "write" } as const;
    expectRefused(execution.step({ kind: "speculated", speculation: wrote, atMs: 0 }));
    // It was never asked near storage, and nothing follows.
    expect(execution.step(valid(null))).toEqual([]);
  });

  test("near storage the primary is told, and its refusal is the answer", () => {
    const execution = new Execution({ ...INPUT, ...GET, plan: "near-storage" });
    expect(only(execution.step(started()), "send").request).toMatchObject({ units: null, mustNotWrite: true });
    expectRefused(
      execution.step(replied({ kind: "refused", code: "wrote_on_get", message: "it has written", retryAfterMs: null })),
      "primary",
    );
  });

  test("one that only reads is answered from the speculation", () => {
    const execution = new Execution({ ...INPUT, ...GET });
    play(execution, started(), derived(set([ann], [])), fetched({ [ann]: item(5, "Ann") }), completed(result("Ann")));
    expect(kinds(execution.step(valid(null)))).toEqual(["answer"]);
  });
});

describe("a set that proves wrong", () => {
  const leave = (
    experience: Experience,
    input: Partial<ExecutionInput> = {},
    confirmed: ExecutionEvent = valid(null),
  ) => {
    const execution = new Execution({ ...INPUT, ...input }, DEFAULT_BOUNDS, experience);
    play(execution, started(), derived(set([ann], [])), fetched({ [ann]: item(5, "Ann") }), stopped);
    return execution.step(confirmed);
  };
  const planAfter = (experience: Experience, input: Partial<ExecutionInput> = {}): string =>
    kinds(new Execution({ ...INPUT, ...input }, DEFAULT_BOUNDS, experience).step(started()))[0]!;

  test.each(["sliced", "given"] as const)(
    "left twice on confirmed values, a %s one is given up for record mode",
    (plan) => {
      const experience = new Experience();
      expect(kinds(leave(experience, { plan }))).toEqual(["send"]);
      expect(planAfter(experience, { plan })).toBe("derive");
      const second = leave(experience, { plan });
      expect(kinds(second)).toEqual(["warn", "send"]);
      expect(only(second, "warn")).toMatchObject({
        code: "set_left",
        message: expect.stringMatching(/^The handler "follow" leaves its read\/write set, .*: (report|correct) /),
      });
      expect(planAfter(experience, { plan })).toBe("record");
    },
  );

  test("it is so for this handler of this build alone", () => {
    const experience = new Experience();
    leave(experience);
    leave(experience);
    expect(planAfter(experience, { handler: "other" })).toBe("derive");
    expect(planAfter(experience, { module: "cd".repeat(32) as ModuleHash })).toBe("derive");
    expect(planAfter(experience, { plan: "near-storage" })).toBe("send");
  });

  test("a stale value that led f astray says nothing of the set", () => {
    const experience = new Experience();
    for (let call = 0; call < 5; call++) leave(experience, {}, executed(result("right"), { [ann]: item(6, "Anne") }));
    expect(planAfter(experience)).toBe("derive");
  });

  test("a run that the host could not make says nothing of it either", () => {
    const experience = new Experience();
    for (let call = 0; call < 5; call++) {
      const execution = new Execution(INPUT, DEFAULT_BOUNDS, experience);
      play(execution, started(), derived(set([ann], [])), fetched({ [ann]: item(5, "Ann") }));
      const failed = { kind: "stopped", reason: "out of memory", undeclared: null } as const;
      play(execution, { kind: "speculated", speculation: failed, atMs: 0 }, valid(null));
    }
    expect(planAfter(experience)).toBe("derive");
  });

  test("what is kept of it is bounded", () => {
    const experience = new Experience(TIGHT);
    leave(experience);
    leave(experience);
    for (const handler of ["a", "b"]) leave(experience, { handler });
    expect(planAfter(experience)).toBe("derive");
  });
});

const TIGHT = {
  tables: 2,
  units: 2,
  handlers: 2,
  guessWeight: 0.25,
  staleWeight: 0.25,
  hot: 0.75,
  halfLifeMs: 60_000,
  longWeight: 0.5,
  long: 0.5,
};

describe("a run that watches what it reads", () => {
  const answered = (cause: "stale" | "requested" | "stored", primary: PrimaryLink): Execution => {
    const execution = new Execution({ ...INPUT, watches: true }, DEFAULT_BOUNDS, undefined, primary);
    play(execution, started(), derived(set([ann], [])), fetched({ [ann]: item(5, "Ann") }), unanswered());
    primary.leases.open(sessionId(1, 2), 0);
    const sent = only(execution.step(waited("lvi", 100)), "send");
    expect(sent.request.session).toEqual({ id: sessionId(1, 2), heard: 0, watches: true });
    execution.step(replied({ kind: "executed", cause, outcome: result("Ann"), repairs: [], times }));
    return execution;
  };

  test.each(["stale", "requested"] as const)(
    "is %s: the session that its sending has named hears of changes",
    (cause) => {
      expect(answered(cause, new PrimaryLink()).footprint?.session).toBe(sessionId(1, 2));
    },
  );

  test("joins an earlier sending, which has named another session: nobody hears of changes for certain", () => {
    const primary = new PrimaryLink();
    primary.leases.open(sessionId(1, 1), 0);
    expect(answered("stored", primary).footprint).toMatchObject({ session: null });
  });
});

describe("read leases", () => {
  const users = { [ann]: item(5, "Ann"), [bob]: item(6, "Bob") };
  const lease = (n: number, entries: Readonly<Record<UnitId, Entry>>) =>
    ({
      kind: "lease",
      n,
      units: (Object.entries(entries) as [UnitId, Entry][]).map(([unit, { version }]) => ({ unit, version })),
    }) as const;

  /** A location whose session has leases of the entries from 0 to 2,450. `confirms`: its primary has confirmed a run lately. */
  function leasing(entries: Readonly<Record<UnitId, Entry>> = users, confirms = true) {
    const primary = new PrimaryLink();
    primary.leases.open(sessionId(1, 1), 0);
    primary.leases.take(lease(1, entries));
    primary.leases.renew(0, 3_000);
    const experience = new Experience();
    if (confirms) experience.confirmed(INPUT.module, true, 0);
    const execution = (input: Partial<ExecutionInput> = {}): Execution =>
      new Execution({ ...INPUT, ...input }, DEFAULT_BOUNDS, experience, primary);
    return { primary, experience, execution };
  }

  const recordedHere = (access: AccessSet, outcome: Outcome): ExecutionEvent => ({
    kind: "derived",
    derivation: {
      kind: "derived",
      set: access,
      missing: [],
      captured: new Map(Object.entries(users) as [UnitId, Entry][]),
      run: { kind: "completed", outcome, writes: [] },
      isExhausted: false,
      ...NO_SPANS,
    },
    atMs: 0,
  });

  const leased: Effect = {
    kind: "answer",
    answer: {
      kind: "outcome",
      outcome: result("both"),
      path: "leased",
      reason: "unchanged",
      reads: new Set([ann, bob]),
      snapshot: new Map(Object.entries(users) as [UnitId, Entry][]),
    },
  };

  test("a read of leased versions is answered by the run alone, and nothing is sent", () => {
    const execution = leasing().execution();
    const effects = play(execution, started(), derived(set([ann, bob], [])), fetched(users));
    expect(effects).toMatchObject([{ kind: "speculate", after: "lease" }]);
    assertWellFormed(execution);
    expect(execution.step(completed(result("both")))).toEqual([leased]);
    expect(execution.phase.kind).toBe("ended");
  });

  /** The effects of an execution that reads these, once its set is found. */
  const asks = (execution: Execution, access = set([ann, bob], []), entries = users): readonly string[] =>
    kinds(play(execution, started(), derived(access), fetched(entries)));

  test("in record mode the run that found the set is the answer at once", () => {
    const { execution } = leasing();
    const effects = play(execution({ plan: "recorded" }), started(), recordedHere(set([ann, bob], []), result("both")));
    expect(effects).toEqual([leased]);
  });

  test("the lines of a leased run come with its answer", () => {
    const execution = leasing().execution();
    play(execution, started(), derived(set([ann, bob], [])), fetched(users));
    const logged = [{ level: "warn", text: "hello" }] as const;
    const speculation = { kind: "completed", outcome: result("both"), writes: [], logged } as const;
    const effects = execution.step({ kind: "speculated", speculation, atMs: 0 });
    expect(only(effects, "answer").answer).toMatchObject({ path: "leased", logged });
  });

  test("a leased answer is certain, so nothing is shown before it", () => {
    const execution = leasing().execution({ prefersSpeculative: true, speculative: true });
    expect(asks(execution)).toEqual(["speculate"]);
    const effects = execution.step(completed(result("both")));
    expect(kinds(effects)).toEqual(["answer"]);
    expect(only(effects, "answer")).not.toHaveProperty("verdict");
  });

  test("all units must be leased, in the versions that were captured, within the term", () => {
    expect(asks(leasing().execution())).toEqual(["speculate"]);
    expect(asks(leasing({ [ann]: item(5, "Ann") }).execution())).toEqual(["send", "speculate"]);
    expect(asks(leasing({ ...users, [bob]: item(7, "Bob") }).execution())).toEqual(["send", "speculate"]);
    const late = play(leasing().execution(), started(2_450), derived(set([ann], [])), {
      ...fetched(users),
      atMs: 2_450,
    } as ExecutionEvent);
    expect(kinds(late)).toEqual(["send", "speculate"]);
  });

  test("the look is at the instant of capture: a revocation before it counts, one after it does not", () => {
    const revoke = { kind: "revoke", n: 2, units: [ann] } as const;
    const before = leasing();
    const revoked = before.execution();
    play(revoked, started(), derived(set([ann], [])));
    before.primary.leases.take(revoke);
    expect(kinds(revoked.step(fetched(users)))).toEqual(["send", "speculate"]);

    const after = leasing();
    const looked = after.execution();
    expect(asks(looked)).toEqual(["speculate"]);
    after.primary.leases.take(revoke);
    expect(only(looked.step(completed(result("both"))), "answer").answer).toMatchObject({ path: "leased" });
  });

  test("an absence that is leased is a value: the guess is confirmed, and the cache takes it", () => {
    const absent = { [ann]: entryOf(commit(9), null) };
    const execution = leasing(absent).execution();
    expect(asks(execution, set([ann], []), {})).toEqual(["speculate"]);
    expect(execution.step(completed(result("none"))).slice(1)).toEqual([
      { kind: "put", entries: [{ unit: ann, entry: GUESS }] },
    ]);
  });

  test("a leased read is not in doubt, though its units were stale time after time", () => {
    const { experience, execution } = leasing();
    for (let i = 0; i < 10; i++) experience.compared(ann, true, 0);
    expect(asks(execution())).toEqual(["speculate"]);
  });

  test.each<[string, Partial<ExecutionInput>, AccessSet]>([
    ["may write", {}, set([ann], [feed])],
    ["has a chosen id, whose repeat must find its answer", { retained: true }, set([ann], [])],
  ])("an execution that %s asks the primary", (_, input, access) => {
    expect(asks(leasing().execution(input), access)).toContain("send");
  });

  test("an execution whose plan is near storage asks the primary", () => {
    expect(kinds(leasing().execution({ plan: "near-storage" }).step(started()))).toEqual(["send"]);
  });

  test("a module asks until the primary has confirmed one of its runs, once a minute, and while its runs differ", () => {
    const { experience, execution } = leasing(users, false);
    const first = execution();
    expect(asks(first)).toEqual(["send", "speculate"]);
    play(first, valid(null));
    expect(asks(execution())).toEqual(["speculate"]);
    expect(experience.speculates(INPUT.module, 59_999)).toBe(true);
    expect(experience.speculates(INPUT.module, 60_000)).toBe(false);

    const { execution: suspended, experience: learned } = leasing(users, false);
    const asking = suspended();
    asks(asking);
    learned.confirmed(INPUT.module, true, 0);
    play(asking, replied({ kind: "executed", cause: "requested", outcome: result("there"), repairs: [], times }));
    expect(asks(suspended())).toEqual(["send", "speculate"]);
  });

  test("a run that stops or uses up its fuel goes near storage, and a set that it leaves was found on true values", () => {
    const left = leasing();
    for (const warnings of [["warn"], ["warn", "warn"]]) {
      const execution = left.execution();
      asks(execution);
      const effects = execution.step(stopped);
      expect(kinds(effects)).toEqual([...warnings, "send"]);
      expect(only(effects, "send").request.units).toBeNull();
      play(execution, replied({ kind: "executed", cause: "requested", outcome: result("there"), repairs: [], times }));
    }
    const long = leasing().execution();
    asks(long);
    expect(kinds(long.step(exhausted))).toEqual(["send"]);
  });

  test("a GET whose run writes is stopped, also on leased values", () => {
    const execution = leasing().execution({ mustNotWrite: true });
    asks(execution);
    const effects = execution.step({
      kind: "speculated",
      speculation: { kind: "stopped", reason: "left its set", undeclared: "write" },
      atMs: 0,
    });
    expect(only(effects, "answer").answer).toMatchObject({ kind: "failed", code: "wrote_on_get" });
    expect(only(effects, "alarm").alarm.alarm).toBe("wrote_on_get");
  });

  test("before a request is sent, the leases on its writes are dropped, and it says up to which line", () => {
    const { primary, execution } = leasing();
    const writer = execution();
    const sent = only(play(writer, started(), derived(set([ann], [bob])), fetched(users)), "send");
    expect(sent.request.session).toEqual({ id: sessionId(1, 1), heard: 1, watches: false });
    expect(asks(execution(), set([ann], []))).toEqual(["speculate"]);
    expect(asks(execution(), set([bob], []))).toEqual(["send", "speculate"]);
    // One that came meanwhile is dropped before it is sent again, and the new number says so.
    primary.leases.take(lease(2, { [bob]: item(6, "Bob") }));
    play(writer, unanswered());
    const again = only(writer.step(waited("lvi")), "send");
    expect(again.request.session).toMatchObject({ heard: 2 });
    expect(asks(execution(), set([bob], []))).toEqual(["send", "speculate"]);
  });

  test("a request without a set drops nothing: the server waits for this session as for every other", () => {
    const { execution } = leasing();
    const sent = only(execution({ plan: "near-storage" }).step(started()), "send");
    expect(sent.request.session).toMatchObject({ heard: 1 });
    expect(asks(execution())).toEqual(["speculate"]);
  });

  test("without a session a request names none", () => {
    expect(only(play(new Execution({ ...INPUT, plan: "near-storage" }), started()), "send").request.session).toBeNull();
  });
});
