/**
 * Drives the AssemblyScript compiler from memory: sources in, WebAssembly bytes and messages out.
 */
import { metered } from "@radical/wasm-host";
import { spanOf, type Span } from "../diagnostics/diagnostic.ts";
import {
  as,
  ASSEMBLYSCRIPT_VERSION,
  binaryen,
  CommonFlags,
  Constraints,
  ElementKind,
  ExpressionId,
  FlowFlags,
  NodeKind,
  OperatorKind,
  ReportMode,
  Runtime,
  Target,
  UnaryOp,
} from "./assemblyscript.ts";
import { Arithmetic, type ArithmeticRules } from "./arithmetic.ts";
import { withoutParentheses } from "./children.ts";
import { mendCommonTypes } from "./common-types.ts";
import { restLiteral } from "./expand/arguments.ts";
import { Expander } from "./expand/expander.ts";
import { BlockExpression } from "./forms-nodes.ts";
import { grafted, isDevelopers, isGenerated, type Graft } from "./graft.ts";
import { type NamedPlace, noteHandlerFiles, noteServices } from "./handlers.ts";
import { inferredShapes, withInferred, type InferredShape } from "./inferred-shapes.ts";
import { mended } from "./library-mends.ts";
import { ENTRIES_FILE, MapEntries, resolveMapEntries } from "./map-entries.ts";
import { BOXED_FILE, boxedType, NullableNumbers, resolveNullableNumbers, type Original } from "./nullable-numbers.ts";
import { declareObjects, handlerOfExport } from "./objects.ts";
import type { CheckedFunction } from "./overflow.ts";
import { nameSdkFunctions, SDK_FUNCTION_FILES } from "./sdk-functions.ts";
import { declareShapes, nameAliases, type Declared, type ShapedSource } from "./shapes.ts";
import { drawPlace, originOf, spanOfRange } from "./span.ts";
import { standInForTypes } from "./stand-ins.ts";
import type { SyntaxTrees, TreeImport, TreeKind } from "./syntax-trees.ts";
import { isTupleClass, TUPLES_FILE } from "./tuples.ts";

mendCommonTypes();

/** Where the SDK appears to the compiler; handlers import it as `@radical/sdk`. */
export const SDK_LIBRARY = "~lib/@radical/sdk";

/** The SDK's file that encodes and decodes. */
export const CODEC_LIBRARY = `${SDK_LIBRARY}/codec`;

/** Export that runs the module-level code; the host calls it first, so that even that code may use host functions. */
const START_EXPORT = "_start";

const PAGE_BYTES = 65_536;

/**
 * The first size of memory, unless the texts of a program need more. It is enough for most handlers, and no more. An instance
 * whose memory grew is not used again, and the memory of all others is overwritten after each run.
 */
const INITIAL_PAGES = { incremental: 4, stub: 1 } as const;

export interface CompileRequest {
  /** All sources by path with extension, `/` separated, relative to the application. */
  readonly sources: ReadonlyMap<string, string>;
  /** Path of the one entry file: its exports are the module's. */
  readonly entry: string;
  /** Paths of the sources whose exported functions are handlers. Default: none, and no call can be quoted. */
  readonly handlerFiles?: readonly string[];
  /** Where the names of services stand. Default: there are none. */
  readonly services?: readonly NamedPlace[];
  /** Files of `@radical/sdk`'s `assembly` folder by path within it: "index.ts". */
  readonly sdk: ReadonlyMap<string, string>;
  /** Files of AssemblyScript's `std/assembly` folder by path within it: "rt/index-stub.ts". */
  readonly stdlib: ReadonlyMap<string, string>;
  readonly grafts?: readonly Graft[];
  readonly runtime: "incremental" | "stub";
  /** Default true; a program that is only looked at needs none. */
  readonly shadowStack?: boolean;
  /** 0 to 3, as in `asc -O…`. */
  readonly optimizeLevel: 0 | 1 | 2 | 3;
  readonly memoryPages: number;
  /**
   * Default false; with it, the compiler goes on after errors to find all mistakes. The parser's errors in the developer's
   * files are left out, since the check of the sources tells them.
   */
  readonly allMistakes?: boolean;
  /** Where the sources are parsed, and stay for the next request. */
  readonly trees: SyntaxTrees;
  /** Default: it wraps, everywhere. */
  readonly arithmetic?: ArithmeticRules;
  /** Default: none. The records without a written type that the analysis of the same files came upon. */
  readonly inferred?: readonly InferredShape[];
  /** Expressions whose values trap unless they are one of these texts. */
  readonly texts?: ReadonlyMap<as.Node, readonly string[]>;
}

