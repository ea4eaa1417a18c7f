/** The pages of the hotels. */
import {
  type AttractionView,
  type Booking,
  type BookingPage,
  type HotelView,
  type PaymentView,
  type Review,
  type ReviewPage,
  createClient,
} from "#radical";
import "./kit/kit.css";
import "./page.css";
import { me, rethrow, seedLogins } from "./kit/account.ts";
import { type Field, action, form } from "./kit/actions.ts";
import { type View, openApp } from "./kit/app.ts";
import { type Child, ago, avatar, counted, h, titled } from "./kit/elements.ts";
import { type Page, pages, watch } from "./kit/live.ts";
import { send, sendUntold } from "./kit/strip.ts";
import { picture } from "./pictures.ts";

const client = createClient({ fetch: send });
const { live } = client;
/** For questions of the page itself, of which the strip does not tell. */
const aside = createClient({ fetch: sendUntold });

/** In the seed. */
const SEEDED = ["ada", "grace", "alan"];
const CITIES = {
  Zürich: { latitude: 47.3769, longitude: 8.5417 },
  Lisbon: { latitude: 38.7223, longitude: -9.1393 },
  Kyoto: { latitude: 35.0116, longitude: 135.7681 },
};
type City = keyof typeof CITIES;

/** Of the bank that `src/fakes.ts` plays. */
const CARDS = [
  ["good", "A card with money"],
  ["declined", "A card without money"],
  ["forgetful", "A card whose bank forgets to answer"],
  ["blocked", "A card that is blocked before the stay"],
] as const;
const PAID: Readonly<Record<string, string>> = {
  asked: "the bank is asked",
  held: "held on your card, and taken on the day before",
  captured: "paid",
  refused: "refused by the bank",
  unclear: "not known to be paid",
};

/** So many are looked at first, and so many at most. */
const [FIRST, MOST] = [10, 50];

function euros(cents: number): string {
  return `${(cents / 100).toLocaleString(undefined, { maximumFractionDigits: 2 })} €`;
}

function rated({ stars, reviews }: HotelView): HTMLElement {
  return h(
    "span",
    { className: "rated" },
    reviews === 0 ? "no reviews yet" : [h("b", {}, `★ ${stars.toFixed(1)}`), ` ${counted(reviews, "review")}`],
  );
}

// ── Stays: the address of a page has the nights that it is about ─────────────────────────────────────────────────────

interface Stay {
  readonly arrival: string;
  readonly nights: number;
}

/** Of a path's last parts, or two nights in a week. */
function stayOf(arrival: string | undefined, nights: string | undefined): Stay {
  return {
    arrival: arrival ?? new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10),
    nights: Number(nights ?? 2),
  };
}

function linkTo(id: string, { arrival, nights }: Stay): string {
  return `#/hotels/${encodeURIComponent(id)}/${arrival}/${nights}`;
}

function stayFields({ arrival, nights }: Stay): { readonly arrival: Field; readonly nights: Field } {
  return {
    arrival: { label: "Arrival", type: "date", value: arrival, min: new Date().toISOString().slice(0, 10) },
    nights: { label: "Nights", type: "number", min: "1", max: "14", value: String(nights) },
  };
}

function dayOf(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString(undefined, { dateStyle: "medium", timeZone: "UTC" });
}

// ── Search ───────────────────────────────────────────────────────────────────────────────────────────────────────────

async function search(city: City, stay: Stay): Promise<View> {
  const heading = h("h2", { id: "found" });
  const list = h("div", { className: "cards" });
  let limit = FIRST;
  let count = -1;
  // A search looks at the nearest hotels, and shows those with a room.
  const look = async (): Promise<void> => {
    const found = await client.search({ ...CITIES[city], arrival: stay.arrival, count: stay.nights, limit });
    heading.textContent =
      found.length === 0
        ? "No hotel has a room that is free in all of these nights."
        : `${counted(found.length, "hotel")} with a free room`;
    list.replaceChildren(...found.map((hotel) => cardView(hotel, stay)));
    further.hidden = found.length === count || limit === MOST;
    count = found.length;
    limit = Math.min(2 * limit, MOST);
  };
  const further = action("Look further away", look);
  const isSeeded = (): Promise<unknown> => aside.recommend({ city, by: "best", limit: 1 });
  const [logins] = await Promise.all([seedLogins(client, SEEDED, isSeeded), look()]);
  return {
    title: "Hotel",
    content: [
      h("h1", {}, "Where do you want to wake up?"),
      form(
        {
          city: { label: "City", value: city, choices: Object.keys(CITIES).map((name) => [name, name]) },
          ...stayFields(stay),
        },
        "Search",
        ({ city: name, arrival, nights }) => {
          const wanted = `#/search/${encodeURIComponent(name)}/${arrival}/${nights}`;
          if (location.hash !== wanted) return void (location.hash = wanted);
          limit = FIRST;
          return look();
        },
        { className: "search" },
      ),
      logins,
      heading,
      list,
      h("p", { className: "more" }, further),
    ],
  };
}

