/** How the sets of handlers are found, with real processes: record mode, given sets, near storage by choice. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestApp, startTestApp } from "../src/testing.ts";
import { createFaultLink, withoutUpdates } from "./fault-link.ts";
import { type TemporaryProject, createProject, radical } from "./radical-process.ts";

/** A read is answered where it was asked: a request has confirmed it, or a read lease. */
const AT_LOCATION = expect.stringMatching(/^(speculative|leased)$/) as string;

const FUEL = 20_000_000;
const CONFIG = `export default { name: "plans", limits: { fuel: ${FUEL} }, dev: { locations: { near: 1, far: 5 } } };\n`;
const HANDLERS = `import { Table, abort } from "@radical/sdk";

const counts = new Table<i32[]>("counts");
const links = new Table<string>("links");

function count(key: string): i32 {
  const found = counts.get(key);
  const before = found == null ? 0 : found[0];
  counts.put(key, [before + 1]);
  return before + 1;
}

/** The analysis can't follow the date into its key. */
export function visit(at: i64): i32 {
  return count(nameof<Date>() + new Date(at).toISOString().slice(0, 10));
}

export function visits(at: i64): i32 {
  const found = counts.get(nameof<Date>() + new Date(at).toISOString().slice(0, 10));
  if (found == null) abort(404, "no_visits", "nobody came");
  return found[0];
}

export function link(from: string, to: string): void {
  links.put(from, to);
}

export function followLink(from: string): i32 {
  const to = links.get(from);
  return count(to == null ? from : to);
}

/** @readwrite followLink */
function followLinkSet(from: string): void {
  const to = links.get(from);
  const key = to == null ? from : to;
  counts.touch(key);
  counts.willPut(key);
}

export function tally(key: string): i32 {
  return count(key) + count("all");
}

/**
 * It forgets the sum.
 * @readwrite tally
 */
function tallySet(key: string): void {
  counts.touch(key);
  counts.willPut(key);
}

/** @nearstorage */
export function far(key: string): i32 {
  return count(key);
}

/**
 * Each comes to a limit if it is told to do enough; all of them read, so that a location may be stale.
 * @speculative
 * @wrapping
 */
export function burn(key: string, rounds: i32): i32 {
  let mixed = counts.has(key) ? 1 : 2;
  for (let round = 0; round < rounds; round++) mixed = (mixed * 1664525 + 1013904223) ^ (mixed >>> 7);
  return mixed;
}

/** @wrapping */
function deep(levels: i32): i32 {
  return levels == 0 ? 0 : 1 + deep(levels - 1) * 3;
}

export function dig(key: string, levels: i32): i32 {
  return deep(levels) + (counts.has(key) ? 1 : 2);
}

export function hoard(key: string, pages: i32): i32 {
  return new StaticArray<u8>(pages << 16).length + (counts.has(key) ? 1 : 2);
}
`;

const DAY = 86_400_000;

let project: TemporaryProject;
let app: TestApp;

beforeAll(async () => {
  project = await createProject({ "radical.config.ts": CONFIG, "handlers/plans.ts": HANDLERS });
  const faults = createFaultLink();
  faults.decide = withoutUpdates;
  app = await startTestApp({ project: project.folder, link: faults.link });
});
afterAll(async () => {
  await app.stop();
  await project.remove();
});

describe("in record mode", () => {
  test("a handler runs on the cache of its location, and is confirmed like any other", async () => {
    // What no cache knows is guessed absent: right here, wrong at the other location.
    expect(await app.call("visit", { at: 0 })).toMatchObject({ result: 1, path: "speculative" });
    expect(await app.call("visit", { at: 1 })).toMatchObject({ result: 2, path: "speculative" });
    expect(await app.call("visits", { at: 2 })).toMatchObject({ result: 2, path: AT_LOCATION });
    expect(await app.call("visits", { at: 2 }, { location: "far" })).toMatchObject({ result: 2, path: "near-storage" });
    expect(await app.call("visits", { at: 2 }, { location: "far" })).toMatchObject({ result: 2, path: AT_LOCATION });
  });

  test("a stale cache: the primary records too, and the answer is right", async () => {
    const at = 10 * DAY;
    for (const location of ["near", "far"]) await app.call("visit", { at }, { location });
    expect(await app.call("visit", { at }, { location: "far" })).toMatchObject({ result: 3, path: "speculative" });
    expect(await app.call("visit", { at }, { location: "near" })).toMatchObject({ result: 4, path: "near-storage" });
    expect(await app.call("visit", { at }, { location: "near" })).toMatchObject({ result: 5, path: "speculative" });
  });

  test("an abort is an answer", async () => {
    for (const location of ["near", "near", "far"])
      expect(await app.call("visits", { at: 99 * DAY }, { location })).toMatchObject({
        status: 404,
        path: "speculative",
      });
  });
});

