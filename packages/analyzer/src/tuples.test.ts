/** Tuples, and what makes and takes lists of them. */
import { encodeArguments, formatValueType, unitId, valueToJson } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { call, type Items } from "./testing/run.ts";

function built(text: string): BuildResult {
  return buildWith({ ...buildInput({ "handlers/all.ts": text }), optimize: false }, slicer);
}

function build(text: string): BuildResult {
  const application = built(text);
  expect(application.diagnostics).toEqual([]);
  expect(application.handlers.filter(({ plan }) => plan.kind !== "sliced")).toEqual([]);
  return application;
}

/** The diagnostics of a handler with these statements: `3: type_error: …`. */
function problems(text: string): string[] {
  return built(text).diagnostics.map(({ code, message }) => `${code}: ${message}`);
}

function result(of: BuildResult, handler: string, json: unknown, items: Items = new Map()): unknown {
  const answer = call(of, items, handler, json);
  return answer.outcome.kind === "trap" ? answer.outcome.message : answer.result;
}

describe("tuples between clients, handlers and storage", () => {
  const application = build(`
    import { Table } from "@radical/sdk";
    type Status = "free" | "held";
    type Seat = { place: [row: string, number: i32]; state?: [Status, number | null]; };
    const seats = new Table<Seat>("seats");
    export function hold(place: [string, i32], by: [Status, number | null]): [Seat, boolean] {
      const known = seats.get(place[0]);
      const seat: Seat = { place, state: by };
      seats.put(place[0], seat);
      return [seat, known != null];
    }
    export function places(keys: string[]): [string, i32][] {
      return keys.map((key) => seats.get(key)).filter((seat) => seat != null).map((seat) => seat.place);
    }
    export function computed(text: string): [Status, i32] { return [text, 1]; }
  `);
  const handler = (name: string): BuildResult["handlers"][number] =>
    application.handlers.find((one) => one.name === name)!;

  test("are kinds of their own in the schema, and arrays in JSON", () => {
    const { parameters, result: given } = handler("hold");
    expect([...parameters.map(({ type }) => type), given!].map(formatValueType)).toEqual([
      "[string, i32]",
      '["free" | "held", f64 | null]',
      "[Seat, bool]",
    ]);
    const items: Items = new Map();
    const json = { place: ["a", 7], by: ["held", null] };
    expect(result(application, "hold", json, items)).toEqual([{ place: ["a", 7], state: ["held", null] }, false]);
    expect(valueToJson(items.get(unitId("seats", "a"))!)).toBe('{"place":["a",7],"state":["held",null]}');
    expect(result(application, "hold", json, items)).toMatchObject([{ place: ["a", 7] }, true]);
    expect(result(application, "places", { keys: ["b", "a"] }, items)).toEqual([["a", 7]]);
  });

  test("have all of their values, each of its type", () => {
    const { parameters } = handler("hold");
    const problem = (place: unknown, by: unknown): string | null => {
      const encoded = encodeArguments(parameters, application.records, { place, by });
      return encoded.kind === "problem" ? encoded.problem.message : null;
    };
    const by = ["free", 1.5];
    expect(problem(["a", 7], by)).toBeNull();
    expect(problem(["a"], by)).toBe('"place" must have 2 values, not 1.');
    expect(problem(["a", 7, 8], by)).toBe('"place" must have 2 values, not 3.');
    expect(problem(["a", "b"], by)).toBe('"place[1]" must be of type i32, not a string.');
    expect(problem({}, by)).toBe('"place" must be of type [string, i32], not an object.');
    expect(problem(["a", 7], ["lost", 1])).toBe('"by[0]" must be one of "free", "held", not "lost".');
    expect(result(application, "computed", { text: "lost" })).toMatch(/expected "free" or "held", found another text/);
  });

  test("that were stored with another length are refused with their place", () => {
    const before = build(`
      import { Table } from "@radical/sdk";
      type Seat = { place: [string, i32, i32] };
      const seats = new Table<Seat>("seats");
      export function put(): void { const seat: Seat = { place: ["a", 1, 2] }; seats.put("a", seat); }
    `);
    const items: Items = new Map();
    result(before, "put", {}, items);
    expect(result(application, "places", { keys: ["a"] }, items)).toBe(
      "seats/a, field place: expected 2 values, found 3",
    );
  });

  test("do not keep what no key hangs on", () => {
    const { handlers } = build(`
      import { Table } from "@radical/sdk";
      const items = new Table<string>("items");
      const log = new Table<string>("log");
      function both(key: string): [string, string | null] { return [key + "!", log.get(key)]; }
      export function first(key: string): void { items.has(both(key)[0]); }
    `);
    expect(handlers[0]!.rwSource).toMatchInlineSnapshot(`
      "// What first (handlers/all.ts) reads and writes.
      import { Table } from "@radical/sdk";

      const items = new Table<string>("items");
      const log = new Table<string>("log");

      export function first(key: string): void {
        items.touch(both(key)[0]); // value not needed
      }

      function both(key: string): [string, string | null] {
        return Tuple_string_string_null_of(new __radicalTuple2<string, string | null>(), key + "!", log.get(key));
      }

      function Tuple_string_string_null_of(p0: [string, string | null], p1: string, p2: string | null): [string, string | null] {
        p0[0] = p1;
        return p0;
      }
      "
    `);
  });
});

