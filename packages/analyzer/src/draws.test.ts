/**
 * Draws are counted by call site: what one draws does not depend on whether another does, in f and in f^rw.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { explore } from "./testing/oracle.ts";
import { deriveNothing } from "./testing/record-mode.ts";
import { call } from "./testing/run.ts";

function build(files: Readonly<Record<string, string>>): BuildResult {
  const built = buildWith({ ...buildInput(files), optimize: false }, slicer);
  expect(built.ok).toBe(true);
  expect(built.diagnostics.filter(({ code }) => code !== "compiler_warning")).toEqual([]);
  return built;
}

/** Draws in every kind of place. Each is written where the next one of its kind stands: `label` tells them apart. */
const PLACES = `
  import { Table, random, uuid } from "@radical/sdk";
  import * as sdk from "@radical/sdk";
  export class Item { text: string = ""; }
  const items = new Table<Item>("items");
  const out: string[] = [];
  let left: i32 = -1;
  function leave(site: i32): void { left = site; }
  function note(label: string, text: string): void { out.push(label + "=" + text); }
  function helper(label: string): void { note(label, random().toString()); }
  @inline function inlined(label: string): void { note(label, uuid()); }
  function generic<T>(label: string, value: T): void { note(label + value.toString(), uuid()); }
  class Made {
    text: string;
    constructor(label: string) { this.text = uuid(); note(label, this.text); }
    get lucky(): f64 { return random(); }
  }
  class Derived extends Made {}
  function lambda(): (label: string) => void {
    return (label: string): void => { note(label, random().toString()); };
  }
  function defaults(label: string, text: string = uuid()): void { note(label, text); }
  export function places(left: i32, n: i32 = <i32>(random() * 1000)): string[] {
    leave(left);
    out.length = 0;
    note("parameter", n.toString());
    for (let i = 0; i < 3; i++) {
      note("loop" + i.toString(), random().toString());
      helper("helper" + i.toString());
      inlined("inlined" + i.toString());
      generic<i32>("generic", i);
      generic<f64>("generic", i);
    }
    inlined("inlined again");
    note("twice", random().toString() + " " + random().toString());
    note("template", \`\${random()} \${uuid()}\`);
    note("namespace", sdk.uuid());
    note("made", new Made("in made").text + new Derived("in derived").lucky.toString());
    const draw = lambda();
    draw("lambda"); draw("lambda again");
    defaults("default"); defaults("default again"); defaults("given", "");
    if (n >= 0) note("condition", random().toString()); else note("condition", uuid());
    const value = random;
    note("value", value().toString());
    return out;
  }
`;

let sites = 0;
/** The same with a switch at each draw, which leaves it out. */
const SWITCHED = PLACES.replaceAll(/(?:sdk\.)?(random|uuid)\(\)/g, (text, source) => {
  return `(left == ${sites++} ? ${source === "random" ? "0.5" : "'c'"} : ${text})`;
});

