import { expect, test } from "vitest";
import { copyProblems } from "./copy-checks.ts";

const DAY_MS = 86_400_000;
const UNTIL_MS = Date.UTC(2026, 10, 27, 14);
const WINDOW = { fromMs: UNTIL_MS - 35 * DAY_MS, untilMs: UNTIL_MS };
const quietAt = (atMs: number) => [{ fromMs: atMs - 5_000, untilMs: atMs + 3_000 }];
const messagesOf = (...args: Parameters<typeof copyProblems>) => copyProblems(...args).map(({ message }) => message);

test("a quiet time of the last day is enough", () => {
  expect(messagesOf(WINDOW, quietAt(UNTIL_MS - DAY_MS + 1_000), "production")).toEqual([]);
});

test("a deployment of yesterday has had no time for one", () => {
  expect(messagesOf({ ...WINDOW, fromMs: UNTIL_MS - DAY_MS + 1 }, [], "production")).toEqual([]);
});

test("a deployment that always writes is told, with the last second that it can be restored to", () => {
  expect(messagesOf(WINDOW, quietAt(UNTIL_MS - DAY_MS - 1_000), "production")).toEqual([
    expect.stringContaining(
      "The last second to which the tables of production can be restored is 2026-11-26T13:59:59Z.",
    ),
  ]);
  for (const quiet of [[], quietAt(WINDOW.fromMs - 1_000)])
    expect(messagesOf(WINDOW, quiet, "production")).toEqual([
      expect.stringContaining("There is no second to which the tables of production can be restored."),
    ]);
});
