/**
 * Quotients of integers, followed to where the fraction is missed. That is in a float, in a text, and where no written type
 * says that the whole part is meant. A type parameter says nothing, as it may be a float as well. So the result of
 * `half<T>(a: T): T` is followed out of the function, and a field of type `T` out of its object.
 */
import {
  ArrowKind,
  as,
  CommonFlags,
  ElementKind,
  LiteralKind,
  NodeKind,
  OperatorKind,
  Token,
} from "./assemblyscript.ts";
import { withoutParentheses } from "./children.ts";
import { isOmitted, lambdaOf, returnedBy, returnedIn } from "./expand/lambda.ts";
import { isDevelopers } from "./graft.ts";
import { inferredShapes } from "./inferred-shapes.ts";
import { isInteger, isWritten } from "./numbers.ts";
import type { Questions } from "./questions.ts";
import { isConstant, type Range } from "./ranges.ts";

/** The place of a quotient; `inferred`: in a list, or out of a function, whose types come from the values. */
type Into = "float" | "text" | "inferred";

export type DivisionFinding =
  /** Of a division; or of a call or field whose value is such a quotient, and whose type is a type parameter. */
  | {
      readonly kind: "integer-division";
      readonly into: Into;
      readonly type: string;
      /** The type parameters that stand for the type where the code is. */
      readonly parameters: readonly string[];
    }
  /** Of two numbers that are written there. */
  | { readonly kind: "constant-division"; readonly quotient: bigint };

interface DivisionCompiler {
  readonly program: as.Program;
  readonly currentFlow: as.Flow;
}

/** Where findings are kept. */
interface Findings {
  isFound(node: as.Node, kind: DivisionFinding["kind"]): boolean;
  find(finding: DivisionFinding & { readonly node: as.Node }): void;
}

/** A value became a float or a text. */
interface Conversion {
  readonly node: as.Node;
  readonly into: Into;
  readonly type: as.Type;
}

export class Divisions {
  readonly #compiler: DivisionCompiler;
  readonly #questions: Questions;
  readonly #findings: Findings;
  /** Divisions of integers that may leave a rest, with their types; also calls and fields with such a value. */
  readonly #quotients = new Map<as.Node, as.Type>();
  /** Variables without a written type: with one, a variable says that the whole part is meant. */
  readonly #untyped = new Set<as.Local>();
  /** Those of them that begin with a written list, and lists of a type parameter. */
  readonly #lists = new Set<as.Local>();
  /** Variables and fields without a written type that are a quotient at some time, with the division. */
  readonly #given = new Map<as.Element, as.Node>();
  /** Variables and fields without a written type that become a float or a text. */
  readonly #converted = new Map<as.Element, Conversion[]>();
  /** Functions with quotients as results, whose type is a type parameter. */
  readonly #dividing = new Set<as.Function>();
  /** Calls whose result is an argument perhaps, with the quotient in it. */
  readonly #passing = new Map<as.Node, as.Node>();

  constructor(compiler: DivisionCompiler, questions: Questions, findings: Findings) {
    this.#compiler = compiler;
    this.#questions = questions;
    this.#findings = findings;
  }

