/**
 * For the benchmark of read/write-set functions: the calls of each handler of the applications. The stores are as large as
 * those of the design. They have a fan-out of 150 followers, a timeline of 32 posts, a front page of 100 stories, ….
 */
import { readFileSync } from "node:fs";

export interface BenchmarkCase {
  readonly handler: string;
  /** The arguments as JSON. */
  readonly args: Readonly<Record<string, unknown>>;
}

export interface BenchmarkApplication {
  readonly name: string;
  /** Of all calls. Default: null. */
  readonly caller?: string | null;
  /** The items by table and key, as JSON. */
  readonly items: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Calls made before, for items that only a handler can make. */
  readonly setUp: readonly BenchmarkCase[];
  readonly cases: readonly BenchmarkCase[];
}

function byKey<T>(count: number, make: (index: number) => readonly [key: string, value: T]): Record<string, T> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => make(index)));
}

function list<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

const TEXT = "Some *words* about nothing in particular, with a [link](https://example.com) and <angles>. ".repeat(3);

// ── Fixture: social ──────────────────────────────────────────────────────────────────────────────────────────────────

const NAMES = list(150, (index) => `person-${index}`);

const socialUser = (name: string, followers: readonly string[], posts: number): unknown => ({
  name,
  salt: "salt",
  hash: "hash",
  bio: TEXT,
  followers,
  following: NAMES.slice(0, 20),
  posts: list(posts, (index) => `${name}-${index}`),
  postCount: posts,
});

const socialPost = (id: string, author: string): unknown => ({
  id,
  author,
  text: TEXT,
  at: 1_700_000_000_000,
  likes: NAMES.slice(0, 12),
  html: TEXT,
});

const social: BenchmarkApplication = {
  name: "social",
  items: {
    users: {
      ...byKey(150, (index) => [NAMES[index]!, socialUser(NAMES[index]!, NAMES.slice(0, 10), 3)]),
      ann: socialUser("ann", NAMES, 44),
    },
    posts: {
      ...byKey(32, (index) => [`${NAMES[index]!}-0`, socialPost(`${NAMES[index]!}-0`, NAMES[index % 16]!)]),
      ...byKey(44, (index) => [`ann-${index}`, socialPost(`ann-${index}`, "ann")]),
    },
    timelines: byKey(151, (index) => [
      NAMES[index] ?? "ann",
      { owner: NAMES[index] ?? "ann", ids: list(50, (at) => `${NAMES[at]!}-0`) },
    ]),
  },
  setUp: [{ handler: "register", args: { name: "karl", password: "secret word", bio: "" } }],
  cases: [
    { handler: "register", args: { name: "somebody", password: "secret word", bio: TEXT } },
    { handler: "login", args: { name: "karl", password: "secret word" } },
    { handler: "follow", args: { me: "ann", other: "person-80" } },
    { handler: "unfollow", args: { me: "ann", other: "person-3" } },
    { handler: "post", args: { me: "ann", text: TEXT } },
    { handler: "timeline", args: { me: "ann", limit: 32 } },
    { handler: "profile", args: { name: "ann" } },
    { handler: "like", args: { me: "ann", id: "person-3-0" } },
  ],
};

// ── Fixture: hotel ───────────────────────────────────────────────────────────────────────────────────────────────────

const HOTELS = list(18, (index) => `h${index}`);
/** As the handler prints floats. */
const SQUARES = ["95.0_22.0", "95.0_23.0", "96.0_22.0", "96.0_23.0", "97.0_22.0", "97.0_23.0"];

const hotel: BenchmarkApplication = {
  name: "hotel",
  items: {
    areas: byKey(6, (index) => [SQUARES[index]!, { hotels: HOTELS.slice(index * 3, index * 3 + 3) }]),
    hotels: byKey(18, (index) => [
      HOTELS[index]!,
      {
        id: HOTELS[index],
        name: `The Hotel ${index}`,
        lat: 48.1 + index / 100,
        lon: 11.5,
        stars: index % 5,
        rooms: 40,
      },
    ]),
    nights: byKey(90, (index) => [
      `${HOTELS[index % 18]!}@${Math.trunc(index / 18)}`,
      { taken: 20, bookings: list(20, (at) => `b${at}`) },
    ]),
    rates: byKey(18, (index) => [HOTELS[index]!, "12000"]),
    sequences: { booking: { next: 1000 }, review: { next: 2000 } },
    reviews: byKey(60, (index) => [
      `r${index}`,
      { stars: 1 + (index % 5), hotel: HOTELS[index % 18], user: `u${index % 12}` },
    ]),
    reviewsByUser: byKey(12, (index) => [`u${index}`, { ids: list(5, (at) => `r${at * 12 + index}`) }]),
    reviewsByHotel: byKey(18, (index) => [HOTELS[index]!, { ids: list(6, (at) => `r${(at * 18 + index * 7) % 60}`) }]),
  },
  setUp: [],
  cases: [
    { handler: "search", args: { lat: 48.2, lon: 11.45, maxKm: 100, from: 0, count: 3 } },
    { handler: "book", args: { user: "ann", hotelId: "h4", from: 1, count: 3 } },
    { handler: "review", args: { user: "u3", hotelId: "h4", stars: 5 } },
    { handler: "recommend", args: { user: "u3" } },
  ],
};

