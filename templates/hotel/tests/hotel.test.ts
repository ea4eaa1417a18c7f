/** The application as its guests meet it: over HTTP, at two locations. */
import { fileURLToPath } from "node:url";
import { type CallOptions, type TestApp, startTestApp } from "@radical/cli/testing";
import type { BookingPage, Handlers, HotelPage, HotelView } from "#radical";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PASSWORD, signedIn } from "./accounts.ts";

const ZURICH = { latitude: 47.3769, longitude: 8.5417 };

let app: TestApp<Handlers>;

beforeAll(async () => {
  app = await startTestApp<Handlers>({ project: fileURLToPath(new URL("..", import.meta.url)), seeded: true });
});
afterAll(() => app?.stop());

/** A guest of this name, logged in. */
async function join(name: string): Promise<CallOptions> {
  return signedIn(await app.call("register", { name, password: PASSWORD }));
}

function search(arrival: string, count = 1): Promise<readonly HotelView[]> {
  return app.result("search", { ...ZURICH, arrival, count, limit: 50 });
}

test("a search finds the hotels near a place, and no others", async () => {
  const found = await search("2099-05-01");
  expect(found.map(({ id }) => id).toSorted()).toEqual([
    "zurich-limmat-house",
    "zurich-lindenhof",
    "zurich-seefeld-garden",
    "zurich-the-watchmaker",
    "zurich-uetli-view",
  ]);
  for (const { km } of found) expect(km).toBeLessThanOrEqual(11);
  const nearest = found.toSorted((a, b) => a.km - b.km).slice(0, 2);
  const two = await app.result("search", { ...ZURICH, arrival: "2099-05-01", count: 1, limit: 2 });
  expect(two.toSorted((a, b) => a.km - b.km)).toEqual(nearest);
  expect(await app.result("search", { latitude: 0, longitude: -180, arrival: "2099-05-01", count: 1 })).toEqual([]);
});

test("more guests than rooms at once, at two locations: each room is booked once, the others are told", async () => {
  const hotel = (await search("2099-06-01")).toSorted((a, b) => a.freeRooms - b.freeRooms)[0];
  if (hotel === undefined) throw new Error("no hotel");
  const guests = await Promise.all(Array.from({ length: hotel.freeRooms + 3 }, (_, i) => join(`rush-${i}`)));
  const answers = await Promise.all(
    guests.map((session, i) => {
      // Stays that overlap in the night of June 3 only.
      const arrival = i % 2 === 0 ? "2099-06-01" : "2099-06-03";
      const location = i % 2 === 0 ? "near" : "far";
      return app.call("book", { hotel: hotel.id, arrival, count: 3 }, { ...session, location });
    }),
  );
  const rooms = answers.flatMap(({ result }) => (result === undefined ? [] : [result.room]));
  expect(rooms).toHaveLength(hotel.freeRooms);
  expect(new Set(rooms).size).toBe(hotel.freeRooms);
  const refused = answers.flatMap(({ error }) => (error === undefined ? [] : [error.code]));
  expect(refused).toEqual(["booked_out", "booked_out", "booked_out"]);
  expect((await search("2099-06-03")).map(({ id }) => id)).not.toContain(hotel.id);
});

test("a cancelled room is free again, and only its guest can cancel", async () => {
  const [guest, other] = [await join("guest"), await join("other")];
  const hotel = "lisbon-miradouro";
  const booking = await app.result("book", { hotel, arrival: "2099-12-30", count: 4 }, guest);
  expect((await app.result("myBookings", {}, { ...guest, location: "far" })).bookings).toEqual([booking]);
  expect((await app.call("cancel", { booking: booking.id }, other)).error?.code).toBe("no_such_booking");
  await app.result("cancel", { booking: booking.id }, { ...guest, location: "far" });
  expect(await app.result("myBookings", {}, guest)).toEqual({ bookings: [], next: null });
  expect((await app.call("cancel", { booking: booking.id }, guest)).status).toBe(404);
  const again = await app.result("book", { hotel, arrival: "2100-01-02", count: 1 }, other);
  expect(again.room).toBe(booking.room);
});

