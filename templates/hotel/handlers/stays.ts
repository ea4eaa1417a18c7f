/** Stays that are paid for: reserving, reminding, and the report of the night. Most of it is effects. */
import { abort, enqueue, now, run, start, undo } from "@radical/sdk";
import { book } from "./guests";
import { authenticate } from "./lib/accounts";
import { DAY_MS, dayNumber, dayText } from "./lib/days";
import {
  Booking,
  Payment,
  PaymentView,
  Report,
  bookingKey,
  bookings,
  payments,
  paymentsByDay,
  reports,
} from "./lib/records";
import { giveBack } from "./lib/rooms";
import { capture, hold, refund, sendMail } from "./lib/services";

/** So long the bank of `src/fakes.ts` holds money. A real card holds it for some days: take the money at once there, or hold it later. */
const MOST_DAYS_AHEAD = 500;
/** So many payments of a day are counted. */
const MOST_PAYMENTS = 10_000;

/**
 * Books a room and pays for it with a card: both or neither, whatever fails in between.
 * @workflow
 */
export function reserve(hotel: string, arrival: string, count: i32, card: string): Booking {
  const booking = run(holdRoom(hotel, arrival, count));
  undo(releaseRoom(booking.guest, booking.id));
  // Before the call, by the id of the booking: money comes back even if nobody knows whether the bank has held it.
  undo(refund(booking.id));
  const receipt = run(hold(booking.id, card, booking.cents));
  run(confirm(booking.guest, booking.id, receipt));
  return booking;
}

/** @internal */
export function holdRoom(hotel: string, arrival: string, count: i32): Booking {
  if (<i64>dayNumber(arrival) * DAY_MS > now() + MOST_DAYS_AHEAD * DAY_MS) {
    abort(400, "too_far", `A stay that is paid for begins within ${MOST_DAYS_AHEAD} days.`);
  }
  const booking = book(hotel, arrival, count);
  const payment = new Payment();
  payment.booking = booking.id;
  payment.cents = booking.cents;
  payment.day = dayText(now());
  payments.put(bookingKey(booking.guest, booking.id), payment);
  return booking;
}

/**
 * Takes back what `holdRoom` did, unless the guest has cancelled by then.
 * @internal
 */
export function releaseRoom(guest: string, id: string): void {
  const key = bookingKey(guest, id);
  const booking = bookings.get(key);
  if (booking == null) return;
  giveBack(key, booking);
  payments.delete(key);
}

/** @internal */
export function confirm(guest: string, id: string, receipt: string): void {
  const key = bookingKey(guest, id);
  const booking = bookings.get(key);
  const payment = payments.get(key);
  if (booking == null || payment == null) abort(409, "cancelled", "The booking was cancelled meanwhile.");
  payment.state = "held";
  payment.receipt = receipt;
  const dayBefore = <i64>(dayNumber(booking.arrival) - 1) * DAY_MS;
  payment.reminder = enqueue(remind(guest, id), { delay: dayBefore - now() });
  payments.put(key, payment);
  const text = `Room ${booking.room} at ${booking.hotelName} is yours from ${booking.arrival} on.`;
  enqueue(sendMail(guest, "Your booking", text), { key: "mail/" + guest });
}

/**
 * Runs on the day before the arrival, or at once if that is over. Asks the bank for the money, and stores its answer.
 * @workflow
 * @internal
 */
export function remind(guest: string, id: string): void {
  // If somebody ends the workflow meanwhile, nobody knows whether it is paid.
  undo(endCapture(guest, id, "unclear"));
  if (!run(beginCapture(guest, id))) return;
  const failure = start(capture(id)).error();
  const state = failure == null ? "captured" : failure.code == "unknown" ? "unclear" : "refused";
  run(endCapture(guest, id, state));
}

/**
 * False: there is nothing to ask for.
 * @internal
 */
export function beginCapture(guest: string, id: string): bool {
  const key = bookingKey(guest, id);
  const booking = bookings.get(key);
  const payment = payments.get(key);
  if (booking == null || payment == null || payment.state != "held" || payment.isCapturing) return false;
  payment.isCapturing = true;
  payments.put(key, payment);
  const text = `Room ${booking.room} at ${booking.hotelName} waits for you on ${booking.arrival}.`;
  enqueue(sendMail(guest, "Your stay", text), { key: "mail/" + guest });
  return true;
}

/** @internal */
export function endCapture(guest: string, id: string, state: string): void {
  const key = bookingKey(guest, id);
  const payment = payments.get(key);
  if (payment == null || !payment.isCapturing) return;
  payment.isCapturing = false;
  // The guest has cancelled meanwhile, and `cancel` has left the refund to this step, which is behind the capture.
  if (payment.state == "refunded") enqueue(refund(id));
  else payment.state = state;
  payments.put(key, payment);
}

/** The payments of the caller's bookings with these ids; of bookings without a payment there is none. */
export function paid(bookingIds: string[]): PaymentView[] {
  const guest = authenticate();
  const found: PaymentView[] = [];
  for (let i = 0; i < min(bookingIds.length, 50); i++) {
    const id = bookingIds[i];
    const payment = id.length > 0 && id.length <= 100 ? payments.get(bookingKey(guest, id)) : null;
    if (payment == null) continue;
    const view = new PaymentView();
    view.booking = payment.booking;
    view.cents = payment.cents;
    view.state = payment.state;
    view.receipt = payment.receipt;
    found.push(view);
  }
  return found;
}

/**
 * Counts the payments of the day before.
 * @internal
 * @cron 0 3 * * *
 */
export function nightly(tick: i64): void {
  const report = new Report();
  report.day = dayText(tick - DAY_MS);
  for (const row of paymentsByDay.equal(report.day).first(MOST_PAYMENTS)) {
    const payment = row.value;
    if (payment.state == "refunded") report.refunded += 1;
    else if (payment.state == "held" || payment.state == "captured") {
      report.bookings += 1;
      report.cents += payment.cents;
    }
  }
  reports.put(report.day, report);
}

/**
 * The report of a day; null: there is none.
 * @internal
 */
export function reportOf(day: string): Report | null {
  return day.length == 10 ? reports.get(day) : null;
}
