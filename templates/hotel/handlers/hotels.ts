/** What everybody may see: searching, recommending, one hotel's page, and what is near it. */
import { abort } from "@radical/sdk";
import { dayNumber } from "./lib/days";
import { MAX_KM, cellsAround, distanceKm, isPlace, roundedKm } from "./lib/map";
import {
  AttractionView,
  Hotel,
  HotelPage,
  HotelView,
  attractions as attractionTable,
  cells,
  cities,
  hotels,
  reviewBooks,
} from "./lib/records";
import { checkLength, findHotel, freeRooms, nightsOf } from "./lib/rooms";

/**
 * Of the `limit` hotels nearest to a place, those within 11 km that have a room for `count` nights from the day of
 * `arrival`: the best first.
 */
export function search(latitude: f64, longitude: f64, arrival: string, count: i32, limit: i32 = 10): HotelView[] {
  checkPlace(latitude, longitude);
  checkLength(count);
  const day = dayNumber(arrival);
  const near = hotelsNear(latitude, longitude, max(0, min(limit, 50)));
  const found: HotelView[] = [];
  for (let i = 0; i < near.length; i++) {
    const hotel = hotels.get(near[i].hotel);
    const taken = nightsOf(near[i].hotel, day, count);
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
  const guide = city.length > 0 && city.length <= 100 ? cities.get(city.toLowerCase()) : null;
  if (guide == null) {
    abort(404, "no_such_city", `There is no city "${city}".`);
  }
  const found: HotelView[] = [];
  for (let i = 0; i < guide.hotels.length; i++) {
    const hotel = hotels.get(guide.hotels[i]);
    if (hotel != null) found.push(viewHotel(hotel, distanceKm(latitude, longitude, hotel.latitude, hotel.longitude)));
  }
  if (by == "cheapest") found.sort((a, b) => a.cents - b.cents);
  else if (by == "best") found.sort((a, b) => compare(rating(b), rating(a)));
  else if (by == "nearest") found.sort((a, b) => compare(a.km, b.km));
  else abort(400, "bad_order", "Hotels are recommended by: cheapest, best, nearest.");
  return found.slice(0, max(0, min(limit, 50)));
}

/** A hotel and its reviews. */
export function hotel(id: string): HotelPage {
  const page = new HotelPage();
  page.hotel = viewHotel(findHotel(id), 0);
  const book = reviewBooks.get(id);
  if (book != null) page.reviews = book.reviews;
  return page;
}

/** What is worth a visit within 11 km of a hotel, the nearest first; of one `kind`, or of all. */
export function attractions(hotel: string, kind: string = "", limit: i32 = 10): AttractionView[] {
  const from = findHotel(hotel);
  const found: AttractionView[] = [];
  const keys = cellsAround(from.latitude, from.longitude);
  for (let i = 0; i < keys.length; i++) {
    const cell = cells.get(keys[i]);
    if (cell == null) continue;
    for (let j = 0; j < cell.attractions.length; j++) {
      const attraction = attractionTable.get(cell.attractions[j]);
      if (attraction == null || (kind != "" && attraction.kind != kind)) continue;
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
  const keys = cellsAround(latitude, longitude);
  for (let i = 0; i < keys.length; i++) {
    const cell = cells.get(keys[i]);
    if (cell == null) continue;
    for (let j = 0; j < cell.hotels.length; j++) {
      const pin = cell.hotels[j];
      const km = distanceKm(latitude, longitude, pin.latitude, pin.longitude);
      if (km <= MAX_KM) found.push(new Near(pin.hotel, km));
    }
  }
  found.sort((a, b) => compare(a.km, b.km));
  return found.slice(0, count);
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
