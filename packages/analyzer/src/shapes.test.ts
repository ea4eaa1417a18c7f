/** Records by shape: object types, interfaces, optional members, unions of texts, nullable numbers. */
import { CborWriter, encodeArguments, formatValueType, unitId, valueToJson } from "@radical/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { arbitraryJson } from "./testing/oracle.ts";
import { call, type Items } from "./testing/run.ts";

function build(files: Readonly<Record<string, string>> | string): BuildResult {
  const given = typeof files === "string" ? { "handlers/all.ts": files } : files;
  const result = buildWith({ ...buildInput(given), optimize: false }, slicer);
  expect(result.diagnostics).toEqual([]);
  return result;
}

function problems(files: Readonly<Record<string, string>> | string): string[] {
  const given = typeof files === "string" ? { "handlers/all.ts": files } : files;
  const result = buildWith({ ...buildInput(given), optimize: false }, slicer);
  return result.diagnostics.map(({ code, primary, message }) => `${primary.line}: ${code}: ${message}`);
}

/** The records of a build: `Seat { label: string; holder?: string }`. */
function recordsOf({ records }: BuildResult): string[] {
  return Object.values(records).map(({ name, fields }) => {
    const members = fields.map(
      (field) => `${field.name}${field.absent === true ? "?" : ""}: ${formatValueType(field.type)}`,
    );
    return `${name} { ${members.join("; ")} }`;
  });
}

/** Whether all of its handlers are sliced. */
function isSliced({ handlers }: BuildResult): boolean {
  return handlers.every(({ plan }) => plan.kind === "sliced");
}

