/**
 * Stories of the protocol as transcripts: the events of the core, and, line by line, its effects.
 *
 * Executions have names, values are short texts, and commit ids show as epoch.sequence. The server of a story has epoch 2.
 * Epoch 1 has written all that it found in storage.
 */
import {
  type AccessedUnit,
  type CommitId,
  commitId,
  compareKeys,
  contains,
  contentHash,
  countHash,
  decodeCount,
  decodeDirectory,
  digestOf,
  type DirectoryRow,
  entryOf,
  type ExecutionId,
  type FollowupVerdict,
  isSpan,
  type Key,
  type KeyInterval,
  type Line,
  type LviReply,
  type LviRequest,
  type ModuleHash,
  type Outcome,
  type Query,
  sessionId,
  type Span,
  spanId,
  spanOf,
  splitUnit,
  type UnitId,
  type Version,
} from "@radical/protocol";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { Audits } from "./audits.ts";
import { type CallHasher, hashOfResult } from "./call-hash.ts";
import type { Effect, Event, Load, Note, NoteName } from "./events.ts";
import type { RunResult, RunAccess } from "./run.ts";
import {
  type Completion,
  completionHash,
  type DoneIntent,
  doneIntentOf,
  type Intent,
  type IntentRecord,
  withoutOutcome,
} from "./intent.ts";
import type { HeldLeadership } from "./leadership.ts";
import { type CoreOptions, DEFAULT_CORE_OPTIONS } from "./core-options.ts";
import type { TaskAnswer } from "./task-table.ts";
import { LviCore, type Now, type Recovered } from "./lvi-core.ts";
import { RuledTables } from "./ruled-tables.ts";
import type { StoredItem } from "./version-table.ts";

const MODULE = "a".repeat(64) as ModuleHash;
const PLANS = new Map([
  ["f", "sliced"],
  ["recorded", "recorded"],
  ["opaque", "near-storage"],
  ["given", "given"],
] as const);
const START_MS = 1_000_000;

/** Nothing was enqueued: `simulation` has tasks. */
const NO_TASKS: Readonly<Record<TaskAnswer["kind"], TaskAnswer>> = {
  due: { kind: "due", tasks: [], upTo: null },
  lane: { kind: "lane", tasks: [], upTo: null },
  heads: { kind: "heads", tasks: [], next: null },
  tasks: { kind: "tasks", tasks: [] },
  count: { kind: "count", numbers: { all: 0, deadInNoLane: 0 } },
  task: { kind: "task", task: null },
};
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array | null): string => (bytes === null ? "∅" : new TextDecoder().decode(bytes));
/** `x`: an item. `[a,c)`: a span of rows, `[a,c+)` the one with c. `#[a,c)`: a span of kind `count`. */
const unit = (name: string): UnitId => {
  const interval = /^(#?)\[(.*),(.*)\)$/.exec(name);
  if (interval === null) return `t/${name}` as UnitId;
  const [, count, lo = "", hi = ""] = interval.map((part) => part.replaceAll("+", "\0"));
  return spanId({ table: "t", kind: count === "" ? "rows" : "count", lo, hi });
};
const showInterval = ({ lo, hi }: KeyInterval): string => `[${lo},${hi})`.replaceAll("\0", "+");
const shown = (name: UnitId): string => {
  const span = isSpan(name) ? spanOf(name)! : null;
  return span === null ? name.slice(2) : `${span.kind === "count" ? "#" : ""}${showInterval(span)}`;
};
/** The value of an item, the keys of a directory, or a number of rows. */
const showValue = (name: UnitId, value: Uint8Array | null): string => {
  const span = isSpan(name) ? spanOf(name)! : null;
  if (span === null || value === null) return decode(value);
  if (span.kind === "count") return String(decodeCount(value));
  return decodeDirectory(value)
    .map(({ key }) => key)
    .join(",");
};
const idOf = (name: string): ExecutionId =>
  name
    .split("")
    .map((letter) => letter.charCodeAt(0).toString(16))
    .join("")
    .padStart(32, "0") as ExecutionId;
const nameOf = (id: ExecutionId): string =>
  decode(Uint8Array.from(id.replace(/^0+/, "").match(/../g)!, (hex) => Number.parseInt(hex, 16)));
const showCommit = (id: CommitId): string =>
  id
    .split("-")
    .map((part) => Number.parseInt(part, 16))
    .join(".");
const result = (text: string): Outcome => ({ kind: "result", value: encode(text) });

/** `x=1` read, `x:=1` written: what a run of a handler did. */
function did(text: string, outcome: Outcome = result("ok")): RunResult {
  const words = text.split(" ").filter((word) => word !== "");
  const writes = words.filter((word) => word.includes(":="));
  return {
    kind: "completed",
    outcome,
    reads: words.filter((word) => !word.includes(":=")).map(unit),
    writes: writes.map((word) => {
      const [name = "", value = ""] = word.split(":=");
      return { unit: unit(name), value: value === "∅" ? null : encode(value) };
    }),
  };
}

/** The first or the last rows of an interval, or their number. */
function ask(text: string): Query {
  const [, way, name = ""] = /^(first\d+|last\d+|count) (.*)$/.exec(text)!;
  const { table, lo, hi } = spanOf(unit(name))!;
  if (way === "count") return { kind: "count", table, lo, hi };
  return { kind: "rows", table, lo, hi, limit: Number(way!.replace(/\D+/, "")), isReversed: way!.startsWith("last") };
}

/** f^rw found these units: `x` read, `!x` written. */
function needs(text: string, ...queries: readonly string[]): RunResult {
  const words = text.split(" ").filter((word) => word !== "");
  return {
    kind: "needs",
    ...(queries.length > 0 && { queries: queries.map(ask) }),
    set: {
      reads: new Set(words.filter((word) => !word.startsWith("!")).map(unit)),
      writes: new Set(words.filter((word) => word.startsWith("!")).map((word) => unit(word.slice(1)))),
    },
  };
}

class Story {
  readonly items = new Map<UnitId, StoredItem>();
  readonly intents = new Map<ExecutionId, IntentRecord>();
  #core: LviCore;
  readonly #options: Partial<CoreOptions>;
  #nowMs = START_MS;
  wallOffsetMs = 0;
  /** Of the time of tasks. */
  aheadMs = 0;
  /** The key of the deployment that new hashes are made with, and all that the server has. */
  keys: readonly string[] = ["k"];
  readonly hasher: CallHasher = {
    hash: (bytes) => this.hasher.hashWith(this.keys.at(-1)!, bytes)!,
    hashWith: (key, bytes) => (this.keys.includes(key) ? { key, hash: `${key} ${contentHash(bytes)}` } : null),
  };
  readonly #leadership: HeldLeadership | null;
  #epoch = 2;
  /** How often each execution was sent, and what the location has seen of the server. */
  readonly #attempts = new Map<string, number>();
  #seen: CommitId | null = commitId(2, 0);
  #callers = 0;
  readonly #names = new Map<number, string>();
  #open: Effect[] = [];
  readonly #said: string[] = [];
  readonly #notes: NoteName[] = [];
  /** All replies of the story. */
  readonly replies: LviReply[] = [];
  /** All notes of the story. */
  readonly observed: Note[] = [];

  constructor(
    items: Record<string, string> = {},
    options: Partial<CoreOptions> = {},
    leadership: HeldLeadership | null = null,
  ) {
    this.#leadership = leadership;
    let sequence = 0;
    for (const [name, value] of Object.entries(items)) {
      this.items.set(unit(name), { commitId: commitId(1, ++sequence), value: encode(value) });
    }
    this.#options = options;
    this.#core = this.#start([]);
  }

  /** By the wall clock it may be any time. */
  get #now(): Now {
    const { aheadMs } = this;
    return { monotonicMs: this.#nowMs, wallMs: this.#nowMs + this.wallOffsetMs + aheadMs, aheadMs };
  }

  #start(pending: readonly Intent[], moduleUsedAtMs?: number, items: Recovered["items"] = new Map()): LviCore {
    const recovered = {
      epoch: this.#epoch,
      pending,
      items,
      leadership: this.#leadership,
      modules: new Map([[MODULE, PLANS]]),
      moduleUses: new Map(moduleUsedAtMs === undefined ? [] : [[MODULE, moduleUsedAtMs]]),
    };
    return new LviCore({ ...DEFAULT_CORE_OPTIONS, ...this.#options }, recovered, this.#now, this.hasher);
  }

  /** The process is killed and another one starts; operations under way never happened. */
  restart(moduleUsedAtMs?: number, items?: Recovered["items"]): void {
    const records = [...this.intents.values()];
    this.#epoch++;
    this.#seen = commitId(this.#epoch, 0);
    this.#open = [];
    const pending = records.filter((record) => record.state === "pending").map(({ intent }) => intent);
    this.#core = this.#start(pending, moduleUsedAtMs, items);
  }

  /**
   * A location's request. Its set: `x=1` read with the version of that value, `x` read without the unit in its cache,
   * `+x=1` read and written, `!x` written blindly. No set: null.
   */
  request(name: string, set: string | null, more: Partial<LviRequest> = {}, as = name): void {
    const caller = ++this.#callers;
    this.#names.set(caller, as);
    const words = set?.split(" ").filter((word) => word !== "") ?? null;
    const request: LviRequest = {
      executionId: idOf(name),
      module: MODULE,
      handler: "f",
      args: encode("args"),
      environment: { timeMs: this.#now.wallMs, seed: new Uint8Array(16), caller: null },
      location: "near",
      units: words === null ? null : words.map((word) => this.#accessed(word)),
      retained: false,
      deadlineMs: 10_000,
      attempt: more.attempt ?? (this.#attempts.get(name) ?? 0) + 1,
      seen: this.#seen,
      mustNotWrite: false,
      mayEffect: false,
      lanes: [],
      session: null,
      ...more,
    };
    this.#attempts.set(name, request.attempt);
    this.#tell({ kind: "lvi-request", caller, request });
  }

  #accessed(word: string): AccessedUnit {
    if (word.startsWith("!")) return { unit: unit(word.slice(1)), mode: "write" };
    const mode = word.startsWith("+") ? "read-write" : "read";
    const [name = "", value] = word.replace(/^\+/, "").split("=");
    if (isSpan(unit(name))) return { unit: unit(name), mode: "read", version: this.#spanVersion(name, value) };
    return { unit: unit(name), mode, version: value === undefined ? null : this.version(name, value) };
  }

  /** As a location that has followed all changes holds the span; or `∅`: it knows nothing of it; or `old`: it had another row. */
  #spanVersion(name: string, asOf: string | undefined): Version {
    const span = spanOf(unit(name))!;
    const rows = asOf === "∅" ? [] : [...this.#rowsIn(span)];
    if (asOf === "old") rows.pop();
    const hash = span.kind === "count" ? countHash(rows.length) : digestOf(rows);
    const [epoch = 0, sequence = 0] = /^\d/.test(asOf ?? "") ? asOf!.split(".").map(Number) : [];
    return { commitId: commitId(epoch, sequence), hash };
  }

  #rowsIn(span: Span): readonly DirectoryRow[] {
    const rows = Array.from(this.items, ([name, { commitId: id, value }]) => {
      const { key } = splitUnit(name);
      return { key, commitId: id, hash: contentHash(value) };
    });
    return rows.filter(({ key }) => contains(span, key)).toSorted((a, b) => compareKeys(a.key, b.key));
  }

  /** The version of a value that a cache holds: as stored, as written by this location (`2@2.1`), or one that never was. */
  version(name: string, value: string): Version {
    const own = /^(.*)@(\d+)\.(\d+)$/.exec(value);
    if (own !== null) {
      const [, text = "", epoch, sequence] = own;
      return entryOf(commitId(Number(epoch), Number(sequence)), text === "∅" ? null : encode(text)).version;
    }
    if (value === "∅") return entryOf(commitId(0, 0), null).version;
    const item = this.items.get(unit(name));
    if (item !== undefined && decode(item.value) === value) return entryOf(item.commitId, item.value).version;
    return entryOf(commitId(0, 7), encode(value)).version;
  }

  followup(name: string, commit: CommitId, writes: string, outcome: Outcome = result("ok")): void {
    const caller = ++this.#callers;
    this.#names.set(caller, `followup ${name}`);
    const run = did(writes);
    if (run.kind !== "completed") throw new Error("unreachable");
    this.#tell({
      kind: "followup",
      caller,
      followup: { executionId: idOf(name), commitId: commit, outcome, writes: run.writes, effects: [] },
    });
  }

  lookedUp(): void {
    const { operation, executionId } = this.#take("look-up");
    this.#tell({ kind: "looked-up", operation, record: this.intents.get(executionId) ?? null });
  }

  /** Storage answers the oldest read. */
  loaded(): void {
    const { operation, units, mostBytes } = this.#take("load");
    const items = new Map(units.flatMap((name) => (this.items.has(name) ? [[name, this.items.get(name)!]] : [])));
    const bytes = Array.from(items.values(), ({ value }) => value.length).reduce((sum, length) => sum + length, 0);
    this.#tell(bytes > mostBytes ? { kind: "too-much-to-load", operation } : { kind: "loaded", operation, items });
  }

  /** Storage answers the oldest scan. */
  scanned(): void {
    const { operation, hole, limit } = this.#take("scan");
    const rows = this.#rowsIn({ ...hole, kind: "rows" }).map(({ key }) => ({
      unit: unit(key),
      ...this.items.get(unit(key))!,
    }));
    const walked = hole.isReversed ? rows.toReversed() : rows;
    this.#tell({ kind: "scanned", operation, rows: walked.slice(0, limit) });
  }

  /** Storage stores the oldest intent. */
  stored(): void {
    const { operation, intent } = this.#take("store-intent");
    const record = this.intents.get(intent.executionId);
    if (record === undefined) this.intents.set(intent.executionId, { state: "pending", intent });
    this.#tell({
      kind: "intent-stored",
      operation,
      result: record === undefined ? { kind: "stored" } : { kind: "exists", record },
    });
  }

  /** Storage carries out the oldest completion. */
  completed(): void {
    const { operation, completions } = this.#take("complete");
    const unfit = completions.find(({ expects, completion }) => {
      const record = this.intents.get(completion.executionId);
      return expects === "new" ? record !== undefined : record?.state !== "pending";
    });
    if (unfit === undefined) for (const { completion } of completions) this.apply(completion);
    const id = unfit?.completion.executionId;
    this.#tell({
      kind: "completed",
      operation,
      result: id === undefined ? { kind: "applied" } : { kind: "exists", id, record: this.intents.get(id) ?? null },
    });
  }

  apply(completion: Completion): void {
    this.intents.set(completion.executionId, { state: "done", done: doneIntentOf(completion) });
    for (const write of completion.writes) {
      if (write.value === null) this.items.delete(write.unit);
      else this.items.set(write.unit, { commitId: completion.commitId, value: write.value });
    }
  }

  /** Storage fails the oldest operation of a kind. */
  failed(kind: "load" | "scan" | "store-intent" | "complete" | "renew-leadership", effect: "none" | "unknown"): void {
    this.#tell({ kind: "storage-failed", operation: this.#take(kind).operation, effect, reason: "the story wants it" });
  }

  /** The oldest run ends. */
  ran(outcome: RunResult, tookMs = 1): void {
    this.#tell({ kind: "executed", run: this.#take("execute").run.id, result: outcome, tookMs });
  }

  /** The oldest train comes back with these results of its first members. */
  arrived(...results: readonly RunResult[]): void {
    const [head = { kind: "not-run" }, ...followers] = results;
    const ended = { result: head, tookMs: 1, followers: followers.map((each) => ({ result: each, tookMs: 1 })) };
    this.#tell({ kind: "executed", run: this.#take("execute").run.id, ...ended });
  }

  /** How often runs of what is to be run now were ended before. */
  get kills(): readonly number[] {
    return this.#open.flatMap((effect) => (effect.kind === "execute" ? [effect.run.kills] : []));
  }

  /** The server is told to collect: what it asks of storage. */
  collects(): Effect & { kind: "collect" } {
    this.#tell({ kind: "collect" });
    return this.#take("collect");
  }

  registers(module: ModuleHash): void {
    this.#tell({ kind: "module-registered", module, plans: PLANS });
  }

  renewed(isHeld: boolean): void {
    this.#tell({ kind: "leadership-renewed", operation: this.#take("renew-leadership").operation, isHeld });
  }

  /** Time passes, and the server does not notice. */
  sleeps(ms: number): void {
    this.#nowMs += ms;
  }

  passes(ms: number): void {
    this.#nowMs += ms;
    this.#tell({ kind: "clock" });
  }

  tell(event: Event): void {
    this.#tell(event);
  }

  get isLeading(): boolean {
    return this.#core.isLeading;
  }

  /** The effects of the core since the last look. */
  get said(): readonly string[] {
    return this.#said.splice(0);
  }

  /** Passes over the effects so far. */
  forget(): void {
    this.#said.length = 0;
  }

  get notes(): readonly NoteName[] {
    return this.#notes.splice(0);
  }

  get seen(): CommitId | null {
    return this.#seen;
  }

  get isIdle(): boolean {
    return this.#core.isIdle;
  }

  /** Of the latest commit id taken. */
  get sequence(): number {
    return Number.parseInt(this.#seen!.split("-")[1]!, 16) + 1;
  }

  get load(): Load {
    return this.#core.load;
  }

  get modules(): LviCore["modules"] {
    return this.#core.modules;
  }

  get setsLeft(): LviCore["setsLeft"] {
    return this.#core.setsLeft;
  }

  get moduleLoads(): LviCore["moduleLoads"] {
    return this.#core.moduleLoads;
  }

  storedValue(name: string): string {
    return decode(this.items.get(unit(name))?.value ?? null);
  }

  #take<Kind extends Effect["kind"]>(kind: Kind): Effect & { kind: Kind } {
    const index = this.#open.findIndex((effect) => effect.kind === kind);
    if (index < 0) throw new Error(`there is no ${kind} under way`);
    return this.#open.splice(index, 1)[0] as Effect & { kind: Kind };
  }

  #tell(event: Event): void {
    const effects = this.#core.step(this.#now, event);
    this.#core.assertWellFormed();
    for (const effect of effects) {
      if (effect.kind === "note") {
        this.#notes.push(effect.note.name);
        this.observed.push(effect.note);
        continue;
      }
      if (effect.kind === "read-workflows") {
        const answer = { kind: "open", workflows: [], next: null } as const;
        this.#tell({ kind: "workflows-read", operation: effect.operation, answer });
        continue;
      }
      if (effect.kind === "read-tasks") {
        this.#tell({ kind: "tasks-read", operation: effect.operation, answer: NO_TASKS[effect.question.kind] });
        continue;
      }
      if (effect.kind === "resume") {
        for (const late of effect.events) this.#tell(late);
        continue;
      }
      if (effect.kind === "reply") {
        this.#seen = effect.reply.asOf;
        this.replies.push(effect.reply);
      }
      if (effect.kind !== "reply" && effect.kind !== "followup-reply") this.#open.push(effect);
      this.#said.push(this.#show(effect));
    }
  }

  #show(effect: Effect): string {
    switch (effect.kind) {
      case "reply":
        return `${this.#names.get(effect.caller)} ← ${showReply(effect.reply)}`;
      case "followup-reply":
        return `${this.#names.get(effect.caller)} ← ${effect.result satisfies FollowupVerdict}`;
      case "look-up":
        return `look up ${nameOf(effect.executionId)}`;
      case "load":
        return `load ${effect.units.map(shown).join(" ")}`;
      case "scan":
        return `scan ${effect.limit} of ${showInterval(effect.hole)}${effect.hole.isReversed ? " backward" : ""}`;
      case "store-intent":
        return `intent ${nameOf(effect.intent.executionId)} ${showCommit(effect.intent.commitId)} ${effect.intent.units.map((held) => `${shown(held.unit)}:${held.mode}`).join(" ")}`;
      case "complete": {
        const ends = effect.completions.map(({ expects, completion: { executionId, commitId: commit, writes } }) => {
          const list = writes.map((write) => `${shown(write.unit)}:=${decode(write.value)}`).join(" ");
          const found =
            typeof expects === "object" ? `attempt ${"attempt" in expects ? expects.attempt : ""}` : expects;
          return `${nameOf(executionId)} ${showCommit(commit)} ${found} ${list}`.trimEnd();
        });
        return `complete ${ends.join(" and ")}`;
      }
      case "advance":
      case "read-workflows":
      case "read-tasks":
        throw new Error("it was answered");
      case "execute": {
        const runs = [effect.run, ...(effect.run.followers ?? [])].map(({ snapshot, access }) => {
          const values = [...snapshot].map(([name, { value }]) => `${shown(name)}=${showValue(name, value)}`).join(" ");
          return `${showAccess(access)} on ${values}`.trimEnd();
        });
        return `run ${runs.join(" and ")}`;
      }
      case "name-read-leases":
      case "carry-out-order":
      case "task-order-reply":
      case "workflow-order-reply":
      case "not-leading":
      case "schedule-reply":
      case "change-task":
      case "call-service":
        throw new Error(`${effect.kind} has no part in a story`);
      case "renew-leadership":
        return "renew";
      case "tell":
        return `tell ${effect.listeners.join(" ")} ${showLine(effect.line)}`;
      case "end-listening":
        return `end ${effect.listener}`;
      case "heard-reply": {
        const { reply } = effect;
        return `heard ← ${reply.kind === "lapsed" ? "lapsed" : reply.untilMs - reply.nowMs}`;
      }
      case "session-over":
        return `over ${effect.session}`;
      case "hints-left-out":
        return `left out ${effect.units}`;
      case "collect":
      case "halt":
      case "note":
      case "resume":
        return effect.kind;
      case "sample-left-out":
        return `${effect.kind} ${effect.count}`;
      case "sampled": {
        const { executionId, path, invocation, commitId: commit, versions, values: known, ended } = effect.sample;
        const values = Array.from(versions, ([name, { commitId: of }]) =>
          known === null ? `${shown(name)}@${showCommit(of)}` : `${shown(name)}=${decode(known.get(name)!)}`,
        );
        if (known === null && commit !== null) values.push(`as ${showCommit(commit)}`);
        const writes = ended?.writes.map((write) => `${shown(write.unit)}:=${decode(write.value)}`) ?? ["?"];
        return ["sample", nameOf(executionId), invocation.handler, path, ...values, "→", ...writes].join(" ");
      }
    }
  }
}