describe("a draw that is left out changes those of its own call site only", () => {
  const built = buildWith({ ...buildInput({ "handlers/places.ts": SWITCHED }), optimize: false }, deriveNothing);
  const drawn = (left: number): string[] => call(built, new Map(), "places", { left }).result as string[];
  const all = drawn(-1);

  test("every execution of a call draws anew, numbers and ids, apart from all others", () => {
    expect(built.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(sites).toBe(16);
    const values = all.flatMap((line) => line.slice(line.indexOf("=") + 1).split(" "));
    expect(new Set(values).size).toBe(values.length);
    expect(drawn(-1)).toEqual(all);
  });

  test("in every kind of place", () => {
    const changed = Array.from({ length: sites }, (_, site) => {
      const without = drawn(site);
      expect(without.length).toBe(all.length);
      return all
        .flatMap((line, at) => (line === without[at] ? [] : [line.slice(0, line.indexOf("="))]))
        .map((label) => label.replace(/(\d(\.0)?| again)$/, ""));
    }).map((labels) => [...new Set(labels)].join(", "));
    expect(changed.toSorted()).toEqual(
      [
        ..."condition default generic helper inlined lambda loop namespace parameter template template twice twice".split(
          " ",
        ),
        // Never reached, and the constructor and getter of two classes.
        "",
        "in made, in derived, made",
        "made",
      ].toSorted(),
    );
  });
});

describe("read/write-set functions draw what their handlers draw", () => {
  test("each at its place, whatever is left out around it", () => {
    const built = build({
      "lib/ids.ts": `
        import { uuid, random } from "@radical/sdk";
        export function id(): string { return uuid(); }
        export function pick<T>(from: T[]): T { return from[<i32>(random() * from.length)]; }
        @inline export function short(): string { return id().slice(0, 8); }
      `,
      "handlers/h.ts": `
        import { Table, random, uuid } from "@radical/sdk";
        import { id, pick, short } from "../lib/ids";
        export class Item { text: string = ""; n: i32 = 0; }
        const items = new Table<Item>("items");
        const log = new Table<Item>("log");
        class Made { text: string; constructor() { this.text = uuid(); } }
        export function mixed(a: string, n: i32, extra: string = uuid().slice(0, 2)): void {
          const unused = uuid();
          let noise = 0.0;
          for (let i = 0; i < n; i++) noise += random();
          for (let i = 0; i < n; i++) {
            const dropped = id();
            if (i % 2 == 0) items.put(id(), new Item());
          }
          log.put(short() + pick<string>(["a", "b", "c"]) + pick<i32>([1, 2, 3]).toString(), new Item());
          items.get(extra + new Made().text);
          log.get(noise > 1.0 ? a : extra);
        }
        export function unneededDefault(a: string, b: string = items.get("default")!.text + uuid(), c: string = uuid()): void {
          log.get(a);
        }
        export function all(a: string): void {
          mixed(a, 1);
          unneededDefault(a);
        }
        export function shared(depth: i32 = <i32>(random() * 4), key: string = uuid()): string {
          items.get(key);
          return depth <= 0 ? "" : shared(depth - 1);
        }
      `,
    });
    expect(built.handlers.map(({ plan }) => plan.kind)).toEqual(Array(4).fill("sliced"));
    const { rwSource } = built.handlers.find(({ name }) => name === "mixed")!;
    expect(rwSource).toContain('uuidAt("lib/ids.ts:3:47")');
    expect(rwSource).toContain('uuidAt("handlers/h.ts:8:66")');
    expect(rwSource).not.toContain('uuidAt("handlers/h.ts:9:');
    const found = explore(built, { strings: ["a", "b"], integers: [0, 1, 2, 3], runs: 150, callsPerRun: 6 });
    expect([found.extraReads, found.extraWrites]).toEqual([0, 0]);
    expect(found.results).toBeGreaterThan(200);
  });

  test("of random shapes", () => {
    const bodies = fc.sample(fc.array(shape(3), { minLength: 2, maxLength: 6 }), { numRuns: 25, seed: 3 });
    const handlers = bodies.map(
      (body, index) =>
        `export function h${index}(n: i32): void { let x = 0.0; let s = ""; ${body.join(" ")} items.get(helper(n)); }`,
    );
    const built = build({
      "handlers/h.ts": `
        import { Table, random, uuid } from "@radical/sdk";
        const items = new Table<string>("items");
        function helper(n: i32): string { return n > 1 ? uuid() : random().toString(); }
        ${handlers.join("\n")}`,
    });
    expect(built.handlers.filter(({ plan }) => plan.kind !== "sliced")).toEqual([]);
    for (const { name } of built.handlers) {
      const found = explore(built, {
        strings: ["a"],
        integers: [0, 1, 2, 3],
        runs: 10,
        callsPerRun: 3,
        handlers: [name],
      });
      expect([name, found.traps]).toEqual([name, 0]);
    }
  });
});

/** Statements that draw for keys, for conditions, and for nothing. */
function shape(depth: number): fc.Arbitrary<string> {
  const simple = fc.constantFrom(
    "x += random();",
    "s = uuid();",
    "s = helper(n);",
    "uuid();",
    "items.get(uuid());",
    "items.put(helper(2), s);",
    "items.get(s + 'k');",
    "items.has(x.toString());",
  );
  if (depth === 0) return simple;
  const inner = fc.array(shape(depth - 1), { minLength: 1, maxLength: 3 }).map((parts) => parts.join(" "));
  return fc.oneof(
    simple,
    inner.map((body) => `if (random() < 0.5) { ${body} }`),
    inner.map((body) => `if (n > 1) { ${body} } else { x = random(); }`),
    inner.map((body) => `for (let i = 0; i < n; i++) { ${body} }`),
    inner.map((body) => `for (let i = 0; i < 3; i++) { if (random() < 0.3) break; ${body} }`),
  );
}