const WRAPPING: ArithmeticRules = { overflow: "wraps", wrapping: [] };

/** A parsed and initialized program: every element exists, nothing is resolved yet. */
export interface LoadedProgram {
  readonly request: CompileRequest;
  readonly program: as.Program;
  /** The compiler's messages so far; errors among them if `ok` is false. */
  readonly messages: readonly as.DiagnosticMessage[];
  readonly ok: boolean;
  readonly crash: Crash | null;
}

/** The compiler threw: a mistake of its own, or of ours. */
export interface Crash {
  readonly error: unknown;
  /** The function that was being compiled, if one was. */
  readonly within: as.Function | null;
  /** The handler on whose behalf, if that is known. */
  readonly handler: as.Function | null;
}

export interface CompiledProgram<Compiler extends RadicalCompiler = RadicalCompiler> extends LoadedProgram {
  /** Null if there were errors. Its receiver has to emit or drop it. */
  readonly module: CompiledModule | null;
  /** Null if the program did not load, or the compiler could not be made. */
  readonly compiler: Compiler | null;
}

/** Parses the entry file and everything it imports, and declares all elements. Never throws for bad sources. */
export function loadProgram(request: CompileRequest): LoadedProgram {
  const options = as.newOptions();
  as.setTarget(options, Target.Wasm32);
  as.setRuntime(options, request.runtime === "stub" ? Runtime.Stub : Runtime.Incremental);
  if (request.runtime === "incremental" && request.shadowStack !== false)
    as.setStackSize(options, as.DEFAULT_STACK_SIZE);
  as.setInitialMemory(options, INITIAL_PAGES[request.runtime]);
  as.setMaximumMemory(options, request.memoryPages);
  as.setExportStart(options, START_EXPORT);
  as.setOptimizeLevelHints(options, request.optimizeLevel, 0);
  const [major, minor, patch] = ASSEMBLYSCRIPT_VERSION.split(".").map(Number) as [number, number, number];
  as.setBundleVersion(options, major, minor, patch);
  const program = as.newProgram(options);
  noteHandlerFiles(program, request.handlerFiles ?? []);
  noteServices(program, request.services ?? []);
  resolveNullableNumbers(program);
  resolveMapEntries(program);
  try {
    const aliases = addSources(program, request);
    if (request.allMistakes === true) standInForTypes(program);
    if (request.allMistakes === true || !hasErrors(program)) {
      as.initializeProgram(program);
      nameSdkFunctions(program, SDK_LIBRARY);
      declareObjects(program, SDK_LIBRARY);
      nameExports(program, request.entry);
    }
    nameAliases(program, aliases);
  } catch (error) {
    request.trees.clear();
    return {
      request,
      program,
      messages: program.diagnostics,
      ok: false,
      crash: { error, within: null, handler: null },
    };
  }
  return { request, program, messages: program.diagnostics, ok: !hasErrors(program), crash: null };
}

/** Gives the methods of objects their names: the entry file exports `Thread$reply`, and the module `Thread.reply`. */
function nameExports(program: as.Program, entry: string): void {
  const exported = program.filesByName.get(entry.replace(/\.ts$/, ""))?.exports;
  if (exported === undefined || exported === null) return;
  const named = Array.from(exported, ([name, element]) => [handlerOfExport(name), element] as const);
  exported.clear();
  for (const [name, element] of named) exported.set(name, element);
}

/** Compiles, but optimizes and emits nothing yet. Bad sources and crashes of the compiler are answers, not exceptions. */
export function compileProgram(loaded: LoadedProgram): CompiledProgram {
  const { arithmetic, texts } = loaded.request;
  return compileWith(loaded, (program) => new RadicalCompiler(program, arithmetic, texts));
}

/** The same with a compiler that does more. */
export function compileWith<Compiler extends RadicalCompiler>(
  loaded: LoadedProgram,
  createCompiler: (program: as.Program) => Compiler,
): CompiledProgram<Compiler> {
  return startCompiler(loaded, createCompiler).compile();
}

/** A program with its compiler, which has not compiled anything yet. Its resolver knows the forms of the language. */
export interface StartedProgram<Compiler extends RadicalCompiler = RadicalCompiler> {
  /** Null if the program did not load, or the compiler could not be made. */
  readonly compiler: Compiler | null;
  /** Once. */
  compile(): CompiledProgram<Compiler>;
}