function showLine(line: Line): string {
  switch (line.kind) {
    case "hint":
      return line.entries.map(({ unit: name }) => shown(name)).join(" ");
    case "session":
      return `session ${line.session} at ${line.n}`;
    case "lease":
      return `${line.n} lease ${line.units.map(({ unit: name }) => shown(name)).join(" ")}`;
    case "revoke":
    case "changed":
      return `${line.n} ${line.kind} ${line.units.map(shown).join(" ")}`;
  }
}

function showReply(reply: LviReply): string {
  switch (reply.kind) {
    case "valid":
      return `valid ${reply.commitId === null ? "without intent" : showCommit(reply.commitId)}`;
    case "refused":
      return `refused ${reply.code}`;
    case "working":
      return `working ${reply.state}`;
    case "executed": {
      const outcome = reply.outcome.kind === "result" ? decode(reply.outcome.value) : reply.outcome.code;
      const repairs = reply.repairs.map(
        ({ unit: name, entry }) =>
          `${shown(name)}=${showValue(name, entry.value)}@${showCommit(entry.version.commitId)}`,
      );
      return `executed ${reply.cause} ${outcome}${repairs.length === 0 ? "" : ` repairs ${repairs.join(" ")}`}`;
    }
  }
}

function showAccess(access: RunAccess): string {
  if (access.kind === "record") return access.guess ? "record" : "record strictly";
  if (access.kind !== "derive") return access.kind;
  return `derive writing ${access.writable === null ? "all" : [...access.writable].map(shown).join(" ") || "nothing"}`;
}

const C1 = commitId(2, 1);

/** A write of x from 1 to 2 that was told `valid`. */
function withPendingWrite(options: Partial<CoreOptions> = {}, more: Partial<LviRequest> = {}): Story {
  const story = new Story({ x: "1", y: "1" }, options);
  story.request("A", "+x=1", more);
  if (more.retained === true) story.lookedUp();
  story.loaded();
  story.stored();
  expect(story.said.slice(-3)).toEqual(["load x", "intent A 2.1 x:read-write", "A ← valid 2.1"]);
  return story;
}

/** The record of an execution that is done. */
function doneOf(story: Story, name: string): DoneIntent {
  const record = story.intents.get(idOf(name));
  if (record?.state !== "done") throw new Error(`${name} is not done`);
  return record.done;
}

describe("trains", () => {
  /** A runs near storage and holds x; each of the others waits for it, with the set `+x=0` if no other is given. */
  function withWaiters(sets: Record<string, string>, options: Partial<CoreOptions> = {}): Story {
    const story = new Story({ x: "1", y: "1" }, options);
    story.request("A", "+x=0");
    story.loaded();
    for (const [name, set] of Object.entries(sets)) story.request(name, set === "" ? "+x=0" : set);
    story.ran(did("x x:=2"));
    story.completed();
    const said = story.said;
    expect(said.slice(0, 3)).toEqual(["load x", "run derive writing x on x=1", "complete A 2.1 new x:=2"]);
    expect(said[3]).toBe("A ← executed stale ok repairs x=2@2.1");
    expect(said[4]).toMatch(/^run derive writing x on x=2/);
    return story;
  }

  test("waiters follow the head in one run and one commit; each is answered when that is durable", () => {
    const story = withWaiters({ B: "", C: "", D: "" });
    expect(story.notes).toContain("train");
    story.arrived(did("x x:=3"), did("x x:=4"), did("x x:=5"));
    expect(story.said).toEqual(["complete B 2.2 new x:=3 and C 2.3 new x:=4 and D 2.4 new x:=5"]);
    // A reader sees what is durable.
    story.request("R", "x=2");
    expect(story.said).toEqual(["R ← valid without intent"]);
    story.completed();
    expect(story.said).toEqual([
      "B ← executed stale ok repairs x=5@2.4",
      "C ← executed stale ok repairs x=5@2.4",
      "D ← executed stale ok repairs x=5@2.4",
    ]);
    expect(story.storedValue("x")).toBe("5");
    expect(story.isIdle).toBe(true);
  });

  test("a member that needs more units leaves; those behind it run again, after it", () => {
    const story = withWaiters({ B: "", C: "", D: "" });
    story.arrived(did("x x:=3"), needs("x !x !y"), did("x x:=5"));
    expect(story.said).toEqual(["complete B 2.2 new x:=3"]);
    expect(story.notes).toContain("train_left");
    story.completed();
    expect(story.said).toEqual([
      "B ← executed stale ok repairs x=3@2.2",
      "run derive writing x y on x=3 and derive writing x on x=3",
    ]);
    story.arrived(did("x x:=4 y:=4"), did("x x:=5"));
    story.completed();
    expect(story.said.at(-1)).toBe("D ← executed stale ok repairs x=5@2.4");
    expect(story.storedValue("x")).toBe("5");
    expect(story.isIdle).toBe(true);
  });

  test("a member whose run has touched what it does not hold leaves, and what it has written is nothing", () => {
    const story = withWaiters({ B: "", C: "", D: "" });
    story.arrived(did("x x:=3"), did("x x:=4 z:=4"), did("x x:=5"));
    expect(story.said).toEqual(["complete B 2.2 new x:=3"]);
    story.completed();
    expect(story.said.at(-1)).toBe("run derive writing x z on x=3 and derive writing x on x=3");
  });

  test("a head that needs more units leaves too, and the others go without it if they can", () => {
    const story = withWaiters({ B: "+x=0", C: "+x=0" });
    story.arrived(needs("x y !x !y"));
    // It has taken y, which was free, and C follows it again.
    expect(story.said).toEqual(["load y"]);
    story.loaded();
    expect(story.said).toEqual(["run derive writing x y on x=2 y=1 and derive writing x on x=2"]);
  });

  test("a member that is stopped from outside is refused; the results of the others are lost, and they run again", () => {
    const story = withWaiters({ B: "", C: "", D: "" });
    story.arrived({ kind: "not-run" }, { kind: "crowded-out" });
    expect(story.said).toEqual(["C ← refused busy", "run derive writing x on x=2 and derive writing x on x=2"]);
    story.arrived(did("x x:=3"), did("x x:=4"));
    story.completed();
    expect(story.said.at(-1)).toBe("D ← executed stale ok repairs x=4@2.3");
    expect(story.isIdle).toBe(true);
  });

  test("a train that was cut: the others wait again, before those that came later", () => {
    const story = withWaiters({ B: "", C: "", D: "" });
    story.request("E", "+x=0");
    story.arrived(did("x x:=3"));
    story.completed();
    expect(story.said.at(-1)).toBe(
      "run derive writing x on x=3 and derive writing x on x=3 and derive writing x on x=3",
    );
    story.arrived(did("x x:=4"), did("x x:=5"), did("x x:=6"));
    expect(story.said).toEqual(["complete C 2.3 new x:=4 and D 2.4 new x:=5 and E 2.5 new x:=6"]);
  });

  test("a member that has waited for too long when its train was cut is refused", () => {
    const story = new Story({ x: "1" });
    story.request("A", "+x=0");
    story.loaded();
    story.request("B", "+x=0");
    story.request("C", "+x=0", { deadlineMs: 500 });
    story.request("D", "+x=0");
    story.ran(did("x x:=2"));
    story.completed();
    story.passes(500);
    expect(story.said.at(-1)).toMatch(/^run derive/);
    story.arrived(did("x x:=3"));
    expect(story.said).toEqual(["complete B 2.2 new x:=3", "C ← refused busy"]);
    story.completed();
    expect(story.said.at(-1)).toBe("run derive writing x on x=3");
  });

  test("aborts before the first write leave no trace; one that has read a write waits until that is durable", () => {
    const story = withWaiters({ B: "", C: "", D: "" });
    const abort = did("x", { kind: "abort", status: 409, code: "no", message: "no" });
    story.arrived(abort, did("x x:=4"), abort);
    expect(story.said).toEqual(["B ← executed stale no repairs x=2@2.1", "complete C 2.2 new x:=4 and D 2.3 new"]);
    story.completed();
    expect(story.said).toEqual(["C ← executed stale ok repairs x=4@2.2", "D ← executed stale no repairs x=4@2.2"]);
    expect(story.isIdle).toBe(true);
  });

  test("a waiter's values are loaded while it waits; without them it does not follow, nor does anybody behind it", () => {
    const start = (isLoaded: boolean): string => {
      const story = new Story({ x: "1", y: "1" });
      story.request("A", "+x=0");
      story.loaded();
      story.request("B", "+x=0");
      story.request("C", "+x=0 +y=1");
      story.request("D", "+x=0");
      // Another one that waits for y finds that it is being loaded.
      story.request("E", "+x=0 +y=1");
      expect(story.said).toEqual(["load x", "run derive writing x on x=1", "load y"]);
      if (isLoaded) story.loaded();
      story.ran(did("x x:=2"));
      story.completed();
      return story.said.at(-1)!;
    };
    const x = "derive writing x on x=2";
    const both = "derive writing x y on x=2 y=1";
    expect(start(true)).toBe(`run ${x} and ${both} and ${x} and ${both}`);
    expect(start(false)).toBe(`run ${x}`);
  });

  test("values that can't be loaded while a waiter waits are loaded when it has its locks", () => {
    const story = new Story({ x: "1", y: "1" });
    story.request("A", "+x=0");
    story.loaded();
    story.request("B", "+x=0 +y=1");
    story.failed("load", "none");
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said.at(-1)).toBe("load y");
    story.loaded();
    story.ran(did("x y x:=3"));
    story.completed();
    expect(story.isIdle).toBe(true);
  });

  test("an execution whose id is known leaves, and the others run again", () => {
    const story = withWaiters({ B: "", C: "" });
    story.intents.set(idOf("C"), { state: "done", done: { ...doneOf(story, "A"), executionId: idOf("C") } });
    story.arrived(did("x x:=3"), did("x x:=4"));
    story.completed();
    expect(story.storedValue("x")).toBe("2");
    expect(story.said.slice(1)).toEqual(["C ← executed stored ok", "run derive writing x on x=2"]);
    story.ran(did("x x:=3"));
    story.completed();
    expect(story.said.at(-1)).toBe("B ← executed stale ok repairs x=3@2.4");
    expect(story.isIdle).toBe(true);
  });

  test("a commit that was not done refuses all; one that may have been done is sent again as it was", () => {
    const story = withWaiters({ B: "", C: "" });
    story.arrived(did("x x:=3"), did("x x:=4"));
    story.failed("complete", "none");
    expect(story.said.slice(1)).toEqual(["B ← refused busy", "C ← refused busy"]);
    const other = withWaiters({ B: "", C: "" });
    other.arrived(did("x x:=3"), did("x x:=4"));
    const [line] = other.said;
    other.failed("complete", "unknown");
    other.passes(100);
    expect(other.said).toEqual([line]);
    other.completed();
    expect(other.storedValue("x")).toBe("4");
  });

  test("a unit that the second of a train is about to create is absent as of before the first that may create it", () => {
    const story = new Story({});
    story.request("A", "+x=0");
    story.loaded();
    story.request("B", "+x=0");
    story.request("C", "+x=0");
    story.request("D", "+x=0");
    story.ran(did("x", { kind: "abort", status: 409, code: "no", message: "no" }));
    story.arrived(did("x x:=1"), did("x x:=∅"), did("x x:=3"));
    expect(story.said.at(-1)).toBe("complete B 2.1 new x:=1 and C 2.2 new x:=∅ and D 2.3 new x:=3");
    story.request("R", null);
    story.ran(needs("x"));
    story.ran(did("x"));
    expect(story.said.at(-1)).toBe("R ← executed requested ok repairs x=∅@2.0");
  });

  test("a train has 48 members at most", () => {
    const story = new Story({ x: "1" });
    story.request("A", "+x=0");
    story.loaded();
    for (let index = 0; index < 60; index++) story.request(`m${index}`, "+x=0");
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said.at(-1)!.split(" and ").length).toBe(48);
  });

  test("hints tell of the last write of a unit only", () => {
    const story = new Story({ x: "1" });
    story.tell({ kind: "listens", listener: 1, location: "near", name: "", session: undefined, heard: 0, ends: null });
    story.request("A", "+x=0");
    story.loaded();
    story.request("B", "+x=0");
    story.request("C", "+x=0");
    story.ran(did("x x:=2"));
    story.completed();
    story.arrived(did("x x:=3"), did("x x:=4"));
    story.completed();
    expect(story.said.filter((line) => line.startsWith("tell"))).toEqual(["tell 1 x", "tell 1 x"]);
  });
});

describe("samples", () => {
  const SAMPLING = { every: 1, handlers: null, values: true, perSecond: null };
  const samples = (story: Story): readonly string[] => story.said.filter((line) => line.startsWith("sample"));

  test("nothing is sampled unless it is asked for, nor after it is not any more", () => {
    const story = new Story({ x: "1" });
    const reads = (name: string): void => story.request(name, "x=1");
    reads("A");
    story.loaded();
    story.tell({ kind: "sampling", samplings: [SAMPLING] });
    reads("B");
    story.tell({ kind: "sampling", samplings: [] });
    reads("C");
    expect(samples(story)).toEqual(["sample B f valid x=1 → ?"]);
  });

  test("each path: what was read, and what came of it once that is durable", () => {
    const story = new Story({ x: "1", y: "1" });
    story.tell({ kind: "sampling", samplings: [SAMPLING] });
    // Cold: validated after a load.
    story.request("A", "x=1");
    story.loaded();
    expect(samples(story)).toEqual(["sample A f valid x=1 → ?"]);
    story.request("B", "y=1 +x=1 !z");
    story.loaded();
    story.stored();
    story.followup("B", C1, "x:=2 z:=1");
    expect(samples(story)).toEqual([]);
    story.completed();
    expect(samples(story)).toEqual(["sample B f followup x=1 y=1 → x:=2 z:=1"]);
    story.request("C", "+x=2");
    story.stored();
    story.passes(DEFAULT_CORE_OPTIONS.followupTimeoutMs);
    story.ran(did("x:=3"));
    story.completed();
    expect(samples(story)).toEqual(["sample C f re-execution x=2 → x:=3"]);
    // Stale: near storage, with writes and without.
    story.request("D", "+x=1");
    story.ran(did("x x:=4"));
    story.completed();
    story.request("E", "x=1");
    story.ran(did("x"));
    expect(samples(story)).toEqual(["sample D f near-storage x=3 → x:=4", "sample E f near-storage x=4 →"]);
  });

  test("each n-th of the handlers that are wanted", () => {
    const story = new Story({ x: "1" });
    story.request("A", "x=1");
    story.loaded();
    story.tell({ kind: "sampling", samplings: [{ ...SAMPLING, every: 2, handlers: new Set(["f"]) }] });
    for (const name of ["B", "C", "D", "E"]) {
      story.request(name, "x=1");
      story.request(`${name}R`, "x=1", { handler: "recorded" });
    }
    expect(samples(story)).toEqual(["sample C f valid x=1 → ?", "sample E f valid x=1 → ?"]);
  });

  test("two rules at once: each has its turns, and one that goes on keeps its count", () => {
    const story = new Story({ x: "1" });
    story.request("A", "x=1");
    story.loaded();
    const second = { ...SAMPLING, every: 2 };
    story.tell({ kind: "sampling", samplings: [second] });
    story.request("B", "x=1");
    story.tell({ kind: "sampling", samplings: [second, SAMPLING] });
    story.request("C", "x=1");
    story.request("D", "x=1");
    expect(samples(story).map((line) => line.split(" ")[1])).toEqual(["C", "C", "D"]);
  });

  test("at most so many in a second; the number of the others is told before the next one", () => {
    const story = new Story({ x: "1" });
    story.request("A", "x=1");
    story.loaded();
    story.tell({ kind: "sampling", samplings: [{ ...SAMPLING, perSecond: 2 }] });
    for (const name of ["B", "C", "D", "E"]) story.request(name, "x=1");
    expect(samples(story)).toEqual(["sample B f valid x=1 → ?", "sample C f valid x=1 → ?"]);
    story.passes(1_000);
    story.request("F", "x=1");
    expect(samples(story)).toEqual(["sample-left-out 2", "sample F f valid x=1 → ?"]);
  });

  test("versions alone: of every execution, also of who reads its location's write that is not applied", () => {
    const story = withPendingWrite();
    story.tell({ kind: "sampling", samplings: [{ ...SAMPLING, values: false }] });
    story.request("B", "x=2@2.1");
    expect(samples(story)).toEqual(["sample B f valid x@2.1 → ?"]);
    story.followup("A", C1, "x:=2");
    story.completed();
    expect(samples(story)).toEqual(["sample A f followup x@1.1 as 2.1 → x:=2"]);
  });

  test("who reads its location's write that is not applied is left out; who failed is no sample", () => {
    const story = withPendingWrite();
    story.tell({ kind: "sampling", samplings: [SAMPLING] });
    story.request("B", "x=2@2.1");
    expect(samples(story)).toEqual(["sample-left-out 1"]);
    // The handler leaves its set in the re-execution, and can't be run near storage either.
    story.passes(DEFAULT_CORE_OPTIONS.followupTimeoutMs);
    story.ran({ kind: "undeclared", reason: "y" });
    story.ran({ kind: "undeclared", reason: "y" });
    story.ran({ kind: "undeclared", reason: "y" });
    story.completed();
    expect(story.isIdle).toBe(true);
    expect(samples(story)).toEqual([]);
  });
});