describe("types that are records", () => {
  test("one without a name may stand in several handler files, in whichever order they are loaded", () => {
    const handler = (name: string): string =>
      `export function ${name}(box: { open: bool } | null): bool { return box?.open == true; }`;
    const built = build({ "handlers/z.ts": handler("first"), "handlers/a.ts": handler("second") });
    expect(recordsOf(built)).toHaveLength(1);
    expect(call(built, new Map(), "second", { box: { open: true } }).result).toBe(true);
  });

  test("they are spread, in the order in which the parts are written", () => {
    const built = build(`
      import { Table } from "@radical/sdk";
      type Page = { id: string; tags: string[]; views: i32; note?: string; rank?: number };
      type Head = { id: string; views: i32 };
      const pages = new Table<Page>("pages");
      function renamed(page: Page): string { page.views = 100; page.id = "z"; return "new"; }
      export function change(id: string, tag: string): Page {
        const page: Page = { id, tags: ["a", tag], views: 1, rank: 2 };
        const head: Head = { id: "head", views: 7 };
        const next: Page = { note: "before", ...page, id: renamed(page), tags: page.tags.filter((one) => one != tag), ...head };
        pages.put(next.id, { ...next, id: next.id + "!" });
        return { ...next, rank: null };
      }
      export function read(id: string): Page | null { return pages.get(id); }`);
    expect(isSliced(built)).toBe(true);
    const items: Items = new Map();
    expect(call(built, items, "change", { id: "x", tag: "b" }).result).toEqual({
      id: "head",
      tags: ["a"],
      views: 7,
      note: "before",
    });
    expect(call(built, items, "read", { id: "head" }).result).toEqual({
      id: "head!",
      tags: ["a"],
      views: 7,
      note: "before",
      rank: 2,
    });
  });

  test("a literal without a field says which one", () => {
    const [problem] = problems(
      `type P = { x: i32; s: string }; type Q = { x: i32 }; export function h(p: Q): P { return { ...p }; }`,
    );
    expect(problem).toBe("1: type_error: This literal has no value for s, which P requires.");
  });

  test("type aliases and interfaces of object types are records with their name", () => {
    const built = build(`
      import { Table } from "@radical/sdk";
      export type Seat = { readonly label: string, price: i32 };
      interface Section { name: string; seats: Seat[] }
      interface Balcony extends Section { floor: number }
      const sections = new Table<Section>("sections");
      const balconies = new Table<Balcony>("balconies");
      export function open(name: string): Section {
        const section: Section = { name, seats: [{ label: "a", price: 2 }, { price: 3, label: "b" }] };
        sections.put(name, section);
        const balcony: Balcony = { name, seats: section.seats, floor: 2.5 };
        balconies.put(name, balcony);
        return section;
      }
      export function price(name: string): i32 {
        const section = sections.get(name);
        if (section == null) return -1;
        let sum = 0;
        for (let i = 0; i < section.seats.length; i++) sum += section.seats[i].price;
        return sum;
      }
      export function floor(name: string): Balcony | null { return balconies.get(name); }
    `);
    expect(isSliced(built)).toBe(true);
    expect(recordsOf(built)).toEqual([
      "Section { name: string; seats: Seat[] }",
      "Seat { label: string; price: i32 }",
      "Balcony { name: string; seats: Seat[]; floor: f64 }",
    ]);
    const items: Items = new Map();
    expect(call(built, items, "open", { name: "north" }).result).toEqual({
      name: "north",
      seats: [
        { label: "a", price: 2 },
        { label: "b", price: 3 },
      ],
    });
    expect(call(built, items, "price", { name: "north" }).result).toBe(5);
    expect(call(built, items, "floor", { name: "north" }).result).toMatchObject({ name: "north", floor: 2.5 });
  });

  test("object types without a name are called after their place, and equal ones are one record in all files", () => {
    const built = build({
      "lib/free.ts": `
        export type Wanted = { row: i32 };
        export function best(rows: { count: i32; name: string }[]): { name: string; count: i32 } { return rows[0]; }
        export function bestWanted(all: { row: i32 }[]): Wanted { return all[0]; }
      `,
      "handlers/all.ts": `
        import { best, bestWanted } from "../lib/free";
        export function create(sections: { name: string; rows: { name: string; count: i32 }[] }[]): { name: string; count: i32 } {
          return best(sections[0].rows);
        }
        export function list(): { id: string; best: { row: i32 } }[] { return [{ id: "a", best: bestWanted([{ row: 4 }]) }]; }
        export function local(n: i32): string {
          const box: { text: string; n: i32 } = { text: "x", n };
          const inner = (one: { text: string; n: i32 }): string => one.text + one.n.toString();
          return inner(box);
        }
      `,
    });
    expect(recordsOf(built)).toEqual([
      "CreateSection { name: string; rows: CreateSectionRow[] }",
      "CreateSectionRow { name: string; count: i32 }",
      "ListResult { id: string; best: Wanted }",
      "Wanted { row: i32 }",
    ]);
    const items: Items = new Map();
    const sections = [{ name: "a", rows: [{ name: "r", count: 3 }] }];
    expect(call(built, items, "create", { sections }).result).toEqual({ name: "r", count: 3 });
    expect(call(built, items, "list").result).toEqual([{ id: "a", best: { row: 4 } }]);
    expect(call(built, items, "local", { n: 7 }).result).toBe("x7");
  });

  test("an interface with methods, or that a class implements, stays one, with its relatives", () => {
    const built = build({
      "lib/shapes.ts": `
        export interface Named { name: string }
        export interface Sized extends Named { size: i32 }
        export interface Loud { shout(): string }
        export interface Titled { title: string }
      `,
      "lib/index.ts": 'export { Named, Sized, Loud, Titled } from "./shapes";',
      "handlers/all.ts": `
        import { Named, Sized, Loud, Titled } from "../lib";
        class Cat implements Named { name: string = "cat"; }
        class Dog implements Sized, Loud { name: string = "dog"; size: i32 = 3; shout(): string { return this.name + "!"; } }
        export function names(): string {
          const all: Named[] = [new Cat(), new Dog()];
          const loud: Loud = new Dog();
          const titled: Titled = { title: "t" };
          return all[0].name + all[1].name + loud.shout() + titled.title;
        }
      `,
    });
    expect(call(built, new Map(), "names").result).toBe("catdogdog!t");
  });

  test("generic records have the type that they are given", () => {
    const built = build(`
      type Page<T> = { items: T[]; next: string | null };
      function pageOf<T>(items: T[]): Page<T> { return { items, next: null }; }
      export function first(texts: string[]): string {
        const page = pageOf<string>(texts);
        const numbers: Page<i32> = { items: [1], next: "a" };
        return page.items[0] + numbers.items[0].toString();
      }
    `);
    expect(call(built, new Map(), "first", { texts: ["x"] }).result).toBe("x1");
  });

  test("what an object type can't be is told at its place", () => {
    expect(
      problems(`function f<T>(x: { one: T }): T { return x.one; }
      export function h(): string { return f<string>({ one: "a" }); }`),
    ).toEqual(["1: object_type: An object type without a name can't mention a type parameter."]);
    expect(
      problems(`type Compared = {
        name: string;
        compare(other: string): i32;
      };
      export function h(): void {}`),
    ).toEqual([
      "3: object_type: An object type can't have methods, because it is the type of a record, and records are data.",
    ]);
    expect(
      problems(`export function h(): { a: i32; b: i32 } {
        return { a: 1, c: 2 };
      }`),
    ).toEqual(["2: type_error: Property 'c' does not exist on type '{ a, b }'."]);
  });
});

