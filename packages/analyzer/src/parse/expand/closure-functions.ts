/**
 * The functions and classes that are made of functions that capture. An object of a class holds the captured variables, and the
 * function is one of the file that takes this object first. A function of the application is compiled once more for each
 * such function that it is given.
 */
import { ArrowKind, as, CommonFlags, ElementKind, LocalFlags, ParameterKind } from "../assemblyscript.ts";
import { ResolvedTypeNode } from "../forms-nodes.ts";
import { fieldOf, read, SELF, type Captured, type Closure, type ClosureScope, type Held } from "./closure-scopes.ts";
import type { Expansion } from "./expander.ts";
import { alwaysReturns, assignedIn, declaredIn, isOmitted, namesIn, withReturns, type Lambda } from "./lambda.ts";
import { again, assigned, block, constant, declared, hidden, identifier, nothing, run } from "./syntax.ts";

/** Private members of the program. */
interface ProgramInternals {
  initializeClass(
    declaration: as.ClassDeclaration,
    parent: as.Element,
    queuedExtends: unknown[],
    queuedImplements: unknown[],
  ): as.ClassPrototype | null;
}

/** A function that calls itself with functions of its own would be compiled without end. */
const MOST_DEPTH = 6;

export class ClosureFunctions {
  readonly #program: as.Program;
  readonly #scope: ClosureScope;
  /** By the function around, and the place. */
  readonly #made = new Map<as.Function, Map<as.Node, Closure>>();
  readonly #specialized = new Map<string, string>();
  readonly #depths = new Map<as.Function, number>();
  readonly #names = new Map<string, number>();

  constructor(program: as.Program, scope: ClosureScope) {
    this.#program = program;
    this.#scope = scope;
  }

  /** The function that was made of one that is written in another; null: none was. */
  madeOf(owner: as.Function, node: as.Node): Closure | null {
    return this.#made.get(owner)?.get(node) ?? null;
  }

  /** A function that captures: once for each instance of the function around it. Null: with a mistake. */
  closureOf(
    expansion: Expansion,
    lambda: Lambda,
    signature: as.Signature,
    constantName: string | null,
    others: readonly (Held | null)[],
  ): Closure | null {
    const { flow } = expansion;
    const owner = flow.sourceFunction;
    const { node, parameters } = lambda;
    const known = this.madeOf(owner, node);
    if (known !== null) return known;
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
      declared: constantName === null ? null : { name: constantName, locals: this.localsOf(found.captured, flow) },
    };
    this.#scope.add(closure);
    let made = this.#made.get(owner);
    if (made === undefined) this.#made.set(owner, (made = new Map<as.Node, Closure>()));
    made.set(node, closure);
    const lifted = this.#lift(expansion, lambda, closure);
    this.#depths.set(lifted, depth);
    this.#scope.addLifted(lifted, closure);
    return closure;
  }

  /** The variables that a scope has for the captured ones. */
  localsOf(captured: readonly Captured[], flow: as.Flow): ReadonlyMap<string, as.Local> {
    return new Map(captured.map(({ name }) => [name, this.#scope.localOf(name, flow)!]));
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
      const local = name === constantName ? null : this.#scope.localOf(name, flow);
      const used = local === null ? null : this.#scope.heldBy(identifier(name, lambda.node.range), flow);
      if (used === null || !this.#scope.isScoped(used, owner)) continue;
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
      const local = isParameter || name === constantName ? null : this.#scope.localOf(name, flow);
      if (local === null) continue;
      const { index, type } = local;
      const isConstant = flow.isLocalFlag(index, LocalFlags.Constant, true);
      const isAssigned = changed.has(name) && !isConstant;
      const isChanging = isAssigned || (!isConstant && this.#scope.changes(owner, name));
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
    const object = (): as.IdentifierExpression => this.#scope.mention(held);
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
  specialize(callee: as.Function, closures: readonly (Closure | null)[]): string {
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
  addMember({ typing, flow }: Expansion, receiver: as.Expression, base: as.Class, name: string): void {
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
}

/** The file or namespace around a function. */
function fileOf({ parent }: as.Function): as.Element {
  let element = parent;
  while (element.kind !== ElementKind.File && element.kind !== ElementKind.Namespace) element = element.parent;
  return element;
}
