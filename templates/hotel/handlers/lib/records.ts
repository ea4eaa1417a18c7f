/**
 * The tables of the application, and the records that handlers store and return.
 *
 * Stored records keep their field names: a field may be added (older records get its initializer) or removed.
 */
import { Table } from "@radical/sdk";

export class Hotel {
  id: string = "";
  name: string = "";
  city: string = "";
  about: string = "";
  latitude: f64 = 0;
  longitude: f64 = 0;
  /** Rooms are numbered from 1 to this. */
  rooms: i32 = 0;
  /** For one night. */
  cents: i32 = 0;
  /** Of all reviews. */
  stars: i32 = 0;
  reviews: i32 = 0;
}

/** Where a hotel stands. */
export class Pin {
  hotel: string = "";
  latitude: f64 = 0;
  longitude: f64 = 0;
}

/** What is in one cell of the map: hotels, and ids of attractions. */
export class Cell {
  hotels: Pin[] = [];
  attractions: string[] = [];
}

/** The hotels of a city: ids. */
export class City {
  name: string = "";
  hotels: string[] = [];
}

/** One night at one hotel: the rooms that are taken. */
export class Night {
  rooms: i32[] = [];
}

export class Booking {
  id: string = "";
  guest: string = "";
  hotel: string = "";
  room: i32 = 0;
  /** Day of arrival, `2026-12-24`. */
  arrival: string = "";
  nights: i32 = 0;
  cents: i32 = 0;
}

export class Guest {
  name: string = "";
  /** Ids of bookings, the newest first. */
  bookings: string[] = [];
}

export class Review {
  guest: string = "";
  stars: i32 = 0;
  text: string = "";
  at: i64 = 0;
}

/** The reviews of a hotel, the newest first, at most {@link REVIEWS_KEPT}. */
export class ReviewBook {
  reviews: Review[] = [];
}

export class Attraction {
  id: string = "";
  name: string = "";
  /** `museum`, `food` or `cinema`. */
  kind: string = "";
  latitude: f64 = 0;
  longitude: f64 = 0;
}

/** A hotel as it is shown. */
export class HotelView {
  id: string = "";
  name: string = "";
  city: string = "";
  about: string = "";
  cents: i32 = 0;
  /** Mean of all reviews, 0 without any. */
  stars: f64 = 0;
  reviews: i32 = 0;
  km: f64 = 0;
  /** For the nights asked for. */
  freeRooms: i32 = 0;
}

export class AttractionView {
  id: string = "";
  name: string = "";
  kind: string = "";
  km: f64 = 0;
}

export class HotelPage {
  hotel: HotelView = new HotelView();
  reviews: Review[] = [];
}

export const REVIEWS_KEPT = 50;

/** By id. */
export const hotels = new Table<Hotel>("hotels");
/** By the key of the cell: lib/map.ts. */
export const cells = new Table<Cell>("cells");
/** By name in lowercase. */
export const cities = new Table<City>("cities");
/** By `hotel id/day`. */
export const nights = new Table<Night>("nights");
/** By id. */
export const bookings = new Table<Booking>("bookings");
/** By name. */
export const guests = new Table<Guest>("guests");
/** By hotel id. */
export const reviewBooks = new Table<ReviewBook>("reviews");
/** By id. */
export const attractions = new Table<Attraction>("attractions");
