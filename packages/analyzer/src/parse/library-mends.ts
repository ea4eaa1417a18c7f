/**
 * Mistakes in AssemblyScript's library, mended line by line, in the pinned version. Most write or read past the end of a
 * buffer. The bytes there depend on earlier runs, so that the same handler could do two things. The others give a result
 * where there is none.
 */
interface Mend {
  readonly wrong: string;
  readonly right: string;
}

const MENDS: ReadonlyMap<string, readonly Mend[]> = new Map([
  [
    // Texts of floats were not always the shortest ones, and had a ".0" that TypeScript does not write.
    "~lib/util/number.ts",
    [
      {
        wrong: 'import { idof } from "../builtins";\n',
        right: 'import { idof } from "../builtins"; import { textOfFloat } from "@radical/sdk/decimals";\n',
      },
      { wrong: '  if (value == 0) return "0.0";\n', right: "  return textOfFloat(value, isSingle);\n" },
      {
        wrong: "  if (value == 0) {\n    store<u16>(buffer, CharCode._0);\n",
        right:
          "  const text = textOfFloat(value, isSingle); memory.copy(buffer, changetype<usize>(text), <usize>text.length << 1); return text.length; {\n    store<u16>(buffer, CharCode._0);\n",
      },
    ],
  ],
  [
    // Floats of texts were not always the nearest ones; of spaces alone, a text was read beyond its end.
    "~lib/util/string.ts",
    [
      {
        wrong: '  MAX_DOUBLE_LENGTH\n} from "./number";\n',
        right:
          '  MAX_DOUBLE_LENGTH\n} from "./number"; import { floatAtStart, integerAtStart } from "@radical/sdk/decimals";\n',
      },
      {
        wrong: "radix: i32 = 0): T {\n  let len = str.length;\n",
        right:
          "radix: i32 = 0): T {\n  if (isFloat<T>()) return <T>integerAtStart(str, radix); let len = str.length;\n",
      },
      {
        wrong: "  while (isSpace(code)) {\n    code = <u32>load<u16>(ptr += 2);\n    --len;\n  }\n",
        right:
          "  while (len && isSpace(code)) {\n    code = <u32>load<u16>(ptr += 2);\n    --len;\n  } if (!len) return <T>0;\n",
      },
      {
        wrong: "export function strtod(str: string): f64 {\n",
        right: "export function strtod(str: string): f64 { return floatAtStart(str);\n",
      },
    ],
  ],
  [
    "~lib/string.ts",
    [
      {
        // `trim`: of spaces at the start, those behind the half of the text stayed.
        wrong:
          "    while (offset < size && isSpace(load<u16>(changetype<usize>(this) + offset))) {\n      offset += 2; size -= 2;\n",
        right:
          "    while (size && isSpace(load<u16>(changetype<usize>(this) + offset))) {\n      offset += 2; size -= 2;\n",
      },
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
        wrong: 'import { E_INVALIDDATE } from "util/error";\n',
        right: 'import { E_INVALIDDATE } from "util/error"; import { isDate } from "@radical/sdk/dates";\n',
      },
      {
        // `fromString`: what is not a number counted as 0, a month 13 as one of the year after.
        wrong: "    if (!dateTimeString.length) throw new RangeError(E_INVALIDDATE);\n",
        right:
          '    if (!isDate(dateTimeString)) throw new RangeError("This text is not a date. A date is written 2026-01-31 or 2026-01-31T12:30:00Z.");\n',
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
