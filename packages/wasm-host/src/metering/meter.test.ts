import { setFlagsFromString } from "node:v8";
import {
  ABI_VERSION,
  commitId,
  DEFAULT_LIMITS,
  entryOf,
  type Entry,
  handlersWith,
  type Limits,
  type ModuleContent,
  type Outcome,
  NO_EXECUTION,
} from "@radical/protocol";
import { beforeAll, describe, expect, test } from "vitest";
import { compileModule, faultOf, type HandlerModule } from "../module.ts";
import { recordHandler, type CompletedRun } from "../run.ts";
import { contentOf } from "../testing/programs.ts";
import { metered } from "./meter.ts";

const absent = (): Entry => entryOf(commitId(1, 1), null);

function run(module: HandlerModule, handler: string, limits: Partial<Limits> = {}): CompletedRun {
  const environment = { timeMs: 0, seed: new Uint8Array(16), caller: null };
  const limited = { ...module, limits: { ...module.limits, ...limits } };
  const ended = recordHandler(
    limited,
    { executionId: NO_EXECUTION, handler, args: new Uint8Array(), environment },
    absent,
    { guess: false },
  );
  if (ended.run === null) throw new Error("the handler did not end");
  return ended.run;
}

const trap = (code: string, message: string): Outcome => ({ kind: "trap", code, message }) as Outcome;
const OUT_OF_FUEL = trap("out_of_fuel", "the handler used up its fuel");
const STACK_OVERFLOW = trap("stack_overflow", "the handler's calls are nested too deeply");

describe("fuel", () => {
  let module: HandlerModule;

  beforeAll(async () => {
    module = compileModule(
      await contentOf({
        f: `
          let zero: i32 = 0;
          export function nothing(): void {}
          export function endless(): void { get("t", "a"); for (;;) {} }
          export function loops(): void { for (let i = 0; i < 1000; i++) { zero += i; let j = 0; while (j < 10) j++; } get("t", "b"); }
          export function early(): void { get("t", "a"); for (let i = 0; i < 1000; i++) if (i == 10 + zero) return; get("t", "b"); }
          export function ten(): void { for (let i = 0; i < 10; i++) get("t", "a"); }
          export function copies(): void { memory.copy(memory.data(1 << 20), memory.data(1 << 20), 1 << 20); }
          export function fills(): void { memory.fill(memory.data(1 << 20), 1, (1 << 20) + zero); }
          export function puts(): void { host_put("t", "a", memory.data(1 << 18), 1 << 18); }
          export function logs(): void { host_log(1, memory.data(1 << 18), 1 << 18); }
          export function grows(): void { memory.grow(1); }
          export function divides(): void { for (let i = 0; i < 100; i++) zero = 1; zero = 1 / (zero - 1); }
        `,
      }),
    );
  });

  test("a loop that never ends uses all that there is", () => {
    for (const fuel of [2_000, 1_000_000])
      expect(run(module, "endless", { fuel })).toEqual({
        kind: "completed",
        outcome: OUT_OF_FUEL,
        reads: ["t/a"],
        writes: [],
        fuel,
      });
    expect(run(module, "endless", { fuel: 10 })).toMatchObject({ outcome: OUT_OF_FUEL, reads: [] });
  });

  test.each(["loops", "early", "ten", "puts", "logs"])("%s: what was used is enough, and not one less", (handler) => {
    const { outcome, fuel } = run(module, handler);
    expect(outcome.kind).toBe("result");
    expect(run(module, handler, { fuel })).toMatchObject({ outcome: { kind: "result" }, fuel });
    expect(run(module, handler, { fuel: fuel - 1 })).toMatchObject({ outcome: OUT_OF_FUEL, writes: [] });
  });

  test("it is never less than the instructions, and host calls and bytes take more", () => {
    const used = (handler: string): number => run(module, handler).fuel - run(module, "nothing").fuel;
    expect(used("loops")).toBeGreaterThan(1_000 * 10 * 5);
    expect(used("early")).toBeLessThan(2_000);
    expect(used("ten")).toBeGreaterThan(10_000);
    expect(used("copies")).toBeGreaterThan(2 ** 17);
    expect(used("fills")).toBeGreaterThan(2 ** 17);
    expect(used("puts")).toBeGreaterThan(2 ** 18);
    expect(used("logs")).toBeGreaterThan(2 ** 18);
    expect(used("grows")).toBeGreaterThan(10_000);
  });

  test("another trap is what it was", () => {
    expect(run(module, "divides").outcome).toMatchObject({ kind: "trap", code: "integer_divide_by_zero" });
  });
});

