/** Stays that are paid for: a bank that loses answers, one that declines, a refund, a reminder, and the report of the night. */
import { fileURLToPath } from "node:url";
import { type CallOptions, Refused, type TestApp, startTestApp } from "@radical/cli/testing";
import type { Booking, Handlers, PaymentView } from "#radical";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Entry, onlyInDev, openFakes } from "../src/fakes.ts";
import { PASSWORD, signedIn } from "./accounts.ts";

const DAY_MS = 86_400_000;
const HOTEL = "zurich-uetli-view";
const SOON = { timeout: 25_000, interval: 20 };

/** The answer to a fifth of the calls gets lost. */
const LOSING = { lost: 0.2 };

const { services: fakes, ledger, mails } = openFakes(Refused);
const askedForMoney: string[] = [];
/** Bookings of which the bank has refused the money. */
const refused: string[] = [];
/** The bank takes money only then. */
let mayCapture: Promise<void> = Promise.resolve();

const services = {
  ...fakes,
  capture: async (args: { booking: string }): Promise<void> => {
    askedForMoney.push(args.booking);
    await mayCapture;
    fakes.capture(args);
  },
};

let app: TestApp<Handlers>;
/** Handlers that only tasks, tests and the Worker may call are not in the client. */
let inside: TestApp;

beforeAll(async () => {
  const started = await startTestApp<Handlers>({
    project: fileURLToPath(new URL("..", import.meta.url)),
    seeded: true,
    services,
    // Of some calls the answer is lost, though the bank has done what it was asked for.
    serviceFaults: { hold: LOSING, capture: LOSING, refund: LOSING, sendMail: LOSING },
  });
  app = started;
  inside = started as unknown as TestApp;
});
afterAll(() => app?.stop());

function inDays(days: number): string {
  return new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);
}

/** A guest of this name, logged in. */
async function join(name: string): Promise<CallOptions> {
  return signedIn(await app.call("register", { name, password: PASSWORD }));
}

async function reserve(guest: CallOptions, arrival: string, card = "good"): Promise<Booking> {
  // Answers that get lost take seconds.
  const headers = { ...guest.headers, prefer: "wait=25" };
  return app.result("reserve", { hotel: HOTEL, arrival, count: 2, card }, { ...guest, headers });
}

async function paymentOf(guest: CallOptions, booking: string): Promise<PaymentView | undefined> {
  return (await app.result("paid", { bookingIds: [booking] }, { ...guest, location: "far" }))[0];
}

const bankOf = (booking: string): readonly Entry["kind"][] =>
  ledger.filter((entry) => entry.booking === booking).map(({ kind }) => kind);
const mailOf = (guest: string): readonly string[] =>
  mails.filter(({ to }) => to === guest).map(({ subject }) => subject);

async function freeRooms(arrival: string): Promise<number> {
  const place = { latitude: 47.3769, longitude: 8.5417 };
  const found = await app.result("search", { ...place, arrival, count: 2, limit: 50 });
  return found.find(({ id }) => id === HOTEL)?.freeRooms ?? 0;
}

test("the bank loses its answer: the money is held once, and the guest has one room and one mail", async () => {
  const guest = await join("forgotten");
  const before = await freeRooms(inDays(30));
  const booking = await reserve(guest, inDays(30), "forgetful");
  expect(bankOf(booking.id)).toEqual(["hold"]);
  expect(await paymentOf(guest, booking.id)).toMatchObject({ state: "held", cents: booking.cents });
  expect(await freeRooms(inDays(30))).toBe(before - 1);
  await vi.waitFor(() => expect(mailOf("forgotten")).toEqual(["Your booking"]), SOON);
});

test("a repeat of the request reserves nothing twice", async () => {
  const guest = { ...(await join("twice")), idempotencyKey: crypto.randomUUID() };
  const booking = await reserve(guest, inDays(60));
  expect(await reserve({ ...guest, location: "far" }, inDays(60))).toEqual(booking);
  expect(bankOf(booking.id)).toEqual(["hold"]);
});

test("a declined card: the room is free again, and nothing is held", async () => {
  const guest = await join("broke");
  const [before, entries] = [await freeRooms(inDays(90)), ledger.length];
  const args = { hotel: HOTEL, arrival: inDays(90), count: 2, card: "declined" };
  const { error } = await app.call("reserve", args, guest);
  expect(error?.code).toBe("card_declined");
  expect(ledger).toHaveLength(entries);
  expect(await freeRooms(inDays(90))).toBe(before);
  expect((await app.result("myBookings", {}, guest)).bookings).toEqual([]);
});