describe("optional members and parameters", () => {
  const built = build(`
    import { Table } from "@radical/sdk";
    interface Seat { label: string; holder?: string; tags?: string[]; n: i32 }
    class Order { coupon?: string; id: string = "none"; }
    const seats = new Table<Seat>("seats");
    const orders = new Table<Order>("orders");
    export function seat(label: string, holder?: string): Seat {
      const seat: Seat = { label, holder, n: 1 };
      seats.put(label, seat);
      return seat;
    }
    export function free(label: string): Seat {
      const seat = seats.get(label)!;
      seat.holder = null;
      seat.n++;
      seats.put(label, seat);
      return seat;
    }
    export function holder(label: string): string {
      const seat = seats.get(label)!;
      const holder = seat.holder;
      return holder == null ? "nobody" : holder;
    }
    export function order(order: Order): Order { orders.put("x", order); return order; }
    function greet(name: string, mark?: string): string { return mark == null ? name : name + mark; }
    export function greeting(): string { return greet("a") + greet("b", "!") + greet("c", null); }
  `);

  test("are absent outside and null inside", () => {
    expect(isSliced(built)).toBe(true);
    expect(recordsOf(built)).toEqual([
      "Seat { label: string; holder?: string; tags?: string[]; n: i32 }",
      "Order { coupon?: string; id: string }",
    ]);
    const items: Items = new Map();
    const answer = call(built, items, "seat", { label: "a1" });
    expect(answer.outcome.kind === "result" && valueToJson(answer.outcome.value)).toBe('{"label":"a1","n":1}');
    expect(call(built, items, "holder", { label: "a1" }).result).toBe("nobody");
    expect(call(built, items, "seat", { label: "a2", holder: "ann" }).result).toEqual({
      label: "a2",
      holder: "ann",
      n: 1,
    });
    expect(call(built, items, "holder", { label: "a2" }).result).toBe("ann");
    expect(call(built, items, "free", { label: "a2" }).result).toEqual({ label: "a2", n: 2 });
    expect(call(built, items, "order", { order: { id: "7" } }).result).toEqual({ id: "7" });
    expect(call(built, items, "order", { order: { coupon: "c" } }).result).toEqual({ coupon: "c", id: "none" });
    expect(call(built, items, "greeting").result).toBe("ab!c");
  });

  test("null is no argument for them", () => {
    expect(() => call(built, new Map(), "seat", { label: "a", holder: null })).toThrow('"holder" must not be null');
    expect(() => call(built, new Map(), "order", { order: { coupon: null } })).toThrow(
      '"order.coupon" must not be null',
    );
  });

  test("an item that was stored with null is read as absent, and the reverse", () => {
    const before = build(`
      import { Table } from "@radical/sdk";
      class Seat { label: string = ""; holder: string | null = null; tags: string[] | null = null; n: i32 = 0; }
      const seats = new Table<Seat>("seats");
      export function put(label: string): void { const seat = new Seat(); seat.label = label; seats.put(label, seat); }
      export function holder(label: string): string | null { return seats.get(label)!.holder; }
    `);
    const items: Items = new Map();
    call(before, items, "put", { label: "a" });
    expect(call(built, items, "free", { label: "a" }).result).toEqual({ label: "a", n: 1 });
    expect(valueToJson(items.get([...items.keys()][0]!)!)).toBe('{"label":"a","n":1}');
    expect(call(before, items, "holder", { label: "a" }).result).toBe(null);
  });

  test("what a build does not know stays where it stood, though optional fields before it are absent", () => {
    const older = build(`
      import { Table } from "@radical/sdk";
      type Seat = { a?: string; b: i32; c?: string; d: i32 };
      const seats = new Table<Seat>("seats");
      export function count(): void { const seat = seats.get("k")!; seat.b++; seats.put("k", seat); }
      export function fill(a?: string, c?: string): void { const seat = seats.get("k")!; seat.a = a; seat.c = c; seats.put("k", seat); }
    `);
    const newer = build(`
      import { Table } from "@radical/sdk";
      type Seat = { x: i32; a?: string; y: i32; b: i32; z?: string; c?: string; d: i32; w?: string };
      const seats = new Table<Seat>("seats");
      export function put(seat: Seat): void { seats.put("k", seat); }
      export function get(): Seat | null { return seats.get("k"); }
    `);
    const items: Items = new Map();
    const text = (): string => valueToJson([...items.values()][0]!);
    call(newer, items, "put", { seat: { x: 1, y: 2, b: 3, z: "z", d: 4, w: "w" } });
    call(older, items, "count");
    expect(text()).toBe('{"x":1,"y":2,"b":4,"z":"z","d":4,"w":"w"}');
    call(older, items, "fill", { a: "a", c: "c" });
    expect(text()).toBe('{"x":1,"y":2,"a":"a","b":4,"z":"z","c":"c","d":4,"w":"w"}');
    call(older, items, "fill", { c: "c" });
    expect(text()).toBe('{"x":1,"y":2,"b":4,"z":"z","c":"c","d":4,"w":"w"}');
    expect(call(newer, items, "get").result).toEqual({ x: 1, y: 2, b: 4, z: "z", c: "c", d: 4, w: "w" });
  });
});

