/** Read leases, from the streams of locations to what writers wait for: the core under its driver, which checks all facts. */
import {
  type AccessedUnit,
  assert,
  commitId,
  contentHash,
  decodeLine,
  type Entry,
  entryOf,
  type ExecutionId,
  type HeardReply,
  type KeyInterval,
  type Line,
  type LviReply,
  type LviRequest,
  type ModuleHash,
  type SenderSession,
  type SessionId,
  digestOf,
  spanId,
  spanOf,
  contains,
  splitUnit,
  type UnitId,
  unitId,
  type Version,
} from "@radical/protocol";
import { beforeEach, describe, expect, test } from "vitest";
import type { Intent } from "./core/intent.ts";
import { DEFAULT_CORE_OPTIONS } from "./core/core-options.ts";
import type { HeldLeadership } from "./core/leadership.ts";
import { LviCore, type Recovered } from "./core/lvi-core.ts";
import type { EndedRun, RunResult } from "./core/run.ts";
import { type Answer, Driver, type Halt } from "./driver.ts";
import type { CommitResult } from "./storage/storage.ts";

const MODULE = "a".repeat(64) as ModuleHash;
const LEASE_MS = 3_000;
const RTT_MS = 100;
const [A, B] = [unitId("notes", "a"), unitId("notes", "b")];
/** It has `a`, and not `b`. */
const PAGE = spanId({ table: "notes", kind: "rows", lo: "a", hi: "b" });
const MISSING = unitId("notes", "missing");
const TERM_MS = 10_000;

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** One isolate of a location, as far as the server sees it. */
interface Isolate {
  readonly location: string;
  readonly name: string;
  readonly lines: Line[];
  isOpen: boolean;
  /** The last line that came. */
  n: number;
  session: SessionId | null;
}

class World {
  nowMs = 1_000;
  readonly entries = new Map<UnitId, Entry>([A, B].map((unit) => [unit, entryOf(commitId(1, 1), encode(unit))]));
  readonly replies: string[] = [];
  readonly answers: LviReply[] = [];
  readonly halts: Halt[] = [];
  readonly notes: string[] = [];
  readonly #intents: { readonly intent: Intent; readonly stored: () => void }[] = [];
  readonly #commits: { readonly writes: readonly string[]; readonly applied: () => void }[] = [];
  readonly #runs: ((ended: EndedRun) => void)[] = [];
  readonly #renewals: (() => void)[] = [];
  /** Storage was asked to name this time of read leases. */
  readonly namings: { readonly readLeaseMs: number; readonly answer: Answer<boolean> }[] = [];
  /** How often the driver was woken. */
  wakes = 0;
  #ids = 0;
  #wakeAtMs = Infinity;
  readonly core: LviCore;
  readonly driver: Driver;

