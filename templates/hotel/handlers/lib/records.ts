/**
 * The tables of the application, and the records that handlers store and return.
 *
 * Stored records keep their field names: a field may be added (older records get its initializer) or removed.
 */
import { Index, Table, Unique } from "@radical/sdk";

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

/** A room that is taken for one night. */
export class Taken {
  room: i32 = 0;
}

export class Booking {
  id: string = "";
  guest: string = "";
  hotel: string = "";
  /** As the hotel was called then. */
  hotelName: string = "";
  room: i32 = 0;
  /** Day of arrival, `2026-12-24`. */
  arrival: string = "";
  nights: i32 = 0;
  cents: i32 = 0;
}

/** The payment of a booking that `reserve` has made. */
export class Payment {
  booking: string = "";
  cents: i32 = 0;
  /** `asked`, `held` on the card, `captured` on the day before the stay, `refused` then, `unclear`, or `refunded`. */
  state: string = "asked";
  /** Whether the bank is asked for the money right now. */
  isCapturing: bool = false;
  /** Of the bank. */
  receipt: string = "";
  /** The workflow that reminds the guest. */
  reminder: string = "";
  /** On which it was asked for, `2026-12-24`. */
  day: string = "";
}

/** A payment as its guest sees it. */
export class PaymentView {
  booking: string = "";
  cents: i32 = 0;
  state: string = "";
  receipt: string = "";
}

/** The payments of a day. */
export class Report {
  day: string = "";
  bookings: i32 = 0;
  cents: i64 = 0;
  refunded: i32 = 0;
}

export class Review {
  hotel: string = "";
  guest: string = "";
  stars: i32 = 0;
  text: string = "";
  at: i64 = 0;
}

/** Reviews of a hotel, the newest first. */
export class ReviewPage {
  reviews: Review[] = [];
  /** Give it as `before` for the reviews behind them; null at the end. */
  next: string | null = null;
}

/** Bookings of a guest, the newest first. */
export class BookingPage {
  bookings: Booking[] = [];
  /** Give it as `before` for the bookings behind them; null at the end. */
  next: string | null = null;
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
  reviews: ReviewPage = new ReviewPage();
}

/** By id. */
export const hotels = new Table<Hotel>("hotels");
export const hotelsByCity = new Index<Hotel>(hotels, "city");
/** By `cell/hotel id`: lib/map.ts. */
export const pins = new Table<Pin>("pins");
/** By `hotel id/day/room`: lib/rooms.ts. */
export const taken = new Table<Taken>("taken");
/** By `guest/id`: `bookingKey`. */
export const bookings = new Table<Booking>("bookings");
/** By the key of the booking. */
export const payments = new Table<Payment>("payments");
export const paymentsByDay = new Index<Payment>(payments, "day");
/** By day. */
export const reports = new Table<Report>("reports");
/** By `hotel id/time and guest`. */
export const reviews = new Table<Review>("reviews");
/** A guest has one review of a hotel. */
export const reviewsByGuest = new Unique<Review>(reviews, "hotel, guest");
/** By `cell/id`. */
export const attractions = new Table<Attraction>("attractions");

export function bookingKey(guest: string, id: string): string {
  return guest + "/" + id;
}