describe("nullable numbers", () => {
  const built = build(`
    import { Table, now } from "@radical/sdk";
    enum Kind { A, B }
    type Seat = { label: string; until?: number; count: i32 | null; open?: boolean; big?: i64; kind?: Kind };
    const seats = new Table<Seat>("seats");
    export function hold(label: string, until?: number): Seat {
      const seat: Seat = { label, until, count: 3, open: true, big: 9007199254740993, kind: Kind.B };
      seats.put(label, seat);
      return seat;
    }
    export function isHeld(label: string, time: f64): bool {
      const seat = seats.get(label)!;
      const until = seat.until;
      return until != null && until > time;
    }
    export function same(a?: number, b?: number): bool { return a === b; }
    export function different(a: i32 | null, b: i32): bool { return a != b; }
    export function sum(all: (i32 | null)[]): i32 {
      let total = 0;
      for (let i = 0; i < all.length; i++) { const one = all[i]; if (one !== null) total += one; }
      return total;
    }
    export function choose(yes: bool): f64 | null { return yes ? 2 : null; }
    export function add(a?: number): number { return a! + 1; }
    export function half(n: i32): number | null { if (n % 2 == 1) return null; return (n / 2) as i32; }
    export function chain(n: i32): string {
      let found: i32 | null = null;
      for (let i = 0; i < n; i++) if (i * i > n && found == null) found = i;
      if (found == null) return "none";
      const value = found;
      seats.put(value.toString(), { label: "x", count: found });
      return \`at \${value}\`;
    }
  `);

  test("are numbers or null", () => {
    expect(isSliced(built)).toBe(true);
    expect(recordsOf(built)).toEqual([
      "Seat { label: string; until?: f64; count: i32 | null; open?: bool; big?: i64; kind?: i32 }",
    ]);
    const items: Items = new Map();
    expect(call(built, items, "hold", { label: "a", until: 5 }).result).toEqual({
      label: "a",
      until: 5,
      count: 3,
      open: true,
      big: 9007199254740992,
      kind: 1,
    });
    expect(call(built, items, "isHeld", { label: "a", time: 4 }).result).toBe(true);
    expect(call(built, items, "isHeld", { label: "a", time: 6 }).result).toBe(false);
    expect(call(built, items, "hold", { label: "b" }).result).not.toHaveProperty("until");
    expect(call(built, items, "isHeld", { label: "b", time: 4 }).result).toBe(false);
    expect(call(built, items, "sum", { all: [1, null, 5] }).result).toBe(6);
    expect(call(built, items, "choose", { yes: true }).result).toBe(2);
    expect(call(built, items, "choose", { yes: false }).result).toBe(null);
    expect(call(built, items, "add", { a: 2.5 }).result).toBe(3.5);
    expect(call(built, items, "add").outcome.kind).toBe("trap");
    expect(call(built, items, "half", { n: 5 }).result).toBe(null);
    expect(call(built, items, "half", { n: 6 }).result).toBe(3);
    expect(call(built, items, "chain", { n: 10 }).result).toBe("at 4");
    expect(call(built, items, "chain", { n: 0 }).result).toBe("none");
  });

  test("are compared as numbers", () => {
    const items: Items = new Map();
    expect(call(built, items, "same", { a: 1.5, b: 1.5 }).result).toBe(true);
    expect(call(built, items, "same", { a: 1.5 }).result).toBe(false);
    expect(call(built, items, "same").result).toBe(true);
    expect(call(built, items, "different", { a: 1, b: 1 }).result).toBe(false);
    expect(call(built, items, "different", { a: null, b: 1 }).result).toBe(true);
  });

  test("that may be null are no numbers", () => {
    expect(
      problems(`export function h(a?: number): number {
        return a + 1;
      }`),
    ).toHaveLength(1);
    expect(
      problems(`function f(a: f64): f64 { return a; }
      export function h(a?: number): number { return f(a); }`),
    ).toEqual(["2: type_error: This value can be null, and its place can't take null."]);
  });
});

