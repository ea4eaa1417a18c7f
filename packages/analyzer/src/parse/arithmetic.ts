/**
 * Numbers as the developer means them. The compiler asks here before it makes arithmetic, comparisons and conversions of the
 * developer's code. Handlers get checks of overflow. Forms that would quietly mean something else are found.
 *
 * `check/check-arithmetic.ts` has the words of the findings.
 */
import { isCounting } from "./expand/syntax.ts";
import { as, ElementKind, NodeKind, ReportMode, Token } from "./assemblyscript.ts";
import { withoutParentheses } from "./children.ts";
import { isDevelopers, isGenerated } from "./graft.ts";
import {
  checkedArithmetic,
  counterRange,
  countingLoop,
  fits,
  type CountingLoop,
  type Operator,
  type OverflowHost,
} from "./overflow.ts";
import { isConstant, isWithin, rangeOf, rangeOfType, type Known, type Range } from "./ranges.ts";
import { originOf, textOf } from "./span.ts";
import { functionsNamedAt, type FunctionRange } from "./wrapping.ts";

/** The compiler, as far as it is asked. */
export interface ArithmeticCompiler extends OverflowHost {
  readonly program: as.Program;
  readonly resolver: as.Resolver;
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
  | { readonly kind: "integer-division"; readonly into: "float" | "text"; readonly type: string }
  /** Of two numbers that are written there. */
  | { readonly kind: "constant-division"; readonly quotient: bigint }
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
  | { readonly kind: "sort-order" }
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
  /** The expression that is being compiled. */
  #node: as.Expression | null = null;
  readonly #expressions = new Map<as.ExpressionRef, Range>();
  readonly #counters = new Map<as.Function, Map<number, Range>>();
  readonly #openLoops: OpenLoop[] = [];
  readonly #countingLoops = new WeakMap<as.Statement, { readonly loop: CountingLoop | null }>();
  /** Divisions of integers that may leave a rest. */
  readonly #divisions = new Set<as.Node>();
  /** Variables that begin with such a division, with the division. One whose type is written says that the whole part is meant. */
  readonly #quotients = new Map<as.Local, as.Node>();
  readonly #found = new Map<as.Node, Set<Finding["kind"]>>();
  /** Ranges of the functions that wrap, by path. */
  #wrapping: ReadonlyMap<string, readonly FunctionRange[]> | null = null;

  constructor(compiler: ArithmeticCompiler, rules: ArithmeticRules) {
    this.#compiler = compiler;
    this.#rules = rules;
  }

