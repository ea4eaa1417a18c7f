/** Savings and costs of read leases in virtual time, beside the same requests without them. */
import { Random } from "@radical/history";
import { prefixEnd, present, spanId, type UnitId, unitId } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { drawn, LeaseMixes, type Measured, type Request } from "./testing/lease-mixes.ts";

const SEED = 1;
const PER_SECOND = 8;

/** The last of these habits with leases, and without; each lasts so many seconds. */
function compare(...habits: readonly (readonly [readonly Request[], number])[]): {
  readonly leased: Measured;
  readonly ratio: number;
} {
  const measure = (isOn: boolean): Measured => {
    const mixes = new LeaseMixes(SEED, isOn);
    const measured = habits.map(([requests, seconds]) => mixes.run({ perSecond: PER_SECOND, seconds, requests }));
    return present(measured.at(-1), "measured habits");
  };
  const [leased, off] = [measure(true), measure(false)];
  return { leased, ratio: leased.allMs / off.allMs };
}

describe("the mean of all requests, with leases and without", () => {
  test.each([
    { reads: 99, units: 1, items: 1_000, most: 0.4 },
    { reads: 90, units: 1, items: 1_000, most: 0.65 },
    { reads: 50, units: 1, items: 1_000, most: 1.02 },
    { reads: 99, units: 20, items: 10_000, most: 1.05 },
    { reads: 90, units: 5, items: 10_000, most: 1.05 },
    { reads: 90, units: 20, items: 10_000, most: 1.05 },
  ])("is at most $most × for $reads % reads, $units of $items items each", ({ reads, units, items, most }) => {
    const habit: Request[] = [
      { share: reads, kind: "read", units: drawn("items", units, items) },
      { share: 100 - reads, kind: "write", units: drawn("items", units, items) },
    ];
    expect(compare([habit, 90], [habit, 60]).ratio).toBeLessThan(most);
  });

  test("is a third less for timelines: a list that is written, and posts that are not", () => {
    const { leased, ratio } = compare([timelines(), 80]);
    expect(ratio).toBeLessThan(0.75);
    expect(leased.leased).toBeGreaterThan(0.4);
  });

  test("is hardly more for searches of 20 images, of which each tenth request changes one", () => {
    expect(compare([gallery(), 80]).ratio).toBeLessThan(1.05);
  });

  test("answers pages of posts that never change, in a table whose newest rows are written more than read", () => {
    const { leased, ratio } = compare([pagesOfPosts(), 80]);
    expect(ratio).toBeLessThan(0.92);
    expect(leased.leased).toBeGreaterThan(0.3);
  });

  test("is hardly more where half of the requests write", () => {
    expect(compare([board(1), 60]).ratio).toBeLessThan(1.05);
  });

  test("falls to that of writers a minute after readers have become writers", () => {
    const habits = [
      [board(30), 60],
      [board(1), 60],
    ] as const;
    expect(compare(...habits).ratio).toBeGreaterThan(1.1);
    expect(compare(...habits, [board(1), 60]).ratio).toBeLessThan(1.05);
  });
});

/** Users read the last posts of those whom they follow, and profiles. A post is written to five timelines. */
function timelines(): readonly Request[] {
  const users = 500;
  const timelineUnits = new Map<number, UnitId[]>();
  let posts = 0;
  const timelineOf = (user: number): UnitId[] => {
    let units = timelineUnits.get(user);
    if (units === undefined) {
      units = Array.from({ length: 10 }, () => unitId("posts", `old ${++posts % 3_000}`));
      timelineUnits.set(user, units);
    }
    return units;
  };
  const profile = (random: Random): readonly UnitId[] => [unitId("users", `${random.zipf(users)}`)];
  return [
    {
      share: 60,
      kind: "read",
      units: (random) => {
        const user = random.zipf(users);
        return [...new Set([unitId("timelines", `${user}`), ...timelineOf(user)])];
      },
    },
    { share: 30, kind: "read", units: profile },
    {
      share: 3,
      kind: "write",
      units: (random) => {
        const post = unitId("posts", `new ${++posts}`);
        const followers = new Set<number>();
        while (followers.size < 5) followers.add(random.zipf(users));
        for (const user of followers) {
          const units = timelineOf(user);
          units.pop();
          units.unshift(post);
        }
        return [post, ...Array.from(followers, (user) => unitId("timelines", `${user}`))];
      },
    },
    { share: 1, kind: "write", units: profile },
  ];
}

