/**
 * For tests: an execution in Node and in workerd must have the same reads, writes, outcome and fuel. The programs are the
 * templates, one that meets every limit, and random ones. Their items are random too.
 *
 * Each execution also runs with less than it needs: a part of the fuel that it used, and little stack. So every program is
 * cut off in the middle of its work.
 */
import { readdirSync } from "node:fs";
import { ABI_VERSION, DEFAULT_LIMITS, type Limits } from "@radical/protocol";
import { compileModule } from "@radical/wasm-host";
import fc from "fast-check";
import { buildWith, type BuildInput, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import {
  hexOf,
  perform,
  type DifferentialExecution,
  type DifferentialRequest,
  type Programs,
} from "./differential.worker.ts";
import { buildInput } from "./library.ts";
import { arbitraryHistory, invocationOf, type Exploration } from "./oracle.ts";
import { KEY_TEXTS, TABLES } from "./random-prelude.ts";
import { randomProgram } from "./random-program.ts";
import type { Items } from "./run.ts";
import { TEMPLATES, templateInput } from "./template-input.ts";
import { startWorker, type WorkerModule } from "./workerd.ts";

export interface DifferentialProgram {
  readonly name: string;
  readonly build: BuildResult;
  readonly exploration: Pick<Exploration, "strings" | "integers" | "keys">;
  /** Stores for each handler, with up to three calls on each. */
  readonly runs: number;
  /** Fuel that is enough for each of its handlers, unless one is meant to run out. */
  readonly fuel: number;
}

export interface DifferentialCounts {
  programs: number;
  executions: number;
  readonly outcomes: Map<string, number>;
}

export interface Difference {
  readonly program: string;
  readonly execution: DifferentialExecution;
  readonly node: string;
  readonly workerd: string;
}

const FUEL = 20_000_000;
/** Some hash passwords. */
const TEMPLATE_FUEL = 2_000_000_000;

const TEMPLATE_TEXTS = { strings: ["ann", "bob", "secret word", "t0", "ann-0"], integers: [0, 1, 2, 3, 40] };

export function templatePrograms(runs: number): readonly DifferentialProgram[] {
  return readdirSync(TEMPLATES).map((name) => {
    const build = built(`templates/${name}`, templateInput(name), true);
    return { ...build, exploration: TEMPLATE_TEXTS, runs, fuel: TEMPLATE_FUEL };
  });
}

/** Each handler of it ends at a limit, or makes numbers that are none. */
export function limitsProgram(runs: number, optimize: boolean): DifferentialProgram {
  const build = built(
    `limits, ${optimize ? "" : "not "}optimized`,
    buildInput({ "handlers/limits.ts": LIMITS }),
    optimize,
  );
  return { ...build, exploration: { strings: ["a", "b"], integers: [0, 1, 2, 3, 40] }, runs, fuel: FUEL };
}

/** Its handlers hash passwords and texts: natively at both hosts. */
export function passwordsProgram(runs: number): DifferentialProgram {
  const build = built("passwords", buildInput({ "handlers/passwords.ts": PASSWORDS }), true);
  return { ...build, exploration: { strings: ["a", "pässwörd"], integers: [0, 1] }, runs, fuel: TEMPLATE_FUEL };
}

const PASSWORDS = `
  import { Table, hashPassword, sha256, verifyPassword } from "@radical/sdk";
  const hashes = new Table<string>("hashes");
  export function login(name: string, password: string): bool {
    const stored = hashes.get(sha256(name));
    const isRight = stored != null && stored.startsWith("$") && verifyPassword(password, stored);
    if (isRight) hashes.delete(sha256(name));
    else hashes.put(sha256(name), hashPassword(password));
    return isRight;
  }
`;

/** Built as production does, every second one, or as development does. */
export function randomDifferentialProgram(runs: number, seed: number): DifferentialProgram {
  const keys = Object.fromEntries(TABLES.map((table) => [table, KEY_TEXTS]));
  const exploration = { strings: KEY_TEXTS, integers: [0, 1, 2, 3, 4, 5], keys };
  return {
    ...built(`seed ${seed}`, buildInput(randomProgram(seed).files), seed % 2 === 0),
    exploration,
    runs,
    fuel: FUEL,
  };
}

function built(name: string, input: BuildInput, optimize: boolean): Pick<DifferentialProgram, "name" | "build"> {
  const build = buildWith({ ...input, optimize }, slicer);
  const wrong = build.diagnostics.find(({ severity }) => severity === "error");
  if (wrong !== undefined) throw new Error(`${name}: ${wrong.message}`);
  return { name, build };
}

/** Runs them all. Same seed, same calls. */
export async function compareHosts(
  programs: readonly DifferentialProgram[],
  seed: number,
  counts: DifferentialCounts,
): Promise<readonly Difference[]> {
  const worker = await startWorker(workerSource(programs.length), modulesOf(programs));
  try {
    const differences: Difference[] = [];
    for (const [number, program] of programs.entries()) {
      const { executions, texts } = performInNode(program, seed, counts);
      const request: DifferentialRequest = { program: number, executions };
      const response = await fetch(worker.url, { method: "POST", body: JSON.stringify(request) });
      const answer = await response.text();
      if (!response.ok) throw new Error(`${program.name}: workerd: ${answer}`);
      const answers = JSON.parse(answer) as readonly string[];
      for (const [index, execution] of executions.entries()) {
        const [node, workerd] = [texts[index]!, answers[index]!];
        if (node !== workerd) differences.push({ program: program.name, execution, node, workerd });
      }
      counts.programs++;
    }
    return differences;
  } finally {
    await worker.close();
  }
}

function workerSource(programs: number): string {
  const numbers = Array.from({ length: programs }, (_, index) => index);
  return [
    'import { createDifferentialWorker } from "./differential.worker.ts";',
    ...numbers.map((n) => `import f${n} from "./f${n}.wasm";\nimport rw${n} from "./rw${n}.wasm";`),
    `export default createDifferentialWorker([${numbers.map((n) => `{ f: f${n}, rw: rw${n} }`).join(", ")}]);`,
  ].join("\n");
}

function modulesOf(programs: readonly DifferentialProgram[]): Readonly<Record<string, WorkerModule>> {
  return Object.fromEntries(
    programs.flatMap(({ build }, index): [string, WorkerModule][] => [
      [`f${index}.wasm`, { type: "wasm", contents: build.wasm }],
      [`rw${index}.wasm`, { type: "wasm", contents: build.rwWasm }],
    ]),
  );
}

/** Runs the executions of a program here, each on the items that the calls before it left. */
function performInNode(
  { name, build, exploration, runs, fuel }: DifferentialProgram,
  seed: number,
  counts: DifferentialCounts,
): { readonly executions: readonly DifferentialExecution[]; readonly texts: readonly string[] } {
  const handlers = Object.fromEntries(
    build.handlers.map(({ name: handler, plan, tables }) => [handler, { plan: plan.kind, tables }]),
  );
  const module: Programs = compileModule({
    abi: ABI_VERSION,
    limits: DEFAULT_LIMITS,
    handlers,
    wasm: build.wasm,
    rwWasm: build.rwWasm,
  });
  const executions: DifferentialExecution[] = [];
  const texts: string[] = [];
  const add = (execution: DifferentialExecution): ReturnType<typeof perform> => {
    const shown = perform(module, execution);
    executions.push(execution);
    texts.push(shown.text);
    counts.executions++;
    const { outcome } = shown.run;
    const kind = outcome.kind === "trap" ? outcome.code : outcome.kind;
    counts.outcomes.set(kind, (counts.outcomes.get(kind) ?? 0) + 1);
    return shown;
  };
  for (const { name: handler, plan } of build.handlers) {
    const { start, call } = arbitraryHistory(build, [handler], exploration);
    const history = fc.tuple(start, fc.array(fc.tuple(call, fc.nat(999)), { minLength: 1, maxLength: 3 }));
    for (const [initial, calls] of fc.sample(history, { numRuns: runs, seed })) {
      const items: Items = new Map(initial);
      for (const [one, part] of calls) {
        const { args, environment } = invocationOf(build, one, exploration.strings);
        const execution: DifferentialExecution = {
          handler,
          args: hexOf(args),
          seed: hexOf(environment.seed),
          timeMs: environment.timeMs,
          caller: environment.caller,
          items: Object.fromEntries(Array.from(items, ([unit, value]) => [unit, hexOf(value)])),
          limits: { ...DEFAULT_LIMITS, fuel },
          derives: plan.kind === "sliced" || plan.kind === "given",
        };
        const { run } = add(execution);
        const within = (limits: Partial<Limits>): void =>
          void add({ ...execution, derives: false, limits: { ...execution.limits, ...limits } });
        within({ fuel: 1 + Math.floor((run.fuel * part) / 1000) });
        within({ stackBytes: 200 + 4 * part });
        for (const { unit, value } of run.writes) {
          if (value === null) items.delete(unit);
          else items.set(unit, value);
        }
      }
    }
  }
  if (executions.length === 0) throw new Error(`${name} has no handlers`);
  return { executions, texts };
}

const LIMITS = `
import { Table, abort } from "@radical/sdk";
class Kept { n: f64 = 0; f: f32 = 0; list: f64[] = []; }
const kept = new Table<Kept>("kept");
let zero: f64 = 0;

/** @nearstorage */
export function endless(a: string): void { kept.get(a); for (;;) zero += 1; }
/** @nearstorage */
export function callsItself(a: string, n: i32): i64 { kept.get(a); return down(n, 1, 2, 3.5); }
function down(n: i32, a: i64, b: i64, c: f64): i64 {
  let e = a ^ b, g = a + b, h = a - b;
  return down(n + 1, b, a, c * 1.5) + e + g * h + <i64>(c > 3);
}
/** @nearstorage */
export function mutual(n: i32): i32 { return odd(n + 3) ? 1 : 0; }
function odd(n: i32): bool { return n == 0 ? false : even(n + 1); }
function even(n: i32): bool { return n == 0 ? true : odd(n + 1); }
/** @nearstorage */
export function throughValues(n: i32): i32 { step = again; return step(n); }
let step: (n: i32) => i32 = (n: i32): i32 => n;
function again(n: i32): i32 { return step(n + 1) + 1; }
/** @nearstorage */
export function fills(a: string): void { const all: string[] = []; for (;;) all.push((a + "x").repeat(100000)); }
/** @nearstorage */
export function one(n: i32): i32 { return new Array<i64>(n * 3000000 + 20000000).length; }
export function copies(n: i32): i32 {
  let list: i32[] = [n];
  for (let i = 0; i < 12; i++) list = list.concat(list);
  return list.slice(n).length + list.fill(n).length;
}
/** @nearstorage */
export function writes(a: string): void {
  const value = new Kept();
  for (let i = 0; i < 30000; i++) value.list.push(i / zero);
  for (let i = 0; ; i++) kept.put(a + i.toString(), value);
}
export function notNumbers(a: string, x: f64): string {
  const nan = (x - x) / zero;
  const other = -nan;
  const value = new Kept();
  value.n = other;
  value.f = <f32>nan;
  value.list = [other, 1, nan, -0.0, <f64><f32>other, 0, Math.sqrt(-1 - x * x)];
  value.list.sort((a, b) => a - b);
  kept.put(a, value);
  const seen = new Map<f64, i32>();
  for (let i = 0; i < 20; i++) seen.set(i % 2 == 0 ? nan : other, i);
  return value.list.join() + [nan, other, 2].sort((a, b) => a - b).join() + seen.size.toString() + Math.atan2(nan, other).toString();
}
/** @nearstorage */
export function gone(a: string, n: i32): i32 { if (n == 2) abort(410, "gone", a); return [1, 2][n]; }
`;
