/**
 * The life of the bytes of blobs: uploads, executions and collections in random order, with crashes. The hidden handlers run as
 * they are built; each is one step, as executions are. Between two steps of one upload or collection anything may happen. The rule:
 * no item ever names bytes that are not there.
 */
import {
  BLOB_HANDLERS,
  blobHashesIn,
  blobNameUnit,
  BLOBS,
  CborReader,
  CborWriter,
  unitId,
  NO_EXECUTION,
} from "@radical/protocol";
import { recordHandler } from "@radical/wasm-host";
import fc from "fast-check";
import { expect, test } from "vitest";
import { buildWith, type BuildResult } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { invocation, type Items, moduleOf, snapshotOf } from "./testing/run.ts";

const APP = `
  import { Blob, Table } from "@radical/sdk";
  export class User { picture: Blob | null = null; }
  const users = new Table<User>("users");
  export function set(name: string, picture: Blob): void { const user = new User(); user.picture = picture; users.put(name, user); }
  export function move(from: string, to: string): void {
    const user = users.get(from);
    if (user == null) return;
    users.delete(from);
    users.put(to, user);
  }
  export function remove(name: string): void { users.delete(name); }
`;

type Edit = readonly [from: string, to: string];

function built(edits: readonly Edit[]): BuildResult {
  const input = buildInput({ "handlers/app.ts": APP });
  const sdk = input.sdk.map((file) => {
    if (file.path !== "blobs.ts") return file;
    return { ...file, text: edits.reduce((text, [from, to]) => replaced(text, from, to), file.text) };
  });
  const build = buildWith({ ...input, sdk, optimize: false }, slicer);
  expect(build.diagnostics).toEqual([]);
  return build;
}

function replaced(text: string, from: string, to: string): string {
  expect(text).toContain(from);
  return text.replace(from, to);
}

/** Known-wrong ways to put and to collect. */
interface Wrong {
  /** Bytes are put before the upload begins. */
  readonly putsFirst?: true;
  /** The bytes go before the hash ceases to be one that can be named: in another execution. */
  readonly removesFirst?: true;
  /** The primary forgets a hash before its bytes are gone. */
  readonly forgetsFirst?: true;
  /** Items get no entries. */
  readonly keepsNoNames?: true;
}

const HOUR_MS = 3_600_000;
const KEEP_MS = 24 * HOUR_MS;
/** A removal that is under way lands within this time, though its collector is dead. */
const LANDS_MS = HOUR_MS / 2;
const HASHES = ["a1".repeat(32), "b2".repeat(32)];
const NAMES = ["ann", "bob"];

class World {
  readonly items: Items = new Map();
  readonly bytes = new Set<string>();
  readonly #build: BuildResult;
  readonly #module: ReturnType<typeof moduleOf>;
  readonly #wrong: Wrong;
  timeMs = 1_700_000_000_000;
  /** Removals that the store has been told. */
  readonly landing: { readonly hash: string; readonly untilMs: number }[] = [];
  #seed = 0;

  constructor(build: BuildResult, wrong: Wrong) {
    this.#build = build;
    const hidden = BLOB_HANDLERS.map((name) => ({ name, plan: { kind: "near-storage" }, tables: null }));
    this.#module = moduleOf({ ...build, handlers: [...build.handlers, ...hidden] as BuildResult["handlers"] });
    this.#wrong = wrong;
  }

