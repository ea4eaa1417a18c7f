/**
 * Function bodies: one rule for each syntax node of AssemblyScript, and a refusal for every other. Code that the compiler
 * never compiled (behind a `return`, in a static branch of a generic function) is dead and left out.
 *
 * The rules are functions over a `BodyLowering`, in a file for each class of syntax.
 */
import { type as, NodeKind } from "../../parse/assemblyscript.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import { withoutParentheses } from "../../parse/children.ts";
import type { NodeFacts } from "../../parse/facts.ts";
import type { Declarations } from "../declarations.ts";
import { STRING, type Expression, type FunctionDeclaration, type Local, type Statement, type Type } from "../ir.ts";
import { hide, linearize, linearized } from "../linearize.ts";
import { spanOf } from "../nodes.ts";
import { Refusal } from "../refusal.ts";
import { lowerExpression } from "./expressions.ts";
import { lowerInitial } from "./forms.ts";
import { lowerFunction } from "./functions.ts";
import { lowerStatement } from "./statements.ts";

/** Fills in parameters, initializers and body of a declared function. */
export function lowerBody(declarations: Declarations, source: as.Function, declaration: FunctionDeclaration): void {
  const lowering = new BodyLowering(declarations, source, declaration.self);
  lowering.orElse(
    () => lowerFunction(lowering, source, declaration),
    () => {},
  );
  linearize(declaration);
}

/** An expression outside of function bodies; it sees no variables. `owner` is the function whose facts it has, if one. */
export function lowerInitializer(
  declarations: Declarations,
  node: as.Expression,
  owner: as.Function | null,
  expected: Type,
): Expression {
  return lowerInitial(new BodyLowering(declarations, owner, null, true), node, expected);
}

/** A statement between the declarations of a file, as the body of a function. */
export function lowerModuleStatement(declarations: Declarations, node: as.Statement, owner: as.Function): Statement[] {
  return [...linearized(new BodyLowering(declarations, owner, null).statement(node))];
}

/** The operator of an expression without a rule; see `lowerAsKnown`. */
export const UNKNOWN = "?";

/** One body while it is lowered: its variables, the facts of its nodes, and the way to the rules. */
export class BodyLowering {
  readonly declarations: Declarations;
  /** The function whose facts the nodes have; null: those of any. */
  readonly source: as.Function | null;
  readonly self: Local | null;
  readonly isInitializer: boolean;
  readonly #scopes: Map<string, Local>[];

  readonly #initial = new WeakMap<Local, as.Expression>();

  constructor(
    declarations: Declarations,
    source: as.Function | null,
    self: Local | null,
    isInitializer = false,
    scope: ReadonlyMap<string, Local> = new Map(),
  ) {
    this.declarations = declarations;
    this.source = source;
    this.self = self;
    this.isInitializer = isInitializer;
    this.#scopes = [new Map(scope)];
  }

  /** For an initial value: it sees the variables of `scope` only. */
  initializer(source: as.Function | null, self: Local | null, scope: ReadonlyMap<string, Local>): BodyLowering {
    return new BodyLowering(this.declarations, source, self, true, scope);
  }

  /** The variables of the outermost scope. */
  get outermost(): ReadonlyMap<string, Local> {
    return this.#scopes[0]!;
  }

  scoped<T>(action: () => T): T {
    this.#scopes.push(new Map());
    const result = action();
    this.#scopes.pop();
    return result;
  }

  /** A branch or loop body: its own scope, and its statements without the braces. */
  branch(node: as.Statement | null): Statement[] {
    if (node === null) return [];
    return this.scoped(() =>
      node.kind === NodeKind.Block ? this.statements((node as as.BlockStatement).statements) : this.statements([node]),
    );
  }

  isLive(node: as.Statement): boolean {
    if (node.kind === NodeKind.Block) return (node as as.BlockStatement).statements.some((inner) => this.isLive(inner));
    return this.source === null || this.declarations.facts.wasCompiled(this.source, node);
  }

