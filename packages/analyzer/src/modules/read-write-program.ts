/**
 * The second program of a module: the read/write-set functions. Each slice is a file of its own; given sets stay in the
 * developer's files, which are part of the program if there are any.
 *
 * A slice that does not compile is a mistake of the analyzer's. It is replaced step by step: by the slice without
 * transformations, then by none. That costs its handler the speed of its location, never the build. A given set that
 * does not compile is the developer's mistake.
 */
import { ENTRY_FILE, generateCode, loadingEntry } from "../codegen/generate.ts";
import { diagnostic } from "../diagnostics/catalogue.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { LONGER_HELP, SLOWER_HELP } from "../diagnostics/words.ts";
import { checkUses } from "../check/check-uses.ts";
import type { Derived } from "../front.ts";
import {
  compileProgram,
  loadProgram,
  nameOf,
  SDK_LIBRARY,
  type CompiledProgram,
  type CompileRequest,
} from "../parse/compile.ts";
import type { Graft } from "../parse/graft.ts";
import { fromCompiler, fromCrash } from "../parse/messages.ts";
import { exportedName } from "../parse/objects.ts";
import { as } from "../parse/assemblyscript.ts";
import { spanOfRange } from "../parse/span.ts";
import type { GivenSet } from "../schema/directions.ts";
import { handlersWithBlobs } from "../schema/blobs.ts";
import { extractSchema, RESERVED_PREFIX, type Schema } from "../schema/schema.ts";

type Sliced = Extract<Derived, { kind: "sliced" }>;

export interface ReadWriteProgram {
  /** Always a valid module, if need be one without functions. */
  readonly wasm: Uint8Array;
  /** The final verdicts by handler. */
  readonly derived: ReadonlyMap<string, Derived>;
  /** The mistakes of the given sets. */
  readonly diagnostics: readonly Diagnostic[];
}

/** `base`: how the application itself is compiled. `fallback`: where problems go that belong to no place. */
export function compileReadWriteSets(
  verdicts: ReadonlyMap<string, Derived>,
  given: readonly GivenSet[],
  schema: Schema,
  base: CompileRequest,
  fallback: Span,
): ReadWriteProgram {
  const wrong = given.length === 0 ? [] : checkGivenSets(given, schema, base, fallback);
  if (wrong.some(({ severity }) => severity === "error"))
    return { wasm: new Uint8Array(), derived: verdicts, diagnostics: wrong };
  const withBlobs = handlersWithBlobs(schema);
  const compile = (slices: readonly Sliced[]): Attempt => compileTogether(slices, given, base, withBlobs);
  const derived = new Map(verdicts);
  let sliced = [...derived.values()].filter((verdict) => verdict.kind === "sliced");
  let attempt = compile(sliced);
  if (attempt.wasm === null) {
    for (const verdict of sliced) {
      derived.set(verdict.handler, compiling(verdict, schema, base));
    }
    sliced = [...derived.values()].filter((verdict) => verdict.kind === "sliced");
    attempt = compile(sliced);
  }
  if (attempt.wasm === null) {
    // Each compiles alone but not all together: then none, rather than a search for the pair.
    for (const verdict of sliced) derived.set(verdict.handler, notCompiled(verdict, schema, attempt.problem));
    attempt = compile([]);
  }
  if (attempt.wasm === null)
    throw new Error(`the read/write-set program without slices does not compile: ${attempt.problem}`);
  return { wasm: attempt.wasm, derived, diagnostics: wrong };
}

/** The verdict, or the first of its fallbacks that compiles by itself. */
function compiling(verdict: Sliced, schema: Schema, base: CompileRequest): Derived {
  const { wasm, problem } = compileTogether([verdict], [], base, handlersWithBlobs(schema));
  if (wasm !== null) return verdict;
  const { plain } = verdict;
  if (plain?.kind !== "sliced") return notCompiled(verdict, schema, problem);
  const warning = diagnostic("sliced_without_transformations", {
    message: `The read/write-set function of ${verdict.handler} goes without transformations, because it does not compile with them: ${problem}.`,
    primary: spanOfRange(schema.handlers.find(({ name }) => name === verdict.handler)!.declaration.name.range),
    help: LONGER_HELP,
  });
  return compiling({ ...plain, diagnostics: [...plain.diagnostics, warning] }, schema, base);
}

type Attempt = { readonly compiled: Pick<CompiledProgram, "program" | "messages" | "crash" | "compiler"> } & (
  | { readonly wasm: Uint8Array; readonly problem: "" }
  | { readonly wasm: null; readonly problem: string }
);

