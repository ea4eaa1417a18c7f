/**
 * The build of an application, on one screen.
 *
 * The analysis: check → load → schema, directions → resolve → derive the read/write sets. It ends with all that can be
 * said about the handlers. The compilation: generate → compile f → compile f^rw. It ends with the modules.
 *
 * Each step works on what the ones before it gave; a step that finds errors is the last.
 */
import {
  DEFAULT_LIMITS,
  type HandlerTables,
  type Parameter,
  type RecordTypes,
  type ValueType,
} from "@radical/protocol";
import { checkSources } from "./check/check-sources.ts";
import { checkUses } from "./check/check-uses.ts";
import { ENTRY_FILE, generateCode, loadingEntry } from "./codegen/generate.ts";
import { diagnostic } from "./diagnostics/catalogue.ts";
import { sortDiagnostics, spanOf, type Diagnostic, type SourceFile, type Span } from "./diagnostics/diagnostic.ts";
import type { AccessPattern, Derived, Explanation, FrontEnd, Steps, Transformation } from "./front.ts";
import { type as, ElementKind } from "./parse/assemblyscript.ts";
import {
  compileProgram,
  compileWith,
  loadProgram,
  type CompiledProgram,
  type CompileRequest,
  type LoadedProgram,
} from "./parse/compile.ts";
import { FactsCompiler, type Roots } from "./parse/facts.ts";
import { fromCompiler, fromCrash } from "./parse/messages.ts";
import { spanOfRange } from "./parse/span.ts";
import { SyntaxTrees } from "./parse/syntax-trees.ts";
import { compileReadWriteSets } from "./read-write-program.ts";
import { isSetFunction, readDirections, type Directions, type GivenSet } from "./schema/directions.ts";
import { extractSchema, recordTypes, type HandlerSchema, type Schema } from "./schema/schema.ts";
import { readTags } from "./schema/tags.ts";
import { tablesNamed } from "./slice/access-patterns.ts";
import { instanceOf, knownAccesses, type KnownAccesses } from "./slice/known-accesses.ts";

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
  /** Default false: the explanations are those of what is expensive, and the analysis is faster. */
  readonly explain?: boolean;
  /**
   * Default true; without, the build ends with the analysis. Only the compilation finds mistakes of given sets, and those of
   * the application as a whole.
   */
  readonly modules?: boolean;
}

/** How the accesses of a handler are known; see `HandlerPlan` of the protocol. */
export type PlanReport =
  | { readonly kind: "sliced" }
  /** It could not be sliced. */
  | { readonly kind: "recorded"; readonly reason: Diagnostic }
  /** The developer wrote its read/write-set function. */
  | { readonly kind: "given"; readonly function: { readonly name: string; readonly span: Span } }
  /** The developer chose it, here. */
  | { readonly kind: "near-storage"; readonly span: Span };

export interface HandlerReport {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  /** The name in its declaration. */
  readonly span: Span;
  readonly parameters: readonly Parameter[];
  /** Null: the handler returns nothing. */
  readonly result: ValueType | null;
  readonly plan: PlanReport;
  /** No path of the handler writes. */
  readonly readOnly: boolean;
  /** The tag `@speculative`, with which clients may see a result before its confirmation; null: there is none. */
  readonly speculative: Span | null;
  readonly reads: readonly AccessPattern[];
  readonly writes: readonly AccessPattern[];
  /** Every table that a run may touch; null: that is not known. */
  readonly tables: HandlerTables | null;
  readonly transformations: readonly Transformation[];
  readonly explanations: readonly Explanation[];
  readonly steps: Steps;
  /** Source of the read/write-set function; null if there is none. */
  readonly rwSource: string | null;
}

export interface TableReport {
  readonly name: string;
  readonly type: ValueType;
  /** The variable in its declaration. */
  readonly span: Span;
}

/** What is known before any WebAssembly is made. */
export interface Analysis {
  /** Whether no diagnostic is an error. */
  readonly ok: boolean;
  /** Sorted by place. */
  readonly diagnostics: readonly Diagnostic[];
  /** Sorted by name. */
  readonly handlers: readonly HandlerReport[];
  readonly tables: readonly TableReport[];
  readonly records: RecordTypes;
}

/** The analysis, with what the compilation of the read/write-set functions changed in it, and the modules. */
export interface BuildResult extends Analysis {
  /** The handlers; empty unless `ok`, and where no modules were wanted. */
  readonly wasm: Uint8Array;
  /** The read/write-set functions; empty likewise. */
  readonly rwWasm: Uint8Array;
}

