import type { UnitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { differenceFields } from "./difference-fields.ts";

const POST = "posts/1" as UnitId;

test("a changed result, abort or item is told by the paths that differ alone", () => {
  const result = (value: object): string => JSON.stringify({ kind: "result", value });
  expect(
    differenceFields({
      kind: "outcome",
      was: result({
        likes: 1,
        by: ["ann"],
      }),
      is: result({
        likes: 2,
        by: ["ann"],
      }),
    }),
  ).toEqual([{ path: "result.likes", was: "1", is: "2" }]);
  const abort = (code: string): string => JSON.stringify({ kind: "abort", status: 404, code, message: "" });
  expect(differenceFields({ kind: "outcome", was: abort("a"), is: abort("b") })).toEqual([
    { path: "abort.code", was: '"a"', is: '"b"' },
  ]);
  expect(differenceFields({ kind: "write", unit: POST, was: '{"text":"x","n":1}', is: '{"text":"x","n":2}' })).toEqual([
    { path: "posts/1: n", was: "1", is: "2" },
  ]);
});

test("outcomes of two kinds, and items that are written only once, are told whole", () => {
  const [was, is] = ['{"kind":"result","value":1}', '{"kind":"abort","status":404,"code":"a","message":""}'];
  expect(differenceFields({ kind: "outcome", was, is })).toMatchObject([{ path: "outcome", was, is }]);
  expect(differenceFields({ kind: "write", unit: POST, was: null, is: "deleted" })).toEqual([
    { path: "posts/1", was: null, is: "deleted" },
  ]);
});
