/**
 * The second program of a module: the read/write-set functions, each a file of its own.
 *
 * One that does not compile is a mistake of the analyzer's. It costs its handler the speed of its location, never
 * the build: the others are compiled without it.
 */
import { ENTRY_FILE, generateCode, loadingEntry } from "./codegen/generate.ts";
import { diagnostic } from "./diagnostics/catalogue.ts";
import type { Derived } from "./front.ts";
import { compileProgram, loadProgram, type CompileRequest } from "./parse/compile.ts";
import { as } from "./parse/assemblyscript.ts";
import { spanOfRange } from "./parse/span.ts";
import { extractSchema, type Schema } from "./schema/schema.ts";

type Sliced = Extract<Derived, { kind: "sliced" }>;

export interface ReadWriteProgram {
  /** Always a valid module, if need be one without functions. */
  readonly wasm: Uint8Array;
  /** The final verdicts by handler. */
  readonly derived: ReadonlyMap<string, Derived>;
}

/** `base`: how the application itself is compiled; its sources are not used. */
export function compileReadWriteSets(
  verdicts: ReadonlyMap<string, Derived>,
  schema: Schema,
  base: CompileRequest,
): ReadWriteProgram {
  const derived = new Map(verdicts);
  let sliced = [...derived.values()].filter((verdict) => verdict.kind === "sliced");
  let attempt = compile(sliced, base);
  if (attempt.wasm === null) {
    for (const verdict of sliced) {
      const alone = compile([verdict], base);
      if (alone.wasm === null) derived.set(verdict.handler, notCompiled(verdict, schema, alone.problem));
    }
    sliced = sliced.filter((verdict) => derived.get(verdict.handler) === verdict);
    attempt = compile(sliced, base);
  }
  if (attempt.wasm === null) {
    // Each compiles alone but not all together: then none, rather than a search for the pair.
    for (const verdict of sliced) derived.set(verdict.handler, notCompiled(verdict, schema, attempt.problem));
    attempt = compile([], base);
  }
  if (attempt.wasm === null) throw new Error(`the empty read/write-set program does not compile: ${attempt.problem}`);
  return { wasm: attempt.wasm, derived };
}

type Attempt = { readonly wasm: Uint8Array; readonly problem: "" } | { readonly wasm: null; readonly problem: string };

function compile(sliced: readonly Sliced[], base: CompileRequest): Attempt {
  const files = sliced.map(({ handler, source }) => [`read-write-sets/${handler}.ts`, source] as const);
  const paths = files.map(([path]) => path);
  const request: CompileRequest = {
    ...base,
    sources: new Map([...files, [ENTRY_FILE, loadingEntry(paths)]]),
    runtime: "stub",
    optimizeLevel: base.optimizeLevel === 0 ? 0 : 3,
  };
  const loaded = loadProgram(request);
  if (!loaded.ok) return { wasm: null, problem: problemOf(loaded.crash?.error, loaded.messages) };
  const schema = extractSchema(loaded.program, paths, { uniqueNames: false });
  const problem = schema.diagnostics[0];
  if (problem !== undefined) return { wasm: null, problem: problem.message };
  const { entry, grafts } = generateCode(schema, { respond: false });
  const compiled = compileProgram(
    loadProgram({ ...request, sources: new Map([...files, [ENTRY_FILE, entry]]), grafts }),
  );
  if (compiled.module === null) return { wasm: null, problem: problemOf(compiled.crash?.error, compiled.messages) };
  try {
    return { wasm: compiled.module.emit(), problem: "" };
  } catch (error) {
    return { wasm: null, problem: problemOf(error, []) };
  }
}

function problemOf(crash: unknown, messages: readonly as.DiagnosticMessage[]): string {
  if (crash !== undefined) return crash instanceof Error ? crash.message : String(crash);
  const error = messages.find((message) => as.isError(message));
  if (error === undefined) return "unknown";
  const place =
    error.range === null ? "" : ` (line ${error.range.source.lineAt(error.range.start)} of the emitted source)`;
  return `${error.message}${place}`;
}

function notCompiled(verdict: Sliced, schema: Schema, problem: string): Derived {
  const handler = schema.handlers.find(({ name }) => name === verdict.handler)!;
  const reason = diagnostic("read_write_set_not_compiled", {
    message: `${verdict.handler} runs in record mode: its read/write-set function does not compile: ${problem}`,
    primary: spanOfRange(handler.declaration.name.range),
    help: "this is not your mistake; the handler works, but not at the speed of its location",
  });
  const { readOnly, reads, writes } = verdict;
  return { kind: "refused", handler: verdict.handler, reason, readOnly, reads, writes };
}