// ── Fixture: forum ───────────────────────────────────────────────────────────────────────────────────────────────────

const STORIES = list(100, (index) => `s${index}`);

/** The tree of comments as an array: the children of comment n are 3n + 1 to 3n + 3. */
const COMMENTS = 37;

const forum: BenchmarkApplication = {
  name: "forum",
  items: {
    fronts: { front: STORIES },
    stories: byKey(100, (index) => [
      STORIES[index]!,
      {
        author: `a${index % 25}`,
        title: `Story number ${index} about something`,
        at: 1_700_000_000_000 - index * 60_000,
        up: index % 37,
        down: index % 5,
        score: 0,
        comments: index === 7 ? ["c0"] : [],
      },
    ]),
    comments: byKey(COMMENTS, (index) => [
      `c${index}`,
      {
        story: "s7",
        parent: index === 0 ? "" : `c${Math.trunc((index - 1) / 3)}`,
        author: `ua${index % 25}`,
        text: TEXT,
        replies: [1, 2, 3].map((child) => index * 3 + child).flatMap((at) => (at < COMMENTS ? [`c${at}`] : [])),
      },
    ]),
    accounts: {
      ...byKey(25, (index) => [`ua${index}`, { name: `Author ${index}`, karma: 10, hidden: [] }]),
      ann: { name: "Ann", karma: 10, hidden: ["s3", "s9"] },
    },
    votes: { "ann/s5": "up" },
  },
  setUp: [],
  cases: [
    { handler: "homepage", args: { me: "ann", page: 1 } },
    { handler: "exactHomepage", args: { me: "ann", page: 1 } },
    { handler: "titles", args: {} },
    { handler: "vote", args: { me: "ann", id: "s7", action: 1 } },
    { handler: "comment", args: { me: "ann", id: "s7", parent: "c3", text: TEXT } },
    { handler: "view", args: { id: "s7" } },
  ],
};

// ── Template: social ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Ids of the template look like what `uuid()` makes. */
const id = (kind: number, index: number): string =>
  `${kind.toString().padStart(8, "0")}-0000-4000-8000-${index.toString().padStart(12, "0")}`;
