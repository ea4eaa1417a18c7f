import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  openRecording,
  type RecordingHead,
  recordingHeadOf,
  RecordingSeal,
  SealedLineProblem,
} from "./sealed-recording.ts";

const HEAD: RecordingHead = {
  key: "2026-11-01-0123abcd",
  deployment: "social-production",
  environment: "production",
  madeAtMs: 1,
  untilMs: 2,
};
const SECRET: Uint8Array = randomBytes(32);
const TEXTS = ["first of ann", "second of bob", "third of cyd"];

function fileOf(texts: readonly string[], { secret = SECRET, head = HEAD, ends = true } = {}): string {
  const seal = new RecordingSeal(head, secret);
  const lines = [seal.head, ...texts.map((text) => seal.record(text)), ...(ends ? [seal.end()] : [])];
  return `${lines.join("\n")}\n`;
}

const textsOf = (file: string, secret: Uint8Array = SECRET): readonly string[] =>
  openRecording(file, secret).records.map(({ text }) => text);

function problemOf(file: string, secret: Uint8Array = SECRET): string {
  try {
    recordingHeadOf(file);
    openRecording(file, secret);
  } catch (error) {
    if (error instanceof SealedLineProblem) return `${error.line} ${error.message}`;
    throw error;
  }
  return "none";
}

describe("a sealed recording", () => {
  test("says which key opens it, and has nothing else in clear", () => {
    const file = fileOf(TEXTS);
    expect(recordingHeadOf(file)).toEqual(HEAD);
    expect(openRecording(file, SECRET)).toEqual({
      isWhole: true,
      records: TEXTS.map((text, index) => ({ text, number: index + 2 })),
    });
    for (const word of ["ann", "bob", "cyd"])
      for (const form of [word, Buffer.from(word).toString("base64")]) expect(file).not.toContain(form);
    for (const line of file.trim().split("\n")) expect(() => JSON.parse(line) as unknown).not.toThrow();
  });

  test("of any texts comes back as it was, and none of them stands in it", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "binary" })),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        (texts, secret) => {
          expect(textsOf(fileOf(texts, { secret }), secret)).toEqual(texts);
        },
      ),
    );
  });

  test("with any bit changed, any line away or in another place, is refused or has lost its end", () => {
    const lines = fileOf(TEXTS).trim().split("\n");
    fc.assert(
      fc.property(fc.shuffledSubarray(lines.slice(1)), (some) => {
        const file = `${[lines[0], ...some].join("\n")}\n`;
        const isPrefix = some.every((line, index) => line === lines[index + 1]);
        if (!isPrefix) {
          expect(problemOf(file)).not.toBe("none");
          return;
        }
        const { records, isWhole } = openRecording(file, SECRET);
        expect(isWhole).toBe(some.length === TEXTS.length + 1);
        expect(records.map(({ text }) => text)).toEqual(TEXTS.slice(0, some.length));
      }),
    );
    const file = Buffer.from(fileOf(TEXTS));
    fc.assert(
      fc.property(fc.nat(file.length - 2), fc.integer({ min: 0, max: 6 }), (at, bit) => {
        const changed = Buffer.from(file);
        changed[at]! ^= 1 << bit;
        const text = changed.toString();
        // Without its mark the first line is not one of a sealed recording, and no line is a record.
        const isOther = at < lines[0]!.length && headOrNull(text) === null;
        if (!isOther) expect(problemOf(text)).not.toBe("none");
      }),
    );
  });

  test.each([
    ["under another key", fileOf(TEXTS), /^2 was changed/, randomBytes(32)],
    ["cut in a line", fileOf(TEXTS).slice(0, -10), /^5 is cut off in its middle/, SECRET],
    ["with a line of another file", withLine(2, fileOf(["other"]).split("\n")[1]!), /^3 was changed/, SECRET],
    ["with a line of a file under the same key", withLine(2, otherHead()), /^3 was changed/, SECRET],
    ["with a line that is none", withLine(2, '{"radicalRecord":1}'), /^3 is not a sealed line/, SECRET],
    ["with lines behind its end", fileOf(TEXTS) + fileOf(TEXTS), /^6 stands behind the end/, SECRET],
    ["before another one", fileOf(TEXTS, { ends: false }) + fileOf(TEXTS), /^5 is the first line of another/, SECRET],
    ["of another deployment", fileOf(TEXTS).replace("social-production", "social-staging"), /^2 was changed/, SECRET],
    [
      "of a later format",
      fileOf(TEXTS).replace('Recording":1', 'Recording":2'),
      /^1 is a sealed recording of format 2/,
      SECRET,
    ],
    [
      "with a name that is none",
      fileOf(TEXTS).replace("social-production", "\\u001b[2J"),
      /^1 is the first line .*changed/,
      SECRET,
    ],
    [
      "with a time that is none",
      fileOf(TEXTS).replace('"untilMs":2', '"untilMs":9000000000000000'),
      /^1 is the first line .*changed/,
      SECRET,
    ],
    [
      "with a first line that is wrong",
      fileOf(TEXTS).replace('"untilMs":2', '"untilMs":"2"'),
      /^1 is the first line .*changed/,
      SECRET,
    ],
  ])("%s is refused", (_, file, problem, secret) => {
    expect(problemOf(file, secret)).toMatch(problem);
  });

  test("may have other ends of lines, and none behind the last", () => {
    expect(textsOf(fileOf(TEXTS).replaceAll("\n", "\r\n"))).toEqual(TEXTS);
    expect(textsOf(fileOf(TEXTS).trimEnd())).toEqual(TEXTS);
  });

  test("is told from records, which are not sealed", () => {
    for (const text of ["", "\n", '{"radicalRecord":1}\n', "no JSON\n", '"text"\n'])
      expect(recordingHeadOf(text)).toBeNull();
  });
});

function withLine(at: number, line: string): string {
  return fileOf(TEXTS)
    .split("\n")
    .map((own, index) => (index === at ? line : own))
    .join("\n");
}

/** The second record of a file with another first line. */
function otherHead(): string {
  return fileOf(TEXTS, { head: { ...HEAD, untilMs: 3 } }).split("\n")[2]!;
}

function headOrNull(text: string): RecordingHead | null {
  try {
    return recordingHeadOf(text);
  } catch {
    return HEAD;
  }
}
