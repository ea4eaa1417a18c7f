/**
 * Floats as texts, and texts as floats, as ECMAScript has it. A text has the shortest digits that give the float again, and gives the
 * nearest float. AssemblyScript's library finds both approximately, and writes 3 as "3.0". Internal: the build
 * compiles the library with these functions in the place of its own.
 *
 * A float is `fraction * 2 ** exponent`. Few digits need no more than floats; the others are computed with large integers.
 */

/** 8,192 bits: the largest and the smallest floats, with as many digits as decide about them. */
const LIMBS = 256;

/** More digits than these only say whether a number is above a boundary. */
const DIGITS = 800;

/** A natural number of any size. */
class Natural {
  private readonly limbs: StaticArray<u32> = new StaticArray<u32>(LIMBS);
  /** The limbs in use; behind them all are zero. */
  private length: i32 = 0;

  constructor(value: u64) {
    this.limbs[0] = <u32>value;
    this.limbs[1] = <u32>(value >> 32);
    this.length = value == 0 ? 0 : value >> 32 == 0 ? 1 : 2;
  }

  get bits(): i32 {
    return this.length == 0 ? 0 : 32 * this.length - <i32>clz<u32>(this.limbs[this.length - 1]);
  }

  multiplyAdd(factor: u32, summand: u32): void {
    let carry: u64 = summand;
    for (let index = 0; index < this.length; index++) {
      carry += <u64>this.limbs[index] * factor;
      this.limbs[index] = <u32>carry;
      carry >>= 32;
    }
    if (carry != 0) this.limbs[this.length++] = <u32>carry;
  }

  multiplyPowerOfTen(power: i32): void {
    for (; power >= 9; power -= 9) this.multiplyAdd(1_000_000_000, 0);
    for (; power > 0; power--) this.multiplyAdd(10, 0);
  }

  shiftLeft(count: i32): void {
    if (this.length == 0 || count == 0) return;
    const whole = count >> 5;
    const part = count & 31;
    for (let index = this.length; index >= 0; index--) {
      const low: u64 = index > 0 ? this.limbs[index - 1] : 0;
      const both = ((<u64>this.limbs[index]) << 32) | low;
      this.limbs[index + whole] = <u32>((both << part) >> 32);
    }
    for (let index = 0; index < whole; index++) this.limbs[index] = 0;
    this.length += whole;
    if (this.limbs[this.length] != 0) this.length++;
  }

  shiftRight(count: i32): void {
    const whole = count >> 5;
    const part = count & 31;
    for (let index = 0; index < this.length; index++) {
      const at = index + whole;
      const low: u64 = at < this.length ? this.limbs[at] : 0;
      const high: u64 = at + 1 < this.length ? this.limbs[at + 1] : 0;
      this.limbs[index] = <u32>(((high << 32) | low) >> part);
    }
    this.trim();
  }

  add(other: Natural): void {
    const length = max(this.length, other.length);
    let carry: u64 = 0;
    for (let index = 0; index < length; index++) {
      carry += <u64>this.limbs[index] + other.limbs[index];
      this.limbs[index] = <u32>carry;
      carry >>= 32;
    }
    this.length = length;
    if (carry != 0) this.limbs[this.length++] = <u32>carry;
  }

  /** Of a number that is not larger. */
  subtract(other: Natural): void {
    let borrow: u64 = 0;
    for (let index = 0; index < this.length; index++) {
      const difference = <u64>this.limbs[index] - other.limbs[index] - borrow;
      this.limbs[index] = <u32>difference;
      borrow = difference >> 63;
    }
    this.trim();
  }

  /** The remainder. */
  divide(divisor: u32): u32 {
    let rest: u64 = 0;
    for (let index = this.length - 1; index >= 0; index--) {
      rest = (rest << 32) | this.limbs[index];
      this.limbs[index] = <u32>(rest / divisor);
      rest %= divisor;
    }
    this.trim();
    return <u32>rest;
  }

  /** Below 0: less than the other; 0: the same. */
  compare(other: Natural): i32 {
    if (this.length != other.length) return this.length < other.length ? -1 : 1;
    for (let index = this.length - 1; index >= 0; index--) {
      const own = this.limbs[index];
      const others = other.limbs[index];
      if (own != others) return own < others ? -1 : 1;
    }
    return 0;
  }