test("mistakes in tuples are told in the developer's words", () => {
  const sources = [
    'export function h(): i32 { const t: [string, i32] = ["a", 1]; return t.length; }',
    'export function h(): void { const t: [string, i32] = ["a", 1]; for (const x of t) {} }',
    "export function h(t: [i32, i32]): void { const s: [i32, i32, i32] = t; }",
    "export function h(t: [i32, [string, i32]]): i32 { return t[1]; }",
    "export function h(t: [i32, Set<i32>]): void {}",
  ];
  expect(sources.map(problems)).toMatchInlineSnapshot(`
    [
      [
        "tuple_type: A tuple has no length, because its type says how many parts it has.",
      ],
      [
        "for_of_loop: A \`for … of\` loop goes over arrays, typed arrays, strings, sets and maps, and this is none of them.",
      ],
      [
        "type_error: Type '[i32, i32]' is not assignable to type '[i32, i32, i32]'.",
      ],
      [
        "type_error: Type '[string, i32]' is not assignable to type 'i32'.",
      ],
      [
        "unsupported_type: The parameter t of handler h can't be of type Set<i32>, because such a value can't be sent or stored.",
      ],
    ]
  `);
});

test("a tuple is not spread", () => {
  expect(problems("export function h(t: [i32, i32]): i32 { const all: i32[] = [...t]; return all.length; }")).toContain(
    "tuple_type: A tuple can't be spread, because each part has a type of its own.",
  );
});

test("what stands behind a sign for less is not taken for a type", () => {
  const { handlers } = build(`
    export function less(n: i32, limits: Map<string, i32>): bool[] {
      return [n < (limits.get("a") ?? 3), n < [n, 2].length];
    }
  `);
  expect(handlers).toHaveLength(1);
});

describe("lists of what can be looped over", () => {
  const application = build(`
    type Labelled = { label: string; at: number };
    export function entries(ages: Map<string, i32>): string[] {
      const all: string[] = [];
      for (const entry of ages) all.push(entry[0] + entry[1].toString());
      for (const [index, [name, age]] of [...ages].entries()) all.push(index.toString() + name + age.toString());
      for (const index of all.keys()) if (index > 3) all.push("k" + index.toString());
      return [...all, ...Array.from(ages.keys()), ...Array.from(ages, ([name, age]) => name + age.toString())];
    }
    export function lengths(whole: i32, part: number): Labelled[] {
      const few: Labelled[] = Array.from({ length: part }, (_, at) => ({ label: "f" + whole.toString(), at }));
      return [...few, ...Array.from<i32, Labelled>({ length: whole }, (_, at) => {
        if (at % 2 == 0) return { label: "even", at };
        return { label: "odd", at: part };
      })];
    }
    export function texts(text: string, n: i32): string[] {
      const set = new Set<string>();
      for (const one of Array.from(text)) set.add(one);
      return Array.from(set, (one, index) => one + (index + n).toString());
    }
  `);

  test.each([
    ["entries", { ages: { ann: 3, bob: 4 } }, ["ann3", "bob4", "0ann3", "1bob4", "ann", "bob", "ann3", "bob4"]],
    ["entries", { ages: {} }, []],
    [
      "lengths",
      { whole: 2, part: 1.9 },
      [
        { label: "f2", at: 0 },
        { label: "even", at: 0 },
        { label: "odd", at: 1.9 },
      ],
    ],
    ["lengths", { whole: -1, part: -3.5 }, []],
    ["texts", { text: "aé𝄞a", n: 1 }, ["a1", "é2", "𝄞3"]],
  ])("%s(%j)", (handler, json, expected) => {
    expect(result(application, handler, json)).toEqual(expected);
  });
});