describe("lines of handlers", () => {
  /** A run that has logged this, too. */
  const said = (text: string, run: RunResult): RunResult => {
    if (run.kind !== "completed") throw new Error("only a run that has ended has lines");
    return { ...run, logged: [{ level: "info", text }] };
  };
  /** The lines that are told since the story began: `execution path: text`. */
  const told = (story: Story): readonly string[] =>
    story.observed.flatMap(({ name, executionId, location, path, logged = [] }) => {
      if (name !== "handler_log") return [];
      expect(location).toBe("near");
      return logged.map(({ text }) => `${nameOf(executionId!)} ${path}: ${text}`);
    });

  test("of a run near storage are told when its writes are durable", () => {
    const story = new Story({ x: "1" });
    story.request("A", "+x=0");
    story.loaded();
    story.ran(said("hello", did("x x:=2")));
    expect(told(story)).toEqual([]);
    story.completed();
    expect(told(story)).toEqual(["A near-storage: hello"]);
  });

  test.each<[string, Outcome]>([
    ["aborts", { kind: "abort", status: 404, code: "gone", message: "" }],
    ["traps", { kind: "trap", code: "assertion_failed", message: "no" }],
    ["reads", result("1")],
  ])("of one that leaves no trace are told with its answer, if it %s", (_what, outcome) => {
    const story = new Story({ x: "1" });
    story.request("A", "x=0");
    story.loaded();
    story.ran(said("hello", did("x", outcome)));
    expect(told(story)).toEqual(["A near-storage: hello"]);
    expect(story.isIdle).toBe(true);
  });

  test("of a run that is thrown away are not: the values had changed, so it runs once more", () => {
    const story = new Story({ x: "1", y: "1" });
    // It holds nothing while it runs, and somebody writes what it has read.
    story.request("A", null, { handler: "recorded" });
    story.ran({ kind: "missing", units: [unit("x")] });
    story.loaded();
    story.request("B", "!x");
    story.stored();
    story.followup("B", C1, "x:=2");
    story.completed();
    story.ran(said("first", did("x y:=2")));
    expect(told(story)).toEqual([]);
    expect(story.observed.some(({ name }) => name === "contention_round")).toBe(true);
    story.ran(said("second", did("x y:=2")));
    story.completed();
    expect(told(story)).toEqual(["A near-storage: second"]);
  });

  test("of a re-execution are told when it is applied, and not when the followup was faster", () => {
    const lost = withPendingWrite();
    lost.passes(5_000);
    lost.ran(said("again", did("x x:=2")));
    expect(told(lost)).toEqual([]);
    lost.completed();
    expect(told(lost)).toEqual(["A re-execution: again"]);
    const late = withPendingWrite();
    late.passes(5_000);
    late.followup("A", C1, "x:=2");
    late.completed();
    late.ran(said("again", did("x x:=2")));
    expect(told(late)).toEqual([]);
  });

  test("of the location's run are not told here: a followup brings none", () => {
    const story = withPendingWrite();
    story.followup("A", C1, "x:=2");
    story.completed();
    expect(story.isIdle).toBe(true);
    expect(told(story)).toEqual([]);
  });

  test("of a train are told for each member that was done", () => {
    const story = new Story({ x: "1" });
    story.request("A", "+x=0");
    story.loaded();
    for (const name of ["B", "C", "D"]) story.request(name, "+x=0");
    story.ran(did("x x:=2"));
    story.completed();
    story.arrived(said("b", did("x x:=3")), said("c", did("x x:=4")), { kind: "not-run" });
    expect(told(story)).toEqual([]);
    story.completed();
    expect(told(story)).toEqual(["B near-storage: b", "C near-storage: c"]);
  });

  test("of an execution that is refused are not told", () => {
    const story = new Story({ x: "1" });
    story.request("A", "x=0", { mustNotWrite: true });
    story.loaded();
    story.ran(said("about to write", did("x x:=2")));
    expect(story.notes).toContain("wrote_on_get_alarm");
    expect(told(story)).toEqual([]);
  });
});

describe("validation", () => {
  test("valid: one load for cold units, one storage write, then the reply; the followup is applied", () => {
    const story = new Story({ x: "1", y: "1" });
    story.request("A", "y=1 +x=1");
    expect(story.said).toEqual(["load y x"]);
    story.loaded();
    expect(story.said).toEqual(["intent A 2.1 x:read-write y:read"]);
    // Nothing is told before the intent is durable.
    story.stored();
    expect(story.said).toEqual(["A ← valid 2.1"]);
    story.followup("A", C1, "x:=2");
    expect(story.said).toEqual(["complete A 2.1 pending x:=2"]);
    story.completed();
    expect(story.said).toEqual(["followup A ← applied"]);
    expect(story.isIdle).toBe(true);

    // Hot units are validated without storage.
    story.request("B", "x=2 y=1");
    expect(story.said).toEqual(["B ← valid without intent"]);
  });

  test("stale: the handler runs near storage and the reply repairs the cache", () => {
    const story = new Story({ x: "1" });
    story.request("A", "+x=0");
    story.loaded();
    expect(story.said).toEqual(["load x", "run derive writing x on x=1"]);
    story.ran(did("x x:=2"));
    expect(story.said).toEqual(["complete A 2.1 new x:=2"]);
    story.completed();
    expect(story.said).toEqual(["A ← executed stale ok repairs x=2@2.1"]);
    expect(story.isIdle).toBe(true);
  });

  test("a unit that the cache lacks is stale", () => {
    const story = new Story({ x: "1" });
    story.request("A", "x");
    story.loaded();
    story.ran(did("x"));
    expect(story.said).toEqual([
      "load x",
      "run derive writing nothing on x=1",
      "A ← executed stale ok repairs x=1@1.1",
    ]);
  });

  test("a blind write needs no version and no load", () => {
    const story = new Story({ x: "1" });
    story.request("A", "!x");
    expect(story.said).toEqual(["intent A 2.1 x:write"]);
  });

  test("absent is validated as absent, and repaired with a commit id as of which it was", () => {
    const story = new Story();
    story.request("A", "x=∅");
    story.loaded();
    expect(story.said).toEqual(["load x", "A ← valid without intent"]);
    story.request("B", "x=1");
    story.ran(did("x"));
    expect(story.said).toEqual(["run derive writing nothing on x=∅", "B ← executed stale ok repairs x=∅@2.0"]);
  });

  test("an absent unit that an untold writer is about to create is absent as of the commit before", () => {
    const story = new Story();
    story.request("A", "+x=∅");
    story.loaded();
    story.request("B", "x=1");
    story.ran(did("x"));
    expect(story.said).toEqual([
      "load x",
      "intent A 2.1 x:read-write",
      "run derive writing nothing on x=∅",
      // Not 2.1: a cache that took that would refuse A's write.
      "B ← executed stale ok repairs x=∅@2.0",
    ]);
  });

  test("a version newer than the primary's is a lost write: alarm, and never a stale answer", () => {
    const story = new Story({ x: "1" });
    story.request("A", "x=1");
    story.loaded();
    const request = {
      units: [{ unit: unit("x"), mode: "read", version: entryOf(commitId(9, 9), encode("9")).version }],
    } as const;
    story.request("B", "", request);
    expect(story.notes).toContain("lost_write_alarm");
    expect(story.said).toContain("run derive writing nothing on x=1");
  });

  test("the same commit id with other content is stale: a corrupt cache is repaired", () => {
    const story = new Story({ x: "1" });
    const version = { ...story.version("x", "1"), hash: "0123456789abcdef" as never };
    story.request("A", "", { units: [{ unit: unit("x"), mode: "read", version }] });
    story.loaded();
    expect(story.said).toEqual(["load x", "run derive writing nothing on x=1"]);
  });
});

describe("read-only executions", () => {
  test("pass a writer that was not told yet", () => {
    const story = new Story({ x: "1" });
    story.request("A", "+x=1");
    story.loaded();
    story.request("R", "x=1");
    expect(story.said).toEqual(["load x", "intent A 2.1 x:read-write", "R ← valid without intent"]);
  });

  test("wait for a writer that was told, which is re-executed at once", () => {
    const story = withPendingWrite();
    story.request("R", "x=1");
    expect(story.said).toEqual(["run declared on x=1"]);
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending x:=2", "run derive writing nothing on x=2"]);
    story.ran(did("x"));
    expect(story.said).toEqual(["R ← executed stale ok repairs x=2@2.1"]);
    expect(story.isIdle).toBe(true);
  });

  test("are not stopped by what a told writer only reads", () => {
    const story = new Story({ x: "1", y: "1" });
    story.request("A", "x=1 +y=1");
    story.loaded();
    story.stored();
    story.request("R", "x=1");
    expect(story.said.at(-1)).toBe("R ← valid without intent");
  });

  test("never see a part of a transaction whose storage answer is out", () => {
    const story = new Story({ x: "1", y: "1" });
    story.request("W", "+x=0 !y");
    story.loaded();
    story.ran(did("x x:=2 y:=2"));
    expect(story.said).toEqual(["load x", "run derive writing x y on x=1", "complete W 2.1 new x:=2 y:=2"]);
    // y is cold: a load now might see the new value beside the old x.
    story.request("R", "x=1 y=1");
    expect(story.said).toEqual([]);
    story.completed();
    expect(story.said).toEqual([
      "W ← executed stale ok repairs x=2@2.1 y=2@2.1",
      "run derive writing nothing on x=2 y=2",
    ]);
  });

  test("a load that was overtaken by an apply does not bring the old value back", () => {
    const story = new Story({ x: "1" });
    story.request("R", "x=1");
    story.request("W", "!x");
    story.stored();
    story.followup("W", C1, "x:=2");
    const { items } = story;
    const old = new Map(items);
    story.completed();
    const fresh = new Map(items);
    // The load's answer is from before.
    items.clear();
    for (const [name, item] of old) items.set(name, item);
    story.loaded();
    items.clear();
    for (const [name, item] of fresh) items.set(name, item);
    expect(story.said.slice(-2)).toEqual(["followup W ← applied", "run derive writing nothing on x=2"]);
  });

  test("with a key of the client's make an intent, so that a repeat gets the same answer", () => {
    const story = new Story({ x: "1" });
    story.request("A", "x=1", { retained: true });
    story.lookedUp();
    story.loaded();
    story.stored();
    story.followup("A", C1, "", result("one"));
    story.completed();
    expect(story.said).toEqual([
      // The client may have used its key with an earlier server.
      "look up A",
      "load x",
      "intent A 2.1 x:read",
      "A ← valid 2.1",
      "complete A 2.1 pending",
      "followup A ← applied",
    ]);
    story.request("A", "x=1", { retained: true });
    expect(story.said).toEqual(["A ← executed stored one"]);
  });
});

describe("locks", () => {
  test("contention: a waiting writer has the pending intent re-executed; then it gets the lock", () => {
    const story = withPendingWrite();
    story.request("B", "+x=1");
    expect(story.said).toEqual(["run declared on x=1"]);
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending x:=2", "run derive writing x on x=2"]);
    // A's followup was slower.
    story.followup("A", C1, "x:=2");
    expect(story.said).toEqual(["followup A ← completed_before"]);
    story.ran(did("x x:=3"));
    story.completed();
    expect(story.said).toEqual(["complete B 2.2 new x:=3", "B ← executed stale ok repairs x=3@2.2"]);
    expect(story.isIdle).toBe(true);
  });

  test("contention that arises before the intent is durable is seen when it is", () => {
    const story = new Story({ x: "1" });
    story.request("A", "+x=1");
    story.loaded();
    story.request("B", "+x=1");
    expect(story.said).toEqual(["load x", "intent A 2.1 x:read-write"]);
    story.stored();
    expect(story.said).toEqual(["A ← valid 2.1", "run declared on x=1"]);
  });

  test("contended at validation: it runs near storage at once, and makes one durable write instead of two", () => {
    const story = new Story({ x: "1", y: "1" });
    story.request("A", "+x=1 y=1");
    story.request("B", "!x");
    story.request("C", "!x");
    story.loaded();
    const followers = "and derive writing x on and derive writing x on";
    expect(story.said).toEqual(["load x y", `run derive writing x on x=1 y=1 ${followers}`]);
    expect(story.notes).toContain("contended");
    story.arrived(did("x y x:=2"));
    story.completed();
    expect(story.said.slice(0, 2)).toEqual(["complete A 2.1 new x:=2", "A ← executed stale ok repairs x=2@2.1"]);
  });

  test("contended, and behind an own write: it is told", () => {
    const story = new Story({ x: "1", y: "1" });
    story.request("A", "!x");
    story.stored();
    story.request("B", "+x=2@2.1 +y=1");
    story.request("C", "!y");
    story.request("D", "!y");
    story.loaded();
    expect(story.said.at(-1)).toBe("intent B 2.2 x:read-write y:read-write");
    expect(story.notes).not.toContain("contended");
  });

  test("units that nobody shares: two writes at once", () => {
    const story = new Story({ x: "1", y: "1" });
    story.request("A", "!x");
    story.request("B", "!y");
    expect(story.said).toEqual(["intent A 2.1 x:write", "intent B 2.2 y:write"]);
  });

  test("shared reads do not exclude each other, but a writer", () => {
    const story = new Story({ x: "1", y: "1", z: "1" });
    story.request("A", "x=1 !y");
    story.request("B", "x=1 !z");
    story.loaded();
    story.loaded();
    story.request("C", "!x");
    expect(story.said).toEqual(["load x", "load x", "intent A 2.1 x:read y:write", "intent B 2.2 x:read z:write"]);
    story.stored();
    story.stored();
    expect(story.said).toEqual(["A ← valid 2.1", "run declared on x=1", "B ← valid 2.2", "run declared on x=1"]);
    story.ran(did("x y:=2"));
    story.ran(did("x z:=2"));
    story.completed();
    story.completed();
    expect(story.said.at(-1)).toBe("intent C 2.3 x:write");
  });

  test("waiting is bounded in time and nothing is held afterwards", () => {
    const story = withPendingWrite();
    story.request("B", "+x=1 !y", { deadlineMs: 500 });
    story.passes(500);
    expect(story.said).toEqual(["run declared on x=1", "B ← refused busy"]);
    story.request("C", "!y");
    expect(story.said).toEqual(["intent C 2.2 y:write"]);
  });

  test("waiting is bounded in number", () => {
    const story = withPendingWrite({ maxQueue: 1 });
    story.request("B", "!x");
    story.request("C", "!x");
    expect(story.said).toEqual(["run declared on x=1", "C ← refused busy"]);
    expect(story.replies.at(-1)).toMatchObject({
      message: `1 executions wait for ${unit("x")} already. Try again later.`,
    });
  });

  test("a waiter counts only where it is in the way", () => {
    const story = withPendingWrite({ maxQueue: 2, maxRounds: 1 });
    story.request("G", "+z=0");
    story.loaded();
    story.request("B", "!x");
    story.request("C", "!x");
    // It must run alone now. Its ticket is smaller than those of B and C.
    story.ran(needs("x !x"));
    expect(story.notes).toContain("gate");
    // Before the next one there is only G.
    story.request("D", "!y");
    expect(story.said).not.toContain("D ← refused busy");
    story.request("E", "!x");
    expect(story.replies.at(-1)).toMatchObject({
      message: `2 executions wait for ${unit("x")} already. Try again later.`,
    });
  });

  test("one that must run alone bounds the others like a unit", () => {
    const story = withPendingWrite({ maxQueue: 1, maxRounds: 1 });
    story.request("G", "+z=0");
    story.loaded();
    story.ran(needs("x !x"));
    expect(story.notes).toContain("gate");
    story.request("D", "!y");
    expect(story.said.at(-1)).toBe("D ← refused busy");
    expect(story.replies.at(-1)).toMatchObject({
      message: "1 executions wait for their locks already. Try again later.",
    });
  });

  test("executions are bounded in number", () => {
    const story = withPendingWrite({ maxExecutions: 1 });
    story.request("B", "!y");
    expect(story.said).toEqual(["B ← refused busy"]);
  });
});

describe("what is observed", () => {
  const notesOf = (story: Story, name: NoteName): Note[] => story.observed.filter((note) => note.name === name);

  test("a wait for locks, when it is over, and why the intent that held them was re-executed", () => {
    const story = withPendingWrite();
    story.request("B", "+x=1");
    expect(story.load).toMatchObject({ executions: 2, pending: 1, waiting: 1, running: 1, hotUnits: 1 });
    // The gate and x.
    expect(story.load.lockedUnits).toBe(2);
    story.passes(40);
    story.ran(did("x=1 x:=2"));
    story.completed();
    expect(notesOf(story, "waited")).toMatchObject([
      { executionId: idOf("B"), waitedMs: 40, units: [unit("x")], behind: idOf("A") },
    ]);
    expect(notesOf(story, "re_execution")).toMatchObject([{ executionId: idOf("A"), cause: "contention" }]);
  });

  test("the units that were stale, and why the handler runs near storage", () => {
    const story = new Story({ x: "1", y: "1" });
    story.request("A", "x=0 y=1");
    story.loaded();
    expect(notesOf(story, "stale")).toMatchObject([
      { units: [unit("x")], version: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{12}$/) },
    ]);
    expect(notesOf(story, "near_storage")).toMatchObject([{ cause: "stale", module: MODULE }]);
  });

  test("re-executions by cause", () => {
    const causeOf = (happens: (story: Story) => void): unknown => {
      const story = withPendingWrite({ followupTimeoutMs: 1_000 });
      happens(story);
      return notesOf(story, "re_execution").at(-1)?.cause;
    };
    expect(causeOf((story) => story.request("A", "+x=1"))).toBe("asked_again");
    expect(causeOf((story) => story.passes(1_000))).toBe("followup_lost");
    expect(causeOf((story) => story.followup("A", C1, "z:=1"))).toBe("followup_not_covered");
    const killed = (story: Story): void => {
      story.passes(1_000);
      story.ran({ kind: "killed", reason: "too long" });
      story.passes(60_000);
    };
    expect(causeOf(killed)).toBe("tried_again");
    const behind = (story: Story): void => {
      story.request("B", "+x=2@2.1");
      story.stored();
      story.followup("B", commitId(2, 2), "x:=3");
    };
    expect(causeOf(behind)).toBe("own_write");
  });

  test("nothing is left of what has ended", () => {
    const story = withPendingWrite();
    story.followup("A", C1, "x:=2");
    story.completed();
    expect(story.load).toMatchObject({ executions: 0, pending: 0, waiting: 0, running: 0, lockedUnits: 0 });
  });
});

describe("refusals", () => {
  const ONE = { ...DEFAULT_CORE_OPTIONS.location, executions: 1 };
  const MANY = Array.from({ length: 4 }, (_, index) => `!u${index}`).join(" ");
  const DID_NOT_END: RunResult = { kind: "killed", reason: "too long" };

  // Of each code at least one; the last thing said is the refusal.
  const REFUSED: readonly (readonly [string, Partial<CoreOptions>, (story: Story) => void])[] = [
    ["unknown_module", {}, (story) => story.request("A", "+x=1", { module: "b".repeat(64) as ModuleHash })],
    ["unknown_handler", {}, (story) => story.request("A", "+x=1", { handler: "nobody" })],
    [
      "clock_skew",
      {},
      (story) => story.request("A", "+x=1", { environment: { timeMs: 0, seed: new Uint8Array(16), caller: null } }),
    ],
    ["too_many_units", { maxUnits: 3 }, (story) => story.request("A", MANY)],
    [
      "too_many_units",
      { maxUnits: 3 },
      (story) => {
        story.request("A", "x=0");
        story.loaded();
        story.ran(needs("a b c d !a"));
      },
    ],
    [
      "too_many_units",
      { maxReadBytes: 0 },
      (story) => {
        story.request("A", "+x=1");
        story.loaded();
      },
    ],
    [
      "too_many_units",
      { maxReadBytes: 1 },
      (story) => {
        // Each is loaded by itself, and both are too much.
        story.items.set(unit("y"), story.items.get(unit("x"))!);
        story.request("A", null, { handler: "recorded" });
        story.ran({ kind: "missing", units: [unit("x")] });
        story.loaded();
        story.ran({ kind: "missing", units: [unit("y")] });
        story.loaded();
        // A run on guesses proves nothing: once more without.
        story.ran({ kind: "missing", units: [unit("x")] });
        story.ran({ kind: "missing", units: [unit("y")] });
      },
    ],
    ["in_doubt", {}, (story) => story.request("A", "+x=1", { seen: null })],
    ["busy", { maxExecutions: 0 }, (story) => story.request("A", "+x=1")],
    [
      "busy",
      {},
      (story) => {
        story.request("A", "+x=1");
        story.failed("load", "none");
      },
    ],
    [
      "busy",
      {},
      (story) => {
        story.request("A", "+x=1");
        story.loaded();
        story.failed("store-intent", "none");
      },
    ],
    [
      "busy",
      {},
      (story) => {
        story.request("A", "+x=0");
        story.loaded();
        story.ran({ kind: "crowded-out" });
      },
    ],
    [
      "execution_failed",
      {},
      (story) => {
        story.request("A", "+x=0");
        story.loaded();
        story.ran(DID_NOT_END);
      },
    ],
    ["over_budget", { location: { ...ONE, units: 3 } }, (story) => story.request("A", MANY)],
    ["over_budget", { location: { ...ONE, bytes: 2_500 } }, (story) => story.request("A", MANY)],
    [
      "over_budget",
      { location: { ...ONE, units: 2 } },
      (story) => {
        story.request("A", "+x=0");
        story.loaded();
        story.ran(needs("x y z !x !y !z"));
      },
    ],
    [
      "over_budget",
      { location: { ...ONE, workers: 1, burstMs: 1_000 } },
      (story) => {
        story.request("Z", "x=0");
        story.loaded();
        story.ran(did("x=1"), 1_001);
        story.request("A", "+x=0");
      },
    ],
  ];

  test.each(REFUSED)(
    "%s: nothing is held, nothing is stored, and nothing counts against the location",
    (code, options, act) => {
      const story = new Story({ x: "1" }, { location: ONE, ...options });
      act(story);
      expect(story.said.at(-1)).toBe(`A ← refused ${code}`);
      expect(story.isIdle).toBe(true);
      expect(story.load).toMatchObject({ executions: 0, pending: 0, running: 0, lockedUnits: 0 });
      expect(story.intents.size).toBe(0);
      if (options.maxExecutions === 0) return;
      story.request("B", "!y");
      expect(story.said.at(-1)).toBe(`intent B ${showCommit(commitId(2, story.sequence))} y:write`);
    },
  );

  test("a location that has used up its budget is refused with a hint, and the others are not", () => {
    const story = withPendingWrite({ location: ONE });
    story.request("B", "!y");
    story.request("C", "!z", { location: "far" });
    expect(story.said).toEqual(["B ← refused over_budget", "intent C 2.2 z:write"]);
    expect(story.replies.at(-1)).toMatchObject({ code: "over_budget", retryAfterMs: 1_000 });
    story.stored();
    story.followup("A", C1, "x:=2");
    story.completed();
    story.request("B", "!y");
    story.lookedUp();
    expect(story.said.at(-1)).toMatch(/^intent B /);
  });

  test("what its runs took is forgotten as time passes; a reader that is valid needs no run", () => {
    const story = new Story({ x: "1" }, { location: { ...ONE, workers: 0.5, burstMs: 1_000 } });
    story.request("A", "x=0");
    story.loaded();
    story.ran(did("x=1"), 1_000);
    story.request("B", "x=0");
    expect(story.said.at(-1)).toBe("B ← refused over_budget");
    expect(story.replies.at(-1)).toMatchObject({ retryAfterMs: 1_000 });
    story.request("C", "x=1");
    expect(story.said.at(-1)).toBe("C ← valid without intent");
    story.passes(1_000);
    story.request("B", "x=0");
    story.lookedUp();
    expect(story.said.at(-1)).toBe("run derive writing nothing on x=1");
  });

  test("a pending intent is completed whatever its location has used", () => {
    const story = withPendingWrite({ location: { ...ONE, workers: 1, burstMs: 0 }, followupTimeoutMs: 100 });
    story.passes(100);
    story.ran(DID_NOT_END, 5_000);
    story.passes(100);
    expect(story.said.at(-1)).toBe("run declared on x=1");
    story.ran({ kind: "undeclared", reason: "write of t/y" }, 5_000);
    expect(story.said.at(-1)).toBe("run derive writing nothing on x=1");
  });

  test("a pending intent whose handler was crowded out is run again, also when its speculation was abandoned", () => {
    const story = withPendingWrite({ followupTimeoutMs: 100, retryMs: 100 });
    story.passes(100);
    story.ran({ kind: "crowded-out" });
    expect(story.notes).toContain("re_execution_killed");
    story.passes(100);
    story.ran({ kind: "undeclared", reason: "write of t/y" });
    story.ran({ kind: "crowded-out" });
    story.passes(60_000);
    expect(story.said.at(-1)).toBe("run derive writing nothing on x=1");
  });

  test("adopted intents count for their locations", () => {
    const story = withPendingWrite({ location: ONE });
    story.restart();
    story.request("B", "!y");
    expect(story.said).toEqual(["B ← refused over_budget"]);
  });

  test("callers of one execution are bounded in number", () => {
    const story = withPendingWrite({ maxCallers: 2 });
    for (const name of ["first", "second", "third"]) story.request("A", "+x=1", {}, name);
    expect(story.said).toEqual(["run declared on x=1", "third ← refused pending"]);
    story.ran(did("x=1 x:=2"));
    story.completed();
    expect(story.said.slice(1)).toEqual(["first ← executed stored ok", "second ← executed stored ok"]);
  });
});

