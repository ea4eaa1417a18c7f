// #region records
/** Hotels and their bookings: no night has more guests than the hotel has rooms. */
import { Table, abort, uuid } from "@radical/sdk";

export class Hotel {
  rooms: i32 = 0;
}

/** Who sleeps in a hotel on one night, each in a room. */
export class Night {
  guests: string[] = [];
}

const hotels = new Table<Hotel>("hotels");
const nights = new Table<Night>("nights");
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
  if (hotel.length == 0 || hotel.length > 50) abort(400, "bad_name", "The name of a hotel has 1 to 50 characters.");
  hotels.put(hotel, { rooms });
}

/** How many rooms are free on a night. */
export function free(hotel: string, date: string): i32 {
  const found = hotels.get(hotel);
  if (found == null) abort(404, "no_such_hotel", `There is no hotel "${hotel}".`);
  const night = nights.get(`${hotel}/${date}`);
  return found.rooms - (night?.guests.length ?? 0);
}
// #endregion

// #region book
/** Books a room for a night; tells how many are still free. */
export function book(hotel: string, date: string, guest: string): i32 {
  const found = hotels.get(hotel);
  if (found == null) abort(404, "no_such_hotel", `There is no hotel "${hotel}".`);
  const night = nights.get(`${hotel}/${date}`) ?? new Night();
  if (night.guests.length >= found.rooms) abort(409, "sold_out", `${hotel} is sold out on ${date}.`);
  night.guests.push(guest);
  nights.put(`${hotel}/${date}`, night);
  return found.rooms - night.guests.length;
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
  for (const date of booking.dates) {
    const key = `${booking.hotel}/${date}`;
    const night = nights.get(key);
    if (night == null) continue;
    night.guests.splice(night.guests.indexOf(booking.guest), 1);
    nights.put(key, night);
  }
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
