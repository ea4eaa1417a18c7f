/**
 * Overflow. Arithmetic on signed integers that the developer writes ends the handler where its result does not fit into its
 * type, with the place. A read/write-set function is compiled without these checks: it runs ahead of its handler. Where the
 * handler ends, the set says too much at most.
 *
 * A check is left out where the ranges of the operands show that the result fits (`ranges.ts`), among them counters of
 * loops. Both operands constant: the build knows the result, and an overflow is an error of the build.
 */
import { as, BinaryOp, ExpressionId, NodeKind, Token, UnaryOp } from "./assemblyscript.ts";
import { INCREMENTS } from "./assignments.ts";
import { childrenOf, withoutParentheses } from "./children.ts";
import { combined, isWithin, rangeOf, rangeOfType, type Known, type Range } from "./ranges.ts";

export type Operator = "+" | "-" | "*";

/** A function of `sdk/assembly/arithmetic.ts`. */
export type CheckedFunction = "exact" | "multiply" | "power";

/** The part of the compiler that makes checks. */
export interface OverflowHost {
  readonly module: as.Module;
  readonly currentFlow: as.Flow;
  ensureSmallIntegerWrap(expression: as.ExpressionRef, type: as.Type): as.ExpressionRef;
  /** A call of the host that ends the run; as a statement. */
  overflowAt(node: as.Node): as.ExpressionRef;
  /** A call of such a function, with the place of the node behind the operands. */
  checkedCall(name: CheckedFunction, operands: readonly as.ExpressionRef[], node: as.Node): as.ExpressionRef;
}

const PLAIN_I32 = { "+": "AddI32", "-": "SubI32", "*": "MulI32" } as const;
const PLAIN_I64 = { "+": "AddI64", "-": "SubI64", "*": "MulI64" } as const;

/** Checked arithmetic: what happens, then its value. */
interface Made {
  readonly statements: readonly as.ExpressionRef[];
  readonly value: as.ExpressionRef;
}

/** Makes `left operator right` of a signed type, which ends the run where the result does not fit. */
export function checkedArithmetic(
  host: OverflowHost,
  operator: Operator,
  left: as.ExpressionRef,
  right: as.ExpressionRef,
  type: as.Type,
  node: as.Node,
  known: Known,
): as.ExpressionRef {
  // variant: long-product
  if (type.size === 64 && operator === "*" && !isConstant(left) && !isConstant(right))
    return host.checkedCall("multiply", [left, right], node);
  // A long sum is one block, whatever its length: blocks in blocks would be too deep for the compiler's own stack.
  const inner = isTrivial(right) ? blockOf(left) : isConstant(left) ? blockOf(right) : null;
  const first = inner !== null && isTrivial(right) ? inner.value : left;
  const second = inner !== null && !isTrivial(right) ? inner.value : right;
  const { statements, value } =
    type.size < 32
      ? small(host, operator, first, second, type, node)
      : (againstConstant(host, operator, first, second, type, node, known) ??
        (type.size === 32 ? wide(host, operator, first, second, node) : long(host, operator, first, second, node)));
  const ref = (type.size === 64 ? as.Type.i64 : as.Type.i32).toRef();
  return host.module.block(null, [...(inner?.statements ?? []), ...statements, value], ref);
}

/** A block without a name is one that was made here, or does the same; null: it is none. */
function blockOf(expression: as.ExpressionRef): Made | null {
  if (as.getExpressionId(expression) !== ExpressionId.Block || as.getBlockName(expression) !== null) return null;
  const count = as.getBlockChildCount(expression);
  const children = Array.from({ length: count }, (_, index) => as.getBlockChildAt(expression, index));
  const value = children.pop();
  return value === undefined ? null : { statements: children, value };
}

/** Nothing happens when it is evaluated. */
function isTrivial(expression: as.ExpressionRef): boolean {
  return isConstant(expression) || as.getExpressionId(expression) === ExpressionId.LocalGet;
}