test("a stay that is too far away is not held", async () => {
  const args = { hotel: HOTEL, arrival: inDays(510), count: 2, card: "good" };
  expect((await app.call("reserve", args, await join("early"))).error?.code).toBe("too_far");
});

test("a cancelled stay is refunded once, and nobody is reminded of it", async () => {
  const guest = await join("fickle");
  const booking = await reserve(guest, inDays(120));
  await app.result("cancel", { booking: booking.id }, guest);
  expect(await paymentOf(guest, booking.id)).toMatchObject({ state: "refunded" });
  await vi.waitFor(() => expect(bankOf(booking.id)).toEqual(["hold", "refund"]), SOON);
  await vi.waitFor(() => expect(mailOf("fickle")).toEqual(["Your booking", "Your booking is cancelled"]), SOON);
  await inside.result("remind", { guest: "fickle", id: booking.id });
  expect(bankOf(booking.id)).toEqual(["hold", "refund"]);
});

test("on the day before the stay the guest is reminded, and the bank takes the money", async () => {
  const guest = await join("soon");
  const booking = await reserve(guest, inDays(1));
  await vi.waitFor(() => expect(bankOf(booking.id)).toEqual(["hold", "capture"]), SOON);
  await vi.waitFor(() => expect(mailOf("soon")).toEqual(["Your booking", "Your stay"]), SOON);
  // The bank has taken it before the workflow goes on.
  await vi.waitFor(async () => expect(await paymentOf(guest, booking.id)).toMatchObject({ state: "captured" }), SOON);
  await app.result("cancel", { booking: booking.id }, guest);
  await vi.waitFor(() => expect(bankOf(booking.id)).toEqual(["hold", "capture", "refund"]), SOON);
});

test("a guest cancels while the bank is asked for the money: the refund comes behind it", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  mayCapture = promise;
  const guest = await join("hasty");
  const booking = await reserve(guest, inDays(1));
  await vi.waitFor(() => expect(askedForMoney).toContain(booking.id), SOON);
  await app.result("cancel", { booking: booking.id }, guest);
  expect(await paymentOf(guest, booking.id)).toMatchObject({ state: "refunded" });
  expect(bankOf(booking.id)).toEqual(["hold"]);
  resolve();
  await vi.waitFor(() => expect(bankOf(booking.id)).toEqual(["hold", "capture", "refund"]), SOON);
});

test("the bank refuses the money on the day before: nobody counts it as paid", async () => {
  const guest = await join("blocked");
  const booking = await reserve(guest, inDays(1), "blocked");
  await vi.waitFor(async () => expect(await paymentOf(guest, booking.id)).toMatchObject({ state: "refused" }), SOON);
  expect(bankOf(booking.id)).toEqual(["hold"]);
  refused.push(booking.id);
});

test("the report of the night counts the payments of the day before, and the bank's books agree", async () => {
  const day = new Date().toISOString().slice(0, 10);
  await inside.result("nightly", { tick: Date.parse(day) + DAY_MS + 3 * 3_600_000 });
  const held = ledger.filter(({ kind }) => kind === "hold");
  const refunded = new Set(ledger.flatMap(({ kind, booking }) => (kind === "refund" ? [booking] : [])));
  const kept = held.filter(({ booking }) => !refunded.has(booking) && !refused.includes(booking));
  expect(await inside.result("reportOf", { day })).toEqual({
    day,
    bookings: kept.length,
    cents: kept.reduce((sum, { cents }) => sum + cents, 0),
    refunded: refunded.size,
  });
  expect(kept).toHaveLength(2);
});

test("outside of radical dev the fakes refuse, unless a variable says otherwise", () => {
  const { hold, refund } = onlyInDev(openFakes(Refused).services, Refused);
  const args = { booking: "1", card: "good", cents: 100 };
  expect(() => hold(args, { key: "k", env: {} })).toThrow(/real services in place of src\/fakes\.ts/);
  expect(() => refund({ booking: "1" })).not.toThrow();
  expect(hold(args, { key: "k", env: { FAKE_SERVICES: "1" } })).toBe("receipt k");
  expect(hold(args, { key: "k", env: { RADICAL_LOOPBACK_ORIGINS: "1" } })).toBe("receipt k");
});
