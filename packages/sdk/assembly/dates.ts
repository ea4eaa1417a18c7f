/** The texts that are dates. Internal: the SDK and the library, as the build compiles it, share this check. */

/** The place in the text up to which it was read. */
class Reading {
  static at: i32 = 0;
}

/** ISO 8601, as ECMAScript has it: "2026", "2026-01", "2026-01-31", each with "T12:30", "T12:30:59" or "T12:30:59.999", "Z" or an offset. */
export function isDate(text: string): bool {
  Reading.at = 0;
  const year = numberIn(text, 4, 0, 9999);
  if (year < 0) return false;
  if (passed(text, 45)) {
    const month = numberIn(text, 2, 1, 12);
    if (month < 0) return false;
    const leap = i32(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    const days = month == 2 ? 28 + leap : 31 - (((month - 1) % 7) & 1);
    if (passed(text, 45) && numberIn(text, 2, 1, days) < 0) return false;
  }
  return Reading.at == text.length || (passed(text, 84) && isTime(text));
}

/** The rest of the text. */
function isTime(text: string): bool {
  const hour = numberIn(text, 2, 0, 24);
  if (hour < 0 || !passed(text, 58)) return false;
  // The last moment of a day may be its hour 24.
  const isEnd = hour == 24;
  const most = isEnd ? 0 : 59;
  if (numberIn(text, 2, 0, most) < 0) return false;
  if (passed(text, 58)) {
    if (numberIn(text, 2, 0, most) < 0) return false;
    if (passed(text, 46)) {
      const start = Reading.at;
      for (; Reading.at < text.length && <u32>(text.charCodeAt(Reading.at) - 48) <= 9; Reading.at++)
        if (isEnd && text.charCodeAt(Reading.at) != 48) return false;
      if (Reading.at == start) return false;
    }
  }
  if (!passed(text, 90) && (passed(text, 43) || passed(text, 45))) {
    if (numberIn(text, 2, 0, 23) < 0) return false;
    if (passed(text, 58) && numberIn(text, 2, 0, 59) < 0) return false;
  }
  return Reading.at == text.length;
}

/** The number of so many digits that comes next; -1: there is none, or it is not from `least` to `most`. */
function numberIn(text: string, digits: i32, least: i32, most: i32): i32 {
  let value = 0;
  for (const end = Reading.at + digits; Reading.at < end; Reading.at++) {
    const digit = Reading.at < text.length ? text.charCodeAt(Reading.at) - 48 : -1;
    if (<u32>digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value < least || value > most ? -1 : value;
}

function passed(text: string, character: i32): bool {
  if (Reading.at >= text.length || text.charCodeAt(Reading.at) != character) return false;
  Reading.at++;
  return true;
}