test("sets and maps are made of what can be looped over", () => {
  const application = build(`
    const PRICES = new Map([["a", 1.5], ["b", 2]]);
    export function filled(words: string[], pairs: [string, i32][], counts: Map<string, i32>): string[] {
      const unique = new Set(words);
      const first = new Set<string>([...words, "z"]);
      const all = new Map(pairs);
      const more = new Map<string, number>([["one", 1], ["two", pairs.length]]);
      const copy = new Map(counts);
      copy.set("new", 1);
      return [
        [...unique].join(), first.size.toString(), [...all.entries()].map(([key, n]) => key + n.toString()).join(),
        more.keys().join(), counts.size.toString(), copy.size.toString(), [...new Set("hello")].join(""),
        PRICES.keys().join(),
      ];
    }
  `);
  const json = {
    words: ["b", "a", "b"],
    pairs: [
      ["x", 1],
      ["y", 2],
      ["x", 3],
    ],
    counts: { k: 1 },
  };
  expect(result(application, "filled", json)).toEqual(["b,a", "3", "x3,y2", "one,two", "1", "2", "helo", "a,b"]);
});

test("??= takes a value that may be null too", () => {
  const application = build(`
    export function either(a: string | null, b: string | null): string {
      let one = a;
      one ??= b;
      const pair: [string | null, i32] = [a, 1];
      const given = (pair[0] ??= b);
      return (one ?? "none") + (given ?? "none") + (pair[0] ?? "none");
    }
  `);
  expect(result(application, "either", { a: null, b: null })).toBe("nonenonenone");
  expect(result(application, "either", { a: null, b: "b" })).toBe("bbb");
  expect(result(application, "either", { a: "a", b: "b" })).toBe("aaa");
});

describe("spread arguments", () => {
  const application = build(`
    let trace = "";
    function note(n: i32): i32 { trace += n.toString(); return n; }
    function sum(first: i32, ...others: i32[]): string { return first.toString() + "+" + others.join("+"); }
    class Sums { all: i32 = 0; add(...values: i32[]): Sums { for (const value of values) this.all += value; return this; } }
    function joined<T>(...values: T[]): string { return values.join(""); }
    export function rest(values: i32[]): string[] {
      trace = "";
      const given = [
        sum(note(1), ...values, note(2)), sum(5), sum(5, ...values),
        new Sums().add(...values, ...values).add().all.toString(), joined<i32>(...values, 7),
      ];
      // A rest parameter is an array of its own.
      const own = ((...all: i32[]): i32[] => { all.push(9); return all; })(...values);
      return [...given, own.join(""), values.join(""), trace];
    }
    export function extremes(values: number[]): (number | null)[] {
      return [Math.max(...values), Math.min(...values, 2, ...values), Math.max(3, 1, 2), Math.min(4)];
    }
  `);

  test("are those of a rest parameter", () => {
    expect(result(application, "rest", { values: [3, 4] })).toEqual([
      "1+3+4+2",
      "5+",
      "5+3+4",
      "14",
      "347",
      "349",
      "34",
      "12",
    ]);
  });

  test("are the numbers of which one is the greatest", () => {
    expect(result(application, "extremes", { values: [1.5, 7] })).toEqual([7, 1.5, 3, 4]);
    // JSON has no infinity.
    expect(result(application, "extremes", { values: [] })).toEqual([null, 2, 3, 4]);
  });
});

describe("elements of which a function says the type", () => {
  test("filter and find keep those that are there", () => {
    const application = build(`
      import { Table } from "@radical/sdk";
      class Base { name: string = "b"; }
      class Derived extends Base { more: string = "d"; }
      type Item = { name: string };
      const items = new Table<Item>("items");
      export function put(key: string): void { items.put(key, { name: "n" + key }); }
      export function there(keys: string[], numbers: (number | null)[]): string[] {
        const found = keys.map((key) => items.get(key));
        const some: number[] = numbers.filter((n) => n !== null);
        const bases: Base[] = [new Base(), new Derived()];
        return [
          ...found.filter((item): item is Item => item !== null).map((item) => item.name),
          ...found.filter((item) => item != undefined).map((item) => item.name),
          ...found.filter((item) => { return !!item; }).map((item) => item.name),
          some.join(), numbers.filter((n) => n == null).length.toString(),
          bases.filter((one): one is Derived => one instanceof Derived)[0].more,
          (bases.find((one): one is Derived => one instanceof Derived))?.more ?? "none",
        ];
      }
    `);
    const items: Items = new Map();
    result(application, "put", { key: "a" }, items);
    expect(result(application, "there", { keys: ["b", "a"], numbers: [1.5, null] }, items)).toEqual([
      "na",
      "na",
      "na",
      "1.5",
      "1",
      "d",
      "d",
    ]);
  });
});

