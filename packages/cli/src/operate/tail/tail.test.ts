import { PassThrough } from "node:stream";
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createTerminal } from "../../terminal/terminal.ts";
import { JsonObjects } from "./json-objects.ts";
import { eachOnce, edgeLine, filterOf, primaryLine, showLine } from "./tail-line.ts";

const terminal = createTerminal({ stream: new PassThrough() as unknown as NodeJS.WriteStream, environment: {} });

const request = (more: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({
    level: "info",
    event: "request",
    location: "VA",
    handler: "follow",
    execution: "e1",
    trace: null,
    status: 200,
    path: "speculative",
    reason: "valid",
    code: null,
    ms: { rw: 0, lvi: 7.25, f: 1, total: 9 },
    ...more,
  });

test("objects come out whole, however the text is cut and laid out", () => {
  const json = fc.jsonValue({ maxDepth: 3 }).map((value) => ({ value }));
  fc.assert(
    fc.property(
      fc.array(json, { maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 20 })),
      fc.boolean(),
      (values, cuts, pretty) => {
        const text = values.map((value) => `${JSON.stringify(value, null, pretty ? 2 : 0)}\n`).join("noise\n");
        const objects = new JsonObjects();
        const found: unknown[] = [];
        let at = 0;
        for (const cut of cuts) {
          found.push(...objects.add(text.slice(at, at + cut)));
          at += cut;
        }
        found.push(...objects.add(text.slice(at)));
        expect(found).toEqual(values.map((value) => JSON.parse(JSON.stringify(value)) as unknown));
      },
    ),
  );
});

test("lines are marked by half and location", () => {
  expect(edgeLine("log", request(), "IAD")).toMatchObject({
    half: "edge",
    location: "VA",
    level: "info",
    handler: "follow",
    execution: "e1",
  });
  expect(edgeLine("log", request({ status: 503 }), null)).toMatchObject({ level: "error" });
  expect(edgeLine("error", "Error: boom", "IAD")).toMatchObject({
    location: "IAD",
    level: "error",
    handler: null,
    line: { event: "worker_log", message: "Error: boom" },
  });
  expect(primaryLine('{"time":"t","level":"warn","event":"refused","execution":"e1"}')).toMatchObject({
    half: "primary",
    location: null,
    level: "warn",
    execution: "e1",
  });
  expect(primaryLine("words of Node")).toMatchObject({ level: "info", line: { message: "words of Node" } });
});

test("lines for people begin with their half", () => {
  expect(showLine(edgeLine("log", request(), null), terminal)).toMatch(
    /^edge {5}follow +VA +speculative .* lvi +7\.3 .* 200$/,
  );
  const line = primaryLine(
    '{"time":"2026-11-21T12:00:00.000Z","level":"warn","event":"refused","detail":"busy: no","n":1}',
  );
  expect(showLine(line, terminal)).toBe("primary  2026-11-21T12:00:00.000Z warn refused detail=busy: no n=1");
});

test("of a handler: its lines, and the primary's about its executions; errors only", () => {
  const wanted = filterOf({ handlers: ["follow"], errors: false });
  expect(wanted(primaryLine('{"level":"warn","event":"stale","execution":"e1"}'))).toBe(false);
  expect(wanted(edgeLine("log", request(), null))).toBe(true);
  expect(wanted(primaryLine('{"level":"warn","event":"stale","execution":"e1"}'))).toBe(true);
  expect(wanted(edgeLine("log", request({ handler: "post" }), null))).toBe(false);
  expect(wanted(primaryLine('{"level":"info","event":"keys_loaded"}'))).toBe(false);
  const errors = filterOf({ handlers: [], errors: true });
  expect(errors(edgeLine("log", request(), null))).toBe(false);
  expect(errors(edgeLine("log", request({ status: 500 }), null))).toBe(true);
  expect(errors(primaryLine('{"level":"error","event":"halted"}'))).toBe(true);
});

const logged = (execution: string, at: number, more: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({
    level: "warn",
    event: "handler_log",
    location: "VA",
    handler: "follow",
    execution,
    line: at,
    lines: 2,
    message: `line ${at}`,
    ...more,
  });

test("a line of a handler is shown once, whichever half tells of it", () => {
  const isNew = eachOnce();
  const both = [edgeLine("log", logged("e1", 1), null), primaryLine(logged("e1", 1, { path: "re-execution" }))];
  expect(both.map(isNew)).toEqual([true, false]);
  const second = [primaryLine(logged("e2", 1, { path: "near-storage" })), edgeLine("log", logged("e2", 1), null)];
  expect(second.map(isNew)).toEqual([true, false]);
  // All others are shown each time.
  expect([isNew(edgeLine("log", request(), null)), isNew(edgeLine("log", request(), null))]).toEqual([true, true]);
  expect(both.map((line) => showLine(line, terminal))).toEqual([
    "edge     follow         VA       warn          line 1",
    "primary  follow         VA       warn          line 1",
  ]);
  expect(primaryLine(logged("e1", 1))).toMatchObject({ location: "VA", level: "warn", handler: "follow" });
});

test.each([{ level: "loud" }, { line: "1" }, { message: 7 }, { execution: null }, { handler: null }])(
  "what only looks like a line of a handler is the application's own: %j",
  (more) => {
    const isNew = eachOnce();
    const line = edgeLine("log", logged("e1", 1, more), null);
    expect([isNew(line), isNew(line)]).toEqual([true, true]);
    expect(showLine(line, terminal)).toContain('"event":"handler_log"');
  },
);

test("what the documents show of a tail is what lines look like", () => {
  const file = new URL("../../../../../docs/examples/output/tail.txt", import.meta.url);
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  // Numbers are right-aligned.
  const shape = (line: string): string => line.replaceAll(/ *(?:-(?= )|\d+\.\d)(?= )/g, " #");
  const shownOf = (line: string): string => {
    const [, handler, location, path, status = "", code = null, reason = null] =
      /^edge {5}(\S+) +(\S+) +(\S+) .* ms {2}(\d+)(?: (\w+))?(?: {2}(\w+))?$/.exec(line) ?? [];
    const more = { handler, location, path, status: Number(status), code, reason: reason ?? "valid" };
    return showLine(
      edgeLine("log", request({ ...more, ms: { rw: 1, cache: 1, lvi: 1, f: 1, total: 1 } }), null),
      terminal,
    );
  };
  for (const line of lines)
    if (line.startsWith("edge")) expect(shape(line)).toBe(shape(shownOf(line)));
    else expect(line).toMatch(/^primary {2}\S+Z (?:info|warn) \w+ \w+=/);
});
