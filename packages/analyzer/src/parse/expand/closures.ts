/**
 * Functions that capture, given to functions of the application or to a constant, and called.
 *
 * An object holds the captured variables, and the function is one of the file that takes this object first. A function of the
 * application is compiled once more for each such function that it is given. There the parameter is the object, and a call of
 * the parameter is a direct call. So the analysis sees objects and calls, and no function value.
 *
 * Variables that change are copied into the object before the call, and back behind it. Nobody else can name them in between,
 * since such a function is only called and passed on, and never kept. Functions of one call hold what they share once.
 */
import { as, CommonFlags, ElementKind, NodeKind, ReportMode } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { BlockExpression, ResolvedTypeNode } from "../forms-nodes.ts";
import { ClosureFunctions } from "./closure-functions.ts";
import { ClosureScope, fieldOf, read, type Closure, type Held } from "./closure-scopes.ts";
import type { Expansion } from "./expander.ts";
import { captures, isOmitted, lambdaFor, lambdaOf, namesIn, type Lambda, type Names } from "./lambda.ts";
import { resultOf } from "./results.ts";
import { isSimple } from "./place.ts";
import { access, again, assigned, constant, hidden, identifier, run } from "./syntax.ts";
import { inferTypeArguments } from "./type-arguments.ts";

/** An argument that is such a function: one that is written there, or the name of one. */
type Given =
  | { readonly kind: "lambda"; readonly lambda: Lambda }
  | {
      readonly kind: "closure";
      readonly closure: Closure;
      readonly signature: as.Signature;
      readonly name: as.IdentifierExpression;
    };

/** A call of a function of the application with such arguments. */
interface OwnCall {
  readonly callee: as.Function;
  /** The object of a method. */
  readonly receiver: as.Expression | null;
  /** For each argument; null: it is another value. */
  readonly given: readonly (Given | null)[];
}

export class Closures {
  /** The variables that hold such functions. */
  readonly scope = new ClosureScope();
  readonly #program: as.Program;
  readonly #functions: ClosureFunctions;

  constructor(program: as.Program) {
    this.#program = program;
    this.#functions = new ClosureFunctions(program, this.scope);
  }

  // ── Questions ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether a call may be one of these, as far as its words show it. */
  mayCarry({ expression, args }: as.CallExpression): boolean {
    if (expression.range.source.isLibrary) return false;
    if (args.some((argument) => withoutParentheses(argument) instanceof as.FunctionExpression)) return true;
    return (
      !this.scope.isEmpty && [expression, ...args].some((part) => withoutParentheses(part).kind === NodeKind.Identifier)
    );
  }

  typeOf(expansion: Expansion, node: as.CallExpression): as.Type | undefined {
    const held = this.scope.heldBy(node.expression, expansion.flow);
    return held?.signature.returnType ?? this.#callOf(expansion, node)?.callee.signature.returnType;
  }

  // ── Expansions ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Null: the call is none of these, or has a mistake that is told. */
  expand(expansion: Expansion, node: as.CallExpression): as.Expression | null {
    const held = this.scope.heldBy(node.expression, expansion.flow);
    if (held !== null) return this.#callHeld(expansion, held, node);
    const call = this.#callOf(expansion, node);
    if (call === null) return null;
    const { callee, given } = call;
    if (given.every((one) => one === null || (one.kind === "lambda" && !captures(one.lambda, expansion)))) {
      // AssemblyScript only lacks the types.
      const types = callee.typeArguments!.map((type) => new ResolvedTypeNode(type, node.expression.range));
      return as.Node.createCallExpression(node.expression, types, node.args, node.range);
    }
    const { prototype, parent } = callee;
    if (
      (prototype.unboundOverrides?.size ?? 0) > 0 ||
      prototype.is(CommonFlags.Abstract) ||
      parent.kind === ElementKind.Interface
    )
      return expansion.tell("closure_to_override", node.range);
    const index = given.findIndex((one, at) => one !== null && this.scope.isParameterAssigned(callee, at));
    if (index >= 0) return expansion.tell("closure_kept", node.args[index]!.range);
    return this.#callSpecialized(expansion, node, call);
  }