describe("stack", () => {
  const many = (count: number, text: (index: number) => string): string =>
    Array.from({ length: count }, (_, i) => text(i)).join(" ");
  const SHAPES = {
    small: "function small(n: i32): i32 { return n == -1 ? 0 : small(n + 1) + 1; }",
    parameters: `function parameters(n: i32, ${many(30, (i) => `p${i}: i64${i < 29 ? "," : ""}`)}): i64 {
      return parameters(n + 1, ${many(30, (i) => `p${29 - i} + n${i < 29 ? "," : ""}`)}) ${many(30, (i) => `^ p${i}`)}; }`,
    locals: `function locals(n: i32): i64 { ${many(300, (i) => `let l${i}: i64 = <i64>n * ${i + 3};`)} return locals(n + 1) ${many(300, (i) => `^ l${i}`)}; }`,
    floats: `function floats(n: i32): f64 { ${many(100, (i) => `let l${i}: f64 = <f64>n * ${i}.5;`)} return floats(n + 1) ${many(100, (i) => `+ l${i}`)}; }`,
    operands: `function operands(n: i32): i32 { return ${many(150, (i) => `(n * ${i + 7} ^`)} operands(n + 1) ${")".repeat(150)}; }`,
    leaf: `function leaf(n: i32): i64 { ${many(900, (i) => `let l${i}: i64 = load<i64>(n + ${i * 8});`)} return 0 ${many(900, (i) => `^ l${i}`)}; }
      function above(n: i32): i64 { return n == -1 ? leaf(n) : above(n + 1) + leaf(n & 7); }`,
  };
  const CALLS: Readonly<Record<keyof typeof SHAPES, string>> = {
    small: "small(n)",
    parameters: `parameters(n, ${many(30, (i) => `${i}${i < 29 ? "," : ""}`)})`,
    locals: "locals(n)",
    floats: "floats(n)",
    operands: "operands(n)",
    leaf: "above(n)",
  };
  const f =
    Object.values(SHAPES).join("\n") +
    Object.entries(CALLS)
      .map(
        ([name, call]) =>
          `\nexport function run_${name}(): void { get("t", "a"); const n = get("t", "b"); respond(n < 0 ? <i32>(${call.replace("(n", "(n + 1")}) : 0); }`,
      )
      .join("");

  test("nested calls end at the same depth, in whatever way the engine compiles them, and before the engine's own stack does", async () => {
    const content = await contentOf({ f });
    const inTier = (flags: readonly string[], back: readonly string[]): readonly CompletedRun[] => {
      for (const flag of flags) setFlagsFromString(flag);
      try {
        const module = compileModule(content);
        return Object.keys(SHAPES).map((name) => run(module, `run_${name}`));
      } finally {
        for (const flag of back) setFlagsFromString(flag);
      }
    };
    const quick = inTier(["--liftoff-only"], ["--no-liftoff-only"]);
    expect(quick.map(({ outcome, reads }) => [outcome, reads])).toEqual(
      quick.map(() => [STACK_OVERFLOW, ["t/a", "t/b"]]),
    );
    expect(inTier(["--no-liftoff"], ["--liftoff"])).toEqual(quick);
  });

  test("of functions that call nothing only the large frames count", async () => {
    const lines = many(900, (i) => `let l${i}: i64 = load<i64>(n + ${i * 8});`);
    const module = compileModule(
      await contentOf({
        f: `function large(n: i32): i64 { ${lines} return 0 ${many(900, (i) => `^ l${i}`)}; }
          function small(n: i32): i64 { return n * 3; }
          export function callsLarge(): void { respond(<i32>large(get("t", "a") & 7)); }
          export function callsSmall(): void { respond(<i32>small(get("t", "a") & 7)); }`,
      }),
    );
    expect(run(module, "callsLarge").outcome.kind).toBe("result");
    expect(run(module, "callsLarge", { stackBytes: 4_096 }).outcome).toEqual(STACK_OVERFLOW);
    expect(run(module, "callsSmall", { stackBytes: 4_096 }).outcome.kind).toBe("result");
  });

  test("calls that are not nested take none", async () => {
    const module = compileModule(
      await contentOf({
        f: `function one(n: i32): i32 { if (n & 1) return two(n); return n; } function two(n: i32): i32 { get("t", "a"); return n + 1; }
          export function often(): void { let sum = 0; for (let i = 0; i < 10000; i++) sum += one(i); respond(sum); }`,
      }),
    );
    expect(run(module, "often", { stackBytes: 4_096 }).outcome.kind).toBe("result");
    expect(run(module, "often", { stackBytes: 200 }).outcome).toEqual(STACK_OVERFLOW);
  });
});

describe("memory", () => {
  const f = `
    export function fills(): void { const all: ArrayBuffer[] = []; for (;;) all.push(new ArrayBuffer(1 << 20)); }
    export function asks(): void { respond(memory.grow(100000) * 10 + memory.grow(-1) * 100); }
  `;

  test("it ends at the module's maximum", async () => {
    const module = compileModule(await contentOf({ f, limits: { memoryPages: 100 } }));
    expect(run(module, "fills").outcome).toEqual(trap("out_of_memory", "the handler used up its memory"));
    expect(run(module, "asks").outcome).toEqual({ kind: "result", value: Uint8Array.of((-110 + 256) & 0xff) });
  });

  test("a host that can't give it has no outcome", async () => {
    const module = compileModule(await contentOf({ f, limits: { memoryPages: 1_000 } }));
    setFlagsFromString("--wasm-max-mem-pages=100");
    try {
      expect(() => run(module, "fills")).toThrow(/unreachable/);
    } finally {
      setFlagsFromString("--wasm-max-mem-pages=65536");
    }
    expect(run(module, "fills").outcome).toMatchObject({ code: "out_of_memory" });
  });

  test("a program whose memory may grow without end is refused", () => {
    const memory = (...limits: number[]): Uint8Array =>
      Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, limits.length + 1, 1, ...limits);
    expect(() => metered(memory(0, 1))).toThrow("the memory of the program has no maximum");
    expect(WebAssembly.validate(new Uint8Array(metered(memory(1, 1, 2))))).toBe(true);
  });
});