describe("retention", () => {
  const DAY_MS = 24 * 3_600_000;
  const WEEK_MS = 7 * DAY_MS;

  /** Storage carries the collection out. */
  function collect(story: Story): void {
    for (;;) {
      const { doneBeforeMs, toldBeforeMs, limit } = story.collects();
      for (const [id, record] of story.intents) {
        if (record.state === "done" && record.done.doneAtMs < toldBeforeMs && record.done.outcome?.keeps === "briefly")
          story.intents.set(id, { state: "done", done: withoutOutcome(record.done) });
      }
      const old = [...story.intents].filter(
        ([, record]) => record.state === "done" && record.done.doneAtMs < doneBeforeMs,
      );
      for (const [id] of old.slice(0, limit)) story.intents.delete(id);
      if (old.length < limit) return;
    }
  }

  test("a repeat within 24 hours gets the stored outcome; after that the id is free and the request runs anew", () => {
    const story = withPendingWrite({}, { retained: true });
    story.followup("A", C1, "x:=2");
    story.completed();
    story.passes(DAY_MS - 1);
    collect(story);
    expect(story.intents.size).toBe(1);
    story.request("A", "+x=1");
    expect(story.said.at(-1)).toBe("A ← executed stored ok");
    story.passes(2);
    collect(story);
    expect(story.intents.size).toBe(0);
    expect(story.load.finished).toBe(0);
    story.request("A", "+x=2@2.1");
    expect(story.said.at(-1)).toBe("intent A 2.2 x:read-write");
  });

  test("after 24 hours, where storage has not deleted the record yet, a repeat still gets the outcome", () => {
    const story = withPendingWrite({}, { retained: true });
    story.followup("A", C1, "x:=2");
    story.completed();
    story.passes(DAY_MS + 1);
    story.collects();
    story.request("A", "+x=2@2.1");
    expect(story.said.at(-1)).toBe("intent A 2.2 x:read-write");
    // The conditional insert meets the record.
    story.stored();
    expect(story.said).toEqual(["A ← executed stored ok"]);
    expect(story.isIdle).toBe(true);
  });

  const QUARTER_MS = 900_000;
  const done = (story: Story, name = "A"): DoneIntent => {
    const record = story.intents.get(idOf(name));
    if (record?.state !== "done") throw new Error(`${name} is not done`);
    return record.done;
  };

  test("of an execution whose location has sent the followup no outcome is kept; a repeat is told so, and does nothing", () => {
    const story = withPendingWrite();
    story.followup("A", C1, "x:=2", result("secret"));
    story.completed();
    expect(done(story).outcome).toBe(null);
    expect(JSON.stringify(done(story))).not.toContain("args");
    story.request("A", "+x=2");
    expect(story.said.at(-1)).toBe("A ← refused answer_not_kept");
    // Nor does the next server know more.
    story.restart();
    story.request("A", "+x=2");
    story.lookedUp();
    expect(story.said.at(-1)).toBe("A ← refused answer_not_kept");
    expect([story.storedValue("x"), story.isIdle]).toEqual(["2", true]);
  });

  test("what the primary has run is kept as long as its location repeats, then known without its outcome", () => {
    const story = withPendingWrite();
    story.passes(5_000);
    story.ran(did("x x:=2", result("two")));
    story.completed();
    expect(done(story).outcome).toEqual({ value: result("two"), keeps: "briefly" });
    story.passes(QUARTER_MS);
    collect(story);
    story.request("A", "+x=1");
    expect(story.said.at(-1)).toBe("A ← executed stored two");
    story.passes(1);
    collect(story);
    expect(done(story).outcome).toBe(null);
    story.request("A", "+x=2");
    expect(story.said.at(-1)).toBe("A ← refused answer_not_kept");
    story.passes(DAY_MS);
    collect(story);
    expect(story.intents.size).toBe(0);
  });

  test("a location that has asked again while its followup came is told the outcome, also later", () => {
    const story = withPendingWrite();
    story.request("A", "+x=1", {}, "A again");
    story.followup("A", C1, "x:=2", result("two"));
    story.completed();
    expect(story.said).toContain("A again ← executed stored two");
    story.request("A", "+x=1", {}, "A a third time");
    expect(story.said.at(-1)).toBe("A a third time ← executed stored two");
  });

  test("a client that chose the id, also when it asks again, is told the outcome for 24 hours", () => {
    for (const [first, second] of [
      [true, false],
      [false, true],
    ] as const) {
      const story = new Story({ x: "1" });
      story.request("A", null, { retained: first });
      if (first) story.lookedUp();
      story.request("A", null, { retained: second }, "A again");
      story.ran(needs("x !x"));
      story.loaded();
      story.ran(did("x x:=2", result("two")));
      story.completed();
      story.passes(DAY_MS);
      collect(story);
      story.request("A", null, { retained: true });
      expect(story.said.at(-1)).toBe("A ← executed stored two");
    }
  });

  test("a client that has asked again and is answered that it goes on is told the outcome for 24 hours too", () => {
    const story = withPendingWrite();
    story.request("A", "+x=1", { retained: true, deadlineMs: 1_000 }, "A again");
    story.passes(1_000);
    expect(story.said.at(-1)).toBe("A again ← refused pending");
    story.ran(did("x x:=2", result("two")));
    story.completed();
    expect(done(story).outcome).toEqual({ value: result("two"), keeps: "retained" });
  });

  test("whether the client chose the id is known to the server that adopts the intent", () => {
    for (const retained of [true, false]) {
      const story = new Story({ x: "1" });
      story.request("A", "!x", { retained });
      if (retained) story.lookedUp();
      story.stored();
      story.restart();
      story.followup("A", C1, "x:=2", result("two"));
      story.completed();
      expect(done(story).outcome).toEqual(retained ? { value: result("two"), keeps: "retained" } : null);
    }
  });

  test("a call is compared with the key of its hash as long as the server has it, and refused without it", () => {
    const story = withPendingWrite({}, { retained: true });
    story.followup("A", C1, "x:=2", result("two"));
    story.completed();
    expect(done(story).call?.key).toBe("k");
    story.keys = ["k", "next"];
    story.request("A", "+x=1");
    expect(story.said.at(-1)).toBe("A ← executed stored two");
    story.keys = ["next"];
    story.request("A", "+x=1");
    story.request("A", "+x=1", { args: encode("others") });
    expect(story.said).toEqual(Array(2).fill("A ← refused idempotency_key_unverified"));
    expect([story.storedValue("x"), story.isIdle]).toEqual(["2", true]);
  });

  test("pending intents are never collected, however old", () => {
    const story = withPendingWrite({ followupTimeoutMs: 2 * WEEK_MS });
    story.passes(WEEK_MS + 1);
    collect(story);
    expect(story.intents.size).toBe(1);
    story.followup("A", C1, "x:=2");
    story.completed();
    expect(story.said.at(-1)).toBe("followup A ← applied");
  });

  const NEXT = "b".repeat(64) as ModuleHash;

  test("modules: their use is told to storage, and one that nobody has used for a week goes when others are used", () => {
    const story = new Story({ x: "1" });
    story.passes(1_000);
    expect(story.collects()).toMatchObject({ used: [{ module: MODULE, usedAtMs: START_MS }], unused: [] });
    story.request("A", "x=1");
    story.loaded();
    expect(story.collects().used).toEqual([{ module: MODULE, usedAtMs: START_MS + 1_000 }]);
    story.registers(NEXT);
    story.passes(2 * WEEK_MS);
    // Nobody has asked for anything.
    expect(story.collects()).toMatchObject({ used: [], unused: [] });
    story.request("B", "x=1", { module: NEXT });
    expect(story.collects().unused).toEqual([{ module: MODULE, usedAtMs: START_MS + 1_000 }]);
    story.request("C", "x=1");
    expect(story.said.slice(-3)).toEqual(["B ← valid without intent", "collect", "C ← refused unknown_module"]);
  });

  test("modules: one that a pending intent names stays, after a restart too, and can still be run", () => {
    const story = withPendingWrite({ followupTimeoutMs: 4 * WEEK_MS });
    const othersAreUsed = (name: string): void => {
      story.registers(NEXT);
      story.passes(WEEK_MS + 1);
      story.request(name, "y=1", { module: NEXT });
      story.loaded();
    };
    othersAreUsed("B");
    expect(story.collects().unused).toEqual([]);
    story.restart(START_MS);
    othersAreUsed("C");
    expect(story.collects().unused).toEqual([]);
    story.followup("A", C1, "x:=2");
    story.completed();
    expect(story.said.at(-1)).toBe("followup A ← applied");
    expect(story.collects().unused).toEqual([{ module: MODULE, usedAtMs: START_MS }]);
  });

  test("modules: what is under way by module; one that was collected is unknown until it is registered again", () => {
    const story = withPendingWrite({ followupTimeoutMs: 4 * WEEK_MS });
    story.registers(NEXT);
    expect(story.modules.map(({ module }) => module)).toEqual([MODULE, NEXT]);
    story.request("B", "y", { module: NEXT });
    story.loaded();
    expect(story.moduleLoads).toEqual(
      new Map([
        [MODULE, { executions: 1, pending: 1 }],
        [NEXT, { executions: 1, pending: 0 }],
      ]),
    );
    story.ran(did("y"));
    expect(story.moduleLoads).toEqual(new Map([[MODULE, { executions: 1, pending: 1 }]]));
    // Tasks run on the one that was registered last, so that it stays.
    story.registers(MODULE);
    story.passes(WEEK_MS + 1);
    story.request("C", "y=1");
    expect(story.collects().unused).toEqual([{ module: NEXT, usedAtMs: START_MS }]);
    story.request("D", "y=1", { module: NEXT });
    story.registers(NEXT);
    story.request("D", "y=1", { module: NEXT });
    expect(story.said.slice(-2)).toEqual(["D ← refused unknown_module", "D ← valid without intent"]);
  });

  test("what is remembered of requests without a trace is bounded", () => {
    const story = new Story({ x: "1" }, { answeredIds: 100 });
    for (let i = 0; i < 1_000; i++) {
      story.request(`R${i}`, "x=1", { seen: story.seen });
      if (i === 0) story.loaded();
      expect(story.load.answered).toBeLessThanOrEqual(100);
    }
    expect(story.load.answered).toBeGreaterThan(10);
  });

  test("what is remembered of done executions is bounded, and the rest is looked up", () => {
    const story = new Story({}, { finishedBytes: 2_000 });
    for (let i = 0; i < 50; i++) {
      story.request(`W${i}`, `!x${i}`, { retained: true });
      story.lookedUp();
      story.stored();
      story.followup(`W${i}`, commitId(2, i + 1), `x${i}:=1`);
      story.completed();
    }
    expect(story.load.finished).toBeLessThanOrEqual(3);
    story.request("W0", "!x0");
    story.lookedUp();
    expect(story.said.at(-1)).toBe("W0 ← executed stored ok");
  });
});

describe("own writes", () => {
  test("a location reads what it has written before its followup has arrived", () => {
    const story = withPendingWrite();
    story.request("R", "x=2@2.1");
    story.request("S", "x=1", { location: "elsewhere" });
    // Somebody else waits until it is applied, which is now wanted.
    expect(story.said).toEqual(["R ← valid without intent", "run declared on x=1"]);
  });

  test("another location can't have it: who sends its commit id from elsewhere waits, and what it has is compared", () => {
    const story = withPendingWrite();
    story.request("S", "x=never@2.1", { location: "elsewhere" });
    story.request("B", "+x=never@2.1", { location: "elsewhere" });
    expect(story.said).toEqual(["run declared on x=1"]);
    story.followup("A", C1, "x:=2");
    story.completed();
    expect(story.said.filter((line) => line.startsWith("run derive"))).toEqual([
      "run derive writing x on x=2",
      "run derive writing nothing on x=2",
    ]);
  });

  test("an absence is none: its commit id may be that of an intent which was abandoned, and which a later server adopts", () => {
    const story = new Story();
    story.request("A", "+x=∅");
    story.loaded();
    story.stored();
    story.request("A", null, {}, "A again");
    story.ran({ kind: "undeclared", reason: "write of t/y" });
    expect(story.notes).toContain("abandoned_intent");
    story.ran({ kind: "crowded-out" });
    story.request("B", "x=1");
    story.ran(did("x"));
    expect(story.said.at(-1)).toBe("B ← executed stale ok repairs x=∅@2.1");
    story.restart();
    story.request("R", "x=∅@2.1");
    story.request("W", "+x=∅@2.1");
    expect(story.said.filter((line) => line.includes("valid") || line.startsWith("intent"))).toEqual([]);
  });

  test("a write is queued behind it, told at once, and applied after it, although its followup is faster", () => {
    const story = withPendingWrite();
    story.request("B", "+x=2@2.1");
    story.stored();
    expect(story.said).toEqual(["intent B 2.2 x:read-write", "B ← valid 2.2"]);
    story.followup("B", commitId(2, 2), "x:=3");
    expect(story.said).toEqual(["run declared on x=1"]);
    story.followup("A", C1, "x:=2");
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending x:=2", "followup A ← applied", "complete B 2.2 pending x:=3"]);
    story.completed();
    story.ran(did("x x:=2"));
    expect([story.said, story.storedValue("x"), story.isIdle]).toEqual([["followup B ← applied"], "3", true]);
  });

  test("of several that are queued only the last one's version is current", () => {
    const story = withPendingWrite();
    story.request("B", "+x=2@2.1");
    story.stored();
    story.request("R", "x=3@2.2");
    expect(story.said.slice(2)).toEqual(["R ← valid without intent"]);
    story.request("S", "x=2@2.1");
    expect(story.said).toEqual(["run declared on x=1"]);
  });

  test("somebody waits: all that are queued are re-executed, in order", () => {
    const story = withPendingWrite();
    story.request("B", "+x=2@2.1");
    story.stored();
    story.request("C", "!x", { location: "elsewhere" });
    expect(story.said.slice(2)).toEqual(["run declared on x=1"]);
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending x:=2", "run declared on x=2"]);
    story.ran(did("x x:=3"));
    story.completed();
    expect(story.said).toEqual(["complete B 2.2 pending x:=3", "intent C 2.3 x:write"]);
  });

  test("a unit that the one ahead only reads is not written before that one is applied", () => {
    const story = new Story({ x: "1", y: "1" });
    story.request("A", "y=1 +x=1");
    story.loaded();
    story.stored();
    story.request("B", "x=2@2.1 !y");
    story.stored();
    story.followup("B", commitId(2, 2), "y:=9");
    expect(story.said.slice(-3)).toEqual(["intent B 2.2 x:read y:write", "B ← valid 2.2", "run declared on x=1 y=1"]);
    story.ran(did("x y x:=2"));
    story.completed();
    story.completed();
    expect([story.storedValue("x"), story.storedValue("y"), story.isIdle]).toEqual(["2", "9", true]);
  });

  test("stale otherwise: it lets go of what is ahead of it, and runs near storage after that", () => {
    const story = new Story({ x: "1", y: "1", z: "1" });
    story.request("A", "y=1 +x=1");
    story.loaded();
    story.stored();
    story.request("B", "+x=2@2.1 !y z=0");
    story.loaded();
    expect(story.said.slice(3)).toEqual(["load z", "run declared on x=1 y=1"]);
    story.ran(did("x y x:=2"));
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending x:=2", "run derive writing nothing on x=2 z=1"]);
    story.ran(needs("x z !x !y"));
    expect(story.said).toEqual(["run derive writing x y on x=2 z=1"]);
    story.ran(did("x z x:=3 y:=3"));
    story.completed();
    expect([story.storedValue("y"), story.isIdle]).toEqual(["3", true]);
  });

  test("who waits already is not overtaken", () => {
    const story = withPendingWrite();
    story.request("C", "!x", { location: "elsewhere" });
    story.request("B", "+x=2@2.1");
    expect(story.said).toEqual(["run declared on x=1"]);
  });

  test("a version that the intent turns out not to write is stale", () => {
    const story = withPendingWrite();
    story.followup("A", C1, "x:=2");
    story.request("R", "x=3@2.1");
    story.request("S", "x=2@2.1");
    expect(story.said).toEqual(["complete A 2.1 pending x:=2", "S ← valid without intent"]);
    story.completed();
    expect(story.said).toEqual(["followup A ← applied", "run derive writing nothing on x=2"]);
  });

  test.each<[string, (story: Story) => void, readonly string[]]>([
    ["a followup came early", (story) => story.followup("B", commitId(2, 2), "x:=3"), ["followup B ← not_covered"]],
    ["somebody waits", (story) => story.request("R", "x=1", { location: "elsewhere" }), []],
    [
      "their followups were lost, after a restart",
      (story) => {
        story.restart();
        story.passes(5_000);
        story.loaded();
      },
      [],
    ],
  ])("the one ahead is abandoned, and with it those that have read its write: %s", (_, wanted, answers) => {
    const story = withPendingWrite();
    story.request("B", "+x=2@2.1");
    story.stored();
    wanted(story);
    expect(story.said.at(-1)).toBe("run declared on x=1");
    story.ran({ kind: "exhausted" });
    const { said } = story;
    expect(said.filter((line) => line.startsWith("followup"))).toEqual(answers);
    expect(said.filter((line) => line === "run derive writing nothing on x=1")).toHaveLength(2);
    expect(story.notes.filter((note) => note === "abandoned_intent")).toHaveLength(2);
    // Each of them sees the write of the one before.
    story.ran(did("x x:=2"));
    story.completed();
    story.ran(did("x x:=2"));
    story.ran(did("x x:=3"));
    story.completed();
    expect([story.storedValue("x"), story.isIdle]).toEqual(["3", true]);
  });

  test("a restart: intents are adopted behind those whose writes they have read", () => {
    const story = withPendingWrite();
    story.request("B", "+x=2@2.1");
    story.stored();
    story.request("C", "x=3@2.2 !y");
    story.stored();
    expect(story.said.slice(2)).toEqual(["intent C 2.3 x:read y:write", "C ← valid 2.3"]);
    story.restart();
    story.request("R", "y=9@2.3");
    expect(story.said).toEqual(["R ← valid without intent"]);
    story.passes(5_000);
    story.loaded();
    expect(story.said).toEqual(["load x", "run declared on x=1"]);
    story.ran(did("x x:=2"));
    story.completed();
    story.ran(did("x x:=3"));
    story.completed();
    story.ran(did("x y:=9"));
    story.completed();
    expect([story.storedValue("x"), story.storedValue("y"), story.isIdle]).toEqual(["3", "9", true]);
    expect(story.notes).not.toContain("abandoned_intent");
  });
});

