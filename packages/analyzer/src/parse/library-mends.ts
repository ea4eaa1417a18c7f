/**
 * Mistakes in AssemblyScript's library, mended line by line, in the pinned version. Most write or read past the end of a
 * buffer. The bytes there depend on earlier runs, so that the same handler could do two things. The others give a result
 * where there is none.
 */
interface Mend {
  readonly wrong: string;
  readonly right: string;
}

/** Behind the library's code, whose lines stay where they are. The library reads each accepted text as it is meant. */
const CHECK_DATE = `
// @ts-ignore: decorator
@lazy let _at: i32;

/** ISO 8601, as ECMAScript has it: "2026", "2026-01", "2026-01-31", each with "T12:30", "T12:30:59" or "T12:30:59.999", "Z" or an offset. */
function checkDate(text: string): void {
  _at = 0;
  const year = checkNumber(text, 6, 0, 999999);
  if (passed(text, 45)) {
    const month = checkNumber(text, 2, 1, 12);
    const leap = i32(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    if (passed(text, 45)) checkNumber(text, 2, 1, month == 2 ? 28 + leap : 31 - (((month - 1) % 7) & 1));
  }
  if (passed(text, 84)) {
    const hour = checkNumber(text, 2, 0, 24);
    if (!passed(text, 58)) notADate();
    // The last moment of a day may be its hour 24.
    let rest = checkNumber(text, 2, 0, 59);
    if (passed(text, 58)) {
      rest |= checkNumber(text, 2, 0, 59);
      if (passed(text, 46)) rest |= checkNumber(text, 9, 0, 999999999);
    }
    if (hour == 24 && rest != 0) notADate();
    if (!passed(text, 90) && (passed(text, 43) || passed(text, 45))) {
      checkNumber(text, 2, 0, 23);
      if (passed(text, 58)) checkNumber(text, 2, 0, 59);
    }
  }
  if (_at != text.length) notADate();
}

/** The number of 1 to \`digits\` digits that comes next. */
function checkNumber(text: string, digits: i32, least: i32, most: i32): i32 {
  const start = _at;
  let value = 0;
  for (; _at < text.length && _at - start < digits; _at++) {
    const digit = text.charCodeAt(_at) - 48;
    if (<u32>digit > 9) break;
    value = value * 10 + digit;
  }
  if (_at == start || value < least || value > most) notADate();
  return value;
}

function passed(text: string, character: i32): bool {
  if (_at >= text.length || text.charCodeAt(_at) != character) return false;
  _at++;
  return true;
}

function notADate(): void {
  throw new RangeError("This text is not a date. A date is written 2026-01-31 or 2026-01-31T12:30:00Z.");
}
`;

const MENDS: ReadonlyMap<string, readonly Mend[]> = new Map([
  [
    "~lib/string.ts",
    [
      {
        // `replaceAll`: doubling the room once is not enough for a replacement that is longer than all before it.
        wrong: "if (offset + chunk + replaceLen > outSize) {\n        outSize <<= 1;",
        right:
          "if (offset + chunk + replaceLen > outSize) {\n        do outSize <<= 1; while (offset + chunk + replaceLen > outSize);",
      },
    ],
  ],
  [
    "~lib/date.ts",
    [
      {
        // `fromString`: what is not a number counted as 0, a month 13 as one of the year after.
        wrong: "    if (!dateTimeString.length) throw new RangeError(E_INVALIDDATE);\n",
        right: "    checkDate(dateTimeString);\n",
      },
      {
        wrong: "  return daysSinceEpoch(year, month, day) * MILLIS_PER_DAY + euclidRem(ms, MILLIS_PER_DAY);\n}\n",
        right: `  return daysSinceEpoch(year, month, day) * MILLIS_PER_DAY + euclidRem(ms, MILLIS_PER_DAY);\n}\n${CHECK_DATE}`,
      },
    ],
  ],
  [
    "~lib/util/bytes.ts",
    [
      {
        // `fill`: a length without sign makes a start before the first element a very large one.
        wrong: "start = start < 0 ? max(len + start, 0)",
        right: "start = start < 0 ? max(<isize>len + start, 0)",
      },
      { wrong: "end   = end   < 0 ? max(len + end,   0)", right: "end   = end   < 0 ? max(<isize>len + end,   0)" },
    ],
  ],
]);

/** The text of a file of the library, or of another, without these mistakes; line for line the same. */
export function mended(path: string, text: string): string {
  return (MENDS.get(path) ?? []).reduce((mending, { wrong, right }) => {
    if (mending.split(wrong).length !== 2)
      throw new Error(`${path} is not that of the pinned AssemblyScript: ${wrong}`);
    return mending.replace(wrong, () => right);
  }, text);
}
