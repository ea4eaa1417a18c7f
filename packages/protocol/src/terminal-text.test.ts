import fc from "fast-check";
import { expect, test } from "vitest";
import { terminalText } from "./terminal-text.ts";

/** By their properties in Unicode, not as the code lists them. */
const CONTROLS = /\p{Cc}|\p{Bidi_Control}|\p{Zl}|\p{Zp}/u;

const text = fc.string({
  unit: fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    fc.constantFrom(
      "\u001b",
      "\u009b",
      "\u0085",
      "\u202e",
      "\u2066",
      "\u2028",
      "\u061c",
      "\u007f",
      "\r",
      "\n",
      "\t",
      "\0",
    ),
  ),
});

test("what is shown has no control character, whatever the text", () => {
  fc.assert(fc.property(text, (given) => !CONTROLS.test(terminalText(given))));
  for (let code = 0; code <= 0xffff; code++) expect(CONTROLS.test(terminalText(String.fromCharCode(code)))).toBe(false);
});

test("text without control characters stays as it is", () => {
  for (let code = 0; code <= 0xffff; code++) {
    const one = String.fromCharCode(code);
    expect(terminalText(one) === one).toBe(!CONTROLS.test(one));
  }
});

test("JSON stays the same JSON", () => {
  fc.assert(
    fc.property(fc.jsonValue(), text, (value, key) => {
      const json = JSON.stringify({ [key]: value, [`${key}2`]: key });
      expect(JSON.parse(terminalText(json))).toEqual(JSON.parse(json));
    }),
  );
});

test("each is shown as JSON writes it", () => {
  expect(terminalText("a\u001b]0;x\u0007\n\u009b31m\u202e")).toBe("a\\u001b]0;x\\u0007\\u000a\\u009b31m\\u202e");
});