/** Gives an integer that becomes one with another sign, and ends the run where the type lacks it. Such a type has no fewer bits. */
export function checkedSign(
  host: OverflowHost,
  value: as.ExpressionRef,
  from: as.Type,
  to: as.Type,
  node: as.Node,
): as.ExpressionRef {
  const { module } = host;
  const is64 = from.size === 64;
  const held = is64 ? as.Type.i64 : as.Type.i32;
  const ref = held.toRef();
  const { index } = host.currentFlow.getTempLocal(held);
  const first = module.local_tee(index, host.ensureSmallIntegerWrap(value, from), false, ref);
  // As numbers with a sign, large numbers of 32 and 64 bits are below 0.
  const lacks =
    to.isSignedIntegerValue && from.size < 32
      ? module.binary(BinaryOp.GtI32, first, module.i32(Number(rangeOfType(to).max)))
      : module.binary(is64 ? BinaryOp.LtI64 : BinaryOp.LtI32, first, is64 ? module.i64(0, 0) : module.i32(0));
  return module.block(null, [module.if(lacks, host.overflowAt(node)), module.local_get(index, ref)], ref);
}

/** Results of 8 and 16 bits fit into 32. */
function small(
  host: OverflowHost,
  operator: Operator,
  left: as.ExpressionRef,
  right: as.ExpressionRef,
  type: as.Type,
  node: as.Node,
): Made {
  const value = host.module.binary(
    BinaryOp[PLAIN_I32[operator]],
    host.ensureSmallIntegerWrap(left, type),
    host.ensureSmallIntegerWrap(right, type),
  );
  return within(host, value, type, node);
}

/** Ends the run where a result of 32 bits does not fit into 8 or 16. */
export function checkedSmall(
  host: OverflowHost,
  value: as.ExpressionRef,
  type: as.Type,
  node: as.Node,
): as.ExpressionRef {
  const { statements, value: result } = within(host, value, type, node);
  return host.module.block(null, [...statements, result], as.Type.i32.toRef());
}

function within(host: OverflowHost, value: as.ExpressionRef, type: as.Type, node: as.Node): Made {
  const { module } = host;
  const result = host.currentFlow.getTempLocal(as.Type.i32);
  const get = (): as.ExpressionRef => module.local_get(result.index, as.Type.i32.toRef());
  // variant: narrowed-result
  const narrowed = module.unary(type.size === 8 ? UnaryOp.Extend8I32 : UnaryOp.Extend16I32, get());
  const differs = module.binary(BinaryOp.NeI32, module.local_tee(result.index, value, false), narrowed);
  return { statements: [module.if(differs, host.overflowAt(node))], value: get() };
}

/** Results of 32 bits are computed in 64. */
function wide(
  host: OverflowHost,
  operator: Operator,
  left: as.ExpressionRef,
  right: as.ExpressionRef,
  node: as.Node,
): Made {
  const { module } = host;
  const i64 = as.Type.i64;
  const result = host.currentFlow.getTempLocal(i64);
  const value = module.binary(
    BinaryOp[PLAIN_I64[operator]],
    module.unary(UnaryOp.ExtendI32ToI64, left),
    module.unary(UnaryOp.ExtendI32ToI64, right),
  );
  const get = (): as.ExpressionRef => module.local_get(result.index, i64.toRef());
  const differs = module.binary(
    BinaryOp.NeI64,
    module.local_tee(result.index, value, false, i64.toRef()),
    module.unary(UnaryOp.Extend32I64, get()),
  );
  return {
    statements: [module.if(differs, host.overflowAt(node))],
    value: module.unary(UnaryOp.WrapI64ToI32, get()),
  };
}

/** A sum of 64 bits overflows where its sign is that of neither operand. */
function long(
  host: OverflowHost,
  operator: Operator,
  left: as.ExpressionRef,
  right: as.ExpressionRef,
  node: as.Node,
): Made {
  const { module } = host;
  const ref = as.Type.i64.toRef();
  const temporary = (): number => host.currentFlow.getTempLocal(as.Type.i64).index;
  const [first, second, result] = [temporary(), temporary(), temporary()];
  const get = (index: number): as.ExpressionRef => module.local_get(index, ref);
  const xor = (a: number, b: number): as.ExpressionRef => module.binary(BinaryOp.XorI64, get(a), get(b));
  const value = module.binary(
    BinaryOp[PLAIN_I64[operator]],
    module.local_tee(first, left, false, ref),
    module.local_tee(second, right, false, ref),
  );
  // variant: long-signs
  const signs = module.binary(
    BinaryOp.AndI64,
    xor(first, result),
    operator === "+" ? xor(second, result) : xor(first, second),
  );
  const overflows = module.binary(BinaryOp.LtI64, signs, module.i64(0, 0));
  return {
    statements: [module.local_set(result, value, false), module.if(overflows, host.overflowAt(node))],
    value: get(result),
  };
}

