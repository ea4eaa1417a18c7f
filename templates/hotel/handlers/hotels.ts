/** Open to everybody: searching, recommending, one hotel's page, and the sights near it. */
import { abort } from "@radical/sdk";
import { dayNumber } from "./lib/days";
import { MAX_KM, cellsAround, distanceKm, isPlace, roundedKm } from "./lib/map";
import {
  AttractionView,
  Hotel,
  HotelPage,
  HotelView,
  ReviewPage,
  attractions as attractionTable,
  hotels,
  hotelsByCity,
  pins,
  reviews as reviewTable,
} from "./lib/records";
import { checkLength, findHotel, freeRooms, takenIn } from "./lib/rooms";

/** No city has more hotels, and no three cells in a row have more hotels or attractions. */
const MOST_PLACES = 500;
const REVIEWS_SHOWN = 10;

/**
 * Of the `limit` hotels nearest to a place, those within 11 km with a room for `count` nights from `arrival` on, the
 * best first.
 */
export function search(latitude: f64, longitude: f64, arrival: string, count: i32, limit: i32 = 10): HotelView[] {
  checkPlace(latitude, longitude);
  checkLength(count);
  const day = dayNumber(arrival);
  const near = hotelsNear(latitude, longitude, max(0, min(limit, 50)));
  const found: HotelView[] = [];
  for (let i = 0; i < near.length; i++) {
    const hotel = hotels.get(near[i].hotel);
    const taken = takenIn(near[i].hotel, day, count);
    if (hotel == null) continue;
    const rooms = freeRooms(hotel, taken);
    if (rooms.length == 0) continue;
    const view = viewHotel(hotel, near[i].km);
    view.freeRooms = rooms.length;
    found.push(view);
  }
  return found.sort((a, b) => compare(merit(b), merit(a)));
}

/** Hotels of a city: the `cheapest`, the `best` or the `nearest` to a place first. */
export function recommend(
  city: string,
  by: string,
  latitude: f64 = 0,
  longitude: f64 = 0,
  limit: i32 = 5,
): HotelView[] {
  checkPlace(latitude, longitude);
  const rows = hotelsByCity.equal(city).first(MOST_PLACES);
  if (rows.length == 0) {
    abort(404, "no_such_city", `There is no city "${city}".`);
  }
  const found = rows.map((row) => {
    const hotel = row.value;
    return viewHotel(hotel, distanceKm(latitude, longitude, hotel.latitude, hotel.longitude));
  });
  if (by == "cheapest") found.sort((a, b) => a.cents - b.cents);
  else if (by == "best") found.sort((a, b) => compare(rating(b), rating(a)));
  else if (by == "nearest") found.sort((a, b) => compare(a.km, b.km));
  else abort(400, "bad_order", "Hotels are recommended by: cheapest, best, nearest.");
  return found.slice(0, max(0, min(limit, 50)));
}

/** A hotel and its newest reviews. */
export function hotel(id: string): HotelPage {
  const page = new HotelPage();
  page.hotel = viewHotel(findHotel(id), 0);
  page.reviews = viewReviews(id, null, REVIEWS_SHOWN);
  return page;
}

/** Reviews of a hotel, the newest first: those before a cursor of `hotel` or of an earlier page. */
export function reviews(hotel: string, before: string | null = null, limit: i32 = 20): ReviewPage {
  findHotel(hotel);
  return viewReviews(hotel, before, limit);
}

/** Sights within 11 km of a hotel, the nearest first; of one `kind`, or of all. */
export function attractions(hotel: string, kind: string = "", limit: i32 = 10): AttractionView[] {
  const from = findHotel(hotel);
  const found: AttractionView[] = [];
  for (const cells of cellsAround(from.latitude, from.longitude)) {
    for (const row of attractionTable.range(cells.from, cells.to).first(MOST_PLACES)) {
      const attraction = row.value;
      if (kind != "" && attraction.kind != kind) continue;
      const km = distanceKm(from.latitude, from.longitude, attraction.latitude, attraction.longitude);
      if (km > MAX_KM) continue;
      const view = new AttractionView();
      view.id = attraction.id;
      view.name = attraction.name;
      view.kind = attraction.kind;
      view.km = roundedKm(km);
      found.push(view);
    }
  }
  found.sort((a, b) => compare(a.km, b.km));
  return found.slice(0, max(0, min(limit, 50)));
}

class Near {
  constructor(
    public hotel: string,
    public km: f64,
  ) {}
}

/** The hotels nearest to a place, at most `count`. */
function hotelsNear(latitude: f64, longitude: f64, count: i32): Near[] {
  const found: Near[] = [];
  for (const cells of cellsAround(latitude, longitude)) {
    for (const row of pins.range(cells.from, cells.to).first(MOST_PLACES)) {
      const pin = row.value;
      const km = distanceKm(latitude, longitude, pin.latitude, pin.longitude);
      if (km <= MAX_KM) found.push(new Near(pin.hotel, km));
    }
  }
  found.sort((a, b) => compare(a.km, b.km));
  return found.slice(0, count);
}

/** Reviews of a hotel, the newest first; `before`: the page before it. */
function viewReviews(hotel: string, before: string | null, limit: i32): ReviewPage {
  let range = reviewTable.prefix(hotel + "/");
  if (before != null) range = range.before(before);
  const most = max(1, min(limit, 50));
  const rows = range.last(most);
  const page = new ReviewPage();
  for (const row of rows) page.reviews.push(row.value);
  if (rows.length == most) page.next = rows[rows.length - 1].cursor;
  return page;
}

function checkPlace(latitude: f64, longitude: f64): void {
  if (!isPlace(latitude, longitude)) {
    abort(400, "bad_place", "A place has a latitude from -90 to 90 and a longitude from -180 to 180.");
  }
}

function viewHotel(hotel: Hotel, km: f64): HotelView {
  const view = new HotelView();
  view.id = hotel.id;
  view.name = hotel.name;
  view.city = hotel.city;
  view.about = hotel.about;
  view.cents = hotel.cents;
  view.stars = hotel.reviews == 0 ? 0 : Math.round((<f64>hotel.stars / <f64>hotel.reviews) * 10) / 10;
  view.reviews = hotel.reviews;
  view.km = roundedKm(km);
  return view;
}

/** Few reviews count less: as if everybody began with five that give three stars. */
function rating(view: HotelView): f64 {
  return (view.stars * <f64>view.reviews + 15) / (<f64>view.reviews + 5);
}

/** Well rated, near and cheap. */
function merit(view: HotelView): f64 {
  return rating(view) * 2 - view.km / 2 - Math.log(<f64>view.cents / 100);
}

function compare(a: f64, b: f64): i32 {
  return a < b ? -1 : a > b ? 1 : 0;
}