  get #traps(): boolean {
    return this.#rules.overflow === "traps";
  }

  // ---------------------------------------------------------------------------------------------------------- expressions

  /** An expression begins. Gives what `end` wants to have. */
  begin(expression: as.Expression): as.Expression | null {
    const outer = this.#node;
    this.#node = withoutParentheses(expression);
    return outer;
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
        if (made !== null) this.#node = made;
        return made ?? node;
      }
      default:
        return node;
    }
  }

  /** The expression that began is compiled. */
  end(outer: as.Expression | null, result: as.ExpressionRef): void {
    const node = this.#node!;
    this.#node = outer;
    if (this.#traps) this.#endOfCondition(node, result);
    else if (isDevelopers(node.range.source)) this.#look(node);
  }

  /** `x++` as `x += 1`, `-x` as `0 - x`; null for anything but arithmetic on signed integers. */
  #asBinary(
    unary: as.UnaryPrefixExpression | as.UnaryPostfixExpression,
    contextualType: as.Type,
  ): as.BinaryExpression | null {
    const { operator, operand, range } = unary;
    const isCount = operator === Token.Plus_Plus || operator === Token.Minus_Minus;
    if (!isCount && (operator !== Token.Minus || operand.isNumericLiteral)) return null;
    const context = contextualType === as.Type.void ? as.Type.auto : contextualType;
    const type = this.#typeOf(operand, context);
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

  // ----------------------------------------------------------------------------------------------------------- arithmetic

  /** `left operator right`; `plain`: as the compiler makes it. */
  make(
    operator: Operator,
    left: as.ExpressionRef,
    right: as.ExpressionRef,
    type: as.Type,
    plain: () => as.ExpressionRef,
  ): as.ExpressionRef {
    const node = this.#node;
    if (node?.kind !== NodeKind.Binary || !isNumber(type) || !this.#isChecked(node)) return plain();
    const known = this.#known;
    const { kind, range } = fits(operator, left, right, type, known);
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
    if (node?.kind !== NodeKind.Binary || !isNumber(type) || !this.#isChecked(node)) return plain();
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

  /** `left / right` was made. */
  noteDivision(left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type): void {
    const node = this.#node;
    if (this.#traps || node?.kind !== NodeKind.Binary || !isDevelopers(node.range.source)) return;
    this.#divisions.delete(node);
    if (!isNumber(type)) return;
    const [dividend, divisor] = [rangeOf(left, type, this.#known), rangeOf(right, type, this.#known)];
    if (isConstant(dividend) && isConstant(divisor) && divisor.min !== 0n) {
      if (dividend.min % divisor.min === 0n) return;
      const { left: a, right: b } = node as as.BinaryExpression;
      if (isWritten(a) && isWritten(b))
        this.#find({ kind: "constant-division", node, quotient: dividend.min / divisor.min });
    }
    this.#divisions.add(node);
  }

  /** A statement that declares variables is compiled. */
  noteVariables({ declarations }: as.VariableStatement): void {
    if (this.#traps) return;
    for (const { name, type, initializer } of declarations) {
      const division = type === null && initializer !== null ? this.#divisionIn(initializer) : null;
      const local = division === null ? null : this.#compiler.currentFlow.lookupLocal(name.text);
      if (local !== null) this.#quotients.set(local, division!);
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

  /** An integer becomes a float or a text. */
  noteConversion(from: as.Type, to: as.Type | "text", node: as.Node): void {
    if (this.#traps || !from.isIntegerValue || (to !== "text" && !to.isFloatValue)) return;
    const division = isDevelopers(node.range.source) ? this.#divisionIn(node) : null;
    if (division === null || this.#found.get(division)?.has("constant-division") === true) return;
    this.#find({
      kind: "integer-division",
      node: division,
      into: to === "text" ? "text" : "float",
      type: from.toString(),
    });
  }

  /** The division whose rest an expression has lost. A cast to an integer says that this is meant. */
  #divisionIn(expression: as.Expression): as.Node | null {
    const node = withoutParentheses(expression);
    switch (node.kind) {
      case NodeKind.Binary: {
        const { operator, left, right } = node as as.BinaryExpression;
        if (operator === Token.Slash)
          return this.#divisions.has(node) ? (this.#divisionIn(left) ?? this.#divisionIn(right) ?? node) : null;
        if (operator !== Token.Plus && operator !== Token.Minus && operator !== Token.Asterisk) return null;
        // variant: division-in-sum
        return this.#divisionIn(left) ?? this.#divisionIn(right);
      }
      case NodeKind.UnaryPrefix: {
        const { operator, operand } = node as as.UnaryPrefixExpression;
        return operator === Token.Minus || operator === Token.Plus ? this.#divisionIn(operand) : null;
      }
      case NodeKind.Ternary: {
        const { ifThen, ifElse } = node as as.TernaryExpression;
        return this.#divisionIn(ifThen) ?? this.#divisionIn(ifElse);
      }
      case NodeKind.Identifier: {
        const local = this.#compiler.currentFlow.lookupLocal((node as as.IdentifierExpression).text);
        // variant: division-in-variable
        return local === null ? null : (this.#quotients.get(local) ?? null);
      }
      default:
        return null;
    }
  }

  /** An i64 that is to be an f64, as numbers of TypeScript are: the run ends if that number is another. */
  exact(value: as.ExpressionRef, node: as.Node): as.ExpressionRef {
    if (!this.#traps || !this.#isChecked(node) || isWithin(rangeOf(value, as.Type.i64, this.#known), EXACT))
      return value;
    return this.#compiler.checkedCall("exact", [value], node);
  }

  // ---------------------------------------------------------------------------------------------------------------- tests

  /** `left comparison right` is made. */
  noteComparison(comparison: Comparison, left: as.ExpressionRef, right: as.ExpressionRef, type: as.Type): void {
    const node = this.#node;
    if (this.#traps || node?.kind !== NodeKind.Binary || !isNumber(type) || !this.#isJudged(node)) return;
    const { left: a, right: b } = node as as.BinaryExpression;
    const constant = isWritten(b) ? b : a;
    if (!isWritten(constant) || (isWritten(a) && isWritten(b))) return;
    const isFirst = constant === b;
    // It was perhaps converted from a smaller type.
    const own = this.#typeOf(isFirst ? a : b, as.Type.auto);
    const range =
      own !== null && isNumber(own) && own.size < type.size
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
    const declared = this.#typeOf(node, as.Type.auto) ?? type;
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
      case NodeKind.UnaryPrefix: {
        const { operator, operand } = node as as.UnaryPrefixExpression;
        const type = operator === Token.TypeOf ? this.#typeOf(operand, as.Type.auto) : null;
        if (type?.isNullableReference !== true || !this.#isJudged(node)) return;
        return this.#find({ kind: "nullable-typeof", node });
      }
      case NodeKind.Binary: {
        const { operator, left, right } = node as as.BinaryExpression;
        if (ARITHMETIC.has(operator)) return this.#lookAtArithmetic(node as as.BinaryExpression);
        if (!EQUALITY.has(operator)) return;
        const [a, b] = [withoutParentheses(left), withoutParentheses(right)];
        if ((a.kind === NodeKind.Null) === (b.kind === NodeKind.Null) || !this.#isJudged(node)) return;
        const tested = a.kind === NodeKind.Null ? b : a;
        const type = this.#typeOf(tested, as.Type.auto);
        if (type === null || !(isNeverNull(type) || isNumber(type) || type.isFloatValue)) return;
        const isEqual = operator === Token.Equals_Equals || operator === Token.Equals_Equals_Equals;
        return this.#findNeverNull(node, tested, type, !isEqual, false);
      }
      case NodeKind.Call: {
        const { expression, args } = node as as.CallExpression;
        const callee = withoutParentheses(expression);
        if (callee.kind === NodeKind.PropertyAccess) {
          const { expression: object, property } = callee as as.PropertyAccessExpression;
          const type = property.text === "toString" ? this.#typeOf(object, as.Type.auto) : null;
          // variant: division-to-text
          if (type !== null) this.noteConversion(type, "text", object);
          if (args.length === 0 && property.text === "sort") this.#lookAtSort(node, object);
          if (property.text === "localeCompare" && this.#lookUp(callee)?.internalName === LOCALE_COMPARE)
            this.#find({ kind: "locale-order", node });
        }
        const [value] = args;
        if (value === undefined || !/\bis(NaN|Finite|Integer|SafeInteger)$/.test(textOf(expression))) return;
        const name = NUMBER_TESTS.exec(this.#lookUp(callee)?.internalName ?? "")?.[1];
        if (name === undefined) return;
        const type = this.#typeOf(value, as.Type.auto);
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
    const type = this.#typeOf(left, as.Type.auto);
    if (type === null || !this.#isJudged(node)) return;
    if (isShift && isSigned(type)) this.#find({ kind: "shift-by-zero", node });
    else if (!isShift && type === as.Type.bool) this.#find({ kind: "bool-arithmetic", node });
  }

  #lookAtSort(node: as.Node, list: as.Expression): void {
    const owner = this.#typeOf(list, as.Type.auto)?.getClass();
    if (owner?.prototype.name !== "Array" || !this.#isJudged(node)) return;
    // variant: sort-order-told
    if (!owner.typeArguments![0]!.isReference) this.#find({ kind: "sort-order", node });
  }

  #findNeverNull(node: as.Node, tested: as.Expression, type: as.Type, answer: boolean, isDefault: boolean): void {
    const access = this.#trappingAccess(tested);
    if (access !== null) return this.#find({ kind: "missing-key", node, access, isDefault });
    this.#find({ kind: "constant-test", node, answer, test: { kind: "null", type: type.toString() } });
  }

  /** How an expression accesses what may be missing, if it traps then; null: it is none of these. */
  #trappingAccess(expression: as.Expression): "key" | "index" | "element" | null {
    if (expression.kind === NodeKind.ElementAccess) {
      const { expression: list } = expression as as.ElementAccessExpression;
      const owner = this.#typeOf(list, as.Type.auto)?.getClass()?.prototype.internalName ?? "";
      return /^~lib\/(array|staticarray|typedarray)\//.test(owner) ? "index" : null;
    }
    const callee = this.#calleeOf(expression)?.internalName ?? "";
    if (/^~lib\/map\/Map(<.*>)?#get$/.test(callee)) return "key";
    return /^~lib\/array\/Array(<.*>)?#(pop|shift|at)$/.test(callee) ? "element" : null;
  }

  #calleeOf(expression: as.Expression): as.Element | null {
    const node = withoutParentheses(expression);
    return node.kind === NodeKind.Call
      ? this.#lookUp(withoutParentheses((node as as.CallExpression).expression))
      : null;
  }

  // ---------------------------------------------------------------------------------------------------------------- loops

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

  // ---------------------------------------------------------------------------------------------------------------- places

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

  #typeOf(node: as.Expression, context: as.Type): as.Type | null {
    return this.#quietly(({ resolver, currentFlow }) =>
      resolver.resolveExpression(node, currentFlow, context, ReportMode.Swallow),
    );
  }

  #lookUp(node: as.Expression): as.Element | null {
    return this.#quietly(({ resolver, currentFlow }) => {
      const found = resolver.lookupExpression(node, currentFlow, as.Type.auto, ReportMode.Swallow);
      return found?.kind === ElementKind.Function ? (found as as.Function).prototype : found;
    });
  }

  /** The resolver remembers the object of the last access, and reports. */
  #quietly<Result>(ask: (compiler: ArithmeticCompiler) => Result): Result {
    const { resolver, program } = this.#compiler;
    const { currentThisExpression, currentElementExpression } = resolver;
    const reported = program.diagnostics.length;
    const answer = ask(this.#compiler);
    program.diagnostics.length = reported;
    resolver.currentThisExpression = currentThisExpression;
    resolver.currentElementExpression = currentElementExpression;
    return answer;
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

const EQUALITY: ReadonlySet<Token> = new Set([
  Token.Equals_Equals,
  Token.Equals_Equals_Equals,
  Token.Exclamation_Equals,
  Token.Exclamation_Equals_Equals,
]);

/** Where the developer wrote it: a default value may be copied into generated code. Null: it is not the developer's. */
function placeOf({ range: { source, start } }: as.Node): { readonly path: string; readonly start: number } | null {
  if (isGenerated(source)) return originOf(source, start);
  return isDevelopers(source) ? { path: source.normalizedPath, start } : null;
}

/** Whether a type is a class without `| null`. The compiler forgets whether elements of lists of functions may be null. */
function isNeverNull(type: as.Type): boolean {
  return type.getClass() !== null && !type.isNullableReference;
}

/** Whether a type is an integer that counts: `bool` does not. */
function isNumber(type: as.Type): boolean {
  return type.isIntegerValue && type !== as.Type.bool && !type.isReference;
}

function isSigned(type: as.Type): boolean {
  return isNumber(type) && type.isSignedIntegerValue;
}

/** Whether an expression is made of literal numbers alone. */
function isWritten(expression: as.Expression): boolean {
  const node = withoutParentheses(expression);
  switch (node.kind) {
    case NodeKind.Literal:
      return node.isNumericLiteral;
    case NodeKind.UnaryPrefix:
      return isWritten((node as as.UnaryPrefixExpression).operand);
    case NodeKind.Binary:
      return isWritten((node as as.BinaryExpression).left) && isWritten((node as as.BinaryExpression).right);
    default:
      return false;
  }
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