/** With a constant operand, one comparison of the other operand tells; null: none is constant. */
function againstConstant(
  host: OverflowHost,
  operator: Operator,
  left: as.ExpressionRef,
  right: as.ExpressionRef,
  type: as.Type,
  node: as.Node,
  known: Known,
): Made | null {
  const isLeft = isConstant(left);
  if (!isLeft && !isConstant(right)) return null;
  const { module } = host;
  const [operand, other] = isLeft ? [right, left] : [left, right];
  const number = rangeOf(other, type, known).min;
  const whole = rangeOfType(type);
  const fitting = fittingOperand(operator, number, isLeft, whole);
  const range = rangeOf(operand, type, known);
  const is64 = type.size === 64;
  const ref = (is64 ? as.Type.i64 : as.Type.i32).toRef();
  const number64 = (value: bigint): as.ExpressionRef =>
    module.i64(Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n)));
  const of = (value: bigint): as.ExpressionRef => (is64 ? number64(value) : module.i32(Number(value)));
  const compare = (name: "Lt" | "Gt", a: as.ExpressionRef, b: as.ExpressionRef): as.ExpressionRef =>
    module.binary(BinaryOp[`${name}${is64 ? "I64" : "I32"}`], a, b);

  const copied = module.tryCopyTrivialExpression(operand);
  let first = operand;
  let again: () => as.ExpressionRef;
  if (copied !== 0 && as.getExpressionId(operand) === ExpressionId.LocalGet) {
    first = copied;
    again = () => module.copyExpression(copied);
  } else {
    const { index } = host.currentFlow.getTempLocal(is64 ? as.Type.i64 : as.Type.i32);
    first = module.local_tee(index, operand, false, ref);
    again = () => module.local_get(index, ref);
  }
  // variant: below-fitting
  const below = range.min < fitting.min;
  const above = range.max > fitting.max;
  let overflows: as.ExpressionRef;
  if (below && above) {
    // Both at once, as numbers without sign.
    const distance = module.binary(is64 ? BinaryOp.SubI64 : BinaryOp.SubI32, first, of(fitting.min));
    const width = of(BigInt.asIntN(is64 ? 64 : 32, fitting.max - fitting.min));
    overflows = module.binary(is64 ? BinaryOp.GtU64 : BinaryOp.GtU32, distance, width);
  } else if (below) overflows = compare("Lt", first, of(fitting.min));
  else overflows = compare("Gt", first, of(fitting.max));
  const plain = BinaryOp[is64 ? PLAIN_I64[operator] : PLAIN_I32[operator]];
  const result = isLeft ? module.binary(plain, other, again()) : module.binary(plain, again(), other);
  return { statements: [module.if(overflows, host.overflowAt(node))], value: result };
}

function isConstant(expression: as.ExpressionRef): boolean {
  return as.getExpressionId(expression) === ExpressionId.Const;
}

/** The operands with which the result fits. Multiplication is by a number that is not 0. */
function fittingOperand(operator: Operator, number: bigint, isLeft: boolean, whole: Range): Range {
  switch (operator) {
    case "+":
      return { min: whole.min - number, max: whole.max - number };
    case "-":
      return isLeft
        ? { min: number - whole.max, max: number - whole.min }
        : { min: whole.min + number, max: whole.max + number };
    case "*": {
      // BigInt divides towards 0.
      const [a, b] = [whole.min / number, whole.max / number];
      // variant: fitting-product
      return a < b ? { min: a, max: b } : { min: b, max: a };
    }
  }
}

/** Whether the result fits whatever the operands are, never, or that depends. */
export function fits(
  operator: Operator,
  left: as.ExpressionRef,
  right: as.ExpressionRef,
  type: as.Type,
  known: Known,
): { readonly kind: "always" | "never" | "depends"; readonly range: Range } {
  const range = combined(operator, rangeOf(left, type, known), rangeOf(right, type, known));
  const whole = rangeOfType(type);
  if (isWithin(range, whole)) return { kind: "always", range };
  if (range.max < whole.min || range.min > whole.max) return { kind: "never", range };
  return {
    kind: "depends",
    range: {
      min: range.min > whole.min ? range.min : whole.min,
      max: range.max < whole.max ? range.max : whole.max,
    },
  };
}