  /** A division is made, of numbers in these ranges. */
  note(node: as.BinaryExpression, dividend: Range, divisor: Range, type: as.Type): void {
    this.#quotients.delete(node);
    if (!isInteger(type)) return;
    const { operator, left, right } = node;
    if (isConstant(dividend) && isConstant(divisor) && divisor.min !== 0n) {
      if (dividend.min % divisor.min === 0n) return;
      if (isWritten(left) && isWritten(right))
        this.#findings.find({ kind: "constant-division", node, quotient: dividend.min / divisor.min });
    }
    this.#quotients.set(node, type);
    if (operator === Token.Slash_Equals && this.#isInferredElement(left)) this.#find(node, "inferred", type);
  }

  /** A variable is declared. */
  noteVariable({ name, type, initializer }: as.VariableDeclaration): void {
    const lambda = lambdaOf(initializer ?? undefined);
    if (lambda !== null) {
      const { result } = lambda;
      if (result === null ? type === null : this.#isOpen(result)) this.#noteUntyped(returnedBy(lambda));
    }
    if (type !== null && !this.#isOpen(type)) return;
    const local = this.#compiler.currentFlow.lookupLocal(name.text);
    if (local === null) return;
    this.#untyped.add(local);
    if (type !== null || isList(initializer)) this.#lists.add(local);
    if (initializer === null) return;
    const division = this.#divisionIn(initializer);
    if (division !== null) this.#give(local, division);
    else if (type !== null) this.#noteUntyped([initializer]);
  }

  /** `place = value` or `place /= value` is compiled. */
  noteAssignment(node: as.BinaryExpression): void {
    const { operator, left, right } = node;
    const division = this.#divisionIn(node);
    if (division === null) return;
    const place = this.#placeOf(left);
    if (place !== null) this.#give(place, division);
    else if (operator === Token.Equals && this.#isInferredElement(left)) this.#noteUntyped([right]);
  }

  #give(place: as.Element, division: as.Node): void {
    // variant: division-assigned
    this.#given.set(place, division);
    for (const { node, into, type } of this.#converted.get(place) ?? [])
      this.#find(place.kind === ElementKind.PropertyPrototype ? node : division, into, type);
  }

  /**
   * A list, an object or a call is compiled. Where no written type says what is in it, the values do. `context`: the type of
   * the place; of an object its own type.
   */
  noteInferred(node: as.Expression, context: as.Type): void {
    if (node instanceof as.ObjectLiteralExpression) {
      if (this.#isInferred(context)) this.#noteUntyped(node.values);
      return;
    }
    this.#noteUntyped(this.#inferredIn(node, this.#isInferred(context) ? as.Type.auto : context));
  }

  /** The body of a function is compiled. Without a written type, its result has that of the values that it returns. */
  noteFunction(instance: as.Function): void {
    const { functionTypeNode, bodyNode, declaration } = instance.prototype;
    if (bodyNode === null || !isDevelopers(declaration.range.source)) return;
    if ((declaration as as.FunctionDeclaration).arrowKind !== ArrowKind.None) return;
    const { returnType } = functionTypeNode;
    const isLeftOut = isOmitted(returnType);
    if (!isLeftOut && !this.#isOpen(returnType)) return;
    const returned = returnedIn(bodyNode);
    if (isLeftOut || instance.signature.returnType.isReference) return this.#noteUntyped(returned);
    this.#dividing.delete(instance);
    // variant: division-returned
    if (returned.some((value) => this.#divisionIn(value) !== null)) this.#dividing.add(instance);
  }

  /** A call is compiled: of a function, or of the getter that stands behind a name. */
  noteCall(instance: as.Function, node: as.Node): void {
    const { contextualTypeArguments: parameters, prototype, signature } = instance;
    // The node of a setter is the value.
    if (instance.is(CommonFlags.Set) || prototype.operatorKind !== OperatorKind.Invalid) return;
    this.#quotients.delete(node);
    this.#passing.delete(node);
    if (parameters === null || parameters.size === 0) return;
    const { returnType, parameters: declared } = prototype.functionTypeNode;
    if (this.#dividing.has(instance)) this.#quotients.set(node, signature.returnType);
    if (!(node instanceof as.CallExpression)) return;
    const isPassed = node.typeArguments === null && isInteger(signature.returnType) && mentions(returnType, parameters);
    for (const [index, argument] of node.args.entries()) {
      const type = declared[index]?.type;
      if (type === undefined || !mentions(type, parameters)) continue;
      const lambda = lambdaOf(argument);
      if (lambda !== null && type instanceof as.FunctionTypeNode && isDevelopers(type.range.source)) {
        // variant: division-in-callback
        if (lambda.result === null && mentions(type.returnType, parameters)) this.#noteUntyped(returnedBy(lambda));
        continue;
      }
      const division = this.#divisionIn(argument);
      if (division === null) continue;
      // variant: division-passed
      if (isPassed) this.#passing.set(node, division);
      else if (isMethodOf(node, (list) => this.#isInferredList(list))) this.#noteUntyped([argument]);
    }
  }

  /** Values whose types nobody wrote. */
  #noteUntyped(values: readonly as.Expression[]): void {
    for (const value of values.flatMap((one) => this.#typingPartsOf(one))) {
      const division = this.#divisionIn(value);
      const type = division === null ? undefined : this.#quotients.get(division);
      // variant: division-inferred
      if (type !== undefined) this.#find(division!, "inferred", type);
    }
  }

  /** Whether a type is a record that nobody wrote, or a list of such. */
  #isInferred(type: as.Type): boolean {
    const found = type.getClass();
    if (found === null) return false;
    const [element] = found.typeArguments ?? [];
    return (
      inferredShapes(this.#compiler.program).isInferred(found.prototype) ||
      (element !== undefined && this.#isInferred(element))
    );
  }

  /** An integer becomes a float or a text. */
  noteConversion(type: as.Type, into: Into, node: as.Node): void {
    const division = this.#divisionIn(node);
    if (division !== null) {
      if (!this.#findings.isFound(division, "constant-division")) this.#find(division, into, type);
      return;
    }
    const place = this.#placeOf(node);
    if (place === null) return;
    const conversions = this.#converted.get(place);
    if (conversions === undefined) this.#converted.set(place, [{ node, into, type }]);
    else conversions.push({ node, into, type });
  }

  #find(node: as.Node, into: Into, type: as.Type): void {
    const parameters = [...(this.#compiler.currentFlow.contextualTypeArguments ?? [])];
    this.#findings.find({
      kind: "integer-division",
      node,
      into,
      type: type.toString(),
      parameters: parameters.filter(([, argument]) => argument === type).map(([name]) => name),
    });
  }

  /** The values that give a list its type, or a call its result; none where the context or a written type does. */
  #inferredIn(node: as.Expression, context: as.Type): readonly as.Expression[] {
    const isTyped = context.getClass()?.typeArguments?.[0] !== undefined;
    if (node instanceof as.ArrayLiteralExpression) return isTyped ? [] : node.elementExpressions;
    const isWhole = context !== as.Type.auto && context.isIntegerValue;
    return node instanceof as.CallExpression && !(isReduction(node) ? isWhole : isTyped) ? this.#givenBack(node) : [];
  }

  /** The values that the function in a call of `map` or `reduce` gives, where no written type says theirs. */
  #givenBack(node: as.CallExpression): readonly as.Expression[] {
    const { typeArguments, args } = node;
    if (typeArguments !== null && !typeArguments.every((type) => this.#isOpen(type))) return [];
    const lambda = isReduction(node) || methodOf(node) === "map" ? lambdaOf(args[0]) : null;
    if (lambda === null || (lambda.result !== null && !this.#isOpen(lambda.result))) return [];
    const [first] = lambda.parameters;
    const isTyped = isReduction(node) && first !== undefined && !isOmitted(first.type) && !this.#isOpen(first.type);
    return isTyped ? [] : returnedBy(lambda);
  }

  /** The parts of an expression that give it a type. */
  #typingPartsOf(node: as.Expression): readonly as.Expression[] {
    const partsOf = (parts: readonly as.Expression[]): readonly as.Expression[] =>
      parts.flatMap((part) => this.#typingPartsOf(part));
    const inner = withoutParentheses(node);
    if (inner instanceof as.ObjectLiteralExpression) return partsOf(inner.values);
    if (inner instanceof as.ArrayLiteralExpression) return partsOf(inner.elementExpressions);
    if (inner instanceof as.TernaryExpression) return partsOf([inner.ifThen, inner.ifElse]);
    const given = inner instanceof as.CallExpression ? this.#givenBack(inner) : [];
    return given.length > 0 ? partsOf(given) : [inner];
  }

  // ── Places ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether a written type mentions a type parameter of the function that is compiled. */
  #isOpen(type: as.TypeNode): boolean {
    const { contextualTypeArguments } = this.#compiler.currentFlow;
    return contextualTypeArguments !== null && mentions(type, contextualTypeArguments);
  }

  /** `list[0]` of a list whose type comes from its values, or is one of a type parameter. */
  #isInferredElement(target: as.Expression): boolean {
    const element = withoutParentheses(target);
    return element instanceof as.ElementAccessExpression && this.#isInferredList(element.expression);
  }

  #isInferredList(expression: as.Expression): boolean {
    const local = this.#questions.localOf(expression);
    return local === null ? this.#fieldOf(expression) !== null : this.#lists.has(local);
  }

  /** A variable or field without a written type, or with one that is a type parameter. */
  #placeOf(expression: as.Expression): as.Element | null {
    const local = this.#questions.localOf(expression);
    if (local !== null) return this.#untyped.has(local) ? local : null;
    return this.#globalOf(expression) ?? this.#fieldOf(expression);
  }

  /** A variable of a file, or a static field, without a written type. */
  #globalOf(expression: as.Expression): as.Element | null {
    const { kind } = withoutParentheses(expression);
    const found =
      kind === NodeKind.Identifier || kind === NodeKind.PropertyAccess ? this.#questions.lookUp(expression) : null;
    if (!(found instanceof as.Global) || !isDevelopers(found.declaration.range.source)) return null;
    return (found.declaration as as.VariableDeclaration).type === null ? found : null;
  }

  /** A field of which no written type says that whole numbers are meant. */
  #fieldOf(expression: as.Expression): as.PropertyPrototype | null {
    const node = withoutParentheses(expression);
    const found = node.kind === NodeKind.PropertyAccess ? this.#questions.lookUp(node) : null;
    const field = found instanceof as.Property ? found.prototype : found;
    const declaration = field instanceof as.PropertyPrototype ? field.fieldDeclaration : null;
    if (declaration === null || !isDevelopers(declaration.range.source)) return null;
    const { type, initializer } = declaration;
    if (type === null) return null;
    const isLeftOut = initializer !== null && type.range.start >= initializer.range.start;
    const { parent } = field as as.PropertyPrototype;
    const owner = parent instanceof as.Class ? parent.contextualTypeArguments : null;
    return isLeftOut || (owner !== null && mentions(type, owner)) ? (field as as.PropertyPrototype) : null;
  }

  /** The division whose rest an expression has lost. A cast to an integer says that this is meant. */
  #divisionIn(expression: as.Expression): as.Node | null {
    const node = withoutParentheses(expression);
    switch (node.kind) {
      case NodeKind.Binary: {
        const { operator, left, right } = node as as.BinaryExpression;
        if (operator === Token.Equals) return this.#divisionIn(right);
        if (operator === Token.Slash_Equals) return this.#quotients.has(node) ? node : null;
        if (operator === Token.Slash)
          return this.#quotients.has(node) ? (this.#divisionIn(left) ?? this.#divisionIn(right) ?? node) : null;
        if (!PASSING_ON.has(operator)) return null;
        // variant: division-in-sum
        return this.#divisionIn(left) ?? this.#divisionIn(right);
      }
      case NodeKind.Comma:
        return this.#divisionIn(lastOf(node as as.CommaExpression));
      case NodeKind.UnaryPrefix: {
        const { operator, operand } = node as as.UnaryPrefixExpression;
        return operator === Token.Minus || operator === Token.Plus ? this.#divisionIn(operand) : null;
      }
      case NodeKind.Ternary: {
        const { ifThen, ifElse } = node as as.TernaryExpression;
        return this.#divisionIn(ifThen) ?? this.#divisionIn(ifElse);
      }
      case NodeKind.Assertion: {
        // A type parameter does not say it.
        const { toType, expression: value } = node as as.AssertionExpression;
        return toType !== null && this.#isOpen(toType) ? this.#divisionIn(value) : null;
      }
      case NodeKind.Call:
        if (this.#quotients.has(node)) return node;
        return this.#passing.get(node) ?? this.#divisionInBuiltin(node as as.CallExpression);
      case NodeKind.Identifier:
      case NodeKind.PropertyAccess: {
        if (this.#quotients.has(node)) return node;
        const local = this.#questions.localOf(node);
        // variant: division-in-variable
        return local === null ? this.#divisionInMember(node) : (this.#given.get(local) ?? null);
      }
      default:
        return null;
    }
  }

  /** Of `max`, `min` and `abs`. */
  #divisionInBuiltin({ expression, typeArguments, args }: as.CallExpression): as.Node | null {
    if (typeArguments !== null || expression.kind !== NodeKind.Identifier) return null;
    if (!/^~lib\/builtins\/(max|min|abs)$/.test(this.#questions.lookUp(expression)?.internalName ?? "")) return null;
    return args.reduce<as.Node | null>((found, argument) => found ?? this.#divisionIn(argument), null);
  }

  /** Of a field, and of a variable or static field without a written type. */
  #divisionInMember(node: as.Expression): as.Node | null {
    const found = this.#questions.lookUp(node);
    if (found?.kind === ElementKind.Global) {
      const { type, initializer } = (found as as.Global).declaration as as.VariableDeclaration;
      if (type !== null) return null;
      return this.#given.get(found) ?? (initializer === null ? null : this.#divisionIn(initializer));
    }
    const field = this.#fieldOf(node);
    const division = field === null ? undefined : this.#given.get(field);
    const type = division === undefined ? undefined : this.#quotients.get(division);
    if (type === undefined) return null;
    this.#quotients.set(node, type);
    // variant: division-in-field
    return node;
  }
}

/** Operators whose result lacks what an operand lacks. */
const PASSING_ON: ReadonlySet<Token> = new Set([
  Token.Plus,
  Token.Minus,
  Token.Asterisk,
  Token.Percent,
  Token.Bar_Bar,
  Token.Ampersand_Ampersand,
]);

function lastOf({ expressions }: as.CommaExpression): as.Expression {
  return expressions[expressions.length - 1]!;
}

/** Whether a written type mentions one of these type parameters. */
function mentions(type: as.TypeNode, parameters: ReadonlyMap<string, unknown>): boolean {
  if (type instanceof as.FunctionTypeNode) return mentions(type.returnType, parameters);
  if (!(type instanceof as.NamedTypeNode)) return false;
  return (
    parameters.has(type.name.identifier.text) ||
    (type.typeArguments ?? []).some((argument) => mentions(argument, parameters))
  );
}

/** Whether a call is one of a method of such an object. */
function isMethodOf({ expression }: as.CallExpression, isWanted: (object: as.Expression) => boolean): boolean {
  const callee = withoutParentheses(expression);
  return callee instanceof as.PropertyAccessExpression && isWanted(callee.expression);
}

function methodOf({ expression }: as.CallExpression): string {
  const callee = withoutParentheses(expression);
  return callee instanceof as.PropertyAccessExpression ? callee.property.text : "";
}

function isReduction(node: as.CallExpression): boolean {
  return /^reduce(Right)?$/.test(methodOf(node));
}

function isList(initializer: as.Expression | null): boolean {
  const node = initializer === null ? null : withoutParentheses(initializer);
  return node?.kind === NodeKind.Literal && (node as as.LiteralExpression).isLiteralKind(LiteralKind.Array);
}
