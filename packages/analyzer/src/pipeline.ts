/**
 * The build of an application, on one screen: check → load → schema → generate → compile f → derive the read/write
 * sets → compile f^rw. Each step works on what the one before it gave; a step that finds errors is the last.
 */
import { DEFAULT_LIMITS, type Parameter, type RecordTypes, type ValueType } from "@radical/protocol";
import { checkSources } from "./check/check-sources.ts";
import { checkUses } from "./check/check-uses.ts";
import { ENTRY_FILE, generateCode, loadingEntry } from "./codegen/generate.ts";
import { diagnostic } from "./diagnostics/catalogue.ts";
import { sortDiagnostics, spanOf, type Diagnostic, type SourceFile, type Span } from "./diagnostics/diagnostic.ts";
import type { AccessPattern, Derived, FrontEnd } from "./front.ts";
import { compileProgram, loadProgram, type CompileRequest, type RadicalCompiler } from "./parse/compile.ts";
import type { as } from "./parse/assemblyscript.ts";
import { fromCompiler, fromCrash } from "./parse/messages.ts";
import { spanOfRange } from "./parse/span.ts";
import { SyntaxTrees } from "./parse/syntax-trees.ts";
import { compileReadWriteSets } from "./read-write-program.ts";
import { extractSchema, recordTypes, type HandlerSchema, type Schema } from "./schema/schema.ts";

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
}

/** How the accesses of a handler are known; see `HandlerPlan` of the protocol. */
export type PlanReport =
  | { readonly kind: "sliced" }
  /** It could not be sliced. */
  | { readonly kind: "recorded"; readonly reason: Diagnostic }
  | { readonly kind: "given" }
  | { readonly kind: "near-storage" };

export interface HandlerReport {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly parameters: readonly Parameter[];
  /** Null: the handler returns nothing. */
  readonly result: ValueType | null;
  readonly plan: PlanReport;
  /** No path of the handler writes. */
  readonly readOnly: boolean;
  readonly reads: readonly AccessPattern[];
  readonly writes: readonly AccessPattern[];
  /** Source of the read/write-set function; null if there is none. */
  readonly rwSource: string | null;
}

export interface TableReport {
  readonly name: string;
  readonly type: ValueType;
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
  /** The handlers; empty unless `ok`. */
  readonly wasm: Uint8Array;
  /** The read/write-set functions; empty unless `ok`. */
  readonly rwWasm: Uint8Array;
}

/** The back half of the analyzer. */
export interface Slicer<Compiler extends RadicalCompiler> {
  /** Makes the compiler that writes down what the slicer wants to know. */
  readonly createCompiler: (program: as.Program) => Compiler;
  readonly deriveReadWriteSets: (front: FrontEnd<Compiler>) => readonly Derived[];
}

export interface BuildOptions {
  /** Called with the analysis as soon as it is there, unless it failed. */
  readonly onAnalyzed?: ((analysis: Analysis) => void) | undefined;
  /** Default: those of all builds in this process. */
  readonly trees?: SyntaxTrees;
}

const SHARED_TREES = new SyntaxTrees();

