/**
 * Functions that capture, and the variables that hold them: which function a name means, and where such a name may stand. It is
 * called, passed on and tested for null, and never kept.
 */
import { as, NodeKind, Token } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { assignedIn } from "./lambda.ts";
import { access, again, identifier } from "./syntax.ts";

/** A variable that a function uses of those around it; `this` is one. */
export interface Captured {
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

/** A captured variable, in the scope around the function or in the function itself. */
export function read({ name }: Captured, range: as.Range): as.Expression {
  return name === "this" ? as.Node.createThisExpression(range) : identifier(name, range);
}

/** A captured variable, in the object that holds it. */
export function fieldOf({ field, holder }: Captured, object: as.Expression, range: as.Range): as.Expression {
  return access(holder === null ? object : access(object, holder, range), field, range);
}

/** A function that captures. */
export interface Closure {
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

/** The object of a function in a call. */
export interface Held {
  readonly closure: Closure;
  readonly object: () => as.IdentifierExpression;
}

/** The name of the object around a method, in a function that is written in the method. */
export const SELF = "self@";

export class ClosureScope {
  readonly #byEnvironment = new Map<as.Class, Closure>();
  /** By the function that takes the captured variables. */
  readonly #lifted = new Map<as.Function, Closure>();
  readonly #assigned = new Map<as.Node, ReadonlySet<string>>();
  /** Mentions of such functions where they may stand. */
  readonly #accepted = new WeakSet<as.Node>();

  /** Whether there is no such function yet. */
  get isEmpty(): boolean {
    return this.#byEnvironment.size === 0;
  }

  /** A variable of the type of its objects holds the function from now on. */
  add(closure: Closure): void {
    this.#byEnvironment.set(closure.environment, closure);
  }

  /** `lifted` takes the captured variables of the function. */
  addLifted(lifted: as.Function, closure: Closure): void {
    this.#lifted.set(lifted, closure);
  }

  /** Whether an expression may be a mention of what only this knows. */
  mayMention({ kind }: as.Expression): boolean {
    return !this.isEmpty && (kind === NodeKind.Identifier || kind === NodeKind.This);
  }

  /** The function that a variable holds. */
  heldBy(node: as.Expression, flow: as.Flow): Closure | null {
    if (this.isEmpty) return null;
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
    if (this.isEmpty) return;
    if (isCondition) this.accept(node, flow);
    if (node instanceof as.BinaryExpression) {
      if (withoutParentheses(node.right).kind === NodeKind.Null) this.accept(node.left, flow);
      if (withoutParentheses(node.left).kind === NodeKind.Null) this.accept(node.right, flow);
    } else if (node instanceof as.UnaryPrefixExpression && node.operator === Token.Exclamation) {
      this.accept(node.operand, flow);
    }
  }

  /** Whether such a function is named where it would be kept. */
  isKept(node: as.Expression, flow: as.Flow): boolean {
    return node.kind === NodeKind.Identifier && !this.#accepted.has(node) && this.heldBy(node, flow) !== null;
  }

  /** A mention where such a function may stand. */
  mention(name: as.IdentifierExpression): as.IdentifierExpression {
    const made = again(name);
    this.#accepted.add(made);
    return made;
  }

  /** Whether a constant's captured variables can be named in a function: it was declared there, or around it. */
  isScoped(closure: Closure, within: as.Function): boolean {
    const { owner } = closure;
    if (closure.declared === null) return false;
    let current: as.Function | undefined = within;
    while (current !== undefined && current !== owner) current = this.#lifted.get(current)?.owner;
    return current === owner;
  }

  /** Whether a function changes a variable that it sees. */
  changes(owner: as.Function, name: string): boolean {
    const around = this.#lifted.get(owner)?.captured.find((each) => each.name === name);
    return around?.isAssigned === true || this.assignedIn(owner).has(name);
  }

  /** The names that a function assigns to. */
  assignedIn({ prototype: { bodyNode } }: as.Function): ReadonlySet<string> {
    if (bodyNode === null) return new Set();
    let known = this.#assigned.get(bodyNode);
    if (known === undefined) this.#assigned.set(bodyNode, (known = assignedIn(bodyNode)));
    return known;
  }

  /** Whether a function changes its parameter of an index. */
  isParameterAssigned(callee: as.Function, index: number): boolean {
    const parameter = callee.prototype.functionTypeNode.parameters[index];
    return parameter !== undefined && this.assignedIn(callee).has(parameter.name.text);
  }

  /** The node, where such a function may stand. */
  accept(node: as.Expression, flow: as.Flow): as.Expression {
    if (this.heldBy(node, flow) !== null) this.#accepted.add(withoutParentheses(node));
    return node;
  }
}
