/**
 * The build of an application on one screen. Each line of `buildWith` is a phase, in the order in which they run, and the
 * comment beside it names its folder. The four phases that derive the set of one handler stand in `slice/derive.ts`.
 *
 * The analysis ends with the complete report about the handlers, and the modules follow from it. The phases up to the types
 * go on after mistakes, so that one build tells all of them. The others work on sources without mistakes.
 */
import { DEFAULT_LIMITS, type LeastLevel } from "@radical/protocol";
import { checkSources } from "./check/check-sources.ts";
import { checkTexts } from "./check/texts.ts";
import { checkIndexes } from "./check/check-indexes.ts";
import { checkUses } from "./check/check-uses.ts";
import { withoutConsequences } from "./check/consequences.ts";
import { ENTRY_FILE, loadingEntry } from "./codegen/generate.ts";
import { sdkWithLevel } from "./codegen/log-level.ts";
import { diagnostic } from "./diagnostics/catalogue.ts";
import { sortDiagnostics, spanOf, type Diagnostic, type SourceFile, type Span } from "./diagnostics/diagnostic.ts";
import type { FrontEnd, Slicer } from "./front.ts";
import { compileHandlers } from "./modules/handler-program.ts";
import { compileReadWriteSets } from "./modules/read-write-program.ts";
import { compileRewriting } from "./modules/rewriting-program.ts";
import { loadProgram, startCompiler, type CompileRequest } from "./parse/compile.ts";
import { FactsCompiler } from "./parse/facts.ts";
import { inferredShapes } from "./parse/inferred-shapes.ts";
import { fromProgram } from "./parse/messages.ts";
import { SyntaxTrees } from "./parse/syntax-trees.ts";
import { analysisOf, type Analysis } from "./report.ts";
import { abortCodesOf } from "./schema/abort-codes.ts";
import { isSetFunction, readDirections, type Directions } from "./schema/directions.ts";
import { extractSchema, rootsOf, type Schema } from "./schema/schema.ts";
import { readTags, taggedServices, wrappingFunctions } from "./schema/tags.ts";
import { handlersWithTasks, ticksWithCaller } from "./slice/known-accesses.ts";
import { directedAccesses } from "./slice/directed-accesses.ts";
import { keptAtPrimary } from "./slice/private-tables.ts";
import { secretKeys } from "./slice/secret-keys.ts";
import { verdictsOf } from "./slice/verdicts.ts";
import { checkWorkflows } from "./slice/workflow-uses.ts";

const SHARED_TREES = new SyntaxTrees();

export function buildWith(
  input: BuildInput,
  slicer: Slicer,
  { onAnalyzed, trees = SHARED_TREES }: BuildOptions = {},
): BuildResult {
  const { sources, handlerFiles } = input;
  const fallback = startOf(input);
  const tags = readTags(sources); // schema
  const services = taggedServices(tags);
  const request = { ...requestOf(input, trees), services };

  const { tooDeep, mistakes } = checkSources(sources, handlerFiles, trees, services); // check
  if (tooDeep) return failedWith(mistakes);
  const loaded = loadProgram({ ...request, shadowStack: false, allMistakes: true }); // parse
  const wrapping = wrappingFunctions(tags);
  const wraps = { overflow: "wraps", wrapping } as const;
  // Handlers may have results whose types the compiler finds.
  const started = startCompiler(loaded, (program) => new FactsCompiler(program, undefined, wraps)); // parse
  const schema = extractSchema(loaded.program, handlerFiles, {
    uniqueNames: true,
    isSetFunction: (declaration) => isSetFunction(tags, declaration),
    services,
  });
  const directed = readDirections(loaded.program, schema, tags);
  if (started.compiler !== null) started.compiler.roots = rootsOf(schema);
  const resolved = started.compile(); // parse
  resolved.module?.drop();
  const uses = checkUses(resolved, [...schema.tables, ...schema.brokenTables], fallback); // check
  const indexes = checkIndexes(resolved, schema.indexes); // check
  const texts = checkTexts(resolved); // check
  const messages = fromProgram(resolved, fallback);
  const compiled = [...messages, ...schema.diagnostics, ...directed.diagnostics, ...noHandlers(schema, fallback)];
  const places = { sources: loaded.program.sources, fallback };
  const found = withoutConsequences(
    { checked: mistakes, compiled, used: [...uses, ...indexes, ...texts.found] },
    places,
  );
  if (hasErrors(found)) return failedWith(found);

  const verdicts = verdictsOf(slicer, resolved, frontEnd(input, schema, directed), schema); // lower, infer, slice, emit
  const misused = checkWorkflows(resolved, schema, directed); // slice
  if (misused.length > 0) return failedWith([...found, ...misused]);
  const own = directedAccesses(resolved, request, sources, schema, directed); // slice
  const kept = keptAtPrimary(schema, directed, verdicts, own); // slice
  if (kept.diagnostics.length > 0) return failedWith([...found, ...kept.diagnostics]);
  const { directions, derived, known: accesses } = kept;
  const keyed = secretKeys(schema.handlers, derived, accesses); // slice
  if (keyed.length > 0) return failedWith([...found, ...keyed]);
  const aborts = abortCodesOf(resolved, schema); // schema
  const asking = handlersWithTasks(resolved, schema); // slice
  const told = [...found, ...ticksWithCaller(resolved, schema, directions.tasks)]; // slice
  const known = { accesses, aborts, asking, keptBy: kept.keptBy };
  const analysis = analysisOf(told, schema, directions, derived, known);
  onAnalyzed?.(analysis);
  if (input.modules === false) return { ...NOTHING, ...analysis };

  const typed = { ...request, inferred: inferredShapes(loaded.program).all };
  const checked = { arithmetic: { overflow: "traps", wrapping }, texts: texts.computed } as const;
  if (input.rewritten !== undefined) {
    const table = schema.tables.find(({ name }) => name === input.rewritten);
    const wasm = table === undefined ? NOTHING.wasm : compileRewriting(schema, table, { ...typed, ...checked }); // codegen, modules
    return { ...NOTHING, ...analysis, wasm };
  }
  const f = compileHandlers(schema, directions, { ...typed, ...checked }, fallback); // codegen, modules
  if (hasErrors(f.diagnostics)) return failedWith([...told, ...f.diagnostics]);
  const rw = compileReadWriteSets(derived, [...directions.given.values()], schema, typed, fallback); // codegen, modules
  const all = [...told, ...f.diagnostics, ...rw.diagnostics];
  if (hasErrors(all)) return failedWith(all);
  return {
    ...analysisOf(all, schema, directions, rw.derived, known),
    wasm: f.wasm,
    rwWasm: rw.wasm,
  };
}