export function startCompiler<Compiler extends RadicalCompiler>(
  loaded: LoadedProgram,
  createCompiler: (program: as.Program) => Compiler,
): StartedProgram<Compiler> {
  const { program, request } = loaded;
  const nothing = { ...loaded, module: null, compiler: null };
  if (!loaded.ok && (request.allMistakes !== true || loaded.crash !== null))
    return { compiler: null, compile: () => nothing };
  const crashed = (error: unknown, compiler: Compiler | null): CompiledProgram<Compiler> => {
    request.trees.clear();
    const within = compiler?.currentFlow.sourceFunction ?? null;
    const handler = compiler?.handler ?? null;
    return { ...loaded, ok: false, module: null, crash: { error, within, handler }, compiler };
  };
  let compiler: Compiler;
  try {
    compiler = createCompiler(program);
  } catch (error) {
    return { compiler: null, compile: () => crashed(error, null) };
  }
  const compile = (): CompiledProgram<Compiler> => {
    const module = new CompiledModule(compiler.module, request.optimizeLevel);
    try {
      compiler.compile();
      if (!hasErrors(program)) return { ...loaded, module, compiler };
      module.drop();
      return { ...loaded, ok: false, module: null, compiler };
    } catch (error) {
      module.drop();
      return crashed(error, compiler);
    }
  };
  return { compiler, compile };
}

/** A module in binaryen's memory, which is outside the garbage collector. */
export class CompiledModule {
  readonly #optimizeLevel: number;
  #module: as.Module | null;

  constructor(module: as.Module, optimizeLevel: number) {
    this.#module = module;
    this.#optimizeLevel = optimizeLevel;
  }