describe("a given set", () => {
  test("that is right", async () => {
    await app.call("link", { from: "a", to: "b" });
    for (const result of [1, 2])
      expect(await app.call("followLink", { from: "a" })).toMatchObject({ result, path: AT_LOCATION });
  });

  test("that is wrong: the guard catches it, the answer is right, and record mode takes its place", async () => {
    for (const [index, key] of ["x", "y", "x"].entries()) {
      const [own, path] = index === 2 ? [2, "speculative"] : [1, "near-storage"];
      expect(await app.call("tally", { key })).toMatchObject({ result: own + index + 1, path });
    }
    expect(app.events.some(({ event }) => event === "speculation_stopped")).toBe(true);
    expect(app.events.filter(({ event }) => event === "set_left")).toMatchObject([{ handler: "tally" }]);
  });
});

test("near storage by choice", async () => {
  for (const result of [1, 2, 3])
    expect(await app.call("far", { key: "f" })).toMatchObject({ result, path: "near-storage" });
});

describe("what the command says", () => {
  test("analyze: how each set is found, once each reason", async () => {
    const options = { env: { NO_COLOR: "1" } };
    const { code, stdout } = await radical(["analyze", "--explain", "--project", project.folder], options);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^followLink {2}given .*\n {2}reads {2}links\/\{from\} {2}dependent .*\n(?: {2}(?:reads|writes) .*\n)+ {2}by {5}followLinkSet {2}handlers\/plans\.ts:34$/m,
    );
    expect(stdout).toMatch(
      /^burn {2}sliced.*\n(?: {2}reads .*\n)+ {2}shows {2}its result before the confirmation: @speculative {2}handlers\/plans\.ts:\d+$/m,
    );
    expect(stdout).toMatch(/^ {2}cost {3}about [\d,]+ steps before the request leaves, in followLinkSet$/m);
    expect(stdout).toMatch(/^far {2}near storage .*\n(?: {2}(?:reads|writes) .*\n)+ {2}by {5}@nearstorage/m);
    expect(stdout).toMatch(
      /^link {2}sliced .*\n {2}writes links\/\{from\}.*\n {2}cost .*\n {2}every line that it keeps:\n.*links\.put/m,
    );
    expect(stdout).toMatch(/^visit {2}record mode .*\n {2}reads {2}counts\/\{\?\}/m);
    expect(stdout).toMatch(/\^ this key depends on a value that the analyzer does not know$/m);
    expect(stdout).toContain("the request leaves when the handler has run");
    expect(stdout).toContain("more: radical explain not_sliced_library");
  });

  test("--strict: exit code 3, and which handlers", async () => {
    for (const command of ["analyze", "build"]) {
      const { code, stderr } = await radical([command, "--strict", "--project", project.folder], {
        env: { NO_COLOR: "1" },
      });
      expect(code).toBe(3);
      expect(stderr).toMatch(
        /3 handlers neither sliced nor given\n {2}far {2}near storage .*\n {2}visit {2}record mode: /,
      );
    }
    const one = await radical(["analyze", "link", "--strict", "--project", project.folder]);
    expect(one.code).toBe(0);
  });

  test("--json has it all", async () => {
    const { stdout } = await radical(["analyze", "--json", "--project", project.folder]);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      handlers: [
        { name: "burn", plan: { kind: "sliced" }, speculative: { file: "handlers/plans.ts" } },
        { name: "dig", plan: { kind: "sliced" }, speculative: null },
        { name: "far", plan: { kind: "near-storage", span: { line: 54 } } },
        { name: "followLink", plan: { kind: "given", function: { name: "followLinkSet" } } },
        { name: "hoard", plan: { kind: "sliced" } },
        {
          name: "link",
          plan: { kind: "sliced" },
          writes: [{ table: "links", pattern: "links/{from}", source: "from" }],
        },
        { name: "tally", plan: { kind: "given" } },
        { name: "visit", plan: { kind: "recorded", reason: { code: "not_sliced_library" } } },
        { name: "visits", plan: { kind: "recorded" } },
      ],
    });
  });

  test("--emit: the source of the read/write-set function and nothing else", async () => {
    const { code, stdout } = await radical(["analyze", "link", "--emit", "--project", project.folder]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^\/\/ What link \(handlers\/plans\.ts\) reads and writes\.\n[^]*links\.willPut\(from\);[^]*}\n$/,
    );
  });

  test("--emit-ir: the products of the phases, or of one", async () => {
    const all = await radical(["analyze", "link", "--emit-ir", "--project", project.folder]);
    expect(all.code).toBe(0);
    expect(all.stdout.match(/^# .*$/gm)).toEqual(["# link: lower", "# link: infer", "# link: slice", "# link: emit"]);
    const one = await radical(["analyze", "link", "--emit-ir=slice", "--project", project.folder]);
    expect(one.stdout).toMatch(/^# link: slice\n\n[^]*function link\(/);
    expect(one.stdout).not.toContain("# link: lower");
    const wrong = await radical(["analyze", "--emit-ir=parse", "--project", project.folder]);
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("--emit-ir must be one of") as unknown });
  });

  test("explain: the page of a diagnostic, or all of them", async () => {
    expect((await radical(["explain", "not_sliced_library"])).stdout).toMatch(/^# not_sliced_library\n/);
    expect((await radical(["explain"])).stdout).toMatch(/^# Diagnostics\n[\s\S]*not_sliced_library/);
    expect(await radical(["explain", "nonsense"])).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("a limit ends a handler at the same point here and there", () => {
  const parameter = { burn: "rounds", dig: "levels", hoard: "pages" } as const;
  type Handler = keyof typeof parameter;

  /** The most that the handler can do, as far as its location says. */
  async function most(handler: Handler, doable: number, undoable: number): Promise<number> {
    let [low, high] = [doable, undoable];
    while (high - low > 1) {
      const middle = Math.trunc((low + high) / 2);
      const { status } = await app.call(handler, { key: handler, [parameter[handler]]: middle }, { location: "far" });
      if (status === 200) low = middle;
      else high = middle;
    }
    return low;
  }

  test.each<[Handler, number, string]>([
    ["burn", FUEL, "the handler used up its fuel"],
    ["dig", 200_000, "nested too deeply"],
    ["hoard", 2_000, "memory"],
  ])("%s", async (handler, undoable, words) => {
    const limit = await most(handler, 0, undoable);
    expect(limit).toBeGreaterThan(0);
    for (const amount of [limit, limit + 1]) {
      // What the other location writes, this one does not know: so the primary runs the handler, then this location does.
      await app.call("far", { key: handler }, { location: "near" });
      const args = { key: handler, [parameter[handler]]: amount };
      const there = await app.call(handler, args, { location: "far" });
      const here = await app.call(handler, args, { location: "far" });
      expect([there.path, here.path]).toEqual(["near-storage", "speculative"]);
      expect([here.status, here.result, here.error]).toEqual([there.status, there.result, there.error]);
      expect(here.status).toBe(amount === limit ? 200 : 500);
      if (amount > limit) expect(here.error).toMatchObject({ code: "handler_trapped" });
      if (amount > limit) expect(here.error?.message).toContain(words);
      // The fuel is shown.
      expect(here.headers.get("server-timing")).toMatch(/f;dur=[\d.]+;desc="\d+ fuel"/);
    }
  });

  test("that of fuel is the one of radical.config.ts, and a run ends within a block of it", async () => {
    expect(app.manifest().limits.fuel).toBe(FUEL);
    const rounds = await most("burn", 0, FUEL);
    const { headers } = await app.call("burn", { key: "burn", rounds }, { location: "far" });
    const used = Number(/desc="(\d+) fuel"/.exec(headers.get("server-timing") ?? "")?.[1]);
    expect(used).toBeLessThanOrEqual(FUEL);
    expect(used).toBeGreaterThan(FUEL - 100);
  });
});