  /** A statement that declares constants which are such functions; null: it declares none. */
  expandDeclarations(expansion: Expansion, node: as.VariableStatement): as.Statement | null {
    let isChanged = false;
    const declarations = node.declarations.map((declaration) => {
      const made = this.#declaration(expansion, declaration);
      isChanged ||= made !== null;
      return made ?? declaration;
    });
    return isChanged ? as.Node.createVariableStatement(node.decorators, declarations, node.range) : null;
  }

  /** The compiler comes to a declaration once more, with other variables around. */
  declareAgain({ flow }: Expansion, node: as.VariableStatement): void {
    for (const { initializer } of node.declarations) {
      const lambda = lambdaOf(initializer ?? undefined);
      const closure = lambda === null ? null : this.#functions.madeOf(flow.sourceFunction, lambda.node);
      if (closure !== null && closure.declared !== null)
        closure.declared.locals = this.#functions.localsOf(closure.captured, flow);
    }
  }

  /**
   * A function that is named where one may be written: one that only calls it. `isWanted`: also of a function that captures
   * nothing. Null: there is no such name, or it may mean another function later.
   */
  calling(
    expansion: Expansion,
    node: as.Expression | undefined,
    isWanted: (signature: as.Signature) => boolean,
  ): Lambda | null {
    if (node === undefined) return null;
    const { flow, typing } = expansion;
    const named = withoutParentheses(node);
    if (named.kind !== NodeKind.Identifier) return null;
    const callee = named as as.IdentifierExpression;
    const local = flow.lookupLocal(callee.text);
    if (local !== null && this.scope.assignedIn(flow.sourceFunction).has(callee.text)) return null;
    const element = local ?? flow.lookup(callee.text) ?? this.#program.lookup(callee.text);
    const isFixed = element?.kind === ElementKind.FunctionPrototype || (element !== null && element === local);
    const held = this.scope.heldBy(callee, flow)?.signature ?? null;
    const signature = held ?? typing.of(callee, flow)?.signatureReference ?? null;
    if (!isFixed || signature === null || (held === null && !isWanted(signature))) return null;
    const { range } = callee;
    const names = signature.parameterTypes.map((_, index) => hidden(`p${index}`, range.start, range));
    const call = as.Node.createCallExpression(
      again(callee),
      null,
      names.map((name) => again(name)),
      range,
    );
    return lambdaOf(lambdaFor(names, call));
  }