/** A `for` whose counter nothing but its own update changes. */
export interface CountingLoop {
  readonly name: string;
  readonly condition: as.Expression;
  /** A round adds it. */
  readonly step: bigint;
  /** The number that it starts with; null: that is not known. */
  readonly start: bigint | null;
}

/** Null for any other loop. */
export function countingLoop({ initializer, condition, incrementor, body }: as.ForStatement): CountingLoop | null {
  if (initializer?.kind !== NodeKind.Variable || condition === null || incrementor === null) return null;
  const changed = stepOf(withoutParentheses(incrementor));
  if (changed === null) return null;
  const { name, step } = changed;
  const declaration = (initializer as as.VariableStatement).declarations.find(
    (candidate) => candidate.name.text === name,
  );
  // variant: counter-changed
  if (declaration === undefined || assigns(body, name) || assigns(condition, name)) return null;
  const value = declaration.initializer === null ? null : integerOf(withoutParentheses(declaration.initializer));
  return { name, condition, step, start: value };
}

/** `i++`, `i--`, `i += 2`, `i -= 2`. */
function stepOf(update: as.Expression): { readonly name: string; readonly step: bigint } | null {
  switch (update.kind) {
    case NodeKind.UnaryPostfix:
    case NodeKind.UnaryPrefix: {
      const { operator, operand } = update as as.UnaryPrefixExpression | as.UnaryPostfixExpression;
      const name = nameOf(operand);
      if (name === null || !INCREMENTS.has(operator)) return null;
      return { name, step: operator === Token.Plus_Plus ? 1n : -1n };
    }
    case NodeKind.Binary: {
      const { operator, left, right } = update as as.BinaryExpression;
      const name = nameOf(left);
      const by = integerOf(withoutParentheses(right));
      if (name === null || by === null || by <= 0n) return null;
      if (operator === Token.Plus_Equals) return { name, step: by };
      return operator === Token.Minus_Equals ? { name, step: -by } : null;
    }
    default:
      return null;
  }
}

function nameOf(expression: as.Expression): string | null {
  const inner = withoutParentheses(expression);
  return inner.kind === NodeKind.Identifier ? (inner as as.IdentifierExpression).text : null;
}

/** Of a literal without sign. */
function integerOf(expression: as.Expression): bigint | null {
  if (expression.kind !== NodeKind.Literal) return null;
  const { source, start, end } = expression.range;
  const text = source.text.slice(start, end).replaceAll("_", "");
  return /^(\d+|0x[\da-f]+)$/i.test(text) ? BigInt(text) : null;
}

/** Whether something in a node may change the variable of a name: it is left of an assignment, or counted. */
function assigns(node: as.Node, name: string): boolean {
  switch (node.kind) {
    case NodeKind.UnaryPostfix:
    case NodeKind.UnaryPrefix: {
      const { operator, operand } = node as as.UnaryPrefixExpression | as.UnaryPostfixExpression;
      if (INCREMENTS.has(operator) && nameOf(operand) === name) return true;
      break;
    }
    case NodeKind.Binary: {
      const { operator, left } = node as as.BinaryExpression;
      if (!COMPARING.has(operator) && mentions(left, name)) return true;
      break;
    }
    case NodeKind.ForOf:
      if (mentions((node as as.ForOfStatement).variable, name)) return true;
      break;
    default:
      // A form that is not the compiler's may assign.
      if (NodeKind[node.kind] === undefined && mentions(node, name)) return true;
      break;
  }
  return childrenOf(node).some((child) => assigns(child, name));
}

/** Operators that change nothing. All others count as assignments, should they be new. */
const COMPARING: ReadonlySet<Token> = new Set([
  Token.LessThan,
  Token.LessThan_Equals,
  Token.GreaterThan,
  Token.GreaterThan_Equals,
  Token.Equals_Equals,
  Token.Equals_Equals_Equals,
  Token.Exclamation_Equals,
  Token.Exclamation_Equals_Equals,
  Token.Plus,
  Token.Minus,
  Token.Asterisk,
  Token.Asterisk_Asterisk,
  Token.Slash,
  Token.Percent,
  Token.Ampersand,
  Token.Bar,
  Token.Caret,
  Token.LessThan_LessThan,
  Token.GreaterThan_GreaterThan,
  Token.GreaterThan_GreaterThan_GreaterThan,
  Token.Ampersand_Ampersand,
  Token.Bar_Bar,
]);