describe("unions of texts", () => {
  const source = `
    import { Table } from "@radical/sdk";
    type Status = "free" | "held" | "sold";
    type Wide = Status | "broken";
    type List<T> = T[];
    interface Seat { label: string; status: Status; before: List<Wide>; next?: Status | null }
    const seats = new Table<Seat>("seats");
    export function put(label: string, status: Status, before: Wide[] = []): Seat {
      const seat: Seat = { label, status, before };
      seats.put(label, seat);
      return seat;
    }
    export function hold(label: string): Status {
      const seat = seats.get(label)!;
      if (seat.status === "free") { seat.before.push(seat.status); seat.status = "held"; }
      seats.put(label, seat);
      return seat.status;
    }
    export function wrong(label: string, text: string): void {
      const seat = seats.get(label)!;
      seat.status = text;
      seats.put(label, seat);
    }
    export function answer(text: string): "yes" | "no" { return text; }
  `;
  const built = build(source);

  test("are texts that are checked at the boundary", () => {
    expect(recordsOf(built)).toEqual([
      'Seat { label: string; status: "free" | "held" | "sold"; before: ("free" | "held" | "sold" | "broken")[]; next?: "free" | "held" | "sold" }',
    ]);
    const items: Items = new Map();
    call(built, items, "put", { label: "a", status: "free", before: ["broken"] });
    expect(call(built, items, "hold", { label: "a" }).result).toBe("held");
    expect(valueToJson([...items.values()][0]!)).toBe('{"label":"a","status":"held","before":["broken","free"]}');
    expect(() => call(built, items, "put", { label: "a", status: "lost" })).toThrow(
      '"status" must be one of "free", "held", "sold", not "lost".',
    );
    expect(() => call(built, items, "put", { label: "a", status: "free", before: ["x"] })).toThrow('"before[0]"');
  });

  test("another text is neither stored, nor read, nor answered", () => {
    const items: Items = new Map();
    call(built, items, "put", { label: "a", status: "free" });
    expect(call(built, items, "wrong", { label: "a", text: "sold" }).outcome.kind).toBe("result");
    expect(call(built, items, "wrong", { label: "a", text: "lost" }).outcome).toMatchObject({ kind: "trap" });
    expect(call(built, items, "answer", { text: "yes" }).result).toBe("yes");
    expect(call(built, items, "answer", { text: "maybe" }).outcome.kind).toBe("trap");
    const loose = build(source.replace('"free" | "held" | "sold"', "string").replace('Status | "broken"', "string"));
    call(loose, items, "put", { label: "a", status: "gone" });
    const read = call(built, items, "hold", { label: "a" });
    expect(read.outcome).toMatchObject({ kind: "trap" });
    expect(JSON.stringify(read.outcome)).toContain("status");
    expect(JSON.stringify(read.outcome)).toContain("free");
  });

  test("items of tables are records, where texts are checked", () => {
    expect(
      problems(`import { Table } from "@radical/sdk";
      const all = new Table<("a" | "b")[]>("all");
      export function h(): void { all.delete("a"); }`),
    ).toEqual([
      '2: unsupported_type: The items of table all can\'t be of type ("a" | "b")[], because Radical checks texts of a union in records only.',
    ]);
  });
});