export interface BuildInput {
  /** Every source file of the application. */
  readonly sources: readonly SourceFile[];
  /** Paths of those whose exported functions are handlers. */
  readonly handlerFiles: readonly string[];
  /** The files of `@radical/sdk`'s `assembly` folder, by path within it. */
  readonly sdk: readonly SourceFile[];
  /** The files of AssemblyScript's `std/assembly` folder, by path within it. */
  readonly stdlib: ReadonlyMap<string, string>;
  /** Default true; without, the build is several times faster and its modules slower. */
  readonly optimize?: boolean;
  /** The least level that handlers log. Default: all are logged. */
  readonly log?: LeastLevel;
  /** Default false: the explanations are those of what is expensive, and the analysis is faster. */
  readonly explain?: boolean;
  /** Default false; with it, the reports of the handlers have the products of the phases. */
  readonly emitIr?: boolean;
  /**
   * Default true; without, the build ends with the analysis. Only the compilation finds mistakes of given sets, and those of
   * the application as a whole.
   */
  readonly modules?: boolean;
  /**
   * The name of a table. With it, the build has no module of handlers, but the program that stores the items of this table anew.
   * It is empty if no table has the name.
   */
  readonly rewritten?: string;
}

/** The analysis, with what the compilation of the read/write-set functions changed in it, and the modules. */
export interface BuildResult extends Analysis {
  /** The handlers; empty unless `ok`, and where no modules were wanted. */
  readonly wasm: Uint8Array;
  /** The read/write-set functions; empty likewise. */
  readonly rwWasm: Uint8Array;
}

export interface BuildOptions {
  /** Called with the analysis as soon as it is there, unless there are errors. */
  readonly onAnalyzed?: ((analysis: Analysis) => void) | undefined;
  /** Default: those of all builds in this process. */
  readonly trees?: SyntaxTrees;
}

function requestOf(input: BuildInput, trees: SyntaxTrees): CompileRequest {
  return {
    sources: new Map([
      ...input.sources.map((file) => [file.path, file.text] as const),
      [ENTRY_FILE, loadingEntry(input.handlerFiles)],
    ]),
    entry: ENTRY_FILE,
    handlerFiles: input.handlerFiles,
    sdk: sdkWithLevel(input.sdk, input.log ?? "debug"),
    stdlib: input.stdlib,
    runtime: "incremental",
    optimizeLevel: input.optimize === false ? 0 : 2,
    memoryPages: DEFAULT_LIMITS.memoryPages,
    trees,
  };
}

function hasErrors(found: readonly Diagnostic[]): boolean {
  return found.some(({ severity }) => severity === "error");
}

function failedWith(found: readonly Diagnostic[]): BuildResult {
  return { ...NOTHING, diagnostics: sortDiagnostics(found) };
}

function noHandlers({ handlers }: Schema, fallback: Span): Diagnostic[] {
  if (handlers.length > 0) return [];
  return [
    diagnostic("no_handlers", {
      message: "The application has no handlers.",
      primary: fallback,
      help: "Export a function from a file in `handlers/`: `export function hello(name: string): string { … }`.",
    }),
  ];
}

const NOTHING: BuildResult = {
  ok: false,
  diagnostics: [],
  handlers: [],
  services: [],
  tables: [],
  indexes: [],
  records: {},
  named: {},
  wasm: new Uint8Array(),
  rwWasm: new Uint8Array(),
};

/** The input of the slicer: no handlers whose sets come from elsewhere. */
function frontEnd(
  { sources, explain = false, emitIr = false }: BuildInput,
  schema: Schema,
  { given, nearStorage, workflows, refused: transformations }: Directions,
): Omit<FrontEnd, "program" | "facts"> {
  return {
    sources,
    explain,
    emitIr,
    handlers: schema.handlers
      .filter(({ name }) => !given.has(name) && !nearStorage.has(name) && !workflows.has(name))
      .map(({ name, declaredIn, declaration }) => ({
        name,
        file: declaredIn,
        declaration,
        refused: transformations.get(name) ?? new Set(),
      })),
    tables: schema.tables.map(({ name, file, variable, declaration }) => ({ name, file, variable, declaration })),
    indexes: schema.indexes,
  };
}

/** Where problems go that belong to no place: the start of the first handler file. */
function startOf(input: BuildInput): Span {
  const path = input.handlerFiles[0] ?? "handlers";
  return spanOf({ path, text: input.sources.find((file) => file.path === path)?.text ?? "" }, 0, 0);
}