/** `withBlobs`: the handlers of the application that are given Blobs; a slice need not look at them. */
function compileTogether(
  sliced: readonly Sliced[],
  given: readonly GivenSet[],
  base: CompileRequest,
  withBlobs: ReadonlySet<string>,
): Attempt {
  const files = [
    ...sliced.map(({ handler, source }) => [`${FOLDER}/${handler}.ts`, source] as const),
    ...given.map((set) => [`${FOLDER}/${set.handler}.ts`, reExport(set)] as const),
  ];
  const paths = files.map(([path]) => path);
  const exports = given.map(exportOf);
  const sources = new Map([...(given.length === 0 ? [] : base.sources), ...files]);
  const request: CompileRequest = {
    ...base,
    sources: new Map([...sources, [ENTRY_FILE, loadingEntry(paths)]]),
    grafts: merged(exports),
    runtime: "stub",
    optimizeLevel: base.optimizeLevel === 0 ? 0 : 3,
  };
  const loaded = loadProgram(request);
  if (!loaded.ok) {
    const problem = problemOf(loaded.crash?.error, loaded.messages);
    return { wasm: null, problem, compiled: { ...loaded, compiler: null } };
  }
  const schema = extractSchema(loaded.program, paths, { uniqueNames: false });
  const problem = schema.diagnostics[0];
  if (problem !== undefined) return { wasm: null, problem: problem.message, compiled: { ...loaded, compiler: null } };
  const { entry, grafts } = generateCode(schema, { writes: false, withBlobs });
  const compiled = compileProgram(
    loadProgram({
      ...request,
      sources: new Map([...sources, [ENTRY_FILE, entry]]),
      grafts: merged([...exports, ...grafts]),
    }),
  );
  const failed = (words: string): Attempt => ({ wasm: null, problem: words, compiled });
  if (compiled.module === null) return failed(problemOf(compiled.crash?.error, compiled.messages));
  try {
    return { wasm: compiled.module.emit(), problem: "", compiled };
  } catch (error) {
    return failed(problemOf(error, []));
  }
}

const FOLDER = "read-write-sets";

/** A given set need not be exported by its file. */
function exportOf({ handler, file, name }: GivenSet): Graft {
  return { file, text: `export { ${name} as ${setName(handler)} };\n` };
}

function reExport({ handler, file }: GivenSet): string {
  const from = JSON.stringify(`../${file.replace(/\.ts$/, "")}`);
  return `export { ${setName(handler)} as ${exportedName(handler)} } from ${from};\n`;
}

function setName(handler: string): string {
  return `${RESERVED_PREFIX}_set_${exportedName(handler)}`;
}

/** One graft for each file. */
function merged(grafts: readonly Graft[]): Graft[] {
  const texts = new Map<string, string>();
  for (const { file, text } of grafts) texts.set(file, `${texts.get(file) ?? ""}${text}`);
  return Array.from(texts, ([file, text]) => ({ file, text }));
}

/** The mistakes of the given sets by themselves: they are the developer's code, and its rules hold for them. */
function checkGivenSets(
  given: readonly GivenSet[],
  schema: Schema,
  base: CompileRequest,
  fallback: Span,
): readonly Diagnostic[] {
  const { compiled } = compileTogether([], given, { ...base, optimizeLevel: 0 }, handlersWithBlobs(schema));
  const diagnostics = fromCompiler(compiled.messages, fallback);
  if (compiled.crash !== null) diagnostics.push(fromCrash(compiled.crash, fallback));
  const { compiler } = compiled;
  if (compiler === null) return diagnostics;
  diagnostics.push(...checkUses(compiled, schema.tables, fallback, "read-write-set"));
  for (const [called, sites] of compiler.calls) {
    const effect = EFFECTS.get(nameOf(called));
    if (effect === undefined) continue;
    for (const { node } of sites) {
      const primary = spanOfRange(node.range);
      const set = given.find(({ declaration: { file, start, end } }) => {
        return file === primary.file && start <= primary.start && primary.end <= end;
      });
      if (set === undefined) continue;
      const [message, help] = effect;
      diagnostics.push(
        diagnostic("given_set_effect", {
          message: `The read/write-set function ${set.name} ${message}.`,
          primary,
          help,
        }),
      );
    }
  }
  return diagnostics;
}

const SDK_INDEX = `${SDK_LIBRARY}/index`;

type Effect = readonly [message: string, help: string];

const WRITES: Effect = ["can't write: it only says which items the handler writes", "Write `table.willPut(key)`."];
const DELETES: Effect = [
  "can't delete: it only says which items the handler deletes",
  "Write `table.willDelete(key)`.",
];

/** The effects that a given set itself may not have, by the function called. A function that it shares with handlers may. */
const EFFECTS: ReadonlyMap<string, Effect> = new Map<string, Effect>([
  [`${SDK_INDEX}/Table#put`, WRITES],
  [`${SDK_LIBRARY}/counters/Counter#put`, WRITES],
  [
    `${SDK_LIBRARY}/counters/Counter#add`,
    [
      "can't add: it only says which numbers the handler reads and writes",
      "Write `counter.touch(key)` and `counter.willPut(key)`.",
    ],
  ],
  [`${SDK_INDEX}/Table#delete`, DELETES],
  [`${SDK_LIBRARY}/counters/Counter#delete`, DELETES],
  [`${SDK_INDEX}/abort`, ["can't abort: it only says which items the handler touches", "Write `return;`."]],
  [
    `${SDK_INDEX}/random`,
    [
      "draws another number than the handler, because a draw belongs to the place of its call",
      "Draw in a function that both call.",
    ],
  ],
  [
    `${SDK_INDEX}/uuid`,
    [
      "draws another id than the handler, because a draw belongs to the place of its call",
      "Draw in a function that both call.",
    ],
  ],
]);

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
    message: `The handler ${verdict.handler} runs in record mode, because its read/write-set function does not compile: ${problem}.`,
    primary: spanOfRange(handler.declaration.name.range),
    help: SLOWER_HELP,
  });
  const { products, readOnly, reads, writes, tables } = verdict;
  const steps = { ...verdict.steps, readWriteSet: null };
  return { kind: "refused", handler: verdict.handler, reason, products, readOnly, reads, writes, tables, steps };
}