describe("maps of texts", () => {
  const source = (kind: string): string => `
    import { Table } from "@radical/sdk";
    type Coupon = { code: string; left: i32 };
    type Event = { id: string; coupons: ${kind}<string, Coupon>; counts: ${kind}<string, number>; deep?: ${kind}<string, string[]> };
  `;
  const built = build(`${source("Record")}
    const events = new Table<Event>("events");
    const counts = new Table<Record<string, i32>>("counts");
    export function create(id: string, counts: { [key: string]: number }): Event {
      const event: Event = { id, coupons: { first: { code: "first", left: 2 } }, counts };
      events.put(id, event);
      return event;
    }
    export function use(id: string, code: string): i32 {
      const event = events.get(id)!;
      const coupon = event.coupons[code];
      if (!coupon) return -1;
      coupon.left--;
      events.put(id, event);
      return coupon.left;
    }
    export function add(id: string, code: string, left: i32): string {
      const event = events.get(id)!;
      event.coupons[code] = { code, left };
      const known = event.counts[code];
      event.counts[code] = known == null ? 1 : known + 1;
      const deep: Record<string, string[]> = { all: event.coupons.keys(), none: [] };
      event.deep = deep;
      events.put(id, event);
      return event.coupons.keys().join(" ") + " " + event.coupons.size.toString();
    }
    export function follow(id: string, name: string): i32 {
      const event = events.get(id);
      if (event == null) return 0;
      const coupon = event.coupons[name];
      const found = counts.get(coupon == null ? "none" : coupon.code);
      if (found == null) { counts.put(name, { a: 1, "b c": 2 }); return 1; }
      const a = found["a"];
      return a == null ? 5 : a + found.size;
    }
    export function sum(map: Record<string, i32>): i32 {
      let total = 0;
      const values = map.values();
      for (let i = 0; i < values.length; i++) total += values[i];
      return total;
    }
    export function plain(a: string): i32 { const map = new Map<string, i32>(); map["x"] = 3; return map[a]; }
    export function same(map: Map<string, boolean | null>): Map<string, boolean | null> { return map; }
  `);

  test("are objects in JSON, in the order in which their keys were added", () => {
    expect(isSliced(built)).toBe(true);
    expect(recordsOf(built)[0]).toBe(
      "Event { id: string; coupons: Record<string, Coupon>; counts: Record<string, f64>; deep?: Record<string, string[]> }",
    );
    const items: Items = new Map();
    const text = (): string => valueToJson(items.get([...items.keys()].find((unit) => unit.includes("events"))!)!);
    call(built, items, "create", { id: "e", counts: { z: 1, a: 2.5 } });
    expect(text()).toBe('{"id":"e","coupons":{"first":{"code":"first","left":2}},"counts":{"z":1,"a":2.5}}');
    expect(call(built, items, "use", { id: "e", code: "first" }).result).toBe(1);
    expect(call(built, items, "use", { id: "e", code: "other" }).result).toBe(-1);
    expect(call(built, items, "add", { id: "e", code: "z", left: 4 }).result).toBe("first z 2");
    expect(text()).toBe(
      '{"id":"e","coupons":{"first":{"code":"first","left":1},"z":{"code":"z","left":4}},"counts":{"z":2,"a":2.5},"deep":{"all":["first","z"],"none":[]}}',
    );
    expect(call(built, items, "follow", { id: "e", name: "z" }).result).toBe(1);
    expect(call(built, items, "follow", { id: "e", name: "z" }).result).toBe(3);
    expect(call(built, items, "sum", { map: { a: 1, b: 2 } }).result).toBe(3);
    expect(call(built, items, "same", { map: { a: null, __proto__: true, b: false } }).result).toEqual({
      a: null,
      b: false,
    });
  });

  test("an entry of a Map is what it is in AssemblyScript", () => {
    expect(call(built, new Map(), "plain", { a: "x" }).result).toBe(3);
    expect(call(built, new Map(), "plain", { a: "y" }).outcome.kind).toBe("trap");
  });

  test("what is under no text, or under one of a union, is told", () => {
    expect(problems("export function h(map: Record<i32, string>): void {}")).toEqual([
      "1: unsupported_type: The parameter map of handler h can't be of type Record<i32,string>, because such a value can't be sent or stored.",
    ]);
    expect(problems('export function h(map: Record<"a" | "b", string>): void {}')).toHaveLength(1);
  });
});