  digits(): string {
    let text = "";
    while (this.length > 0) {
      const part = this.divide(1_000_000_000).toString();
      text = (this.length > 0 ? part.padStart(9, "0") : part) + text;
    }
    return text;
  }

  private trim(): void {
    while (this.length > 0 && this.limbs[this.length - 1] == 0) this.length--;
  }
}

// ── Texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The text of a float; `isSingle`: of an `f32`, whose digits are fewer. */
export function textOfFloat(value: f64, isSingle: bool): string {
  if (value != value) return "NaN";
  if (value == 0) return "0";
  if (value < 0) return "-" + textOfFloat(-value, isSingle);
  if (value == Infinity) return "Infinity";
  const exact: f64 = isSingle ? 16_777_216 : 9_007_199_254_740_992;
  if (value < exact && floor(value) == value) return (<i64>value).toString();
  if (!isSingle) {
    // No other number of 15 digits has the same float. A quotient of floats that are whole is the nearest one.
    let power: f64 = 1;
    for (let places = 1; places <= 22; places++) {
      power *= 10;
      const count = nearest(value * power);
      if (count > 1e15) break;
      if (count / power != value) continue;
      const digits = (<i64>count).toString();
      return laidOut(digits, digits.length - places);
    }
  }
  return shortest(value, isSingle);
}

/** The digits of a number and the place of its point, counted from their start. */
function laidOut(digits: string, point: i32): string {
  const count = digits.length;
  if (count <= point && point <= 21) return digits + "0".repeat(point - count);
  if (0 < point && point <= 21) return digits.slice(0, point) + "." + digits.slice(point);
  if (-6 < point && point <= 0) return "0." + "0".repeat(-point) + digits;
  const exponent = point - 1;
  const fraction = count == 1 ? "" : "." + digits.slice(1);
  return digits.charAt(0) + fraction + (exponent < 0 ? "e-" : "e+") + abs(exponent).toString();
}

/** The float that was taken apart last. */
class Parts {
  static fraction: u64 = 0;
  static exponent: i32 = 0;
}

/** Takes a float apart that is positive. */
function takeApart(value: f64, isSingle: bool): void {
  const bits: u64 = isSingle ? reinterpret<u32>(<f32>value) : reinterpret<u64>(value);
  const size = isSingle ? 23 : 52;
  const field = <i32>(bits >> size) & (isSingle ? 0xff : 0x7ff);
  const fraction = bits & (((<u64>1) << size) - 1);
  Parts.fraction = field == 0 ? fraction : fraction | ((<u64>1) << size);
  Parts.exponent = max(field, 1) - (isSingle ? 150 : 1075);
}

/**
 * Steele and White's algorithm, in the form of Burger and Dybvig, "Printing Floating-Point Numbers Quickly and Accurately". The digits of
 * `rest / whole` end where they are between the middles to the floats beside.
 */
function shortest(value: f64, isSingle: bool): string {
  takeApart(value, isSingle);
  const exponent = Parts.exponent;
  const isEven = (Parts.fraction & 1) == 0;
  // Below a power of two the floats are twice as dense.
  const isPower = Parts.fraction == (<u64>1) << (isSingle ? 23 : 52) && exponent > (isSingle ? -149 : -1074);
  const rest = new Natural(Parts.fraction);
  const whole = new Natural(1);
  const above = new Natural(1);
  const below = new Natural(1);
  rest.shiftLeft(isPower ? 2 : 1);
  whole.shiftLeft(isPower ? 2 : 1);
  above.shiftLeft(isPower ? 1 : 0);
  if (exponent < 0) whole.shiftLeft(-exponent);
  else {
    rest.shiftLeft(exponent);
    above.shiftLeft(exponent);
    below.shiftLeft(exponent);
  }
  const size = exponent + 63 - <i32>clz<u64>(Parts.fraction);
  // This is the place of the point, or one less.
  let point = <i32>ceil(<f64>size * 0.30102999566398114 - 1e-10);
  whole.multiplyPowerOfTen(point);
  rest.multiplyPowerOfTen(-point);
  above.multiplyPowerOfTen(-point);
  below.multiplyPowerOfTen(-point);
  if (isReached(rest, above, whole, isEven)) point++;
  else {
    rest.multiplyAdd(10, 0);
    above.multiplyAdd(10, 0);
    below.multiplyAdd(10, 0);
  }
  let digits = "";
  while (true) {
    let digit = 0;
    for (; rest.compare(whole) >= 0; digit++) rest.subtract(whole);
    const order = rest.compare(below);
    const isLow = order < 0 || (isEven && order == 0);
    const isHigh = isReached(rest, above, whole, isEven);
    if (isLow || isHigh) {
      let isUp = isHigh;
      if (isLow && isHigh) {
        rest.shiftLeft(1);
        const middle = rest.compare(whole);
        isUp = middle > 0 || (middle == 0 && (digit & 1) == 1);
      }
      return laidOut(digits + (digit + i32(isUp)).toString(), point);
    }
    digits += digit.toString();
    rest.multiplyAdd(10, 0);
    above.multiplyAdd(10, 0);
    below.multiplyAdd(10, 0);
  }
}