describe("not a number", () => {
  // Machines differ in the bits that they make. This one keeps those of an operand, so it can play two of them.
  const f = `
    let zero: f64 = 0;
    let small: f32 = 0;
    const at = memory.data(16);
    function both(first: u64, second: u64): void { respond(first == second ? 1 : 0); }
    function one(): f64 { store<u64>(at + 8, 0x7ff8000000000000); return load<f64>(at + 8) * (zero + 1); }
    function other(): f64 { store<u64>(at + 8, 0xfff8000000000123); return load<f64>(at + 8) * (zero + 1); }
    function oneSmall(): f32 { store<u32>(at + 8, 0x7fc00000); return load<f32>(at + 8) * (small + 1); }
    function otherSmall(): f32 { store<u32>(at + 8, 0xffc00123); return load<f32>(at + 8) * (small + 1); }
    function stored(value: f64): u64 { store<f64>(at, value); return load<u64>(at); }
    function storedSmall(value: f32): u32 { store<f32>(at, value); return load<u32>(at); }
    export function bits(): void { both(reinterpret<u64>(one()), reinterpret<u64>(other())); }
    export function smallBits(): void { both(reinterpret<u32>(oneSmall()), reinterpret<u32>(otherSmall())); }
    export function inMemory(): void { both(stored(one()), stored(other())); }
    export function smallInMemory(): void { both(storedSmall(oneSmall()), storedSmall(otherSmall())); }
    export function copied(): void { both(<i64>copysign<f64>(1, one()), <i64>copysign<f64>(1, other())); }
    export function smallCopied(): void { both(<i64>copysign<f32>(1, oneSmall()), <i64>copysign<f32>(1, otherSmall())); }
    export function sorted(): void {
      const first = [1, one(), 2].sort(), second = [1, other(), 2].sort();
      both(first[0] == first[0] ? 1 : 0, second[0] == second[0] ? 1 : 0);
    }
    export function sortedView(): void {
      const first = new Float64Array(2), second = new Float64Array(2);
      first[0] = one(); second[0] = other();
      first.sort(); second.sort();
      both(first[0] == first[0] ? 1 : 0, second[0] == second[0] ? 1 : 0);
    }
    export function hashed(): void { both(HASH(one()), HASH(other())); }
    export function numbers(): void { respond(stored(-0.5) == reinterpret<u64>(-0.5) && storedSmall(1.5) == reinterpret<u32>(<f32>1.5) && copysign<f64>(2, -zero) == -2 ? 1 : 0); }
  `;
  let module: HandlerModule;

  beforeAll(async () => {
    module = compileModule(await contentOf({ f: `import { HASH } from "util/hash";\n${f}` }));
  });

  test.each([
    "bits",
    "smallBits",
    "inMemory",
    "smallInMemory",
    "copied",
    "smallCopied",
    "sorted",
    "sortedView",
    "hashed",
    "numbers",
  ])("%s: nothing tells one from another", (handler) => {
    expect(run(module, handler).outcome).toEqual({ kind: "result", value: Uint8Array.of(1) });
  });
});

