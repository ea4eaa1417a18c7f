import { action, ago, attempt, call, counted, form, h, older, session, show, showSession } from "./ui.js";

const CITIES = {
  Zürich: { latitude: 47.3769, longitude: 8.5417 },
  Lisbon: { latitude: 38.7223, longitude: -9.1393 },
  Kyoto: { latitude: 35.0116, longitude: 135.7681 },
};
const wanted = { city: "Zürich", arrival: new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10), count: 2 };

/** So many hotels are looked at first, and so many at most. */
const [FIRST_HOTELS, MOST_HOTELS] = [10, 50];
const [FIRST_ATTRACTIONS, MOST_ATTRACTIONS] = [10, 50];

/** `#/hotels/<id>` is a hotel, `#/bookings` the guest's bookings, anything else the search. */
async function render() {
  showSession(render);
  const [, id] = /^#\/hotels\/(.+)$/.exec(location.hash) ?? [];
  if (id !== undefined) return showHotel(id);
  return location.hash === "#/bookings" ? showBookings() : showSearch();
}

async function showSearch() {
  const heading = h("h2", {});
  const list = h("div", {});
  let count = -1;
  // A search looks at the nearest hotels, and shows those with a room.
  const look = async (limit) => {
    const found = await call("search", { ...CITIES[wanted.city], arrival: wanted.arrival, count: wanted.count, limit });
    heading.textContent = `${counted(found.length, "hotel")} with a free room`;
    list.replaceChildren(...found.map(foundView));
    next = Math.min(2 * limit, MOST_HOTELS);
    more.hidden = found.length === count || next === limit;
    count = found.length;
  };
  let next = FIRST_HOTELS;
  const more = action("Look further away", () => look(next));
  await look(FIRST_HOTELS);
  show(
    session() === null ? null : h("p", {}, h("a", { href: "#/bookings" }, "My bookings")),
    stayForm("Search", render, {
      city: { label: "City", type: "select", choices: Object.keys(CITIES), value: wanted.city },
    }),
    heading,
    list,
    more,
  );
}

function foundView(hotel) {
  return h(
    "article",
    {},
    h("div", { className: "row" }, h("a", { href: `#/hotels/${hotel.id}` }, h("b", {}, hotel.name)), hotelFacts(hotel)),
    h("p", {}, hotel.about),
    h("small", {}, `${counted(hotel.freeRooms, "room")} free, ${hotel.km} km from the centre`),
  );
}

async function showHotel(id) {
  const attractions = (limit) => call("attractions", { hotel: id, limit });
  const [{ hotel, reviews }, near] = await Promise.all([call("hotel", { id }), attractions(FIRST_ATTRACTIONS)]);
  const me = session();
  const newest = reviewsOf(reviews);
  const rest = older((before) => call("reviews", { hotel: id, before }).then(reviewsOf), reviewView);
  rest.begin(newest);
  const nearBy = h("ul", {}, near.map(attractionView));
  const more = action("More", async () => {
    nearBy.replaceChildren(...(await attractions(MOST_ATTRACTIONS)).map(attractionView));
    more.remove();
  });
  show(
    h("h2", {}, hotel.name),
    h("p", {}, hotelFacts(hotel)),
    h("p", {}, hotel.about),
    me === null
      ? h("p", {}, "Log in to book.")
      : stayForm("Book", async () => {
          await call("book", { hotel: id, arrival: wanted.arrival, count: wanted.count });
          location.hash = "/bookings";
        }),
    h("h2", {}, "Near by"),
    nearBy,
    near.length < FIRST_ATTRACTIONS ? null : more,
    h("h2", {}, "Reviews"),
    me === null
      ? null
      : form(
          {
            stars: { label: "Stars", type: "number", min: 1, max: 5, value: 5 },
            text: { label: "How was it?", type: "textarea" },
          },
          "Review",
          async ({ stars, text }) => {
            await call("review", { hotel: id, stars: Number(stars), text });
            await render();
          },
        ),
    newest.entries.map(reviewView),
    newest.entries.length === 0 ? h("p", {}, "Nobody has written one yet.") : null,
    rest,
  );
}

function attractionView({ name, kind, km }) {
  return h("li", {}, `${name} (${kind}), ${km} km`);
}

/** A guest has one review of a hotel. */
function reviewsOf({ reviews, next }) {
  return { entries: reviews.map((review) => ({ id: review.guest, ...review })), next };
}

function reviewView(review) {
  return h(
    "article",
    {},
    h("small", {}, `${review.guest}, ${"★".repeat(review.stars)}, ${ago(review.at)}`),
    h("p", {}, review.text),
  );
}

async function showBookings() {
  const me = session();
  if (me === null) return show(h("p", {}, "Log in to see your bookings."));
  const load = (before) => call("myBookings", { before }).then(({ bookings, next }) => ({ entries: bookings, next }));
  const newest = await load(null);
  const rest = older(load, bookingView);
  rest.begin(newest);
  show(
    h("h2", {}, "My bookings"),
    newest.entries.map(bookingView),
    newest.entries.length === 0 ? h("p", {}, "You have booked nothing yet.") : null,
    rest,
  );
}

function bookingView(booking) {
  return h(
    "article",
    { className: "row" },
    h("a", { href: `#/hotels/${booking.hotel}` }, booking.hotelName),
    `room ${booking.room}, ${counted(booking.nights, "night")} from ${booking.arrival}, ${booking.cents / 100} €`,
    action("Cancel", async () => {
      await call("cancel", { booking: booking.id });
      await render();
    }),
  );
}

/** A form for a stay, behind other fields. */
function stayForm(label, submit, fields = {}) {
  return form(
    {
      ...fields,
      arrival: { label: "Arrival", type: "date", value: wanted.arrival },
      count: { label: "Nights", type: "number", min: 1, max: 14, value: wanted.count },
    },
    label,
    async ({ count, ...values }) => {
      Object.assign(wanted, values, { count: Number(count) });
      await submit();
    },
  );
}

function hotelFacts(hotel) {
  return `${hotel.city}, ${hotel.cents / 100} € a night, ${hotel.stars} ★ (${counted(hotel.reviews, "review")})`;
}

addEventListener("hashchange", () => attempt(render));
await attempt(render);
