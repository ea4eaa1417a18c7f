/**
 * The life of the bytes of blobs: uploads, executions and collections in random order, with crashes. The hidden handlers run as
 * they are built; each is one step, as executions are. Between two steps of one upload or collection anything may happen. The rule:
 * no item ever names bytes that are not there.
 */
import { BLOB_HANDLERS, blobHashesIn, blobNameUnit, BLOBS, CborReader, CborWriter, unitId } from "@radical/protocol";
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
    const { run } = recordHandler(this.#module, { ...named, environment }, snapshotOf(this.items), { guess: false });
    if (run === null) throw new Error("the handler did not end");
    if (run.outcome.kind === "trap") throw new Error(run.outcome.message);
    for (const { unit, value } of run.writes) {
      if (value === null) this.items.delete(unit);
      else this.items.set(unit, value);
      if (value === null || !unit.startsWith("users/") || this.#wrong.keepsNoNames === true) continue;
      for (const hash of blobHashesIn(value)) this.items.set(blobNameUnit(hash, unit), new CborWriter().null().finish());
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
      const unnamed = HASHES.filter((hash) => ![...this.items.values()].some((item) => blobHashesIn(item).includes(hash)));
      yield;
      for (const hash of unnamed) this.bytes.delete(hash);
    }
    const began = this.timeMs;
    const [, ...hashes] = this.ask("blobs.sweep", "", 10, KEEP_MS);
    yield;
    // Its removals land at once, or it is dead.
    if (this.timeMs - began > LANDS_MS) return;
    if (this.#wrong.forgetsFirst === true) {
      this.ask("blobs.swept", ...hashes);
      yield;
    }
    for (const hash of hashes) this.landing.push({ hash, untilMs: this.timeMs + LANDS_MS });
    yield;
    for (const hash of hashes) this.#land(hash);
    yield;
    this.ask("blobs.swept", ...hashes);
  }

  #land(hash: string): void {
    const at = this.landing.findIndex((one) => one.hash === hash);
    if (at < 0) return;
    this.landing.splice(at, 1);
    this.bytes.delete(hash);
  }

  /** Time goes on, and what a dead collector has told the store happens before it is too late. */
  pass(ms: number): void {
    for (const { hash, untilMs } of [...this.landing]) if (untilMs < this.timeMs + ms) this.#land(hash);
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
  | { readonly kind: "upload" | "forget"; readonly hash: number }
  | { readonly kind: "collect" }
  | { readonly kind: "go-on" | "crash"; readonly actor: number }
  | { readonly kind: "set"; readonly name: number; readonly hash: number }
  | { readonly kind: "move" | "remove"; readonly name: number }
  | { readonly kind: "pass"; readonly hours: number }
  | { readonly kind: "land"; readonly hash: number };

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
      default:
        break;
    }
    if (world.broken !== undefined) return world.broken;
  }
  return undefined;
}

const RUNS = 400;

/** Whether some order of steps breaks the rule. */
function breaks(edits: readonly Edit[], wrong: Wrong, numRuns: number): string | null {
  const build = built(edits);
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
  ["an upload of an earlier life is stored", [["upload == null || upload.token != token ||", "upload == null ||"]], {}],
  ["a hash that goes is stored", [[" || upload.state == GOING) return answer", ") return answer"]], {}],
  ["bytes are put while they go", [["if (upload.state != GOING) {", "if (upload.state == GOING) upload.state = ARRIVING;\n  {"]], {}],
  ["a hash that goes can be named", [["    host.remove(BLOBS, hash);\n", ""]], {}],
  ["a removal is taken up at once", [["if (now - upload.since < REMOVAL_MS) return false;", ""]], {}],
  ["a hash need not be unnamed for long", [["since == 0 || now - since < keepMs", "since == 0"]], {}],
  ["the collector looks at no items", [["isNamed(hash) ? 0 :", ""]], {}],
  ["a Blob is taken without its bytes", [["if (host.has(BLOBS, hashes[i]) == 0)", "if (false)"]], {}],
])("wrong: %s", (name, edits, wrong) => {
  const found = breaks(edits, wrong, 20_000);
  // It only costs bytes that a client has just put: its execution is refused.
  if (name === "a hash need not be unnamed for long") expect(found).toBeNull();
  else expect(found).not.toBeNull();
});