/** Whether `rest + above` is beyond `whole`, or equal to it where that is enough. */
function isReached(rest: Natural, above: Natural, whole: Natural, isEnough: bool): bool {
  const sum = new Natural(0);
  sum.add(rest);
  sum.add(above);
  const order = sum.compare(whole);
  return order > 0 || (isEnough && order == 0);
}

/** JavaScript's `value.toFixed(places)`. */
export function toFixed(value: f64, places: i32): string {
  if (places < 0 || places > 100) throw new RangeError("A number has 0 to 100 places.");
  if (!(abs(value) < 1e21)) return textOfFloat(value, false);
  if (value < 0) return "-" + toFixed(-value, places);
  takeApart(abs(value), false);
  const count = new Natural(Parts.fraction);
  count.multiplyPowerOfTen(places);
  if (Parts.exponent < 0) {
    const half = new Natural(1);
    half.shiftLeft(-Parts.exponent - 1);
    count.add(half);
    count.shiftRight(-Parts.exponent);
  } else count.shiftLeft(Parts.exponent);
  const digits = count.digits().padStart(places + 1, "0");
  const point = digits.length - places;
  return places == 0 ? digits : digits.slice(0, point) + "." + digits.slice(point);
}

// ── Numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The number that was read last. */
class Reading {
  /** Where it ends. */
  static end: i32 = 0;
}

/** JavaScript's `parseFloat(text)`. */
export function floatAtStart(text: string): f64 {
  return decimalFrom(text.trimStart(), 0);
}

/** JavaScript's `Number(text)`. */
export function numberOf(text: string): f64 {
  const trimmed = text.trim();
  if (trimmed.length == 0) return 0;
  if (trimmed.length > 2 && trimmed.charCodeAt(0) == 48) {
    const letter = trimmed.charCodeAt(1) | 32;
    const radix = letter == 120 ? 16 : letter == 111 ? 8 : letter == 98 ? 2 : 0;
    if (radix != 0) {
      const value = digitsFrom(trimmed, 2, radix);
      return Reading.end == trimmed.length ? value : NaN;
    }
  }
  const value = decimalFrom(trimmed, 0);
  return Reading.end == trimmed.length ? value : NaN;
}

/** JavaScript's `parseInt(text, radix)`; 0: the text says it. */
export function integerAtStart(text: string, radix: i32): f64 {
  const trimmed = text.trimStart();
  const sign = trimmed.length > 0 ? trimmed.charCodeAt(0) : 0;
  let at = i32(sign == 43 || sign == 45);
  if (radix != 0 && (radix < 2 || radix > 36)) return NaN;
  if (radix == 0 || radix == 16) {
    const isHex = at + 1 < trimmed.length && trimmed.charCodeAt(at) == 48 && (trimmed.charCodeAt(at + 1) | 32) == 120;
    if (isHex) at += 2;
    if (radix == 0) radix = isHex ? 16 : 10;
  }
  const value = digitsFrom(trimmed, at, radix);
  return sign == 45 ? -value : value;
}

/** The whole number of the digits from a place on; NaN: there are none. */
function digitsFrom(text: string, start: i32, radix: i32): f64 {
  const all = new Natural(0);
  let isTooLarge = false;
  for (Reading.end = start; Reading.end < text.length; Reading.end++) {
    const code = text.charCodeAt(Reading.end);
    const letter = code | 32;
    const digit = code >= 48 && code <= 57 ? code - 48 : letter >= 97 && letter <= 122 ? letter - 87 : 36;
    if (digit >= radix) break;
    if (all.bits > 1100) isTooLarge = true;
    else all.multiplyAdd(radix, digit);
  }
  if (Reading.end == start) return NaN;
  return isTooLarge ? Infinity : quotient(all, new Natural(1));
}

