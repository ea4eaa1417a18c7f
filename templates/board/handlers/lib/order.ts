/** Positions in an order that people choose: texts that sort as the order, with room for one more between any two. */
import { ascending, now, uuid } from "@radical/sdk";

/** In the order of their bytes. No position ends with the first of them, so that there is always room before it. */
const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";

/**
 * A position at the end, without a look at the others: by the time of the location. Two cards that are put there at once never
 * wait for each other.
 */
export function atEnd(): string {
  return ascending(now()) + uuid().substring(0, 8) + "i";
}

/** A position between two others, of which `before` is the smaller one. An empty text is the beginning, or the end. */
export function between(before: string, after: string): string {
  let shared = "";
  let a = before;
  let b = after;
  let low = digitOf(a, 0);
  let high = digitOf(b, DIGITS.length);
  while (high - low <= 1) {
    shared += DIGITS.charAt(low);
    a = a.substring(1);
    // Behind a smaller digit everything is free.
    b = high == low ? b.substring(1) : "";
    low = digitOf(a, 0);
    high = digitOf(b, DIGITS.length);
  }
  return shared + DIGITS.charAt((low + high) / 2);
}

function digitOf(position: string, otherwise: i32): i32 {
  return position.length == 0 ? otherwise : DIGITS.indexOf(position.charAt(0));
}
