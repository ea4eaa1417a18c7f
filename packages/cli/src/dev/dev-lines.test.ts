import { expect, test } from "vitest";
import { devLine } from "./dev-lines.ts";
import { createTerminal } from "../terminal/terminal.ts";

test("a handler that leaves its set is one line of words", () => {
  const detail =
    "The handler leaves its read/write set, which is a fault of the analyzer: report it (write of t/(a)\nb).";
  const line = { level: "warn", event: "set_left", module: "a", handler: "say", execution: "e", detail };
  expect(devLine({ event: "server_log", line }, createTerminal({ quiet: true }))).toBe(
    "! say: The handler leaves its read/write set, which is a fault of the analyzer: report it. Answers stay right; a location that sees it twice runs the handler in record mode, which is slower",
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
  [{ level: "warn", event: "refused", detail: "in_doubt: An earlier server may have answered this attempt." }, null],
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

test.each([
  [undefined, "200"],
  [153.7, "200  central: about 154 ms"],
  [97, "200  central: about the same"],
] as const)("a call stands beside the wait for a central server: %s", (centralMs, shown) => {
  const ids = { execution: "e", trace: null, code: null, fuel: null, reason: null, verdict: null } as const;
  const line = { event: "request", level: "info", location: "VA", handler: "like", status: 200, ...ids } as const;
  const call = {
    ...line,
    path: "speculative",
    ms: { total: 101 },
    ...(centralMs === undefined ? {} : { centralMs }),
  } as const;
  expect(devLine(call, createTerminal({ quiet: true }))?.split(" ms  ")[1]).toBe(shown);
});

test.each([
  ["/login", "route", 200, `POST /login    VA       route         ${" ".repeat(47)}total    3.5 ms  200`],
  ["/a", "file", 404, `POST /a        VA       file          ${" ".repeat(47)}total    3.5 ms  404`],
] as const)("an answer of the application's own stands below those of calls: %s", (path, by, status, shown) => {
  const answer = { event: "answered", method: "POST", path, location: "VA", status, ms: 3.5, by } as const;
  expect(devLine(answer, createTerminal({ quiet: true }))).toBe(shown);
});

test("a wrangler configuration is told with what is missing, each thing in a line with what to do", () => {
  const told = {
    event: "bindings",
    url: "http://127.0.0.1:8787",
    file: "wrangler.jsonc",
    present: [
      { name: "SESSIONS", field: "kv_namespaces" },
      { name: "FILES", field: "r2_buckets" },
    ],
    missing: [
      { name: "AI", field: "ai", hint: null },
      { name: "SQL", field: "hyperdrive", hint: "give it a localConnectionString" },
    ],
    madeLocal: [{ name: "FILES", field: "r2_buckets" }],
    crons: ["*/5 1,2 * * MON#1"],
    missingSecrets: ["TOKEN"],
  } as const;
  expect(devLine(told, createTerminal({ quiet: true }))?.split("\n")).toEqual([
    "wrangler.jsonc: SESSIONS (kv_namespaces), FILES (r2_buckets)",
    "! wrangler.jsonc: env.AI (ai) exists in a deployment, not in radical dev",
    "! wrangler.jsonc: env.SQL (hyperdrive) exists in a deployment, not in radical dev: give it a localConnectionString",
    "! wrangler.jsonc: env.FILES is remote there; radical dev has it on this machine",
    "! wrangler.jsonc requires the secret TOKEN: add TOKEN=… to .dev.vars",
    'cron */5 1,2 * * MON#1: fire it with  curl "http://127.0.0.1:8787/cdn-cgi/handler/scheduled?cron=*/5+1,2+*+*+MON%231"',
  ]);
  const nothing = { ...told, present: [], missing: [], madeLocal: [], crons: [], missingSecrets: [] };
  expect(devLine(nothing, createTerminal({ quiet: true }))).toBeNull();
});
