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
import {
  ArrowKind,
  as,
  CommonFlags,
  ElementKind,
  LocalFlags,
  NodeKind,
  ParameterKind,
  ReportMode,
  Token,
} from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { BlockExpression, ResolvedTypeNode } from "../forms-nodes.ts";
import type { Expansion } from "./expander.ts";
import {
  alwaysReturns,
  assignedIn,
  captures,
  declaredIn,
  isOmitted,
  lambdaOf,
  namesIn,
  resultOf,
  withReturns,
  type Lambda,
  type Names,
} from "./lambda.ts";
import { isSimple } from "./place.ts";
import { inferTypeArguments } from "./type-arguments.ts";
import { access, again, assigned, block, constant, declared, hidden, identifier, nothing, run } from "./syntax.ts";

/** Private members of the program. */
interface ProgramInternals {
  initializeClass(
    declaration: as.ClassDeclaration,
    parent: as.Element,
    queuedExtends: unknown[],
    queuedImplements: unknown[],
  ): as.ClassPrototype | null;
}

/** A variable that a function uses of those around it; `this` is one. */
interface Captured {
  readonly name: string;
  readonly type: as.Type;
  /** Whether the function changes it. */
  readonly isAssigned: boolean;
  /** Whether it may change while the function can be called. */
  readonly isChanging: boolean;
  /** The field that holds it; of another function's object if `holder` is the field with that object. */
  readonly field: string;
  readonly holder: string | null;
}

/** A function that captures. */
interface Closure {
  /** The class of the objects with the captured variables. */
  readonly environment: as.Class;
  readonly captured: readonly Captured[];
  /** Fields with objects of other functions in the same call: their places among the arguments. */
  readonly holders: readonly { readonly field: string; readonly index: number }[];
  readonly signature: as.Signature;
  /** Of the function that takes the captured variables. */
  readonly name: string;
  /** The function around it. */
  readonly owner: as.Function;
  /** How many functions that were compiled for another one are around it. */
  readonly depth: number;
  /** Of a constant: its name, and the captured variables as the scope around it has them. */
  readonly declared: { readonly name: string; locals: ReadonlyMap<string, as.Local> } | null;
}

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

/** The object of a function in a call. */
interface Held {
  readonly closure: Closure;
  readonly object: () => as.IdentifierExpression;
}

/** A function that calls itself with functions of its own would be compiled without end. */
const MOST_DEPTH = 6;

/** The name of the object around a method, in a function that is written in the method. */
const SELF = "self@";

export class Closures {
  readonly #program: as.Program;
  readonly #byEnvironment = new Map<as.Class, Closure>();
  /** By the function around, and the place. */
  readonly #made = new Map<as.Function, Map<as.Node, Closure>>();
  /** By the function that takes the captured variables. */
  readonly #lifted = new Map<as.Function, Closure>();
  readonly #specialized = new Map<string, string>();
  readonly #depths = new Map<as.Function, number>();
  readonly #names = new Map<string, number>();
  readonly #assigned = new Map<as.Node, ReadonlySet<string>>();
  /** Mentions of such functions where they may stand. */
  readonly #accepted = new WeakSet<as.Node>();

  constructor(program: as.Program) {
    this.#program = program;
  }

  // ---------------------------------------------------------------------------------------------------------- questions

  /** Whether a call may be one of these, as far as its words show it. */
  mayCarry({ expression, args }: as.CallExpression): boolean {
    if (expression.range.source.isLibrary) return false;
    if (args.some((argument) => withoutParentheses(argument) instanceof as.FunctionExpression)) return true;
    return (
      this.#byEnvironment.size > 0 &&
      [expression, ...args].some((part) => withoutParentheses(part).kind === NodeKind.Identifier)
    );
  }

  /** Whether an expression may be a mention of what only this knows. */
  mayMention({ kind }: as.Expression): boolean {
    return this.#byEnvironment.size > 0 && (kind === NodeKind.Identifier || kind === NodeKind.This);
  }

