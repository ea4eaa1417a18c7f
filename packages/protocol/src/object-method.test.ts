import fc from "fast-check";
import { expect, test } from "vitest";
import { isKey } from "./ids.ts";
import { callPath, objectMethod, readCallPath } from "./object-method.ts";

test("a path has the id of its object, whatever characters the id has", () => {
  const id = fc.oneof(
    fc.string({ minLength: 1, maxLength: 20, unit: "binary" }),
    fc.constantFrom("a/b", "...", "%2f", "ü"),
  );
  // A URL has no such segments.
  const isSegment = (one: string): boolean => isKey(one) && one !== "." && one !== "..";
  fc.assert(
    fc.property(id.filter(isSegment), fc.string(), (one, text) => {
      const { path, args } = callPath("Thread.reply", { id: one, text });
      expect(args).toEqual({ text });
      const { pathname } = new URL(path, "http://localhost");
      expect(readCallPath(pathname)).toEqual({ handler: "Thread.reply", id: one });
    }),
  );
});

test("a function has its name for a path, and keeps its arguments", () => {
  expect(callPath("follow", { id: "a" })).toEqual({ path: "/api/follow", args: { id: "a" } });
  expect(readCallPath("/api/follow")).toEqual({ handler: "follow", id: null });
});

test("other paths call nothing", () => {
  const others = [
    "/",
    "/api",
    "/other/follow",
    "/api/Thread.reply",
    "/api/Thread/a",
    "/api/Thread/a/reply/more",
    "/api/Thread//reply",
    "/api/Thread/%/reply",
    "/api/Thread/%00%ff/reply",
    `/api/Thread/${"a".repeat(513)}/reply`,
    "/api/Thread.x/a/reply",
    "/api/Thread/a/re.ply",
  ];
  expect(others.map((path) => readCallPath(path))).toEqual(others.map(() => null));
  expect(objectMethod("Thread.reply")).toEqual({ className: "Thread", method: "reply" });
  expect(objectMethod("follow")).toBeNull();
});
