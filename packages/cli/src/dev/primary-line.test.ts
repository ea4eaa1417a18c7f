import { expect, test } from "vitest";
import type { DevEvent, RequestLine } from "./dev-events.ts";
import { PrimaryLine } from "./primary-line.ts";
import { createTerminal } from "../terminal/terminal.ts";

const terminal = createTerminal({ quiet: true });
const missed = (location: string): DevEvent => ({
  level: "warn",
  event: "primary_unanswered",
  location,
  handler: "say",
  execution: "e",
  message: "connection refused",
});
const answered = (location: string, path: RequestLine["path"] = "speculative", status = 200): DevEvent => ({
  level: "info",
  event: "request",
  location,
  handler: "say",
  execution: "e",
  trace: null,
  status,
  path,
  reason: null,
  verdict: null,
  code: null,
  ms: { total: 1 },
  fuel: null,
});

/** The beginnings of the lines. */
function told(...events: readonly DevEvent[]): readonly string[] {
  const line = new PrimaryLine();
  return events.flatMap((event) => line.before(event, terminal)?.slice(0, 24) ?? []);
}

test("many attempts at many locations are one line, and so is the end", () => {
  expect(
    told(missed("VA"), missed("VA"), missed("JP"), missed("IE"), answered("VA"), answered("JP"), answered("VA")),
  ).toEqual(["! VA gets no answer from", "✓ VA gets answers from t"]);
});

test("the next time is told again", () => {
  expect(told(missed("VA"), answered("VA"), missed("JP"), answered("JP"))).toHaveLength(4);
});

test("a location that was never cut off does not end it, nor does an answer without the primary", () => {
  expect(
    told(missed("JP"), answered("VA"), answered("JP", "leased"), answered("JP", null, 503), answered("JP", null, 404)),
  ).toHaveLength(1);
  expect(told(missed("JP"), answered("JP", "near-storage"))).toHaveLength(2);
});
