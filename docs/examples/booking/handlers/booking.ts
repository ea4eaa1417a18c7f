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
  const opened = new Hotel();
  opened.rooms = rooms;
  hotels.put(hotel, opened);
}

/** How many rooms are free on a night. */
export function free(hotel: string, date: string): i32 {
  const found = hotels.get(hotel);
  if (found == null) abort(404, "no_such_hotel", `There is no hotel "${hotel}".`);
  const night = nights.get(`${hotel}/${date}`);
  return night == null ? found.rooms : found.rooms - night.guests.length;
}
// #endregion

// #region book
/** Books a room for a night; tells how many are still free. */
export function book(hotel: string, date: string, guest: string): i32 {
  const found = hotels.get(hotel);
  if (found == null) abort(404, "no_such_hotel", `There is no hotel "${hotel}".`);
  let night = nights.get(`${hotel}/${date}`);
  if (night == null) night = new Night();
  if (night.guests.length >= found.rooms) abort(409, "sold_out", `${hotel} is sold out on ${date}.`);
  night.guests.push(guest);
  nights.put(`${hotel}/${date}`, night);
  return found.rooms - night.guests.length;
}
// #endregion

// #region stay
/** Books a room for several nights: all of them, or none. */
export function stay(hotel: string, dates: string[], guest: string): Booking {
  for (let i = 0; i < dates.length; i++) book(hotel, dates[i], guest);
  const booking = new Booking();
  booking.id = uuid();
  booking.hotel = hotel;
  booking.dates = dates;
  booking.guest = guest;
  bookings.put(booking.id, booking);
  return booking;
}
// #endregion

// #region cancel
/** Gives the rooms of a booking back. */
export function cancel(id: string): void {
  const booking = id.length == 36 ? bookings.get(id) : null;
  if (booking == null) abort(404, "no_such_booking", `There is no booking "${id}".`);
  for (let i = 0; i < booking.dates.length; i++) {
    const key = `${booking.hotel}/${booking.dates[i]}`;
    const night = nights.get(key);
    if (night == null) continue;
    night.guests.splice(night.guests.indexOf(booking.guest), 1);
    nights.put(key, night);
  }
  bookings.delete(id);
}
// #endregion
