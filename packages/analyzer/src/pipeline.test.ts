import { readdirSync, readFileSync } from "node:fs";
import { DEFAULT_LIMITS, METER_EXPORTS } from "@radical/protocol";
import { deriveAccessSet, type DerivedSet } from "@radical/wasm-host";
import { describe, expect, test } from "vitest";
import type { Derived, Slicer } from "./front.ts";
import { buildApplication } from "./index.ts";
import { buildWith, type BuildResult } from "./pipeline.ts";
import type { Analysis } from "./report.ts";
import { slicer } from "./slicer.ts";
import { buildInput } from "./testing/library.ts";
import { explore } from "./testing/oracle.ts";
import { call, invocation, moduleOf, snapshotOf, type Items } from "./testing/run.ts";

const FILES = {
  "lib/models.ts": `
    import { Table } from "@radical/sdk";
    export class User { id: string = ""; bio: string = ""; friends: string[] = []; }
    export const users = new Table<User>("users");`,
  "handlers/users.ts": `
    import { abort } from "@radical/sdk";
    import { User, users } from "../lib/models";
    export function save(user: User): void { users.put(user.id, user); }
    export function friends(id: string): string[] {
      const user = users.get(id);
      if (user == null) abort(404, "no_such_user", "There is no user " + id);
      const found: string[] = [];
      for (let i = 0; i < user.friends.length; i++) {
        const friend = users.get(user.friends[i]);
        if (friend != null) found.push(friend.bio);
      }
      return found;
    }
    export function remove(id: string): bool { const had = users.has(id); users.delete(id); return had; }`,
};

/** Read/write-set functions as the slicer would write them. */
const SOURCES: Readonly<Record<string, string>> = {
  save: `import { Table } from "@radical/sdk";
    class User { id: string = ""; }
    const users = new Table<User>("users");
    export function save(user: User): void { users.willPut(user.id); }`,
  friends: `import { Table } from "@radical/sdk";
    class User { friends: string[] = []; }
    const users = new Table<User>("users");
    export function friends(id: string): void {
      const user = users.get(id);
      if (user == null) return;
      for (let i = 0; i < user.friends.length; i++) users.touch(user.friends[i]);
    }`,
  remove: `import { Table } from "@radical/sdk";
    class User {}
    const users = new Table<User>("users");
    export function remove(id: string): void { users.touch(id); users.willDelete(id); }`,
};

function slicerOf(sources: Readonly<Record<string, string>>): Slicer {
  return {
    deriveReadWriteSets: (front) =>
      front.handlers
        .filter(({ name }) => sources[name] !== undefined)
        .map(({ name }): Derived => ({
          kind: "sliced",
          handler: name,
          source: sources[name]!,
          tables: null,
          readOnly: name === "friends",
          reads: [],
          writes: [],
          transformations: [],
          explanations: [],
          products: [],
          steps: { handler: null, readWriteSet: null },
          plain: null,
          diagnostics: [],
        })),
  };
}

function plans(build: BuildResult): Record<string, string> {
  return Object.fromEntries(
    build.handlers.map(({ name, plan }) => [name, plan.kind === "recorded" ? plan.reason.code : plan.kind]),
  );
}

describe("a build", () => {
  const build = buildWith(buildInput(FILES), slicerOf(SOURCES));

  test("gives two modules that export the handlers, memory, the start and the meter, and import host functions only", () => {
    expect(build.diagnostics).toEqual([]);
    for (const bytes of [build.wasm, build.rwWasm]) {
      const module = new WebAssembly.Module(Uint8Array.from(bytes));
      expect(
        WebAssembly.Module.exports(module)
          .map(({ name }) => name)
          .toSorted(),
      ).toEqual([...Object.values(METER_EXPORTS), "_start", "friends", "memory", "remove", "save"]);
      for (const { module: from, name } of WebAssembly.Module.imports(module))
        expect(from === "radical" || `${from}.${name}` === "env.abort").toBe(true);
    }
  });

  test("fixes the maximum of memory", () => {
    const { memory } = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(build.wasm)), {
      env: { abort() {} },
      radical: new Proxy({}, { get: () => () => 0 }),
    }).exports as { memory: WebAssembly.Memory };
    const pages = memory.buffer.byteLength / 65_536;
    expect(() => memory.grow(DEFAULT_LIMITS.memoryPages - pages + 1)).toThrow(RangeError);
    expect(memory.grow(DEFAULT_LIMITS.memoryPages - pages)).toBe(pages);
  });

  test("is the same every time", () => {
    const again = buildWith(buildInput(FILES), slicerOf(SOURCES));
    expect(Buffer.from(again.wasm).equals(Buffer.from(build.wasm))).toBe(true);
    expect(Buffer.from(again.rwWasm).equals(Buffer.from(build.rwWasm))).toBe(true);
  });

  test("read/write-set functions read the fields they need of what handlers store", () => {
    const items: Items = new Map();
    for (const [id, friends] of [
      ["a", ["b", "c"]],
      ["b", []],
    ] as const) {
      call(build, items, "save", { user: { id, bio: "x".repeat(300), friends } });
    }
    const derive = (handler: string, json: unknown): DerivedSet =>
      deriveAccessSet(moduleOf(build), invocation(build, handler, json), snapshotOf(items));
    expect(derive("friends", { id: "a" })).toMatchObject({
      set: { reads: new Set(["users/a", "users/b", "users/c"]), writes: new Set() },
      dependent: ["users/a"],
    });
    expect(derive("friends", { id: "nobody" })).toMatchObject({ set: { reads: new Set(["users/nobody"]) } });
    expect(derive("save", { user: { id: "z", bio: "", friends: [] } })).toMatchObject({
      set: { reads: new Set(), writes: new Set(["users/z"]) },
    });
  });

  test("the oracle passes right functions and catches wrong ones", () => {
    expect(explore(build, { strings: ["a", "b", "c"] })).toMatchObject({ extraReads: 0, traps: 0 });
    const blind = {
      ...SOURCES,
      friends: SOURCES["friends"]!.replace("users.touch(user.friends[i])", "users.touch(id)"),
    };
    const wrong = buildWith(buildInput(FILES), slicerOf(blind));
    let found: unknown;
    try {
      explore(wrong, { strings: ["a", "b", "c"] });
    } catch (error) {
      found = error;
    }
    // fast-check keeps what the minimized calls came to as the cause.
    expect(found).toMatchObject({
      cause: { message: expect.stringMatching(/^friends: f\^rw missed the read of users\/[abc]$/) as unknown },
    });
  });
});