/** The back half of the analyzer. */
export interface Slicer {
  readonly deriveReadWriteSets: (front: FrontEnd) => readonly Derived[];
}

export interface BuildOptions {
  /** Called with the analysis as soon as it is there, unless there are errors. */
  readonly onAnalyzed?: ((analysis: Analysis) => void) | undefined;
  /** Default: those of all builds in this process. */
  readonly trees?: SyntaxTrees;
}

const SHARED_TREES = new SyntaxTrees();

export function buildWith(
  input: BuildInput,
  slicer: Slicer,
  { onAnalyzed, trees = SHARED_TREES }: BuildOptions = {},
): BuildResult {
  const diagnostics: Diagnostic[] = [];
  const failed = (): BuildResult => ({ ...NOTHING, diagnostics: sortDiagnostics(diagnostics) });
  const hasErrors = (): boolean => diagnostics.some((found) => found.severity === "error");
  const fallback = startOf(input);

  diagnostics.push(...checkSources(input.sources, input.handlerFiles, trees));
  if (hasErrors()) return failed();

  const request = requestOf(input, trees);
  const loaded = loadProgram({ ...request, shadowStack: false });
  diagnostics.push(...problemsOf(loaded, fallback));
  if (hasErrors()) return failed();

  const tags = readTags(input.sources);
  const schema = extractSchema(loaded.program, input.handlerFiles, {
    uniqueNames: true,
    isSetFunction: (declaration) => isSetFunction(tags, declaration),
  });
  const directions = readDirections(loaded.program, schema, tags);
  diagnostics.push(...schema.diagnostics, ...directions.diagnostics, ...problemsOf(loaded, fallback));
  if (schema.handlers.length === 0 && !hasErrors()) diagnostics.push(noHandlers(fallback));
  if (hasErrors()) return failed();

  const resolved = compileWith(loaded, (program) => new FactsCompiler(program, rootsOf(schema)));
  resolved.module?.drop();
  const uses = checkUses(resolved, schema.tables, fallback);
  // What has no place in the developer's files follows from what they use.
  diagnostics.push(
    ...uses,
    ...problemsOf(resolved, fallback).filter(({ primary }) => uses.length === 0 || primary !== fallback),
  );
  if (hasErrors()) return failed();

  const derived = derive(slicer, resolved, frontEnd(input, schema, directions), schema);
  const directed = directedAccesses(resolved, input.sources, schema, directions);
  const known = new Map([...directed, ...givenAccesses(request, input.sources, schema, directions, directed)]);
  const analysis = analysisOf(diagnostics, schema, directions, derived, known);
  onAnalyzed?.(analysis);
  if (input.modules === false) return { ...NOTHING, ...analysis };

  const { entry, grafts } = generateCode(schema, { writes: true });
  const f = compileProgram(
    loadProgram({ ...request, sources: new Map([...request.sources, [ENTRY_FILE, entry]]), grafts }),
  );
  diagnostics.push(...problemsOf(f, fallback), ...checkUses(f, schema.tables, fallback));
  if (hasErrors() || f.module === null) {
    f.module?.drop();
    return failed();
  }
  const wasm = f.module.emit();

  const rw = compileReadWriteSets(derived, [...directions.given.values()], schema, request, fallback);
  diagnostics.push(...rw.diagnostics);
  if (hasErrors()) return failed();
  return { ...analysisOf(diagnostics, schema, directions, rw.derived, known), wasm, rwWasm: rw.wasm };
}

function requestOf(input: BuildInput, trees: SyntaxTrees): CompileRequest {
  return {
    sources: new Map([
      ...input.sources.map((file) => [file.path, file.text] as const),
      [ENTRY_FILE, loadingEntry(input.handlerFiles)],
    ]),
    entry: ENTRY_FILE,
    sdk: new Map(input.sdk.map((file) => [file.path, file.text])),
    stdlib: input.stdlib,
    runtime: "incremental",
    optimizeLevel: input.optimize === false ? 0 : 2,
    memoryPages: DEFAULT_LIMITS.memoryPages,
    trees,
  };
}

/** What the compiler said so far. */
function problemsOf({ messages, crash }: LoadedProgram, fallback: Span): Diagnostic[] {
  return [...fromCompiler(messages, fallback), ...(crash === null ? [] : [fromCrash(crash, fallback)])];
}

function noHandlers(fallback: Span): Diagnostic {
  return diagnostic("no_handlers", {
    message: "there are no handlers",
    primary: fallback,
    help: "a handler is an exported function of a file in handlers/: export function hello(name: string): string { … }",
  });
}

