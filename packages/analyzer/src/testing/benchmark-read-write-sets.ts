/**
 * `pnpm bench:rw`: the cost of read/write-set functions beside their handlers, in this process, warm. For each handler of
 * the fixtures and the template it measures the accesses, the times of *f* and *f^rw*, and the sizes of both modules. A time
 * is that of a whole run by the host, with the items in memory.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { commandLine } from "@radical/command-line";
import type * as protocol from "@radical/protocol";
import { DEFAULT_LIMITS, METER_EXPORTS, type RecordTypes, type UnitId, type ValueType } from "@radical/protocol";
import type * as host from "@radical/wasm-host";
import type { AccessSet, DerivedSet, HandlerModule, HandlerRun, Invocation } from "@radical/wasm-host";
import type * as pipeline from "../pipeline.ts";
import type { BuildResult } from "../pipeline.ts";
import type * as entries from "./entries.ts";
import type * as snapshots from "./complete-snapshot.ts";
import type { Complete } from "./complete-snapshot.ts";
import type * as slicing from "../slicer.ts";
import { BENCHMARK_APPLICATIONS, type BenchmarkApplication, type BenchmarkCase } from "./benchmark-cases.ts";
import { startWorkerd, type WorkerdRunner } from "./benchmark-workerd.ts";
import type * as library from "./library.ts";
import type * as running from "./run.ts";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");

/** The code of one checkout. */
interface Code {
  readonly build: (files: Readonly<Record<string, string>>) => BuildResult;
  readonly moduleOf: (build: BuildResult) => HandlerModule;
  readonly invocation: (
    build: BuildResult,
    handler: string,
    json: unknown,
    seed?: number,
    caller?: string | null,
  ) => Invocation;
  readonly call: (
    build: BuildResult,
    items: Map<string, Uint8Array>,
    handler: string,
    json: unknown,
    seed?: number,
    caller?: string | null,
  ) => unknown;
  readonly encodeItem: (type: ValueType, records: RecordTypes, value: unknown) => Uint8Array;
  readonly withEntries: typeof entries.withEntries;
  readonly snapshotOf: typeof snapshots.snapshotOf;
  readonly derive: (module: HandlerModule, invocation: Invocation, snapshot: Complete) => DerivedSet;
  readonly run: (module: HandlerModule, invocation: Invocation, snapshot: Complete, access: AccessSet) => HandlerRun;
}

async function load(root: string): Promise<Code> {
  const from = (path: string): Promise<unknown> => import(pathToFileURL(join(root, "packages", path)).href);
  const { buildWith } = (await from("analyzer/src/pipeline.ts")) as typeof pipeline;
  const { slicer } = (await from("analyzer/src/slicer.ts")) as typeof slicing;
  const { buildInput } = (await from("analyzer/src/testing/library.ts")) as typeof library;
  const { moduleOf, invocation, call } = (await from("analyzer/src/testing/run.ts")) as typeof running;
  const { deriveAccessSet, runHandler } = (await from("wasm-host/src/index.ts")) as typeof host;
  const { encodeArguments, CborWriter } = (await from("protocol/src/index.ts")) as typeof protocol;
  const { withEntries } = (await from("analyzer/src/testing/entries.ts")) as typeof entries;
  const complete = (await from("analyzer/src/testing/complete-snapshot.ts")) as typeof snapshots;
  return {
    build: (files) => buildWith(buildInput(files), slicer),
    moduleOf,
    invocation,
    call,
    encodeItem(type, records, value) {
      const encoded = encodeArguments([{ name: "item", type, optional: false }], records, { item: value });
      if (encoded.kind === "problem") throw new Error(encoded.problem.message);
      return encoded.bytes.slice(new CborWriter().map(1).text("item").finish().length);
    },
    withEntries,
    // An earlier checkout may have only this one.
    snapshotOf: complete.preparedSnapshotOf ?? complete.snapshotOf,
    derive: deriveAccessSet,
    run: runHandler,
  };
}