  /** The function that a variable holds. */
  #heldBy(node: as.Expression, flow: as.Flow): Closure | null {
    if (this.#byEnvironment.size === 0) return null;
    const inner = withoutParentheses(node);
    if (inner.kind !== NodeKind.Identifier) return null;
    const environment = flow.lookupLocal((inner as as.IdentifierExpression).text)?.type.getClass() ?? null;
    return environment === null ? null : (this.#byEnvironment.get(environment) ?? null);
  }

  /** The local variable of a name; that of `this` has another name in a function that is written in a method. */
  localOf(name: string, flow: as.Flow): as.Local | null {
    const local = flow.lookupLocal(name) ?? (name === "this" ? flow.lookupLocal(SELF) : null);
    // The compiler knows a variable without its type while it compiles the initial value.
    return local === null || local.type === as.Type.auto ? null : local;
  }

  /** `this` in a function that is written in a method; null: it is that of the function itself. */
  selfAt(node: as.Expression, flow: as.Flow): as.IdentifierExpression | null {
    if (node.kind !== NodeKind.This || flow.lookupLocal(SELF) === null) return null;
    return identifier(SELF, node.range);
  }

  /** Where a test for null or truth stands, what it tests may be such a function. */
  acceptTest(node: as.Expression, flow: as.Flow, isCondition: boolean): void {
    if (this.#byEnvironment.size === 0) return;
    if (isCondition) this.#accept(node, flow);
    if (node instanceof as.BinaryExpression) {
      if (withoutParentheses(node.right).kind === NodeKind.Null) this.#accept(node.left, flow);
      if (withoutParentheses(node.left).kind === NodeKind.Null) this.#accept(node.right, flow);
    } else if (node instanceof as.UnaryPrefixExpression && node.operator === Token.Exclamation) {
      this.#accept(node.operand, flow);
    }
  }

  /** Whether such a function is named where it would be kept. */
  isKept(node: as.Expression, flow: as.Flow): boolean {
    return node.kind === NodeKind.Identifier && !this.#accepted.has(node) && this.#heldBy(node, flow) !== null;
  }

  /** A mention where such a function may stand. */
  mention(name: as.IdentifierExpression): as.IdentifierExpression {
    const made = again(name);
    this.#accepted.add(made);
    return made;
  }

  typeOf(expansion: Expansion, node: as.CallExpression): as.Type | undefined {
    const held = this.#heldBy(node.expression, expansion.flow);
    return held?.signature.returnType ?? this.#callOf(expansion, node)?.callee.signature.returnType;
  }

  // --------------------------------------------------------------------------------------------------------- expansions

  /** Null: the call is none of these, or has a mistake that is told. */
  expand(expansion: Expansion, node: as.CallExpression): as.Expression | null {
    const held = this.#heldBy(node.expression, expansion.flow);
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
    const index = given.findIndex((one, at) => one !== null && this.#isParameterAssigned(callee, at));
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
      const closure = lambda === null ? undefined : this.#made.get(flow.sourceFunction)?.get(lambda.node);
      if (closure?.declared) closure.declared.locals = this.#localsOf(closure.captured, flow);
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
    if (local !== null && this.#assignedIn(flow.sourceFunction).has(callee.text)) return null;
    const element = local ?? flow.lookup(callee.text) ?? this.#program.lookup(callee.text);
    const isFixed = element?.kind === ElementKind.FunctionPrototype || (element !== null && element === local);
    const held = this.#heldBy(callee, flow)?.signature ?? null;
    const signature = held ?? typing.of(callee, flow)?.signatureReference ?? null;
    if (!isFixed || signature === null || (held === null && !isWanted(signature))) return null;
    const { range } = callee;
    const omitted = (): as.TypeNode => as.Node.createOmittedType(range);
    const names = signature.parameterTypes.map((_, index) => hidden(`p${index}`, range.start, range));
    const call = as.Node.createCallExpression(
      again(callee),
      null,
      names.map((name) => again(name)),
      range,
    );
    const parameters = names.map((name) =>
      as.Node.createParameter(ParameterKind.Default, name, omitted(), null, range),
    );
    const declaration = as.Node.createFunctionDeclaration(
      identifier("", range),
      null,
      CommonFlags.None,
      null,
      as.Node.createFunctionType(parameters, omitted(), null, false, range),
      run(call),
      ArrowKind.Single,
      range,
    );
    return lambdaOf(as.Node.createFunctionExpression(declaration));
  }

  // ------------------------------------------------------------------------------------------------------------- calls

  /** A call of a parameter or constant that holds a function. */
  #callHeld(expansion: Expansion, closure: Closure, node: as.CallExpression): as.Expression | null {
    const callee = withoutParentheses(node.expression) as as.IdentifierExpression;
    const { range, args } = node;
    const { signature } = closure;
    if (args.length > signature.parameterTypes.length || args.length < signature.requiredParameters)
      return expansion.tell("closure_arguments", range);
    const copies = this.#copies(expansion, { closure, object: () => this.mention(callee) }, callee.range);
    if (copies === null) return null;
    const evaluated = this.#evaluated(args, (index) => signature.parameterTypes[index] ?? null);
    const isCopied = copies.before.length > 0;
    const values = [this.mention(callee), ...(isCopied ? evaluated.values : args)];
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
      const closure = this.#heldBy(argument, flow);
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
      one?.kind === "closure" ? { closure: one.closure, object: () => this.mention(one.name) } : null,
    );
    for (const [index, one] of given.entries()) {
      if (one?.kind !== "lambda") continue;
      const type = signature.parameterTypes[index]!.nonNullableType.signatureReference!;
      const others = held.map((each, at) =>
        each !== null && (given[at]?.kind === "lambda" || this.#isScoped(each.closure, owner)) ? each : null,
      );
      const closure = this.#closureOf(expansion, one.lambda, type, null, others);
      if (closure === null) return null;
      const name = hidden("captured", one.lambda.node.range.start, one.lambda.node.range);
      held[index] = { closure, object: () => this.mention(name) };
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
    const name = this.#specialize(
      callee,
      held.map((each) => each?.closure ?? null),
    );
    if (receiver !== null) this.#addMember(expansion, receiver, callee.parent as as.Class, name);
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
      ...own.map((each) => this.#accept(read(each, range), flow)),
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
    if (!this.#isScoped(closure, flow.sourceFunction)) return { before: [], behind: [] };
    const changing = closure.captured.filter(({ isChanging }) => isChanging);
    const { locals } = closure.declared!;
    if (
      flow.sourceFunction === closure.owner &&
      changing.some(({ name }) => this.localOf(name, flow) !== locals.get(name))
    )
      return expansion.tell("closure_shadowed", range);
    return {
      before: changing.map((each) => run(assigned(fieldOf(each, object(), range), read(each, range), range))),
      behind: changing
        .filter(({ isAssigned }) => isAssigned)
        .map((each) => run(assigned(read(each, range), fieldOf(each, object(), range), range))),
    };
  }

  /** Whether a constant's captured variables can be named in a function: it was declared there, or around it. */
  #isScoped(closure: Closure, within: as.Function): boolean {
    const { owner } = closure;
    if (closure.declared === null) return false;
    let current: as.Function | undefined = within;
    while (current !== undefined && current !== owner) current = this.#lifted.get(current)?.owner;
    return current === owner;
  }

  /** An argument that has a variable in its object which another argument has too, and one of them changes it. */
  #sharedTwice(held: readonly (Held | null)[], owner: as.Function): number | null {
    const seen = new Map<string, boolean>();
    for (const [index, each] of held.entries()) {
      if (each === null || !this.#isScoped(each.closure, owner)) continue;
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

  // ---------------------------------------------------------------------------------------------------------- functions

  /** A constant that is a function which captures. */
  #declaration(expansion: Expansion, node: as.VariableDeclaration): as.VariableDeclaration | null {
    const { initializer, name, range } = node;
    const { flow } = expansion;
    const lambda = lambdaOf(initializer ?? undefined);
    if (lambda === null || !node.is(CommonFlags.Const)) return null;
    if (!captures(lambda, expansion) && !namesIn(lambda.node).has(name.text)) return null;
    const signature = this.#signatureOf(expansion, node, lambda);
    if (signature === null) return null;
    const closure = this.#closureOf(expansion, lambda, signature, name.text, []);
    if (closure === null) return null;
    const literal = as.Node.createObjectLiteralExpression(
      closure.captured.map(({ field }) => identifier(field, range)),
      closure.captured.map((each) => this.#accept(read(each, range), flow)),
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

  /** A function that captures: once for each instance of the function around it. Null: with a mistake. */
  #closureOf(
    expansion: Expansion,
    lambda: Lambda,
    signature: as.Signature,
    constantName: string | null,
    others: readonly (Held | null)[],
  ): Closure | null {
    const { flow } = expansion;
    const owner = flow.sourceFunction;
    const { node, parameters } = lambda;
    const known = this.#made.get(owner)?.get(node);
    if (known !== undefined) return known;
    const depth = (this.#depths.get(owner) ?? 0) + 1;
    if (depth > MOST_DEPTH) return expansion.tell("closure_without_end", node.range);
    if (parameters.length > signature.parameterTypes.length) return null;
    const found = this.#captured(expansion, lambda, constantName, others);
    if (found === null) return null;
    const environment = this.#environment(owner, lambda, found, others);
    const closure: Closure = {
      ...found,
      environment,
      signature,
      name: this.#name(`${constantName ?? "closure"}@${node.range.start}`),
      owner,
      depth,
      declared: constantName === null ? null : { name: constantName, locals: this.#localsOf(found.captured, flow) },
    };
    this.#byEnvironment.set(environment, closure);
    let made = this.#made.get(owner);
    if (made === undefined) this.#made.set(owner, (made = new Map<as.Node, Closure>()));
    made.set(node, closure);
    const lifted = this.#lift(expansion, lambda, closure);
    this.#depths.set(lifted, depth);
    this.#lifted.set(lifted, closure);
    return closure;
  }

  #localsOf(captured: readonly Captured[], flow: as.Flow): ReadonlyMap<string, as.Local> {
    return new Map(captured.map(({ name }) => [name, this.localOf(name, flow)!]));
  }

  #captured(
    expansion: Expansion,
    lambda: Lambda,
    constantName: string | null,
    others: readonly (Held | null)[],
  ): Pick<Closure, "captured" | "holders"> | null {
    const { flow } = expansion;
    const owner = flow.sourceFunction;
    const inside = declaredIn(lambda.node);
    const changed = new Set(assignedIn(lambda.node));
    const names = new Set(namesIn(lambda.node));
    // A constant that is called in there brings its own captured variables.
    for (const name of names) {
      const local = name === constantName ? null : this.localOf(name, flow);
      const used = local === null ? null : this.#heldBy(identifier(name, lambda.node.range), flow);
      if (used === null || !this.#isScoped(used, owner)) continue;
      for (const each of used.captured) {
        if (!each.isChanging) continue;
        if (inside.has(each.name)) return expansion.tell("closure_shadowed", lambda.node.range);
        names.add(each.name);
        if (each.isAssigned) changed.add(each.name);
      }
    }
    const captured: Captured[] = [];
    const holders: { field: string; index: number }[] = [];
    for (const name of names) {
      const isParameter = lambda.parameters.some((parameter) => parameter.name.text === name);
      const local = isParameter || name === constantName ? null : this.localOf(name, flow);
      if (local === null) continue;
      const { index, type } = local;
      const isConstant = flow.isLocalFlag(index, LocalFlags.Constant, true);
      const isAssigned = changed.has(name) && !isConstant;
      const isChanging = isAssigned || (!isConstant && this.#changes(owner, name));
      // A test for null holds as long as nobody changes the variable.
      const isThere = !isChanging && flow.isLocalFlag(index, LocalFlags.NonNull, false);
      const field = name === "this" ? "self$" : name;
      const at = others.findIndex((other) =>
        other?.closure.captured.some((one) => one.name === name && one.holder === null && one.isChanging),
      );
      const holder = isChanging && at >= 0 ? `with$${at}` : null;
      if (holder !== null && !holders.some((one) => one.index === at)) holders.push({ field: holder, index: at });
      if (isChanging && inside.has(name) && constantName !== null && names.has(constantName))
        return expansion.tell("closure_shadowed", lambda.node.range);
      captured.push({ name, type: isThere ? type.nonNullableType : type, isAssigned, isChanging, field, holder });
    }
    return { captured, holders };
  }

  /** Whether a function changes a variable that it sees. */
  #changes(owner: as.Function, name: string): boolean {
    const around = this.#lifted.get(owner)?.captured.find((each) => each.name === name);
    return around?.isAssigned === true || this.#assignedIn(owner).has(name);
  }

  /** The names that a function assigns to. */
  #assignedIn({ prototype: { bodyNode } }: as.Function): ReadonlySet<string> {
    if (bodyNode === null) return new Set();
    let known = this.#assigned.get(bodyNode);
    if (known === undefined) this.#assigned.set(bodyNode, (known = assignedIn(bodyNode)));
    return known;
  }

  #isParameterAssigned(callee: as.Function, index: number): boolean {
    const parameter = callee.prototype.functionTypeNode.parameters[index];
    return parameter !== undefined && this.#assignedIn(callee).has(parameter.name.text);
  }

  #environment(
    owner: as.Function,
    { node }: Lambda,
    { captured, holders }: Pick<Closure, "captured" | "holders">,
    others: readonly (Held | null)[],
  ): as.Class {
    const { range } = node;
    const field = (name: string, type: as.Type): as.FieldDeclaration =>
      as.Node.createFieldDeclaration(
        identifier(name, range),
        null,
        CommonFlags.Instance,
        new ResolvedTypeNode(type, range),
        null,
        range,
      );
    const fields = [
      ...captured.filter(({ holder }) => holder === null).map((each) => field(each.field, each.type)),
      ...holders.map((one) => field(one.field, others[one.index]!.closure.environment.type)),
    ];
    const name = identifier(this.#name(`Captured@${range.start}`), range);
    const declaration = as.Node.createClassDeclaration(name, null, CommonFlags.None, null, null, null, fields, range);
    const internals = this.#program as unknown as ProgramInternals;
    const prototype = internals.initializeClass(declaration, fileOf(owner), [], []);
    const made = prototype === null ? null : this.#program.resolver.resolveClass(prototype, null);
    if (made === null) throw new Error(`the captured variables of ${owner.internalName} have no class`);
    return made;
  }

  /** The function that takes the captured variables first. */
  #lift({ flow }: Expansion, lambda: Lambda, closure: Closure): as.Function {
    const { node, body, parameters } = lambda;
    const { range } = node;
    const { environment, captured, signature, name } = closure;
    const { returnType } = signature;
    const held = hidden("captured", range.start, range);
    const object = (): as.IdentifierExpression => this.mention(held);
    const taken: as.ParameterNode[] = [
      as.Node.createParameter(ParameterKind.Default, held, new ResolvedTypeNode(environment.type, range), null, range),
    ];
    const begin: as.Statement[] = captured.map((each) => {
      const variable = identifier(each.name === "this" ? SELF : each.name, range);
      const flag = each.isAssigned ? CommonFlags.Let : CommonFlags.Const;
      return declared(variable, fieldOf(each, object(), range), flag, each.type);
    });
    // It may call itself.
    if (closure.declared !== null && namesIn(node).has(closure.declared.name))
      begin.push(constant(identifier(closure.declared.name, range), object(), environment.type));
    for (const [index, type] of signature.parameterTypes.entries()) {
      const own = parameters[index];
      const where = own?.range ?? range;
      const isConverted = own !== undefined && !isOmitted(own.type);
      const parameter = own === undefined || isConverted ? hidden(`p${index}`, where.start, where) : own.name;
      const isLeftOut = index >= signature.requiredParameters && type.isNullableReference;
      taken.push(
        as.Node.createParameter(
          isLeftOut ? ParameterKind.Optional : ParameterKind.Default,
          parameter,
          new ResolvedTypeNode(type, where),
          isLeftOut ? nothing(where) : null,
          where,
        ),
      );
      if (own === undefined || !isConverted) continue;
      const local = as.Node.createVariableDeclaration(
        own.name,
        null,
        CommonFlags.Let,
        own.type,
        again(parameter),
        where,
      );
      begin.push(as.Node.createVariableStatement(null, [local], where));
    }
    const copied = (): as.Statement[] =>
      captured
        .filter(({ isAssigned }) => isAssigned)
        .map((each) => run(assigned(fieldOf(each, object(), range), read(each, range), range)));
    const returned = (value: as.Expression | null, where: as.Range): as.Statement[] => {
      const copies = copied();
      const leave = (result: as.Expression | null): as.Statement => as.Node.createReturnStatement(result, where);
      if (value === null) return [...copies, leave(null)];
      if (returnType === as.Type.void) return [run(value), ...copies, leave(null)];
      if (copies.length === 0) return [leave(value)];
      const result = hidden("result", where.start, where);
      return [constant(result, value, returnType), ...copies, leave(again(result))];
    };
    const inner =
      body.kind === "value"
        ? returned(body.value, body.value.range)
        : [
            ...body.statements.map((statement) => withReturns(statement, returned)),
            ...(alwaysReturns(body.statements) ? [] : copied()),
          ];
    const declaration = as.Node.createFunctionDeclaration(
      identifier(name, range),
      null,
      CommonFlags.None,
      null,
      as.Node.createFunctionType(taken, new ResolvedTypeNode(returnType, range), null, false, range),
      block([...begin, block(inner, range)], range),
      ArrowKind.None,
      range,
    );
    const prototype = new as.FunctionPrototype(name, fileOf(flow.sourceFunction), declaration);
    return this.#declare(name, prototype, new Map(flow.contextualTypeArguments ?? []));
  }

  /** The name of a function of the application that is compiled for these functions. */
  #specialize(callee: as.Function, closures: readonly (Closure | null)[]): string {
    const key = `${callee.internalName}(${closures.map((closure) => closure?.name ?? "").join()})`;
    const known = this.#specialized.get(key);
    if (known !== undefined) return known;
    const { prototype, contextualTypeArguments } = callee;
    const {
      signature,
      decorators,
      flags,
      body,
      range,
      name: written,
    } = prototype.declaration as as.FunctionDeclaration;
    const parameters = signature.parameters.map((parameter, index) => {
      const closure = closures[index] ?? null;
      if (closure === null) return parameter;
      const { type } = closure.environment;
      const isNullable = callee.signature.parameterTypes[index]!.isNullableReference;
      const taken = new ResolvedTypeNode(isNullable ? type.asNullable() : type, parameter.range);
      return as.Node.createParameter(ParameterKind.Default, parameter.name, taken, null, parameter.range);
    });
    const name = this.#nameBeside(prototype);
    const type = as.Node.createFunctionType(
      parameters,
      signature.returnType,
      signature.explicitThisType,
      false,
      signature.range,
    );
    const own: CommonFlags = flags & ~(CommonFlags.Export | CommonFlags.Generic);
    const identified = identifier(name, written.range);
    const declaration = prototype.is(CommonFlags.Instance)
      ? as.Node.createMethodDeclaration(identified, decorators, own, null, type, body, range)
      : as.Node.createFunctionDeclaration(identified, decorators, own, null, type, body, ArrowKind.None, range);
    const made = new as.FunctionPrototype(name, prototype.parent, declaration, prototype.decoratorFlags);
    made.flags = prototype.flags & ~(CommonFlags.Export | CommonFlags.Generic);
    this.#specialized.set(key, name);
    const instance = this.#declare(name, made, new Map(contextualTypeArguments ?? []));
    this.#depths.set(instance, Math.max(...closures.map((closure) => closure?.depth ?? 0)));
    return name;
  }

  /** A method of a base class can be called on objects of the class too. */
  #addMember({ typing, flow }: Expansion, receiver: as.Expression, base: as.Class, name: string): void {
    const owner = typing.of(receiver, flow)?.getClass() ?? base;
    owner.members ??= new Map<string, as.DeclaredElement>();
    if (owner !== base) owner.members.set(name, base.getMember(name)!);
  }

  #declare(name: string, prototype: as.FunctionPrototype, types: Map<string, as.Type>): as.Function {
    const { parent } = prototype;
    if (parent.kind === ElementKind.Class) (parent.members ??= new Map()).set(name, prototype);
    else this.#program.elementsByName.set(name, prototype);
    const instance = this.#program.resolver.resolveFunction(prototype, null, types);
    if (instance === null) throw new Error(`${prototype.internalName} can't be resolved`);
    return instance;
  }

  /** A name for a function that is compiled once more. Methods are called by their names in f^rw too. */
  #nameBeside({ name, parent }: as.FunctionPrototype): string {
    if (parent.kind !== ElementKind.Class) return this.#name(`${name}@`);
    let count = 1;
    while (parent.getMember(`${name}$${count}`) !== null) count++;
    return `${name}$${count}`;
  }

  /** A name that the program does not have yet: what stands before the `@` is shown. */
  #name(wanted: string): string {
    const count = (this.#names.get(wanted) ?? 0) + 1;
    this.#names.set(wanted, count);
    return count === 1 ? wanted : `${wanted}#${count}`;
  }

  #accept(node: as.Expression, flow: as.Flow): as.Expression {
    if (this.#heldBy(node, flow) !== null) this.#accepted.add(withoutParentheses(node));
    return node;
  }
}

/** A captured variable, in the scope around the function or in the function itself. */
function read({ name }: Captured, range: as.Range): as.Expression {
  return name === "this" ? as.Node.createThisExpression(range) : identifier(name, range);
}

/** A captured variable, in the object that holds it. */
function fieldOf({ field, holder }: Captured, object: as.Expression, range: as.Range): as.Expression {
  return access(holder === null ? object : access(object, holder, range), field, range);
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

/** The file or namespace around a function. */
function fileOf({ parent }: as.Function): as.Element {
  let element = parent;
  while (element.kind !== ElementKind.File && element.kind !== ElementKind.Namespace) element = element.parent;
  return element;
}
