/** The application as its users meet it: over HTTP, at two locations. */
import { fileURLToPath } from "node:url";
import { type TestApp, startTestApp } from "@radical/cli/testing";
import type { Handlers } from "#radical";
import { afterAll, beforeAll, expect, test } from "vitest";

let app: TestApp<Handlers>;

beforeAll(async () => {
  app = await startTestApp<Handlers>({ project: fileURLToPath(new URL("..", import.meta.url)) });
});
afterAll(() => app?.stop());

test("a note that is added at one location is listed at another", async () => {
  const note = await app.result("addNote", { text: "buy milk" });
  expect(await app.result("listNotes", {}, { location: "far" })).toEqual([note]);
  const second = await app.result("addNote", { text: "drink milk" }, { location: "far" });
  expect(await app.result("listNotes")).toEqual([second, note]);
  expect(await app.result("listNotes", { limit: 1 })).toEqual([second]);
  expect(await app.result("listNotes", { before: second.id }, { location: "far" })).toEqual([note]);

  expect(await app.result("removeNote", { id: note.id }, { location: "far" })).toBe(true);
  expect(await app.result("removeNote", { id: note.id })).toBe(false);
  expect(await app.result("listNotes")).toEqual([second]);
});

test("no count is lost, wherever it is made", async () => {
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      app.result("increment", {}, { location: index % 2 === 0 ? "near" : "far" }),
    ),
  );
  expect(await app.result("count")).toBe(20);
  expect(await app.result("increment", { by: -5 })).toBe(15);
});

test("a repeat with the same key counts once", async () => {
  const before = await app.result("count");
  const key = { idempotencyKey: crypto.randomUUID() };
  for (const location of ["near", "near", "far"]) {
    expect(await app.result("increment", {}, { ...key, location })).toBe(before + 1);
  }
  expect(await app.result("count")).toBe(before + 1);
});

test("an empty note is refused", async () => {
  const answer = await app.call("addNote", { text: "" });
  expect(answer.status).toBe(400);
  expect(answer.error?.code).toBe("bad_text");
});