/** Old posts are read by the page. The list of the newest is a range of the same table: each new post changes it. */
function pagesOfPosts(): readonly Request[] {
  const newest = spanId({ table: "posts", kind: "rows", lo: "new/", hi: prefixEnd("new/") });
  const pageOf = (page: number): UnitId[] =>
    Array.from({ length: 20 }, (_, post) => unitId("posts", `old/${page}/${post}`));
  let count = 0;
  return [
    { share: 5, kind: "read", units: (random) => pageOf(random.zipf(50)) },
    { share: 5, kind: "read", units: () => [newest] },
    { share: 10, kind: "write", units: () => [unitId("posts", `new/${++count}`)] },
  ];
}

/** An image board: the newest images are seen and changed the most. A search has up to 20 images that have one or two tags. */
function gallery(): readonly Request[] {
  const [images, tags, users] = [150, 30, 60];
  const made = new Random(SEED);
  const tagsOf = Array.from({ length: images }, () => {
    const of = new Set<number>();
    while (of.size < 4) of.add(made.zipf(tags));
    return of;
  });
  const likedBy = Array.from({ length: users }, () => [made.below(images), made.below(images), made.below(images)]);
  const image = (number: number): UnitId => unitId("images", `${number}`);
  const set = (name: string | number): readonly UnitId[] => [unitId("sets", `${name}`), unitId("shelves", `${name}`)];
  const one = (random: Random): number => random.zipf(images);
  const found = (wanted: readonly number[]): readonly UnitId[] => {
    const all = Array.from({ length: images }, (_, number) => number);
    const having = all.filter((number) => wanted.every((tag) => tagsOf[number]?.has(tag) === true));
    return having.slice(0, 20).map(image);
  };
  const liked = (user: number): readonly UnitId[] => [...set(`by ${user}`), ...new Set(likedBy[user]?.map(image))];
  const pageOf = (number: number): readonly UnitId[] => [
    image(number),
    unitId("talks", `${number}`),
    ...Array.from(tagsOf[number] ?? [], (tag) => unitId("sets", `${tag}`)),
  ];
  return [
    {
      share: 50,
      kind: "read",
      units: (random) => {
        const wanted = [
          ...new Set(random.below(2) === 0 ? [random.zipf(tags)] : [random.zipf(tags), random.zipf(tags)]),
        ];
        return [...wanted.flatMap(set), ...found(wanted)];
      },
    },
    { share: 35, kind: "read", units: (random) => pageOf(one(random)) },
    { share: 5, kind: "read", units: (random) => liked(random.below(users)) },
    {
      share: 4,
      kind: "write",
      units: (random) => {
        const number = one(random);
        return [image(number), unitId("votes", `${number}/${random.below(users)}`)];
      },
    },
    { share: 3, kind: "write", units: (random) => [image(one(random)), ...set(`by ${random.below(users)}`)] },
    { share: 2, kind: "write", units: (random) => [unitId("talks", `${one(random)}`)] },
    {
      share: 1,
      kind: "write",
      units: (random) => {
        const number = one(random);
        return [image(number), ...Array.from(tagsOf[number] ?? [], (tag) => set(tag)).flat()];
      },
    },
  ];
}

/** Boards with cards: each kind of request is as likely, but one that reads is so many times as likely. */
function board(reads: number): readonly Request[] {
  const cards = 200;
  const card = (number: number): UnitId => unitId("cards", `${number}`);
  const boardUnit = (number: number): UnitId => unitId("boards", `${number}`);
  const mine = (random: Random): UnitId => unitId("mine", `${random.below(50)}`);
  const one = (random: Random): UnitId => card(random.below(cards));
  return [
    { share: reads, kind: "read", units: (random) => [one(random)] },
    {
      share: reads,
      kind: "read",
      units: (random) => {
        const number = random.below(20);
        return [boardUnit(number), ...Array.from({ length: 5 }, (_, at) => card(number * 10 + at))];
      },
    },
    { share: reads, kind: "read", units: (random) => [mine(random)] },
    {
      share: 1,
      kind: "write",
      units: (random) => {
        const number = random.below(cards);
        return [card(number), boardUnit(Math.floor(number / 10))];
      },
    },
    { share: 1, kind: "write", units: (random) => [one(random)] },
    { share: 1, kind: "write", units: (random) => [one(random), mine(random)] },
  ];
}