/** Whether the name itself, or an element or member of a pattern of that name, is assigned. `list[i] = x` changes `list`. */
function mentions(target: as.Node, name: string): boolean {
  switch (target.kind) {
    case NodeKind.Identifier:
      return (target as as.IdentifierExpression).text === name;
    case NodeKind.PropertyAccess:
    case NodeKind.ElementAccess:
      return false;
    default:
      return childrenOf(target).some((child) => mentions(child, name));
  }
}

/** The range of a counter within the body and at the update, from the compiled condition; null: it says nothing. */
export function counterRange(
  { step, start }: CountingLoop,
  index: number,
  condition: as.ExpressionRef,
  known: Known,
): Range | null {
  const bounds = boundsIn(condition, index, known);
  if (bounds === null) return null;
  const { type } = bounds;
  const whole = rangeOfType(type);
  // The counter is on this side of its start: counting ends the run before it wraps around.
  const fromStart = start === null ? null : step > 0n ? { min: start, max: whole.max } : { min: whole.min, max: start };
  const range = {
    min: fromStart !== null && fromStart.min > bounds.min ? fromStart.min : bounds.min,
    max: fromStart !== null && fromStart.max < bounds.max ? fromStart.max : bounds.max,
  };
  return range.min <= range.max && isWithin(range, whole) ? range : null;
}

/** The bounds of a local that hold if a condition is true. */
function boundsIn(
  condition: as.ExpressionRef,
  index: number,
  known: Known,
): (Range & { readonly type: as.Type }) | null {
  switch (as.getExpressionId(condition)) {
    case ExpressionId.If: {
      // `a && b`
      const alternative = as.getIfFalse(condition);
      if (alternative === 0 || !isConstant(alternative) || as.getConstValueI32(alternative) !== 0) return null;
      const first = boundsIn(as.getIfCondition(condition), index, known);
      const second = boundsIn(as.getIfTrue(condition), index, known);
      if (first === null || second === null) return first ?? second;
      return {
        type: first.type,
        min: first.min > second.min ? first.min : second.min,
        max: first.max < second.max ? first.max : second.max,
      };
    }
    case ExpressionId.Binary: {
      const comparison = SIGNED.get(as.getBinaryOp(condition));
      if (comparison === undefined) return null;
      const { type, relation } = comparison;
      const [left, right] = [as.getBinaryLeft(condition), as.getBinaryRight(condition)];
      const whole = rangeOfType(type);
      if (isLocal(left, index)) return { type, ...bounded(relation, rangeOf(right, type, known), whole) };
      if (isLocal(right, index)) return { type, ...bounded(MIRRORED[relation], rangeOf(left, type, known), whole) };
      return null;
    }
    default:
      return null;
  }
}

type Relation = "<" | "<=" | ">" | ">=";

const MIRRORED = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" } as const satisfies Record<Relation, Relation>;

const SIGNED: ReadonlyMap<BinaryOp, { readonly type: as.Type; readonly relation: Relation }> = new Map([
  [BinaryOp.LtI32, { type: as.Type.i32, relation: "<" }],
  [BinaryOp.LeI32, { type: as.Type.i32, relation: "<=" }],
  [BinaryOp.GtI32, { type: as.Type.i32, relation: ">" }],
  [BinaryOp.GeI32, { type: as.Type.i32, relation: ">=" }],
  [BinaryOp.LtI64, { type: as.Type.i64, relation: "<" }],
  [BinaryOp.LeI64, { type: as.Type.i64, relation: "<=" }],
  [BinaryOp.GtI64, { type: as.Type.i64, relation: ">" }],
  [BinaryOp.GeI64, { type: as.Type.i64, relation: ">=" }],
]);

function bounded(relation: Relation, bound: Range, whole: Range): Range {
  switch (relation) {
    case "<":
      return { min: whole.min, max: bound.max - 1n };
    case "<=":
      // variant: range-of-counter
      return { min: whole.min, max: bound.max };
    case ">":
      return { min: bound.min + 1n, max: whole.max };
    case ">=":
      return { min: bound.min, max: whole.max };
  }
}

function isLocal(expression: as.ExpressionRef, index: number): boolean {
  return as.getExpressionId(expression) === ExpressionId.LocalGet && as.getLocalGetIndex(expression) === index;
}
