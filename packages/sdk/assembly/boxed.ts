/**
 * The object that `f64 | null` and other nullable numbers and booleans are: to the compiler a number is never null.
 * Internal: the build boxes and unboxes.
 */
import { Reader, Writer, decodeValue, encodeValue } from "./codec";

export class Boxed<T> {
  constructor(
    /** Never assigned after construction, but by decoding: equal numbers are the same. */
    public value: T,
  ) {}

  __radicalEncode(writer: Writer): void {
    encodeValue<T>(writer, this.value);
  }

  __radicalDecode(reader: Reader): void {
    this.value = decodeValue<T>(reader);
  }

  __radicalInitialize(): void {}
}

/** Whether both are null, or equal. */
export function isSame<T>(left: Boxed<T> | null, right: Boxed<T> | null): bool {
  if (left === null || right === null) return left === right;
  return left.value == right.value;
}

export function isDifferent<T>(left: Boxed<T> | null, right: Boxed<T> | null): bool {
  return !isSame<T>(left, right);
}

/** Whether it counts as true in a condition: it is not null, not zero, and not "not a number". */
export function isTrue<T>(value: Boxed<T> | null): bool {
  return value !== null && !!value.value;
}
