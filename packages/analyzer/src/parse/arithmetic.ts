/**
 * Numbers as the developer means them. The compiler asks here before it makes arithmetic, comparisons and conversions of the
 * developer's code. Handlers get checks of overflow. Forms that would quietly mean something else are found.
 *
 * `check/check-arithmetic.ts` has the words of the findings.
 */
import { isCounting } from "./expand/syntax.ts";
import { as, NodeKind, Token } from "./assemblyscript.ts";
import { INCREMENTS } from "./assignments.ts";
import { withoutParentheses } from "./children.ts";
import { Divisions, type DivisionFinding } from "./divisions.ts";
import { isDevelopers, isGenerated } from "./graft.ts";
import { isNameOfTested } from "./tested-fields.ts";
import {
  checkedArithmetic,
  checkedSign,
  checkedSmall,
  counterRange,
  countingLoop,
  fits,
  type CountingLoop,
  type Operator,
  type OverflowHost,
} from "./overflow.ts";
import { isInteger, isSigned, isWritten } from "./numbers.ts";
import { Questions } from "./questions.ts";
import { isConstant, isWithin, rangeOf, rangeOfType, type Known, type Range } from "./ranges.ts";
import { originOf, textOf } from "./span.ts";
import { functionsNamedAt, type FunctionRange } from "./wrapping.ts";

/** The compiler, as far as it is asked. */
export interface ArithmeticCompiler extends OverflowHost {
  readonly program: as.Program;
  readonly resolver: as.Resolver;
  currentFlow: as.Flow;
  currentType: as.Type;
  convertExpression(
    expression: as.ExpressionRef,
    from: as.Type,
    to: as.Type,
    explicit: boolean,
    node: as.Node,
  ): as.ExpressionRef;
}

/** How a program's arithmetic on signed integers ends. */
export interface ArithmeticRules {
  /** Handlers trap where a result does not fit; read/write-set functions go on with a wrong number. */
  readonly overflow: "traps" | "wraps";
  /** The functions with the tag `@wrapping`: file and offset of their names. */
  readonly wrapping: readonly { readonly file: string; readonly start: number }[];
}

/** A test whose answer is known from the types. */
export type Test =
  /** Of a value that is never null. */
  | { readonly kind: "null"; readonly type: string }
  /** `isNaN(count)`. */
  | { readonly kind: "not-a-number"; readonly name: string; readonly type: string; readonly isTime: boolean }
  | { readonly kind: "range"; readonly range: Range };

export type Finding = { readonly node: as.Node } & (
  | { readonly kind: "constant-overflow"; readonly value: bigint; readonly type: string }
  /** A constant becomes a number of a type that lacks it: `const none: u32 = -1`. */
  | { readonly kind: "constant-sign"; readonly value: bigint; readonly from: string; readonly type: string }
  /** A difference of numbers without a sign becomes a number with one, or a float. */
  | { readonly kind: "unsigned-difference"; readonly type: string }
  | DivisionFinding
  | { readonly kind: "constant-test"; readonly answer: boolean; readonly test: Test }
  /** A test whether something is there, of a value whose access traps if it is not. */
  | { readonly kind: "missing-key"; readonly access: "key" | "index" | "element"; readonly isDefault: boolean }
  /** `typeof` of a value that may be null: JavaScript says "object" of null. */
  | { readonly kind: "nullable-typeof" }
  /** `flag + 1` of a bool: the result is a bool too. */
  | { readonly kind: "bool-arithmetic" }
  /** `x >>> 0` of a number with a sign: JavaScript takes the sign away. */
  | { readonly kind: "shift-by-zero" }
  /** A variable without a type, whose first value is too large for an i32 and not for a u32. */
  | { readonly kind: "large-literal"; readonly name: string }
  /** `a.localeCompare(b)`: JavaScript knows the order of languages. */
  | { readonly kind: "locale-order" }
  /** `list.sort()` of numbers: JavaScript sorts them by their texts. */
  | { readonly kind: "sort-order"; readonly isSubtracting: boolean }
);

type Comparison = "<" | "<=" | ">" | ">=" | "==" | "!=";

/** A `for` that is being compiled. */
interface OpenLoop {
  readonly loop: CountingLoop;
  /** Of the counter; null until the condition is compiled. */
  index: number | null;
}

