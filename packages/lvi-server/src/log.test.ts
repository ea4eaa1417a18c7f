import { expect, test } from "vitest";
import { createLog } from "./log.ts";

test("a line is one of JSON without control characters, whatever its fields hold", () => {
  const lines: string[] = [];
  const detail = "\u001b[31m\n\u009b\u202e\u2028";
  createLog("debug", (line) => lines.push(line)).warn("refused", { detail });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^\P{Cc}*\n$/u);
  expect(lines[0]).not.toMatch(/\p{Bidi_Control}|\p{Zl}/u);
  expect(JSON.parse(lines[0]!)).toMatchObject({ level: "warn", event: "refused", detail });
});
