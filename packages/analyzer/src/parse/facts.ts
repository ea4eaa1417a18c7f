/**
 * The resolution of the AssemblyScript compiler, written down while it compiles.
 *
 * Types, overloads, generic instances, accessors and static branches exist only during a compilation. Observing that
 * one compilation gives exactly the compiler's own answers; there is no second type checker that could be wrong.
 * A node without facts was never compiled: it is dead in that function instance.
 */
import { as, CommonFlags, ElementKind, FlowFlags, NodeKind, ReportMode, Token } from "./assemblyscript.ts";
import type { ArithmeticRules } from "./arithmetic.ts";
import { withoutParentheses } from "./children.ts";
import { CODEC_LIBRARY, nameOf, RadicalCompiler } from "./compile.ts";
import type { Expander } from "./expand/expander.ts";
import { isGenerated } from "./graft.ts";

/** The facts about one syntax node inside one function instance. */
export interface NodeFacts {
  /** Type of the expression before it is converted to what its context wants. */
  type?: as.Type;
  /** The element that a name, property or callee refers to. */
  target?: as.Element;
  /** Function instances called on behalf of the node: callee, overloads, accessors, `toString` of template parts. */
  calls?: as.Function[];
  builtin?: as.FunctionPrototype;
  /** Set if a function value is called. */
  indirect?: as.Signature;
  /** Instance made of a function expression. */
  lambda?: as.Function;
  /** Resolved written type arguments of a call. */
  typeArguments?: readonly as.Type[];
  /** Resolved type of `<T>x`, of a declared variable, of the right side of `instanceof`. */
  writtenType?: as.Type;
  /** The tree that was compiled in place of the node, which is an everyday form of TypeScript. */
  expansion?: as.Node;
}

/** Part of what runs before any handler. */
export type Unit =
  | { readonly kind: "global"; readonly global: as.Global; readonly node: as.Node }
  /** A statement between the declarations of a file; `owner` has its facts. */
  | { readonly kind: "statement"; readonly node: as.Statement; readonly owner: as.Function }
  /** An enum with values that are computed when the module starts. */
  | { readonly kind: "enum"; readonly enumeration: as.Enum; readonly node: as.Node };

const NOTHING: NodeFacts = {};

export class Facts {
  /** The units that run before any handler, in order. */
  readonly units: Unit[] = [];
  readonly #byFunction = new Map<as.Function, Map<as.Node, NodeFacts>>();
  readonly #anywhere = new Map<as.Node, NodeFacts>();

  /** Facts of a node in a function instance. */
  get(owner: as.Function, node: as.Node): NodeFacts {
    return this.#byFunction.get(owner)?.get(node) ?? NOTHING;
  }

  /** Facts of a node that is compiled once, whoever triggers it: global and field initializers, default values. */
  getAnywhere(node: as.Node): NodeFacts {
    return this.#anywhere.get(node) ?? NOTHING;
  }

  /** All nodes of code that runs before the handlers, among others. */
  nodes(): Iterable<[as.Node, NodeFacts]> {
    return this.#anywhere;
  }

  nodesOf(owner: as.Function): Iterable<NodeFacts> {
    return this.#byFunction.get(owner)?.values() ?? [];
  }

  /** The nodes of a function, with what is known about them. */
  entriesOf(owner: as.Function): Iterable<[as.Node, NodeFacts]> {
    return this.#byFunction.get(owner) ?? [];
  }

  /** All functions that were compiled. */
  functions(): Iterable<as.Function> {
    return this.#byFunction.keys();
  }

  wasCompiled(owner: as.Function, node: as.Node): boolean {
    return this.#byFunction.get(owner)?.has(node) ?? false;
  }

