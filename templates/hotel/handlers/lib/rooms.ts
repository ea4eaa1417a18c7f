/** Which rooms are free in which nights. */
import { abort } from "@radical/sdk";
import { Hotel, Night, hotels, nights } from "./records";

export const MAX_NIGHTS = 14;

/** The key of one night at a hotel. */
export function nightKey(hotel: string, day: i32): string {
  return hotel + "/" + day.toString();
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

/** What is taken at a hotel in `count` nights from `day`. */
export function nightsOf(hotel: string, day: i32, count: i32): Night[] {
  const found: Night[] = [];
  for (let i = 0; i < count; i++) {
    const night = nights.get(nightKey(hotel, day + i));
    if (night != null) found.push(night);
  }
  return found;
}

/** The rooms of a hotel that are free in all of these nights, in order. */
export function freeRooms(hotel: Hotel, taken: Night[]): i32[] {
  const free: i32[] = [];
  for (let room = 1; room <= hotel.rooms; room++) {
    let isFree = true;
    for (let i = 0; i < taken.length; i++) {
      if (taken[i].rooms.includes(room)) isFree = false;
    }
    if (isFree) free.push(room);
  }
  return free;
}
