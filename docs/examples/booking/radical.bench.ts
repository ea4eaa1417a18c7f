import { type Draw, defineBenchmark } from "@radical/cli";

const HOTELS = 50;
const nameOf = (hotel: number): string => `hotel-${hotel}`;
const night = (draw: Draw) => ({ hotel: nameOf(draw.zipf(HOTELS)), date: `2027-05-${10 + draw.below(20)}` });

export default defineBenchmark({
  // Without it the data is that of the seed file.
  prepare({ put, call, draw }) {
    for (let hotel = 0; hotel < HOTELS; hotel++) put("hotels", nameOf(hotel), { rooms: 10 + draw.below(90) });
    call("book", { hotel: nameOf(0), date: "2027-05-10", guest: "ann" });
  },

  // Fills the caches, as those of a location that has served for long.
  *warmUp() {
    for (let hotel = 0; hotel < HOTELS; hotel++)
      yield { handler: "free", args: { hotel: nameOf(hotel), date: "2027-05-10" } };
  },

  requests: [
    { handler: "free", share: 95, args: night },
    { handler: "book", share: 5, args: (draw) => ({ ...night(draw), guest: `guest-${draw.below(1000)}` }) },
  ],
});