function cardView(hotel: HotelView, stay: Stay): HTMLElement {
  return h(
    "article",
    { className: "card" },
    picture(hotel),
    h(
      "div",
      {},
      h("h3", {}, h("a", { href: linkTo(hotel.id, stay) }, hotel.name)),
      rated(hotel),
      h("p", {}, hotel.about),
      h(
        "p",
        { className: "price" },
        h("span", {}, h("b", {}, euros(hotel.cents)), " a night"),
        h("span", { className: "quiet" }, `${counted(hotel.freeRooms, "room")} free, ${hotel.km} km`),
      ),
    ),
  );
}

// ── One hotel ────────────────────────────────────────────────────────────────────────────────────────────────────────

interface ShownReview extends Review {
  readonly id: string;
}

/** A guest has one review of a hotel; the time tells an earlier one from that which took its place. */
function reviewsOf({ reviews, next }: ReviewPage): Page<ShownReview> {
  return { entries: reviews.map((review) => ({ id: `${review.guest} ${review.at}`, ...review })), next };
}

/** Its reviews change while somebody looks. */
async function hotelPage(id: string, stay: Stay): Promise<View> {
  const attractions = (limit: number): Promise<readonly AttractionView[]> => client.attractions({ hotel: id, limit });
  const [first, near] = await Promise.all([client.hotel({ id }), attractions(FIRST)]);
  const { hotel } = first;
  const list = pages((before) => client.reviews({ hotel: id, before }).then(reviewsOf), reviewView);
  const facts = h("p", { className: "facts" });
  const nobody = h("p", { className: "quiet" }, "Nobody has written one yet.");
  const update = ({ hotel: now, reviews }: typeof first): void => {
    facts.replaceChildren(rated(now), ` · ${now.city}`);
    nobody.hidden = reviews.reviews.length > 0;
    list.begin(reviewsOf(reviews));
  };
  update(first);
  const nearBy = h("ul", { className: "near" }, near.map(attractionView));
  const more = action("More", async () => {
    nearBy.replaceChildren(...(await attractions(MOST)).map(attractionView));
    more.remove();
  });
  return {
    title: hotel.name,
    className: "hotel",
    content: [
      picture(hotel),
      h("div", { className: "head" }, h("h1", {}, hotel.name), facts, h("p", { className: "lead" }, hotel.about)),
      bookBox(hotel, stay),
      h(
        "div",
        { className: "about" },
        h("h2", {}, "Near by"),
        near.length === 0 ? h("p", { className: "quiet" }, "Quiet. Nothing within 11 km.") : nearBy,
        near.length < FIRST ? null : more,
        h("h2", {}, "Reviews"),
        me() === null ? null : reviewForm(id),
        nobody,
        list.element,
      ),
    ],
    begin: () => watch((options) => live.hotel({ id }, options), update),
  };
}

function bookBox({ id, cents }: HotelView, stay: Stay): HTMLElement {
  const title = h("p", { className: "from" }, h("b", {}, euros(cents)), " a night");
  if (me() === null)
    return h(
      "aside",
      { className: "book" },
      title,
      h("p", { className: "quiet" }, h("a", { href: "#/login" }, "Log in"), " to book a room."),
    );
  const total = h("p", { className: "quiet" });
  const box = form(
    { ...stayFields(stay), card: { label: "Card", value: "good", choices: CARDS } },
    "Book",
    async ({ arrival, nights, card }) => {
      await client.reserve({ hotel: id, arrival, count: Number(nights), card }).catch(rethrow);
      location.hash = "#/bookings";
    },
    { className: "stay" },
  );
  const put = (): void => {
    const nights = Number(new FormData(box).get("nights"));
    total.textContent = nights > 0 ? `${euros(cents * nights)} for ${counted(nights, "night")}` : "";
  };
  box.addEventListener("input", put);
  put();
  return h(
    "aside",
    { className: "book" },
    title,
    box,
    total,
    h(
      "p",
      { className: "quiet" },
      "The room is yours the moment you see it in your bookings: none is ever booked twice.",
    ),
  );
}