test("a second review takes the place of the first", async () => {
  const session = await join("critic");
  const hotel = "kyoto-gion-lane";
  const page = async (): Promise<HotelPage> => app.result("hotel", { id: hotel }, { location: "far" });
  const before = (await page()).hotel.reviews;
  for (const stars of [1, 5]) {
    expect(await app.result("review", { hotel, stars, text: "" }, session)).toBe(before + 1);
  }
  expect((await page()).reviews.reviews).toMatchObject([{ guest: "critic", stars: 5 }]);
  expect((await app.call("review", { hotel, stars: 6, text: "" }, session)).status).toBe(400);
});

test("bookings and reviews come in pages, the newest first", async () => {
  const session = await join("regular");
  const made: string[] = [];
  for (let night = 1; night <= 5; night++) {
    const stay = { hotel: "lisbon-casa-alfama", arrival: `2099-07-0${night}`, count: 1 };
    made.push((await app.result("book", stay, session)).id);
  }
  const booked: string[] = [];
  let before: string | null = null;
  do {
    const page: BookingPage = await app.result("myBookings", { before, limit: 2 }, { ...session, location: "far" });
    booked.push(...page.bookings.map(({ id }) => id));
    before = page.next;
  } while (before !== null);
  expect(booked).toEqual(made.toReversed());

  const hotel = "kyoto-kamo-ryokan";
  const critics = ["r-1", "r-2", "r-3"];
  for (const name of critics) await app.result("review", { hotel, stars: 4, text: name }, await join(name));
  const first = await app.result("reviews", { hotel, limit: 2 }, { location: "far" });
  expect(first.reviews.map(({ guest }) => guest)).toEqual(["r-3", "r-2"]);
  // The oldest one writes anew.
  await app.result(
    "review",
    { hotel, stars: 1, text: "" },
    signedIn(await app.call("login", { name: "r-1", password: PASSWORD })),
  );
  expect((await app.result("reviews", { hotel, before: first.next })).reviews).toEqual([]);
  const { reviews } = await app.result("hotel", { id: hotel });
  expect(reviews.reviews.map(({ guest, stars }) => [guest, stars])).toEqual([
    ["r-1", 1],
    ["r-3", 4],
    ["r-2", 4],
  ]);
});

test("recommendations are in the order asked for", async () => {
  const by = (order: string): Promise<readonly HotelView[]> =>
    app.result("recommend", { city: "Lisbon", by: order, latitude: 38.7223, longitude: -9.1393 });
  const cents = (await by("cheapest")).map((hotel) => hotel.cents);
  expect(cents).toEqual(cents.toSorted((a, b) => a - b));
  const km = (await by("nearest")).map((hotel) => hotel.km);
  expect(km).toEqual(km.toSorted((a, b) => a - b));
  expect(await by("best")).toHaveLength(5);
  expect((await app.call("recommend", { city: "Atlantis", by: "best" })).error?.code).toBe("no_such_city");
  expect((await app.call("recommend", { city: "Lisbon", by: "luck" })).error?.code).toBe("bad_order");
});

test("attractions are near, and of the kind asked for", async () => {
  const hotel = "kyoto-kamo-ryokan";
  const museums = await app.result("attractions", { hotel, kind: "museum" });
  expect(museums.map(({ kind }) => kind)).toEqual(["museum", "museum"]);
  expect(await app.result("attractions", { hotel })).toHaveLength(5);
});

test.each([
  ["a", "2099-02-29", 1, "bad_day"],
  ["b", "2096-02-29", 15, "bad_nights"],
  ["c", "tomorrow", 1, "bad_day"],
  ["d", "1999-01-01", 1, "past"],
])("guest %s: no stay from %s for %i nights", async (name, arrival, count, code) => {
  const session = await join(`guest-${name}`);
  const answer = await app.call("book", { hotel: "zurich-lindenhof", arrival, count }, session);
  expect(answer).toMatchObject({ status: 400, error: { code } });
});
