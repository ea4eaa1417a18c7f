import { expect, test } from "vitest";
import type { PlannedStep } from "@radical/deploy";
import { createTerminal } from "./terminal.ts";
import { confirmByName, confirmChanges, confirmed } from "./confirm-changes.ts";

const terminal = createTerminal({ quiet: true });
const step = { name: "a", title: "a", half: "edge", ifFailed: "" } as const;
const planned: readonly PlannedStep[] = [
  {
    step: { ...step, plan: () => Promise.resolve([]), apply: () => Promise.resolve(undefined) },
    changes: [{ kind: "make", what: "a thing", detail: "" }],
  },
];

test("--yes makes the changes, --plan does not", async () => {
  expect(await confirmChanges(planned, { plan: false, yes: true }, terminal)).toBe(true);
  expect(await confirmChanges(planned, { plan: true, yes: true }, terminal)).toBe(false);
});

// Tests have no terminal.
test("where nobody can be asked, nothing is changed, and the error says what to give", async () => {
  await expect(confirmChanges(planned, { plan: false, yes: false }, terminal)).rejects.toMatchObject({
    code: "not_confirmed",
    exitCode: 2,
    message: "The command must ask whether to make 1 change, and can't: this is not a terminal.",
  });
});

test("what can't be taken back is asked by its name, of nobody but a person", async () => {
  expect(await confirmByName("shop-staging", { plan: false, yes: true }, terminal)).toBe(true);
  expect(await confirmByName("shop-staging", { plan: true, yes: true }, terminal)).toBe(false);
  await expect(confirmByName("shop-staging", { plan: false, yes: false }, terminal)).rejects.toMatchObject({
    code: "not_confirmed",
    exitCode: 2,
    message: "The command must ask whether to remove shop-staging, and can't: this is not a terminal.",
    hint: "Give --yes to do it, or --plan only to see it.",
  });
});

test("a command without --plan names --yes alone", async () => {
  expect(await confirmed("Discard all dead tasks?", { yes: true }, terminal)).toBe(true);
  await expect(confirmed("Discard all dead tasks?", {}, terminal)).rejects.toMatchObject({
    code: "not_confirmed",
    message: 'The command must ask "Discard all dead tasks?", and can\'t: this is not a terminal.',
    hint: "Give --yes to do it.",
  });
});