describe("followups", () => {
  test("lost: re-executed when the timer runs out", () => {
    const story = withPendingWrite({ followupTimeoutMs: 5_000 });
    story.passes(4_999);
    expect(story.said).toEqual([]);
    story.passes(1);
    expect(story.notes).toContain("followup_lost");
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said).toEqual(["run declared on x=1", "complete A 2.1 pending x:=2"]);
    expect(story.storedValue("x")).toBe("2");
    expect(story.isIdle).toBe(true);
  });

  test.each(["as it is", "after a restart"])(
    "late and different from the re-execution, %s: alarm, by a hash that storage alone can't compute",
    (how) => {
      const story = withPendingWrite();
      story.passes(5_000);
      story.ran(did("x x:=2"));
      story.completed();
      const record = story.intents.get(idOf("A"));
      if (record?.state !== "done" || record.done.call === null) throw new Error("not done");
      const run = completionHash(result("ok"), [{ unit: unit("x"), value: encode("2") }]);
      expect(record.done.resultHash).not.toContain(run);
      expect(record.done.resultHash).toBe(hashOfResult(record.done.call, run, story.hasher));
      if (how !== "as it is") {
        story.restart();
        // A repeat has it looked up.
        story.request("A", "+x=1");
        story.lookedUp();
      }
      story.followup("A", C1, "x:=2");
      expect(story.notes).not.toContain("determinism_alarm");
      story.followup("A", C1, "x:=3");
      expect(story.said.at(-1)).toBe("followup A ← completed_before");
      expect(story.notes).toContain("determinism_alarm");
    },
  );

  test("late, where the key of the hash is gone: nothing to compare with", () => {
    const story = withPendingWrite();
    story.passes(5_000);
    story.ran(did("x x:=2"));
    story.completed();
    story.keys = ["next"];
    story.followup("A", C1, "x:=2");
    expect(story.said.at(-1)).toBe("followup A ← completed_before");
    expect(story.notes).not.toContain("determinism_alarm");
  });

  test("late: the re-execution was first", () => {
    const story = withPendingWrite();
    story.passes(5_000);
    story.ran(did("x x:=2"));
    story.completed();
    story.followup("A", C1, "x:=2");
    expect(story.said.at(-1)).toBe("followup A ← completed_before");
    expect(story.notes).toContain("followup_late");
  });

  test("while the re-execution runs: the followup is first, and the run's result is only compared", () => {
    const story = withPendingWrite();
    story.passes(5_000);
    story.followup("A", C1, "x:=2");
    story.completed();
    story.ran(did("x x:=2"));
    expect(story.said).toEqual(["run declared on x=1", "complete A 2.1 pending x:=2", "followup A ← applied"]);
    expect(story.notes).not.toContain("determinism_alarm");
  });

  test("while the re-execution is on its way to storage: answered when that is durable", () => {
    const story = withPendingWrite();
    story.passes(5_000);
    story.ran(did("x x:=2"));
    story.followup("A", C1, "x:=2");
    expect(story.said).toEqual(["run declared on x=1", "complete A 2.1 pending x:=2"]);
    story.completed();
    expect(story.said).toEqual(["followup A ← completed_before"]);
  });

  test("different from the re-execution: alarm, and the module runs near storage from now on", () => {
    const story = withPendingWrite();
    story.passes(5_000);
    story.followup("A", C1, "x:=2");
    story.completed();
    story.ran(did("x x:=3"));
    expect(story.notes).toContain("determinism_alarm");
    expect(story.said.at(-1)).toBe("followup A ← applied");
    story.request("B", "x=2");
    expect(story.said).toEqual(["run derive writing nothing on x=2"]);
  });

  test("duplicate: applied once", () => {
    const story = withPendingWrite();
    story.followup("A", C1, "x:=2");
    story.followup("A", C1, "x:=2");
    story.completed();
    expect(story.said).toEqual([
      "complete A 2.1 pending x:=2",
      "followup A ← applied",
      "followup A ← completed_before",
    ]);
  });

  test("foreign, or under another commit id: discarded and counted", () => {
    const story = withPendingWrite();
    story.followup("Z", C1, "x:=9");
    story.followup("A", commitId(2, 9), "x:=9");
    expect(story.said).toEqual(["followup Z ← unknown_intent", "followup A ← unknown_intent"]);
    expect(story.notes.filter((name) => name === "followup_unknown")).toHaveLength(2);
  });

  test("outside what the intent holds: discarded, and the handler re-executed", () => {
    const story = withPendingWrite();
    story.followup("A", C1, "x:=2 y:=2");
    expect(story.said).toEqual(["followup A ← not_covered", "run declared on x=1"]);
  });

  test("an abort or a trap at the location ends the intent without writes", () => {
    const story = withPendingWrite({}, { retained: true });
    story.followup("A", C1, "", { kind: "trap", code: "assertion_failed", message: "no" });
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending", "followup A ← applied"]);
    story.request("A", "+x=1");
    expect(story.said).toEqual(["A ← executed stored assertion_failed"]);
  });

  test("a re-execution that is killed is tried again: the location may have told its success", () => {
    const story = withPendingWrite({ retryMs: 100 });
    story.passes(5_000);
    story.ran({ kind: "killed", reason: "too long" });
    story.passes(100);
    expect(story.said).toEqual(["run declared on x=1", "run declared on x=1"]);
    story.followup("A", C1, "x:=2");
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending x:=2", "followup A ← applied"]);
  });

  test("one that is killed may last longer the next time, and an alarm stands until one ends", () => {
    const story = withPendingWrite({ retryMs: 100 });
    expect([story.load.pending, story.load.overdue]).toEqual([1, 0]);
    story.passes(5_000);
    const kills = [];
    for (const pauseMs of [100, 200, 400]) {
      kills.push(...story.kills);
      story.ran(kills.length === 3 ? { kind: "crowded-out" } : { kind: "killed", reason: "too long" });
      expect([story.load.pending, story.load.overdue]).toEqual([1, 1]);
      story.passes(pauseMs);
    }
    expect([...kills, ...story.kills]).toEqual([0, 1, 2, 3]);
    const alarms = story.observed.filter(({ name }) => name === "overdue_intent_alarm");
    expect(alarms.map(({ detail }) => detail)).toEqual([
      expect.stringMatching(/^Run 1 of f in place of its followup did not end: too long\. /),
      expect.stringMatching(/^Run 2 of f /),
      expect.stringMatching(/did not end: it ran for long while others waited for a worker\. What the intent holds/),
    ]);
    story.ran(did("x=1 x:=2"));
    story.completed();
    expect([story.load.pending, story.load.overdue, story.isIdle]).toEqual([0, 0, true]);
  });

  test("one that uses up the fuel of a speculation has no outcome: abandoned, and its units are free while it runs near storage", () => {
    const story = withPendingWrite({ retryMs: 100 });
    story.passes(5_000);
    story.ran({ kind: "killed", reason: "a busy machine" });
    story.passes(100);
    story.ran({ kind: "exhausted" });
    expect(story.said).toEqual(["run declared on x=1", "run declared on x=1", "run derive writing nothing on x=1"]);
    expect([story.load.pending, story.load.overdue, story.load.lockedUnits]).toEqual([1, 0, 0]);
    story.request("B", "+x=1");
    story.stored();
    expect(story.said).toEqual(["intent B 2.2 x:read-write", "B ← valid 2.2"]);
    // A run with all of the fuel that is ended is the end of it, once and for all.
    story.ran({ kind: "killed", reason: "too long" });
    story.completed();
    expect(story.said).toEqual(["complete A 2.3 pending"]);
    story.request("A", "+x=1");
    expect(story.said).toEqual(["A ← executed stored execution_failed"]);
    story.followup("B", commitId(2, 2), "x:=9");
    story.completed();
    expect(story.isIdle).toBe(true);
  });

  test("an abandoned one that is crowded out is crowded out later the next time", () => {
    const story = withPendingWrite({ retryMs: 100 });
    story.passes(5_000);
    story.ran({ kind: "exhausted" });
    const kills = [];
    for (const pauseMs of [100, 200]) {
      kills.push(...story.kills);
      story.ran({ kind: "crowded-out" });
      expect(story.load.overdue).toBe(0);
      story.passes(pauseMs);
    }
    expect([...kills, ...story.kills]).toEqual([0, 1, 2]);
  });

  test("who waits for it too long is told that it is pending, not that nothing was done", () => {
    const story = withPendingWrite();
    story.request("A", "+x=1", { deadlineMs: 1_000 }, "A again");
    story.passes(1_000);
    expect(story.said).toEqual(["run declared on x=1", "A again ← refused pending"]);
  });
});

describe("clocks", () => {
  test("a wall clock that is set changes nothing that is due", () => {
    const story = new Story({ x: "1" });
    story.wallOffsetMs = 3_600_000;
    story.request("A", "!x");
    story.stored();
    story.wallOffsetMs = -3_600_000;
    story.passes(4_999);
    expect(story.said).toEqual(["intent A 2.1 x:write", "A ← valid 2.1"]);
    story.passes(1);
    expect(story.said).toEqual(["run declared on"]);
  });

  test("time of tasks that is moved ahead changes nothing that others rely on", () => {
    const story = new Story({ x: "1" });
    story.request("A", "!x");
    story.stored();
    story.aheadMs = 30 * 86_400_000;
    story.passes(4_999);
    expect(story.said).toEqual(["intent A 2.1 x:write", "A ← valid 2.1"]);
    story.passes(1);
    expect(story.said).toEqual(["run declared on"]);
  });

  test("a location that has not heard of time that was moved is not refused, and others are as ever", () => {
    const at = (timeMs: number) => ({ environment: { timeMs, seed: new Uint8Array(16), caller: null } });
    const story = new Story({ x: "1" });
    story.aheadMs = 30 * 86_400_000;
    story.request("A", "+x=1", at(START_MS));
    expect(story.said).toEqual(["load x"]);
    story.request("B", "+x=1", at(START_MS + 31 * 86_400_000));
    expect(story.said.at(-1)).toContain("clock_skew");
    story.request("C", "+x=1", at(START_MS - 86_400_000));
    expect(story.said.at(-1)).toContain("clock_skew");
  });
});

describe("the leadership", () => {
  const leadership = { epoch: 2, termMs: 1_000, untilMs: START_MS + 950, readLeasesUntilMs: -Infinity, readLeaseMs: 0 };
  const renewed = (story: Story, isHeld = true): void => story.renewed(isHeld);

  test("is renewed in time, and counts from when the renewal was sent", () => {
    const story = new Story({ x: "1" }, {}, leadership);
    story.passes(0);
    expect(story.said).toEqual(["renew"]);
    story.sleeps(600);
    renewed(story);
    story.request("A", "x=1");
    story.loaded();
    expect(story.said).toEqual(["load x", "A ← valid without intent"]);
    story.sleeps(349);
    story.request("B", "x=1");
    // The next renewal is due.
    expect(story.said).toEqual(["renew", "B ← valid without intent"]);
    story.sleeps(1);
    story.request("C", "x=1");
    expect(story.said).toEqual([]);
  });

  const runsOut = (): Story => {
    const story = new Story({ x: "1" }, {}, leadership);
    story.request("A", "x=1");
    story.loaded();
    expect(story.said).toEqual(["renew", "load x", "A ← valid without intent"]);
    story.sleeps(950);
    return story;
  };

  test("runs out: nothing is served from memory until it is known to be held", () => {
    const story = runsOut();
    story.request("B", "x=1");
    expect([story.said, story.isLeading]).toEqual([[], false]);
    // That renewal was sent too long ago.
    renewed(story);
    expect([story.said, story.isLeading]).toEqual([["renew"], false]);
    renewed(story);
    expect([story.said, story.isLeading]).toEqual([["B ← valid without intent"], true]);
  });

  test("runs out before storage answers: the answer is acted upon only when it is known to be held", () => {
    const story = new Story({ x: "1" }, {}, leadership);
    story.request("A", "!x");
    story.sleeps(950);
    story.stored();
    expect(story.said).toEqual(["renew", "intent A 2.1 x:write"]);
    story.failed("renew-leadership", "unknown");
    expect(story.said).toEqual([]);
    story.passes(100);
    renewed(story);
    expect(story.said).toEqual(["renew", "A ← valid 2.1"]);
  });

  test("runs out, and another server has it: what was put off is never acted upon", () => {
    const story = new Story({ x: "1" }, {}, leadership);
    story.request("A", "!x");
    story.sleeps(950);
    story.stored();
    renewed(story, false);
    expect(story.said).toEqual(["renew", "intent A 2.1 x:write", "halt"]);
  });

  test("runs out for long: who waits is refused, as by a server that was replaced; what is known is pending", () => {
    const story = new Story({ x: "1", y: "1" }, {}, leadership);
    story.request("A", "!y");
    story.sleeps(950);
    story.request("B", "x=1");
    story.request("A", "!y", {}, "A again");
    story.stored();
    expect(story.said).toEqual(["renew", "intent A 2.1 y:write"]);
    story.passes(250);
    expect(story.said).toEqual(["B ← refused draining", "A again ← refused pending"]);
    story.request("C", "x=1");
    story.followup("A", commitId(2, 1), "y:=2");
    expect(story.said).toEqual(["C ← refused draining", "followup A ← unknown_intent"]);
    renewed(story);
    renewed(story);
    expect(story.said).toEqual(["renew", "A ← valid 2.1"]);
    // A duplicate of what was refused has no effect.
    story.request("B", "x=1", { attempt: 1 }, "B again");
    expect(story.said).toEqual(["B again ← refused in_doubt"]);
  });

  test("runs out for long: what is kept is bounded", () => {
    const story = runsOut();
    for (let request = 0; request <= 1_000; request++) story.request(`B${request}`, "x=1");
    expect(story.said).toHaveLength(1_001);
    renewed(story);
    renewed(story);
    expect(story.said).toEqual(["renew"]);
  });

  test("a renewal that failed is tried again; one that says it is another's ends the server", () => {
    const story = new Story({ x: "1" }, {}, leadership);
    story.passes(250);
    expect(story.isLeading).toBe(true);
    story.failed("renew-leadership", "unknown");
    story.passes(100);
    expect(story.said).toEqual(["renew", "renew"]);
    renewed(story, false);
    expect(story.said).toEqual(["halt"]);
  });
});

describe("many followups that do not come", () => {
  const adoptedThree = (): Story => {
    const story = new Story({ x: "1", y: "1", z: "1" }, { maxReplaced: 2 });
    for (const name of ["x", "y", "z"]) {
      story.request(name, `!${name}`);
      story.stored();
    }
    story.restart();
    expect(story.said).toHaveLength(6);
    story.passes(5_000);
    return story;
  };

  test("are replaced a few at a time, the next one when one has ended", () => {
    const story = adoptedThree();
    expect(story.said).toEqual(["run declared on", "run declared on"]);
    story.ran(did("x:=2"));
    expect(story.said).toEqual(["complete x 2.1 pending x:=2"]);
    story.completed();
    expect(story.said).toEqual(["run declared on"]);
  });

  test("one that can't be run keeps no other waiting", () => {
    const story = adoptedThree();
    story.ran({ kind: "killed", reason: "endless" });
    story.ran({ kind: "killed", reason: "endless" });
    expect(story.said).toEqual(["run declared on", "run declared on", "run declared on"]);
  });

  test("who waits for a unit of one does not wait for its turn", () => {
    const story = adoptedThree();
    expect(story.said).toHaveLength(2);
    story.request("A", "!z");
    expect(story.said).toEqual(["run declared on"]);
  });

  test("one whose followup comes after all leaves the line", () => {
    const story = adoptedThree();
    story.followup("z", commitId(2, 3), "z:=3");
    story.ran(did("x:=2"));
    story.completed();
    story.completed();
    expect(story.said).toEqual([
      "run declared on",
      "run declared on",
      "complete z 2.3 pending z:=3",
      "complete x 2.1 pending x:=2",
      "followup z ← applied",
    ]);
  });
});