function rootsOf({ handlers, records }: Schema): Roots {
  return { handlers: handlers.map(({ instance }) => instance), records: records.map((record) => record.class) };
}

/** `found`: the diagnostics but those of the verdicts. */
function analysisOf(
  found: readonly Diagnostic[],
  schema: Schema,
  directions: Directions,
  derived: ReadonlyMap<string, Derived>,
  known: KnownByHandler,
): Analysis {
  const ofVerdicts = [...derived.values()].flatMap((verdict) =>
    verdict.kind === "sliced" ? verdict.diagnostics : [verdict.reason],
  );
  return {
    ok: true,
    diagnostics: sortDiagnostics([...found, ...ofVerdicts]),
    handlers: schema.handlers.map((handler) =>
      report(handler, directions, derived.get(handler.name), known.get(handler.name)),
    ),
    tables: schema.tables.map(({ name, type, declaration }) => ({
      name,
      type,
      span: spanOfRange(declaration.name.range),
    })),
    records: recordTypes(schema.records),
  };
}

const NOTHING: BuildResult = {
  ok: false,
  diagnostics: [],
  handlers: [],
  tables: [],
  records: {},
  wasm: new Uint8Array(),
  rwWasm: new Uint8Array(),
};

/** The verdicts by handler; should the slicer fail at one, none is sliced: never an outage. */
function derive(
  slicer: Slicer,
  { program, compiler }: CompiledProgram<FactsCompiler>,
  application: Omit<FrontEnd, "program" | "facts">,
  schema: Schema,
): ReadonlyMap<string, Derived> {
  let verdicts: readonly Derived[] = [];
  let words = "the analysis gave no verdict";
  try {
    if (compiler === null) throw new Error("nothing was resolved");
    verdicts = slicer.deriveReadWriteSets({ ...application, program, facts: compiler.facts });
  } catch (error) {
    words = `the analysis failed: ${error instanceof Error ? error.message : String(error)}`;
  }
  const knownOf = ({ declaration }: HandlerSchema): KnownAccesses =>
    compiler === null ? NOT_KNOWN : knownAccesses({ ...application, program, facts: compiler.facts }, declaration);
  const byName = new Map(verdicts.map((verdict) => [verdict.handler, verdict]));
  return new Map(
    application.handlers.map(({ name }) => {
      const handler = schema.handlers.find((candidate) => candidate.name === name)!;
      return [name, byName.get(name) ?? refused(handler, words, knownOf(handler))];
    }),
  );
}

const NOT_KNOWN: KnownAccesses = { readOnly: false, reads: [], writes: [], tables: null, steps: null };

function refused(handler: HandlerSchema, words: string, { steps, ...known }: KnownAccesses): Derived {
  const reason = diagnostic("analyzer_crash", {
    message: `${handler.name} runs in record mode: ${words}`,
    primary: nameSpan(handler),
    help: "this is not your mistake; the handler works, but not at the speed of its location",
  });
  return { kind: "refused", handler: handler.name, reason, ...known, steps: { handler: steps, readWriteSet: null } };
}

/** What the slicer gets to see: no handlers whose sets come from elsewhere. */
function frontEnd(
  { sources, explain = false }: BuildInput,
  schema: Schema,
  { given, nearStorage, refused: transformations }: Directions,
): Omit<FrontEnd, "program" | "facts"> {
  return {
    sources,
    explain,
    handlers: schema.handlers
      .filter(({ name }) => !given.has(name) && !nearStorage.has(name))
      .map(({ name, declaredIn, declaration }) => ({
        name,
        file: declaredIn,
        declaration,
        refused: transformations.get(name) ?? new Set(),
      })),
    tables: schema.tables.map(({ name, file, variable, declaration }) => ({ name, file, variable, declaration })),
  };
}

function report(
  handler: HandlerSchema,
  directions: Directions,
  derived: Derived | undefined,
  known: KnownAccesses | undefined,
): HandlerReport {
  const span = nameSpan(handler);
  return {
    name: handler.name,
    file: span.file,
    line: span.line,
    span,
    parameters: handler.parameters.map(({ name, type, optional }) => ({ name, type, optional })),
    result: handler.resultType,
    speculative: directions.speculative.get(handler.name) ?? null,
    ...planOf(handler, directions, derived, known),
  };
}

