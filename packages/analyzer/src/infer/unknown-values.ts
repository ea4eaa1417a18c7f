/**
 * Refuses a handler that uses a function, an object, a container or a table of which points-to knows nothing. The accesses
 * of such a value would be missing in f^rw without a sign.
 *
 * An expression may refer to nothing for a reason. It is null, it takes an element of an empty list, or it gets a value
 * that refers to nothing itself. Each expression is asked for its own reason only, since the values that it gets are asked
 * too. The flow of values is found here anew and not taken from points-to, so that neither hides a gap of the other.
 *
 * An empty container is not a reason for a function, because the analysis may have overlooked the functions that are stored
 * there. It is a reason if the program has no function of so many parameters as a value.
 */
import {
  nonNullable,
  walkExpression,
  walkFunction,
  walkStatements,
  type AssignmentTarget,
  type Expression,
  type FieldDeclaration,
  type FieldRead,
  type FunctionDeclaration,
  type Global,
  type LibraryCall,
  type Local,
  type Program,
  type Type,
} from "../lower/ir.ts";
import { Refusal } from "../lower/refusal.ts";
import { calleesOf } from "./definitions.ts";
import type { PointsTo } from "./points-to.ts";

export function refuseUnknownValues(program: Program, pointsTo: PointsTo): void {
  const suspects = pointsTo.referringToNothing().filter(({ kind, type }) => kind !== "constant" && isReference(type));
  const unknown = program.globals.filter((global) => global.unknown !== null && holdsFunctions(global.type));
  if (suspects.length > 0 || unknown.length > 0) new Flow(program, pointsTo).demandReasons(suspects);
}

function isReference(type: Type): boolean {
  return ["class", "library", "table", "function"].includes(nonNullable(type).kind);
}

/** An object may have a function in some field. */
function holdsFunctions(type: Type): boolean {
  const inner = nonNullable(type);
  return (
    ["function", "class"].includes(inner.kind) || (inner.kind === "library" && inner.arguments.some(holdsFunctions))
  );
}

/** Which function it is stands in the source. */
function isNamed(expression: Expression | undefined): boolean {
  return expression === undefined || expression.kind === "function-value";
}

/** Where values come from, in the code that may run. */
class Flow {
  readonly #pointsTo: PointsTo;
  readonly #evaluated = new Set<Expression>();
  /** Values that come into a variable, or that a function returns. */
  readonly #given = new Map<Local | Global | FunctionDeclaration, Expression[]>();
  readonly #assigned = new Map<FieldDeclaration, { readonly object: Expression; readonly value: Expression }[]>();
  /** Given to a callback, or to an operator, by the library. */
  readonly #byLibrary = new Map<Local, LibraryCall[]>();
  readonly #declared = new Set<Local>();
  readonly #parameterCounts = new Set<number>();
  #callsFunctionValues = false;