/** The review appears by itself. */
function reviewForm(id: string): HTMLFormElement {
  return form(
    {
      stars: {
        label: "Stars",
        quiet: true,
        value: "5",
        choices: [5, 4, 3, 2, 1].map((stars) => [String(stars), "★".repeat(stars)]),
      },
      text: { label: "Your review", quiet: true, lines: 2, placeholder: "How was it?", optional: true },
    },
    "Review",
    ({ stars, text }) => client.review({ hotel: id, stars: Number(stars), text }).catch(rethrow),
    { className: "review", hint: "It takes the place of an earlier one of yours." },
  );
}

function attractionView({ name, kind, km }: AttractionView): HTMLElement {
  return h("li", {}, h("b", {}, name), h("span", { className: "quiet" }, `${kind}, ${km} km`));
}

function reviewView({ guest, stars, text, at }: ShownReview): HTMLElement {
  const given = h("span", { className: "stars", ariaLabel: counted(stars, "star") }, "★".repeat(stars));
  given.role = "img";
  return h(
    "article",
    { className: "said" },
    avatar(guest),
    h(
      "div",
      {},
      h("p", {}, h("b", {}, titled(guest)), " ", given, h("span", { className: "quiet" }, ` ${ago(at)}`)),
      text === "" ? null : h("p", {}, text),
    ),
  );
}

// ── The guest's bookings ─────────────────────────────────────────────────────────────────────────────────────────────

async function bookings(): Promise<View> {
  const title = "My bookings";
  const link = (href: string, words: string): Child => h("a", { className: "link", href }, words);
  if (me() === null)
    return {
      title,
      content: [h("h1", {}, title), h("p", { className: "lead" }, link("#/login", "Log in"), " to see them.")],
    };
  const load = async (before: string | null): Promise<Page<PaidBooking>> => {
    const page: BookingPage = await client.myBookings({ before });
    const payments = await aside.paid({ bookingIds: page.bookings.map(({ id }) => id) });
    const paid = new Map(payments.map((payment) => [payment.booking, payment]));
    return { entries: page.bookings.map((booking) => ({ ...booking, paid: paid.get(booking.id) })), next: page.next };
  };
  const none = h("p", { className: "lead" }, "You have booked nothing yet. ", link("#/", "Find a hotel"), ".");
  const newest = await load(null);
  const list = pages(load, (booking) =>
    bookingView(booking, () => void (none.hidden = list.element.querySelector("article") !== null)),
  );
  list.begin(newest);
  none.hidden = newest.entries.length > 0;
  return { title, content: [h("h1", {}, title), none, list.element] };
}

interface PaidBooking extends Booking {
  /** Undefined: it is not paid for here. */
  readonly paid: PaymentView | undefined;
}

function bookingView(booking: PaidBooking, gone: () => void): HTMLElement {
  const { id, hotel, hotelName, room, arrival, nights, cents, paid } = booking;
  const payment = paid === undefined ? "" : `, ${PAID[paid.state] ?? paid.state}`;
  const element = h(
    "article",
    { className: "booking" },
    picture({ id: hotel, city: cityOf(hotel) }),
    h(
      "div",
      {},
      h("h2", {}, h("a", { href: linkTo(hotel, { arrival, nights }) }, hotelName)),
      h("p", {}, `Room ${room}, ${counted(nights, "night")} from ${dayOf(arrival)}`),
      h("p", { className: "quiet" }, `${euros(cents)}${payment}`),
    ),
    action(
      "Cancel",
      async () => {
        await client.cancel({ booking: id }).catch(rethrow);
        element.remove();
        gone();
      },
      { ariaLabel: `Cancel the booking at ${hotelName}` },
    ),
  );
  return element;
}

/** Ids begin with the city. */
function cityOf(hotel: string): string {
  const plain = (text: string): string => text.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase();
  return Object.keys(CITIES).find((city) => hotel.startsWith(`${plain(city)}-`)) ?? "";
}

function isCity(name: string | undefined): name is City {
  return name !== undefined && Object.hasOwn(CITIES, name);
}

// Last: what is above is there by now.
await openApp({
  name: "Hotel",
  mark: [
    ["path", { d: "M3 21V9l9-6 9 6v12h-6v-6a3 3 0 0 0-6 0v6Z", fill: "var(--accent)" }],
    ["circle", { cx: "12", cy: "9", r: "1.6", fill: "var(--bg)" }],
  ],
  accounts: client,
  links: () => [["#/", "Search"], ...(me() === null ? [] : [["#/bookings", "My bookings"] as const])],
  profileOf: () => "#/bookings",
  view: ([kind, what, arrival, nights]) => {
    if (kind === "hotels" && what !== undefined) return hotelPage(what, stayOf(arrival, nights));
    if (kind === "bookings") return bookings();
    return search(isCity(what) ? what : "Zürich", stayOf(arrival, nights));
  },
});
