/** Integers that do not fit end the handler, with the place; what is said about numbers at build time. */
import { deriveAccessSet } from "@radical/wasm-host";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildWith, type BuildResult } from "./pipeline.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { call, invocation, moduleOf, snapshotOf } from "./testing/run.ts";

function build(text: string): BuildResult {
  return buildWith({ ...buildInput({ "handlers/a.ts": text }), optimize: false }, slicer);
}

/** Codes of a build, with the text at their places. */
function said(text: string): string[] {
  return build(text).diagnostics.map(({ code, primary }) => `${code}: ${text.slice(primary.start, primary.end)}`);
}

const SIZES = { i8: 8n, i16: 16n, i32: 32n, i64: 64n } as const;
type Size = keyof typeof SIZES;
const NAMES = Object.keys(SIZES) as readonly Size[];

/** The result of an operation on whole numbers, and what the handler makes of it. */
interface Operation {
  readonly source: string;
  readonly result: (x: bigint, y: bigint) => bigint;
}

const plus = (by: bigint) => (x: bigint) => x + by;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  add: { source: "const r: Size = x + y; return text(r);", result: (x, y) => x + y },
  subtract: { source: "const r: Size = x - y; return text(r);", result: (x, y) => x - y },
  multiply: { source: "const r: Size = x * y; return text(r);", result: (x, y) => x * y },
  addConstant: { source: "const r: Size = x + 100; return text(r);", result: plus(100n) },
  constantAdd: { source: "const r: Size = -7 + x; return text(r);", result: plus(-7n) },
  subtractConstant: { source: "const r: Size = x - 100; return text(r);", result: plus(-100n) },
  constantSubtract: { source: "const r: Size = 5 - x; return text(r);", result: (x) => 5n - x },
  lowConstantSubtract: { source: "const r: Size = -5 - x; return text(r);", result: (x) => -5n - x },
  twice: { source: "const r: Size = x * 2; return text(r);", result: (x) => x * 2n },
  timesLess: { source: "const r: Size = x * -3; return text(r);", result: (x) => x * -3n },
  opposite: { source: "const r: Size = -x; return text(r);", result: (x) => -x },
  timesMinusOne: { source: "const r: Size = x * -1; return text(r);", result: (x) => -x },
  before: { source: "let z = x; const was = z++; return text(z) + text(was);", result: plus(1n) },
  counted: { source: "let z = x; return text(++z);", result: plus(1n) },
  less: { source: "let z = x; z--; return text(z);", result: plus(-1n) },
  lessBefore: { source: "let z = x; return text(--z);", result: plus(-1n) },
  compound: { source: "let z = x; z += y; return text(z);", result: (x, y) => x + y },
  compoundLess: { source: "let z = x; z -= y; return text(z);", result: (x, y) => x - y },
  compoundTimes: { source: "let z = x; z *= y; return text(z);", result: (x, y) => x * y },
  field: {
    source: "const box = new Box(); box.value = x; box.value += y; return text(box.value);",
    result: (x, y) => x + y,
  },
  fieldCounted: {
    source: "const box = new Box(); box.value = x; box.value++; return text(box.value);",
    result: plus(1n),
  },
  element: { source: "const list = [x]; list[0] -= y; return text(list[0]);", result: (x, y) => x - y },
  elementCounted: {
    source: "const list = [x]; const was = list[0]--; return text(list[0]) + text(was);",
    result: plus(-1n),
  },
  lambda: { source: "return text([x, y].reduce((a, b) => a + b, 0));", result: (x, y) => x + y },
  method: { source: "return text(Box.sum(x, y));", result: (x, y) => x + y },
  square: { source: "return text(x ** 2);", result: (x) => x * x },
  masked: {
    source: "const r: Size = (x & 15) + (y & 15); return text(r);",
    result: (x, y) => BigInt.asUintN(4, x) + BigInt.asUintN(4, y),
  },
};

/** Bits of the result: powers of small integers have 32. */
function bitsOf(name: string, size: Size): number {
  return name === "square" ? Math.max(32, Number(SIZES[size])) : Number(SIZES[size]);
}

