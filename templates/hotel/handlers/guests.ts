/** Guests: registering, logging in and out, booking, cancelling and reviewing. */
import { abort, now, uuid } from "@radical/sdk";
import { Session, authenticate, checkPassword, closeSession, createAccount, isId, openSession } from "./lib/accounts";
import { DAY_MS, dayNumber } from "./lib/days";
import {
  Booking,
  Guest,
  Night,
  REVIEWS_KEPT,
  Review,
  ReviewBook,
  bookings,
  guests,
  hotels,
  nights,
  reviewBooks,
} from "./lib/records";
import { checkLength, findHotel, freeRooms, nightKey, nightsOf } from "./lib/rooms";

/** Makes an account and logs in. */
export function register(name: string, password: string): Session {
  createAccount(name, password);
  const guest = new Guest();
  guest.name = name;
  guests.put(name, guest);
  return openSession(name);
}

export function login(name: string, password: string): Session {
  checkPassword(name, password);
  return openSession(name);
}

export function logout(token: string): void {
  closeSession(token);
}

/** Books a room for `count` nights from the day of `arrival`; aborts with 409 if no room is free in all of them. */
export function book(token: string, hotel: string, arrival: string, count: i32): Booking {
  const name = authenticate(token);
  checkLength(count);
  const day = dayNumber(arrival);
  if (<i64>(day + 1) * DAY_MS <= now()) {
    abort(400, "past", "The day of arrival is over.");
  }
  const place = findHotel(hotel);
  const rooms = freeRooms(place, nightsOf(hotel, day, count));
  if (rooms.length == 0) {
    abort(409, "booked_out", `${place.name} has no room that is free in all of these nights.`);
  }

  const made = new Booking();
  made.id = uuid();
  made.guest = name;
  made.hotel = hotel;
  made.room = rooms[0];
  made.arrival = arrival;
  made.nights = count;
  made.cents = place.cents * count;
  bookings.put(made.id, made);
  for (let i = 0; i < count; i++) {
    const key = nightKey(hotel, day + i);
    let night = nights.get(key);
    if (night == null) night = new Night();
    night.rooms.push(made.room);
    nights.put(key, night);
  }
  const guest = findGuest(name);
  guest.bookings.unshift(made.id);
  guests.put(name, guest);
  return made;
}

/** Gives the room of one of the caller's bookings back. */
export function cancel(token: string, booking: string): void {
  const name = authenticate(token);
  const cancelled = isId(booking) ? bookings.get(booking) : null;
  if (cancelled == null || cancelled.guest != name) {
    abort(404, "no_such_booking", "You have no such booking.");
  }
  const day = dayNumber(cancelled.arrival);
  for (let i = 0; i < cancelled.nights; i++) {
    const key = nightKey(cancelled.hotel, day + i);
    const night = nights.get(key);
    if (night == null) continue;
    night.rooms.splice(night.rooms.indexOf(cancelled.room), 1);
    if (night.rooms.length == 0) nights.delete(key);
    else nights.put(key, night);
  }
  bookings.delete(booking);
  const guest = findGuest(name);
  guest.bookings.splice(guest.bookings.indexOf(booking), 1);
  guests.put(name, guest);
}

/** The caller's bookings, the newest first. */
export function myBookings(token: string): Booking[] {
  const guest = findGuest(authenticate(token));
  const list: Booking[] = [];
  for (let i = 0; i < guest.bookings.length; i++) {
    const booking = bookings.get(guest.bookings[i]);
    if (booking != null) list.push(booking);
  }
  return list;
}

/** Writes the caller's review of a hotel, in place of an earlier one. Gives the number of its reviews. */
export function review(token: string, hotel: string, stars: i32, text: string): i32 {
  const name = authenticate(token);
  if (stars < 1 || stars > 5) {
    abort(400, "bad_stars", "A review gives 1 to 5 stars.");
  }
  if (text.length > 2000) {
    abort(400, "bad_text", "A review has at most 2000 characters.");
  }
  const reviewed = findHotel(hotel);
  let book = reviewBooks.get(hotel);
  if (book == null) book = new ReviewBook();
  for (let i = 0; i < book.reviews.length; i++) {
    if (book.reviews[i].guest == name) {
      reviewed.stars -= book.reviews[i].stars;
      reviewed.reviews -= 1;
      book.reviews.splice(i, 1);
      break;
    }
  }
  const made = new Review();
  made.guest = name;
  made.stars = stars;
  made.text = text;
  made.at = now();
  book.reviews.unshift(made);
  if (book.reviews.length > REVIEWS_KEPT) book.reviews.pop();
  reviewBooks.put(hotel, book);
  reviewed.stars += stars;
  reviewed.reviews += 1;
  hotels.put(hotel, reviewed);
  return reviewed.reviews;
}

function findGuest(name: string): Guest {
  const guest = guests.get(name);
  if (guest == null) throw new Error("an account without a guest");
  return guest;
}
