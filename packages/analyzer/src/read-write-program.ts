/**
 * The second program of a module: the read/write-set functions, each a file of its own.
 *
 * One that does not compile is a mistake of the analyzer's. It is replaced step by step: by the slice without
 * transformations, then by none. That costs its handler the speed of its location, never the build.
 */
import { ENTRY_FILE, generateCode, loadingEntry } from "./codegen/generate.ts";
import { diagnostic } from "./diagnostics/catalogue.ts";
import type { Diagnostic } from "./diagnostics/diagnostic.ts";
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
  /** Of all handlers, and of what did not compile. */
  readonly diagnostics: readonly Diagnostic[];
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
      derived.set(verdict.handler, compiling(verdict, schema, base));
    }
    sliced = [...derived.values()].filter((verdict) => verdict.kind === "sliced");
    attempt = compile(sliced, base);
  }
  if (attempt.wasm === null) {
    // Each compiles alone but not all together: then none, rather than a search for the pair.
    for (const verdict of sliced) derived.set(verdict.handler, notCompiled(verdict, schema, attempt.problem));
    attempt = compile([], base);
  }
  if (attempt.wasm === null) throw new Error(`the empty read/write-set program does not compile: ${attempt.problem}`);
  const diagnostics = [...derived.values()].flatMap((verdict) =>
    verdict.kind === "sliced" ? verdict.diagnostics : [verdict.reason],
  );
  return { wasm: attempt.wasm, derived, diagnostics };
}

/** The verdict, or the first of what it falls back to that compiles by itself. */
function compiling(verdict: Sliced, schema: Schema, base: CompileRequest): Derived {
  const { wasm, problem } = compile([verdict], base);
  if (wasm !== null) return verdict;
  const { plain } = verdict;
  return plain?.kind === "sliced" ? compiling(plain, schema, base) : notCompiled(verdict, schema, problem);
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
  const compiled = compileProgram({ ...request, sources: new Map([...files, [ENTRY_FILE, entry]]), grafts });
  if (compiled.wasm === null) return { wasm: null, problem: problemOf(compiled.crash?.error, compiled.messages) };
  return { wasm: compiled.wasm, problem: "" };
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
