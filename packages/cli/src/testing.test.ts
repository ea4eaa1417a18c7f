import { expectTypeOf, test } from "vitest";
import type { Answer, TestApp } from "./testing.ts";

interface Handlers {
  readonly add: { readonly arguments: { readonly text: string }; readonly result: { readonly id: string } };
  readonly list: { readonly arguments: { readonly limit?: number }; readonly result: readonly string[] };
}

// The type check is the test: nothing here runs.
async function calls(typed: TestApp<Handlers>, untyped: TestApp): Promise<void> {
  expectTypeOf(await typed.result("add", { text: "x" }, { location: "far" })).toEqualTypeOf<{ readonly id: string }>();
  expectTypeOf(await typed.call("list")).toEqualTypeOf<Answer<readonly string[]>>();
  // @ts-expect-error a missing argument
  await typed.result("add", {});
  // @ts-expect-error no arguments at all
  await typed.result("add");
  // @ts-expect-error an unknown handler
  await typed.call("remove", { text: "x" });
  expectTypeOf(await untyped.result<number>("anything", { at: "all" })).toEqualTypeOf<number>();
  expectTypeOf(await untyped.call("anything")).toEqualTypeOf<Answer>();
}

test("calls are typed by the handlers of the generated client, or not at all", () => {
  expectTypeOf(calls).returns.resolves.toBeVoid();
});