  /** `initial`: its value at first, if that is written. */
  addLocal(name: string, type: Type, node: as.Node, initial: as.Expression | null = null): Local {
    // The purpose of a name that the developer did not write stands before an `@`.
    const local: Local = { name: name.replace(/@.*/, ""), type, span: spanOf(node) };
    if (name.includes("@")) hide(local);
    this.#scopes.at(-1)?.set(name, local);
    if (initial !== null) this.#initial.set(local, initial);
    return local;
  }

  /** The value that a variable of this body has at first; null: none is written, or another body declares it. */
  initialOf(local: Local): as.Expression | null {
    return this.#initial.get(local) ?? null;
  }

  find(name: string): Local | null {
    for (const scope of this.#scopes.toReversed()) {
      const local = scope.get(name);
      if (local !== undefined) return local;
    }
    return null;
  }

  /** The other way if the one has no rule, where that is what is wanted. */
  orElse<T>(lower: () => T, unknown: () => T): T {
    try {
      return lower();
    } catch (thrown) {
      if (!this.declarations.asKnown || !(thrown instanceof Refusal)) throw thrown;
      return unknown();
    }
  }

  statement(node: as.Statement): Statement[] {
    return this.orElse(
      () => lowerStatement(this, node),
      () => [],
    );
  }

  statements(nodes: readonly as.Statement[]): Statement[] {
    return nodes.filter((node) => this.isLive(node)).flatMap((node) => this.statement(node));
  }

  /**
   * Calls a function made for this place: `inputs` are its arguments, and `body` sees them as parameters. For what
   * needs a statement, or a value twice, inside an expression.
   */
  made(
    name: string,
    inputs: readonly Expression[],
    result: Type,
    span: Span,
    body: (parameters: readonly Expression[]) => readonly Statement[],
  ): Expression {
    const locals = inputs.map((input, index): Local => ({ name: `p${index}`, type: input.type, span: input.span }));
    const statements = body(locals.map((local) => ({ kind: "local", local, type: local.type, span: local.span })));
    const declaration = this.declarations.synthetic(name, locals, result, statements, span);
    return {
      kind: "call",
      callees: [declaration],
      receiver: null,
      arguments: inputs,
      isSuper: false,
      type: result,
      span,
    };
  }

  factsOf(node: as.Node): NodeFacts {
    const { facts } = this.declarations;
    return this.source === null ? facts.getAnywhere(node) : facts.get(this.source, node);
  }

  isKnown(node: as.Expression): boolean {
    return this.declarations.facts.getAnywhere(withoutParentheses(node)).type !== undefined;
  }

  typeOf(node: as.Expression, expected?: Type): Type {
    const type = this.factsOf(withoutParentheses(node)).type;
    if (type !== undefined) return this.declarations.type(type, spanOf(node));
    if (expected !== undefined) return expected;
    throw new Refusal("not_sliced_syntax", {
      message: "The analyzer does not know the type of this expression.",
      primary: spanOf(node),
    });
  }

  /** `expected` is the type of nodes that were not compiled on their own: literals as initial values. */
  expression(node: as.Expression, expected?: Type): Expression {
    return this.orElse(
      () => lowerExpression(this, node, expected),
      () => ({ kind: "operation", operator: UNKNOWN, operands: [], type: expected ?? STRING, span: spanOf(node) }),
    );
  }

  thisValue(span: Span): Expression {
    if (this.self === null)
      throw new Refusal("not_sliced_syntax", {
        message: "The analyzer can't follow the initial value of a field that uses `this`.",
        primary: span,
        help: "Give the field its value in the constructor.",
      });
    return { kind: "local", local: this.self, type: this.self.type, span };
  }

  functionValue(declaration: FunctionDeclaration, source: as.Function, span: Span): Expression {
    declaration.escapes = true;
    const type: Type = {
      kind: "function",
      parameters: source.signature.parameterTypes.map((parameter) => this.declarations.type(parameter, span)),
      required: source.signature.requiredParameters,
      result: declaration.result,
    };
    return { kind: "function-value", declaration, type, span };
  }

  wasCompiled(node: as.Expression): boolean {
    return this.source === null || this.declarations.facts.wasCompiled(this.source, withoutParentheses(node));
  }
}