/** The caller of the templates' handlers. */
const SESSION = "0".repeat(64);
const AT = 1_700_000_000_000;
const sessionOf = (name: string): Record<string, unknown> => ({
  [SESSION]: { name, expiresAt: 2 * AT },
});
/** A time as `ascending` writes it, and a random part: the last part of a key in the order of times. */
const placeAt = (index: number): string => `8${(AT + index).toString(16).padStart(15, "0")}-${id(2, index)}`;
const postId = (index: number): string => `${NAMES[index]!}/${placeAt(index)}`;
const person = (name: string): unknown => ({ name, bio: TEXT, joinedAt: AT });
const follows = (name: string, others: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(others.map((other) => [`${name}/${other}`, { at: AT }]));

const template: BenchmarkApplication = {
  name: "templates/social",
  caller: SESSION,
  items: {
    sessions: sessionOf("ann"),
    people: {
      ...byKey(150, (index) => [NAMES[index]!, person(NAMES[index]!)]),
      ann: person("ann"),
    },
    followers: { ...follows("ann", NAMES), ...follows("person-80", NAMES.slice(0, 10)), "person-3/ann": { at: AT } },
    following: { ...follows("ann", NAMES.slice(0, 20)) },
    posts: {
      ...byKey(50, (index) => [
        postId(index),
        { id: postId(index), author: NAMES[index], text: TEXT, at: AT, likes: index },
      ]),
      ...byKey(20, (index) => [
        `ann/${placeAt(index)}`,
        { id: `ann/${placeAt(index)}`, author: "ann", text: TEXT, at: AT, likes: index },
      ]),
    },
    timelines: byKey(50, (at) => [`ann/${placeAt(at)}`, { post: postId(at) }]),
  },
  setUp: [{ handler: "register", args: { name: "karl", password: "secret word", bio: "" } }],
  cases: [
    { handler: "register", args: { name: "somebody", password: "secret word", bio: TEXT } },
    { handler: "login", args: { name: "karl", password: "secret word" } },
    { handler: "logout", args: {} },
    { handler: "profile", args: { name: "ann" } },
    { handler: "follow", args: { name: "person-80" } },
    { handler: "unfollow", args: { name: "person-3" } },
    { handler: "post", args: { text: TEXT } },
    { handler: "timeline", args: { limit: 32 } },
    { handler: "like", args: { id: postId(7) } },
  ],
};

const SESSIONS = sessionOf("ada");

/** The first items of a template, and a session. */
function seedOf(name: string): Record<string, Record<string, unknown>> {
  const text = readFileSync(new URL(`../../../../templates/${name}/seed.ndjson`, import.meta.url), "utf8");
  const items: Record<string, Record<string, unknown>> = { sessions: SESSIONS };
  for (const line of text.trim().split("\n")) {
    const item = JSON.parse(line) as { readonly table: string; readonly key: string; readonly value: unknown };
    (items[item.table] ??= {})[item.key] = item.value;
  }
  return items;
}

// ── Template: hotel ──────────────────────────────────────────────────────────────────────────────────────────────────

const HOTEL_IDS = list(80, (index) => `hotel-${index}`);
const ZURICH = { latitude: 47.38, longitude: 8.54 };
/** Hotels stand within 11 km around it, in no order. */
const placeOf = (index: number): typeof ZURICH => ({
  latitude: ZURICH.latitude + (((index * 37) % 80) - 40) / 1000,
  longitude: ZURICH.longitude + (((index * 53) % 80) - 40) / 1000,
});
const STAY = { arrival: "2099-12-24", count: 3 };
const ARRIVAL_DAY = Date.UTC(2099, 11, 24) / 86_400_000;
const BOOKING = id(3, 0);

const templateHotel: BenchmarkApplication = {
  name: "templates/hotel",
  caller: SESSION,
  items: {
    sessions: SESSIONS,
    hotels: byKey(80, (index) => [
      HOTEL_IDS[index]!,
      {
        id: HOTEL_IDS[index],
        name: TEXT.slice(0, 20),
        city: "Zürich",
        about: TEXT,
        ...placeOf(index),
        rooms: 8,
        cents: 9000,
        stars: 90,
        reviews: 20,
      },
    ]),
    pins: byKey(80, (index) => [`686-0942/${HOTEL_IDS[index]!}`, { hotel: HOTEL_IDS[index], ...placeOf(index) }]),
    cityHotels: byKey(80, (index) => [`zürich/${HOTEL_IDS[index]!}`, HOTEL_IDS[index]]),
    taken: Object.fromEntries(
      HOTEL_IDS.flatMap((at) =>
        list(9, (index) => [
          `${at}/000${ARRIVAL_DAY + (index % 3)}/000${1 + Math.floor(index / 3)}`,
          { room: 1 + Math.floor(index / 3) },
        ]),
      ),
    ),
    bookings: {
      [`ada/${BOOKING}`]: {
        id: BOOKING,
        guest: "ada",
        hotel: HOTEL_IDS[0],
        room: 1,
        arrival: STAY.arrival,
        nights: 3,
        cents: 27_000,
      },
    },
    reviews: Object.fromEntries(
      HOTEL_IDS.flatMap((of) =>
        list(20, (at) => [
          `${of}/8${(AT + at).toString(16).padStart(15, "0")}-${NAMES[at]!}`,
          { guest: NAMES[at], stars: 4, text: TEXT, at: AT + at },
        ]),
      ),
    ),
    attractions: byKey(20, (index) => [
      `686-0942/place-${index}`,
      { id: `place-${index}`, name: "Museum", kind: "museum", ...ZURICH },
    ]),
  },
  setUp: [{ handler: "register", args: { name: "karl", password: "secret word" } }],
  cases: [
    { handler: "login", args: { name: "karl", password: "secret word" } },
    { handler: "search", args: { ...ZURICH, ...STAY } },
    { handler: "recommend", args: { city: "Zürich", by: "best", ...ZURICH } },
    { handler: "hotel", args: { id: HOTEL_IDS[1] } },
    { handler: "attractions", args: { hotel: HOTEL_IDS[1] } },
    { handler: "book", args: { hotel: HOTEL_IDS[1], ...STAY } },
    { handler: "cancel", args: { booking: BOOKING } },
    { handler: "myBookings", args: {} },
    { handler: "review", args: { hotel: HOTEL_IDS[1], stars: 5, text: TEXT } },
  ],
};

// ── Template: forum ──────────────────────────────────────────────────────────────────────────────────────────────────

const storyId = (index: number): string => placeAt(index);
/** Ten threads of five: each answers the one before. */
const commentId = (index: number): string =>
  list((index % 5) + 1, (at) => `8${(AT + index - (index % 5) + at).toString(16).padStart(15, "0")}-00000005`).join(
    "/",
  );

const templateForum: BenchmarkApplication = {
  name: "templates/forum",
  caller: SESSION,
  items: {
    sessions: SESSIONS,
    members: byKey(60, (index) => [NAMES[index]!, { name: NAMES[index], joinedAt: AT }]),
    karma: byKey(60, (index) => [NAMES[index]!, index]),
    fronts: {
      front: {
        newest: storyId(59),
        // In the time to come, so that nobody ranks it anew.
        rankedAt: 4_000_000_000_000,
        places: list(60, (index) => ({
          story: storyId(index),
          at: 1_700_000_000_000,
          score: index - 2,
          comments: 50,
          heat: 60 - index,
        })),
      },
    },
    stories: byKey(60, (index) => [
      storyId(index),
      {
        id: storyId(index),
        author: NAMES[index],
        title: TEXT.slice(0, 60),
        url: "https://example.com",
        text: TEXT,
        at: 1_700_000_000_000,
      },
    ]),
    tallies: byKey(60, (index) => [storyId(index), { ups: index, downs: 2, comments: 50 }]),
    comments: byKey(50, (index) => [
      `${storyId(0)}/${commentId(index)}`,
      { id: commentId(index), author: NAMES[index], text: TEXT, at: AT, ups: index, downs: 1 },
    ]),
  },
  setUp: [{ handler: "register", args: { name: "karl", password: "secret word" } }],
  cases: [
    { handler: "login", args: { name: "karl", password: "secret word" } },
    { handler: "homepage", args: {} },
    { handler: "view", args: { story: storyId(0) } },
    { handler: "member", args: { name: NAMES[0] } },
    { handler: "post", args: { title: "A story", text: TEXT } },
    { handler: "comment", args: { story: storyId(0), text: TEXT, parent: commentId(0) } },
    { handler: "interact", args: { story: storyId(0), vote: "up", comment: commentId(3) } },
  ],
};

// ── Templates: images and board ──────────────────────────────────────────────────────────────────────────────────────

const POOL = "30000000-0000-4000-8000-000000000000";

const templateImages: BenchmarkApplication = {
  name: "templates/images",
  caller: SESSION,
  items: seedOf("images"),
  setUp: [],
  cases: [
    { handler: "search", args: { tags: ["sky", "-night"] } },
    { handler: "image", args: { id: 1 } },
    { handler: "favourites", args: { name: "ada" } },
    {
      handler: "upload",
      args: { url: "https://example.com/a.png", width: 10, height: 10, tags: ["sky"] },
    },
    { handler: "tag", args: { image: 1, tags: ["sea", "sky"] } },
    { handler: "favourite", args: { image: 1 } },
    { handler: "vote", args: { image: 1, value: 1 } },
    { handler: "comment", args: { image: 1, text: TEXT } },
    { handler: "pool", args: { id: POOL } },
  ],
};

const BOARD = "40000000-0000-4000-8000-000000000000";
const CARD = "50000000-0000-4000-8000-000000000001";

const templateBoard: BenchmarkApplication = {
  name: "templates/board",
  caller: SESSION,
  items: seedOf("board"),
  setUp: [],
  cases: [
    { handler: "board", args: { id: BOARD } },
    { handler: "addCard", args: { board: BOARD, column: 0, title: "A card" } },
    { handler: "moveCard", args: { card: CARD, column: 2 } },
    { handler: "editCard", args: { card: CARD, version: 1, title: "A card", text: TEXT } },
    { handler: "assign", args: { card: CARD, name: "grace" } },
    { handler: "comment", args: { card: CARD, text: TEXT } },
    { handler: "card", args: { id: CARD } },
    { handler: "myCards", args: {} },
    { handler: "activity", args: { board: BOARD } },
  ],
};

// ── Fixture: indexes ─────────────────────────────────────────────────────────────────────────────────────────────────

const members: BenchmarkApplication = {
  name: "packages/cli/e2e/fixtures/members",
  items: {
    posts: byKey(100, (index) => [`p${index}`, { author: `person-${index % 5}`, text: TEXT, at: index }]),
    members: byKey(100, (index) => [`m${index}`, { email: `${index}@example.com`, name: `person-${index}` }]),
  },
  setUp: [],
  cases: [
    { handler: "post", args: { key: "p100", author: "person-1", at: 100, text: TEXT } },
    { handler: "edit", args: { key: "p7", text: "short" } },
    { handler: "remove", args: { key: "p7" } },
    { handler: "mine", args: { author: "person-2" } },
    { handler: "count", args: { author: "person-2" } },
    { handler: "register", args: { id: "m100", email: "100@example.com", name: "person-100" } },
    { handler: "whoIs", args: { email: "42@example.com" } },
  ],
};

export const BENCHMARK_APPLICATIONS: readonly BenchmarkApplication[] = [
  social,
  hotel,
  forum,
  template,
  templateHotel,
  templateForum,
  templateImages,
  templateBoard,
  members,
];