/** The decimal number from a place on, with its sign, point and exponent; NaN: there is none. */
function decimalFrom(text: string, start: i32): f64 {
  let at = start;
  const sign = at < text.length ? text.charCodeAt(at) : 0;
  if (sign == 43 || sign == 45) at++;
  const isNegative = sign == 45;
  if (text.substr(at, 8) == "Infinity") {
    Reading.end = at + 8;
    return isNegative ? -Infinity : Infinity;
  }
  const first = at;
  let hasDigits = false;
  let isPointed = false;
  let leading: u64 = 0;
  let count = 0;
  let exponent = 0;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code == 46 && !isPointed) {
      isPointed = true;
      continue;
    }
    const digit = code - 48;
    if (<u32>digit > 9) break;
    hasDigits = true;
    if (isPointed) exponent--;
    if (count == 0 && digit == 0) continue;
    if (count < 19) leading = leading * 10 + digit;
    count++;
  }
  Reading.end = at;
  if (!hasDigits) return NaN;
  exponent += exponentFrom(text, at);
  const value = decimal(text, first, at, leading, count, exponent);
  return isNegative ? -value : value;
}

/** Of `e+12`; 0: there is none. */
function exponentFrom(text: string, start: i32): i32 {
  let at = start;
  if (at >= text.length || (text.charCodeAt(at) | 32) != 101) return 0;
  const sign = ++at < text.length ? text.charCodeAt(at) : 0;
  if (sign == 43 || sign == 45) at++;
  const first = at;
  let value = 0;
  for (; at < text.length && <u32>(text.charCodeAt(at) - 48) <= 9; at++)
    value = min(value * 10 + text.charCodeAt(at) - 48, 100_000_000);
  if (at == first) return 0;
  Reading.end = at;
  return sign == 45 ? -value : value;
}

/** The float that is nearest to `count` digits, which stand between two places. `leading` has the first 19 of them. */
function decimal(text: string, first: i32, end: i32, leading: u64, count: i32, exponent: i32): f64 {
  if (count == 0 || count + exponent < -330) return 0;
  if (count + exponent > 310) return Infinity;
  if (count <= 19 && leading <= 9_007_199_254_740_992 && abs(exponent) <= 22) {
    let power: f64 = 1;
    for (let index = abs(exponent); index > 0; index--) power *= 10;
    return exponent < 0 ? <f64>leading / power : <f64>leading * power;
  }
  const all = new Natural(0);
  let taken = 0;
  let isMore = false;
  for (let at = first; at < end; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (<u32>digit > 9) continue;
    if (taken == 0 && digit == 0) continue;
    if (taken < DIGITS) all.multiplyAdd(10, digit);
    else if (digit != 0) isMore = true;
    taken++;
  }
  let power = exponent + max(0, count - DIGITS);
  if (isMore) {
    all.multiplyAdd(10, 1);
    power--;
  }
  const divisor = new Natural(1);
  all.multiplyPowerOfTen(power);
  divisor.multiplyPowerOfTen(-power);
  return quotient(all, divisor);
}

/** The float that is nearest to a quotient; of two the even one. Both numbers change. */
function quotient(dividend: Natural, divisor: Natural): f64 {
  if (dividend.bits == 0) return 0;
  let exponent = max(dividend.bits - divisor.bits - 53, -1074);
  if (exponent > 0) divisor.shiftLeft(exponent);
  else dividend.shiftLeft(-exponent);
  divisor.shiftLeft(53);
  // The quotient has 53 bits, or less below the smallest float of full size.
  if (dividend.compare(divisor) >= 0) exponent++;
  else dividend.shiftLeft(1);
  let fraction: u64 = 0;
  for (let bit = 0; bit < 53; bit++) {
    fraction <<= 1;
    if (dividend.compare(divisor) >= 0) {
      dividend.subtract(divisor);
      fraction |= 1;
    }
    dividend.shiftLeft(1);
  }
  const order = dividend.compare(divisor);
  if (order > 0 || (order == 0 && (fraction & 1) == 1)) fraction++;
  if (exponent > 971) return Infinity;
  const power =
    exponent < -1022
      ? reinterpret<f64>((<u64>1) << (exponent + 1074))
      : reinterpret<f64>((<u64>(exponent + 1023)) << 52);
  return <f64>fraction * power;
}