  at(owner: as.Function, node: as.Node): NodeFacts {
    let nodes = this.#byFunction.get(owner);
    if (nodes === undefined) this.#byFunction.set(owner, (nodes = new Map<as.Node, NodeFacts>()));
    let facts = nodes.get(node);
    if (facts === undefined) {
      nodes.set(node, (facts = {}));
      if (!this.#anywhere.has(node)) this.#anywhere.set(node, facts);
    }
    return facts;
  }

  /** Notes facts of a node that was compiled to the end: others only mention it, as the cause of a call. */
  complete(node: as.Node, facts: NodeFacts): void {
    this.#anywhere.set(node, facts);
  }
}

/** The members of the compiler that the observer wraps; most are private in its typings. */
interface CompilerInternals {
  handler: as.Function | null;
  currentFlow: as.Flow;
  currentType: as.Type;
  currentParent: as.Element | null;
  readonly resolver: as.Resolver;
  readonly program: as.Program;
  readonly expander: Expander;
  readonly module: as.Module;
  compileStatement(statement: as.Statement): as.ExpressionRef;
  compileExpression(expression: as.Expression, context: as.Type, constraints?: number): as.ExpressionRef;
  convertExpression(
    ref: as.ExpressionRef,
    from: as.Type,
    to: as.Type,
    explicit: boolean,
    node: as.Node,
  ): as.ExpressionRef;
  compileAssignment(target: as.Expression, value: as.Expression, context: as.Type): as.ExpressionRef;
  compileCallDirect(
    callee: as.Function,
    args: as.Expression[],
    node: as.Node,
    self?: number,
    constraints?: number,
  ): as.ExpressionRef;
  makeCallDirect(
    callee: as.Function,
    operands: as.ExpressionRef[] | null,
    node: as.Node,
    drop?: boolean,
  ): as.ExpressionRef;
  compileCallIndirect(
    signature: as.Signature,
    callee: as.ExpressionRef,
    args: as.Expression[],
    node: as.Node,
    self?: number,
    drop?: boolean,
  ): as.ExpressionRef;
  compileCallExpressionBuiltin(
    prototype: as.FunctionPrototype,
    call: as.CallExpression,
    context: as.Type,
  ): as.ExpressionRef;
  compileFunctionExpression(expression: as.FunctionExpression, context: as.Type, constraints: number): as.ExpressionRef;
  compileFunction(callee: as.Function, force?: boolean): boolean;
  /** Whether there is a body. */
  compileFunctionBody(callee: as.Function, statements: as.ExpressionRef[]): boolean;
  compileModuleExports(file: as.File): void;
  ensureVarargsStub(original: as.Function): as.Function;
  compileGlobal(global: as.Global): boolean;
  compileEnum(enumeration: as.Enum): boolean;
  compileTopLevelStatement(statement: as.Statement, body: as.ExpressionRef[]): void;
  ensureConstructor(owner: as.Class, node: as.Node): as.Function;
}

/** Elements that are compiled though no code calls them: clients call handlers, and decoding makes records. */
export interface Roots {
  readonly handlers: readonly as.Function[];
  readonly records: readonly as.Class[];
}

/**
 * A compiler that writes down what it resolves. Its module is of no use: of the library it compiles only what may come
 * back to the developer's code, or to a host function.
 */
export class FactsCompiler extends RadicalCompiler {
  readonly facts = new Facts();
  /** Of the elements that the program declares, those that are compiled. */
  roots: Roots;

