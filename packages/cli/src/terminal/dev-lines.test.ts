import { expect, test } from "vitest";
import { devLine } from "./dev-lines.ts";
import { createTerminal } from "./terminal.ts";

test("a handler that leaves its set is one line of words", () => {
  const detail =
    "the handler leaves its read/write set, which is a fault of the analyzer: report it (write of t/(a)\nb)";
  const line = { level: "warn", event: "set_left", module: "a", handler: "say", execution: "e", detail };
  expect(devLine({ event: "server_log", line }, createTerminal({ quiet: true }))).toBe(
    "! say: the handler leaves its read/write set, which is a fault of the analyzer: report it. Answers stay right; a location that sees it twice runs the handler in record mode, which is slower",
  );
});

test.each([
  ["info", "hello", "say            VA       info          hello"],
  ["debug", "", "say            VA       debug         "],
  ["warn", "one\ntwo", "say            VA       warn          one\n  two"],
  ["error", "\u001b[2J\u202e", "say            VA       error         \\u001b[2J\\u202e"],
] as const)("a line that a handler has logged stands below those of requests: %s %j", (level, message, shown) => {
  const line = { event: "handler_log", location: "VA", handler: "say", execution: "e", line: 1, lines: 1 } as const;
  expect(devLine({ ...line, level, message }, createTerminal({ quiet: true }))).toBe(shown);
});

test.each([
  [{ level: "info", event: "module_registered" }, null],
  [{ level: "warn", event: "refused", detail: "in_doubt: an earlier server may have answered this attempt" }, null],
  [{ level: "warn", event: "refused", detail: "busy: the queue is full" }, "refused detail=busy: the queue is full"],
  [{ level: "error", event: "storage_failed", status: 7 }, "storage_failed status=7"],
])("of the LVI server's log %j is shown as %j", (line, shown) => {
  const words = devLine({ event: "server_log", line }, createTerminal({ quiet: true }));
  expect(words).toBe(shown === null ? null : `! LVI server: ${shown}`);
});

test.each([
  [null, "valid", "200"],
  ["confirmed", "valid", "200"],
  ["corrected", "stale", "200  stale, shown result corrected"],
  ["failed", "valid", "200  shown result failed"],
] as const)("a request tells of a result that was shown too early: %s", (verdict, reason, shown) => {
  const ids = { execution: "e", trace: null, code: null, fuel: null } as const;
  const line = { event: "request", level: "info", location: "VA", handler: "like", status: 200, ...ids } as const;
  const words = devLine({ ...line, path: "speculative", ms: {}, reason, verdict }, createTerminal({ quiet: true }));
  expect(words?.split(" ms  ")[1]).toBe(shown);
});