test("a list in parentheses of a conditional is not taken for parameters, whatever function comes later", () => {
  const built = build(`
    function first(f: (text: string) => string): string { return f("a"); }
    export function h(n: i32): string {
      const texts: string[] = [(n > 1 ? ([n, 2].includes(n) ? "two" : "many") : "one"), first((x: string): string => x)];
      return texts.join(" ");
    }`);
  expect(call(built, new Map(), "h", { n: 2 }).result).toBe("two a");
});

test("nullable numbers and entries stand in the forms that ask for null", () => {
  const built = build(`
    import { Table, abort } from "@radical/sdk";
    type Part = { size?: number; count: i32; parts?: Part[] };
    type Item = { id: string; part?: Part; left?: i32; marks: Record<string, number>; kind: "a" | "b" };
    const items = new Table<Item>("items");
    export function put(item: Item): void { items.put(item.id, item); }
    export function held(id: string, time: number): boolean { const item = items.get(id)!; return (item.left ?? 0) < time; }
    export function count(id: string): i32 | null { return items.get(id)?.part?.count; }
    export function size(id: string): number { return items.get(id)?.part?.size ?? -1; }
    export function mark(id: string, name: string): number {
      const item = items.get(id) ?? abort(404, "no_item", "no item");
      item.marks[name] = (item.marks[name] ?? 0) + 1;
      item.left ??= 7;
      items.put(id, item);
      return item.marks[name] ?? -1;
    }
    export function sum(id: string): number {
      let total = 0.0;
      const marks = items.get(id)!.marks;
      for (const name of marks.keys()) total += marks[name] ?? 0;
      for (const part of items.get(id)?.part?.parts ?? []) total += part.size ?? 0;
      return total;
    }
    export function most(limit?: number): number { const { length } = "abc"; return Math.min(limit ?? 20, length as f64); }
    export function constant(): Item {
      return { id: "c", marks: {}, kind: "a" as const };
    }
    export function over(all: i32[], n: i32): i32 | null { return all.find((one) => one > n); }
    function nameOf({ id, kind }: { id: string; kind: "a" | "b" }): string { return kind === "a" ? id : kind; }
    export function named(id: string, kind: "a" | "b"): string { return nameOf({ id, kind }); }
  `);
  expect(isSliced(built)).toBe(true);
  const items: Items = new Map();
  call(built, items, "put", { item: { id: "x", marks: {}, kind: "a" } });
  call(built, items, "put", {
    item: {
      id: "y",
      part: { size: 2.5, count: 3, parts: [{ size: 1, count: 1 }, { count: 1 }] },
      left: 9,
      marks: { a: 2 },
      kind: "b",
    },
  });
  expect(call(built, items, "held", { id: "x", time: 1 }).result).toBe(true);
  expect(call(built, items, "held", { id: "y", time: 1 }).result).toBe(false);
  expect(call(built, items, "count", { id: "x" }).result).toBe(null);
  expect(call(built, items, "count", { id: "y" }).result).toBe(3);
  expect(call(built, items, "size", { id: "none" }).result).toBe(-1);
  expect(call(built, items, "size", { id: "y" }).result).toBe(2.5);
  expect(call(built, items, "mark", { id: "x", name: "a" }).result).toBe(1);
  expect(call(built, items, "mark", { id: "x", name: "a" }).result).toBe(2);
  expect(call(built, items, "held", { id: "x", time: 7 }).result).toBe(false);
  expect(call(built, items, "sum", { id: "y" }).result).toBe(3);
  expect(call(built, items, "most").result).toBe(3);
  expect(call(built, items, "constant").result).toEqual({ id: "c", marks: {}, kind: "a" });
  expect(call(built, items, "over", { all: [1, 0, 5, 7], n: 4 }).result).toBe(5);
  expect(call(built, items, "over", { all: [0], n: 4 }).result).toBe(null);
  expect(call(built, items, "named", { id: "q", kind: "b" }).result).toBe("b");
});