  /** One execution. */
  run(handler: string, args: Uint8Array | object): Uint8Array | null {
    const named = args instanceof Uint8Array ? { handler, args } : invocation(this.#build, handler, args);
    const environment = { timeMs: this.timeMs, seed: new Uint8Array(16).fill(++this.#seed), caller: null };
    const { run } = recordHandler(
      this.#module,
      { executionId: NO_EXECUTION, ...named, environment },
      snapshotOf(this.items),
      { guess: false },
    );
    if (run === null) throw new Error("the handler did not end");
    if (run.outcome.kind === "trap") throw new Error(run.outcome.message);
    for (const { unit, value } of run.writes) {
      if (value === null) this.items.delete(unit);
      else this.items.set(unit, value);
      if (value === null || !unit.startsWith("users/") || this.#wrong.keepsNoNames === true) continue;
      for (const hash of blobHashesIn(value))
        this.items.set(blobNameUnit(hash, unit), new CborWriter().null().finish());
    }
    return run.outcome.kind === "result" ? run.outcome.value : null;
  }

  ask(handler: string, ...args: readonly (string | number)[]): readonly string[] {
    const writer = new CborWriter().array(args.length);
    for (const arg of args) {
      if (typeof arg === "string") writer.text(arg);
      else writer.integer(arg);
    }
    const reader = new CborReader(this.run(handler, writer.finish())!);
    return reader.nullIfNext() ? [] : Array.from({ length: reader.array() }, () => reader.text());
  }

  *upload(hash: string): Generator<void> {
    if (this.#wrong.putsFirst === true) this.bytes.add(hash);
    yield;
    const [state, token = ""] = this.ask("blobs.begin", hash);
    yield;
    if (state === "going" || (state === "stored" && this.bytes.has(hash))) return;
    if (this.#wrong.putsFirst !== true) this.bytes.add(hash);
    yield;
    this.ask("blobs.stored", hash, token);
  }

  *collect(): Generator<void> {
    if (this.#wrong.removesFirst === true) {
      const unnamed = HASHES.filter(
        (hash) => ![...this.items.values()].some((item) => blobHashesIn(item).includes(hash)),
      );
      yield;
      for (const hash of unnamed) this.bytes.delete(hash);
    }
    const began = this.timeMs;
    const [, token = "", ...hashes] = this.ask("blobs.sweep", "", 10, KEEP_MS);
    yield;
    // Its removals land at once, or it is dead.
    if (this.timeMs - began > LANDS_MS) return;
    if (this.#wrong.forgetsFirst === true) {
      this.ask("blobs.swept", token, ...hashes);
      yield;
    }
    for (const hash of hashes) this.landing.push({ hash, untilMs: this.timeMs + LANDS_MS });
    yield;
    for (const hash of hashes) this.#land(hash);
    yield;
    this.ask("blobs.swept", token, ...hashes);
  }

  #land(hash: string): void {
    const at = this.landing.findIndex((one) => one.hash === hash);
    if (at < 0) return;
    this.landing.splice(at, 1);
    this.bytes.delete(hash);
  }

  /** Time goes on, and what a dead collector has told the store happens before it is too late. */
  pass(ms: number): void {
    for (const { hash } of this.landing.filter(({ untilMs }) => untilMs <= this.timeMs + ms)) this.#land(hash);
    this.timeMs += ms;
  }

  /** An item that names bytes which are not there. */
  get broken(): string | undefined {
    return [...this.items].find(
      ([unit, value]) => unit.startsWith("users/") && blobHashesIn(value).some((hash) => !this.bytes.has(hash)),
    )?.[0];
  }
}

type Step =
  | { readonly kind: "upload"; readonly hash: number }
  | { readonly kind: "collect" }
  | { readonly kind: "go-on" | "crash"; readonly actor: number }
  | { readonly kind: "set"; readonly name: number; readonly hash: number }
  | { readonly kind: "move" | "remove"; readonly name: number }
  | { readonly kind: "pass"; readonly hours: number };

const index = fc.nat({ max: 1 });
const STEPS: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("upload" as const), hash: index }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("collect" as const) }) },
    { weight: 12, arbitrary: fc.record({ kind: fc.constant("go-on" as const), actor: fc.nat({ max: 3 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash" as const), actor: fc.nat({ max: 3 }) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("set" as const), name: index, hash: index }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("move" as const, "remove" as const), name: index }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("pass" as const), hours: fc.constantFrom(0.1, 2, 25) }) },
  ),
  { minLength: 20, maxLength: 60 },
);

/** The item that is broken after a prefix of the steps; undefined: none ever is. */
function play(world: World, steps: readonly Step[]): string | undefined {
  const actors: Generator<void>[] = [];
  for (const step of steps) {
    switch (step.kind) {
      case "upload":
        actors.push(world.upload(HASHES[step.hash]!));
        break;
      case "collect":
        actors.push(world.collect());
        break;
      case "go-on": {
        const at = step.actor % Math.max(1, actors.length);
        if (actors[at]?.next().done === true) actors.splice(at, 1);
        break;
      }
      case "crash":
        actors.splice(step.actor % Math.max(1, actors.length), 1);
        break;
      case "set":
        world.run("set", { name: NAMES[step.name], picture: { hash: HASHES[step.hash], size: 1, type: "a/b" } });
        break;
      case "move":
        world.run("move", { from: NAMES[step.name], to: NAMES[1 - step.name] });
        break;
      case "remove":
        world.run("remove", { name: NAMES[step.name] });
        break;
      case "pass":
        world.pass(step.hours * HOUR_MS);
        break;
    }
    if (world.broken !== undefined) return world.broken;
  }
  return undefined;
}

const go = (actor: number, times = 1): readonly Step[] =>
  Array.from({ length: times }, () => ({ kind: "go-on", actor }));
const UPLOAD: Step = { kind: "upload", hash: 0 };
const COLLECT: Step = { kind: "collect" };
const SET: Step = { kind: "set", name: 0, hash: 0 };
const pass = (hours: number): Step => ({ kind: "pass", hours });
/** An upload from its beginning to its end, and a collection; as the actor of that number. */
const uploaded = (actor: number): readonly Step[] => [UPLOAD, ...go(actor, 4)];
const collected = (actor: number): readonly Step[] => [COLLECT, ...go(actor, 4)];

/** Orders that random ones meet rarely. */
const ORDERS: Readonly<Record<string, readonly Step[]>> = {
  // The bytes of an upload go while it sleeps. It wakes when another one has begun.
  "an upload sleeps a whole life long": [
    UPLOAD,
    ...go(0, 3),
    pass(25),
    ...collected(1),
    UPLOAD,
    ...go(1, 2),
    ...go(0),
    SET,
  ],
  "bytes come before their upload begins": [
    ...uploaded(0),
    pass(25),
    UPLOAD,
    ...go(0),
    ...collected(1),
    ...go(0, 3),
    SET,
  ],
  "the same bytes come while they go": [
    ...uploaded(0),
    pass(25),
    COLLECT,
    ...go(0, 2),
    ...uploaded(1),
    SET,
    ...go(0, 2),
  ],
  // A collector dies behind its word to the store. Another one collects, and the same bytes come again.
  "a removal outlives its collector": [
    ...uploaded(0),
    pass(25),
    COLLECT,
    ...go(0, 2),
    { kind: "crash", actor: 0 } as const,
    pass(0.1),
    ...collected(0),
    ...uploaded(0),
    SET,
    pass(2),
  ],
  // A collector sleeps behind its removal. Another one takes the hash up, and the first one wakes.
  "a collector forgets what another one removes": [
    ...uploaded(0),
    pass(25),
    COLLECT,
    ...go(0, 3),
    pass(2),
    COLLECT,
    ...go(1, 2),
    ...go(0),
    ...uploaded(1),
    SET,
    pass(2),
  ],
};

const RUNS = 300;

/** An order that breaks the rule; null: none was found. */
function breaks(edits: readonly Edit[], wrong: Wrong, numRuns: number): string | null {
  const build = built(edits);
  for (const [name, steps] of Object.entries(ORDERS))
    if (play(new World(build, wrong), steps) !== undefined) return name;
  const result = fc.check(
    fc.property(STEPS, (steps) => play(new World(build, wrong), steps) === undefined),
    { numRuns, seed: 7, endOnFailure: true },
  );
  return result.failed ? JSON.stringify(result.counterexample?.[0]) : null;
}

test("no order of uploads, executions and collections leaves an item without its bytes", () => {
  expect(breaks([], {}, RUNS)).toBeNull();
});

test("the bytes of an item that nobody names any more go in the end", () => {
  const world = new World(built([]), {});
  const all = (actor: Generator<void>): void => void [...actor];
  const [hash = ""] = HASHES;
  all(world.upload(hash));
  world.run("set", { name: "ann", picture: { hash, size: 1, type: "a/b" } });
  world.pass(48 * HOUR_MS);
  all(world.collect());
  expect(world.bytes.has(hash)).toBe(true);
  world.run("remove", { name: "ann" });
  all(world.collect());
  world.pass(25 * HOUR_MS);
  expect(world.bytes.has(hash)).toBe(true);
  all(world.collect());
  expect(world.bytes.has(hash)).toBe(false);
  expect([...world.items.keys()]).toEqual([]);
  all(world.upload(hash));
  expect([world.bytes.has(hash), world.items.has(unitId(BLOBS, hash))]).toEqual([true, true]);
});

test.each<readonly [name: string, edits: readonly Edit[], wrong: Wrong]>([
  ["bytes are put before the upload begins", [], { putsFirst: true }],
  ["bytes are removed before the hash goes", [], { removesFirst: true }],
  ["the hash is forgotten before its bytes are gone", [], { forgetsFirst: true }],
  ["items have no entries", [], { keepsNoNames: true }],
  ["an upload of an earlier life is stored", [["upload == null || upload.token != token", "upload == null"]], {}],
  [
    "bytes are put while they go",
    [["if (upload.state != GOING) {", "if (upload.state == GOING) upload.state = ARRIVING;\n  {"]],
    {},
  ],
  ["a hash that goes can be named", [["    host.remove(BLOBS, hash);\n", ""]], {}],
  ["a removal is taken up at once", [["if (now - upload.since < REMOVAL_MS) return false;", ""]], {}],
  ["a sweep ends what another one has taken up", [[" && upload.token == token", ""]], {}],
  ["the collector looks at no items", [["isNamed(hash) ? 0 :", ""]], {}],
  ["a Blob is taken without its bytes", [["if (host.has(BLOBS, hashes[i]) == 0)", "if (false)"]], {}],
])("wrong: %s", (_name, edits, wrong) => {
  expect(breaks(edits, wrong, 2_000)).not.toBeNull();
});
