/**
 * Mistakes in AssemblyScript's library that write or read past the end of a buffer: what is there depends on what ran
 * before, so that the same handler could do two things. They are mended line by line, in the pinned version.
 */
interface Mend {
  readonly wrong: string;
  readonly right: string;
}

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