const NO_LOCALS: ReadonlyMap<number, Range> = new Map();

export class Arithmetic {
  readonly findings: Finding[] = [];
  /** Nodes that front ends made and that can't overflow. */
  readonly unchecked = new WeakSet<as.Node>();
  readonly #compiler: ArithmeticCompiler;
  readonly #rules: ArithmeticRules;
  readonly #questions: Questions;
  readonly #divisions: Divisions;
  /** The expressions that are being compiled, each in the one before it. */
  readonly #open: as.Expression[] = [];
  readonly #expressions = new Map<as.ExpressionRef, Range>();
  readonly #counters = new Map<as.Function, Map<number, Range>>();
  readonly #openLoops: OpenLoop[] = [];
  readonly #countingLoops = new WeakMap<as.Statement, { readonly loop: CountingLoop | null }>();
  /** Differences of integers without a sign that may be below 0. */
  readonly #differences = new Set<as.Node>();
  /** Variables that begin with something that may be missing, and whose access traps then. */
  readonly #taken = new Map<as.Local, "key" | "index" | "element">();
  readonly #found = new Map<as.Node, Set<Finding["kind"]>>();
  /** Ranges of the functions that wrap, by path. */
  #wrapping: ReadonlyMap<string, readonly FunctionRange[]> | null = null;