function planOf(
  { name }: HandlerSchema,
  { given, nearStorage }: Directions,
  derived: Derived | undefined,
  known = NOT_KNOWN,
): Omit<HandlerReport, "name" | "file" | "line" | "span" | "parameters" | "result" | "speculative"> {
  const nothing = { transformations: [], explanations: [], rwSource: null };
  const { steps: knownSteps, ...patterns } = known;
  const set = given.get(name);
  if (set !== undefined) {
    const plan = { kind: "given", function: { name: set.name, span: set.span } } as const;
    return { ...nothing, ...patterns, plan, steps: { handler: null, readWriteSet: knownSteps }, rwSource: set.source };
  }
  const chosen = nearStorage.get(name);
  if (chosen !== undefined) {
    const plan = { kind: "near-storage", span: chosen } as const;
    return { ...nothing, ...patterns, plan, steps: { handler: knownSteps, readWriteSet: null } };
  }
  if (derived === undefined) throw new Error(`${name} has no plan`);
  const { readOnly, reads, writes, tables, steps } = derived;
  const common = { readOnly, reads, writes, tables, steps };
  if (derived.kind === "refused") return { ...nothing, ...common, plan: { kind: "recorded", reason: derived.reason } };
  const { transformations, explanations, source } = derived;
  return { ...common, plan: { kind: "sliced" }, transformations, explanations, rwSource: source };
}

/** Of handlers without a slice, by name. */
type KnownByHandler = ReadonlyMap<string, KnownAccesses>;

/** Of the handlers themselves that run near storage or have a given set. */
function directedAccesses(
  { program, compiler }: CompiledProgram<FactsCompiler>,
  sources: readonly SourceFile[],
  schema: Schema,
  { given, nearStorage }: Directions,
): KnownByHandler {
  if (compiler === null) return new Map();
  const front = { program, facts: compiler.facts, sources, tables: schema.tables };
  return new Map(
    schema.handlers
      .filter(({ name }) => nearStorage.has(name) || given.has(name))
      .map(({ name, declaration }) => [name, knownAccesses(front, declaration)]),
  );
}

/**
 * Given sets are compiled apart: they may say what handlers may not. What is wrong with them is told later. Whether a
 * handler writes is its own matter, whatever is said of it.
 */
function givenAccesses(
  request: CompileRequest,
  sources: readonly SourceFile[],
  { handlers }: Schema,
  { given }: Directions,
  handlersOwn: KnownByHandler,
): KnownByHandler {
  const found = new Map<string, KnownAccesses>();
  if (given.size === 0) return found;
  const loaded = loadProgram({ ...request, shadowStack: false });
  const { program } = loaded;
  if (!loaded.ok) return found;
  const schema = extractSchema(program, [...new Set(handlers.map(({ exportedBy }) => exportedBy))], {
    uniqueNames: true,
    isSetFunction: (declaration) =>
      [...given.values()].some(
        ({ file, span }) =>
          span.start === declaration.name.range.start && file === declaration.name.range.source.normalizedPath,
      ),
  });
  const declared = Array.from(given.values(), (set) => ({ set, declaration: declarationOf(set, program) }));
  const roots = declared.flatMap(({ declaration }) => (declaration && instanceOf(program, declaration)) ?? []);
  const resolved = compileWith(loaded, () => new FactsCompiler(program, { ...rootsOf(schema), handlers: roots }));
  resolved.module?.drop();
  const { compiler } = resolved;
  if (compiler === null) return found;
  const front = { program, facts: compiler.facts, sources, tables: schema.tables };
  for (const { set, declaration } of declared)
    if (declaration !== null) {
      const { readOnly, tables } = handlersOwn.get(set.handler) ?? NOT_KNOWN;
      const said = knownAccesses(front, declaration, { isGivenSet: true });
      found.set(set.handler, { ...said, readOnly, tables: allTables(tables, said.tables) });
    }
  return found;
}

/** What either may touch: a given set may name more than its handler. */
function allTables(a: HandlerTables | null, b: HandlerTables | null): HandlerTables | null {
  return a === null || b === null ? null : tablesNamed([...a.reads, ...b.reads], [...a.writes, ...b.writes]);
}

function declarationOf({ file, name }: GivenSet, program: as.Program): as.FunctionDeclaration | null {
  const element = program.filesByName.get(file.replace(/\.ts$/, ""))?.members?.get(name);
  return element?.kind === ElementKind.FunctionPrototype ? (element.declaration as as.FunctionDeclaration) : null;
}

function nameSpan(handler: HandlerSchema): Span {
  return spanOfRange(handler.declaration.name.range);
}

/** Where problems go that belong to no place: the start of the first handler file. */
function startOf(input: BuildInput): Span {
  const path = input.handlerFiles[0] ?? "handlers";
  return spanOf({ path, text: input.sources.find((file) => file.path === path)?.text ?? "" }, 0, 0);
}
