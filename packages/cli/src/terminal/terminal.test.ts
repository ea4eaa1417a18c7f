import { PassThrough } from "node:stream";
import { unitId } from "@radical/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { differingLines, loggingLines } from "../commands/replay.ts";
import type { DevEvent } from "../dev/dev-events.ts";
import { locationLine } from "../dev/location-line.ts";
import { edgeLine, primaryLine, showLine } from "../operate/tail/tail-line.ts";
import { devLine } from "../dev/dev-lines.ts";
import { createTerminal, laidOut } from "./terminal.ts";

const POISON = "k\u001b]0;pwn\u0007\u001b[31mred\u009b32m\r\nfake ✓ line\u202e\u2066\u2028";
/** But the ends of lines, and tabs. */
const CONTROLS = /(?![\n\t])\p{Cc}|\p{Bidi_Control}|\p{Zl}|\p{Zp}/u;

const plain = createTerminal({ quiet: true, environment: { NO_COLOR: "1" } });

const warning = { level: "warn", event: "speculation_stopped", location: "VA", handler: "get", message: POISON };
const handlerLogged = {
  level: "info",
  event: "handler_log",
  location: "VA",
  handler: "get",
  execution: "e",
  line: 1,
  lines: 1,
  message: POISON,
};
const request = {
  event: "request",
  location: POISON,
  handler: POISON,
  path: null,
  status: 500,
  code: POISON,
  reason: POISON,
  ms: {},
};
const replayed = {
  execution: "e",
  handler: "get",
  differences: [{ kind: "read_outside", unit: unitId("users", POISON) }],
} as const;
const serverLine = { level: "error", event: POISON, detail: POISON };

test.each<readonly [string, string | null]>([
  ["a location's warning", devLine(warning as unknown as DevEvent, plain)],
  ["a request", devLine(request as unknown as DevEvent, plain)],
  ["a line of the LVI server", devLine({ event: "server_log", line: serverLine }, plain)],
  ["a changed file", devLine({ event: "building", changed: [POISON] }, plain)],
  ["a line of the edge", showLine(edgeLine("warn", JSON.stringify(warning), null), plain)],
  ["a line of a replay", differingLines(replayed, plain)[1]!],
  ["a line of the primary", showLine(primaryLine(JSON.stringify(serverLine), POISON), plain)],
])("%s is one line without control characters, whatever a client has chosen", (_, shown) => {
  expect(shown).toContain("\\u001b]0;pwn\\u0007");
  expect(shown).not.toMatch(CONTROLS);
  expect(shown).not.toContain("\n");
});

test.each([
  { event: "build_failed", frames: [`${POISON}\n✓ all is well`], errors: 1 },
  { event: "building" },
  { event: "ready", url: POISON, locations: [], handlers: [] },
  { event: "server_died", stderr: POISON },
  { event: "handler_log", level: "info", handler: "get", execution: "e", line: 1 },
  { event: "handler_log", level: "loud", handler: "get", execution: "e", line: 1, lines: 1 },
  { event: "request", status: 500, handler: null, path: null, code: null, reason: null, ms: { total: "1" } },
])("what an application logs is not taken for a line of radical dev's own: $event", (fields) => {
  const line = { location: "here", handler: null, message: POISON, ...fields };
  expect(locationLine(line)).toBeNull();
  const shown = showLine(edgeLine("log", JSON.stringify(line), null), plain);
  expect(shown).not.toMatch(CONTROLS);
  expect(shown).not.toContain("\n");
});

test("lines of the runtime are known", () => {
  expect(locationLine({ ...handlerLogged, more: 1 })).toEqual(handlerLogged);
  for (const line of [warning, { ...request, ms: { total: 1 } }]) expect(locationLine(line)).toBe(line);
});

test("what a handler has logged in several lines stands below its mark and level in a replay", () => {
  const logged = [{ level: "info", text: POISON }] as const;
  for (const lines of [
    loggingLines({ execution: "e", handler: "get", logged, was: [] }, plain),
    loggingLines({ execution: "e", handler: "get", logged: [], was: logged }, plain),
  ]) {
    const [first, ...others] = lines.slice(1).join("\n").split("\n");
    expect(first).toMatch(/^[-+] info {3}k\\u001b/);
    expect(others).toEqual([expect.stringMatching(/^ {9}fake/)]);
  }
});

test("what a Worker or a handler logs in several lines is indented: no line of it passes for another", () => {
  for (const shown of [
    devLine(handlerLogged as unknown as DevEvent, plain),
    devLine({ event: "worker_log", level: "log", message: POISON }, plain),
    devLine({ event: "server_died", code: 1, signal: null, stderr: POISON }, plain),
  ]) {
    expect(shown).not.toMatch(CONTROLS);
    expect(shown).not.toMatch(/^fake/m);
  }
});

test("nothing that a command writes has a control character but its own lines, tabs and styles", () => {
  const text = fc.string({
    unit: fc.oneof(fc.string({ unit: "binary", minLength: 1, maxLength: 1 }), fc.constantFrom(...POISON.split(""))),
  });
  fc.assert(
    fc.property(text, (given) => {
      expect(laidOut(given, false)).not.toMatch(CONTROLS);
      // oxlint-disable-next-line no-control-regex -- the styles that it leaves
      expect(laidOut(given, true).replaceAll(/\u001b\[[0-9;]*m/g, "")).not.toMatch(CONTROLS);
    }),
  );
  const stream = new PassThrough();
  const terminal = createTerminal({
    stream: stream as unknown as NodeJS.WriteStream,
    environment: { FORCE_COLOR: "1" },
  });
  terminal.note(`${terminal.style("red", "✗")} a\tb\r\nc \u001b]0;x\u0007`);
  expect(String(stream.read())).toBe("\u001b[31m✗\u001b[39m a\tb\nc \\u001b]0;x\\u0007\n");
});