  /** Its WebAssembly, optimized, then metered; the module is dropped. */
  emit(): Uint8Array {
    const module = this.#module;
    if (module === null) throw new Error("the module was dropped");
    try {
      if (this.#optimizeLevel > 0) as.optimize(module, this.#optimizeLevel, 0, false, false);
      return metered(binaryen.wrapModule(as.getBinaryenModuleRef(module)).emitBinary());
    } finally {
      this.drop();
    }
  }

  drop(): void {
    this.#module?.dispose();
    this.#module = null;
  }
}

/** How the value of a `throw` says its message: see `RadicalCompiler`. */
export type Thrown =
  /** An error of the library, made in the `throw`: its first argument. */
  | "library-error"
  /** An error: its field `message`. */
  | "error"
  /** A text: itself. */
  | "text"
  /** A call without a result, such as that of `abort`: it ends by itself. */
  | "call"
  | "other";

const ERROR_CLASS = "~lib/error/Error";

export interface CallSite {
  readonly caller: as.Function;
  readonly node: as.Node;
}

interface CompilerInternals {
  adjustArgumentsForRestParams(args: as.Expression[], signature: as.Signature, node: as.Node): as.Expression[];
  /** `end`: of the texts and arrays that are written in the source, a 64-bit integer. */
  initDefaultMemory(end: object): void;
  compileCallExpressionBuiltin(
    prototype: as.FunctionPrototype,
    call: as.CallExpression,
    context: as.Type,
  ): as.ExpressionRef;
  checkFieldInitialization(created: as.Class, node: as.Node): void;
  compileFile(file: as.File): void;
  compileFunctionBody(instance: as.Function, statements: as.ExpressionRef[]): boolean;
  compileThrowStatement(statement: as.ThrowStatement): as.ExpressionRef;
  ensureRuntimeFunction(instance: as.Function): object;
  makeFieldInitializationInConstructor(created: as.Class, statements: as.ExpressionRef[]): void;
  ensureVarargsStub(original: as.Function): as.Function;
  /** The functions that function values call. */
  readonly functionTable: as.Function[];
}

/** The SDK's functions that draw, and those that their calls are compiled as: with the place of the call. */
const DRAWS: ReadonlyMap<string, string> = new Map([
  [`${SDK_LIBRARY}/index/random`, "draws/randomAt"],
  [`${SDK_LIBRARY}/index/uuid`, "draws/uuidAt"],
]);

/**
 * The compiler with three additions. It knows that the SDK's `abort` does not return. It counts a draw by the place of its
 * call. It writes down the callers of each function.
 */
export class RadicalCompiler extends as.Compiler {
  /** The handler that is compiled, with all that it calls; null: others do not know. */
  handler: as.Function | null = null;
  /** The calls of each function, in order of compilation. */
  readonly calls = new Map<as.Function, CallSite[]>();
  /** The calls of AssemblyScript's builtins by name: `load`. */
  readonly builtinCalls: { readonly name: string; readonly site: CallSite }[] = [];
  /** Accesses to the memory behind views: `array.buffer`, with the class of the view. */
  readonly bufferAccesses: { readonly view: string; readonly site: CallSite }[] = [];
  /** A thrown value that is neither an error, a text nor a call without a result. */
  readonly otherThrows: CallSite[] = [];
  /** Checks of overflow, and what is found about numbers. */
  readonly arithmetic: Arithmetic;
  readonly #original: Original = {
    compileExpression: (expression, context, constraints) => {
      this.arithmetic.begin(expression);
      const result = super.compileExpression(this.arithmetic.toCompile(context), context, constraints);
      this.arithmetic.end(result);
      return result;
    },
    convertExpression: (expression, from, to, explicit, node) => {
      this.arithmetic.noteConversion(from, to, node, explicit);
      if (explicit || node.range.source.isLibrary) return super.convertExpression(expression, from, to, explicit, node);
      if (from === as.Type.i64 && to === as.Type.f64)
        return super.convertExpression(this.arithmetic.exact(expression, node), from, to, true, node);
      return super.convertExpression(this.arithmetic.signed(expression, from, to, node), from, to, explicit, node);
    },
    makeCallDirect: (...given) => super.makeCallDirect(...given),
  };
  readonly #mapEntries = new MapEntries(this, this.#original);
  readonly #nullableNumbers = new NullableNumbers(this, {
    ...this.#original,
    compileExpression: (node, context, constraints) =>
      this.#mapEntries.compile(node, context, constraints ?? Constraints.None) ??
      this.#original.compileExpression(node, context, constraints),
  });
  /** Gives everyday forms of TypeScript as trees of AssemblyScript. */
  readonly expander: Expander;

  readonly #texts: ReadonlyMap<as.Node, readonly string[]>;

  constructor(
    program: as.Program,
    arithmetic: ArithmeticRules = WRAPPING,
    texts: ReadonlyMap<as.Node, readonly string[]> = new Map(),
  ) {
    super(program);
    this.#texts = texts;
    this.arithmetic = new Arithmetic(this, arithmetic);
    this.expander = new Expander(this);
    // The message of the check of the shadow stack. The compiler asks for these strings when memory is laid out already, so
    // that they would be missing in it.
    this.ensureStaticString("stack overflow");
    this.ensureStaticString(as.Source.native.normalizedPath);
    // Private in the compiler's typings.
    const internals = this as unknown as CompilerInternals;
    const layOut = internals.initDefaultMemory.bind(this);
    internals.initDefaultMemory = (end) => {
      const pages = Math.ceil(Number(String(end)) / PAGE_BYTES);
      const { options } = program;
      // Memory that begins full grows at once.
      if (pages > options.initialMemory) as.setInitialMemory(options, pages + options.initialMemory);
      layOut(end);
    };
    const original = internals.compileCallExpressionBuiltin.bind(this);
    internals.compileCallExpressionBuiltin = (prototype, call, context) => {
      this.builtinCalls.push({ name: prototype.name, site: this.#site(call) });
      const value = original(prototype, call, context);
      return prototype.name === "abs" ? this.arithmetic.absolute(value, call) : value;
    };
    // One literal for each call, however often it is compiled: what is in it may be a form.
    const packArguments = internals.adjustArgumentsForRestParams.bind(this);
    internals.adjustArgumentsForRestParams = (args, signature, node) => {
      const rest = signature.parameterTypes.length - 1;
      const literal = signature.hasRest ? restLiteral(args, rest) : null;
      return literal === null ? packArguments(args, signature, node) : [...args.slice(0, rest), literal];
    };
    this.#initializeFields(internals);
    this.#throwValues(internals);
    this.#fillInDefaults(internals);
  }

  /**
   * A constructor gives the fields their values before anything else. The compiler leaves that out where it sees no use of
   * `this`. In a constructor that always throws, it sees no use in a `switch` or under another condition. For a derived
   * class, `super()` has to do it. Generated fields begin as zero, as the memory of a new object does: constructors spend
   * nothing on them.
   */
  #initializeFields(internals: CompilerInternals): void {
    const compileFunctionBody = internals.compileFunctionBody.bind(this);
    internals.compileFunctionBody = (instance, statements) => {
      const { parent } = instance;
      const created = instance.is(CommonFlags.Constructor) ? (parent as as.Class) : null;
      if (created !== null && (created.base === null || created.prototype.implicitlyExtendsObject))
        instance.flow.set(FlowFlags.AccessesThis);
      const terminates = compileFunctionBody(instance, statements);
      this.arithmetic.noteFunction(instance);
      return terminates;
    };
    const initializeFields = internals.makeFieldInitializationInConstructor.bind(this);
    internals.makeFieldInitializationInConstructor = (created, statements) => {
      const { members } = created;
      const generated = [...(members ?? [])].filter(([, member]) => {
        const field = (member as as.PropertyPrototype).fieldDeclaration ?? null;
        return field !== null && isGenerated(field.range.source);
      });
      for (const [name] of generated) members!.delete(name);
      initializeFields(created, statements);
      for (const [name, member] of generated) members!.set(name, member);
    };
    // The fields of a tuple, and of a record that is declared by its shape, have no initializers: a literal gives them their
    // values.
    const checkFieldInitialization = internals.checkFieldInitialization.bind(this);
    internals.checkFieldInitialization = (created, node) => {
      if (node.kind !== NodeKind.Literal && !isTupleClass(created)) checkFieldInitialization(created, node);
    };
  }

  /**
   * A `throw` ends with the message of the thrown error. The compiler takes the first argument of a construction for the
   * message, and evaluates nothing else. That is right for the errors of the library only.
   */
  #throwValues(internals: CompilerInternals): void {
    const compileThrowStatement = internals.compileThrowStatement.bind(this);
    internals.compileThrowStatement = (statement) => {
      const { range } = statement;
      if (range.source.isLibrary) return compileThrowStatement(statement);
      const value = withoutParentheses(statement.value);
      const thrown = this.thrown(value);
      if (thrown === "library-error") return compileThrowStatement(as.Node.createThrowStatement(value, range));
      let message: as.Expression | null = null;
      switch (thrown) {
        case "error":
          message = as.Node.createPropertyAccessExpression(
            value,
            as.Node.createIdentifierExpression("message", value.range),
            value.range,
          );
          break;
        case "text":
          message = value;
          break;
        case "call": {
          const call = this.compileExpression(value, as.Type.void);
          if (this.currentFlow.is(FlowFlags.Terminates)) return call;
          return this.module.block(null, [call, throwing(null)]);
        }
        case "other":
          this.otherThrows.push(this.#site(value));
          break;
      }
      return throwing(message);

      /** The compiler gives the first argument to the host. */
      function throwing(argument: as.Expression | null): as.ExpressionRef {
        const name = as.Node.createSimpleTypeName("Error", range);
        const made = as.Node.createNewExpression(name, null, argument === null ? [] : [argument], range);
        return compileThrowStatement(as.Node.createThrowStatement(made, range));
      }
    };
  }

  /** How the value of a `throw` says its message. */
  thrown(value: as.Expression): Thrown {
    const { program, resolver, currentFlow } = this;
    const reported = program.diagnostics.length;
    const type = resolver.resolveExpression(value, currentFlow, as.Type.auto, ReportMode.Swallow);
    program.diagnostics.length = reported;
    if (type === as.Type.void) return "call";
    let found = type?.getClass() ?? null;
    if (found === program.stringInstance) return "text";
    const isMade = value.kind === NodeKind.New && found?.declaration.range.source.isLibrary === true;
    while (found !== null && found.internalName !== ERROR_CLASS) found = found.base;
    if (found !== null) return isMade ? "library-error" : "error";
    // Compiling it says what is wrong.
    return type === null ? "error" : "other";
  }

  /**
   * A function value with default parameters is called by way of a function that fills them in. The compiler puts these
   * into the table once, before it compiles overriding methods and the defaults themselves: function values in there
   * would be given zeros. They are put there at once, except by the statements of files, whose defaults may refer to
   * variables further down.
   */
  #fillInDefaults(internals: CompilerInternals): void {
    let openFiles = 0;
    const compileFile = internals.compileFile.bind(this);
    internals.compileFile = (file) => {
      openFiles++;
      compileFile(file);
      openFiles--;
    };
    const ensureVarargsStub = internals.ensureVarargsStub.bind(this);
    // One that is in the table already may have the signature of what it calls.
    internals.ensureVarargsStub = (instance) =>
      instance.is(CommonFlags.Stub) ? instance : ensureVarargsStub(instance);
    const ensureRuntimeFunction = internals.ensureRuntimeFunction.bind(this);
    internals.ensureRuntimeFunction = (instance) => {
      const { functionTable } = internals;
      const index = functionTable.length;
      const offset = ensureRuntimeFunction(instance);
      const { requiredParameters, parameterTypes } = instance.signature;
      if (openFiles === 0 && functionTable[index] === instance && requiredParameters < parameterTypes.length) {
        const type = this.currentType;
        functionTable[index] = internals.ensureVarargsStub(instance);
        this.currentType = type;
      }
      return offset;
    };
  }

  override compileExpression(
    expression: as.Expression,
    contextualType: as.Type,
    constraints: as.Constraints = Constraints.None,
  ): as.ExpressionRef {
    const value = this.#compileForm(expression, contextualType, constraints);
    this.arithmetic.noteInferred(withoutParentheses(expression), contextualType);
    const texts = this.#texts.get(withoutParentheses(expression));
    return texts === undefined ? value : this.#oneOf(texts, value, expression);
  }

  #compileForm(expression: as.Expression, contextualType: as.Type, constraints: as.Constraints): as.ExpressionRef {
    const form = withoutParentheses(expression);
    if (form instanceof BlockExpression) return this.expander.block(form, contextualType, constraints);
    const made = this.expander.expression(form, contextualType, constraints);
    if (made !== null) return this.compileExpression(made, contextualType, constraints);
    if (expression.kind === NodeKind.PropertyAccess && isDevelopers(expression.range.source)) {
      const { expression: object, property } = expression as as.PropertyAccessExpression;
      if (property.text === "buffer" || property.text === "dataStart") {
        const type = this.resolver.resolveExpression(object, this.currentFlow, as.Type.auto, ReportMode.Swallow);
        const view = type?.getClass()?.prototype;
        if (view?.declaration.range.source.isLibrary === true) {
          this.bufferAccesses.push({ view: `${view.name}.${property.text}`, site: this.#site(expression) });
        }
      }
    }
    return this.#nullableNumbers.compileExpression(expression, contextualType, constraints);
  }

  override compileStatement(statement: as.Statement): as.ExpressionRef {
    const made = this.expander.statement(statement);
    if (made !== null) return this.compileStatement(made);
    const isHeard = this.arithmetic.beginStatement(statement);
    const result = super.compileStatement(statement);
    if (statement instanceof as.VariableStatement) this.arithmetic.noteVariables(statement);
    if (isHeard) this.arithmetic.endStatement();
    return result;
  }

  override convertExpression(
    value: as.ExpressionRef,
    from: as.Type,
    to: as.Type,
    explicit: boolean,
    node: as.Node,
  ): as.ExpressionRef {
    return this.#nullableNumbers.convertExpression(value, from, to, explicit, node);
  }

  override makeAdd(left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type): as.ExpressionRef {
    return this.arithmetic.make("+", left, right, type, () => super.makeAdd(left, right, type));
  }

  override makeSub(left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type): as.ExpressionRef {
    return this.arithmetic.make("-", left, right, type, () => super.makeSub(left, right, type));
  }

  override makeMul(left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type): as.ExpressionRef {
    return this.arithmetic.make("*", left, right, type, () => super.makeMul(left, right, type));
  }

  override makePow(left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type, node: as.Node): as.ExpressionRef {
    return this.arithmetic.makePower(left, right, type, () => super.makePow(left, right, type, node));
  }

  override makeDiv(left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type): as.ExpressionRef {
    this.arithmetic.noteDivision(left, right, type);
    return this.arithmetic.quotient(super.makeDiv(left, right, type), right, type);
  }

  override makeLt(left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type): as.ExpressionRef {
    this.arithmetic.noteComparison("<", left, right, type);
    return super.makeLt(left, right, type);
  }

  override makeLe(left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type): as.ExpressionRef {
    this.arithmetic.noteComparison("<=", left, right, type);
    return super.makeLe(left, right, type);
  }

  override makeGt(left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type): as.ExpressionRef {
    this.arithmetic.noteComparison(">", left, right, type);
    return super.makeGt(left, right, type);
  }

  override makeGe(left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type): as.ExpressionRef {
    this.arithmetic.noteComparison(">=", left, right, type);
    return super.makeGe(left, right, type);
  }

  override makeEq(left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type, node: as.Node): as.ExpressionRef {
    if (boxedType(type) !== null && this.arithmetic.isOfDeveloper(node) && !isNullOf(left, right))
      return this.#nullableNumbers.isSame(left, right, type, node);
    this.arithmetic.noteComparison("==", left, right, type);
    return super.makeEq(left, right, type, node);
  }

  override makeNe(left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type, node: as.Node): as.ExpressionRef {
    this.arithmetic.noteComparison("!=", left, right, type);
    return super.makeNe(left, right, type, node);
  }

  override makeIsTrueish(expression: as.ExpressionRef, type: as.Type, node: as.Node): as.ExpressionRef {
    this.arithmetic.noteCondition(type, node);
    if (boxedType(type) !== null && this.arithmetic.isOfDeveloper(node))
      return this.#nullableNumbers.isTrue(expression, type, node);
    if (!this.arithmetic.isText(type) || !this.arithmetic.isOfDeveloper(node))
      return super.makeIsTrueish(expression, type, node);
    // The compiler calls an empty text true, but not in `!text`.
    const not = this.program.stringInstance.lookupOverload(OperatorKind.Not)!;
    const outer = this.currentType;
    this.compileFunction(not);
    this.currentType = outer;
    const i32 = as.Type.i32.toRef();
    return this.module.unary(UnaryOp.EqzI32, this.module.call(not.internalName, [expression], i32));
  }

  /** The value, if it is null or one of these texts; else the run ends. */
  #oneOf(texts: readonly string[], value: as.ExpressionRef, node: as.Node): as.ExpressionRef {
    const { currentType: type, module } = this;
    if (!this.arithmetic.isText(type)) return value;
    const equal = this.program.stringInstance.lookupOverload(OperatorKind.Eq)!;
    this.compileFunction(equal);
    const { index } = this.currentFlow.getTempLocal(type);
    const get = (): as.ExpressionRef => module.local_get(index, type.toRef());
    const i32 = as.Type.i32.toRef();
    const isOne = texts.reduce(
      (before, text) =>
        module.if(before, module.i32(1), module.call(equal.internalName, [get(), this.ensureStaticString(text)], i32)),
      module.unary(UnaryOp.EqzI32, get()),
    );
    const expected = texts.map((text) => JSON.stringify(text)).join(" or ");
    const words = this.ensureStaticString(`expected ${expected}, found another text`);
    const refused = this.makeStaticAbort(words, node);
    this.currentType = type;
    return module.block(
      null,
      [module.local_set(index, value, false), module.if(module.unary(UnaryOp.EqzI32, isOne), refused), get()],
      type.toRef(),
    );
  }

  override makeToString(expression: as.ExpressionRef, type: as.Type, node: as.Node): as.ExpressionRef {
    this.arithmetic.noteConversion(type, "text", node, false);
    return this.#nullableNumbers.makeToString(expression, type, node) ?? super.makeToString(expression, type, node);
  }

  /** Ends the run: an integer does not fit. */
  overflowAt(node: as.Node): as.ExpressionRef {
    const overflow = this.#compiledFunction("host/overflow");
    const call = this.module.call(overflow.internalName, this.#placeOperands(node), as.Type.void.toRef());
    return this.module.block(null, [call, this.module.unreachable()]);
  }

  /** A call of a function that ends the run if its result does not fit. */
  checkedCall(name: CheckedFunction, operands: readonly as.ExpressionRef[], node: as.Node): as.ExpressionRef {
    const checked = this.#compiledFunction(`arithmetic/${name}`);
    return this.module.call(checked.internalName, [...operands, ...this.#placeOperands(node)], as.Type.i64.toRef());
  }

  #compiledFunction(name: string): as.Function {
    const found = this.#sdkFunction(name);
    this.compileFunction(found);
    return found;
  }

  #sdkFunction(name: string): as.Function {
    const prototype = this.program.elementsByName.get(`${SDK_LIBRARY}/${name}`) as as.FunctionPrototype;
    return this.resolver.resolveFunction(prototype, null)!;
  }

  /** File, line, column. */
  #placeOperands(node: as.Node): as.ExpressionRef[] {
    const { file, line, column } = this.#placeOf(node);
    return [this.ensureStaticString(file), this.module.i32(line), this.module.i32(column)];
  }

  override compileCallDirect(
    instance: as.Function,
    args: as.Expression[],
    reportNode: as.Node,
    thisArg?: as.ExpressionRef,
    constraints?: as.Constraints,
  ): as.ExpressionRef {
    this.#note(instance, reportNode);
    const drawing = DRAWS.get(instance.prototype.internalName);
    if (drawing !== undefined) return this.#draw(drawing, reportNode);
    const call = super.compileCallDirect(instance, args, reportNode, thisArg, constraints);
    this.arithmetic.noteCall(instance, reportNode);
    if (instance.prototype.internalName !== `${SDK_LIBRARY}/index/abort`) return call;
    this.currentFlow.set(FlowFlags.Terminates);
    return this.module.block(null, [call, this.module.unreachable()], as.Type.void.toRef());
  }

  override makeCallDirect(
    instance: as.Function,
    operands: as.ExpressionRef[] | null,
    reportNode: as.Node,
    immediatelyDropped?: boolean,
  ): as.ExpressionRef {
    this.#note(instance, reportNode);
    const call = super.makeCallDirect(instance, operands, reportNode, immediatelyDropped);
    this.arithmetic.noteCall(instance, reportNode);
    return call;
  }

  /** A call of `random` or `uuid`, in all instances of the function it stands in the same. */
  #draw(name: string, node: as.Node): as.ExpressionRef {
    return super.makeCallDirect(
      this.#sdkFunction(name),
      [this.ensureStaticString(drawPlace(this.#placeOf(node)))],
      node,
    );
  }

  /** Where the developer wrote a node, also one that was copied into generated code. */
  #placeOf({ range }: as.Node): Span {
    const origin = isGenerated(range.source) ? originOf(range.source, range.start) : null;
    const source = this.program.sources.find((candidate) => candidate.normalizedPath === origin?.path);
    if (origin === null || source === undefined) return spanOfRange(range);
    return spanOf({ path: origin.path, text: source.text }, origin.start, origin.start);
  }

  #note(instance: as.Function, node: as.Node): void {
    const sites = this.calls.get(instance);
    if (sites === undefined) this.calls.set(instance, [this.#site(node)]);
    else if (sites[sites.length - 1]!.node !== node) sites.push(this.#site(node));
  }

  #site(node: as.Node): CallSite {
    return { caller: this.currentFlow.sourceFunction, node };
  }
}

/** Whether one side of a comparison is the constant null. */
function isNullOf(left: as.ExpressionRef, right: as.ExpressionRef): boolean {
  return [left, right].some(
    (side) => as.getExpressionId(side) === ExpressionId.Const && as.getConstValueI32(side) === 0,
  );
}

/** Internal name of a function without type arguments: `~lib/@radical/sdk/index/Table#get`. */
export function nameOf({ prototype, parent }: as.Function): string {
  if (parent.kind !== ElementKind.Class) return prototype.internalName;
  return `${(parent as as.Class).prototype.internalName}#${prototype.name}`;
}

function hasErrors(program: as.Program): boolean {
  return program.diagnostics.some((message) => as.isError(message));
}

/** Hands the compiler the trees of the library, of the entry file, and of all that they import. */
function addSources(program: as.Program, request: CompileRequest): Declared["aliases"] {
  const { stdlib, sources, trees } = request;
  const added = new Set<string>();
  const waiting: TreeImport[] = [];
  const files: ShapedSource[] = [];
  const add = (path: string, text: string, kind: TreeKind): void => {
    const { source, messages, imports, shapes } = trees.get(path, mended(path, text), kind);
    if (added.has(source.internalPath)) return;
    added.add(source.internalPath);
    files.push({ source, shapes });
    if (request.allMistakes !== true || path.startsWith("~lib/")) program.diagnostics.push(...messages);
    waiting.push(...imports);
  };
  for (const [path, text] of stdlib) {
    // The files of the top folder declare the globals; the others are imported.
    if (!path.includes("/") && path.endsWith(".ts") && !path.endsWith(".d.ts")) add(`~lib/${path}`, text, "module");
  }
  const runtime = `rt/index-${request.runtime}.ts`;
  add(`~lib/${runtime}`, stdlib.get(runtime)!, "entry");
  add(request.entry, sources.get(request.entry)!, "entry");
  // No file imports these: the compiler uses them by itself.
  for (const path of [BOXED_FILE, ENTRIES_FILE, TUPLES_FILE, ...SDK_FUNCTION_FILES])
    add(`${SDK_LIBRARY}/${path}`, request.sdk.get(path)!, "module");
  // The list grows as it is read.
  for (const { internalPath, node } of waiting) {
    if (added.has(internalPath)) continue;
    const found = lookUp(internalPath, request);
    if (found !== null) {
      add(found.path, found.text, "module");
      continue;
    }
    if (request.allMistakes === true) {
      // The check of the sources tells it. Without any file the compiler would stop here.
      add(`${internalPath}.ts`, "", "module");
      continue;
    }
    added.add(internalPath);
    program.parser.dependees.set(internalPath, { source: node.range.source, reportNode: node });
    as.parse(program, null, `${internalPath}.ts`, false);
  }
  const grafts = new Map(request.grafts?.map((graft) => [graft.file, graft]));
  const { sources: declared, aliases } = declareShapes(files);
  const { inferred = [] } = request;
  inferredShapes(program, inferred);
  for (const source of withInferred(declared, inferred, program)) {
    const graft = grafts.get(source.normalizedPath);
    program.sources.push(graft === undefined ? source : grafted(source, graft, trees));
  }
  return aliases;
}

function lookUp(wanted: string, request: CompileRequest): { readonly path: string; readonly text: string } | null {
  let files = request.sources;
  let prefix = "";
  let within = wanted;
  if (wanted === SDK_LIBRARY || wanted.startsWith(`${SDK_LIBRARY}/`)) {
    files = request.sdk;
    prefix = `${SDK_LIBRARY}/`;
    within = wanted.slice(prefix.length);
  } else if (wanted.startsWith("~lib/")) {
    files = request.stdlib;
    prefix = "~lib/";
    within = wanted.slice(prefix.length);
  }
  for (const path of within === "" ? ["index.ts"] : [`${within}.ts`, `${within}/index.ts`]) {
    const text = files.get(path);
    if (text !== undefined) return { path: prefix + path, text };
  }
  return null;
}
