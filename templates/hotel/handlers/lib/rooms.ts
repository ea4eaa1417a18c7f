/** Which rooms are free in which nights. */
import { abort } from "@radical/sdk";
import { dayNumber } from "./days";
import { Booking, Hotel, Taken, bookings, hotels, taken } from "./records";

export const MAX_NIGHTS = 14;
/** No hotel has more rooms. */
const MAX_ROOMS = 200;

/** The key of a room in one night. */
export function takenKey(hotel: string, day: i32, room: i32): string {
  return `${nightKey(hotel, day)}/${room.toString().padStart(4, "0")}`;
}

/** The beginning of all keys of one night, which are in the order of the days. */
function nightKey(hotel: string, day: i32): string {
  return `${hotel}/${day.toString().padStart(8, "0")}`;
}

/** Aborts with 400 unless a stay may be that long. */
export function checkLength(count: i32): void {
  if (count < 1 || count > MAX_NIGHTS) {
    abort(400, "bad_nights", `A stay has 1 to ${MAX_NIGHTS} nights.`);
  }
}

/** The hotel `id`; aborts with 404 if there is none. */
export function findHotel(id: string): Hotel {
  const hotel = id.length > 0 && id.length <= 100 ? hotels.get(id) : null;
  if (hotel == null) {
    abort(404, "no_such_hotel", `There is no hotel "${id}".`);
  }
  return hotel;
}

/** The rooms that are taken at a hotel in one of `count` nights from `day`, once for each night. */
export function takenIn(hotel: string, day: i32, count: i32): Taken[] {
  const found: Taken[] = [];
  const range = taken.range(nightKey(hotel, day), nightKey(hotel, day + count));
  for (const row of range.first(MAX_ROOMS * MAX_NIGHTS)) found.push(row.value);
  return found;
}

/** The rooms of a hotel that are free in all of these nights, in order. */
export function freeRooms(hotel: Hotel, without: Taken[]): i32[] {
  const isTaken = new StaticArray<bool>(hotel.rooms + 1);
  for (const one of without) if (one.room <= hotel.rooms) isTaken[one.room] = true;
  const free: i32[] = [];
  for (let room = 1; room <= hotel.rooms; room++) if (!isTaken[room]) free.push(room);
  return free;
}

/** Removes a booking, and gives its room back. */
export function giveBack(key: string, booking: Booking): void {
  const day = dayNumber(booking.arrival);
  for (let i = 0; i < booking.nights; i++) taken.delete(takenKey(booking.hotel, day + i, booking.room));
  bookings.delete(key);
}
