/**
 * What the AssemblyScript compiler resolved, written down while it compiles.
 *
 * Types, overloads, generic instances, accessors and static branches exist only during a compilation. Observing that
 * one compilation gives exactly the compiler's own answers; there is no second type checker that could be wrong.
 * A node without facts was never compiled: it is dead in that function instance.
 */
import { as, CommonFlags, ElementKind, NodeKind, ReportMode, Token } from "./assemblyscript.ts";
import { RadicalCompiler } from "./compile.ts";

/** What is known about one syntax node inside one function instance. */
export interface NodeFacts {
  /** Type of the expression before it is converted to what its context wants. */
  type?: as.Type;
  /** What a name, property or callee refers to. */
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
}

const NOTHING: NodeFacts = {};

export class Facts {
  /** Global variables in the order in which their initializers run. */
  readonly globalOrder: as.Global[] = [];
  private readonly byFunction = new Map<as.Function, Map<as.Node, NodeFacts>>();
  private readonly anywhere = new Map<as.Node, NodeFacts>();

  /** Facts of a node in a function instance. */
  get(owner: as.Function, node: as.Node): NodeFacts {
    return this.byFunction.get(owner)?.get(node) ?? NOTHING;
  }

  /** Facts of a node that is compiled once, whoever triggers it: global and field initializers, default values. */
  getAnywhere(node: as.Node): NodeFacts {
    return this.anywhere.get(node) ?? NOTHING;
  }

  wasCompiled(owner: as.Function, node: as.Node): boolean {
    return this.byFunction.get(owner)?.has(node) ?? false;
  }

  at(owner: as.Function, node: as.Node): NodeFacts {
    let nodes = this.byFunction.get(owner);
    if (nodes === undefined) this.byFunction.set(owner, (nodes = new Map<as.Node, NodeFacts>()));
    let facts = nodes.get(node);
    if (facts === undefined) {
      nodes.set(node, (facts = {}));
      if (!this.anywhere.has(node)) this.anywhere.set(node, facts);
    }
    return facts;
  }

  /** Notes facts of a node that was compiled to the end: others only mention it, as the cause of a call. */
  complete(node: as.Node, facts: NodeFacts): void {
    this.anywhere.set(node, facts);
  }
}

/** The members of the compiler that the observer wraps; most are private in its typings. */
interface CompilerInternals {
  currentFlow: as.Flow;
  currentType: as.Type;
  currentParent: as.Element | null;
  readonly resolver: as.Resolver;
  readonly program: as.Program;
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
  compileGlobal(global: as.Global): boolean;
  ensureConstructor(owner: as.Class, node: as.Node): as.Function;
}

/** A compiler that writes down what it resolves. */
export class FactsCompiler extends RadicalCompiler {
  readonly facts = new Facts();

  constructor(program: as.Program) {
    super(program);
    observe(this as unknown as CompilerInternals, this.facts);
  }
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
  };
  const here = (node: as.Node): NodeFacts => facts.at(compiler.currentFlow.sourceFunction, node);

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
  const noteCall = (node: as.Node, callee: as.Function): void => {
    const calls = (here(node).calls ??= []);
    if (!calls.includes(callee)) calls.push(callee);
  };

  compiler.compileStatement = (statement) => {
    here(statement);
    const result = original.compileStatement(statement);
    if (statement.kind === NodeKind.Variable) {
      for (const declaration of (statement as as.VariableStatement).declarations) {
        const local = compiler.currentFlow.lookupLocal(declaration.name.text);
        if (local !== null) here(declaration).writtenType = local.type;
      }
    }
    return result;
  };

  compiler.compileExpression = (expression, context, constraints) => {
    const node = withoutParentheses(expression);
    const known = here(node);
    switch (node.kind) {
      case NodeKind.Identifier:
      case NodeKind.PropertyAccess:
      case NodeKind.ElementAccess:
        lookUp(node);
        if (node.kind === NodeKind.ElementAccess) {
          // An enum is no value: nothing compiles it.
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
    open.pop();
    known.type = frame.type ?? compiler.currentType;
    facts.complete(node, known);
    return result;
  };

  compiler.convertExpression = (ref, from, to, explicit, node) => {
    const frame = open.at(-1);
    if (frame !== undefined && frame.node === node) frame.type ??= from;
    return original.convertExpression(ref, from, to, explicit, node);
  };

  compiler.compileAssignment = (target, value, context) => {
    lookUp(withoutParentheses(target));
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
    here(node).indirect = signature;
    return original.compileCallIndirect(signature, callee, args, node, self, drop);
  };

  compiler.compileCallExpressionBuiltin = (prototype, call, context) => {
    here(call).builtin = prototype;
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
    if (callee.is(CommonFlags.Instance)) compileInitializers(callee);
    return compiled;
  };

  /**
   * Records may only ever be decoded, never constructed: then nothing compiles the initializers of their fields, which
   * the slicer needs. What is wrong with a constructor that nobody calls is not reported.
   */
  const compileInitializers = (method: as.Function): void => {
    const owner = method.getBoundClassOrInterface();
    if (
      owner === null ||
      owner.kind !== ElementKind.Class ||
      owner.constructorInstance?.is(CommonFlags.Compiled) === true
    )
      return;
    if (owner.declaration.range.source.internalPath.startsWith("~lib/")) return;
    const { diagnostics } = compiler.program;
    const reported = diagnostics.length;
    const type = compiler.currentType;
    compiler.ensureConstructor(owner, method.declaration.name);
    compiler.currentType = type;
    diagnostics.length = reported;
  };

  compiler.compileGlobal = (global) => {
    const result = original.compileGlobal(global);
    if (!facts.globalOrder.includes(global)) facts.globalOrder.push(global);
    return result;
  };
}

export function withoutParentheses(expression: as.Expression): as.Expression {
  let inner = expression;
  while (inner.kind === NodeKind.Parenthesized) inner = (inner as as.ParenthesizedExpression).expression;
  return inner;
}