export function buildWith<Compiler extends RadicalCompiler>(
  input: BuildInput,
  slicer: Slicer<Compiler>,
  { onAnalyzed, trees = SHARED_TREES }: BuildOptions = {},
): BuildResult {
  const diagnostics: Diagnostic[] = [];
  const failed = (): BuildResult => ({ ...NOTHING, diagnostics: sortDiagnostics(diagnostics) });
  const hasErrors = (): boolean => diagnostics.some((found) => found.severity === "error");

  diagnostics.push(...checkSources(input.sources, input.handlerFiles, trees));
  if (hasErrors()) return failed();

  const fallback = startOf(input);
  const request: CompileRequest = {
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
  const loaded = loadProgram(request);
  if (loaded.crash !== null) diagnostics.push(fromCrash(loaded.crash, fallback));
  if (!loaded.ok) {
    diagnostics.push(...fromCompiler(loaded.messages, fallback));
    return failed();
  }

  const schema = extractSchema(loaded.program, input.handlerFiles, { uniqueNames: true });
  diagnostics.push(...schema.diagnostics, ...fromCompiler(loaded.program.diagnostics, fallback));
  if (schema.handlers.length === 0 && !hasErrors()) {
    diagnostics.push(
      diagnostic("no_handlers", {
        message: "there are no handlers",
        primary: fallback,
        help: "a handler is an exported function of a file in handlers/: export function hello(name: string): string { … }",
      }),
    );
  }
  if (hasErrors()) return failed();

  const generated = generateCode(schema, { respond: true });
  const f = compileProgram({
    ...request,
    sources: new Map([...request.sources, [ENTRY_FILE, generated.entry]]),
    grafts: generated.grafts,
    createCompiler: slicer.createCompiler,
  });
  diagnostics.push(...fromCompiler(f.messages, fallback));
  if (f.crash !== null) diagnostics.push(fromCrash(f.crash, fallback));
  const compiler = f.compiler as Compiler | null;
  if (compiler !== null) diagnostics.push(...checkUses(f.program, compiler, schema.tables, fallback));
  if (f.module === null || compiler === null || hasErrors()) {
    f.module?.drop();
    return failed();
  }

  const front = { sources: input.sources, program: f.program, compiler, ...declarations(schema) };
  const derived = derive(slicer, front, schema);
  onAnalyzed?.(analysisOf(diagnostics, schema, derived));

  const wasm = f.module.emit();
  const rw = compileReadWriteSets(derived, schema, request);
  return { ...analysisOf(diagnostics, schema, rw.derived), wasm, rwWasm: rw.wasm };
}

/** `found`: the diagnostics but those of the verdicts. */
function analysisOf(found: readonly Diagnostic[], schema: Schema, derived: ReadonlyMap<string, Derived>): Analysis {
  const ofVerdicts = [...derived.values()].flatMap((verdict) =>
    verdict.kind === "sliced" ? verdict.diagnostics : [verdict.reason],
  );
  return {
    ok: true,
    diagnostics: sortDiagnostics([...found, ...ofVerdicts]),
    handlers: schema.handlers.map((handler) => report(handler, derived.get(handler.name)!)),
    tables: schema.tables.map(({ name, type }) => ({ name, type })),
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
function derive<Compiler extends RadicalCompiler>(
  slicer: Slicer<Compiler>,
  front: FrontEnd<Compiler>,
  schema: Schema,
): ReadonlyMap<string, Derived> {
  let verdicts: readonly Derived[] = [];
  let words = "the analysis gave no verdict";
  try {
    verdicts = slicer.deriveReadWriteSets(front);
  } catch (error) {
    words = `the analysis failed: ${error instanceof Error ? error.message : String(error)}`;
  }
  const byName = new Map(verdicts.map((verdict) => [verdict.handler, verdict]));
  return new Map(schema.handlers.map((handler) => [handler.name, byName.get(handler.name) ?? refused(handler, words)]));
}

function refused(handler: HandlerSchema, words: string): Derived {
  const reason = diagnostic("analyzer_crash", {
    message: `${handler.name} runs in record mode: ${words}`,
    primary: nameSpan(handler),
    help: "this is not your mistake; the handler works, but not at the speed of its location",
  });
  return { kind: "refused", handler: handler.name, reason, readOnly: false, reads: [], writes: [] };
}

function declarations(schema: Schema): Pick<FrontEnd, "handlers" | "tables"> {
  return {
    handlers: schema.handlers.map(({ name, declaredIn, declaration }) => ({ name, file: declaredIn, declaration })),
    tables: schema.tables.map(({ name, file, variable, declaration }) => ({ name, file, variable, declaration })),
  };
}

function report(handler: HandlerSchema, derived: Derived): HandlerReport {
  const span = nameSpan(handler);
  return {
    name: handler.name,
    file: span.file,
    line: span.line,
    parameters: handler.parameters.map(({ name, type, optional }) => ({ name, type, optional })),
    result: handler.resultType,
    plan: derived.kind === "sliced" ? { kind: "sliced" } : { kind: "recorded", reason: derived.reason },
    readOnly: derived.readOnly,
    reads: derived.reads,
    writes: derived.writes,
    rwSource: derived.kind === "sliced" ? derived.source : null,
  };
}

function nameSpan(handler: HandlerSchema): Span {
  return spanOfRange(handler.declaration.name.range);
}

/** Where problems go that belong to no place: the start of the first handler file. */
function startOf(input: BuildInput): Span {
  const path = input.handlerFiles[0] ?? "handlers";
  return spanOf({ path, text: input.sources.find((file) => file.path === path)?.text ?? "" }, 0, 0);
}
