/** One call that computes for longer than a location may, with real processes: everybody else is served. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestApp, startTestApp } from "../src/testing.ts";
import { type TemporaryProject, createProject } from "./radical-process.ts";
import { readIntents } from "./storage.ts";

/** Half as much again as a location may use. */
const CONFIG = `export default { name: "long", limits: { fuel: 3_000_000_000 }, dev: { locations: { near: 1, far: 5 } } };\n`;
const HANDLERS = `import { Table } from "@radical/sdk";

const counts = new Table<i32[]>("counts");

function add(key: string, more: i32): i32 {
  const found = counts.get(key);
  const sum = more + (found == null ? 0 : found[0]);
  counts.put(key, [sum]);
  return sum;
}

export function increment(key: string): i32 {
  return add(key, 1);
}

/** So many accesses to 48 MiB, each of which waits for the one before. */
export function scatter(key: string, accesses: i64): i32 {
  const before = counts.get(key);
  const cells = new StaticArray<u32>(12 << 20);
  let at: u32 = before == null ? 1 : <u32>before[0];
  for (let left = accesses; left > 0; left--) {
    const cell = ((at ^ (at >>> 15)) * 2654435761) % <u32>cells.length;
    cells[cell] += 1;
    at = cells[cell] * 1664525 + at * 22695477 + 1013904223;
  }
  counts.put(key, [<i32>at]);
  return <i32>at;
}
`;

let project: TemporaryProject;
let app: TestApp;

beforeAll(async () => {
  project = await createProject({ "radical.config.ts": CONFIG, "handlers/long.ts": HANDLERS });
  app = await startTestApp({ project: project.folder });
});
afterAll(async () => {
  await app.stop();
  await project.remove();
});

test("it runs near storage; its location, and the item at other locations, serve others", async () => {
  const call = app.call("scatter", { key: "hot", accesses: 1e11 }, { location: "near" });
  const others = await Promise.all([
    app.call("increment", { key: "cold" }, { location: "near" }),
    app.call("increment", { key: "hot" }, { location: "far" }),
  ]);
  expect(others.map(({ status }) => status)).toEqual([200, 200]);
  const { status, error, path, headers } = await call;
  expect([status, error?.code, path, headers.get("x-radical-reason")]).toEqual([
    500,
    "handler_trapped",
    "near-storage",
    "long",
  ]);
  // Of the run nothing is left.
  expect(await app.result("increment", { key: "hot" }, { location: "near" })).toBe(2);
  await expect.poll(() => readIntents(app.stateFolder).pending, { timeout: 100_000 }).toEqual([]);
});