describe("what the slicer gets wrong costs speed, not the build", () => {
  test("a function that does not compile", () => {
    const build = buildWith(
      buildInput(FILES),
      slicerOf({
        ...SOURCES,
        friends: 'export function friends(): void { return nope("x"); }',
        remove: "export function remove(",
      }),
    );
    expect(build.ok).toBe(true);
    expect(plans(build)).toEqual({
      friends: "read_write_set_not_compiled",
      remove: "read_write_set_not_compiled",
      save: "sliced",
    });
    expect(
      build.diagnostics.map(({ severity, class: who, primary }) => [severity, who, primary.file, primary.line]),
    ).toEqual([
      ["warning", "internal", "handlers/users.ts", 5],
      ["warning", "internal", "handlers/users.ts", 15],
    ]);
    expect(build.diagnostics[0]?.message).toContain("Cannot find name 'nope'");
    expect(
      deriveAccessSet(moduleOf(build), invocation(build, "friends", { id: "a" }), snapshotOf(new Map())).kind,
    ).toBe("failed");
    expect(call(build, new Map(), "remove", { id: "a" }).result).toBe(false);
  });

  test("no verdict, or an exception", () => {
    expect(plans(buildWith(buildInput(FILES), slicerOf({ save: SOURCES["save"]! })))).toEqual({
      friends: "analyzer_crash",
      remove: "analyzer_crash",
      save: "sliced",
    });
    const broken: Slicer = {
      deriveReadWriteSets: () => {
        throw new Error("out of luck");
      },
    };
    const build = buildWith(buildInput(FILES), broken);
    expect(build.ok).toBe(true);
    expect(plans(build)).toEqual({ friends: "analyzer_crash", remove: "analyzer_crash", save: "analyzer_crash" });
    expect(build.diagnostics[0]?.message).toContain("out of luck");
  });
});

test("the whole of it: handlers to sets that hold", async () => {
  for (const optimize of [true, false]) {
    const build = await buildApplication({ ...buildInput(FILES), optimize });
    expect(build.diagnostics).toEqual([]);
    expect(plans(build)).toEqual({ friends: "sliced", remove: "sliced", save: "sliced" });
    expect(build.handlers.map(({ readOnly }) => readOnly)).toEqual([true, false, false]);
    const findings = explore(build, { strings: ["a", "b", "c"] });
    expect(findings).toMatchObject({ traps: 0, extraReads: 0, extraWrites: 0 });
    expect(findings.results).toBeGreaterThan(100);
  }
});

test("pages list the phases in the order in which the pipeline runs them, and each is a folder", () => {
  const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
  const phasesOf = (text: string, line: RegExp): readonly string[] =>
    Array.from(text.matchAll(line), ([, names = ""]) => names.split(", ")).flat();
  const run = phasesOf(read("./pipeline.ts"), /; \/\/ ([a-z, ]+)$/gm);
  const first = [...new Set(run)];
  const derived = [...new Set(phasesOf(read("./slice/derive.ts"), /; \/\/ ([a-z, ]+)$/gm))];
  expect(first.join()).toContain(derived.join());
  expect(phasesOf(read("../../../ARCHITECTURE.md"), /^\| `([a-z]+)` \| .* \|$/gm).slice(0, first.length)).toEqual(
    first,
  );
  const [, table = ""] =
    /^\| phase \| work \| product \|$(.*?)^$/ms.exec(read("../../../docs/internals/analyzer.md")) ?? [];
  expect([...new Set(phasesOf(table, /^\| `([a-z]+)` \|/gm))]).toEqual(first);
  const folders = readdirSync(new URL(".", import.meta.url), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  const others = ["diagnostics", "testing"];
  expect(folders.map(({ name }) => name).filter((name) => !others.includes(name))).toEqual(first.toSorted());
});

describe("the analysis", () => {
  test("is told before the modules are made, and what they bring in does not change it", () => {
    const told: Analysis[] = [];
    const { wasm, rwWasm, ...analysis } = buildWith({ ...buildInput(FILES), optimize: false }, slicer, {
      onAnalyzed: (early) => told.push(early),
    });
    expect(told).toEqual([analysis]);
    expect(wasm.length).toBeGreaterThan(1_000);
    expect(rwWasm.length).toBeGreaterThan(1_000);
  });

  test("is not told if there are errors", () => {
    const told: Analysis[] = [];
    const input = buildInput({ "handlers/a.ts": "export function a(): i32 { return later(); }" });
    expect(buildWith(input, slicer, { onAnalyzed: (early) => told.push(early) }).ok).toBe(false);
    expect(told).toEqual([]);
  });
});