describe("values of every shape", () => {
  const built = build(`
    import { Table } from "@radical/sdk";
    enum Kind { A, B, C }
    type Inner = { a?: i32; b: string[]; c: "x" | "y"; d: f64 | null; e?: Inner };
    interface Base { inner: Inner; kind?: Kind }
    interface All extends Base {
      list: Inner[];
      map: Record<string, Inner>;
      numbers: Map<string, i64 | null>;
      more?: Record<string, boolean>;
      texts: ("x" | "y")[];
      maybe: Inner | null;
      flag?: boolean;
      big?: u64;
      small: i8 | null;
      nested: { [key: string]: { z?: "k"; rows: (f32 | null)[] } };
    }
    const all = new Table<All>("all");
    const maps = new Table<Record<string, string | null>>("maps");
    export function save(value: All, map: Record<string, string | null>): All { all.put("k", value); maps.put("k", map); return value; }
    export function load(): All | null { return all.get("k"); }
    export function again(): void { all.put("k", all.get("k")!); }
    export function map(): Record<string, string | null> | null { return maps.get("k"); }
  `);
  const pools = {
    strings: ["", "a", "b c", "\u00e9\u{1F600}", "__proto__", "7"],
    integers: [0, 1, 2, -1, 100, 70_000],
  };
  const { parameters } = built.handlers.find(({ name }) => name === "save")!;

  test("are the same on both sides, in both directions", () => {
    expect(isSliced(built)).toBe(true);
    const json = fc.record(
      Object.fromEntries(parameters.map(({ name, type }) => [name, arbitraryJson(type, built.records, pools, 5)])),
    );
    fc.assert(
      fc.property(json, (given) => {
        const items: Items = new Map();
        const encoded = encodeArguments(parameters, built.records, given);
        if (encoded.kind === "problem") throw new Error(encoded.problem.message);
        const { outcome } = call(built, items, "save", given);
        const value = outcome.kind === "result" ? valueToJson(outcome.value) : JSON.stringify(outcome);
        expect(valueToJson(encoded.bytes)).toContain(`"value":${value}`);
        const stored = (): string[] => [...items.values()].map((bytes) => valueToJson(bytes));
        const before = stored();
        expect(before[0]).toBe(value);
        call(built, items, "again");
        expect(stored()).toEqual(before);
        const loaded = call(built, items, "load").outcome;
        expect(loaded.kind === "result" && valueToJson(loaded.value)).toBe(value);
        const map = call(built, items, "map").outcome;
        expect(map.kind === "result" && valueToJson(map.value)).toBe(before[1]);
      }),
      { numRuns: 60 },
    );
  });

  test("a map that has a key twice is not read", () => {
    const items: Items = new Map([
      [unitId("maps", "k"), new CborWriter().map(2).text("a").text("1").text("a").text("2").finish()],
    ]);
    expect(JSON.stringify(call(built, items, "map").outcome)).toContain("maps/k: the key a is there twice");
  });
});

test("a text that is written is one of its type", () => {
  expect(
    problems(`type Status = "free" | "held";
      type Seat = { status: Status; before: Status[]; next?: Status };
      function next(status: Status): Status { return "lost1"; }
      class Box { constructor(public status: Status, public old: Status = "lost2") {} field: Status = "lost3"; }
      export function h(text: string, status: Status = "lost4"): Status {
        const seat: Seat = { status: "lost5", before: ["free", "lost6"], next: text == "x" ? "lost7" : "held" };
        seat.status = "lost8";
        if (seat.status == "lost9" || "lost10" !== seat.before[0]) next("lost11");
        const local = seat.status;
        switch (local) { case "free": break; case "lost12": break; }
        if (text == "other") new Box("lost13");
        return text;
      }`),
  ).toEqual(
    [3, 4, 4, 5, 6, 6, 6, 7, 8, 8, 8, 10, 11].map(
      (line, index) =>
        `${line}: unknown_text: The text "lost${index + 1}" is not one of the type's texts: "free", "held".`,
    ),
  );
});
