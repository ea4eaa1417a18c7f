import { expect, test } from "vitest";
import { createLog, LOG_LEVELS } from "./log.ts";

test("a line is one of JSON without control characters, whatever its fields hold", () => {
  const lines: string[] = [];
  const detail = "\u001b[31m\n\u009b\u202e\u2028";
  createLog("debug", (line) => lines.push(line)).warn("refused", { detail });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^\P{Cc}*\n$/u);
  expect(lines[0]).not.toMatch(/\p{Bidi_Control}|\p{Zl}/u);
  expect(JSON.parse(lines[0]!)).toMatchObject({ level: "warn", event: "refused", detail });
});

test("lines of handlers are written whatever the least level is, unless that is silent", () => {
  const written = LOG_LEVELS.map((level) => {
    const lines: string[] = [];
    const log = createLog(level, (line) => lines.push(line));
    log.handlerLine("debug", { handler: "f", message: "\u001b" });
    expect(log.recent.last(10, "debug")).toEqual(lines);
    return lines.map((line) => JSON.parse(line) as unknown);
  });
  const line = { level: "debug", event: "handler_log", handler: "f", message: "\u001b" };
  expect(written).toMatchObject([[line], [line], [line], [line], []]);
});

test("a line of metrics is for programs: operators who follow the log are not shown it", () => {
  const written = (["info", "warn"] as const).map((level) => {
    const lines: string[] = [];
    const log = createLog(level, (line) => lines.push(line));
    log.metrics({ Requests: 3 });
    expect(log.recent.last(10, "debug")).toEqual([]);
    return lines.map((line) => JSON.parse(line) as unknown);
  });
  expect(written).toMatchObject([[{ level: "info", event: "metrics", Requests: 3 }], []]);
});