describe("idempotency", () => {
  test("join: the same execution again while it is pending is re-executed at once", () => {
    const story = withPendingWrite();
    story.request("A", "+x=1", {}, "A again");
    story.ran(did("x x:=2", result("two")));
    story.completed();
    expect(story.said).toEqual(["run declared on x=1", "complete A 2.1 pending x:=2", "A again ← executed stored two"]);
  });

  test("join: only the first caller's speculation was validated", () => {
    const story = new Story({ x: "1" });
    story.request("A", "+x=1");
    story.request("A", "+x=1", {}, "A again");
    story.loaded();
    story.stored();
    expect(story.said).toEqual(["load x", "intent A 2.1 x:read-write", "A ← valid 2.1", "run declared on x=1"]);
    story.ran(did("x x:=2", result("two")));
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending x:=2", "A again ← executed stored two"]);
  });

  test("join: a read-only execution leaves nothing, so the second is validated by itself", () => {
    const story = new Story({ x: "1" });
    story.request("A", "x=1");
    story.request("A", "x=0", {}, "A again");
    story.loaded();
    story.lookedUp();
    expect(story.said).toEqual([
      "load x",
      "A ← valid without intent",
      "look up A",
      "run derive writing nothing on x=1",
    ]);
  });

  test("join: a near-storage execution under way", () => {
    const story = new Story({ x: "1" });
    story.request("A", "+x=0");
    story.loaded();
    story.request("A", null, {}, "A again");
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said.slice(-2)).toEqual([
      "A ← executed stale ok repairs x=2@2.1",
      "A again ← executed stored ok repairs x=2@2.1",
    ]);
  });

  test("the same id with another handler or other arguments is refused", () => {
    const story = withPendingWrite();
    story.request("A", "+x=1", { handler: "opaque" });
    story.request("A", "+x=1", { args: encode("others") });
    story.followup("A", C1, "x:=2");
    story.completed();
    story.request("A", "+x=1", { args: encode("others") });
    expect(story.said.filter((line) => line.includes("refused"))).toEqual(
      Array(3).fill("A ← refused idempotency_key_reused"),
    );
  });

  test("the same id is refused to another caller, whether the first one's execution is under way or done", () => {
    const as = (caller: string | null) => ({
      retained: true,
      environment: { timeMs: START_MS, seed: new Uint8Array(16), caller },
    });
    const story = new Story({ x: "1" });
    story.request("A", "+x=1", as("ann"));
    story.lookedUp();
    story.loaded();
    story.stored();
    story.request("A", "+x=1", as("bob"), "A of bob");
    story.request("A", "+x=1", as(null), "A of nobody");
    story.followup("A", C1, "x:=2");
    story.completed();
    story.request("A", "+x=1", as("bob"), "A of bob");
    story.request("A", "+x=1", as("ann"), "A again");
    expect(story.said.filter((line) => line.includes("←"))).toEqual([
      "A ← valid 2.1",
      "A of bob ← refused idempotency_key_reused",
      "A of nobody ← refused idempotency_key_reused",
      "followup A ← applied",
      "A of bob ← refused idempotency_key_reused",
      "A again ← executed stored ok",
    ]);
  });

  test("a duplicate of a request that was answered without a trace does nothing; the same sent again runs", () => {
    const story = new Story({ x: "1" });
    story.request("A", "x=1");
    story.loaded();
    expect(story.said).toEqual(["load x", "A ← valid without intent"]);
    // The client may have been told that nothing was to be written; now the duplicate would write.
    story.request("A", "x=0", { attempt: 1 }, "duplicate");
    story.request("A", "x=0", { attempt: 2 }, "A again");
    story.lookedUp();
    expect(story.said).toEqual(["duplicate ← refused in_doubt", "look up A", "run derive writing nothing on x=1"]);
    story.ran(did("x"));
    story.request("A", "x=0", { attempt: 1 }, "overtaken");
    expect(story.said).toEqual(["A again ← executed stale ok repairs x=1@1.1", "overtaken ← refused in_doubt"]);
  });

  test("the same execution asked for elsewhere, or anew, is another series of attempts", () => {
    const story = withPendingWrite({ maxExecutions: 1 });
    story.request("B", "!y", { attempt: 3 });
    expect(story.said).toEqual(["B ← refused busy"]);
    story.followup("A", C1, "x:=2");
    story.completed();
    const environment = { timeMs: START_MS, seed: new Uint8Array(16).fill(1), caller: null };
    story.request("B", "!y", { attempt: 1, environment }, "B elsewhere");
    expect(story.said.at(-1)).toEqual("intent B 2.2 y:write");
  });

  test("a restart: what was sent before is in doubt, and the location sends it again", () => {
    const story = new Story({ x: "1" });
    const before = story.seen;
    story.request("A", "x=1");
    story.loaded();
    expect(story.said).toEqual(["load x", "A ← valid without intent"]);
    story.restart();
    story.request("A", "x=0", { attempt: 1, seen: before }, "duplicate");
    expect(story.said).toEqual(["duplicate ← refused in_doubt"]);
    // The refusal told what the new server has seen. A later attempt may be known to storage.
    story.request("A", "x=0", { attempt: 2 }, "A again");
    story.lookedUp();
    expect(story.said).toEqual(["look up A", "load x"]);
    // An execution that begins now is not.
    story.request("B", "!y");
    expect(story.said).toEqual(["intent B 3.1 y:write"]);
  });

  test("a location that has heard of no server is in doubt only as long as a signature may last", () => {
    const story = new Story({ x: "1" }, { replayWindowMs: 1_000 });
    story.passes(3_000);
    story.request("A", "!x", { seen: null });
    expect(story.said).toEqual(["A ← refused in_doubt"]);
    story.passes(1);
    story.request("B", "!x", { seen: null });
    expect(story.said).toEqual(["look up B"]);
  });

  test("a location that claims to have heard of a later server is in doubt", () => {
    const story = new Story({ x: "1" });
    story.request("A", "!x", { seen: commitId(7, 0) });
    expect(story.said).toEqual(["A ← refused in_doubt"]);
  });

  test("answers that were forgotten leave older requests in doubt", () => {
    const story = new Story({ x: "1" }, { answeredIds: 4 });
    const before = story.seen;
    for (const name of ["A", "B", "C", "D"]) {
      story.request(name, "x=1");
      if (name === "A") story.loaded();
    }
    expect(story.said.at(-1)).toEqual("D ← valid without intent");
    story.request("A", "x=1", { attempt: 1, seen: before }, "duplicate");
    expect(story.said).toEqual(["duplicate ← refused in_doubt"]);
    story.request("E", "x=1");
    expect(story.said).toEqual(["E ← valid without intent"]);
  });

  test("what memory has forgotten is looked up, even if the repeat would write nothing any more", () => {
    const story = new Story({ x: "1" }, { finishedBytes: 0 });
    story.request("A", "!x", { retained: true });
    story.lookedUp();
    story.stored();
    story.followup("A", C1, "x:=2", result("two"));
    story.completed();
    expect(story.said.at(-1)).toBe("followup A ← applied");
    story.request("A", "x=2");
    expect(story.said).toEqual(["look up A"]);
    story.lookedUp();
    expect(story.said).toEqual(["A ← executed stored two"]);
    // Others are not looked up.
    story.request("B", "x=2");
    expect(story.said).toEqual(["B ← valid without intent"]);
  });

  test("when even ids are forgotten, every new id is looked up for a while", () => {
    const story = new Story({ x: "1" }, { finishedBytes: 0, forgottenIds: 0 });
    story.request("A", "!x");
    story.stored();
    story.followup("A", C1, "x:=2");
    story.completed();
    expect(story.said.at(-1)).toBe("followup A ← applied");
    story.request("B", "x=2");
    story.lookedUp();
    expect(story.said).toEqual(["look up B", "B ← valid without intent"]);
    story.passes(1_000_000);
    story.request("C", "x=2");
    expect(story.said).toEqual(["C ← valid without intent"]);
  });

  test("the conditional insert of an intent decides as well", () => {
    const story = new Story({ x: "1" });
    story.request("A", "!x", { retained: true });
    story.lookedUp();
    story.stored();
    story.followup("A", C1, "x:=2", result("two"));
    story.completed();
    const record = story.intents.get(idOf("A"))!;
    story.intents.clear();
    story.restart();
    expect(story.said.at(-1)).toBe("followup A ← applied");
    story.request("A", "!x");
    story.lookedUp();
    story.intents.set(idOf("A"), record);
    story.stored();
    expect(story.said).toEqual(["look up A", "intent A 3.1 x:write", "A ← executed stored two"]);
    expect(story.storedValue("x")).toBe("2");
    expect(story.isIdle).toBe(true);
  });
});

describe("near-storage execution", () => {
  test("the set is recomputed on primary values; free units are taken at once", () => {
    const story = new Story({ link: "y", x: "1", y: "1" });
    story.request("A", "link=0 +x=1");
    story.loaded();
    expect(story.said).toEqual(["load link x", "run derive writing x on link=y x=1"]);
    story.ran(needs("link y !y"));
    story.loaded();
    expect(story.said).toEqual(["load y", "run derive writing x y on link=y x=1 y=1"]);
    story.ran(did("link y y:=2"));
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 new y:=2", "A ← executed stale ok repairs link=y@1.1 y=2@2.1"]);
    expect(story.isIdle).toBe(true);
  });

  test("units that are not free: it releases all, waits for the union, and keeps its place", () => {
    const story = new Story({ link: "a", a: "1", x: "1" });
    story.request("B", "!a");
    story.stored();
    story.request("A", "link=0 +x=1");
    story.loaded();
    story.ran(needs("link a !a"));
    // B is in the way, so it is re-executed; A holds nothing meanwhile.
    expect(story.said.slice(-1)).toEqual(["run declared on"]);
    // C came after A, so it waits although nobody holds what it asks for.
    story.request("C", "!x");
    expect(story.said).toEqual([]);
    story.ran(did("a:=2"));
    story.completed();
    // C follows A in a train.
    story.arrived(did("link a a:=3"), did("x:=9"));
    story.completed();
    expect(story.said).toEqual([
      "complete B 2.1 pending a:=2",
      "run derive writing a x on link=a x=1 a=2 and derive writing x on",
      "complete A 2.2 new a:=3 and C 2.3 new x:=9",
      "A ← executed stale ok repairs a=3@2.2 link=a@1.1 x=9@2.3",
      "C ← executed stale ok repairs x=9@2.3",
    ]);
    expect(story.notes).toContain("contention_round");
  });

  test("not analyzable: runs recording, loads what it misses, locks what it touched, validates, applies", () => {
    const story = new Story({ x: "1" });
    story.request("A", null, { handler: "opaque" });
    story.ran({ kind: "missing", units: [unit("x")] });
    story.loaded();
    story.ran(did("x x:=2"));
    expect(story.said).toEqual(["run record on", "load x", "run record on x=1", "complete A 2.1 new x:=2"]);
    story.completed();
    expect(story.said).toEqual(["A ← executed requested ok repairs x=2@2.1"]);
  });

  test("not analyzable, and what it read has changed: once more; after three rounds under the gate", () => {
    const story = new Story({ x: "1" });
    story.request("A", null, { handler: "opaque" });
    story.ran({ kind: "missing", units: [unit("x")] });
    story.loaded();
    // While it runs, others write x.
    story.request("B", "!x");
    story.stored();
    story.followup("B", C1, "x:=5");
    story.completed();
    story.ran(did("x x:=2"));
    expect(story.said.slice(-1)).toEqual(["run record on x=5"]);
    expect(story.notes).toContain("contention_round");
    // Now it holds x: nobody can change it.
    story.ran(did("x x:=6"));
    story.completed();
    expect(story.said).toEqual(["complete A 2.2 new x:=6", "A ← executed requested ok repairs x=6@2.2"]);
  });

  test("the gate: an execution that keeps losing runs alone, so that it ends", () => {
    const story = new Story({ x: "1", y: "1", z: "1" }, { maxRounds: 1 });
    story.request("W", "!y");
    story.stored();
    story.request("A", "+x=0");
    story.loaded();
    story.ran(needs("x y !y"));
    expect(story.notes).toContain("gate");
    // It waits for all that hold anything, and everybody else waits for it.
    story.request("N", "!z");
    expect(story.said.slice(-1)).toEqual(["run declared on"]);
    story.ran(did("y:=2"));
    story.completed();
    expect(story.said.slice(-1)).toEqual(["run derive writing all on x=1 y=2"]);
    story.ran(did("x y x:=3 y:=3 z:=3"));
    story.completed();
    expect(story.said).toEqual([
      "complete A 2.2 new x:=3 y:=3 z:=3",
      "A ← executed stale ok repairs x=3@2.2 y=3@2.2 z=3@2.2",
      "intent N 2.3 z:write",
    ]);
  });

  test("record mode: the location's set is validated like any other", () => {
    const story = new Story({ x: "1" });
    story.request("A", "+x=1", { handler: "recorded" });
    story.loaded();
    story.stored();
    story.followup("A", C1, "x:=2");
    story.completed();
    expect(story.said).toEqual([
      "load x",
      "intent A 2.1 x:read-write",
      "A ← valid 2.1",
      "complete A 2.1 pending x:=2",
      "followup A ← applied",
    ]);
  });

  test("record mode on stale values: recorded here under the locks held, and what else it touches is locked", () => {
    const story = new Story({ x: "1", y: "1", z: "1" });
    story.request("A", "+x=0 y=1", { handler: "recorded" });
    story.loaded();
    expect(story.said.slice(-1)).toEqual(["run record on x=1 y=1"]);
    story.ran({ kind: "missing", units: [unit("z")] });
    story.loaded();
    expect(story.said).toEqual(["load z", "run record on x=1 y=1 z=1"]);
    story.ran(did("x z x:=2 z:=2"));
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 new x:=2 z:=2", "A ← executed stale ok repairs x=2@2.1 z=2@2.1"]);
  });

  test("record mode that did not end on guessed absences: once more on what is there, then refused", () => {
    const story = new Story({ x: "1" });
    story.request("A", null, { handler: "opaque" });
    expect(story.said).toEqual(["run record on"]);
    story.ran({ kind: "killed", reason: "too long" });
    expect(story.said).toEqual(["run record strictly on"]);
    story.ran({ kind: "missing", units: [unit("x")] });
    story.loaded();
    story.ran({ kind: "killed", reason: "too long" });
    expect(story.said.slice(-2)).toEqual(["run record strictly on x=1", "A ← refused execution_failed"]);
    expect(story.isIdle).toBe(true);
  });

  test("an access that f^rw did not name: f runs recording", () => {
    const story = new Story({ x: "1", y: "1" });
    story.request("A", "+x=0");
    story.loaded();
    story.ran({ kind: "undeclared", reason: "write of t/y" });
    story.ran(did("x x:=2 y:=2"));
    expect(story.said.slice(-2)).toEqual(["run record on x=1", "complete A 2.1 new x:=2 y:=2"]);
  });

  test("an abort writes nothing and leaves no trace", () => {
    const story = new Story({ x: "1" });
    story.request("A", "+x=0");
    story.loaded();
    story.ran(did("x", { kind: "abort", status: 409, code: "taken", message: "" }));
    expect(story.said.at(-1)).toBe("A ← executed stale taken repairs x=1@1.1");
    expect(story.isIdle).toBe(true);
  });

  test("killed: refused, nothing is held", () => {
    const story = new Story({ x: "1" });
    story.request("A", "+x=0");
    story.loaded();
    story.ran({ kind: "killed", reason: "too long" });
    expect(story.said.at(-1)).toBe("A ← refused execution_failed");
    expect(story.isIdle).toBe(true);
  });

  test("an abandoned speculation: validated, but the location's run left the set; it runs with another one", () => {
    const story = withPendingWrite();
    story.request("A", null, {}, "A again");
    expect(story.said).toEqual(["run declared on x=1"]);
    story.ran({ kind: "undeclared", reason: "write of t/y" });
    expect(story.said).toEqual(["run derive writing nothing on x=1"]);
    expect(story.notes).toContain("abandoned_intent");
    // Nobody was told a success, so x is free for others.
    story.request("B", "+x=1");
    story.stored();
    story.followup("B", commitId(2, 2), "x:=5");
    story.completed();
    expect(story.said).toEqual([
      "intent B 2.2 x:read-write",
      "B ← valid 2.2",
      "complete B 2.2 pending x:=5",
      "followup B ← applied",
    ]);
    story.ran(needs("x !x !y"));
    story.ran(did("x x:=6 y:=6"));
    story.completed();
    expect(story.said).toEqual([
      "run derive writing x y on x=5",
      "complete A 2.3 pending x:=6 y:=6",
      "A again ← executed requested ok repairs x=6@2.3 y=6@2.3",
    ]);
    expect(story.isIdle).toBe(true);
  });
});

test("an abandoned speculation whose handler can't be run near storage ends as a failure, for good", () => {
  const story = withPendingWrite();
  story.request("A", null, {}, "A again");
  story.ran({ kind: "undeclared", reason: "write of t/y" });
  story.ran({ kind: "killed", reason: "too long" });
  story.completed();
  expect(story.said.slice(-2)).toEqual(["complete A 2.2 pending", "A again ← executed requested execution_failed"]);
  expect([story.storedValue("x"), story.isIdle]).toEqual(["1", true]);
});

test("an abandoned speculation whose values can't be read is tried again", () => {
  const story = withPendingWrite({ hotBytes: 0, retryMs: 100 });
  story.request("A", null, {}, "A again");
  story.loaded();
  story.ran({ kind: "undeclared", reason: "write of t/y" });
  story.failed("load", "none");
  expect(story.said.at(-1)).toBe("load x");
  story.passes(100);
  story.loaded();
  expect(story.said).toEqual(["load x", "run derive writing nothing on x=1"]);
});

describe("restart", () => {
  test("a pending intent is adopted with its locks, and its followup still counts", () => {
    const story = withPendingWrite();
    story.restart();
    story.request("B", "!x");
    expect(story.said).toEqual(["load x"]);
    story.followup("A", C1, "x:=2");
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending x:=2", "followup A ← applied", "intent B 3.1 x:write"]);
  });

  test("a pending intent whose location is gone is re-executed", () => {
    const story = withPendingWrite();
    story.restart();
    story.passes(5_000);
    story.loaded();
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said).toEqual(["load x", "run declared on x=1", "complete A 2.1 pending x:=2"]);
    expect(story.isIdle).toBe(true);
  });

  test("what it has read is known from the start if the server has read it: no load", () => {
    const story = withPendingWrite();
    story.restart(undefined, new Map([[unit("x"), story.items.get(unit("x"))!]]));
    story.passes(5_000);
    expect(story.said).toEqual(["run declared on x=1"]);
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said.at(-1)).toBe("complete A 2.1 pending x:=2");
    expect([story.storedValue("x"), story.isIdle]).toEqual(["2", true]);
  });

  test("readers wait for an adopted intent: its success may have been told", () => {
    const story = withPendingWrite();
    story.restart();
    story.request("R", "x=1");
    expect(story.said).toEqual(["load x"]);
  });

  test("a done execution is known", () => {
    const story = withPendingWrite({}, { retained: true });
    story.followup("A", C1, "x:=2", result("two"));
    story.completed();
    story.restart();
    expect(story.said).toHaveLength(2);
    story.followup("A", C1, "x:=2", result("two"));
    expect(story.said).toEqual(["followup A ← unknown_intent"]);
    story.request("A", "+x=1");
    story.lookedUp();
    expect(story.said).toEqual(["look up A", "A ← executed stored two"]);
  });

  test("an abandoned intent is not ahead of one that has read an absence as of its commit id", () => {
    const story = new Story();
    story.request("A", "+x=∅");
    story.loaded();
    story.stored();
    story.request("A", null, {}, "A again");
    story.ran({ kind: "undeclared", reason: "write of t/y" });
    story.request("B", "+x=∅@2.1");
    story.stored();
    expect(story.said.at(-1)).toBe("B ← valid 2.2");
    story.restart();
    story.followup("B", commitId(2, 2), "x:=5");
    expect(story.said.at(-1)).toBe("complete B 2.2 pending x:=5");
  });

  test("an abandoned intent may overlap a younger one, which alone gets the locks", () => {
    const story = withPendingWrite();
    story.request("A", null, {}, "A again");
    story.ran({ kind: "undeclared", reason: "write of t/y" });
    story.request("B", "+x=1");
    story.stored();
    story.restart();
    expect(story.said.slice(-2)).toEqual(["intent B 2.2 x:read-write", "B ← valid 2.2"]);
    story.passes(0);
    // A wants x, so B is re-executed first.
    expect(story.said).toEqual(["load x"]);
    story.loaded();
    story.ran(did("x x:=5"));
    story.completed();
    expect(story.said).toEqual([
      "run declared on x=1",
      "complete B 2.2 pending x:=5",
      "run derive writing nothing on x=5",
    ]);
    story.ran(needs("x !x !y"));
    story.ran(did("x x:=6 y:=6"));
    story.completed();
    expect(story.said.at(-1)).toBe("complete A 3.1 pending x:=6 y:=6");
    expect([story.storedValue("x"), story.storedValue("y"), story.isIdle]).toEqual(["6", "6", true]);
  });
});

describe("storage failures", () => {
  test("an intent that was not stored: refused, nothing is held", () => {
    const story = new Story({ x: "1" });
    story.request("A", "!x");
    story.failed("store-intent", "none");
    expect(story.said.at(-1)).toBe("A ← refused busy");
    expect(story.isIdle).toBe(true);
  });

  test("an intent that may have been stored: stored again, and found", () => {
    const story = new Story({ x: "1" });
    story.request("A", "!x");
    const [line] = story.said;
    expect(line).toBe("intent A 2.1 x:write");
    story.failed("store-intent", "unknown");
    story.passes(100);
    expect(story.said).toEqual(["intent A 2.1 x:write"]);
    story.stored();
    expect(story.said).toEqual(["A ← valid 2.1"]);
  });

  test("a failure after one that may have been carried out proves nothing", () => {
    const story = new Story({ x: "1" });
    story.request("A", "!x");
    story.failed("store-intent", "unknown");
    story.passes(100);
    story.failed("store-intent", "none");
    story.passes(100);
    expect(story.said).toEqual(Array(3).fill("intent A 2.1 x:write"));
  });

  test("a completion that may have been applied: the location is answered only when that is known", () => {
    const story = withPendingWrite();
    story.followup("A", C1, "x:=2");
    story.failed("complete", "unknown");
    expect(story.said).toEqual(["complete A 2.1 pending x:=2"]);
    story.passes(100);
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending x:=2", "followup A ← applied"]);
  });

  test("units that can't be read: refused", () => {
    const story = new Story({ x: "1" });
    story.request("A", "x=1");
    story.failed("load", "none");
    expect(story.said.at(-1)).toBe("A ← refused busy");
  });

  test("another server has taken over: this one says nothing more", () => {
    const story = new Story({ x: "1" });
    story.request("A", "!x");
    story.tell({ kind: "intent-stored", operation: 1, result: { kind: "fenced" } });
    expect(story.said.at(-1)).toBe("halt");
    story.request("B", "!x");
    expect(story.said).toEqual(["B ← refused draining"]);
  });
});

test("draining: new executions are refused, known ones end", () => {
  const story = withPendingWrite();
  story.tell({ kind: "drain" });
  story.request("B", "!y");
  story.request("A", "+x=1", {}, "A again");
  expect(story.said).toEqual(["B ← refused draining", "run declared on x=1"]);
});

test("shedding: new executions are refused, known ones and followups go on, and later all are taken again", () => {
  const story = withPendingWrite();
  story.tell({ kind: "shed", reason: "memory" });
  story.request("B", "!y");
  expect(story.said).toEqual(["B ← refused busy"]);
  expect(story.notes.at(-1)).toBe("shed");
  // A repeat of what is under way hastens its end.
  story.request("A", "+x=1", {}, "A again");
  expect(story.said.at(-1)).toBe("run declared on x=1");
  // The client was told that nothing was done: a copy of the same attempt does nothing either.
  story.tell({ kind: "shed", reason: null });
  story.request("B", "!y", { attempt: 1 }, "B copy");
  expect(story.said.at(-1)).toBe("B copy ← refused in_doubt");
  story.request("B", "!y", { attempt: 2 }, "B again");
  story.lookedUp();
  expect(story.said.at(-1)).toMatch(/^intent B /);
  story.request("C", "!z");
  expect(story.said.at(-1)).toMatch(/^intent C /);
});