  constructor(program: Program, pointsTo: PointsTo) {
    this.#pointsTo = pointsTo;
    const called = new Set([program.handler]);
    const visit = (expression: Expression): void => {
      this.#evaluated.add(expression);
      this.#note(expression);
      for (const callee of calleesOf(expression, pointsTo)) called.add(callee);
    };
    for (const initializer of pointsTo.decodedInitializers) walkExpression(initializer, visit);
    for (const global of program.globals) {
      if (global.initializer === null) continue;
      walkExpression(global.initializer, visit);
      add(this.#given, global, global.initializer);
    }
    // The set grows while it is walked.
    for (const declaration of called) {
      walkFunction(declaration, visit);
      this.#noteStatements(declaration);
    }
  }

  demandReasons(suspects: readonly Expression[]): void {
    // The slice need not keep the global if the functions that are known of it do nothing that matters.
    if (this.#callsFunctionValues)
      for (const expression of this.#evaluated)
        if (expression.kind === "global" && expression.global.unknown !== null && holdsFunctions(expression.type))
          throw expression.global.unknown;
    for (const suspect of suspects) {
      if (!this.#evaluated.has(suspect) || this.#hasReason(suspect)) continue;
      const { span, type } = suspect;
      const inner = nonNullable(type);
      if (inner.kind !== "function")
        throw new Refusal("not_sliced_unknown_value", {
          message: "The analyzer knows no object that this can refer to, because none is stored where it comes from.",
          primary: span,
        });
      if (this.#parameterCounts.has(inner.parameters.length))
        throw new Refusal("not_sliced_unknown_value", {
          message: "The analyzer knows no function that this can refer to, because none is stored where it comes from.",
          primary: span,
          help: "Store a function there, or remove the call.",
        });
    }
  }

  // ── The flow ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #noteStatements(declaration: FunctionDeclaration): void {
    for (const { local, defaultValue } of declaration.parameters)
      if (defaultValue !== null) add(this.#given, local, defaultValue);
    walkStatements([...declaration.initializers, ...declaration.body], (statement) => {
      if (statement.kind === "return" && statement.value !== null) add(this.#given, declaration, statement.value);
      if (statement.kind !== "variable") return;
      this.#declared.add(statement.local);
      if (statement.initializer !== null) add(this.#given, statement.local, statement.initializer);
    });
  }

  #note(expression: Expression): void {
    switch (expression.kind) {
      case "function-value":
        // A function expression may name fewer of them than its type has.
        if (expression.type.kind === "function") this.#parameterCounts.add(expression.type.parameters.length);
        return;
      case "assignment":
        if (expression.value !== null && expression.operator === "")
          this.#noteAssigned(expression.target, expression.value);
        return;
      case "library":
        this.#callsFunctionValues ||= expression.member.callback !== null && !isNamed(expression.arguments[0]);
        for (const { self, parameters } of calleesOf(expression, this.#pointsTo))
          for (const local of [...parameters.map((parameter) => parameter.local), ...(self === null ? [] : [self])])
            add(this.#byLibrary, local, expression);
        return;
      case "call":
      case "construction":
      case "indirect-call":
        this.#callsFunctionValues ||= expression.kind === "indirect-call" && !isNamed(expression.callee);
        for (const { self, parameters } of calleesOf(expression, this.#pointsTo)) {
          const object = expression.kind === "call" ? expression.receiver : expression;
          if (self !== null && object !== null) add(this.#given, self, object);
          for (const [index, argument] of expression.arguments.entries()) {
            const local = parameters[index]?.local;
            if (local !== undefined) add(this.#given, local, argument);
          }
        }
        return;
      default:
        return;
    }
  }

  #noteAssigned(target: AssignmentTarget, value: Expression): void {
    if (target.kind === "field") add(this.#assigned, target.field, { object: target.object, value });
    else if (target.kind === "local") add(this.#given, target.local, value);
    else if (target.kind === "global") add(this.#given, target.global, value);
  }

  // ── The reasons ────────────────────────────────────────────────────────────────────────────────────────────────────

  #isNothing(expression: Expression): boolean {
    return this.#pointsTo.of(expression).size === 0;
  }

  /** Whether it is known why an expression, of which points-to knows nothing, refers to nothing. */
  #hasReason(expression: Expression): boolean {
    const areNothing = (...parts: readonly (Expression | undefined)[]): boolean =>
      parts.every((part) => part === undefined || this.#isNothing(part));
    switch (expression.kind) {
      case "constant":
        return true;
      case "local":
        return this.#isGivenNothing(expression.local);
      case "global":
        return expression.global.unknown !== null || areNothing(...(this.#given.get(expression.global) ?? []));
      case "field":
        return this.#isNothing(expression.object) || this.#holdsNothing(expression);
      case "cast":
      case "non-null":
        return areNothing(expression.operand);
      case "sequence":
        return areNothing(expression.operands.at(-1));
      case "logical":
        return areNothing(expression.left, expression.right);
      case "conditional":
        return areNothing(expression.consequent, expression.alternative);
      case "assignment":
        return expression.value !== null && areNothing(expression.value);
      case "call":
      case "indirect-call":
        return calleesOf(expression, this.#pointsTo).every((callee) =>
          areNothing(...(callee.kind === "setter" ? expression.arguments : (this.#given.get(callee) ?? []))),
        );
      case "library":
        return this.#givesNothing(expression);
      default:
        return false;
    }
  }

  #isGivenNothing(local: Local): boolean {
    const given = this.#given.get(local) ?? [];
    const byLibrary = this.#byLibrary.get(local) ?? [];
    if (given.length === 0 && byLibrary.length === 0) return this.#declared.has(local);
    return (
      given.every((value) => this.#isNothing(value)) && byLibrary.every((call) => this.#handsNothing(call, local.type))
    );
  }

  /** Whether all values that are written to the field are nothing, or go to another object. */
  #holdsNothing({ object, field }: FieldRead): boolean {
    const objects = this.#pointsTo.of(object);
    const own = (this.#assigned.get(field) ?? []).filter((assignment) =>
      [...this.#pointsTo.of(assignment.object)].some((other) => objects.has(other)),
    );
    if (own.length === 0) return field.type.kind === "nullable";
    return own.every(({ value }) => this.#isNothing(value));
  }

  /** Whether a callback of the call, or an operator that it calls, is given nothing. */
  #handsNothing({ receiver, arguments: values, calls }: LibraryCall, type: Type): boolean {
    const others = calls.length > 0 ? values : values.slice(1);
    return (
      others.every((value) => this.#isNothing(value)) && (receiver === null || this.#containsNothing(receiver, type))
    );
  }

  #containsNothing(container: Expression, type: Type): boolean {
    const containers = [...this.#pointsTo.of(container)];
    if (containers.some(({ content }) => content.targets.size > 0)) return false;
    return containers.length === 0 || nonNullable(type).kind !== "function";
  }

  #givesNothing(call: LibraryCall): boolean {
    const { member, receiver, arguments: values, type } = call;
    switch (member.result) {
      case "element":
        return receiver !== null && this.#containsNothing(receiver, type);
      case "receiver":
        return receiver !== null && this.#isNothing(receiver);
      case "argument":
      case "any-argument":
        return values.every((value) => this.#isNothing(value));
      case "accumulator":
        return (
          this.#handsNothing(call, type) &&
          this.#pointsTo
            .callbacksOf(call)
            .every((callee) => (this.#given.get(callee) ?? []).every((value) => this.#isNothing(value)))
        );
      case "plain":
      case "copy":
      case "flattened":
      case "mapped":
        return false;
    }
  }
}

function add<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}
