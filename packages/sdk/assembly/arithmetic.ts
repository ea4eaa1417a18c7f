/**
 * Arithmetic that ends the handler where the result does not fit. Internal: the build compiles `*` of 64 bits, `**` and
 * conversions of handlers as calls of these, with the place.
 */
import { overflow } from "./host";

export function multiply(a: i64, b: i64, file: string, line: i32, column: i32): i64 {
  const product = a * b;
  // Most numbers fit into 32 bits, and their product into 64.
  if (<i64>(<i32>a) == a && <i64>(<i32>b) == b) return product;
  // The smallest number has no opposite.
  if (a == -1 ? b == i64.MIN_VALUE : a != 0 && product / a != b) overflow(file, line, column);
  return product;
}

/** As AssemblyScript has it: with a negative exponent the rest is cut. The result has at most `bits` bits. */
export function power(base: i64, exponent: i64, bits: i32, file: string, line: i32, column: i32): i64 {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  if (exponent == 0 || base == 1) return 1;
  if (base == 0) return 0;
  if (base == -1) return exponent & 1 ? -1 : 1;
  // A base of at least 2 leaves 64 bits after 63 rounds.
  let result: i64 = 1;
  for (let round: i64 = 0; round < exponent; round++) result = multiply(result, base, file, line, column);
  const most: i64 = i64.MAX_VALUE >> (64 - bits);
  if (result > most || result < -most - 1) overflow(file, line, column);
  return result;
}

/** The number, which an `f64` has exactly. */
export function exact(value: i64, file: string, line: i32, column: i32): i64 {
  if (value > 9007199254740992 || value < -9007199254740992) overflow(file, line, column);
  return value;
}
