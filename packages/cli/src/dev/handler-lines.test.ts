import { expect, test } from "vitest";
import type { HandlerLine } from "./dev-events.ts";
import { ShownExecutions } from "./handler-lines.ts";

const line = (execution: string, at: number, lines = 2): HandlerLine => ({
  level: "info",
  event: "handler_log",
  location: "VA",
  handler: "follow",
  execution,
  line: at,
  lines,
  message: "text",
});

test("the half that tells first is the only one that is shown of an execution", () => {
  const shown = new ShownExecutions();
  const told = [
    ["edge", line("a", 1)],
    ["primary", line("a", 1)],
    ["edge", line("a", 2)],
    ["primary", line("a", 2)],
    ["primary", line("b", 1)],
    ["primary", line("b", 2)],
    ["edge", line("b", 1)],
    ["edge", line("b", 2)],
  ] as const;
  expect(
    told.filter(([source, one]) => shown.isNew(source, one)).map(([source, one]) => source + one.execution + one.line),
  ).toEqual(["edgea1", "edgea2", "primaryb1", "primaryb2"]);
});

test("a second run of one execution is not shown, also if it has more lines", () => {
  const shown = new ShownExecutions();
  const runs = [line("a", 1), line("a", 2), line("a", 1, 3), line("a", 2, 3), line("a", 3, 3)];
  expect(runs.map((one) => shown.isNew("primary", one))).toEqual([true, true, false, false, false]);
});

test("the oldest executions are forgotten", () => {
  const shown = new ShownExecutions();
  for (let i = 0; i <= 10_000; i++) shown.isNew("edge", line(String(i), 1, 1));
  expect([shown.isNew("edge", line("1", 1, 1)), shown.isNew("edge", line("0", 1, 1))]).toEqual([false, true]);
});
