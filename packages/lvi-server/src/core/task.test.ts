import type { Outcome } from "@radical/protocol";
import { expect, test } from "vitest";
import { failureOf, isMisfit } from "./task.ts";

const trap = (message: string): Outcome => ({ kind: "trap", code: "assertion_failed", message });

test("a trap of the codec says that arguments do not fit, before and after it is kept", () => {
  for (const message of [
    "the arguments: expected a record, found text",
    "the arguments, field what: expected an integer, found text",
    "missing argument other (radical/entry.ts:3:4)",
  ]) {
    const failure = failureOf(trap(message), 7)!;
    expect(failure).toEqual({ code: "arguments", message, atMs: 7 });
    expect(isMisfit(failure)).toBe(true);
  }
});

test("other failures are none of that kind", () => {
  const others: readonly Outcome[] = [
    trap("events/5c67, field title: expected text, found an integer"),
    trap("the argumentsare odd"),
    { kind: "trap", code: "out_of_fuel", message: "the arguments: too many" },
    { kind: "abort", status: 503, code: "arguments", message: "They are down." },
  ];
  for (const outcome of others) expect(isMisfit(failureOf(outcome, 7)!)).toBe(false);
  const answers: readonly Outcome[] = [
    { kind: "result", value: new Uint8Array() },
    { kind: "abort", status: 404, code: "arguments", message: "missing argument other" },
  ];
  for (const outcome of answers) expect(failureOf(outcome, 7)).toBe(null);
});