describe("delete", () => {
  test("takes away optional members and entries", () => {
    const application = build(`
      type Seat = { label: string; holder?: string; until?: number };
      export function free(seat: Seat, prices: Record<string, i32>): [Seat, Record<string, i32>] {
        delete seat.holder;
        const isGone = delete seat.until;
        if (isGone) delete prices[seat.label];
        return [seat, prices];
      }
    `);
    const seat = { label: "a", holder: "ann", until: 3 };
    expect(result(application, "free", { seat, prices: { a: 1, b: 2 } })).toEqual([{ label: "a" }, { b: 2 }]);
    expect(result(application, "free", { seat: { label: "c" }, prices: { a: 1 } })).toEqual([{ label: "c" }, { a: 1 }]);
  });

  test("refuses all else", () => {
    const refused = (statement: string): string[] =>
      problems(`class User { name: string = ""; nick: string | null = null; }
        export function h(user: User, list: i32[], ages: Map<string, i32>): void { ${statement} }`);
    const words = "delete_operator: Only an optional member and an entry of a `Record` can be deleted.";
    expect(refused("delete user.name;")).toEqual([words]);
    expect(refused("delete user.nick;")).toEqual([words]);
    expect(refused("delete list[0];")).toEqual([words]);
    expect(refused('delete ages["a"];')).toEqual([words]);
  });
});

test("an entry is set where no braces stand", () => {
  const application = build(`
    export function count(words: string[], last: string): Record<string, i32> {
      const counts: Record<string, i32> = {};
      for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
      if (words.length > 1) counts[last] = 0;
      else counts["few"] = 1;
      return counts;
    }
  `);
  expect(result(application, "count", { words: ["a", "b", "a"], last: "c" })).toEqual({ a: 2, b: 1, c: 0 });
  expect(result(application, "count", { words: ["a"], last: "c" })).toEqual({ a: 1, few: 1 });
});

test("patterns of assignments have defaults, and `of` is a name", () => {
  const application = build(`
    type Options = { limit?: number; of?: string; inner: { deep?: string } };
    let noted = "";
    export function read(of: Options): string {
      let limit = 0.5, from = "", deep = "";
      ({ limit = 10, of: from = "nobody", inner: { deep = "flat" } } = of);
      const { of: whose = "none" } = of;
      for (const of of ["x", "y"]) noted += of;
      return (limit as i32).toString() + from + deep + whose + noted;
    }
  `);
  expect(result(application, "read", { of: { inner: {} } })).toBe("10nobodyflatnonexy");
  expect(result(application, "read", { of: { limit: 2, of: "ann", inner: { deep: "d" } } })).toBe("2anndannxy");
});

test("names of parts that nobody wrote are never the same", () => {
  const { handlers } = build(`
    import { Table } from "@radical/sdk";
    const items = new Table<string>("items");
    function pair(n: i32): [string, string] { return [n.toString(), "b"]; }
    export function read(): void {
      const [a] = pair(1);
      const [b] = pair(2);
      const parts = pair(3);
      items.has(a + b + parts[0]);
      const all = [pair(4), pair(5)];
      all.sort(([x], [y]) => { items.has(x + y); return x < y ? 1 : -1; });
    }
  `);
  expect(handlers[0]!.plan.kind).toBe("sliced");
});

/** The literal of a field makes an object, and changes no other. */
test("literals are initial values of fields", () => {
  const { handlers } = build(`
    import { Table } from "@radical/sdk";
    type Spot = { key: string };
    class Item { pair: [string, i32] = ["k", 1]; spot: Spot = { key: "s" }; }
    const items = new Table<Item>("items");
    export function read(key: string): void {
      const item = items.get(key) ?? new Item();
      items.has(item.pair[0] + item.spot.key);
    }
  `);
  expect(handlers[0]!.plan.kind).toBe("sliced");
});
