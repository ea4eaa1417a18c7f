/**
 * The numbers that a compiled integer expression can be. A range is read off the compiler's WebAssembly: constants, masks,
 * remainders, lengths, small types. It is as wide as the type where nothing is known, so it is never too narrow.
 *
 * Ranges of a loop's counter come from the caller (`Counters`), who knows the loop.
 */
import { as, BinaryOp, ExpressionId, UnaryOp } from "./assemblyscript.ts";

/** Both ends are included. */
export interface Range {
  readonly min: bigint;
  readonly max: bigint;
}

/** The ranges that are known of expressions and of locals, by their references and indices; and the module. */
export interface Known {
  readonly module: as.Module;
  readonly expressions: ReadonlyMap<as.ExpressionRef, Range>;
  readonly locals: ReadonlyMap<number, Range>;
}

/** Deeper expressions have the range of their type. */
const MOST_DEPTH = 12;

/** Most bytes of an array or a text, and so most elements. */
const MOST_LENGTH = 2n ** 30n - 20n;

const LENGTHS =
  /^~lib\/(?:(?:array\/Array|staticarray\/StaticArray|typedarray\/\w+Array|string\/String|set\/Set|map\/Map)(?:<.*>)?#get:(?:length|size|byteLength))$/;

export function rangeOfType(type: as.Type): Range {
  const bits = BigInt(type.size);
  if (type === as.Type.bool) return { min: 0n, max: 1n };
  return type.isSignedIntegerValue
    ? { min: -(2n ** (bits - 1n)), max: 2n ** (bits - 1n) - 1n }
    : { min: 0n, max: 2n ** bits - 1n };
}

const I32 = rangeOfType(as.Type.i32);
const I64 = rangeOfType(as.Type.i64);
const U32 = rangeOfType(as.Type.u32);
const TRUTH: Range = { min: 0n, max: 1n };

export function isWithin(inner: Range, outer: Range): boolean {
  return outer.min <= inner.min && inner.max <= outer.max;
}

export function isConstant({ min, max }: Range): boolean {
  return min === max;
}

/** The exact sum, difference or product of two ranges. */
export function combined(operator: "+" | "-" | "*", left: Range, right: Range): Range {
  switch (operator) {
    case "+":
      return { min: left.min + right.min, max: left.max + right.max };
    case "-":
      return { min: left.min - right.max, max: left.max - right.min };
    case "*": {
      const corners = [left.min * right.min, left.min * right.max, left.max * right.min, left.max * right.max];
      return {
        min: corners.reduce((a, b) => (a < b ? a : b)),
        max: corners.reduce((a, b) => (a > b ? a : b)),
      };
    }
  }
}

/** The range of an expression of an integer type; its bits are read as that type reads them. */
export function rangeOf(expression: as.ExpressionRef, type: as.Type, known: Known): Range {
  const whole = rangeOfType(type);
  const found = signedRange(expression, known, 0);
  if (found === null) return whole;
  if (type.isSignedIntegerValue || found.min >= 0n) return isWithin(found, whole) ? found : whole;
  // The bits of a negative number are those of a large one.
  const wrap = 2n ** BigInt(type.size <= 32 ? 32 : 64);
  const unsigned = found.max < 0n ? { min: found.min + wrap, max: found.max + wrap } : whole;
  return isWithin(unsigned, whole) ? unsigned : whole;
}

/** Of the bits as those of a signed i32 or i64; null: all may be. */
function signedRange(expression: as.ExpressionRef, known: Known, depth: number): Range | null {
  const noted = known.expressions.get(expression);
  if (noted !== undefined) return noted;
  if (depth === MOST_DEPTH) return null;
  const of = (operand: as.ExpressionRef): Range | null => signedRange(operand, known, depth + 1);
  switch (as.getExpressionId(expression)) {
    case ExpressionId.Const:
      return constant(expression);
    case ExpressionId.LocalGet:
      return known.locals.get(as.getLocalGetIndex(expression)) ?? null;
    case ExpressionId.GlobalGet: {
      const global = known.module.getGlobal(as.getGlobalGetName(expression) ?? "");
      if (global === 0 || as.isGlobalMutable(global)) return null;
      const value = as.getGlobalInit(global);
      return value !== 0 && as.getExpressionId(value) === ExpressionId.Const ? constant(value) : null;
    }
    case ExpressionId.LocalSet:
      return of(as.getLocalSetValue(expression));
    case ExpressionId.Call:
      return LENGTHS.test(as.getCallTarget(expression) ?? "") ? { min: 0n, max: MOST_LENGTH } : null;
    case ExpressionId.Load:
      return loaded(expression);
    case ExpressionId.Select:
      return either(of(as.getSelectThen(expression)), of(as.getSelectElse(expression)));
    case ExpressionId.If: {
      const alternative = as.getIfFalse(expression);
      return alternative === 0 ? null : either(of(as.getIfTrue(expression)), of(alternative));
    }
    case ExpressionId.Unary:
      return unary(as.getUnaryOp(expression), of(as.getUnaryValue(expression)));
    case ExpressionId.Binary:
      return binary(as.getBinaryOp(expression), of(as.getBinaryLeft(expression)), of(as.getBinaryRight(expression)));
    default:
      return null;
  }
}

function constant(expression: as.ExpressionRef): Range | null {
  const type = as.getExpressionType(expression);
  if (type === as.Type.i32.toRef()) {
    const value = BigInt(as.getConstValueI32(expression));
    return { min: value, max: value };
  }
  if (type !== as.Type.i64.toRef()) return null;
  const high = BigInt(as.getConstValueI64High(expression));
  const value = BigInt.asIntN(64, (high << 32n) | BigInt.asUintN(32, BigInt(as.getConstValueI64Low(expression))));
  return { min: value, max: value };
}

function loaded(expression: as.ExpressionRef): Range | null {
  const bits = BigInt(as.getLoadBytes(expression) * 8);
  if (bits >= 32n) return null;
  return as.isLoadSigned(expression)
    ? { min: -(2n ** (bits - 1n)), max: 2n ** (bits - 1n) - 1n }
    : { min: 0n, max: 2n ** bits - 1n };
}

function either(a: Range | null, b: Range | null): Range | null {
  if (a === null || b === null) return null;
  return { min: a.min < b.min ? a.min : b.min, max: a.max > b.max ? a.max : b.max };
}

function unary(operator: UnaryOp, operand: Range | null): Range | null {
  const narrowed = (bits: bigint): Range => {
    const whole = { min: -(2n ** (bits - 1n)), max: 2n ** (bits - 1n) - 1n };
    return operand !== null && isWithin(operand, whole) ? operand : whole;
  };
  switch (operator) {
    case UnaryOp.EqzI32:
    case UnaryOp.EqzI64:
      return TRUTH;
    case UnaryOp.ExtendI32ToI64:
      return operand ?? I32;
    case UnaryOp.ExtendU32ToU64:
      return operand !== null && operand.min >= 0n ? operand : U32;
    case UnaryOp.WrapI64ToI32:
      return operand !== null && isWithin(operand, I32) ? operand : null;
    case UnaryOp.Extend8I32:
    case UnaryOp.Extend8I64:
      return narrowed(8n);
    case UnaryOp.Extend16I32:
    case UnaryOp.Extend16I64:
      return narrowed(16n);
    case UnaryOp.Extend32I64:
      return narrowed(32n);
    default:
      return null;
  }
}

function binary(operator: BinaryOp, left: Range | null, right: Range | null): Range | null {
  switch (operator) {
    case BinaryOp.AndI32:
    case BinaryOp.AndI64:
      return masked(left, right);
    case BinaryOp.ShrU32:
    case BinaryOp.ShrU64: {
      const bits = operator === BinaryOp.ShrU32 ? 32n : 64n;
      const by = right !== null && isConstant(right) ? right.min & (bits - 1n) : 0n;
      if (by === 0n) return null;
      return { min: 0n, max: left !== null && left.min >= 0n ? left.max >> by : 2n ** (bits - by) - 1n };
    }
    case BinaryOp.ShrI32:
    case BinaryOp.ShrI64: {
      const whole = left ?? (operator === BinaryOp.ShrI32 ? I32 : I64);
      if (right === null || !isConstant(right)) return towardsZero(left);
      const by = right.min & (operator === BinaryOp.ShrI32 ? 31n : 63n);
      return { min: whole.min >> by, max: whole.max >> by };
    }
    case BinaryOp.RemI32:
    case BinaryOp.RemI64: {
      // variant: range-of-unknown-rest
      if (right === null || right.min <= 0n) return towardsZero(left);
      const most = right.max - 1n;
      // variant: range-of-rest
      return { min: left !== null && left.min >= 0n ? 0n : -most, max: most };
    }
    case BinaryOp.RemU32:
    case BinaryOp.RemU64:
      return right === null || right.min <= 0n ? null : { min: 0n, max: right.max - 1n };
    case BinaryOp.DivI32:
    case BinaryOp.DivI64: {
      if (right === null || !isConstant(right) || right.min <= 0n) return null;
      const whole = left ?? (operator === BinaryOp.DivI32 ? I32 : I64);
      return { min: whole.min / right.min, max: whole.max / right.min };
    }
    default:
      return isComparison(operator) ? TRUTH : null;
  }
}

/** The numbers from 0 to those of a range: a remainder or shift by an unknown number is one of them. */
function towardsZero(range: Range | null): Range | null {
  if (range === null) return null;
  return { min: range.min < 0n ? range.min : 0n, max: range.max > 0n ? range.max : 0n };
}

/** A mask that is not negative leaves nothing beyond itself. */
function masked(left: Range | null, right: Range | null): Range | null {
  const masks = [left, right].filter((range) => range !== null && range.min >= 0n).map((range) => range!.max);
  return masks.length === 0 ? null : { min: 0n, max: masks.reduce((a, b) => (a < b ? a : b)) };
}

function isComparison(operator: BinaryOp): boolean {
  return COMPARISONS.has(operator);
}

const COMPARISONS: ReadonlySet<BinaryOp> = new Set([
  BinaryOp.EqI32,
  BinaryOp.NeI32,
  BinaryOp.LtI32,
  BinaryOp.LtU32,
  BinaryOp.LeI32,
  BinaryOp.LeU32,
  BinaryOp.GtI32,
  BinaryOp.GtU32,
  BinaryOp.GeI32,
  BinaryOp.GeU32,
  BinaryOp.EqI64,
  BinaryOp.NeI64,
  BinaryOp.LtI64,
  BinaryOp.LtU64,
  BinaryOp.LeI64,
  BinaryOp.LeU64,
  BinaryOp.GtI64,
  BinaryOp.GtU64,
  BinaryOp.GeI64,
  BinaryOp.GeU64,
  BinaryOp.EqF64,
  BinaryOp.NeF64,
  BinaryOp.LtF64,
  BinaryOp.LeF64,
  BinaryOp.GtF64,
  BinaryOp.GeF64,
]);