  constructor(program: as.Program, roots: Roots = { handlers: [], records: [] }, arithmetic?: ArithmeticRules) {
    super(program, arithmetic);
    this.roots = roots;
    const internals = this as unknown as CompilerInternals;
    observe(internals, this.facts);
    compileRoots(internals, () => this.roots);
    skipLibrary(internals);
  }
}

function compileRoots(compiler: CompilerInternals, roots: () => Roots): void {
  compiler.compileModuleExports = (file) => {
    // Not those of the runtime's entry.
    if (!isGenerated(file.source)) return;
    const { handlers, records } = roots();
    for (const handler of handlers) {
      compiler.handler = handler;
      compiler.compileFunction(handler);
      // Compiles the default values of parameters.
      if (handler.signature.requiredParameters < handler.signature.parameterTypes.length)
        compiler.ensureVarargsStub(handler);
    }
    compiler.handler = null;
    for (const record of records) compileConstructor(compiler, record, record.declaration.name);
  };
}

/**
 * Records may only ever be decoded, never constructed: then nothing compiles the initializers of their fields, which
 * the slicer needs. Mistakes in a constructor that nobody calls are not reported.
 */
function compileConstructor(compiler: CompilerInternals, owner: as.Class, node: as.Node): void {
  if (owner.constructorInstance?.is(CommonFlags.Compiled) === true) return;
  const { diagnostics } = compiler.program;
  const reported = diagnostics.length;
  const type = compiler.currentType;
  compiler.ensureConstructor(owner, node);
  compiler.currentType = type;
  diagnostics.length = reported;
}

function skipLibrary(compiler: CompilerInternals): void {
  const compileFunctionBody = compiler.compileFunctionBody.bind(compiler);
  compiler.compileFunctionBody = (instance, statements) => {
    if (!isSkipped(instance)) return compileFunctionBody(instance, statements);
    // Calls with constant arguments are evaluated at once, and that breaks down at a body which does nothing but trap.
    const { module } = compiler;
    statements.push(module.drop(module.load(4, false, module.i32(0), as.Type.i32.toRef())));
    // It has no other body.
    return false;
  };
}

/** Whether the analysis leaves out what a function does. */
export function isSkipped(instance: as.Function): boolean {
  const { source } = instance.declaration.range;
  if (!source.isLibrary) return false;
  // The caller of a constructor wants to know which fields it has set.
  if (instance.is(CommonFlags.Constructor)) return false;
  // The codec uses what is generated only after the analysis.
  if (source.internalPath === CODEC_LIBRARY) return true;
  const name = nameOf(instance);
  if (COMES_BACK_TO_NOTHING.test(name)) return true;
  if (MAY_IMPORT.test(name)) return false;
  return ![...(instance.contextualTypeArguments?.values() ?? [])].some(mentionsApplication);
}

/** Parts of the library that reach functions of the host, and the SDK. */
const MAY_IMPORT =
  /^~lib\/((builtins|console|crypto|date|performance|process|bindings\/.*|@radical\/.*)\/|math\/NativeMathf?\.(random|seedRandom)$)/;

/**
 * Parts of the library that handlers use most, or that are long, among those with types of the developer's. They reach no
 * function of the host but those of tables, which every handler may use. They come back to the developer's code by function
 * values only, which are compiled where they are made.
 */
const COMES_BACK_TO_NOTHING =
  /^~lib\/(@radical\/sdk\/index\/Table#(get|put|has|delete)|array\/Array#(__[gs]et|[gs]et:length|push|slice|map|filter)|util\/sort\/(SORT|insertionSort|extendRunRight|mergeRuns))$/;

/** Whether a class of the developer's is part of a type. */
function mentionsApplication(type: as.Type): boolean {
  const { signatureReference: signature } = type;
  if (signature !== null)
    return mentionsApplication(signature.returnType) || signature.parameterTypes.some(mentionsApplication);
  const found = type.getClass();
  if (found === null) return false;
  return !found.declaration.range.source.isLibrary || (found.typeArguments ?? []).some(mentionsApplication);
}

function observe(compiler: CompilerInternals, facts: Facts): void {
  /** Expressions being compiled, with the type they have before conversion. */
  const open: { node: as.Node; type: as.Type | null }[] = [];
  const lambdas: { node: as.FunctionExpression; facts: NodeFacts }[] = [];
  const original = {
    compileStatement: compiler.compileStatement.bind(compiler),
    compileExpression: compiler.compileExpression.bind(compiler),
    convertExpression: compiler.convertExpression.bind(compiler),
    compileAssignment: compiler.compileAssignment.bind(compiler),
    compileCallDirect: compiler.compileCallDirect.bind(compiler),
    makeCallDirect: compiler.makeCallDirect.bind(compiler),
    compileCallIndirect: compiler.compileCallIndirect.bind(compiler),
    compileCallExpressionBuiltin: compiler.compileCallExpressionBuiltin.bind(compiler),
    compileFunctionExpression: compiler.compileFunctionExpression.bind(compiler),
    compileFunction: compiler.compileFunction.bind(compiler),
    compileGlobal: compiler.compileGlobal.bind(compiler),
    compileEnum: compiler.compileEnum.bind(compiler),
    compileTopLevelStatement: compiler.compileTopLevelStatement.bind(compiler),
  };
  const here = (node: as.Node): NodeFacts => facts.at(compiler.currentFlow.sourceFunction, node);
  // Half of what is compiled is the library's, and nobody asks about it.
  const isObserved = (node: as.Node): boolean => !node.range.source.isLibrary;

  const lookUp = (node: as.Expression): void => {
    const { resolver, program } = compiler;
    const reported = program.diagnostics.length;
    const flow = compiler.currentFlow;
    // Inside an enum, its values are known by their own names.
    let target =
      node.kind === NodeKind.Identifier
        ? resolver.lookupIdentifierExpression(
            node as as.IdentifierExpression,
            flow,
            compiler.currentParent ?? flow.sourceFunction,
            ReportMode.Swallow,
          )
        : resolver.lookupExpression(node, flow, as.Type.auto, ReportMode.Swallow);
    if (target !== null && target.kind === ElementKind.PropertyPrototype) {
      target = resolver.resolveProperty(target as as.PropertyPrototype, ReportMode.Swallow);
    }
    program.diagnostics.length = reported;
    if (target !== null) here(node).target = target;
  };
  const resolveType = (node: as.TypeNode): as.Type | null => {
    const flow = compiler.currentFlow;
    const context = flow.contextualTypeArguments;
    return compiler.resolver.resolveType(
      node,
      flow,
      flow.sourceFunction,
      context === null ? null : new Map(context),
      ReportMode.Swallow,
    );
  };
  const noted = new Set<object>();
  const note = (unit: Unit, what: object): void => {
    if (noted.has(what)) return;
    noted.add(what);
    facts.units.push(unit);
  };
  const noteExpansion = (node: as.Node, known: NodeFacts): void => {
    const made = compiler.expander.madeOf(compiler.currentFlow.sourceFunction, node);
    if (made !== null) known.expansion = made;
  };
  const noteCall = (node: as.Node, callee: as.Function): void => {
    if (!isObserved(node)) return;
    const calls = (here(node).calls ??= []);
    if (!calls.includes(callee)) calls.push(callee);
  };

  compiler.compileStatement = (statement) => {
    if (!isObserved(statement)) return original.compileStatement(statement);
    const known = here(statement);
    if (statement.kind === NodeKind.Try) return compileTry(compiler, statement as as.TryStatement);
    const result = original.compileStatement(statement);
    noteExpansion(statement, known);
    if (statement.kind === NodeKind.Variable) {
      for (const declaration of (statement as as.VariableStatement).declarations) {
        const local = compiler.currentFlow.lookupLocal(declaration.name.text);
        if (local !== null) here(declaration).writtenType = local.type;
      }
    }
    return result;
  };

  compiler.compileExpression = (expression, context, constraints) => {
    if (!isObserved(expression)) return original.compileExpression(expression, context, constraints);
    const node = withoutParentheses(expression);
    const known = here(node);
    switch (node.kind) {
      case NodeKind.Identifier:
      case NodeKind.PropertyAccess:
      case NodeKind.ElementAccess:
        lookUp(node);
        if (node.kind === NodeKind.ElementAccess) {
          // An enum is not a value: nothing compiles it.
          const container = withoutParentheses((node as as.ElementAccessExpression).expression);
          if (container.kind === NodeKind.Identifier || container.kind === NodeKind.PropertyAccess) lookUp(container);
        }
        break;
      case NodeKind.UnaryPrefix: {
        const { operator, operand } = node as as.UnaryPrefixExpression;
        const named = withoutParentheses(operand);
        // `typeof` compiles values only.
        if (operator === Token.TypeOf && (named.kind === NodeKind.Identifier || named.kind === NodeKind.PropertyAccess))
          lookUp(named);
        break;
      }
      case NodeKind.Call: {
        const call = node as as.CallExpression;
        if (call.expression.kind !== NodeKind.Super) lookUp(withoutParentheses(call.expression));
        if (call.typeArguments !== null) {
          const types = call.typeArguments.map(resolveType);
          if (types.every((type) => type !== null)) known.typeArguments = types;
        }
        break;
      }
      case NodeKind.Assertion: {
        const toType = (node as as.AssertionExpression).toType;
        const type = toType === null ? null : resolveType(toType);
        if (type !== null) known.writtenType = type;
        break;
      }
      case NodeKind.InstanceOf: {
        const type = resolveType((node as as.InstanceOfExpression).isType);
        if (type !== null) known.writtenType = type;
        break;
      }
      default:
        break;
    }
    const frame = { node, type: null as as.Type | null };
    open.push(frame);
    const result = original.compileExpression(node, context, constraints);
    if (node instanceof as.ObjectLiteralExpression && context.getClass() === null) {
      const made = compiler.expander.madeOf(compiler.currentFlow.sourceFunction, node);
      if (!(made instanceof as.AssertionExpression)) compileValues(compiler, node);
    }
    open.pop();
    known.type = frame.type ?? compiler.currentType;
    noteExpansion(node, known);
    facts.complete(node, known);
    return result;
  };

  compiler.convertExpression = (ref, from, to, explicit, node) => {
    const frame = open.at(-1);
    if (frame !== undefined && frame.node === node) frame.type ??= from;
    return original.convertExpression(ref, from, to, explicit, node);
  };

  compiler.compileAssignment = (target, value, context) => {
    if (isObserved(target)) lookUp(withoutParentheses(target));
    return original.compileAssignment(target, value, context);
  };

  compiler.compileCallDirect = (callee, args, node, self, constraints) => {
    noteCall(node, callee);
    return original.compileCallDirect(callee, args, node, self, constraints);
  };

  compiler.makeCallDirect = (callee, refs, node, drop) => {
    noteCall(node, callee);
    return original.makeCallDirect(callee, refs, node, drop);
  };

  compiler.compileCallIndirect = (signature, callee, args, node, self, drop) => {
    if (isObserved(node)) here(node).indirect = signature;
    return original.compileCallIndirect(signature, callee, args, node, self, drop);
  };

  compiler.compileCallExpressionBuiltin = (prototype, call, context) => {
    if (isObserved(call)) here(call).builtin = prototype;
    return original.compileCallExpressionBuiltin(prototype, call, context);
  };

  // A function expression is compiled from a clone of its declaration; the signature node is shared.
  compiler.compileFunctionExpression = (expression, context, constraints) => {
    lambdas.push({ node: expression, facts: here(expression) });
    const result = original.compileFunctionExpression(expression, context, constraints);
    lambdas.pop();
    return result;
  };
  compiler.compileFunction = (callee, force) => {
    const lambda = lambdas.at(-1);
    if (
      lambda !== undefined &&
      (callee.declaration as as.FunctionDeclaration).signature === lambda.node.declaration.signature
    ) {
      lambda.facts.lambda = callee;
    }
    const compiled = original.compileFunction(callee, force);
    const owner = callee.is(CommonFlags.Instance) ? callee.getBoundClassOrInterface() : null;
    if (owner !== null && owner.kind === ElementKind.Class && isObserved(owner.declaration))
      compileConstructor(compiler, owner, callee.declaration.name);
    return compiled;
  };

  compiler.compileGlobal = (global) => {
    const result = original.compileGlobal(global);
    note({ kind: "global", global, node: global.declaration }, global);
    return result;
  };

  compiler.compileEnum = (enumeration) => {
    const result = original.compileEnum(enumeration);
    const values = [...(enumeration.members?.values() ?? [])].filter(({ kind }) => kind === ElementKind.EnumValue);
    if (values.some((value) => !isConstant((value as as.EnumValue).valueNode)))
      note({ kind: "enum", enumeration, node: enumeration.declaration }, enumeration);
    return result;
  };

  compiler.compileTopLevelStatement = (statement, body) => {
    original.compileTopLevelStatement(statement, body);
    if (!DECLARATIONS.has(statement.kind) && statement.kind !== NodeKind.Empty)
      note({ kind: "statement", node: statement, owner: compiler.currentFlow.sourceFunction }, statement);
  };
}

/** The check of the sources refuses `try`. The mistakes inside are told in the same build. */
function compileTry(compiler: CompilerInternals, statement: as.TryStatement): as.ExpressionRef {
  const flow = compiler.currentFlow;
  const [body, caught] = [statement.bodyStatements, statement.catchStatements ?? []].map((statements) => {
    const inner = flow.fork();
    compiler.currentFlow = inner;
    for (const each of statements) if (!inner.is(FlowFlags.Terminates)) compiler.compileStatement(each);
    return inner;
  });
  flow.inheritAlternatives(body!, caught!);
  compiler.currentFlow = flow;
  for (const each of statement.finallyStatements ?? [])
    if (!flow.is(FlowFlags.Terminates)) compiler.compileStatement(each);
  return compiler.module.unreachable();
}

/** A literal without a type is a mistake. The mistakes in its values are told in the same build. */
function compileValues(compiler: CompilerInternals, { values }: as.ObjectLiteralExpression): void {
  for (const value of values) compiler.compileExpression(value, as.Type.auto);
}

/** Whether an enum value is computed of numbers and other values alone. */
function isConstant(node: as.Expression | null): boolean {
  if (node === null) return true;
  const inner = withoutParentheses(node);
  switch (inner.kind) {
    case NodeKind.Literal:
    case NodeKind.Identifier:
    case NodeKind.PropertyAccess:
      return true;
    case NodeKind.UnaryPrefix:
      return isConstant((inner as as.UnaryPrefixExpression).operand);
    case NodeKind.Binary: {
      const { left, right } = inner as as.BinaryExpression;
      return isConstant(left) && isConstant(right);
    }
    default:
      return false;
  }
}

/** Statements of a file that the compiler declares rather than runs. */
const DECLARATIONS: ReadonlySet<NodeKind> = new Set([
  NodeKind.ClassDeclaration,
  NodeKind.EnumDeclaration,
  NodeKind.FieldDeclaration,
  NodeKind.FunctionDeclaration,
  NodeKind.IndexSignature,
  NodeKind.InterfaceDeclaration,
  NodeKind.MethodDeclaration,
  NodeKind.NamespaceDeclaration,
  NodeKind.TypeDeclaration,
  NodeKind.Variable,
  NodeKind.Import,
  NodeKind.Export,
  NodeKind.ExportDefault,
  NodeKind.ExportImport,
]);