describe("tables that a module names for its handlers", () => {
  const NAMED = "c".repeat(64) as ModuleHash;
  const TABLES = new Map([
    ["f", { reads: ["t"], writes: ["u"] }],
    ["given", { reads: [], writes: [] }],
  ]);
  const OF_NAMED = { module: NAMED } as const;
  const named = (items: Record<string, string> = { x: "1" }): Story => {
    const story = new Story(items);
    story.tell({ kind: "module-registered", module: NAMED, plans: PLANS, tables: TABLES });
    return story;
  };

  test.each([
    ["written, and only read by its handler", "+x=1", "f", "f never writes the table t"],
    ["written blindly", "!x", "f", "f never writes the table t"],
    ["read, and not accessed by its handler", "x=1", "given", "given never reads the table t"],
    ["a span that is read", "[a,c)", "given", "given never reads the table t"],
  ])("%s: refused before anything is done, with an alarm that names the location", (_, set, handler, words) => {
    const story = named();
    story.request("A", set, { ...OF_NAMED, handler, location: "stolen" });
    expect(story.said).toEqual(["A ← refused outside_tables"]);
    expect(story.observed).toContainEqual(
      expect.objectContaining({
        name: "outside_tables_alarm",
        module: NAMED,
        handler,
        detail: `${words}, and its set has a unit of it; the location stolen has sent it`,
      }),
    );
    expect([story.isIdle, story.intents.size]).toEqual([true, 0]);
  });

  test("what the handler can access is answered as ever, and so is all of a handler whose tables are not known", () => {
    const story = named();
    story.request("A", "x=1", OF_NAMED);
    story.loaded();
    story.request("B", "+x=1", { ...OF_NAMED, handler: "recorded" });
    story.stored();
    expect(story.said.filter((line) => line.includes("←"))).toEqual(["A ← valid without intent", "B ← valid 2.1"]);
    expect(story.notes).not.toContain("outside_tables_alarm");
  });

  test.each([
    ["a set that is refused", { ...OF_NAMED, handler: "given" }, []],
    ["a handler that runs near storage", { ...OF_NAMED, handler: "opaque" }, []],
    ["a module that nobody knows", { module: "b".repeat(64) as ModuleHash, handler: "f" }, []],
    ["a handler that nobody knows", { ...OF_NAMED, handler: "nobody" }, []],
    ["a handler that reads them", { ...OF_NAMED, handler: "f" }, ["tell 1 x"]],
  ])("a location hears of changes of units that it names for %s", (_, asked, heard) => {
    const story = named();
    story.tell({
      kind: "listens",
      listener: 1,
      location: "stolen",
      name: "",
      session: undefined,
      heard: 0,
      ends: null,
    });
    story.request("A", "x=1", { ...asked, location: "stolen" });
    if (heard.length > 0) story.loaded();
    if (asked.handler === "opaque") {
      story.loaded();
      story.ran(did("x"));
    }
    story.request("B", null, { handler: "recorded" });
    story.ran(did("x:=2"));
    story.completed();
    expect(story.storedValue("x")).toBe("2");
    expect(story.said.filter((line) => line.startsWith("tell"))).toEqual(heard);
  });
});

describe("a followup that is audited", () => {
  const alarmsOf = (story: Story): readonly string[] =>
    story.observed.flatMap(({ name, detail = "" }) => (name.endsWith("_alarm") ? [`${name}: ${detail}`] : []));
  const FORGED = "forged_alarm: A followup of the location near was not applied: it has ";
  const AGREED = ". Two runs of the handler here agree on something else.";
  const audited = (): Story => {
    const story = withPendingWrite({ auditedPart: 1 });
    story.followup("A", C1, "x:=2");
    expect(story.said).toEqual(["run declared on x=1"]);
    return story;
  };

  test("is applied when a run has ended in the same way, and not before", () => {
    const story = audited();
    story.ran(did("x x:=2"));
    expect(story.said).toEqual(["complete A 2.1 pending x:=2"]);
    story.completed();
    expect(story.said).toEqual(["followup A ← applied"]);
    expect(story.notes).toContain("audit_passed");
    expect([alarmsOf(story), story.isIdle]).toEqual([[], true]);
  });

  test("and forged: two runs agree, so the run is applied, and the alarm names the location and no value", () => {
    const story = withPendingWrite({ auditedPart: 1 });
    story.followup("A", C1, "x:=secret", { kind: "abort", status: 409, code: "hidden", message: "hidden" });
    story.ran(did("x x:=2"));
    expect(story.said).toEqual(["run declared on x=1", "run declared on x=1"]);
    expect(alarmsOf(story)).toEqual([]);
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending x:=2", "followup A ← forged"]);
    expect(alarmsOf(story)).toEqual([
      `${FORGED}another outcome (abort in place of result), other writes of t/x${AGREED}`,
    ]);
    expect(story.storedValue("x")).toBe("2");
    // Its module is as good as before.
    story.request("B", "x=2");
    expect(story.said).toEqual(["B ← valid without intent"]);
  });

  test("and different from one of two runs that differ: nobody is blamed, and the module runs near storage", () => {
    const story = audited();
    story.ran(did("x x:=3"));
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said).toEqual(["run declared on x=1", "complete A 2.1 pending x:=2", "followup A ← applied"]);
    expect(alarmsOf(story)).toEqual(["determinism_alarm: two runs of one execution here differ"]);
    story.request("B", "x=2");
    expect(story.said).toEqual(["run derive writing nothing on x=2"]);
  });

  test("in two copies, of which one is forged: each is answered for itself", () => {
    const story = audited();
    story.followup("A", C1, "x:=9");
    story.followup("A", C1, "x:=2");
    story.ran(did("x x:=2"));
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said).toEqual([
      "run declared on x=1",
      "complete A 2.1 pending x:=2",
      "followup A ← applied",
      "followup A ← forged",
      "followup A ← applied",
    ]);
    expect(alarmsOf(story)).toEqual([`${FORGED}other writes of t/x${AGREED}`]);
  });

  test("again and again: copies are kept once, and answered together", () => {
    const story = audited();
    for (let copy = 0; copy < 200; copy++) story.followup("A", C1, "x:=2");
    // As many as may wait for an execution.
    expect(story.said).toEqual(Array.from({ length: 101 }, () => "followup A ← not_covered"));
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said).toEqual([
      "complete A 2.1 pending x:=2",
      ...Array.from({ length: 100 }, () => "followup A ← applied"),
    ]);
    expect(alarmsOf(story)).toEqual([]);
  });

  test("in more forms than may wait: the others are not covered", () => {
    const story = audited();
    for (const value of [3, 4, 5, 6, 2, 3]) story.followup("A", C1, `x:=${value}`);
    expect(story.said).toEqual(["followup A ← not_covered", "followup A ← not_covered"]);
    story.ran(did("x x:=2"));
    story.ran(did("x x:=2"));
    story.completed();
    const forged = Array.from({ length: 3 }, () => "followup A ← forged");
    expect(story.said.slice(-5)).toEqual([
      "followup A ← applied",
      ...forged.slice(1),
      "followup A ← applied",
      forged[0],
    ]);
  });

  test("and claims an end where the handler leaves its set: forged, and the execution runs near storage", () => {
    const story = audited();
    for (const _ of [1, 2]) story.ran({ kind: "undeclared", reason: "write of t/y" });
    expect(story.said).toEqual(["run declared on x=1", "followup A ← forged", "run derive writing nothing on x=1"]);
    expect(alarmsOf(story)[0]).toBe(`${FORGED}an end, and the runs have none (undeclared)${AGREED}`);
  });

  test.each([
    ["stopped", { kind: "killed", reason: "too long" }],
    ["crowded out", { kind: "crowded-out" }],
  ] as const)("and whose run is %s: applied as any other, since its location has ended it", (_, stopped) => {
    const story = audited();
    story.ran(stopped);
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending x:=2", "followup A ← applied"]);
    expect(story.notes).toContain("audit_given_up");
    expect([alarmsOf(story), story.isIdle]).toEqual([[], true]);
  });

  test.each([
    ["stopped", { kind: "killed", reason: "too long" }],
    ["crowded out", { kind: "crowded-out" }],
  ] as const)("and differs from a first run, and whose second run is %s: the run is tried again", (_, stopped) => {
    const story = withPendingWrite({ auditedPart: 1 });
    story.followup("A", C1, "x:=9");
    story.ran(did("x x:=2"));
    story.ran(stopped);
    expect(story.said).toEqual(["run declared on x=1", "run declared on x=1"]);
    expect(story.notes).not.toContain("audit_given_up");
    story.passes(1_000);
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said).toEqual(["run declared on x=1", "complete A 2.1 pending x:=2", "followup A ← forged"]);
    expect(alarmsOf(story)).toContain(`${FORGED}other writes of t/x${AGREED}`);
    expect(story.storedValue("x")).toBe("2");
  });

  test("while a re-execution runs already: that run is the audit", () => {
    const story = withPendingWrite({ auditedPart: 1 });
    story.passes(5_000);
    story.followup("A", C1, "x:=2");
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said).toEqual(["run declared on x=1", "complete A 2.1 pending x:=2", "followup A ← applied"]);
  });

  test("whose values can't be read: they are read again", () => {
    const story = withPendingWrite({ auditedPart: 1, hotBytes: 0 });
    story.followup("A", C1, "x:=2");
    story.failed("load", "none");
    story.passes(1_000);
    story.loaded();
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said).toEqual([
      "load x",
      "load x",
      "run declared on x=1",
      "complete A 2.1 pending x:=2",
      "followup A ← applied",
    ]);
  });

  test("behind another one: when that has been applied", () => {
    const story = withPendingWrite({ auditedPart: 1 });
    story.request("B", "+x=2@2.1");
    story.stored();
    story.followup("B", commitId(2, 2), "x:=3");
    story.forget();
    story.ran(did("x x:=2"));
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending x:=2", "run declared on x=2"]);
    story.ran(did("x x:=3"));
    story.completed();
    expect(story.said).toEqual(["complete B 2.2 pending x:=3", "followup B ← applied"]);
    expect(alarmsOf(story)).toEqual([]);
  });

  test("behind one that was forged: what it has read never was, so it runs anew", () => {
    const story = withPendingWrite({ auditedPart: 1 });
    story.request("B", "+x=9@2.1");
    story.stored();
    story.followup("A", C1, "x:=9");
    story.followup("B", commitId(2, 2), "x:=10");
    story.forget();
    story.ran(did("x x:=2"));
    story.ran(did("x x:=2"));
    story.completed();
    const { said } = story;
    expect(said).toContain("followup A ← forged");
    expect(said).toContain("followup B ← not_covered");
    expect(said.at(-1)).toBe("run derive writing nothing on x=2");
    expect(alarmsOf(story)).toHaveLength(1);
    story.ran(did("x x:=3"));
    story.completed();
    expect([story.storedValue("x"), story.isIdle]).toEqual(["3", true]);
  });

  describe("because of its table", () => {
    const withRule = (story: Story): Story => {
      const tableRules = { t: { isPrivate: false, isAudited: true } };
      story.tell({ kind: "module-registered", module: MODULE, plans: PLANS, tableRules });
      return story;
    };

    test("always, and however often its run is stopped", () => {
      const story = withRule(withPendingWrite());
      story.followup("A", C1, "x:=9");
      story.ran({ kind: "killed", reason: "too long" });
      expect(story.said).toEqual(["run declared on x=1"]);
      story.passes(1_000);
      story.ran(did("x x:=2"));
      story.ran(did("x x:=2"));
      story.completed();
      expect(story.said.slice(-2)).toEqual(["complete A 2.1 pending x:=2", "followup A ← forged"]);
    });

    test("not if the intent only reads it", () => {
      const story = withRule(new Story({ x: "1" }));
      story.request("A", "x=1", { retained: true });
      story.lookedUp();
      story.loaded();
      story.stored();
      story.followup("A", C1, "");
      story.completed();
      expect(story.said.slice(-2)).toEqual(["complete A 2.1 pending", "followup A ← applied"]);
    });
  });

  test("a part of the others, which depends on the id and on a secret", () => {
    const picked = (part: number, secret: string): readonly string[] => {
      const hash = (bytes: Uint8Array): { key: string; hash: string } => ({
        key: "",
        hash: contentHash(new Uint8Array([...encode(secret), ...bytes])),
      });
      const audits = new Audits(part, { hash, hashWith: (_, bytes) => hash(bytes) }, () => new RuledTables());
      const ids = Array.from({ length: 10_000 }, (_, index) => index.toString(16).padStart(32, "0") as ExecutionId);
      return ids.filter((executionId) =>
        audits.wants({ intent: { executionId, units: [] as Intent["units"] } as Intent, kills: 0, audit: null }),
      );
    };
    expect([picked(0, "a").length, picked(1, "a").length]).toEqual([0, 10_000]);
    const some = picked(0.1, "a");
    expect(some.length).toBeGreaterThan(850);
    expect(some.length).toBeLessThan(1_150);
    expect(picked(0.1, "a")).toEqual(some);
    expect(picked(0.1, "b")).not.toEqual(some);
  });
});

describe("a private table", () => {
  const RULES = { t: { isPrivate: true, isAudited: false } };
  const OLDER = "d".repeat(64) as ModuleHash;
  const listened = (): Story => {
    const story = new Story({ x: "1" });
    story.tell({ kind: "module-registered", module: OLDER, plans: PLANS });
    story.tell({ kind: "module-registered", module: MODULE, plans: PLANS, tableRules: RULES });
    const question = { name: "", session: null, heard: 0, ends: null } as const;
    story.tell({ kind: "listens", listener: 1, location: "near", ...question });
    story.forget();
    return story;
  };

  test.each(["x=1", "+x=1", "!x", "x", "[a,z)", "#[a,z)"])("a set with %s is refused, with an alarm", (set) => {
    const story = listened();
    story.request("A", set, { location: "stolen" });
    expect(story.said).toEqual(["A ← refused outside_tables"]);
    expect(story.observed).toContainEqual(
      expect.objectContaining({
        name: "outside_tables_alarm",
        detail: "the table t is private, and the set of f has a unit of it; the location stolen has sent it",
      }),
    );
    expect([story.isIdle, story.intents.size]).toEqual([true, 0]);
  });

  test("is so for the locations of an older build too, which can't know it: no alarm", () => {
    const story = listened();
    story.request("A", "x=1", { module: OLDER });
    expect(story.said).toEqual(["A ← refused outside_tables"]);
    expect(story.notes).not.toContain("outside_tables_alarm");
  });

  test("a run near storage has its values, and nothing of them leaves but its result", () => {
    const story = listened();
    for (const [handler, run] of [
      ["opaque", did("x x:=2", result("seen"))],
      ["f", did("x x:=3", result("seen"))],
    ] as const) {
      story.request(handler, null, { handler });
      if (handler === "f") story.ran(needs("x !x"));
      else {
        story.ran({ kind: "missing", units: [unit("x")] });
        story.loaded();
      }
      story.ran(run);
      story.completed();
      const said = story.said.filter((line) => /←|tell/.test(line));
      expect(said).toEqual([`${handler} ← executed requested seen`]);
    }
    expect(story.storedValue("x")).toBe("3");
  });

  test("a session that watches hears that something has changed, and not which item", () => {
    const story = listened();
    const sender = { id: sessionId(2, 1), heard: 0, watches: true };
    story.request("A", null, { handler: "opaque", session: sender });
    story.ran({ kind: "missing", units: [unit("x")] });
    story.loaded();
    story.ran(did("x"));
    story.request("B", null, { handler: "opaque" });
    story.ran(did("x:=2"));
    story.completed();
    expect(story.said.filter((line) => line.startsWith("tell"))).toEqual(["tell 1 1 changed ~"]);
  });

  test("holds for its indexes, and for no other table", () => {
    const ruled = new RuledTables(RULES);
    const units = ["t/x", "t.name/x\0k", "t=name/x\0", "t:v1/a", "tt/x", "tt.name/x\0k"] as UnitId[];
    expect(units.map((each) => ruled.isPrivate(each))).toEqual([true, true, true, true, false, false]);
    expect(units.some((each) => ruled.isAudited(each))).toBe(false);
    expect(new RuledTables().isPrivate(unit("x"))).toBe(false);
  });
});

describe("an execution that must not write", () => {
  const GET = { mustNotWrite: true } as const;

  test("a set with a unit to write is refused before anything is locked", () => {
    for (const set of ["x=1 +y=1", "!x"]) {
      const story = new Story({ x: "1", y: "1" });
      story.request("A", set, GET);
      expect(story.said).toEqual(["A ← refused wrote_on_get"]);
      expect(story.observed).toContainEqual(expect.objectContaining({ name: "wrote_on_get_alarm", handler: "f" }));
      expect(story.isIdle).toBe(true);
    }
  });

  test("one that only reads is answered like any other", () => {
    const story = new Story({ x: "1" });
    story.request("A", "x=0", GET);
    story.loaded();
    story.ran(did("x"));
    story.request("B", "x=1", GET);
    expect(story.said.slice(-2)).toEqual(["A ← executed stale ok repairs x=1@1.1", "B ← valid without intent"]);
    expect(story.notes).not.toContain("wrote_on_get_alarm");
  });

  test.each([
    ["a set that proves stale", "f", "x=0"],
    ["without a set", "f", null],
    ["in record mode", "recorded", null],
    ["near storage by choice", "opaque", null],
    ["with a given set", "given", "x=0"],
  ])("a run near storage that has written, %s: no effect and no intent", (_, handler, set) => {
    const story = new Story({ x: "1" });
    story.request("A", set, { ...GET, handler });
    if (set !== null) story.loaded();
    story.ran(did(set === null ? "x:=2" : "x x:=2"));
    expect(story.said.at(-1)).toBe("A ← refused wrote_on_get");
    expect(story.notes).toContain("wrote_on_get_alarm");
    expect([story.storedValue("x"), story.intents.size, story.isIdle]).toEqual(["1", 0, true]);
  });

  test("writes that an abort has undone are none", () => {
    const story = new Story();
    story.request("A", null, { ...GET, handler: "recorded" });
    story.ran(did("", { kind: "abort", status: 409, code: "taken", message: "" }));
    expect(story.said.at(-1)).toBe("A ← executed requested taken");
  });

  test.each(["as it is", "adopted after a restart"])(
    "an intent that keeps its answer, %s: it ends without writes",
    (how) => {
      const story = new Story({ x: "1" });
      story.request("A", "x=1", { ...GET, retained: true });
      story.lookedUp();
      story.loaded();
      story.stored();
      expect(story.said.at(-1)).toBe("A ← valid 2.1");
      if (how !== "as it is") story.restart();
      story.passes(5_000);
      if (how !== "as it is") story.loaded();
      story.ran({ kind: "undeclared", reason: "write of t/x" });
      story.ran({ kind: "undeclared", reason: "write of t/x" });
      story.ran(did("x x:=2"));
      story.completed();
      expect(story.said.at(-1)).toMatch(/^complete A \d\.\d pending$/);
      expect([story.storedValue("x"), story.isIdle]).toEqual(["1", true]);
      expect(story.notes).toContain("wrote_on_get_alarm");
      story.request("A", "x=1", { ...GET, retained: true });
      expect(story.said).toEqual(["A ← executed stored wrote_on_get"]);
    },
  );

  test("an adopted intent that names only reads, and came as no GET, may write", () => {
    const story = new Story({ x: "1" });
    story.request("A", "x=1", { retained: true });
    story.lookedUp();
    story.loaded();
    story.stored();
    story.restart();
    story.passes(5_000);
    story.loaded();
    story.ran({ kind: "undeclared", reason: "write of t/x" });
    story.ran({ kind: "undeclared", reason: "write of t/x" });
    story.ran(did("x x:=2"));
    story.completed();
    expect([story.storedValue("x"), story.isIdle]).toEqual(["2", true]);
    expect(story.notes).not.toContain("wrote_on_get_alarm");
  });
});

