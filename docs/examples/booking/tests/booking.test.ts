// #region set-up
/** The booking application over HTTP, at two locations. */
import { fileURLToPath } from "node:url";
import { type TestApp, startTestApp } from "@radical/cli/testing";
import type { Handlers } from "#radical";
import { afterAll, beforeAll, expect, test } from "vitest";

let app: TestApp<Handlers>;

beforeAll(async () => {
  app = await startTestApp<Handlers>({
    project: fileURLToPath(new URL("..", import.meta.url)),
    locations: { paris: 5, tokyo: 50 },
  });
});
afterAll(() => app?.stop());
// #endregion

// #region last-room
test("of two people who book the last room at once, at two locations, one gets it", async () => {
  await app.result("open", { hotel: "Ritz", rooms: 1 });
  const answers = await Promise.all([
    app.call("book", { hotel: "Ritz", date: "2027-05-01", guest: "ada" }, { location: "paris" }),
    app.call("book", { hotel: "Ritz", date: "2027-05-01", guest: "bob" }, { location: "tokyo" }),
  ]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  expect(answers.find(({ status }) => status === 409)?.error?.code).toBe("sold_out");
  expect(await app.result("free", { hotel: "Ritz", date: "2027-05-01" }, { location: "tokyo" })).toBe(0);
});
// #endregion

// #region many
test("whoever books, however many at once: no more guests than rooms, and no room stays empty", async () => {
  await app.result("open", { hotel: "Savoy", rooms: 5 });
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      app.call(
        "book",
        { hotel: "Savoy", date: "2027-05-01", guest: `guest ${index}` },
        { location: index % 2 === 0 ? "paris" : "tokyo" },
      ),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
  expect(answers.filter(({ error }) => error?.code === "sold_out")).toHaveLength(7);
  expect(await app.result("free", { hotel: "Savoy", date: "2027-05-01" })).toBe(0);
});
// #endregion

test("a guest has one room a night, and wrong names and dates are refused", async () => {
  await app.result("open", { hotel: "Adler", rooms: 9 });
  const wanted = { hotel: "Adler", date: "2027-05-01", guest: "ada" };
  expect(await app.result("book", wanted)).toBe(8);
  for (const [change, code] of [
    [{}, "booked_before"],
    [{ hotel: "Adl" }, "no_such_hotel"],
    [{ guest: "ada/bob" }, "bad_name"],
    [{ date: "tomorrow" }, "bad_date"],
  ] as const)
    expect((await app.call("book", { ...wanted, ...change }, { location: "tokyo" })).error?.code).toBe(code);
  expect((await app.call("open", { hotel: "Ad/ler", rooms: 1 })).error?.code).toBe("bad_name");
  expect(await app.result("free", { hotel: "Adler", date: "2027-05-01" })).toBe(8);
});

// #region all-or-none
test("a stay is booked for all of its nights, or for none", async () => {
  await app.result("open", { hotel: "Plaza", rooms: 1 });
  await app.result("book", { hotel: "Plaza", date: "2027-05-02", guest: "ada" });
  const dates = ["2027-05-01", "2027-05-02", "2027-05-03"];
  const answer = await app.call("stay", { hotel: "Plaza", dates, guest: "bob" }, { location: "tokyo" });
  expect(answer.error?.code).toBe("sold_out");
  for (const date of ["2027-05-01", "2027-05-03"]) expect(await app.result("free", { hotel: "Plaza", date })).toBe(1);
});
// #endregion

// #region once
test("a repeat books nothing twice, and a cancelled room is free again", async () => {
  await app.result("open", { hotel: "Astoria", rooms: 2 });
  const wanted = { hotel: "Astoria", dates: ["2027-05-01"], guest: "ada" };
  const idempotencyKey = crypto.randomUUID();
  const booked = await app.result("stay", wanted, { idempotencyKey, location: "paris" });
  expect(await app.result("stay", wanted, { idempotencyKey, location: "tokyo" })).toEqual(booked);
  expect(await app.result("free", { hotel: "Astoria", date: "2027-05-01" })).toBe(1);

  await app.result("cancel", { id: booked.id }, { location: "tokyo" });
  expect(await app.result("free", { hotel: "Astoria", date: "2027-05-01" })).toBe(2);
});
// #endregion

test("a location that knows the hotel books without waiting for its primary first", async () => {
  await app.result("open", { hotel: "Metropol", rooms: 5 }, { location: "paris" });
  await app.result("book", { hotel: "Metropol", date: "2027-05-01", guest: "ada" }, { location: "paris" });
  // #region path
  const wanted = { hotel: "Metropol", date: "2027-05-01", guest: "bob" };
  expect((await app.call("book", wanted, { location: "paris" })).path).toBe("speculative");
  // #endregion
});

// #region list
test("hotels are listed by pages, each once, in the order of their names", async () => {
  for (const hotel of ["Cecil", "Adlon", "Bristol"])
    await app.result("open", { hotel, rooms: 3 }, { location: "paris" });
  const first = await app.result("list", { after: null, most: 2 }, { location: "tokyo" });
  expect(first.lines.map(({ hotel }) => hotel)).toEqual(["Adler", "Adlon"]);
  const second = await app.result("list", { after: first.next, most: 2 }, { location: "tokyo" });
  expect(second.lines).toEqual([
    { hotel: "Astoria", rooms: 2 },
    { hotel: "Bristol", rooms: 3 },
  ]);
});
// #endregion