function programOf(size: Size): string {
  const handlers = Object.entries(OPERATIONS).map(
    ([name, { source }]) =>
      `export function ${name}(a: string, b: string): string {
        const x = i64.parse(a) as ${size}; const y = i64.parse(b) as ${size}; ${source.replaceAll("Size", size)}
      }`,
  );
  return `function text(n: i64): string { return n.toString() + " "; }
    class Box { value: ${size} = 0; static sum(a: ${size}, b: ${size}): ${size} { return a + b; } }
    ${handlers.join("\n").replaceAll("reduce(", `reduce<${size}>(`)}`;
}

const nearEdges = (bits: bigint): fc.Arbitrary<bigint> => {
  const most = 2n ** (bits - 1n);
  const near = fc.bigInt({ min: 0n, max: 12n });
  return fc.oneof(
    near.map((by) => most - 1n - by),
    near.map((by) => by - most),
    fc.bigInt({ min: -12n, max: 12n }),
    fc.bigInt({ min: -most, max: most - 1n }),
    fc.bigInt({ min: -(2n ** (bits / 2n)), max: 2n ** (bits / 2n) }),
  );
};

describe.each(NAMES)("%s", (size) => {
  const bits = SIZES[size];
  const built = build(programOf(size));
  const module = built.ok ? moduleOf(built) : null;

  test("builds", () => expect(built.diagnostics).toEqual([]));

  test.each(Object.keys(OPERATIONS))("%s: the exact result, or a trap", (name) => {
    expect(module).not.toBeNull();
    const { result } = OPERATIONS[name]!;
    fc.assert(
      fc.property(nearEdges(bits), nearEdges(bits), (x, y) => {
        const exact = result(x, y);
        const isFitting = exact === BigInt.asIntN(bitsOf(name, size), exact);
        const { outcome, result: answer } = call(built, new Map(), name, { a: String(x), b: String(y) });
        if (!isFitting) {
          expect(outcome).toMatchObject({ kind: "trap", code: "integer_overflow" });
          return;
        }
        expect(outcome.kind).toBe("result");
        expect(String(answer).split(" ")[0]).toBe(String(exact));
        if (name === "before" || name === "elementCounted") expect(String(answer).split(" ")[1]).toBe(String(x));
      }),
      { numRuns: 60 },
    );
  });
});

describe("an integer in a place with another sign", () => {
  const ALL = { i8: 8n, u8: 8n, i16: 16n, u16: 16n, i32: 32n, u32: 32n, i64: 64n, u64: 64n } as const;
  type Name = keyof typeof ALL;
  const names = Object.keys(ALL) as readonly Name[];
  const isSigned = (name: Name): boolean => name.startsWith("i");
  const within = (name: Name, value: bigint): boolean =>
    value === (isSigned(name) ? BigInt.asIntN(Number(ALL[name]), value) : BigInt.asUintN(Number(ALL[name]), value));
  const pairs = names.flatMap((from) =>
    names.filter((to) => isSigned(from) !== isSigned(to) && ALL[from] <= ALL[to]).map((to) => [from, to] as const),
  );
  const built = build(
    pairs
      .map(
        ([from, to]) => `export function ${from}To${to}(x: ${from}): string { const y: ${to} = x; return y.toString(); }
          function take${from}${to}(y: ${to}): string { return y.toString(); }
          export function ${from}Gives${to}(x: ${from}): string { return take${from}${to}(x); }`,
      )
      .join("\n"),
  );

  test("builds", () => expect(built.diagnostics).toEqual([]));

  test.each(pairs)("%s to %s: the same number, or a trap", (from, to) => {
    const bits = ALL[from];
    const edges = isSigned(from) ? [-(2n ** (bits - 1n)), -1n, 0n, 2n ** (bits - 1n) - 1n] : [0n, 2n ** bits - 1n];
    const near = edges.flatMap((edge) => [edge - 1n, edge, edge + 1n]);
    const middle = [2n ** (bits - 1n) - 1n, 2n ** (bits - 1n)];
    for (const value of [...near, ...middle].filter((one) => within(from, one)))
      for (const handler of [`${from}To${to}`, `${from}Gives${to}`]) {
        const x = bits === 64n ? String(value) : Number(value);
        const { outcome, result } = call(built, new Map(), handler, { x });
        if (within(to, value)) expect([value, result]).toEqual([value, String(value)]);
        else expect(outcome).toMatchObject({ kind: "trap", code: "integer_overflow" });
      }
  });

  test("constants are told, casts and operations on bits are meant", () => {
    expect(said("export function none(): u32 { const n: u32 = -1; return n; }")).toEqual(["constant_overflow: -1"]);
    expect(said("export function most(): i32 { return 3_000_000_000; }")).toEqual(["constant_overflow: 3_000_000_000"]);
    const text = `export function mixed(a: i32, b: u32): i32 { const c: i32 = a ^ b; return ((c << b) & 0xffffffff) + (b as i32); }`;
    const mixed = build(text);
    expect(mixed.diagnostics).toEqual([]);
    const a = -5;
    const b = 4_000_000_000;
    const expected = (((a ^ b) << b) & 0xffffffff) + (b | 0);
    expect(call(mixed, new Map(), "mixed", { a, b }).result).toBe(expected);
  });

  test("both sides of a comparison and of a sum have one sign", () => {
    const both = build(`export function same(a: i32, b: u32): bool { return a == b; }
      export function sum(a: i32, b: u32): i64 { return a + b; }`);
    for (const handler of ["same", "sum"]) {
      const { outcome } = call(both, new Map(), handler, { a: -1, b: 4_294_967_295 });
      expect(outcome).toMatchObject({ kind: "trap", code: "integer_overflow" });
    }
  });
});

describe("a difference of numbers without a sign", () => {
  test.each([
    ["u8", "export function run(a: u8[]): u8[] { return a.sort((x, y) => x - y); }"],
    ["u32", "export function run(a: u32[]): u32[] { return a.sort((x, y) => x - y); }"],
    ["u64", "export function run(a: u64[]): u64[] { return a.toSorted((x, y) => x - y); }"],
  ])("does not sort: %s", (_, text) => expect(said(text)).toEqual(["type_error: x - y"]));

  test.each([
    ["export function run(a: u32, b: u32): f64 { return a - b; }", ["type_error: a - b"]],
    ["export function run(a: u8, b: u8): i32 { return (a - b) as i32; }", ["type_error: a - b"]],
    ["export function run(a: u32): f64 { return -a; }", ["type_error: -a"]],
    ["export function run(a: u32, b: u32): i32 { return (a - b) as i32; }", []],
    ["export function run(a: u32, b: u32): u32 { return a - b; }", []],
    ["export function run(a: u32): f64 { return (a | 8) - (a & 7); }", ["type_error: (a | 8) - (a & 7)"]],
    ["export function run(a: u8): i32 { return 300 - a; }", []],
  ])("%s", (text, expected) => expect(said(text)).toEqual(expected));

  test("sorts by the advice of its message", () => {
    const built = build(`export function small(a: u8[]): u8[] { return a.sort((x, y) => (x as i32) - (y as i32)); }
      export function large(a: u32[]): u32[] { return a.sort((x, y) => (x as i64) - (y as i64)); }`);
    expect(call(built, new Map(), "small", { a: [200, 3, 255, 0] }).result).toEqual([0, 3, 200, 255]);
    expect(call(built, new Map(), "large", { a: [200, 3, 4_294_967_295, 0] }).result).toEqual([
      0, 3, 200, 4_294_967_295,
    ]);
  });
});

test("the trap says the place", () => {
  const built = build("export function next(n: i32): i32 {\n  return 1 +\n    (n * 3);\n}");
  expect(call(built, new Map(), "next", { n: 1_000_000_000 }).outcome).toEqual({
    kind: "trap",
    code: "integer_overflow",
    message: "the result does not fit into its type of integer (handlers/a.ts:3:6)",
  });
});

describe("an i64 that meets an f64", () => {
  const text = `import { Table, now } from "@radical/sdk";
type Offer = { until: number; changedAt?: number };
const offers = new Table<Offer>("offers");
export function sum(a: i64, b: f64): f64 { return a > b ? a : a + b; }
export function place(a: i64): f64 {
  return a;
}
export function renew(id: string): number {
  const offer = offers.get(id) ?? { until: 0 };
  const at = now();
  if (offer.until < at) offer.until = at + 60_000;
  offer.changedAt = at;
  offers.put(id, offer);
  return offers.has(offer.until.toString()) ? 0 : offer.until;
}`;
  const built = build(text);

  test("becomes one", () => {
    expect(built.diagnostics).toEqual([]);
    expect(call(built, new Map(), "sum", { a: 3, b: 0.5 }).result).toBe(3);
    expect(call(built, new Map(), "sum", { a: -3, b: 0.5 }).result).toBe(-2.5);
    expect(call(built, new Map(), "place", { a: String(2n ** 53n) }).result).toBe(2 ** 53);
    expect(call(built, new Map(), "place", { a: String(-(2n ** 53n)) }).result).toBe(-(2 ** 53));
    expect(call(built, new Map(), "renew", { id: "a" }).result).toBe(1_700_000_060_000);
  });

  test("ends the handler where it would become another number", () => {
    for (const a of [2n ** 53n + 1n, -(2n ** 53n) - 1n])
      expect(call(built, new Map(), "place", { a: String(a) }).outcome).toMatchObject({
        code: "integer_overflow",
        message: expect.stringContaining("handlers/a.ts:6:10"),
      });
  });

  test("decides about a key in the read/write-set function too", () => {
    const invoked = invocation(built, "renew", { id: "a" });
    const derived = deriveAccessSet(moduleOf(built), invoked, snapshotOf(new Map()));
    expect(derived.kind === "derived" && [...derived.set.reads]).toHaveLength(2);
  });
});

test("a parameter without a type has that of its default value", () => {
  const built =
    build(`class Page { part(kind = "all", least = -1.5): string { return kind + (least < 0 ? "-" : "+"); } }
export function list(limit = 20, by = "name", then = by, isDown = true): string {
  return new Page().part(by) + then + (isDown ? "down" : "up") + (limit * 3).toString();
}`);
  expect(built.diagnostics).toEqual([]);
  expect(built.handlers[0]!.parameters.map(({ type }) => type.kind)).toEqual(["i32", "string", "string", "bool"]);
  expect(call(built, new Map(), "list").result).toBe("name-namedown60");
  expect(call(built, new Map(), "list", { limit: 9, by: "age", isDown: false }).result).toBe("age-ageup27");
});

test("unsigned integers wrap around", () => {
  const built = build("export function mix(n: u32): u32 { return n * 31 + 7; }");
  expect(call(built, new Map(), "mix", { n: 4_000_000_000 }).result).toBe(
    Number(BigInt.asUintN(32, 4_000_000_000n * 31n + 7n)),
  );
});

test("a function with the tag @wrapping wraps around, with its lambdas; those that it calls do not", () => {
  const built = build(`
    /** @wrapping */
    function hash(text: string): i32 {
      let h = 7;
      for (let i = 0; i < text.length; i++) h = h * 31 + text.charCodeAt(i);
      return h;
    }
    class Sums {
      /** @wrapping */
      static of(list: i32[]): i32 { return list.reduce<i32>((a, b) => a + b, 0); }
    }
    /** @wrapping */
    const twice = (n: i32): i32 => n * 2;
    function three(n: i32): i32 { return n * 3; }
    /** @wrapping */
    export function through(n: i32): i32 { return three(n); }
    export function hashed(text: string): i32 { return hash(text); }
    export function summed(list: i32[]): i32 { return Sums.of(list); }
    export function doubled(n: i32): i32 { return twice(n); }
  `);
  expect(built.diagnostics).toEqual([]);
  const many = "a text that is long enough";
  const hash = Array.from(many).reduce((h, letter) => (Math.imul(h, 31) + letter.charCodeAt(0)) | 0, 7);
  expect(call(built, new Map(), "hashed", { text: many }).result).toBe(hash);
  expect(call(built, new Map(), "summed", { list: [2_147_483_647, 1] }).result).toBe(-2_147_483_648);
  expect(call(built, new Map(), "doubled", { n: 2_000_000_000 }).result).toBe(-294_967_296);
  expect(call(built, new Map(), "through", { n: 2_000_000_000 }).outcome).toMatchObject({ code: "integer_overflow" });
});

describe("@wrapping before something else is refused", () => {
  test.each([
    "/** @wrapping */\nexport class A { n: i32 = 0; }\nexport function h(): i32 { return 1; }",
    "function f(): void {}\nexport function h(): i32 { /** @wrapping */\n f(); return 1; }",
    "/** @wrapping */\nconst LIMIT: i32 = 7; export function h(): i32 { return LIMIT; }",
    "export function h(n: i32): i32 { let m = 0;\n/** @wrapping */\nm = n; return m; }",
  ])("%s", (code) => expect(said(code)).toEqual(["misplaced_tag: @wrapping"]));
});

test("a function inside a function has the tag for itself", () => {
  const built = build(`export function h(n: i32): i32 {
    /** @wrapping */
    const twice = (m: i32): i32 => m * 2;
    return n > 0 ? twice(n) : n * 2;
  }`);
  expect(built.diagnostics).toEqual([]);
  expect(call(built, new Map(), "h", { n: 2_000_000_000 }).result).toBe(-294_967_296);
  expect(call(built, new Map(), "h", { n: -2_000_000_000 }).outcome).toMatchObject({ code: "integer_overflow" });
});

test("a read/write-set function goes on where its handler traps", () => {
  const built = build(`
    import { Table } from "@radical/sdk";
    const names = new Table<string>("names");
    export function read(n: i32): bool { names.has("first"); const next = n + 1; return names.has(next.toString()); }
  `);
  expect(built.handlers[0]!.plan.kind).toBe("sliced");
  const invoked = invocation(built, "read", { n: 2_147_483_647 });
  const derived = deriveAccessSet(moduleOf(built), invoked, snapshotOf(new Map()));
  expect(derived.kind === "derived" && derived.set.reads).toEqual(new Set(["names/-2147483648", "names/first"]));
  const { outcome, run } = call(built, new Map(), "read", { n: 2_147_483_647 });
  expect(outcome).toMatchObject({ kind: "trap", code: "integer_overflow" });
  expect(run.reads).toEqual(["names/first"]);
});

describe("a check is left out where the result fits", () => {
  const importsOf = (body: string): string[] => {
    const built = build(`export function h(list: i32[], n: i32, text: string): i32 { ${body} }`);
    expect(built.diagnostics).toEqual([]);
    return WebAssembly.Module.imports(new WebAssembly.Module(built.wasm as Uint8Array<ArrayBuffer>)).map(
      ({ name }) => name,
    );
  };

  test.each([
    "let found = 0; for (let i = 0; i < list.length; i++) if (list[i] == n) found = i; return found;",
    "for (let i = list.length - 1; i >= 0; i--) if (list[i] == n) return i; return -1;",
    "for (let i = 0; i < list.length - 1 && n > 2; i++) if (list[i + 1] == n) return i; return -1;",
    "for (let i = 0; i < n; i++) if (text.charCodeAt(i) == 65) return i + 1; return -1;",
    "for (let i: i64 = 0; i < 1000; i += 3) if (i == n) return 1; return -1;",
    "for (let i = 0, k = n; i < k; ++i) if (list[i] == 3) return i; return -1;",
    "return (n & 255) * 31 + (n & 1023);",
    "return list.length + text.length - 1;",
    "return (n % 100) * 5 + 3;",
    "return n > 3 ? -1 : 60 * 60 * 24;",
  ])("%s", (body) => expect(importsOf(body)).not.toContain("overflow"));

  test.each([
    "let found = 0; for (let i = 0; i < list.length; i++) found++; return found;",
    "for (let i = 0; i <= n; i++) if (list[i] == n) return i; return -1;",
    "for (let i = 0; i < n; i++) { if (list[i] == n) i += list[i]; } return -1;",
    "let i = 0; while (i < n) i++; return i;",
    "for (let i = n; i >= 0; i -= n) list.push(i); return 1;",
    "for (let i = 0; i != n; i++) list.push(1); return 1;",
    "for (let i = 0; i < list.length; i++) { for (let k = n; k != 3; k++) list.pop(); } return 1;",
  ])("not of %s", (body) => expect(importsOf(body)).toContain("overflow"));

  test("a loop up to the largest number traps where it would begin again", () => {
    const built = build(
      "export function count(from: i32, to: i32): i32 { let n = 0; for (let i = from; i <= to; i++) n++; return n; }",
    );
    expect(call(built, new Map(), "count", { from: 2_147_483_640, to: 2_147_483_646 }).result).toBe(7);
    expect(call(built, new Map(), "count", { from: 2_147_483_640, to: 2_147_483_647 }).outcome).toMatchObject({
      code: "integer_overflow",
    });
  });
});

describe("constants", () => {
  test.each([
    ["const MONTH = 30 * 24 * 60 * 60 * 1000;", "30 * 24 * 60 * 60 * 1000"],
    ["const A: i8 = 100 + 100;", "100 + 100"],
    ["const A: u32 = 1 - 2;", "1 - 2"],
    ["const A: i64 = 9223372036854775807 + 1;", "9223372036854775807 + 1"],
    ["const A = 2 ** 31;", "2 ** 31"],
    ["const A: i32 = 65536; const B = A * 65536;", "A * 65536"],
  ])("%s is refused", (code, place) => {
    expect(
      said(
        `${code}\nexport function h(): i32 { return 1; }`.replace(
          "return 1",
          /\bB\b/.test(code) ? "return B" : code.startsWith("const MONTH") ? "return MONTH" : "return A as i32",
        ),
      ),
    ).toEqual([`constant_overflow: ${place}`]);
  });

  test.each([
    "const MONTH: i64 = 30 * 24 * 60 * 60 * 1000; export function h(): i64 { return MONTH; }",
    "export function h(at: i64): i64 { return at + 30 * 24 * 60 * 60 * 1000; }",
    "const A = 1 << 31; export function h(): i32 { return A; }",
    "/** @wrapping */ export function h(): i32 { return 2147483647 * 31; }",
    "const A: f64 = 100000 * 100000; export function h(): f64 { return A; }",
    "const A = -2147483648; export function h(): i32 { return A; }",
  ])("%s is not", (code) => expect(said(code)).toEqual([]));
});

describe("integer division", () => {
  test.each([
    ["export function h(a: i32, b: i32): f64 { return (a + b) / 2; }", "(a + b) / 2"],
    ["export function h(a: i32): f64 { const half: f64 = a / 2; return half; }", "a / 2"],
    ["export function h(a: i32, p: f64): f64 { return a / 2 * p; }", "a / 2"],
    ["export function h(a: i32, p: f64): f64 { return p * (a / 2 + 1); }", "a / 2"],
    ["export function h(a: i32): f64 { return (a / 2) as f64; }", "a / 2"],
    ["export function h(a: i32): f64 { return <f64>(a / 2); }", "a / 2"],
    ["export function h(a: i32): f64 { return f64(a / 2); }", "a / 2"],
    ["export function h(a: i32): f64 { return Math.round(a / 2); }", "a / 2"],
    ["export function h(a: i32): f64 { return a > 3 ? a / 2 : 1; }", "a / 2"],
    ["export function h(a: i64): string { return `${a / 100} euro`; }", "a / 100"],
    ["export function h(a: i32): string { return `${-(a / 100)}`; }", "a / 100"],
    ["export function h(a: i32): string { return (a / 100).toString(); }", "a / 100"],
    ["export function h(a: i32): string { const euros = a / 100; return `${euros}`; }", "a / 100"],
    ["export function h(a: i32): f64 { let half = a / 2; for (;;) { half++; return half; } }", "a / 2"],
    ["export function h(a: i32): f64 { let half = a; half /= 2; return half; }", "half /= 2"],
    ["export function h(a: i32): f64 { let half = 0; half = a / 2; return half; }", "a / 2"],
    [
      "export function h(a: i32): string { let t = '', n = a; while (n > 1) { t += `${n}`; n /= 2; } return t; }",
      "n /= 2",
    ],
    ["export function h(a: i32): f64 { let half = 0; const also: f64 = (half = a / 2); return also; }", "a / 2"],
    ["export function h(a: i32, k: i32): f64 { return (k++, a / 2); }", "a / 2"],
    ["export function h(a: i32): f64 { return (a / 2) % 3; }", "a / 2"],
    ["export function h(at: i64): string { const day = at / 86400000; return `${(day + 1) % 7}`; }", "at / 86400000"],
    ["export function h(a: i32): f64 { const half = a / 2 || 1; return half; }", "a / 2"],
    ["export function h(a: i32): f64 { const [half] = [a / 2]; return half; }", "a / 2"],
    ["export function h(a: i32): string { return [a / 2].join(); }", "a / 2"],
    ["function half(n: i32) { return n / 2; } export function h(a: i32): f64 { return half(a) * 1.5; }", "n / 2"],
    ["export function h(a: i32) { return a / 2; }", "a / 2"],
    ["export function h(a: i32) { return { half: a > 3 ? a / 2 : 0, a }; }", "a / 2"],
    ["export function h(a: i32): f64 { const part = { half: a / 2 }; return part.half + 0.5; }", "a / 2"],
    ["export function h(a: i32[]) { return a.map((n) => ({ half: n / 2 })); }", "n / 2"],
    ["export function h(a: i32): f64 { const half = (n: i32) => n / 2; return half(a) + 0.5; }", "n / 2"],
    [
      "class P { n: i32 = 7; get half() { return this.n / 2; } } export function h(): f64 { return new P().half; }",
      "this.n / 2",
    ],
    ["export function h(a: i32[]): f64 { return a.map((n) => n / 2).reduce((s, n) => s + n, 0.0); }", "n / 2"],
    ["export function h(a: i32[]): f64 { return a.map((n) => { if (n > 3) return n / 2; return 0; })[0]; }", "n / 2"],
    ["export function h(a: i32[]): i32 { const s = a.reduce((s, n) => s + n / 2, 0); return s; }", "n / 2"],
    ["const HALF = 1 / 2; export function h(a: f64): f64 { return a * HALF; }", "1 / 2"],
    ["export function h(a: i32): f64 { const list = [a, 3]; list[0] /= 2; return list[0]; }", "list[0] /= 2"],
  ])("%s is refused", (code, place) => expect(said(code)).toEqual([`integer_division: ${place}`]));

  test.each([
    "export function h(a: i32, b: i32): f64 { return ((a + b) as f64) / 2; }",
    "export function h(a: i32): string { return `${(a / 100) as i32}`; }",
    "export function h(a: i32): string { const euros: i32 = a / 100; return `${euros}`; }",
    "export function h(a: i32): i32 { const euros = a / 100; return euros; }",
    "export function h(a: i32): i32 { return a / 2 + 1; }",
    "export function h(a: i32): i32 { let n = a; while (n > 9) n /= 2; return n; }",
    "export function h(a: i32): string { let n: i32 = a; n /= 2; return `${n}`; }",
    "export function h(a: i32[]): i32[] { return a.map((n) => n / 2); }",
    "function half(n: i32): i32 { return n / 2; } export function h(a: i32) { return half(a); }",
    "type P = { half: i32 }; export function h(a: i32): P { const part: P = { half: a / 2 }; return part; }",
    "export function h(a: i32) { return { half: (a / 2) as i32 }; }",
    "export function h(a: i32[]): f64[] { return a.map((n): i32 => n / 2).map((n): f64 => n); }",
    "export function h(a: i32[]): i32[] { const half: i32[] = [a.length / 2]; return half; }",
    "export function h(a: i32[]): i32 { return a.reduce((s, n) => s + n / 2, 0); }",
    "export function h(a: i32[]): i32[] { return a.map((n) => (n / 2) as i32).slice(1); }",
    "export function h(a: i32): i32 { const list: i32[] = [a]; list[0] /= 2; return list[0]; }",
    "export function h(a: i32[]): i32 { const list = a; list[0] /= 2; return list[0]; }",
    "export function h(a: f64): f64 { const list = [a]; list[0] /= 2; return list[0]; }",
    "export function h(a: f64): f64 { return a / 2; }",
    "export function h(): f64 { return 60 / 2; }",
    "export function h(): i32 { return (7 / 2) as i32; }",
    "export function h(): f64 { const all: f64 = 7 / 2; return all; }",
    "export function h(list: i32[]): i32 { return list[list.length / 2]; }",
  ])("%s is not", (code) => expect(said(code)).toEqual([]));
});

describe("tests whose answer is known", () => {
  const user = 'class User { name: string = ""; }\n';
  test.each([
    ["export function h(n: i32): bool { return isNaN(n); }", "constant_test: isNaN(n)"],
    ["export function h(n: i32): bool { return Number.isNaN(n); }", "constant_test: Number.isNaN(n)"],
    [
      "export function h(t: string): bool { return isNaN(Date.fromString(t).getTime()); }",
      "constant_test: isNaN(Date.fromString(t).getTime())",
    ],
    ["export function h(n: u32): bool { return n >= 0; }", "constant_test: n >= 0"],
    ["export function h(n: u32): bool { return n < 0; }", "constant_test: n < 0"],
    ["export function h(n: u8): bool { return n == 256; }", "constant_test: n == 256"],
    ["export function h(n: i32): bool { return (n & 1) == 2; }", "constant_test: (n & 1) == 2"],
    ["export function h(l: i32[]): bool { return l.length < 0; }", "constant_test: l.length < 0"],
    ["export function h(n: i32): bool { return n == null; }", "constant_test: n == null"],
    ["export function h(t: string): bool { return t === null; }", "constant_test: t === null"],
    ["export function h(x: f64): bool { return x == NaN; }", "constant_test: x == NaN"],
    [`${user}export function h(u: User): i32 { if (u) return 1; return 2; }`, "constant_test: u"],
    [
      "export function h(m: string): i32 { const s = new Map<string, i32>(); return s.get(m) || 0; }",
      "missing_key: s.get(m)",
    ],
    [
      `${user}export function h(m: string): bool { const s = new Map<string, User>(); return s.get(m) == null; }`,
      "missing_key: s.get(m) == null",
    ],
    [`${user}export function h(list: User[]): bool { return list[3] != null; }`, "missing_key: list[3] != null"],
    [`${user}export function h(list: User[]): i32 { return list.pop() ? 1 : 2; }`, "missing_key: list.pop()"],
  ])("%s is refused", (code, found) => expect(said(code)).toEqual([found]));

  test.each([
    "export function h(x: f64): bool { return isNaN(x); }",
    "export function h(n: i32): bool { return n >= 0; }",
    "export function h(t: string | null): bool { return t == null; }",
    "export function h(t: string | null): bool { if (t == null) return false; return t != null; }",
    "export function h(t: string): bool { return !t; }",
    "export function h(n: i32): i32 { return n || 3; }",
    "export function h(m: string): i32 { const s = new Map<string, i32>(); return s.has(m) ? s.get(m) : 0; }",
    `${user}export function h(): bool { const list: (User | null)[] = [null]; return list[0] != null; }`,
    "export function h(t: string): i32 { return t ? 1 : 2; }",
    "type Done = () => i32; function one(): i32 { return 1; } export function h(n: i32): bool { const list: (Done | null)[] = [null, one]; const found = list[n]; return found != null; }",
    'function same<T>(a: T, b: T): bool { return a == b; } function isNone<T>(a: T): bool { if (isReference<T>()) return a == null; return false; } export function h(a: i32): bool { return same<i32>(a, 3) || isNone<string>("a"); }',
    "enum Color { Red, Blue } export function h(n: i32): bool { return n > 3 && 7 < Color.Blue; }",
    "const LEAST: u32 = 0; export function h(n: u32): bool { return n < LEAST; }",
  ])("%s is not", (code) => expect(said(code)).toEqual([]));
});

test("a text as a condition is true unless it is empty, as in TypeScript", () => {
  const built = build(`
    export function chosen(t: string): i32 { return t ? 1 : 2; }
    export function orElse(t: string | null): string { return t || "none"; }
    export function both(t: string | null, n: i32): bool { if (t && n > 0) return t.length > 0; return false; }
    export function rounds(t: string): i32 { let n = 0; while (t) { t = t.slice(1); n++; } return n; }
    export function not(t: string | null): bool { return !t; }
  `);
  expect(built.diagnostics).toEqual([]);
  const results = (handler: string, ...texts: (string | null)[]): unknown[] =>
    texts.map((t) => call(built, new Map(), handler, handler === "both" ? { t, n: 1 } : { t }).result);
  expect(results("chosen", "", "a")).toEqual([2, 1]);
  expect(results("orElse", null, "", "a")).toEqual(["none", "none", "a"]);
  expect(results("both", null, "", "a")).toEqual([false, false, true]);
  expect(results("rounds", "", "abc")).toEqual([0, 3]);
  expect(results("not", null, "", "a")).toEqual([true, true, false]);
});
