import type { Outcome } from "@radical/protocol";
import { expect, test } from "vitest";
import { bytesOf } from "../programs.ts";
import type { Telling } from "../workload.ts";
import { checkShown } from "./shown.ts";

const result = (text: string): Outcome => ({ kind: "result", value: bytesOf(text) });
const REFUSED: Outcome = { kind: "abort", status: 409, code: "no", message: "" };
const shown = (text: string, isConfirmed = false) => ({ result: bytesOf(text), isConfirmed });

/** An append that was shown "a", and was told that it is right. */
const RIGHT: Telling = {
  name: "op1",
  program: "append",
  prefersSpeculative: true,
  shown: [shown("a")],
  answer: { outcome: result("a"), verdict: "confirmed" },
};

test.each<[string, Partial<Telling>]>([
  ["confirmed", {}],
  ["corrected", { answer: { outcome: result("b"), verdict: "corrected" } }],
  ["failed by the handler", { answer: { outcome: REFUSED, verdict: "failed" } }],
  ["failed, and nobody knows what happened", { answer: { outcome: null, verdict: "failed" } }],
  ["without an answer", { answer: null }],
  ["not shown, without the tag", { program: "audit", shown: [], answer: { outcome: result("a"), verdict: null } }],
])("%s: no violation", (_, more) => {
  expect(checkShown([{ ...RIGHT, ...more }])).toEqual([]);
});

test.each<[RegExp, Partial<Telling>]>([
  [/had not asked for it/, { prefersSpeculative: false }],
  [/audit lacks the tag/, { program: "audit" }],
  [/beside its confirmation/, { shown: [shown("a", true)] }],
  [/shown 2 results/, { shown: [shown("a"), shown("a")] }],
  [/told "confirmed" .* "corrected"/, { answer: { outcome: result("b"), verdict: "confirmed" } }],
  [/told "confirmed" .* "failed"/, { answer: { outcome: REFUSED, verdict: "confirmed" } }],
  [/told "corrected" .* "confirmed"/, { answer: { outcome: result("a"), verdict: "corrected" } }],
  [/told "null" .* "confirmed"/, { answer: { outcome: result("a"), verdict: null } }],
  [/told "confirmed" .* "null"/, { shown: [] }],
])("%s", (words, more) => {
  const problems = checkShown([{ ...RIGHT, ...more }]);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(words);
});
