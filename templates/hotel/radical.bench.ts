/**
 * The requests of `radical bench` to the hotels, with the mix of the benchmark suite that they come from. People search
 * and are recommended something, and hardly anybody books. All hotels and guests are as likely.
 */
import { type Draw, defineBenchmark } from "@radical/cli";
import { newSession, PASSWORD, passwordHash, sessionOf, stored } from "./bench-accounts.ts";

const CITIES = 8;
const HOTELS_EACH = 10;
const ATTRACTIONS_EACH = 8;
const GUESTS = 100;
const ROOMS = 20;
/** Days on which somebody may arrive. */
const DAYS = 60;
const BEGINNING = 1_767_225_600_000;
const DAY_MS = 86_400_000;
/** As in handlers/lib/map.ts. */
const CELL_DEGREES = 0.2;
const KINDS = ["museum", "food", "cinema"] as const;

interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

const guestOf = (guest: number): string => `guest-${guest}`;
const cityOf = (city: number): string => `city-${city}`;
const hotelOf = (hotel: number): string => `${cityOf(hotel % CITIES)}-hotel-${hotel}`;
/** The middle of a cell, far from all others. */
const centreOf = (city: number): Place => ({ latitude: 30.1 + 4 * city, longitude: 10.1 + 10 * city });
const near = ({ latitude, longitude }: Place, draw: Draw): Place => ({
  latitude: round(latitude + (draw.unit() - 0.5) * 0.1),
  longitude: round(longitude + (draw.unit() - 0.5) * 0.1),
});
const round = (degrees: number): number => Math.round(degrees * 10_000) / 10_000;
const cellOf = ({ latitude, longitude }: Place): string =>
  `${number((latitude + 90) / CELL_DEGREES, 3)}-${number((longitude + 180) / CELL_DEGREES, 4)}`;
const number = (of: number, digits: number): string => String(Math.floor(of)).padStart(digits, "0");
const arrival = (draw: Draw): string =>
  new Date(Date.now() + (1 + draw.below(DAYS)) * DAY_MS).toISOString().slice(0, 10);
const someHotel = (draw: Draw): string => hotelOf(draw.below(CITIES * HOTELS_EACH));
const someGuest = (draw: Draw): string => sessionOf(draw.below(GUESTS));

export default defineBenchmark({
  prepare({ put, draw }) {
    const hash = passwordHash();
    for (let guest = 0; guest < GUESTS; guest++) {
      const name = guestOf(guest);
      put("accounts", name, stored.account(name, hash));
      put("sessions", sessionOf(guest), stored.session(name));
    }
    for (let city = 0; city < CITIES; city++) {
      for (let index = 0; index < HOTELS_EACH; index++) {
        const id = hotelOf(city + index * CITIES);
        const place = near(centreOf(city), draw);
        const reviews = 5 + draw.below(30);
        const about = "Quiet rooms, a breakfast, and a tram in front of the door.";
        const cents = 8_000 + 100 * draw.below(200);
        const stars = reviews * 4;
        put("hotels", id, {
          id,
          name: `Hotel ${id}`,
          city: cityOf(city),
          about,
          ...place,
          rooms: ROOMS,
          cents,
          stars,
          reviews,
        });
        // The time as `ascending` writes it.
        const review = `${id}/8${BEGINNING.toString(16).padStart(15, "0")}-${guestOf(0)}`;
        put("reviews", review, { hotel: id, guest: guestOf(0), stars: 4, text: "As it should be.", at: BEGINNING });
        put("pins", `${cellOf(place)}/${id}`, { hotel: id, ...place });
      }
      for (let index = 0; index < ATTRACTIONS_EACH; index++) {
        const id = `${cityOf(city)}-attraction-${index}`;
        const place = near(centreOf(city), draw);
        const attraction = { id, name: `Attraction ${index}`, kind: KINDS[index % KINDS.length], ...place };
        put("attractions", `${cellOf(place)}/${id}`, attraction);
      }
    }
  },

  *warmUp() {
    for (let city = 0; city < CITIES; city++) {
      const { latitude, longitude } = centreOf(city);
      for (let day = 1; day <= DAYS; day += 2) {
        const first = new Date(Date.now() + day * DAY_MS).toISOString().slice(0, 10);
        yield { handler: "search", args: { latitude, longitude, arrival: first, count: 2 } };
      }
      yield { handler: "recommend", args: { city: cityOf(city), by: "best" } };
    }
    for (let hotel = 0; hotel < CITIES * HOTELS_EACH; hotel++) {
      yield { handler: "attractions", args: { hotel: hotelOf(hotel) } };
      yield { handler: "hotel", args: { id: hotelOf(hotel) } };
    }
    for (let guest = 0; guest < GUESTS; guest++) {
      yield { handler: "myBookings", args: {}, caller: sessionOf(guest) };
      // The name is taken: that is all it looks at.
      yield { handler: "register", args: { name: guestOf(guest), password: PASSWORD }, caller: sessionOf(guest) };
    }
  },

  requests: [
    {
      handler: "search",
      share: 60,
      args: (draw) => ({
        ...near(centreOf(draw.below(CITIES)), draw),
        arrival: arrival(draw),
        count: 1 + draw.below(2),
      }),
    },
    {
      handler: "recommend",
      share: 30,
      args: (draw) => {
        const city = draw.below(CITIES);
        return { city: cityOf(city), by: draw.pick(["cheapest", "best", "nearest"]), ...near(centreOf(city), draw) };
      },
    },
    { handler: "attractions", share: 8.5, args: (draw) => ({ hotel: someHotel(draw) }) },
    {
      handler: "book",
      share: 0.5,
      caller: someGuest,
      args: (draw) => ({
        hotel: someHotel(draw),
        arrival: arrival(draw),
        count: 1 + draw.below(2),
      }),
    },
    {
      handler: "review",
      share: 0.5,
      caller: someGuest,
      args: (draw) => ({
        hotel: someHotel(draw),
        stars: 1 + draw.below(5),
        text: "It was fine.",
      }),
    },
    {
      handler: "login",
      share: 0.5,
      caller: newSession,
      args: (draw) => ({ name: guestOf(draw.below(GUESTS)), password: PASSWORD }),
    },
  ],
});