/** Of the calls made before. */
const OTHER_CALLER = "f".repeat(64);

/** An application built, with its store. */
interface Application {
  readonly code: Code;
  /** Of all measured calls. */
  readonly caller: string | null;
  readonly built: BuildResult;
  readonly module: HandlerModule;
  /** Values by unit. */
  readonly items: ReadonlyMap<string, Uint8Array>;
  readonly snapshot: Complete;
}

function sourcesOf(name: string): Record<string, string> {
  const folder = existsSync(join(ROOT, name)) ? join(ROOT, name) : join(ROOT, "packages/analyzer/fixtures", name);
  const files = ["handlers", "lib"]
    .map((part) => join(folder, part))
    .filter((part) => existsSync(part))
    .flatMap((part) => readdirSync(part, { recursive: true, withFileTypes: true }))
    // Templates share files by links.
    .filter((entry) => !entry.isDirectory() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(files.map((path) => [relative(folder, path), readFileSync(path, "utf8")]));
}

function prepare(code: Code, { name, caller = null, items, setUp }: BenchmarkApplication): Application {
  const built = code.build(sourcesOf(name));
  if (!built.ok) throw new Error(`${name}: ${built.diagnostics.map(({ message }) => message).join("; ")}`);
  const stored = new Map<UnitId, Uint8Array>();
  for (const [table, values] of Object.entries(items)) {
    const { type } = built.tables.find((known) => known.name === table)!;
    for (const [key, value] of Object.entries(values))
      stored.set(`${table}/${key}` as UnitId, code.encodeItem(type, built.records, value));
  }
  const store = new Map<string, Uint8Array>(code.withEntries(built.indexes, stored));
  for (const { handler, args } of setUp) code.call(built, store, handler, args, 1, OTHER_CALLER);
  return { code, built, module: code.moduleOf(built), items: store, snapshot: code.snapshotOf(store), caller };
}

/** Microseconds of each of many runs. */
class Times {
  readonly #times: number[] = [];

  measure(action: () => void, milliseconds: number): void {
    const end = performance.now() + milliseconds;
    for (let before = performance.now(); before < end;) {
      action();
      const after = performance.now();
      this.#times.push((after - before) * 1000);
      before = after;
    }
  }

  quantile(share: number): number {
    const sorted = this.#times.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  }
}

interface Measured {
  readonly accesses: number;
  /** Of a run of *f*; it is the same in each. */
  readonly fuel: number;
  readonly f: Times;
  readonly rw: Times;
}

/** Runs one handler with the code of each checkout in turns. */
function measure(applications: readonly Application[], { handler, args }: BenchmarkCase, seconds: number): Measured[] {
  const runs = applications.map(({ code, built, caller, module, snapshot }) => {
    const invocation = code.invocation(built, handler, args, 1, caller);
    const derived = code.derive(module, invocation, snapshot);
    if (derived.kind === "failed") throw new Error(`${handler}: ${derived.reason}`);
    const { set } = derived;
    const run = code.run(module, invocation, snapshot, set);
    if (run.kind !== "completed" || run.outcome.kind !== "result")
      throw new Error(`${handler} did not complete: ${JSON.stringify(run)}`);
    return {
      accesses: set.reads.size + set.writes.size,
      fuel: run.fuel,
      f: new Times(),
      rw: new Times(),
      runF: () => void code.run(module, invocation, snapshot, set),
      runRw: () => void code.derive(module, invocation, snapshot),
    };
  });
  // Warm, not counted.
  for (const { runF, runRw } of runs) {
    new Times().measure(runF, seconds * 200);
    new Times().measure(runRw, seconds * 200);
  }
  const turns = 10;
  for (let turn = 0; turn < turns; turn++) {
    for (const { f, rw, runF, runRw } of runs) {
      f.measure(runF, (seconds * 1000) / turns / 2);
      rw.measure(runRw, (seconds * 1000) / turns / 2);
    }
  }
  return runs;
}

/** A run in this process and in workerd: microseconds for each of a batch. */
interface Batch {
  readonly here: number;
  readonly workerd: number;
}

const BATCHES = 15;

/** The medians of batches in turns, each as long as the share of `seconds` that is its. */
async function measureBatches(
  { code, built, caller, module, snapshot }: Application,
  { handler, args }: BenchmarkCase,
  workerd: WorkerdRunner,
  seconds: number,
): Promise<Batch> {
  const invocation = code.invocation(built, handler, args, 1, caller);
  const { timeMs, seed } = invocation.environment;
  const run = { handler, args: hexOf(invocation.args), seed: hexOf(seed), timeMs, caller };
  const here = (count: number): number => {
    const before = performance.now();
    for (let done = 0; done < count; done++) code.derive(module, invocation, snapshot);
    return performance.now() - before;
  };
  // Warm, not counted.
  here(WARM_RUNS);
  await workerd.time(run, WARM_RUNS);
  const count = Math.ceil(((seconds * 1000) / BATCHES / 2 / here(WARM_RUNS)) * WARM_RUNS);
  const batches: Batch[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    const empty = await workerd.time(run, 0);
    const full = await workerd.time(run, count);
    batches.push({ here: (here(count) / count) * 1000, workerd: ((full - empty) / count) * 1000 });
  }
  return { here: medianOf(batches.map((one) => one.here)), workerd: medianOf(batches.map((one) => one.workerd)) };
}

const WARM_RUNS = 2_000;

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** Microseconds that a fresh instance takes, up to the end of the module-level code. */
function instanceTime(module: object, seconds: number): Times {
  const { Instance, Module } = (globalThis as unknown as { WebAssembly: InstantiatingPlatform }).WebAssembly;
  const imports: Record<string, Record<string, () => number>> = {};
  for (const wanted of Module.imports(module)) (imports[wanted.module] ??= {})[wanted.name] = () => 0;
  const instantiate = (): void => {
    const { exports } = new Instance(module, imports);
    exports[METER_EXPORTS.begin]?.(DEFAULT_LIMITS.fuel, DEFAULT_LIMITS.stackBytes);
    exports["_start"]?.();
  };
  new Times().measure(instantiate, seconds * 200);
  const times = new Times();
  times.measure(instantiate, seconds * 500);
  return times;
}

interface InstantiatingPlatform {
  readonly Instance: new (
    module: object,
    imports: object,
  ) => { readonly exports: Record<string, (...limits: readonly number[]) => void> };
  readonly Module: { imports(module: object): readonly { readonly module: string; readonly name: string }[] };
}

const { against, only, seconds, json, workerd } = commandLine({
  name: "pnpm bench:rw",
  words: "Measure what read/write-set functions cost beside their handlers, in this process, warm: p50 and p99.",
  options: {
    against: {
      kind: "text",
      placeholder: "folder",
      words:
        "another checkout of this repository: builds and runs the same with its code, in turns, and prints the ratios",
    },
    only: { kind: "text", placeholder: "name", words: "only this application or handler" },
    seconds: { kind: "number", default: 1, least: 1, words: "for each handler" },
    workerd: {
      kind: "flag",
      words: "f^rw in this process and in workerd, in turns, each in batches: its clocks stand still within a request",
    },
    json: { kind: "flag", words: "a line of JSON for each handler, in microseconds, instead of a table" },
  },
  exitCodes: ["measured", "an application does not build, or a handler does not run", "wrong options"],
  examples: [
    ["pnpm bench:rw", "all handlers"],
    ["pnpm bench:rw --only social --against ../before", "one application, compared"],
    ["pnpm bench:rw --workerd", "as it is at a location"],
  ],
});
const isMeasured = (application: BenchmarkApplication, handler: string): boolean =>
  only === null || only === application.name || only === handler;
const micro = (value: number): string => (value < 100 ? value.toFixed(1) : value.toFixed(0));
const row = (...cells: readonly string[]): void => {
  if (!json) console.log(`| ${cells.join(" | ")} |`);
};
if (workerd) {
  await compareWithWorkerd();
  process.exit();
}

async function compareWithWorkerd(): Promise<void> {
  const code = await load(ROOT);
  row("handler", "f^rw in Node", "in workerd", "workerd/Node");
  row("---", "---:", "---:", "---:");
  for (const application of BENCHMARK_APPLICATIONS) {
    const cases = application.cases.filter(({ handler }) => isMeasured(application, handler));
    if (cases.length === 0) continue;
    const prepared = prepare(code, application);
    const items = Object.fromEntries(Array.from(prepared.items, ([unit, value]) => [unit, hexOf(value)]));
    const { hash, limits } = prepared.module;
    const runner = await startWorkerd(prepared.built, { hash, limits, items });
    for (const one of cases) {
      const handler = `${application.name}/${one.handler}`;
      const batch = await measureBatches(prepared, one, runner, seconds);
      if (json) console.log(JSON.stringify({ handler, ...batch }));
      row(handler, micro(batch.here), micro(batch.workerd), (batch.workerd / batch.here).toFixed(2));
    }
    await runner.close();
  }
}

const codes = await Promise.all([ROOT, ...(against === null ? [] : [resolve(against)])].map(load));
const compared = codes.length > 1;

const columns = ["handler", "accesses", "f p50", "f p99", "f^rw p50", "f^rw p99", "f^rw/f"];
row(
  ...columns,
  ...(compared ? ["f before", "f^rw before", "f after/before", "f^rw after/before", "fuel of f after/before"] : []),
);
row(...[...columns, ...(compared ? ["", "", "", "", ""] : [])].map((_, index) => (index === 0 ? "---" : "---:")));

const modules: string[] = [];
for (const application of BENCHMARK_APPLICATIONS) {
  const cases = application.cases.filter(({ handler }) => isMeasured(application, handler));
  if (cases.length === 0) continue;
  const prepared = codes.map((code) => prepare(code, application));
  for (const one of cases) {
    const [after, before] = measure(prepared, one, seconds);
    const [f, rw] = [after!.f.quantile(0.5), after!.rw.quantile(0.5)];
    const cells = [micro(f), micro(after!.f.quantile(0.99)), micro(rw), micro(after!.rw.quantile(0.99))];
    const ratios: string[] = [];
    if (json)
      console.log(
        JSON.stringify({
          handler: `${application.name}/${one.handler}`,
          accesses: after!.accesses,
          f: { p50: f, p99: after!.f.quantile(0.99) },
          rw: { p50: rw, p99: after!.rw.quantile(0.99) },
          fuel: after!.fuel,
          before:
            before === undefined ? null : { f: before.f.quantile(0.5), rw: before.rw.quantile(0.5), fuel: before.fuel },
        }),
      );
    if (before !== undefined) {
      const [oldF, oldRw] = [before.f.quantile(0.5), before.rw.quantile(0.5)];
      ratios.push(micro(oldF), micro(oldRw), (f / oldF).toFixed(2), (rw / oldRw).toFixed(2));
      ratios.push((after!.fuel / before.fuel).toFixed(4));
    }
    row(`${application.name}/${one.handler}`, String(after!.accesses), ...cells, (rw / f).toFixed(3), ...ratios);
  }
  const sizes = prepared.map(({ built, module }) => {
    const [f, rw] = [instanceTime(module.f, seconds).quantile(0.5), instanceTime(module.rw, seconds).quantile(0.5)];
    return `f ${built.wasm.length} bytes, instance ${micro(f)} µs; f^rw ${built.rwWasm.length} bytes, instance ${micro(rw)} µs`;
  });
  modules.push(`${application.name}: ${sizes.join("; before: ")}`);
}
if (!json) console.log(`\nMicroseconds; Node ${process.version}.\n${modules.join("\n")}`);
