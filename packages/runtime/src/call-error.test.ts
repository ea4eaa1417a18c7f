import { expect, test } from "vitest";
import { CallError } from "./call-error.ts";

const headerOf = (idempotencyKey: string | null): string | null =>
  new CallError(503, "primary_unreachable", "m", { idempotencyKey }).toResponse().headers.get("x-radical-execution");

test("the answer tells an execution's id, and never a key of the application's own choice", () => {
  const told = `execution-${"0".repeat(32)}`;
  expect([headerOf(told), headerOf("message-17-of-the-queue"), headerOf(null)]).toEqual([told, null, null]);
});