  constructor(compiler: ArithmeticCompiler, rules: ArithmeticRules) {
    this.#compiler = compiler;
    this.#rules = rules;
    this.#questions = new Questions(compiler);
    this.#divisions = new Divisions(compiler, this.#questions, {
      isFound: (node, kind) => this.#found.get(node)?.has(kind) === true,
      find: (finding) => this.#find(finding),
    });
  }

  get #traps(): boolean {
    return this.#rules.overflow === "traps";
  }

  // ── Expressions ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The expression that is being compiled. */
  get #node(): as.Expression | null {
    return this.#open.at(-1) ?? null;
  }

  /** An expression begins. */
  begin(expression: as.Expression): void {
    this.#open.push(withoutParentheses(expression));
  }

  /** The expression to compile for the one that began. */
  toCompile(contextualType: as.Type): as.Expression {
    const node = this.#node!;
    if (!this.#traps) return node;
    switch (node.kind) {
      case NodeKind.UnaryPostfix:
      case NodeKind.UnaryPrefix: {
        const unary = node as as.UnaryPrefixExpression | as.UnaryPostfixExpression;
        if (!this.#isChecked(unary)) return node;
        const made = this.#asBinary(unary, contextualType);
        if (made !== null) this.#open.splice(-1, 1, made);
        return made ?? node;
      }
      default:
        return node;
    }
  }

  /** The expression that began is compiled. */
  end(result: as.ExpressionRef): void {
    const node = this.#open.pop()!;
    if (this.#traps) this.#endOfCondition(node, result);
    else if (isDevelopers(node.range.source)) this.#look(node);
  }

  /** `x++` as `x += 1`, `-x` as `0 - x`; null for anything but arithmetic on signed integers. */
  #asBinary(
    unary: as.UnaryPrefixExpression | as.UnaryPostfixExpression,
    contextualType: as.Type,
  ): as.BinaryExpression | null {
    const { operator, operand, range } = unary;
    const isCount = INCREMENTS.has(operator);
    if (!isCount && (operator !== Token.Minus || operand.isNumericLiteral)) return null;
    const context = contextualType === as.Type.void ? as.Type.auto : contextualType;
    const type = this.#questions.typeOf(operand, context);
    if (type === null || !isSigned(type)) return null;
    const { module } = this.#compiler;
    const number = (value: number): as.Expression =>
      as.Node.createCompiledExpression(type.size === 64 ? module.i64(value) : module.i32(value), type, range);
    const binary = (token: Token, left: as.Expression, right: as.Expression): as.BinaryExpression =>
      as.Node.createBinaryExpression(token, left, right, range);
    if (!isCount) return binary(Token.Minus, number(0), operand);
    const up = operator === Token.Plus_Plus;
    const changed = binary(up ? Token.Plus_Equals : Token.Minus_Equals, operand, number(1));
    if (unary.kind === NodeKind.UnaryPrefix || contextualType === as.Type.void) return changed;
    // The value before: it has been there.
    const before = binary(up ? Token.Minus : Token.Plus, changed, number(1));
    this.unchecked.add(before);
    return before;
  }

  // ── Arithmetic ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** `left operator right`; `plain`: as the compiler makes it. */
  make(
    operator: Operator,
    left: as.ExpressionRef,
    right: as.ExpressionRef,
    type: as.Type,
    plain: () => as.ExpressionRef,
  ): as.ExpressionRef {
    const node = this.#node;
    if (node?.kind !== NodeKind.Binary || !isInteger(type) || !this.#isChecked(node)) return plain();
    const known = this.#known;
    const { kind, range } = fits(operator, left, right, type, known);
    if (operator === "-" && !isSigned(type)) {
      if (kind === "always") this.#differences.delete(node);
      else this.#differences.add(node);
    }
    if (kind === "never" && isConstant(range)) {
      // variant: constant-overflow
      this.#find({ kind: "constant-overflow", node, value: range.min, type: type.toString() });
      return plain();
    }
    // variant: overflow-checked
    const result =
      kind === "always" || !this.#traps || !isSigned(type)
        ? plain()
        : this.#within(() => checkedArithmetic(this.#compiler, operator, left, right, type, node, known));
    if (kind === "always" || this.#traps) this.#expressions.set(result, range);
    return result;
  }

  /** `left ** right`. */
  makePower(
    left: as.ExpressionRef,
    right: as.ExpressionRef,
    type: as.Type,
    plain: () => as.ExpressionRef,
  ): as.ExpressionRef {
    const node = this.#node;
    if (node?.kind !== NodeKind.Binary || !isInteger(type) || !this.#isChecked(node)) return plain();
    const [base, exponent] = [rangeOf(left, type, this.#known), rangeOf(right, type, this.#known)];
    if (isConstant(base) && isConstant(exponent) && exponent.min >= 0n && exponent.min <= 1_000n) {
      const value = base.min ** exponent.min;
      const whole = rangeOfType(type);
      if (value < whole.min || value > whole.max)
        this.#find({ kind: "constant-overflow", node, value, type: type.toString() });
      return plain();
    }
    if (!this.#traps || !isSigned(type)) return plain();
    const compiler = this.#compiler;
    // The compiler, too, makes powers of small types as those of 32 bits.
    const result = type.size < 32 ? as.Type.i32 : type;
    const wide = (operand: as.ExpressionRef): as.ExpressionRef =>
      compiler.convertExpression(operand, type, as.Type.i64, true, node);
    const power = compiler.checkedCall("power", [wide(left), wide(right), compiler.module.i32(result.size)], node);
    return compiler.convertExpression(power, as.Type.i64, result, true, node);
  }

  /** The type of the expression that is being compiled stays. */
  #within(make: () => as.ExpressionRef): as.ExpressionRef {
    const type = this.#compiler.currentType;
    const made = make();
    this.#compiler.currentType = type;
    return made;
  }

  /** The value of `abs(x)`, in which the smallest number of a type stays below 0. */
  absolute(value: as.ExpressionRef, node: as.Node): as.ExpressionRef {
    const type = this.#compiler.currentType;
    if (!this.#traps || !isSigned(type) || !this.#isChecked(node)) return value;
    // variant: absolute-checked
    return this.#within(() => checkedSign(this.#compiler, value, type, as.Type.u64, node));
  }

  /** `left / right` of a small type: WebAssembly divides 32 bits, among which the smallest number has an opposite. */
  quotient(value: as.ExpressionRef, right: as.ExpressionRef, type: as.Type): as.ExpressionRef {
    const node = this.#node;
    if (!this.#traps || node === null || !isSigned(type) || type.size >= 32 || !this.#isChecked(node)) return value;
    const { min, max } = rangeOf(right, type, this.#known);
    // variant: quotient-checked
    if (min > -1n || max < -1n) return value;
    return this.#within(() => checkedSmall(this.#compiler, value, type, node));
  }

  /** `left / right` was made. */
  noteDivision(left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type): void {
    const node = this.#node;
    if (this.#traps || node?.kind !== NodeKind.Binary || !isDevelopers(node.range.source)) return;
    const known = this.#known;
    const [dividend, divisor] = [rangeOf(left, type, known), rangeOf(right, type, known)];
    this.#divisions.note(node as as.BinaryExpression, dividend, divisor, type);
  }

  /** A statement that declares variables is compiled. */
  noteVariables({ declarations }: as.VariableStatement): void {
    if (this.#traps) return;
    for (const declaration of declarations) {
      const { name, type, initializer } = declaration;
      this.#divisions.noteVariable(declaration);
      const access = initializer === null ? null : this.#trappingAccess(withoutParentheses(initializer));
      const taker = access === null ? null : this.#compiler.currentFlow.lookupLocal(name.text);
      if (taker !== null) this.#taken.set(taker, access!);
      if (
        type === null &&
        initializer !== null &&
        /^\d[\d_]*$/.test(textOf(initializer)) &&
        isDevelopers(name.range.source)
      )
        if (this.#compiler.currentFlow.lookupLocal(name.text)?.type === as.Type.u32)
          this.#find({ kind: "large-literal", node: initializer, name: name.text });
    }
  }

  /** A list, an object or a call is compiled. Where the context has no written type for what is in it, the values give it one. */
  noteInferred(node: as.Expression, context: as.Type): void {
    if (this.#traps || !isDevelopers(node.range.source)) return;
    // The type of a receiver is its own.
    const wanted = isReceiverIn(this.#node, node) ? as.Type.auto : context;
    this.#divisions.noteInferred(
      node,
      node instanceof as.ObjectLiteralExpression ? this.#compiler.currentType : wanted,
    );
  }

  /** The body of a function is compiled, where it stands or where it is called. */
  noteFunction(instance: as.Function): void {
    if (!this.#traps) this.#divisions.noteFunction(instance);
  }

  /** A call is compiled: of a function, or of the getter that stands behind a name. */
  noteCall(instance: as.Function, node: as.Node): void {
    if (!this.#traps && isDevelopers(node.range.source)) this.#divisions.noteCall(instance, node);
  }

  /** An integer becomes a number of another type, or a text. */
  noteConversion(from: as.Type, to: as.Type | "text", node: as.Node, explicit: boolean): void {
    if (this.#traps || !from.isIntegerValue) return;
    if (to !== "text") this.#noteDifference(from, to, node, explicit);
    if (to !== "text" && !to.isFloatValue) return;
    if (isDevelopers(node.range.source)) this.#divisions.noteConversion(from, to === "text" ? "text" : "float", node);
  }

  /** The bits of a difference are those of a number with a sign as long as their count is the same. */
  #noteDifference(from: as.Type, to: as.Type, node: as.Node, explicit: boolean): void {
    if (!isInteger(from) || from.isSignedIntegerValue || (explicit && to.size === from.size && !to.isFloatValue))
      return;
    const inner = withoutParentheses(node);
    // variant: unsigned-difference
    if ((to.isFloatValue || isSigned(to)) && this.#isDifference(inner) && this.#isChecked(inner))
      this.#find({ kind: "unsigned-difference", node: inner, type: from.toString() });
  }

  #isDifference(node: as.Expression): boolean {
    if (node.kind !== NodeKind.UnaryPrefix) return this.#differences.has(node);
    const { operator, operand } = node as as.UnaryPrefixExpression;
    return operator === Token.Minus && !isWritten(operand);
  }

  /** An i64 that is to be an f64, as numbers of TypeScript are: the run ends if that number is another. */
  exact(value: as.ExpressionRef, node: as.Node): as.ExpressionRef {
    if (!this.#traps || !this.#isChecked(node) || isWithin(rangeOf(value, as.Type.i64, this.#known), EXACT))
      return value;
    // variant: exact-checked
    return this.#compiler.checkedCall("exact", [value], node);
  }

  /** An integer that becomes one of a type with another sign by itself: the run ends if that type lacks it. */
  signed(value: as.ExpressionRef, from: as.Type, to: as.Type, node: as.Node): as.ExpressionRef {
    if (!isInteger(from) || !isInteger(to) || from.isSignedIntegerValue === to.isSignedIntegerValue) return value;
    const [range, whole] = [rangeOf(value, from, this.#known), rangeOfType(to)];
    if (isWithin(range, whole) || !this.#isChecked(node) || this.#isOfBits(node)) return value;
    if (isConstant(range)) {
      // variant: constant-sign
      this.#find({ kind: "constant-sign", node, value: range.min, from: from.toString(), type: to.toString() });
      return value;
    }
    // variant: sign-checked
    if (!this.#traps) return value;
    const result = this.#within(() => checkedSign(this.#compiler, value, from, to, node));
    this.#expressions.set(result, {
      min: range.min > whole.min ? range.min : whole.min,
      max: range.max < whole.max ? range.max : whole.max,
    });
    return result;
  }

  /** Whether a number stands for its bits: as the result or as an operand of an operation on bits. */
  #isOfBits(node: as.Node): boolean {
    const around = this.#node === node ? this.#open.at(-2) : this.#node;
    return [withoutParentheses(node), around].some(
      (one) =>
        (one?.kind === NodeKind.Binary && OF_BITS.has((one as as.BinaryExpression).operator)) ||
        (one?.kind === NodeKind.UnaryPrefix && (one as as.UnaryPrefixExpression).operator === Token.Tilde),
    );
  }

  // ── Tests ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** `left comparison right` is made. */
  noteComparison(comparison: Comparison, left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type): void {
    const node = this.#node;
    if (this.#traps || node?.kind !== NodeKind.Binary || !isInteger(type) || !this.#isJudged(node)) return;
    const { left: a, right: b } = node as as.BinaryExpression;
    const constant = isWritten(b) ? b : a;
    if (!isWritten(constant) || (isWritten(a) && isWritten(b))) return;
    const isFirst = constant === b;
    // It was perhaps converted from a smaller type.
    const own = this.#questions.typeOf(isFirst ? a : b, as.Type.auto);
    const range =
      own !== null && isInteger(own) && own.size < type.size
        ? rangeOfType(own)
        : rangeOf(isFirst ? left : right, type, this.#known);
    const bound = rangeOf(isFirst ? right : left, type, this.#known);
    if (isConstant(range)) return;
    const answer = isFirst ? decided(comparison, range, bound) : decided(comparison, bound, range);
    // variant: constant-range-test
    if (answer !== null) this.#find({ kind: "constant-test", node, answer, test: { kind: "range", range } });
  }

  /** A value is asked whether it is true. */
  noteCondition(type: as.Type, reported: as.Node): void {
    const node = withoutParentheses(reported);
    if (this.#traps || !this.#isJudged(node)) return;
    const around = this.#node;
    const isDefault =
      around?.kind === NodeKind.Binary &&
      (around as as.BinaryExpression).operator === Token.Bar_Bar &&
      withoutParentheses((around as as.BinaryExpression).left) === node;
    if (type.isValue) {
      const access = isDefault ? this.#trappingAccess(node) : null;
      if (access !== null) this.#find({ kind: "missing-key", node, access, isDefault });
      return;
    }
    const declared = this.#questions.typeOf(node, as.Type.auto) ?? type;
    if (isNeverNull(declared) && !this.isText(type)) this.#findNeverNull(node, node, declared, true, isDefault);
  }

  isText(type: as.Type): boolean {
    return type.getClass() === this.#compiler.program.stringInstance;
  }

  /** Whether the developer wrote a node, or the place that it is copied from. */
  isOfDeveloper(node: as.Node): boolean {
    return placeOf(node) !== null;
  }

  /** A comparison with null, a cast or a call is compiled. */
  #look(node: as.Expression): void {
    switch (node.kind) {
      case NodeKind.Assertion: {
        // A cast of a division says that its whole part is meant.
        const inner = withoutParentheses((node as as.AssertionExpression).expression);
        const found = this.findings.findIndex((one) => one.kind === "constant-division" && one.node === inner);
        if (found !== -1 && this.#compiler.currentType.isIntegerValue) this.findings.splice(found, 1);
        return;
      }
      case NodeKind.Literal: {
        const type = this.#compiler.currentType;
        const digits = textOf(node).replaceAll("_", "");
        if (type === as.Type.u64 || !/^(\d+|0[xob][\da-f]+)$/i.test(digits)) return;
        const value = BigInt(digits);
        // The compiler takes the bits of such a number for another one.
        if (value >= 2n ** 63n) this.#find({ kind: "constant-overflow", node, value, type: type.toString() });
        return;
      }
      case NodeKind.UnaryPrefix: {
        const { operator, operand } = node as as.UnaryPrefixExpression;
        const type = operator === Token.TypeOf ? this.#questions.typeOf(operand, as.Type.auto) : null;
        if (type?.isNullableReference !== true || !this.#isJudged(node)) return;
        return this.#find({ kind: "nullable-typeof", node });
      }
      case NodeKind.Binary: {
        const { operator, left, right } = node as as.BinaryExpression;
        if (operator === Token.Equals || operator === Token.Slash_Equals)
          return this.#divisions.noteAssignment(node as as.BinaryExpression);
        if (ARITHMETIC.has(operator)) return this.#lookAtArithmetic(node as as.BinaryExpression);
        if (!EQUALITY.has(operator)) return;
        const [a, b] = [withoutParentheses(left), withoutParentheses(right)];
        if ((a.kind === NodeKind.Null) === (b.kind === NodeKind.Null) || !this.#isJudged(node)) return;
        const tested = a.kind === NodeKind.Null ? b : a;
        const type = this.#questions.typeOf(tested, as.Type.auto);
        if (type === null || !(isNeverNull(type) || isInteger(type) || type.isFloatValue)) return;
        const isEqual = operator === Token.Equals_Equals || operator === Token.Equals_Equals_Equals;
        return this.#findNeverNull(node, tested, type, !isEqual, false);
      }
      case NodeKind.Call: {
        const { expression, args } = node as as.CallExpression;
        const callee = withoutParentheses(expression);
        if (callee.kind === NodeKind.PropertyAccess) {
          const { expression: object, property } = callee as as.PropertyAccessExpression;
          const type = property.text === "toString" ? this.#questions.typeOf(object, as.Type.auto) : null;
          // variant: division-to-text
          if (type !== null) this.noteConversion(type, "text", object, false);
          if (args.length === 0 && property.text === "sort") this.#lookAtSort(node, object);
          if (property.text === "localeCompare" && this.#questions.lookUp(callee)?.internalName === LOCALE_COMPARE)
            this.#find({ kind: "locale-order", node });
        }
        const [value] = args;
        if (value === undefined || !/\bis(NaN|Finite|Integer|SafeInteger)$/.test(textOf(expression))) return;
        const name = NUMBER_TESTS.exec(this.#questions.lookUp(callee)?.internalName ?? "")?.[1];
        if (name === undefined) return;
        const type = this.#questions.typeOf(value, as.Type.auto);
        if (type?.isIntegerValue !== true) return;
        const isTime = /^~lib\/date\/Date(#|\.)/.test(this.#calleeOf(value)?.internalName ?? "");
        const test: Test = { kind: "not-a-number", name, type: type.toString(), isTime };
        return this.#find({ kind: "constant-test", node, answer: name !== "isNaN", test });
      }
      default:
        return;
    }
  }

  #lookAtArithmetic(node: as.BinaryExpression): void {
    const { operator, left, right } = node;
    const isShift = operator === Token.GreaterThan_GreaterThan_GreaterThan;
    if (isShift && textOf(right) !== "0") return;
    const type = this.#questions.typeOf(left, as.Type.auto);
    if (type === null || !this.#isJudged(node)) return;
    if (isShift && isSigned(type)) this.#find({ kind: "shift-by-zero", node });
    else if (!isShift && type === as.Type.bool) this.#find({ kind: "bool-arithmetic", node });
  }

  #lookAtSort(node: as.Node, list: as.Expression): void {
    const owner = this.#questions.typeOf(list, as.Type.auto)?.getClass();
    if (owner?.prototype.name !== "Array" || !this.#isJudged(node)) return;
    // variant: sort-order-told
    const [type] = owner.typeArguments!;
    if (!type!.isReference)
      this.#find({ kind: "sort-order", node, isSubtracting: !isInteger(type!) || isSigned(type!) });
  }

  #findNeverNull(node: as.Node, tested: as.Expression, type: as.Type, answer: boolean, isDefault: boolean): void {
    // variant: tested-twice
    if (isNameOfTested(tested)) return;
    const local = this.#questions.localOf(tested);
    const access = this.#trappingAccess(tested) ?? (local === null ? undefined : this.#taken.get(local));
    if (access !== undefined) return this.#find({ kind: "missing-key", node, access, isDefault });
    this.#find({ kind: "constant-test", node, answer, test: { kind: "null", type: type.toString() } });
  }

  /** How an expression accesses what may be missing, if it traps then; null: it is none of these. */
  #trappingAccess(expression: as.Expression): "key" | "index" | "element" | null {
    if (expression.kind === NodeKind.ElementAccess) {
      const { expression: list } = expression as as.ElementAccessExpression;
      const owner = this.#questions.typeOf(list, as.Type.auto)?.getClass()?.prototype.internalName ?? "";
      return /^~lib\/(array|staticarray|typedarray)\//.test(owner) ? "index" : null;
    }
    const callee = this.#calleeOf(expression)?.internalName ?? "";
    if (/^~lib\/map\/Map(<.*>)?#get$/.test(callee)) return "key";
    return /^~lib\/array\/Array(<.*>)?#(pop|shift|at)$/.test(callee) ? "element" : null;
  }

  #calleeOf(expression: as.Expression): as.Element | null {
    const node = withoutParentheses(expression);
    return node.kind === NodeKind.Call
      ? this.#questions.lookUp(withoutParentheses((node as as.CallExpression).expression))
      : null;
  }

  // ── Loops ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A statement begins. Whether `endStatement` wants to hear of its end. */
  beginStatement(statement: as.Statement): boolean {
    if (!this.#traps || statement.kind !== NodeKind.For || !this.#isChecked(statement)) return false;
    let known = this.#countingLoops.get(statement);
    if (known === undefined) {
      known = { loop: countingLoop(statement as as.ForStatement) };
      this.#countingLoops.set(statement, known);
    }
    if (known.loop === null) return false;
    this.#openLoops.push({ loop: known.loop, index: null });
    return true;
  }

  endStatement(): void {
    const { index } = this.#openLoops.pop()!;
    if (index !== null) this.#countersHere.delete(index);
  }

  #endOfCondition(node: as.Expression, result: as.ExpressionRef): void {
    const open = this.#openLoops.at(-1);
    if (open === undefined || withoutParentheses(open.loop.condition) !== node) return;
    const local = this.#compiler.currentFlow.lookupLocal(open.loop.name);
    if (local === null) return;
    // The compiler may compile a loop again, with other locals.
    if (open.index !== null) this.#countersHere.delete(open.index);
    open.index = local.index;
    const range = counterRange(open.loop, local.index, result, this.#known);
    if (range !== null) this.#countersHere.set(local.index, range);
  }

  get #countersHere(): Map<number, Range> {
    const owner = this.#compiler.currentFlow.targetFunction;
    let counters = this.#counters.get(owner);
    if (counters === undefined) this.#counters.set(owner, (counters = new Map<number, Range>()));
    return counters;
  }

  get #known(): Known {
    const locals = this.#counters.get(this.#compiler.currentFlow.targetFunction) ?? NO_LOCALS;
    return { module: this.#compiler.module, expressions: this.#expressions, locals };
  }

  // ── Places ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Whether the developer wrote it, in a function that does not wrap. */
  #isChecked(node: as.Node): boolean {
    if (this.unchecked.has(node) || isCounting(node)) return false;
    const place = placeOf(node);
    if (place === null) return false;
    this.#wrapping ??= wrappingRanges(this.#compiler.program, this.#rules.wrapping);
    const ranges = this.#wrapping.get(place.path) ?? [];
    return !ranges.some(([from, to]) => from <= place.start && place.start < to);
  }

  /** In a generic function one type is as good as another. */
  #isJudged(node: as.Node): boolean {
    if (!isDevelopers(node.range.source) || isCounting(node)) return false;
    const { contextualTypeArguments } = this.#compiler.currentFlow;
    return contextualTypeArguments === null || contextualTypeArguments.size === 0;
  }

  /** The compiler compiles some nodes several times. */
  #find(finding: Finding): void {
    const { node, kind } = finding;
    let kinds = this.#found.get(node);
    if (kinds === undefined) this.#found.set(node, (kinds = new Set<Finding["kind"]>()));
    if (kinds.has(kind)) return;
    kinds.add(kind);
    this.findings.push(finding);
  }
}

const NUMBER_TESTS = /^~lib\/number\/(?:F(?:32|64)\.)?(isNaN|isFinite|isInteger|isSafeInteger)$/;

/** The integers that an f64 has. */
const EXACT: Range = { min: -(2n ** 53n), max: 2n ** 53n };

const LOCALE_COMPARE = "~lib/string/String#localeCompare";

const ARITHMETIC: ReadonlySet<Token> = new Set([
  Token.Plus,
  Token.Minus,
  Token.Asterisk,
  Token.Asterisk_Asterisk,
  Token.Slash,
  Token.Percent,
  Token.GreaterThan_GreaterThan_GreaterThan,
]);

/** Operations on bits, which know no sign. */
const OF_BITS: ReadonlySet<Token> = new Set([
  Token.Ampersand,
  Token.Ampersand_Equals,
  Token.Bar,
  Token.Bar_Equals,
  Token.Caret,
  Token.Caret_Equals,
  Token.LessThan_LessThan,
  Token.LessThan_LessThan_Equals,
  Token.GreaterThan_GreaterThan,
  Token.GreaterThan_GreaterThan_Equals,
  Token.GreaterThan_GreaterThan_GreaterThan,
  Token.GreaterThan_GreaterThan_GreaterThan_Equals,
]);

const EQUALITY: ReadonlySet<Token> = new Set([
  Token.Equals_Equals,
  Token.Equals_Equals_Equals,
  Token.Exclamation_Equals,
  Token.Exclamation_Equals_Equals,
]);

/** Whether a member or element of the node is accessed, or a method of it called. */
function isReceiverIn(around: as.Expression | null, node: as.Expression): boolean {
  if (around === null) return false;
  if (around.kind === NodeKind.Call) {
    const callee = withoutParentheses((around as as.CallExpression).expression);
    return callee.kind === NodeKind.PropertyAccess && isReceiverIn(callee, node);
  }
  if (around.kind !== NodeKind.PropertyAccess && around.kind !== NodeKind.ElementAccess) return false;
  return withoutParentheses((around as as.PropertyAccessExpression | as.ElementAccessExpression).expression) === node;
}

/** Where the developer wrote it: a default value may be copied into generated code. Null: it is not the developer's. */
function placeOf({ range: { source, start } }: as.Node): { readonly path: string; readonly start: number } | null {
  if (isGenerated(source)) return originOf(source, start);
  return isDevelopers(source) ? { path: source.normalizedPath, start } : null;
}

/** Whether a type is a class without `| null`. The compiler forgets whether elements of lists of functions may be null. */
function isNeverNull(type: as.Type): boolean {
  return type.getClass() !== null && !type.isNullableReference;
}

/** Null: it depends. */
function decided(comparison: Comparison, left: Range, right: Range): boolean | null {
  switch (comparison) {
    case "<":
      return left.max < right.min ? true : left.min >= right.max ? false : null;
    case "<=":
      return left.max <= right.min ? true : left.min > right.max ? false : null;
    case ">":
      return left.min > right.max ? true : left.max <= right.min ? false : null;
    case ">=":
      return left.min >= right.max ? true : left.max < right.min ? false : null;
    case "==":
    case "!=": {
      if (left.max < right.min || right.max < left.min) return comparison === "!=";
      return null;
    }
  }
}

/** Where the functions that wrap stand, by path; with the functions that are written in them. */
function wrappingRanges(
  program: as.Program,
  names: ArithmeticRules["wrapping"],
): ReadonlyMap<string, readonly FunctionRange[]> {
  const paths = new Set(names.map(({ file }) => file));
  return new Map(
    program.sources.flatMap((source) => {
      if (!paths.has(source.normalizedPath)) return [];
      const starts = new Set(names.filter(({ file }) => file === source.normalizedPath).map(({ start }) => start));
      return [[source.normalizedPath, [...functionsNamedAt(source, starts).values()]] as const];
    }),
  );
}