describe("a handler that leaves its read/write set", () => {
  const left = (story: Story): readonly Note[] => story.observed.filter(({ name }) => name === "set_left");

  test("near storage, f on what f^rw has said: counted by module and handler", () => {
    const story = new Story({ x: "1" });
    for (const [name, handler] of [
      ["A", "f"],
      ["B", "f"],
      ["C", "given"],
    ] as const) {
      story.request(name, null, { handler });
      story.ran({ kind: "undeclared", reason: "write of t/y" });
      story.ran(did("y:=2"));
      story.completed();
    }
    expect(story.setsLeft).toEqual([
      { module: MODULE, handler: "f", times: 2 },
      { module: MODULE, handler: "given", times: 1 },
    ]);
    expect(left(story)).toMatchObject([
      { handler: "f", times: 1, detail: expect.stringMatching(/fault of the analyzer.*write of t\/y/) as unknown },
      { handler: "f", times: 2 },
      { handler: "given", times: 1, detail: expect.stringMatching(/@readwrite/) as unknown },
    ]);
  });

  test("a re-execution of what was validated: counted once for the execution", () => {
    const story = withPendingWrite();
    story.passes(5_000);
    story.ran({ kind: "undeclared", reason: "write of t/y" });
    story.ran({ kind: "undeclared", reason: "write of t/y" });
    story.ran(did("x x:=2 y:=2"));
    story.completed();
    expect(story.setsLeft).toEqual([{ module: MODULE, handler: "f", times: 1 }]);
    expect(left(story)).toHaveLength(1);
  });

  test("not counted: f^rw that failed, a handler without f^rw, a stale value", () => {
    const failed = new Story({ x: "1" });
    failed.request("A", null);
    failed.ran({ kind: "no-set", reason: "out of fuel" });
    failed.ran(did("x:=2"));
    failed.completed();
    expect(failed.storedValue("x")).toBe("2");

    const recorded = new Story({ x: "1" });
    recorded.request("A", "+x=1", { handler: "recorded" });
    recorded.loaded();
    recorded.stored();
    recorded.passes(5_000);
    recorded.ran({ kind: "undeclared", reason: "write of t/y" });

    const stale = new Story({ x: "1" });
    stale.request("A", "+x=0");
    stale.loaded();
    stale.ran(needs("x !x !y"));
    stale.ran(did("x x:=2 y:=2"));
    stale.completed();

    for (const story of [failed, recorded, stale]) expect([story.setsLeft, left(story)]).toEqual([[], []]);
  });
});

describe("whoever joins an execution is told the outcome of another sending", () => {
  test("one that was asked near storage, and leaves no trace", () => {
    const story = new Story({ x: "1" });
    story.request("A", null, { handler: "opaque" });
    story.request("A", "x=1", { handler: "opaque", location: "far" }, "A elsewhere");
    story.ran(did(""));
    expect(story.said.slice(-2)).toEqual(["A ← executed requested ok", "A elsewhere ← executed stored ok"]);
  });

  test("one whose speculation was abandoned, and whose location is gone", () => {
    const story = withPendingWrite();
    story.request("A", "+x=1", { location: "far" }, "A elsewhere");
    story.ran({ kind: "undeclared", reason: "write of t/y" });
    story.ran({ kind: "undeclared", reason: "write of t/y" });
    story.ran(did("x x:=2 y:=2"));
    story.completed();
    expect(story.said.at(-1)).toBe("A elsewhere ← executed stored ok repairs x=2@2.2 y=2@2.2");
  });

  test("a module that may not speculate: its own sending is told that it was run here", () => {
    const story = withPendingWrite();
    story.passes(5_000);
    story.followup("A", C1, "x:=2");
    story.completed();
    story.ran(did("x x:=3"));
    story.request("B", "x=2");
    story.ran(did("x"));
    expect(story.said.at(-1)).toMatch(/^B ← executed requested ok/);
  });
});

describe("callers are told apart", () => {
  test.each([
    [null, "ann"],
    ["ann", null],
    ["ann", "bob"],
  ])("the execution of %j is not told to %j, while it goes on or when it is done", (first, second) => {
    const story = new Story({ x: "1" });
    const by = (caller: string | null) => ({
      environment: { timeMs: START_MS, seed: new Uint8Array(16), caller },
      retained: true,
    });
    story.request("A", "+x=1", by(first));
    story.lookedUp();
    story.loaded();
    story.stored();
    story.request("A", "+x=1", by(second), "other");
    expect(story.said.at(-1)).toBe("other ← refused idempotency_key_reused");
    story.followup("A", C1, "x:=2");
    story.completed();
    story.request("A", "+x=1", by(second), "other");
    expect(story.said.at(-1)).toBe("other ← refused idempotency_key_reused");
    story.request("A", "+x=1", by(first), "again");
    expect(story.said.at(-1)).toBe("again ← executed stored ok");
  });
});

describe("spans", () => {
  const LIST = { a: "1", b: "2", c: "3" };

  /** A location has read all rows, which are in memory since. */
  function withRows(items: Record<string, string> = LIST, options: Partial<CoreOptions> = {}): Story {
    const story = new Story(items, options);
    story.request("warm", "[,)");
    story.scanned();
    expect(story.said.at(-1)).toBe("warm ← valid without intent");
    return story;
  }

  test("a page is one version, compared in the step that reads it; cold rows are loaded before", () => {
    const story = new Story(LIST);
    story.request("A", "[b,)");
    expect(story.said).toEqual(["scan 256 of [b,)"]);
    story.scanned();
    expect(story.said).toEqual(["A ← valid without intent"]);
    story.request("B", "[b,) #[b,c)");
    expect(story.said).toEqual(["B ← valid without intent"]);
    story.request("C", "[a,)");
    expect(story.said).toEqual(["scan 1000 of [a,b)"]);
    story.scanned();
    expect(story.said).toEqual(["C ← valid without intent"]);
    expect(story.isIdle).toBe(true);
  });

  test("the commit id of a span says as of when, and is not compared", () => {
    const story = withRows();
    story.request("A", "[a,c)=1.9");
    story.request("B", "[a,c)=0.1");
    expect(story.said).toEqual(["A ← valid without intent", "B ← valid without intent"]);
  });

  test("a guess that a range is empty is right if it is", () => {
    const story = withRows();
    story.request("A", "[x,)=∅ !x");
    story.stored();
    expect(story.said).toEqual(["intent A 2.1 x:write [x,):read", "A ← valid 2.1"]);
    story.request("B", "[b,c)=∅");
    expect(story.said).toEqual(["run derive writing nothing on"]);
  });

  test("a stale page runs near storage; the reply brings its directory and the rows that are newer than the location's", () => {
    const story = withRows();
    story.request("W", null);
    story.ran(did("d:=4"));
    story.completed();
    expect(story.said.slice(0, 2)).toEqual(["run derive writing nothing on", "complete W 2.1 new d:=4"]);
    story.forget();
    story.request("A", "[b,)=old");
    expect(story.said).toEqual(["run derive writing nothing on"]);
    story.ran(needs("[b,)", "last3 [a,)"));
    expect(story.said).toEqual(["load b c"]);
    story.loaded();
    expect(story.said).toEqual(["run derive writing nothing on b=2 c=3 d=4 [b,)=b,c,d"]);
    story.ran(did("[b,)"));
    expect(story.said).toEqual(["A ← executed stale ok repairs [b,)=b,c,d@2.1 b=2@1.2 c=3@1.3 d=4@2.1"]);
    story.request("B", "[b,)=2.0");
    story.request("C", "[b,)=old");
    expect(story.said[0]).toBe("B ← valid without intent");
  });

  test("rows that the location has had by the time that its span's version names are not sent again", () => {
    const story = withRows();
    story.request("W", "!d");
    story.stored();
    story.followup("W", C1, "d:=4");
    story.completed();
    story.forget();
    const before = digestOf([]);
    // It knows the rows of the first server, and not the new one.
    story.request("A", null, {
      units: [{ unit: unit("[b,)"), mode: "read", version: { commitId: commitId(2, 0), hash: before } }],
    });
    story.ran(needs("", "last3 [a,)"));
    story.loaded();
    story.ran(did("[b,)"));
    expect(story.said.at(-1)).toBe("A ← executed stale ok repairs [b,)=b,c,d@2.1 d=4@2.1");
  });

  test("queries are answered in the step that captures: as many rows as they ask for, from the end if they say so", () => {
    const story = new Story({ a: "1", b: "2", c: "3", d: "4" });
    story.request("A", null);
    story.ran(needs("", "last2 [,)"));
    expect(story.said.slice(-1)).toEqual(["scan 2 of [,) backward"]);
    story.scanned();
    // The values have come with the rows.
    expect(story.said).toEqual(["run derive writing nothing on c=3 d=4 [c,)=c,d"]);
    story.ran(needs("", "last3 [,)", "first1 [,)", "count [a,d)"));
    expect(story.said).toEqual(["scan 3 of [,c) backward"]);
    story.scanned();
    expect(story.said).toEqual(["run derive writing nothing on b=2 c=3 d=4 a=1 [b,)=b,c,d [,a+)=a #[a,d)=3"]);
    story.ran(did("[b,) [,a+) #[a,d)"));
    expect(story.said).toEqual([
      "A ← executed requested ok repairs #[a,d)=3@2.0 [,a+)=a@2.0 [b,)=b,c,d@2.0 a=1@1.1 b=2@1.2 c=3@1.3 d=4@1.4",
    ]);
  });

  test("a run that observes a part of a captured span depends on that part", () => {
    const story = withRows();
    story.request("A", null);
    story.ran(needs("", "first3 [,)"));
    story.loaded();
    story.forget();
    // Its own delete was the first row that it saw, and the second one is enough.
    story.ran(did("[,b+) a:=∅"));
    expect(story.said).toEqual(["complete A 2.1 new a:=∅"]);
    // Another row behind that part disturbs nobody.
    story.request("B", null);
    story.ran(did("bb:=9"));
    expect(story.said.at(-1)).toBe("complete B 2.2 new bb:=9");
    story.completed();
    expect(story.said.at(-1)).toBe("A ← executed requested ok repairs [,b+)=b@2.2 a=∅@2.1 b=2@1.2 c=3@1.3");
  });

  test("an insert between capture and locks is found when the digest is compared again: no phantom", () => {
    const story = withRows();
    story.request("A", null);
    story.ran(needs("", "count [,)", "first9 [,)"));
    story.loaded();
    expect(story.said.at(-1)).toBe("run derive writing nothing on a=1 b=2 c=3 #[,)=3 [,)=a,b,c");
    // Somebody inserts a row while it runs.
    story.request("B", "!bb");
    story.stored();
    story.followup("B", C1, "bb:=9");
    story.completed();
    expect(story.storedValue("bb")).toBe("9");
    story.forget();
    story.ran(did("#[,) [,) z:=3"));
    expect(story.said).toEqual(["run derive writing z on a=1 b=2 bb=9 c=3 #[,)=4 [,)=a,b,bb,c"]);
    expect(story.notes).toContain("contention_round");
    story.ran(did("#[,) [,) z:=4"));
    expect(story.said).toEqual(["complete A 2.2 new z:=4"]);
    story.completed();
    expect(story.said.at(-1)).toMatch(/ repairs #\[,\)=5@2\.2 \[,\)=a,b,bb,c,z@2\.2 /);
    expect(story.isIdle).toBe(true);
  });

  describe("with a told writer inside", () => {
    /** A has told that it inserts b. */
    function withInsert(): Story {
      const story = withRows({ a: "1", c: "3", x: "7" });
      story.request("A", "!b");
      story.stored();
      expect(story.said).toEqual(["intent A 2.1 b:write", "A ← valid 2.1"]);
      return story;
    }

    test("a page around it waits, and the writer is re-executed at once", () => {
      const story = withInsert();
      story.request("B", "[a,c)", { location: "far" });
      expect(story.said).toEqual(["run declared on"]);
      story.ran(did("b:=2"));
      story.completed();
      expect(story.said).toEqual(["complete A 2.1 pending b:=2", "run derive writing nothing on"]);
      story.ran(needs("", "first9 [a,c)"));
      expect(story.said).toEqual(["load a"]);
      story.loaded();
      expect(story.said).toEqual(["run derive writing nothing on a=1 b=2 [a,c)=a,b"]);
    });

    test("so does that of the writer's own location, which may hold one of its writes and lack another", () => {
      const story = withInsert();
      const rows = [
        { key: "a" as Key, commitId: commitId(1, 1), hash: contentHash(encode("1")) },
        { key: "b" as Key, commitId: C1, hash: contentHash(encode("2")) },
      ];
      story.request("B", null, {
        units: [{ unit: unit("[a,c)"), mode: "read", version: { commitId: C1, hash: digestOf(rows) } }],
      });
      expect(story.said).toEqual(["run declared on"]);
      expect(story.notes).not.toContain("own_write");
      story.ran(did("b:=2"));
      story.completed();
      // Its rows are those that were applied.
      expect(story.said).toEqual(["complete A 2.1 pending b:=2", "B ← valid without intent"]);
    });

    test("a write that has read one of its writes and a span around it waits instead of going behind", () => {
      const story = withRows({ a: "1", x: "7" });
      story.request("A", "+x=7 !b");
      story.loaded();
      story.stored();
      story.forget();
      story.request("B", "+x=8@2.1 [a,c)");
      expect(story.said).toEqual(["run declared on x=7"]);
      expect(story.notes).not.toContain("queued_behind");
      story.ran(did("x x:=8 b:=2"));
      story.completed();
      expect(story.said).toEqual(["complete A 2.1 pending x:=8 b:=2", "run derive writing x on x=8"]);
    });

    test("many of them are re-executed at once", () => {
      const story = withRows();
      for (const name of ["d", "e", "f"]) {
        story.request(name.toUpperCase(), `!${name}`);
        story.stored();
      }
      story.forget();
      story.request("R", "[,)");
      expect(story.said).toEqual(["run declared on", "run declared on", "run declared on"]);
    });

    test("a page beside it is valid", () => {
      const story = withInsert();
      story.request("B", "[b+,)");
      story.request("C", "[,b)");
      expect(story.said).toEqual(["B ← valid without intent", "C ← valid without intent"]);
    });
  });

  test("a write that has read a page holds it: inserts inside wait for it, others don't", () => {
    const story = withRows();
    story.request("A", "[a,c) !z");
    story.stored();
    expect(story.said).toEqual(["intent A 2.1 z:write [a,c):read", "A ← valid 2.1"]);
    story.request("B", "!d");
    story.stored();
    expect(story.said).toEqual(["intent B 2.2 d:write", "B ← valid 2.2"]);
    // It is re-executed at once, on the rows that were validated.
    story.request("C", "!bb");
    expect(story.said).toEqual(["load a b"]);
    story.loaded();
    expect(story.said).toEqual(["run declared on a=1 b=2 [a,c)=a,b"]);
    story.ran(did("[a,c) z:=2"));
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending z:=2", "intent C 2.3 bb:write"]);
  });

  test("a writer that waits is not overtaken by pages around its row", () => {
    const story = withRows();
    story.request("A", "[a,c) !z");
    story.stored();
    story.request("B", "!b");
    story.request("C", "[a,c) !y");
    story.loaded();
    story.forget();
    story.ran(did("[a,c) z:=2"));
    story.completed();
    expect(story.said).toEqual(["complete A 2.1 pending z:=2", "intent B 2.2 b:write"]);
    story.stored();
    expect(story.said[0]).toBe("B ← valid 2.2");
  });

  test("after a restart an intent that has read a page is re-executed on the same rows, which are loaded again", () => {
    const story = withRows();
    story.request("A", "[a,c) !z");
    story.stored();
    story.restart();
    story.forget();
    story.request("B", "!b");
    expect(story.said).toEqual(["scan 256 of [a,c)"]);
    story.scanned();
    expect(story.said).toEqual(["load a b"]);
    story.loaded();
    expect(story.said).toEqual(["run declared on a=1 b=2 [a,c)=a,b"]);
    story.ran(did("[a,c) z:=2"));
    story.completed();
    expect(story.said[0]).toBe("complete A 2.1 pending z:=2");
  });

  test("in a memory that holds nothing such a re-execution has the rows of all its pages in the step in which it runs", () => {
    const story = new Story(LIST, { hotBytes: 0 });
    story.request("A", "[a,b) [c,d) !z");
    story.scanned();
    story.scanned();
    story.stored();
    expect(story.said.at(-1)).toBe("A ← valid 2.1");
    story.restart();
    story.forget();
    story.passes(5_000);
    expect(story.said).toEqual(["scan 256 of [a,b)"]);
    story.scanned();
    expect(story.said).toEqual(["scan 1000 of [c,d)"]);
    story.scanned();
    expect(story.said).toEqual(["load a c"]);
    story.loaded();
    expect(story.said).toEqual(["run declared on a=1 c=3 [a,b)=a [c,d)=c"]);
  });

  test("an intent whose page has changed after it was abandoned is run anew after a restart", () => {
    const story = withRows();
    story.request("A", "[a,c) !z");
    story.stored();
    // Its locks were given up: B has inserted, and was applied.
    story.items.set(unit("b"), { commitId: commitId(2, 2), value: encode("9") });
    story.restart();
    story.forget();
    story.passes(5_000);
    story.scanned();
    story.loaded();
    expect(story.notes).toContain("abandoned_intent");
  });

  test("rows that are being applied beside a load are left out of it, and come when they are applied", () => {
    const story = new Story(LIST);
    // The client of this insert has no answer yet.
    story.request("A", null);
    story.ran(did("bb:=9"));
    expect(story.said.at(-1)).toBe("complete A 2.1 new bb:=9");
    story.request("B", "[a,c)=old");
    story.scanned();
    expect(story.said).toEqual(["scan 256 of [a,c)"]);
    expect(story.load.waiting).toBe(1);
    story.completed();
    expect(story.said).toEqual(["A ← executed requested ok repairs bb=9@2.1", "run derive writing nothing on"]);
  });

  test("a page that a load would bring torn is not compared with the half of a write", () => {
    const story = new Story({ a: "1", b: "2" });
    story.request("A", null);
    story.ran(did("a:=7 b:=7"));
    story.forget();
    story.request("B", "[a,c)");
    story.scanned();
    expect(story.said).toEqual(["scan 256 of [a,c)"]);
    story.completed();
    expect(story.said.at(-1)).toBe("run derive writing nothing on");
    expect(story.notes).toContain("stale");
  });

  test("storage that can't be scanned refuses the request, and the next one asks again", () => {
    const story = new Story(LIST);
    story.request("A", "[a,c)");
    story.failed("scan", "none");
    expect(story.said.at(-1)).toBe("A ← refused busy");
    story.request("B", "[a,c)");
    story.scanned();
    expect(story.said.at(-1)).toBe("B ← valid without intent");
  });

  test("rows count as units: a handler that walks over more than a set may have is refused", () => {
    const story = withRows(LIST, { maxUnits: 2 });
    story.request("A", null);
    story.ran(needs("", "first9 [,)"));
    expect(story.said.at(-1)).toBe("A ← refused too_many_units");
    story.request("B", null);
    story.ran(needs("", "count [,)"));
    expect(story.said.at(-1)).toBe("run derive writing nothing on #[,)=3");
  });

  test("a range with more rows than memory holds is refused", () => {
    const items = Object.fromEntries(Array.from({ length: 1_300 }, (_, n) => [`k${1_000 + n}`, "1"]));
    const story = new Story(items, { hotBytes: 20_000 });
    story.request("A", "#[,)");
    story.scanned();
    expect(story.said).toEqual(["scan 256 of [,)", "scan 1000 of [k1255+,)"]);
    story.scanned();
    expect(story.said).toEqual(["A ← refused too_many_units"]);
    expect(story.isIdle).toBe(true);
  });

  test("record mode asks for queries too, and a run without guesses for one after the other", () => {
    const story = withRows();
    story.request("A", null, { handler: "recorded" });
    expect(story.said).toEqual(["run record on"]);
    story.ran({ kind: "missing", units: [unit("x")], queries: [ask("first1 [b,)")] });
    expect(story.said).toEqual(["load x b"]);
    story.loaded();
    expect(story.said).toEqual(["run record on x=∅ b=2 [b,b+)=b"]);
    story.ran(did("x [b,b+)"));
    expect(story.said).toEqual(["A ← executed requested ok repairs [b,b+)=b@2.0 b=2@1.2 x=∅@2.0"]);
  });

  test("executions that read spans go alone, as head of a train and as follower", () => {
    const story = withRows({ x: "1" });
    story.request("A", "+x=0");
    story.loaded();
    story.request("B", "+x=0");
    story.request("C", "+x=0 [a,c)");
    story.request("D", "+x=0");
    story.ran(did("x x:=2"));
    story.forget();
    story.completed();
    expect(story.said.at(-1)).toBe("run derive writing x on x=2");
    story.ran(did("x x:=3"));
    story.forget();
    story.completed();
    expect(story.said.at(-1)).toBe("run derive writing x on x=3");
  });
});

test("the arguments of executions that have ended do not stay in memory until the deadlines of their requests", async () => {
  const story = new Story();
  const args = Array.from({ length: 40 }, (_, n) => {
    const mebibyte = new Uint8Array(1_048_576);
    story.request(`A${n}`, null, { args: mebibyte });
    story.ran(did(""));
    story.forget();
    return new WeakRef(mebibyte);
  });
  // References of this turn of the event loop are kept until its end.
  await new Promise((resolve) => setImmediate(resolve));
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  setFlagsFromString("--no-expose-gc");
  expect(args.filter((each) => each.deref() !== undefined).length).toBeLessThan(8);
});