  // ── Calls ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A call of a parameter or constant that holds a function. */
  #callHeld(expansion: Expansion, closure: Closure, node: as.CallExpression): as.Expression | null {
    const callee = withoutParentheses(node.expression) as as.IdentifierExpression;
    const { range, args } = node;
    const { signature } = closure;
    if (args.length > signature.parameterTypes.length || args.length < signature.requiredParameters)
      return expansion.tell("closure_arguments", range);
    const copies = this.#copies(expansion, { closure, object: () => this.scope.mention(callee) }, callee.range);
    if (copies === null) return null;
    const evaluated = this.#evaluated(args, (index) => signature.parameterTypes[index] ?? null);
    const isCopied = copies.before.length > 0;
    const values = [this.scope.mention(callee), ...(isCopied ? evaluated.values : args)];
    const call = as.Node.createCallExpression(identifier(closure.name, callee.range), null, values, range);
    if (!isCopied) return call;
    return this.#between([...evaluated.statements, ...copies.before], call, copies.behind, signature.returnType);
  }

  /** Null: the call is none of these. */
  #callOf(expansion: Expansion, node: as.CallExpression): OwnCall | null {
    const { flow, typing } = expansion;
    if (!this.mayCarry(node)) return null;
    const given = node.args.map((argument): Given | null => {
      const lambda = lambdaOf(argument);
      if (lambda !== null) return { kind: "lambda", lambda };
      const closure = this.scope.heldBy(argument, flow);
      return closure === null
        ? null
        : {
            kind: "closure",
            closure,
            signature: closure.signature,
            name: withoutParentheses(argument) as as.IdentifierExpression,
          };
    });
    if (given.every((one) => one === null)) return null;
    const { resolver } = this.#program;
    const found = typing.quietly(() => {
      const element = resolver.lookupExpression(node.expression, flow, as.Type.auto, ReportMode.Swallow);
      const receiver = resolver.currentThisExpression;
      if (element?.kind !== ElementKind.FunctionPrototype) return null;
      const prototype = element as as.FunctionPrototype;
      if (prototype.declaration.range.source.isLibrary) return null;
      const callee = this.#calleeOf(expansion, node, prototype, given);
      if (callee === null) return null;
      return { callee, receiver: prototype.is(CommonFlags.Instance) ? receiver : null };
    });
    if (found === null || found.receiver?.kind === NodeKind.Super) return null;
    const { signature, typeArguments } = found.callee;
    const functions = given.map((one, index) =>
      signature.parameterTypes[index]?.nonNullableType.signatureReference ? one : null,
    );
    const isNeeded = functions.some(
      (one) =>
        one !== null &&
        (one.kind === "closure" ||
          captures(one.lambda, expansion) ||
          (node.typeArguments === null && typeArguments !== null && leavesTypes(one.lambda))),
    );
    return isNeeded ? { ...found, given: functions } : null;
  }

  /** The instance of the function that is called, as if its parameters were function values. */
  #calleeOf(
    expansion: Expansion,
    node: as.CallExpression,
    prototype: as.FunctionPrototype,
    given: readonly (Given | null)[],
  ): as.Function | null {
    const { resolver } = this.#program;
    const { sourceFunction, contextualTypeArguments } = expansion.flow;
    const context = new Map(contextualTypeArguments ?? []);
    if (node.typeArguments !== null)
      return resolver.resolveFunctionInclTypeArguments(
        prototype,
        node.typeArguments,
        sourceFunction,
        context,
        node,
        ReportMode.Swallow,
      );
    if (!prototype.is(CommonFlags.Generic))
      return resolver.resolveFunction(prototype, null, new Map(), ReportMode.Swallow);
    const types = inferTypeArguments(expansion, node, prototype, given);
    return types === null ? null : resolver.resolveFunction(prototype, types, context, ReportMode.Swallow);
  }

  /** A call of a function that is compiled for the functions it is given. */
  #callSpecialized(
    expansion: Expansion,
    node: as.CallExpression,
    { callee, receiver, given }: OwnCall,
  ): as.Expression | null {
    const { signature } = callee;
    const { range, args } = node;
    const owner = expansion.flow.sourceFunction;
    const where = node.expression.range;
    // Named ones first: the others may share variables with them.
    const held: (Held | null)[] = given.map((one) =>
      one?.kind === "closure" ? { closure: one.closure, object: () => this.scope.mention(one.name) } : null,
    );
    for (const [index, one] of given.entries()) {
      if (one?.kind !== "lambda") continue;
      const type = signature.parameterTypes[index]!.nonNullableType.signatureReference!;
      const others = held.map((each, at) =>
        each !== null && (given[at]?.kind === "lambda" || this.scope.isScoped(each.closure, owner)) ? each : null,
      );
      const closure = this.#functions.closureOf(expansion, one.lambda, type, null, others);
      if (closure === null) return null;
      const name = hidden("captured", one.lambda.node.range.start, one.lambda.node.range);
      held[index] = { closure, object: () => this.scope.mention(name) };
    }
    const evaluated = this.#evaluated(
      [...(receiver === null ? [] : [receiver]), ...args],
      (index) =>
        receiver === null
          ? typeOfArgument(signature, index)
          : index === 0
            ? null
            : typeOfArgument(signature, index - 1),
      (index) => given[receiver === null ? index : index - 1] ?? null,
    );
    const before: as.Statement[] = [];
    const behind: as.Statement[] = [];
    for (const [index, one] of given.entries()) {
      if (one === null) continue;
      const each = held[index]!;
      const copies =
        one.kind === "closure" ? this.#copies(expansion, each, one.name.range) : this.#captures(expansion, each, held);
      if (copies === null) return null;
      before.push(...copies.before);
      behind.push(...copies.behind);
    }
    const shared = this.#sharedTwice(held, owner);
    if (shared !== null) return expansion.tell("closures_share", args[shared]!.range);
    const values = evaluated.values.map(
      (value, index) => held[receiver === null ? index : index - 1]?.object() ?? value,
    );
    const object = receiver === null ? null : values.shift()!;
    const name = this.#functions.specialize(
      callee,
      held.map((each) => each?.closure ?? null),
    );
    if (receiver !== null) this.#functions.addMember(expansion, receiver, callee.parent as as.Class, name);
    const target = object === null ? identifier(name, where) : access(object, name, where);
    const call = as.Node.createCallExpression(target, null, values, range);
    return this.#between([...evaluated.statements, ...before], call, behind, signature.returnType);
  }

  /** Values that may do something, in variables: all of that runs before captured variables are copied. */
  #evaluated(
    nodes: readonly as.Expression[],
    typeOf: (index: number) => as.Type | null,
    givenAt: (index: number) => Given | null = () => null,
  ): { readonly statements: as.Statement[]; readonly values: as.Expression[] } {
    const isValue = (_: as.Expression, index: number): boolean => givenAt(index) === null;
    const areSimple = nodes.filter(isValue).every(isSimple);
    const statements: as.Statement[] = [];
    const values = nodes.map((node, index) => {
      if (areSimple || !isValue(node, index) || isWritten(node)) return node;
      const name = hidden("argument", node.range.start, node.range);
      statements.push(constant(name, node, typeOf(index)));
      return again(name);
    });
    return { statements, values };
  }

  /** The object for a function that is written in a call, and what it changed. */
  #captures(
    { flow }: Expansion,
    { closure, object }: Held,
    held: readonly (Held | null)[],
  ): { readonly before: as.Statement[]; readonly behind: as.Statement[] } {
    const name = object();
    const { range } = name;
    const own = closure.captured.filter(({ holder }) => holder === null);
    const names = [...own.map(({ field }) => field), ...closure.holders.map(({ field }) => field)];
    const values = [
      ...own.map((each) => this.scope.accept(read(each, range), flow)),
      ...closure.holders.map(({ index }) => held[index]!.object()),
    ];
    const literal = as.Node.createObjectLiteralExpression(
      names.map((field) => identifier(field, range)),
      values,
      range,
    );
    return {
      before: [constant(name, literal, closure.environment.type)],
      behind: closure.captured
        .filter(({ isAssigned }) => isAssigned)
        .map((each) => run(assigned(read(each, range), fieldOf(each, object(), range), range))),
    };
  }

  /** Copies of changing variables to the object of a constant that is called or passed on, and back. Null: with a mistake. */
  #copies(
    expansion: Expansion,
    { closure, object }: Held,
    range: as.Range,
  ): { readonly before: as.Statement[]; readonly behind: as.Statement[] } | null {
    const { flow } = expansion;
    if (!this.scope.isScoped(closure, flow.sourceFunction)) return { before: [], behind: [] };
    const changing = closure.captured.filter(({ isChanging }) => isChanging);
    const { locals } = closure.declared!;
    if (
      flow.sourceFunction === closure.owner &&
      changing.some(({ name }) => this.scope.localOf(name, flow) !== locals.get(name))
    )
      return expansion.tell("closure_shadowed", range);
    return {
      before: changing.map((each) => run(assigned(fieldOf(each, object(), range), read(each, range), range))),
      behind: changing
        .filter(({ isAssigned }) => isAssigned)
        .map((each) => run(assigned(read(each, range), fieldOf(each, object(), range), range))),
    };
  }

  /** An argument that has a variable in its object which another argument has too, and one of them changes it. */
  #sharedTwice(held: readonly (Held | null)[], owner: as.Function): number | null {
    const seen = new Map<string, boolean>();
    for (const [index, each] of held.entries()) {
      if (each === null || !this.scope.isScoped(each.closure, owner)) continue;
      for (const { name, isAssigned } of each.closure.captured) {
        const before = seen.get(name);
        if (before !== undefined && (before || isAssigned)) return index;
        seen.set(name, isAssigned);
      }
    }
    return null;
  }

  /** A call between statements. */
  #between(before: as.Statement[], call: as.CallExpression, behind: as.Statement[], type: as.Type): as.Expression {
    const { range } = call;
    if (behind.length === 0) return before.length === 0 ? call : new BlockExpression(before, call, range);
    if (type === as.Type.void) return new BlockExpression([...before, run(call), ...behind], null, range);
    const result = hidden("result", range.end, range);
    return new BlockExpression([...before, constant(result, call, type), ...behind], again(result), range);
  }

  // ── Constants ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A constant that is a function which captures. */
  #declaration(expansion: Expansion, node: as.VariableDeclaration): as.VariableDeclaration | null {
    const { initializer, name, range } = node;
    const { flow } = expansion;
    const lambda = lambdaOf(initializer ?? undefined);
    if (lambda === null || !node.is(CommonFlags.Const)) return null;
    if (!captures(lambda, expansion) && !namesIn(lambda.node).has(name.text)) return null;
    const signature = this.#signatureOf(expansion, node, lambda);
    if (signature === null) return null;
    const closure = this.#functions.closureOf(expansion, lambda, signature, name.text, []);
    if (closure === null) return null;
    const literal = as.Node.createObjectLiteralExpression(
      closure.captured.map(({ field }) => identifier(field, range)),
      closure.captured.map((each) => this.scope.accept(read(each, range), flow)),
      range,
    );
    const type = new ResolvedTypeNode(closure.environment.type, name.range);
    return as.Node.createVariableDeclaration(name, null, CommonFlags.Const, type, literal, range);
  }

  #signatureOf(expansion: Expansion, { name, type }: as.VariableDeclaration, lambda: Lambda): as.Signature | null {
    if (type !== null) return expansion.resolve(type)?.signatureReference ?? null;
    const names = lambda.parameters.map((one) => [one.name, expansion.resolve(one.type)] as const);
    if (names.some(([, found]) => found === null)) return null;
    const result = resultOf(expansion, lambda, names as Names, as.Type.auto);
    if (result === null && namesIn(lambda.node).has(name.text)) return expansion.tell("closure_result", name.range);
    const types = names.map(([, found]) => found!);
    return result === null ? null : as.Signature.create(this.#program, types, result, null, types.length, false);
  }
}

/** The type that an argument becomes; of a rest parameter that of its elements. */
function typeOfArgument({ parameterTypes, hasRest }: as.Signature, index: number): as.Type | null {
  const last = parameterTypes.length - 1;
  if (!hasRest || index < last) return parameterTypes[index] ?? null;
  return parameterTypes[last]!.getClass()?.typeArguments?.[0] ?? null;
}

/** Whether an expression is a number or text that is written out. */
function isWritten(node: as.Expression): boolean {
  return withoutParentheses(node).kind === NodeKind.Literal && isSimple(node);
}

/** Whether types of a function are not written. */
function leavesTypes({ parameters, result }: Lambda): boolean {
  return result === null || parameters.some(({ type }) => isOmitted(type));
}
