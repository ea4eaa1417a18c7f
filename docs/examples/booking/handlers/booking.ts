// #region records
/** Hotels and their bookings: no night has more guests than the hotel has rooms. */
import { Table, abort, parseTime, uuid } from "@radical/sdk";

export class Hotel {
  rooms: i32 = 0;
}

/** Somebody who sleeps in a hotel on one night, in a room of their own. */
export class Guest {
  name: string = "";
}

const hotels = new Table<Hotel>("hotels");
/** By `hotel/date/name`. */
const guests = new Table<Guest>("guests");
// #endregion

// #region bookings
export class Booking {
  id: string = "";
  hotel: string = "";
  dates: string[] = [];
  guest: string = "";
}

const bookings = new Table<Booking>("bookings");
// #endregion

// #region open
/** Opens a hotel, or changes how many rooms it has. */
export function open(hotel: string, rooms: i32): void {
  if (!isName(hotel)) abort(400, "bad_name", "The name of a hotel has 1 to 50 characters, and no slash.");
  hotels.put(hotel, { rooms });
}

/** How many rooms are free on a night. */
export function free(hotel: string, date: string): i32 {
  const found = isName(hotel) ? hotels.get(hotel) : null;
  if (found == null) abort(404, "no_such_hotel", `There is no hotel "${hotel}".`);
  if (date.length != 10 || parseTime(date) == null) abort(400, "bad_date", "A date is written like 2027-05-01.");
  return found.rooms - guests.prefix(`${hotel}/${date}/`).count();
}

/** Whether a text can be a part of a key, whose parts end with a slash. */
function isName(text: string): bool {
  return text.length > 0 && text.length <= 50 && !text.includes("/");
}
// #endregion

// #region book
/** Books a room for a night; tells how many are still free. */
export function book(hotel: string, date: string, guest: string): i32 {
  if (!isName(guest)) abort(400, "bad_name", "The name of a guest has 1 to 50 characters, and no slash.");
  const left = free(hotel, date);
  const key = `${hotel}/${date}/${guest}`;
  if (guests.has(key)) abort(409, "booked_before", `${guest} has a room in ${hotel} on ${date}.`);
  if (left <= 0) abort(409, "sold_out", `${hotel} is sold out on ${date}.`);
  guests.put(key, { name: guest });
  return left - 1;
}
// #endregion

// #region stay
/** Books a room for several nights: all of them, or none. */
export function stay(hotel: string, dates: string[], guest: string): Booking {
  for (const date of dates) book(hotel, date, guest);
  const booking: Booking = { id: uuid(), hotel, dates, guest };
  bookings.put(booking.id, booking);
  return booking;
}
// #endregion

// #region cancel
/** Gives the rooms of a booking back. */
export function cancel(id: string): void {
  const booking = id.length == 36 ? bookings.get(id) : null;
  if (booking == null) abort(404, "no_such_booking", `There is no booking "${id}".`);
  for (const date of booking.dates) guests.delete(`${booking.hotel}/${date}/${booking.guest}`);
  bookings.delete(id);
}
// #endregion

// #region hotels
export class Line {
  hotel: string = "";
  rooms: i32 = 0;
}

export class Page {
  lines: Line[] = [];
  /** The hotel to go on behind; null at the end. */
  next: string | null = null;
}

/** Hotels with their rooms, in the order of their names: the first ones, or those behind a page. */
export function list(after: string | null, most: i32 = 20): Page {
  let range = hotels.all();
  if (after != null) range = range.after(after);
  const rows = range.first(most);
  const page = new Page();
  for (const row of rows) page.lines.push({ hotel: row.key, rooms: row.value.rooms });
  if (rows.length == most) page.next = rows[rows.length - 1].cursor;
  return page;
}
// #endregion