describe("programs that are refused", () => {
  const MODULE = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  const TYPE = [1, 4, 1, 0x60, 0, 0];
  const text = (value: string): number[] => [
    value.length,
    ...Array.from(value, (character) => character.charCodeAt(0)),
  ];
  const importing = (module: string, name: string, ...kind: number[]): Uint8Array => {
    const content = [1, ...text(module), ...text(name), ...kind];
    return Uint8Array.from([...MODULE, ...TYPE, 2, content.length, ...content]);
  };
  const executing = (...code: number[]): Uint8Array =>
    Uint8Array.from([...MODULE, ...TYPE, 3, 2, 1, 0, 10, code.length + 4, 1, code.length + 2, 0, ...code, 0x0b]);

  test("imports are those of the host's table", () => {
    expect(() => metered(importing("radical", "now", 0, 0))).not.toThrow();
    expect(() => metered(importing("env", "abort", 0, 0))).not.toThrow();
    for (const [module, name] of [
      ["env", "seed"],
      ["radical", "toString"],
      ["radical", "clock"],
      ["wasi", "now"],
    ] as const)
      expect(() => metered(importing(module, name, 0, 0))).toThrow(
        `the program imports ${module}.${name}, which the host does not have`,
      );
    // A global of that name.
    expect(() => metered(importing("radical", "now", 3, 0x7f, 0))).toThrow("the program imports radical.now");
  });

  test("instructions that are not known, and code that runs by itself", () => {
    expect(() => metered(executing(0x01))).not.toThrow();
    for (const code of [
      [0xfd, 0x0c],
      [0xfe, 0x00],
      [0x25, 0x00],
      [0xfc, 0x08, 0, 0],
      [0x12, 0x00],
    ])
      expect(() => metered(executing(...code))).toThrow("unknown instruction");
    expect(() => metered(executing(0x1a))).toThrow("operands are missing");
    expect(() => metered(Uint8Array.from([...MODULE, 8, 1, 0]))).toThrow("start function");
    expect(() => metered(Uint8Array.of(1, 2, 3))).toThrow("no WebAssembly");
  });

  test("functions of the host are no function values: nobody would count their calls", () => {
    // The table has function 0, the imported one.
    const table = [4, 4, 1, 0x70, 0, 1, 9, 7, 1, 0, 0x41, 0, 0x0b, 1, 0];
    const program = Uint8Array.from([...importing("radical", "now", 0, 0), ...table]);
    expect(WebAssembly.validate(program)).toBe(true);
    expect(() => metered(program)).toThrow("a function of the host is a function value");
  });

  test("one that is not metered can't be run", async () => {
    const content = await contentOf({ f: "export function a(): void {}" });
    expect(faultOf(compileModule(content), { ...content, handlers: handlersWith({ a: "sliced" }) })).toBe(
      "the read/write-set functions lack the function a",
    );
    const plain = executing(0x01);
    expect(faultOf(compileModule({ ...content, wasm: plain }), content)).toBeNull();
    const module = compileModule({
      abi: ABI_VERSION,
      limits: DEFAULT_LIMITS,
      handlers: {},
      wasm: plain,
      rwWasm: plain,
    });
    expect(() => run(module, "a")).toThrow("it was not metered");
  });

  test("nor is one taken that imports something else, or lacks what it needs", async () => {
    const content = await contentOf({ f: "export function a(): void {}", rw: "export function a(): void {}" });
    const handlers = handlersWith({ a: "sliced" });
    const faultWith = (wasm: Uint8Array, of: ModuleContent["handlers"]): string | null =>
      faultOf(compileModule({ ...content, wasm: new Uint8Array(wasm) }), { ...content, handlers: of });
    expect(faultWith(importing("env", "seed", 0, 0), {})).toBe(
      "the handlers import function env.seed, which the host does not have",
    );
    expect(faultWith(importing("radical", "now", 3, 0x7f, 0), {})).toBe(
      "the handlers import global radical.now, which the host does not have",
    );
    expect(faultOf(compileModule(content), { ...content, handlers: handlersWith({ a: "sliced" }) })).toBeNull();
    expect(
      faultOf(compileModule({ ...content, rwWasm: importing("env", "seed", 0, 0) }), { ...content, handlers }),
    ).toBe("the read/write-set functions import function env.seed, which the host does not have");
    const exporting = Uint8Array.from([...MODULE, ...TYPE, 3, 2, 1, 0, 7, 5, 1, 1, 0x61, 0, 0, 10, 4, 1, 2, 0, 0x0b]);
    expect(faultWith(exporting, handlers)).toBe("the handlers are not metered");
    expect(faultWith(metered(exporting), handlers)).toBe("the handlers export no memory");
  });
});
