/** Guests: registering, logging in and out, booking, cancelling and reviewing. */
import { Secret, abort, ascending, cancel as cancelTask, enqueue, now, uuid } from "@radical/sdk";
import { Session, authenticate, closeSession, createAccount, isPassword, openSession } from "./lib/accounts";
import { DAY_MS, dayNumber } from "./lib/days";
import {
  Booking,
  BookingPage,
  Review,
  Taken,
  bookingKey,
  bookings,
  hotels,
  payments,
  reviews,
  reviewsByGuest,
  taken,
} from "./lib/records";
import { checkLength, findHotel, freeRooms, giveBack, takenIn, takenKey } from "./lib/rooms";
import { refund, sendMail } from "./lib/services";

/** Makes an account and logs in. */
export function register(name: string, password: Secret): Session {
  createAccount(name, password);
  return openSession(name);
}

/** Logs in; null: the name or the password is wrong. */
export function login(name: string, password: Secret): Session | null {
  return isPassword(name, password) ? openSession(name) : null;
}

export function logout(): void {
  closeSession();
}

/** Books a room for `count` nights from the day of `arrival`; aborts with 409 if no room is free in all of them. */
export function book(hotel: string, arrival: string, count: i32): Booking {
  const name = authenticate();
  checkLength(count);
  const day = dayNumber(arrival);
  if (<i64>(day + 1) * DAY_MS <= now()) {
    abort(400, "past", "The day of arrival is over.");
  }
  const place = findHotel(hotel);
  const rooms = freeRooms(place, takenIn(hotel, day, count));
  if (rooms.length == 0) {
    abort(409, "booked_out", `${place.name} has no room that is free in all of these nights.`);
  }

  const made = new Booking();
  made.id = `${ascending(now())}-${uuid()}`;
  made.guest = name;
  made.hotel = hotel;
  made.hotelName = place.name;
  made.room = rooms[0];
  made.arrival = arrival;
  made.nights = count;
  made.cents = place.cents * count;
  bookings.put(bookingKey(name, made.id), made);
  const room = new Taken();
  room.room = made.room;
  for (let i = 0; i < count; i++) taken.put(takenKey(hotel, day + i, made.room), room);
  return made;
}

/** Gives the room of one of the caller's bookings back, and the guest the money for it. */
export function cancel(booking: string): void {
  const name = authenticate();
  const key = bookingKey(name, booking);
  const cancelled = booking.length > 0 && booking.length <= 100 ? bookings.get(key) : null;
  if (cancelled == null) {
    abort(404, "no_such_booking", "You have no such booking.");
  }
  giveBack(key, cancelled);
  const payment = payments.get(key);
  if (payment == null) return;
  // Behind a capture that is under way: the last step of `remind` asks for the refund then.
  if (!payment.isCapturing) {
    if (payment.reminder != "") cancelTask(payment.reminder);
    enqueue(refund(booking));
  }
  payment.state = "refunded";
  payments.put(key, payment);
  enqueue(sendMail(name, "Your booking is cancelled", "You get your money back."), { key: "mail/" + name });
}

/** The caller's bookings, the newest first; `before`: the page before it. */
export function myBookings(before: string | null = null, limit: i32 = 20): BookingPage {
  let range = bookings.prefix(authenticate() + "/");
  if (before != null) range = range.before(before);
  const most = max(1, min(limit, 50));
  const rows = range.last(most);
  const page = new BookingPage();
  for (const row of rows) page.bookings.push(row.value);
  if (rows.length == most) page.next = rows[rows.length - 1].cursor;
  return page;
}

/** Writes the caller's review of a hotel, in place of an earlier one. Gives the number of its reviews. */
export function review(hotel: string, stars: i32, text: string): i32 {
  const name = authenticate();
  if (stars < 1 || stars > 5) {
    abort(400, "bad_stars", "A review gives 1 to 5 stars.");
  }
  if (text.length > 2000) {
    abort(400, "bad_text", "A review has at most 2000 characters.");
  }
  const reviewed = findHotel(hotel);
  const earlier = reviewsByGuest.equal(hotel).find(name);
  if (earlier != null) {
    reviewed.stars -= earlier.stars;
    reviewed.reviews -= 1;
    reviews.delete(reviewKey(earlier));
  }
  const made = new Review();
  made.hotel = hotel;
  made.guest = name;
  made.stars = stars;
  made.text = text;
  made.at = now();
  reviews.put(reviewKey(made), made);
  reviewed.stars += stars;
  reviewed.reviews += 1;
  hotels.put(hotel, reviewed);
  return reviewed.reviews;
}

function reviewKey(review: Review): string {
  return `${review.hotel}/${ascending(review.at)}-${review.guest}`;
}