  constructor(more: Partial<Recovered> = {}, readLeaseMs = LEASE_MS) {
    const items = new Map([
      ...Array.from(
        this.entries,
        ([unit, { value, version }]) => [unit, { commitId: version.commitId, value: value! }] as const,
      ),
      [MISSING, null] as const,
    ]);
    const recovered: Recovered = {
      epoch: 2,
      pending: [],
      items,
      leadership: null,
      namedReadLeaseMs: readLeaseMs,
      modules: new Map([[MODULE, new Map([["f", "sliced"]])]]),
      ...more,
    };
    const hasher = {
      hash: (bytes: Uint8Array) => ({ key: "k", hash: contentHash(bytes) }),
      hashWith: (key: string, bytes: Uint8Array) => ({ key, hash: contentHash(bytes) }),
    };
    this.core = new LviCore({ ...DEFAULT_CORE_OPTIONS, readLeaseMs }, recovered, this.#now, hasher);
    const unused = (): void => undefined;
    this.driver = new Driver({
      core: this.core,
      epoch: 2,
      ports: {
        now: () => this.#now,
        wakeAt: (atMs) => (this.#wakeAtMs = atMs),
        act: (act) => act(),
        storage: {
          lookUp: (_epoch, _id, { succeeded }) => succeeded(null),
          load: (_units, _bytes, { succeeded }) => succeeded(new Map()),
          scan: ({ table, from, to }, _limit, { succeeded }) =>
            succeeded(
              this.#rows({ table, lo: from ?? "", hi: to ?? "" }).map(([unit, { value, version }]) => ({
                unit,
                value: value!,
                commitId: version.commitId,
              })),
            ),
          partsOf: (_workflow, { succeeded }) => succeeded([]),
          openWorkflows: (_after, _limit, { succeeded }) => succeeded({ workflows: [], next: null }),
          dueTasks: (_after, _limit, { succeeded }) => succeeded({ tasks: [], upTo: null }),
          laneTasks: (_lane, _limit, { succeeded }) => succeeded({ tasks: [], upTo: null }),
          laneHeads: (_after, _limit, { succeeded }) => succeeded({ heads: [], next: null }),
          readTasks: (_tasks, { succeeded }) => succeeded([]),
          countTasks: ({ succeeded }) => succeeded({ all: 0, deadInNoLane: 0 }),
          findTask: (_id, { succeeded }) => succeeded(null),
          storeIntent: (_epoch, intent, { succeeded }) =>
            this.#intents.push({ intent, stored: () => succeeded({ kind: "stored" }) }),
          commit: (_epoch, { items: writes }, { succeeded }: Answer<CommitResult>) =>
            this.#commits.push({
              writes: writes.map(({ unit }) => unit),
              applied: () => {
                for (const { unit, value, commitId: id } of writes) this.entries.set(unit, entryOf(id, value));
                succeeded({ kind: "applied" });
              },
            }),
          renewLeadership: (_epoch, _termMs, { succeeded }) => this.#renewals.push(() => succeeded(true)),
          nameReadLeases: (_epoch, ms, answer) => this.namings.push({ readLeaseMs: ms, answer }),
          useModule: unused,
          removeModule: unused,
          collect: unused,
        },
        execute: (_run, _location, ended) => this.#runs.push(ended),
        callService: unused,
        observer: {
          replied: unused,
          followed: unused,
          noted: ({ name, waitedMs }) => this.notes.push(waitedMs === undefined ? name : `${name} ${waitedMs}`),
          updated: unused,
          sampled: unused,
          collected: unused,
          moduleRemoved: unused,
          collectFailed: unused,
        },
        halted: (halt) => this.halts.push(halt),
      },
    });
  }

  get #now(): { monotonicMs: number; wallMs: number } {
    return { monotonicMs: this.nowMs, wallMs: this.nowMs };
  }

  pass(ms: number): void {
    const untilMs = this.nowMs + ms;
    while (this.#wakeAtMs <= untilMs) {
      this.nowMs = Math.max(this.nowMs, this.#wakeAtMs);
      this.#wakeAtMs = Infinity;
      this.wakes++;
      this.driver.wake();
    }
    this.nowMs = untilMs;
    this.core.assertWellFormed();
    assert(this.halts.length === 0, "the server goes on");
  }

  isolate(location: string, name = "one"): Isolate {
    return { location, name, lines: [], isOpen: false, n: 0, session: null };
  }

  /** The isolate asks to listen; it goes on with its session, if it has one. */
  listen(isolate: Isolate, ends: SessionId | null = null): void {
    const { location, name: listener, session, n: heard } = isolate;
    isolate.isOpen = true;
    this.driver.listen(
      { location, listener, session, heard, ends },
      {
        tell: (text) => {
          const line = decodeLine(text, { decode: (value) => Buffer.from(value, "base64") });
          if (line === null) throw new Error(text);
          isolate.lines.push(line);
          if (line.kind === "session") {
            if (line.session !== isolate.session) [isolate.session, isolate.n] = [line.session, line.n];
          } else if (line.kind !== "hint") isolate.n = line.n;
          return true;
        },
        end: () => (isolate.isOpen = false),
      },
    );
  }

  heard(isolate: Isolate, n = isolate.n, session = isolate.session, reads = 0): HeardReply {
    let answer: HeardReply | null = null;
    const served = reads === 0 ? [] : [{ unit: A, reads }];
    this.driver.heard(
      { session: session!, n, served },
      {
        answered: (reply) => (answer = reply),
        failed: (error) => {
          throw error;
        },
      },
    );
    this.core.assertWellFormed();
    return answer!;
  }

  /** An isolate that listens and has a session whose round trip is known. */
  listening(location: string, name = "one"): Isolate {
    const isolate = this.isolate(location, name);
    this.listen(isolate);
    this.pass(RTT_MS);
    this.heard(isolate);
    return isolate;
  }

  ask(
    name: string,
    location: string,
    units: readonly AccessedUnit[] | null,
    session: SenderSession | null = null,
    { repeats = false, mustNotWrite = false } = {},
  ): void {
    const request: LviRequest = {
      executionId: (repeats ? this.#ids : ++this.#ids).toString(16).padStart(32, "0") as ExecutionId,
      module: MODULE,
      handler: "f",
      args: new Uint8Array(),
      environment: { timeMs: this.nowMs, seed: new Uint8Array(16), caller: null },
      location,
      units,
      retained: false,
      deadlineMs: 60_000,
      attempt: 1,
      seen: commitId(2, 0),
      mustNotWrite,
      mayEffect: false,
      lanes: [],
      session,
    };
    this.driver.request(request, {
      answered: (reply) => {
        this.answers.push(reply);
        this.replies.push(`${name} ${reply.kind === "refused" ? reply.code : reply.kind}`);
      },
      failed: (error) => this.replies.push(`${name} failed: ${error.message}`),
    });
    if (this.halts.length === 0) this.core.assertWellFormed();
  }

  /** A read in the versions that are current. */
  read(isolate: Isolate, ...units: readonly UnitId[]): void {
    const { location, session, n } = isolate;
    const sender = session === null ? null : { id: session, heard: n, watches: false };
    this.ask("read", location, this.accesses("read", units), sender);
    assert(this.replies.pop() === "read valid", "the read is valid");
  }

  write(location: string, units: readonly UnitId[], session: SenderSession | null = null): void {
    this.ask("write", location, this.accesses("read-write", units), session);
  }

  accesses(mode: "read" | "read-write", units: readonly UnitId[]): readonly AccessedUnit[] {
    return units.map((unit) => ({ unit, mode, version: this.#versionOf(unit) }));
  }

  /** The entries have the order of their keys. */
  #rows(interval: KeyInterval): readonly (readonly [UnitId, Entry])[] {
    return [...this.entries].filter(([unit]) => contains(interval, splitUnit(unit).key));
  }

  #versionOf(unit: UnitId): Version {
    const span = spanOf(unit);
    if (span === null) return this.entries.get(unit)?.version ?? { commitId: commitId(0, 0), hash: null };
    const rows = this.#rows(span).map(([each, { version }]) => ({
      key: splitUnit(each).key,
      commitId: version.commitId,
      hash: version.hash!,
    }));
    return { commitId: commitId(1, 1), hash: digestOf(rows) };
  }

  stored(): void {
    for (const { stored } of this.#intents.splice(0)) stored();
    if (this.halts.length === 0) this.core.assertWellFormed();
  }

  /** The writes that storage is asked to apply. */
  get committing(): readonly (readonly string[])[] {
    return this.#commits.map(({ writes }) => writes);
  }

  applied(): void {
    for (const { applied } of this.#commits.splice(0)) applied();
    if (this.halts.length === 0) this.core.assertWellFormed();
  }

  ran(result: RunResult): void {
    for (const ended of this.#runs.splice(0)) ended({ result, tookMs: 1 });
    if (this.halts.length === 0) this.core.assertWellFormed();
  }

  renewed(): void {
    for (const succeed of this.#renewals.splice(0)) succeed();
  }

  followUp(units: readonly UnitId[], value = encode("new")): void {
    const valid = this.answers.at(-1);
    if (valid?.kind !== "valid" || valid.commitId === null) throw new Error("not told");
    this.driver.followup(
      {
        executionId: this.#ids.toString(16).padStart(32, "0") as ExecutionId,
        commitId: valid.commitId,
        outcome: { kind: "result", value: new Uint8Array() },
        writes: units.map((unit) => ({ unit, value })),
        effects: [],
      },
      { answered: () => undefined, failed: () => undefined },
    );
  }

  /** A write from elsewhere, from its request to its end. */
  change(...units: readonly UnitId[]): void {
    this.write("IE", units);
    this.stored();
    assert(this.replies.pop() === "write valid", "the write is told");
    this.followUp(units);
    this.applied();
  }
}

/** From the beginning of the world. */
function leadershipFor(ms: number): HeldLeadership {
  return { epoch: 2, termMs: TERM_MS, untilMs: 1_000 + ms, readLeasesUntilMs: -Infinity, readLeaseMs: LEASE_MS };
}

/** The numbered lines that came, in short. */
function numbered({ lines }: Isolate): string[] {
  return lines.flatMap((line) => {
    switch (line.kind) {
      case "hint":
      case "session":
        return [];
      case "lease":
        return [`${line.n} lease ${line.units.map(({ unit }) => unit).join(" ")}`];
      case "revoke":
      case "changed":
        return [`${line.n} ${line.kind} ${line.units.join(" ")}`];
    }
  });
}

let world: World;

beforeEach(() => {
  world = new World();
});

describe("a session", () => {
  test("is minted for a location that asks for one, and goes on over streams; unheard lines follow again", () => {
    const jp = world.listening("JP");
    expect(jp.lines).toEqual([{ kind: "session", session: "2.1", n: 0 }]);
    world.read(jp, A);
    jp.isOpen = false;
    world.change(B);
    jp.n = 0;
    world.listen(jp);
    expect(jp.lines.slice(-2)).toMatchObject([
      { kind: "session", session: "2.1", n: 0 },
      { kind: "lease", n: 1 },
    ]);
    world.heard(jp);
    world.listen(jp);
    expect(jp.lines.at(-1)).toEqual({ kind: "session", session: "2.1", n: 1 });
  });

  test("is not minted for a location that knows none, which gets hints only", () => {
    const old = { ...world.isolate("JP"), session: undefined as never };
    world.listen(old);
    world.read({ ...old, session: null }, A);
    world.change(A);
    expect(old.lines.map(({ kind }) => kind)).toEqual(["hint"]);
  });

  test("that was never minted, and one that another isolate has, answer as lapsed, and are not opened", () => {
    const jp = world.listening("JP");
    expect(world.heard(jp, 1, "1.9" as SessionId)).toEqual({ kind: "lapsed" });
    const thief = world.isolate("JP", "two");
    thief.session = jp.session;
    world.listen(thief);
    expect(thief.session).toBe("2.2");
    world.heard(jp);
    expect(jp.isOpen).toBe(true);
  });

  test("without leases does not lapse by time, and with them it does: for ever", () => {
    const jp = world.listening("JP");
    world.pass(60_000);
    expect(world.heard(jp)).toMatchObject({ kind: "renewed" });
    world.read(jp, A);
    world.pass(LEASE_MS);
    expect(world.heard(jp)).toEqual({ kind: "lapsed" });
    expect(jp.isOpen).toBe(false);
    const { session } = jp;
    world.listen(jp);
    expect(jp.session).not.toBe(session);
    expect(world.heard(jp, 1, session)).toEqual({ kind: "lapsed" });
  });

  test("that has fallen behind too far gets no more leases, and lapses when it holds none", () => {
    world = new World({}, 0);
    const jp = world.listening("JP");
    const watches = { id: jp.session!, heard: 0, watches: true };
    const many = Array.from({ length: 5_000 }, (_, number) => unitId("notes", `many ${number}`));
    for (let round = 0; round < 5; round++) {
      world.ask("watch", "JP", world.accesses("read", many), watches);
      expect(world.replies.pop()).toBe("watch valid");
      world.change(...many);
    }
    expect(world.heard(jp, 0)).toEqual({ kind: "lapsed" });
  });

  test("of a location that has too many is refused: the isolate gets hints", () => {
    const isolates = Array.from({ length: 65 }, (_, number) => world.isolate("JP", `isolate ${number}`));
    for (const isolate of isolates.slice(0, 64)) world.listen(isolate);
    world.read(isolates[0]!, A);
    const [first] = isolates;
    // It has gone: its session is not needed, and its place is free.
    world.driver.listen(
      { location: "JP", listener: first!.name, session: undefined, heard: 0, ends: first!.session },
      { tell: () => true, end: () => undefined },
    );
    expect(world.core.load.sessions).toBe(63);
  });
});

describe("time", () => {
  test("is given from when the message is met, and never beyond the leadership", () => {
    world = new World({
      leadership: leadershipFor(2_000),
    });
    const jp = world.listening("JP");
    expect(world.heard(jp)).toEqual({ kind: "renewed", untilMs: 3_000, nowMs: 1_100 });
    world.renewed();
    const untilMs = Math.min(world.nowMs + LEASE_MS, 3_000 + TERM_MS);
    expect(world.heard(jp)).toMatchObject({ untilMs });
  });

  test("is not given while a revocation is unheard", () => {
    const jp = world.listening("JP");
    world.read(jp, A);
    const before = world.heard(jp);
    world.pass(500);
    world.write("IE", [A]);
    world.stored();
    // The stream is dead, and messages go on.
    expect(world.heard(jp, 1)).toEqual({ ...before, nowMs: world.nowMs });
    world.pass(2_600);
    expect(world.replies).toEqual(["write valid"]);
    expect(world.heard(jp, 1)).toEqual({ kind: "lapsed" });
  });

  test("is given by a server that leads only: messages are put off for a quarter of a term, and refused after it", () => {
    world = new World({ leadership: leadershipFor(5_000) });
    const { session, n } = world.listening("JP");
    world.pass(5_000);
    const said: string[] = [];
    const hear = (): void =>
      world.driver.heard(
        { session: session!, n, served: [] },
        { answered: ({ kind }) => said.push(kind), failed: ({ message }) => said.push(message) },
      );
    hear();
    expect(said).toEqual([]);
    world.pass(TERM_MS / 4);
    const refused = "The leadership of this server has run out.";
    expect(said).toEqual([refused]);
    hear();
    expect(said).toEqual([refused, refused]);
    world.renewed();
    hear();
    expect(said).toEqual([refused, refused, "renewed"]);
  });

  test("is none without leases: sessions go on, for watches", () => {
    world = new World({}, 0);
    const jp = world.listening("JP");
    world.read(jp, A);
    expect(numbered(jp)).toEqual([]);
    expect(world.heard(jp)).toEqual({ kind: "renewed", untilMs: world.nowMs, nowMs: world.nowMs });
    expect(world.core.load).toMatchObject({ sessions: 1, leasedUnits: 0 });
  });
});

describe("a grant", () => {
  test("goes to all sessions of the location in the step of a valid read, with the versions; absence is one", () => {
    const jp = world.listening("JP");
    const other = world.listening("JP", "two");
    const de = world.listening("DE");
    world.read(jp, A, MISSING);
    const lease = {
      kind: "lease",
      n: 1,
      units: [
        { unit: A, version: world.entries.get(A)!.version },
        { unit: MISSING, version: { commitId: commitId(2, 0), hash: null } },
      ],
    };
    expect([jp, other].map(({ lines }) => lines.at(-1))).toEqual([lease, lease]);
    expect(numbered(de)).toEqual([]);
  });

  test("waits until storage names the time of leases, which it is asked for once, when a lease is wanted", () => {
    world = new World({ namedReadLeaseMs: 0 });
    const jp = world.listening("JP");
    expect(world.namings).toEqual([]);
    for (let read = 0; read < 3; read++) world.read(jp, A);
    expect(world.namings).toMatchObject([{ readLeaseMs: LEASE_MS }]);
    expect([numbered(jp), world.core.isIdle]).toEqual([[], false]);
    world.namings[0]!.answer.succeeded(true);
    expect([numbered(jp), world.core.isIdle]).toEqual([[], true]);
    world.read(jp, A);
    world.read(jp, B);
    expect(numbered(jp)).toEqual([`1 lease ${A}`, `2 lease ${B}`]);
    expect(world.namings).toHaveLength(1);
  });

  test("asks again for the name that storage did not take, after a pause", () => {
    world = new World({ namedReadLeaseMs: LEASE_MS - 1 });
    const jp = world.listening("JP");
    world.read(jp, A);
    world.namings[0]!.answer.failed("unknown", "it is slow");
    world.read(jp, A);
    expect(world.namings).toHaveLength(1);
    world.pass(DEFAULT_CORE_OPTIONS.retryMs);
    world.read(jp, A);
    expect(world.namings).toHaveLength(2);
    expect(numbered(jp)).toEqual([]);
  });

  test("is none of a server that has been replaced before storage took the name", () => {
    world = new World({ namedReadLeaseMs: 0 });
    const jp = world.listening("JP");
    world.read(jp, A);
    world.namings[0]!.answer.succeeded(false);
    expect(world.halts).toMatchObject([{ kind: "taken-over" }]);
    expect(numbered(jp)).toEqual([]);
  });

  test("waits until the round trip is known", () => {
    const jp = world.isolate("JP");
    world.listen(jp);
    world.read(jp, A);
    expect(numbered(jp)).toEqual([]);
  });

  test("is one of the whole set or of nothing", () => {
    const jp = world.listening("JP");
    world.write("IE", [B]);
    world.read(jp, A, B);
    expect(numbered(jp)).toEqual([]);
    world.read(jp, A);
    expect(numbered(jp)).toEqual([`1 lease ${A}`]);
  });

  test("is none of a set that would take more than half of what the location may be leased", () => {
    const units = Array.from({ length: 9_000 }, (_, index) => unitId("notes", `${index}`));
    for (const unit of units)
      world.entries.set(unit, { value: null, version: { commitId: commitId(0, 0), hash: null } });
    const absent = new Map(units.map((unit) => [unit, null] as const));
    const entries = world.entries;
    world = new World({ items: absent });
    for (const [unit, entry] of entries) world.entries.set(unit, entry);
    const jp = world.listening("JP");
    for (const most of [9_000, 9_000, 4_097, 4_096]) {
      world.read(jp, ...units.slice(0, most));
      expect(world.core.leaseCounts.granted).toBe(most === 4_096 ? 4_096 : 0);
    }
  });

  test("is not made while somebody wants the unit: not while he holds it, nor while he waits for it", () => {
    const jp = world.listening("JP");
    world.write("IE", [B]);
    world.ask("second", "IE", world.accesses("read-write", [A, B]));
    world.read(jp, A);
    expect(numbered(jp)).toEqual([]);
  });

  test("goes to a new session of the location for what the others hold", () => {
    const jp = world.listening("JP");
    world.read(jp, A);
    const other = world.listening("JP", "two");
    expect(numbered(other)).toEqual([`1 lease ${A}`]);
  });

  test("comes back after the write, after the hint with the value, if it pays", () => {
    const jp = world.listening("JP");
    for (let time = 0; time < 20; time++) world.read(jp, A);
    jp.lines.length = 0;
    world.write("IE", [A]);
    world.stored();
    world.heard(jp);
    world.followUp([A]);
    world.applied();
    expect(jp.lines.map(({ kind }) => kind)).toEqual(["revoke", "hint", "lease"]);
    expect(jp.lines.at(-1)).toMatchObject({ units: [{ unit: A, version: world.entries.get(A)!.version }] });
  });

  test("comes back for a set if its reads save more than the writes of its one unit that is written cost", () => {
    const jp = world.listening("JP");
    for (let time = 0; time < 12; time++) {
      world.pass(1_000);
      world.heard(jp);
      world.read(jp, A, B);
      world.read(jp, A, B);
      world.write("IE", [A]);
      world.stored();
      world.heard(jp);
      world.followUp([A]);
      world.applied();
    }
    expect(jp.lines.at(-1)).toMatchObject({ kind: "lease", units: [{ unit: A }] });
  });

  test("comes back for the units of one write, whose executions wait once for all of them", () => {
    const jp = world.listening("JP");
    for (let time = 0; time < 4; time++) world.read(jp, A, B);
    jp.lines.length = 0;
    world.write("IE", [A, B]);
    world.stored();
    world.heard(jp);
    world.followUp([A, B]);
    world.applied();
    expect(jp.lines.at(-1)).toMatchObject({ kind: "lease", units: [{ unit: A }, { unit: B }] });
  });

  test("does not come back when the unit is written more than it is read, and not for a location far away", () => {
    const jp = world.listening("JP");
    world.read(jp, A);
    for (let time = 0; time < 10; time++) {
      world.write("IE", [A]);
      world.heard(jp);
      world.stored();
      expect(world.replies.splice(0)).toEqual(["write valid"]);
      world.followUp([A]);
      world.applied();
    }
    jp.lines.length = 0;
    world.pass(2_000);
    world.read(jp, A);
    expect(numbered(jp)).toEqual([]);
  });

  test("is made at once of a unit that was written often before anybody read it, and whose table was", () => {
    const jp = world.listening("JP");
    for (let time = 0; time < 10; time++) world.change(A, B);
    world.read(jp, A);
    expect(numbered(jp)).toEqual([`1 lease ${A}`]);
  });

  test("counts the writes of a table's units that somebody reads", () => {
    const jp = world.listening("JP");
    world.read(jp, A);
    world.write("IE", [A]);
    world.stored();
    world.heard(jp);
    world.followUp([A]);
    world.applied();
    jp.lines.length = 0;
    world.read(jp, B);
    expect(numbered(jp)).toEqual([]);
  });

  test("is taken back when it pays no more, before somebody waits for it", () => {
    const [jp, ie] = [world.listening("JP"), world.listening("IE")];
    world.read(jp, A);
    // The other units of the table are written more than they are read.
    world.read(ie, B);
    for (let time = 0; time < 10; time++) {
      world.write("DE", [B]);
      world.heard(ie);
      world.stored();
      world.followUp([B]);
      world.applied();
    }
    expect(numbered(jp)).toEqual([`1 lease ${A}`]);
    world.pass(1_000);
    world.heard(jp);
    expect(numbered(jp)).toEqual([`1 lease ${A}`, `2 revoke ${A}`]);
    world.heard(jp);
    world.replies.length = 0;
    world.write("DE", [A]);
    world.stored();
    expect(world.replies).toEqual(["write valid"]);
  });

  test("goes to a session that lacks what its location has, when it reads it", () => {
    const jp = world.listening("JP");
    const other = world.listening("JP", "two");
    world.read(jp, A);
    world.heard(jp);
    world.heard(other);
    // It drops its own, and the write does not happen.
    world.ask("stale", "JP", [{ unit: A, mode: "read-write", version: null }], {
      id: jp.session!,
      heard: 1,
      watches: false,
    });
    world.ran({ kind: "killed", reason: "too long" });
    expect(world.replies).toEqual(["stale execution_failed"]);
    world.heard(other);
    world.read(jp, A);
    expect(numbered(jp)).toEqual([`1 lease ${A}`, `2 lease ${A}`]);
  });
});

describe("a writer", () => {
  let jp: Isolate;
  let other: Isolate;
  beforeEach(() => {
    jp = world.listening("JP");
    other = world.listening("JP", "two");
    world.read(jp, A);
    for (const isolate of [jp, other]) world.heard(isolate);
  });

  test("revokes in the step in which he asks, and is told when all have heard", () => {
    world.write("IE", [A]);
    expect(numbered(jp).at(-1)).toBe(`2 revoke ${A}`);
    world.stored();
    world.pass(10);
    world.heard(jp);
    expect(world.replies).toEqual([]);
    world.pass(5);
    world.heard(other);
    expect(world.replies).toEqual(["write valid"]);
    expect(world.notes).toContain("cleared 15");
    expect(world.core.load.leasedUnits).toBe(0);
  });

  test("who has stored last waits for the others no more", () => {
    world.write("IE", [A]);
    for (const isolate of [jp, other]) world.heard(isolate);
    expect(world.replies).toEqual([]);
    world.stored();
    expect(world.replies).toEqual(["write valid"]);
  });

  test("waits for a location that is cut off until its time is over, once", () => {
    world.write("IE", [A]);
    world.stored();
    world.heard(jp);
    world.pass(LEASE_MS - 1);
    expect(world.replies).toEqual([]);
    world.pass(1);
    expect(world.replies).toEqual(["write valid"]);
    expect(other.isOpen).toBe(false);
    expect(world.core.leaseCounts).toMatchObject({ lapsed: 1 });
    const [status] = world.core.readLeases(world.nowMs).locations;
    expect(status).toMatchObject({
      revocations: 2,
      longestWaitMs: LEASE_MS,
      lapsed: 1,
      refusedForMs: 30_000,
      units: 0,
    });
    // The location gets no lease for a while.
    world.followUp([A]);
    world.applied();
    for (let time = 0; time < 20; time++) world.read(jp, A);
    expect(world.core.load.leasedUnits).toBe(0);
    world.pass(30_000);
    world.read(jp, A);
    expect(world.core.load.leasedUnits).toBe(1);
  });

  test("wakes the server once for all locations that are cut off", () => {
    const de = world.listening("DE");
    world.pass(500);
    world.read(de, A);
    world.heard(de);
    world.write("IE", [A]);
    world.stored();
    const { wakes } = world;
    world.pass(LEASE_MS - 1);
    expect(world.replies).toEqual([]);
    world.pass(1);
    expect([world.replies, world.wakes - wakes]).toEqual([["write valid"], 1]);
  });

  test("is held up twice by a location that hears in time and slowly, and no more: it gets no lease for a while", () => {
    const waits: number[] = [];
    for (let time = 0; time < 3; time++) {
      for (let reads = 0; reads < 20; reads++) world.read(jp, A);
      for (const isolate of [jp, other]) world.heard(isolate);
      const askedAtMs = world.nowMs;
      world.write("IE", [A]);
      world.stored();
      world.heard(jp);
      if (world.replies.length === 0) world.pass(1_500);
      world.heard(other);
      expect(world.replies.pop()).toBe("write valid");
      waits.push(world.nowMs - askedAtMs);
      world.followUp([A]);
      world.applied();
    }
    expect(waits).toEqual([1_500, 1_500, 0]);
    expect(world.core.leaseCounts).toMatchObject({ lapsed: 0 });
    world.pass(30_000);
    for (const isolate of [jp, other]) world.heard(isolate);
    world.read(jp, A);
    expect(world.core.load.leasedUnits).toBe(2);
  });

  test("may be held up by a message that is lost now and then: the location keeps its leases", () => {
    for (const waitMs of [1_100, 100, 1_100, 100]) {
      for (let reads = 0; reads < 20; reads++) world.read(jp, A);
      for (const isolate of [jp, other]) world.heard(isolate);
      world.write("IE", [A]);
      world.stored();
      world.heard(jp);
      expect(world.replies).toEqual([]);
      world.pass(waitMs);
      world.heard(other);
      expect(world.replies.pop()).toBe("write valid");
      world.followUp([A]);
      world.applied();
    }
  });

  test("does not wait for a session that its isolate has given up", () => {
    world.write("IE", [A]);
    world.stored();
    world.heard(jp);
    const ends = other.session;
    other.session = null;
    world.listen(other, ends);
    world.pass(0);
    expect(world.replies).toEqual(["write valid"]);
  });

  test("does not wait for a session that was over before he asked, and the location is not blamed", () => {
    world.pass(LEASE_MS);
    world.write("IE", [A]);
    world.stored();
    expect(world.replies).toEqual(["write valid"]);
    expect(world.core.leaseCounts).toMatchObject({ lapsed: 0 });
  });

  test("waits for what another one has revoked before him", () => {
    world.ask("first", "IE", [{ unit: A, mode: "read-write", version: null }]);
    world.ran({ kind: "killed", reason: "too long" });
    world.write("IE", [A]);
    world.stored();
    expect(world.replies).toEqual(["first execution_failed"]);
    world.heard(jp);
    world.heard(other);
    expect(world.replies.slice(1)).toEqual(["write valid"]);
    // One line each.
    expect(numbered(jp)).toEqual([`1 lease ${A}`, `2 revoke ${A}`]);
  });

  test("of the own isolate waits for its other isolates, and not for itself: it has dropped what it writes", () => {
    world.write("JP", [A], { id: jp.session!, heard: jp.n, watches: false });
    world.stored();
    expect(numbered(jp)).toEqual([`1 lease ${A}`]);
    expect(world.replies).toEqual([]);
    world.heard(other);
    expect(world.replies).toEqual(["write valid"]);
  });

  describe("of the own isolate has dropped its leases on what it writes when its request comes", () => {
    const sender = (heard = jp.n): SenderSession => ({ id: jp.session!, heard, watches: false });
    /** The units that count as leased to the isolate. */
    const leased = (): readonly UnitId[] => [...world.core.session(jp.session!)!.held.keys()];
    const leasesAgain = (): void => {
      expect(leased()).toEqual([B]);
      world.read(jp, A);
      expect(numbered(jp).at(-1)).toBe(`${jp.n} lease ${A}`);
      expect(leased()).toEqual([B, A]);
    };
    beforeEach(() => {
      world.read(jp, B);
      for (const isolate of [jp, other]) world.heard(isolate);
      assert(leased().length === 2, "both units are leased");
    });

    test("also when the request is refused", () => {
      world.ask("write", "JP", world.accesses("read-write", [A]), sender(), { mustNotWrite: true });
      expect(world.replies.splice(0)).toEqual(["write wrote_on_get"]);
      leasesAgain();
    });

    test("also when the request runs near storage, and writes nothing then", () => {
      const stale: AccessedUnit = { unit: A, mode: "read-write", version: null };
      world.ask("write", "JP", [stale], sender());
      expect(leased()).toEqual([B]);
      world.heard(other);
      const outcome = { kind: "result", value: encode("done") } as const;
      world.ran({ kind: "completed", outcome, reads: [A], writes: [], fuel: 1 } as never);
      expect(world.replies.splice(0)).toEqual(["write executed"]);
      leasesAgain();
    });

    test("also when the request joins an execution that is under way", () => {
      world.write("JP", [A], sender());
      world.ask("repeat", "JP", world.accesses("read-write", [A, B]), sender(), { repeats: true });
      expect(leased()).toEqual([]);
      world.read(jp, B);
      expect(leased()).toEqual([B]);
    });

    test("but not a lease that was on its way", () => {
      world.ask("write", "JP", world.accesses("read-write", [B]), sender(jp.n - 1), { mustNotWrite: true });
      expect(leased()).toEqual([A, B]);
    });
  });

  test("waits for a lease of its own that was on its way when it asked", () => {
    world.write("JP", [A], { id: jp.session!, heard: 0, watches: false });
    expect(numbered(jp).at(-1)).toBe(`2 revoke ${A}`);
  });

  test("who writes another unit than he has declared waits for his own lease on it", () => {
    world.read(jp, B);
    world.heard(jp);
    world.heard(other);
    const stale: AccessedUnit = { unit: A, mode: "read-write", version: null };
    world.ask("write", "JP", [stale], { id: jp.session!, heard: jp.n, watches: false });
    world.ran({ kind: "needs", set: { reads: new Set([A]), writes: new Set([B]) } });
    expect(numbered(jp).at(-1)).toBe(`3 revoke ${B}`);
  });

  test("of the own isolate does not wait for its lease on a span around what it writes", () => {
    world.read(jp, PAGE);
    const before = numbered(jp);
    world.write("JP", [A], { id: jp.session!, heard: jp.n, watches: false });
    world.stored();
    expect(numbered(jp)).toEqual(before);
    expect(numbered(other).at(-1)).toBe(`${other.n} revoke ${A} ${PAGE}`);
    world.heard(other);
    expect(world.replies).toEqual(["write valid"]);
  });

  test("waits for a lease of its own on a span that was on its way, and for one around what it has not declared", () => {
    world.read(jp, PAGE);
    world.write("JP", [A], { id: jp.session!, heard: jp.n - 1, watches: false });
    expect(numbered(jp).at(-1)).toBe(`${jp.n} revoke ${PAGE}`);
    world.heard(jp);
    world.heard(other);
    world.stored();
    world.followUp([A]);
    world.applied();
    world.read(jp, PAGE);
    const stale: AccessedUnit = { unit: B, mode: "read-write", version: null };
    world.ask("write", "JP", [stale], { id: jp.session!, heard: jp.n, watches: false });
    world.ran({ kind: "needs", set: { reads: new Set([B]), writes: new Set([A]) } });
    expect(numbered(jp).at(-1)).toContain(`revoke`);
    expect(numbered(jp).at(-1)).toContain(PAGE);
  });

  test("near storage waits before his writes are applied", () => {
    const outcome = { kind: "result", value: encode("done") } as const;
    world.ask("write", "IE", [{ unit: A, mode: "read-write", version: null }]);
    world.ran({
      kind: "completed",
      outcome,
      reads: [A],
      writes: [{ unit: A, value: encode("new") }],
      fuel: 1,
    } as never);
    expect(world.committing).toEqual([]);
    world.heard(jp);
    world.heard(other);
    expect(world.committing).toEqual([[A]]);
    world.applied();
    expect(world.replies).toEqual(["write executed"]);
  });

  test("near storage without writes waits for nobody", () => {
    const outcome = { kind: "result", value: encode("done") } as const;
    world.ask("write", "IE", [{ unit: A, mode: "read-write", version: null }]);
    world.ran({ kind: "completed", outcome, reads: [A], writes: [], fuel: 1 } as never);
    expect(world.replies).toEqual(["write executed"]);
  });

  test("of a unit that was absent revokes the lease of its absence", () => {
    world.read(jp, MISSING);
    world.ask("insert", "IE", [{ unit: MISSING, mode: "write" }]);
    world.stored();
    expect(numbered(jp).at(-1)).toBe(`3 revoke ${MISSING}`);
    expect(world.replies).toEqual([]);
  });

  test("may be passed by readers while he waits, and not once he is told", () => {
    world.write("IE", [A]);
    world.stored();
    world.read(jp, A);
    world.heard(jp);
    world.heard(other);
    expect(world.replies).toEqual(["write valid"]);
    world.ask("late", "JP", world.accesses("read", [A]));
    expect(world.replies).toEqual(["write valid"]);
  });

  test("of units that nobody holds is told at once, and so is one whose reader reads them", () => {
    world.write("IE", [B]);
    world.stored();
    expect(world.replies).toEqual(["write valid"]);
    expect(numbered(jp)).toEqual([`1 lease ${A}`]);
  });

  test("does not go on while the leadership is not held, though a session is given up", () => {
    world = new World({
      leadership: leadershipFor(5_000),
    });
    jp = world.listening("JP");
    world.read(jp, A);
    for (let second = 0; second < 4; second++) {
      world.pass(1_000);
      expect(world.heard(jp)).toMatchObject({ kind: "renewed" });
    }
    world.write("IE", [A]);
    world.stored();
    expect(world.replies).toEqual([]);
    world.nowMs = 7_000;
    const ends = jp.session;
    jp.session = null;
    world.listen(jp, ends);
    expect(world.replies).toEqual([]);
    world.driver.wake();
    expect(world.replies).toEqual([]);
    world.renewed();
    world.driver.wake();
    expect(world.replies).toEqual(["write valid"]);
  });
});

describe("a watch", () => {
  const watching = ({ session, n }: Isolate): SenderSession => ({ id: session!, heard: n, watches: true });

  test("hears of the next change of what a valid read has read, once, and no writer waits for it", () => {
    world = new World({}, 0);
    const jp = world.listening("JP");
    world.ask("read", "JP", world.accesses("read", [A, B]), watching(jp));
    world.change(A);
    expect(numbered(jp)).toEqual([`1 changed ${A}`]);
    world.change(A);
    expect(numbered(jp)).toHaveLength(1);
    world.change(B);
    expect(numbered(jp).at(-1)).toBe(`2 changed ${B}`);
  });

  test("is registered in the step that captures, so that a change during the run is told", () => {
    world = new World({}, 0);
    const jp = world.listening("JP");
    world.ask("near", "JP", [{ unit: A, mode: "read", version: null }], watching(jp));
    world.change(A);
    expect(numbered(jp)).toEqual([`1 changed ${A}`]);
  });

  test("follows again after a broken stream", () => {
    world = new World({}, 0);
    const jp = world.listening("JP");
    world.ask("read", "JP", world.accesses("read", [A]), watching(jp));
    world.change(A);
    jp.n = 0;
    world.listen(jp);
    expect(numbered(jp)).toEqual([`1 changed ${A}`, `1 changed ${A}`]);
  });
});

describe("a server that takes over early", () => {
  const untilMs = 1_000 + 3_150;

  test("tells nothing and applies nothing before earlier read leases are over; reads go on", () => {
    world = new World({ readLeasesUntilMs: untilMs });
    world.write("IE", [A]);
    world.stored();
    world.read(world.isolate("JP"), A, B);
    world.pass(3_149);
    expect(world.replies).toEqual([]);
    world.pass(1);
    expect(world.replies).toEqual(["write valid"]);
  });

  test("applies no followup of an intent that it has adopted before that, and then does", () => {
    const intent: Intent = {
      executionId: "f".repeat(32) as ExecutionId,
      module: MODULE,
      handler: "f",
      args: new Uint8Array(),
      environment: { timeMs: 0, seed: new Uint8Array(16), caller: null },
      commitId: commitId(1, 7),
      location: "IE",
      units: [{ unit: A, mode: "read-write", version: entryOf(commitId(1, 1), encode(A)).version }],
      retained: false,
      mustNotWrite: false,
      lanes: [],
      createdAtMs: 0,
    };
    world = new World({ readLeasesUntilMs: untilMs, pending: [intent] });
    const answers: string[] = [];
    const followup = {
      executionId: intent.executionId,
      commitId: intent.commitId,
      outcome: { kind: "result", value: new Uint8Array() },
      writes: [{ unit: A, value: encode("new") }],
      effects: [],
    } as const;
    const asker = { answered: (result: string) => void answers.push(result), failed: () => undefined };
    world.driver.followup(followup, asker);
    world.driver.followup(followup, asker);
    // It was told by the earlier server, so nobody may see the old value.
    world.ask("read", "JP", world.accesses("read", [A]));
    world.pass(3_149);
    expect([world.committing, world.replies, answers]).toEqual([[], [], []]);
    world.pass(1);
    expect(world.committing).toEqual([[A]]);
    world.applied();
    expect(answers).toEqual(["applied", "completed_before"]);
  });
});

describe("a server that stops", () => {
  test("ends all leases, hears of that, and is drained then", () => {
    const jp = world.listening("JP");
    const idle = world.listening("DE");
    world.read(jp, A);
    let isDrained = false;
    world.driver.tell({ kind: "drain" });
    world.driver.whenDrained(() => (isDrained = true));
    expect(numbered(jp).at(-1)).toBe(`2 revoke ${A}`);
    expect([jp.isOpen, idle.isOpen, isDrained]).toEqual([true, false, false]);
    const reply = world.heard(jp);
    expect(reply).toMatchObject({ kind: "renewed" });
    expect([jp.isOpen, isDrained, world.core.isClear]).toEqual([false, true, true]);
  });

  test("waits for a location that is cut off until its time is over", () => {
    const jp = world.listening("JP");
    world.read(jp, A);
    let isDrained = false;
    world.driver.tell({ kind: "drain" });
    world.driver.whenDrained(() => (isDrained = true));
    world.pass(LEASE_MS - 1);
    expect(isDrained).toBe(false);
    world.pass(1);
    expect(isDrained).toBe(true);
  });
});

describe("a session that is to end", () => {
  test("is not renewed for its leases: changes of units that it reads would not be told", () => {
    const jp = world.listening("JP");
    world.read(jp, A);
    world.heard(jp);
    const result: RunResult = {
      kind: "completed",
      outcome: { kind: "result", value: new Uint8Array() },
      reads: [],
      writes: [],
    };
    // More changes than may be unheard.
    for (const part of [1, 2, 3]) {
      const units = Array.from({ length: 7_000 }, (_, index) => unitId("notes", `${part} ${index}`));
      // Its cache is stale, so the run is near storage, and nothing is leased for it.
      for (const unit of units) world.entries.set(unit, entryOf(commitId(1, 1), encode("old")));
      world.ask("watch", "JP", world.accesses("read", units), { id: jp.session!, heard: jp.n, watches: true });
      world.ran({ ...result, reads: units });
      world.ask("write", "IE", null);
      world.ran({ ...result, writes: units.map((unit) => ({ unit, value: encode("new") })) });
      world.applied();
    }
    expect(jp.lines.flatMap((line) => (line.kind === "changed" ? line.units : []))).toHaveLength(21_000);
    // It hears all of them then, and says each second that it lives.
    const kinds = [0, 1, 2, 3].map(() => {
      const { kind } = world.heard(jp);
      world.pass(1_000);
      return kind;
    });
    expect(kinds).toEqual(["renewed", "renewed", "renewed", "lapsed"]);
    world.listen(jp);
    expect(jp.session).toBe("2.2");
  });

  test("does not keep a server from stopping when the write that revoked was refused before it waited for that", () => {
    const jp = world.listening("JP");
    world.read(jp, B);
    // The first write holds A, so the second one waits for its locks, and is refused.
    world.write("IE", [A]);
    world.write("IE", [A, B]);
    world.pass(11_000);
    expect(world.replies).toEqual(["write busy"]);
    world.stored();
    world.followUp([A]);
    world.applied();
    world.driver.tell({ kind: "drain" });
    let isDrained = false;
    world.driver.whenDrained(() => (isDrained = true));
    world.pass(1);
    expect(isDrained).toBe(true);
  });
});
