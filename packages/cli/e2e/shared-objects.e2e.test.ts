/** The shared objects of the documents, used by many at once at five locations. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../src/testing.ts";

const LOCATIONS = ["DE", "JP", "US", "BR", "AU"];
/** Those who work at each location at once, and how often each does. */
const WORKERS = 4;
const TIMES = 5;
const ALL = LOCATIONS.length * WORKERS * TIMES;

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp({
    project: fileURLToPath(new URL("../../../docs/examples/shared", import.meta.url)),
    locations: Object.fromEntries(LOCATIONS.map((location, index) => [location, 5 * index])),
  });
});
afterAll(() => app?.stop());

/** Calls a handler by many workers at once. Gives the results of each. `argsOf`: the arguments of a call by its number. */
async function asked<T>(handler: string, argsOf: (call: number) => object, times = TIMES): Promise<readonly T[][]> {
  const workers = LOCATIONS.flatMap((location) => Array.from({ length: WORKERS }, () => location));
  return Promise.all(
    workers.map(async (location, worker) => {
      const results: T[] = [];
      for (let time = 0; time < times; time++)
        results.push(await app.result<T>(handler, argsOf(worker * times + time), { location }));
      return results;
    }),
  );
}

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const inOrder = (numbers: readonly number[]): readonly number[] => numbers.toSorted((a, b) => a - b);

test("AtomicLong: each addition gives another number, and each worker sees them grow", async () => {
  const found = await asked<number>("addAndGet", () => ({ name: "n", n: 1 }));
  expect(inOrder(found.flat())).toEqual(upTo(ALL).map((n) => n + 1));
  for (const own of found) expect(own).toEqual(inOrder(own));
  expect(await app.result("longValue", { name: "n" })).toBe(ALL);
  const won = await asked<boolean>("compareAndSetLong", () => ({ name: "n", expected: ALL, next: 0 }), 1);
  expect(won.flat().filter(Boolean)).toHaveLength(1);
  expect(await app.result("longValue", { name: "n" })).toBe(0);
});

test("AtomicBoolean: one of all that set it finds it unset", async () => {
  await app.result("Flag.create", { id: "lamp" });
  const found = await asked<boolean>("Flag.getAndSet", () => ({ id: "lamp", next: true }), 1);
  expect(found.flat().filter((before) => !before)).toHaveLength(1);
  expect(await app.result("Flag.value", { id: "lamp" })).toBe(true);
});

test("AtomicReference: nobody replaces a plan that another one has replaced", async () => {
  await app.result("Plan.create", { id: "trip", text: "" });
  const add = async (location: string, word: string): Promise<void> => {
    for (;;) {
      const { version, text } = await app.result<{ version: number; text: string }>(
        "Plan.read",
        { id: "trip" },
        { location },
      );
      const args = { id: "trip", version, text: `${text}${word} ` };
      const { status, error } = await app.call("Plan.compareAndSet", args, { location });
      if (status === 200) return;
      expect(error?.code).toBe("changed");
    }
  };
  const words = LOCATIONS.flatMap((location) => upTo(TIMES).map((time) => [location, `${location}${time}`] as const));
  await Promise.all(words.map(([location, word]) => add(location, word)));
  const { version, text } = await app.result<{ version: number; text: string }>("Plan.read", { id: "trip" });
  expect(version).toBe(words.length + 1);
  expect(text.trim().split(" ").toSorted()).toEqual(words.map(([, word]) => word).toSorted());
});

test("SharedMap: one value is put where none is, and its entries come in order, page by page", async () => {
  const found = await asked<string | null>("putIfAbsent", (call) => ({
    map: "m",
    key: `k${call % TIMES}`,
    value: `v${call}`,
  }));
  expect(found.flat().filter((before) => before === null)).toHaveLength(TIMES);
  await app.result("mapPut", { map: "m2", key: "other", value: "x" });
  await app.result("mapRemove", { map: "m", key: "k0" });
  expect(await app.result("mapSize", { map: "m" })).toBe(TIMES - 1);
  type Entry = { readonly key: string; readonly value: string };
  const first = await app.result<Entry[]>("mapEntries", { map: "m", most: 2 });
  const rest = await app.result<Entry[]>("mapEntries", { map: "m", after: first.at(-1)?.key });
  expect([...first, ...rest].map(({ key }) => key)).toEqual(
    upTo(TIMES)
      .slice(1)
      .map((n) => `k${n}`),
  );
  for (const { key, value } of [...first, ...rest]) expect(await app.result("mapGet", { map: "m", key })).toBe(value);
  expect(await app.result("mapGet", { map: "m", key: "k0" })).toBeNull();
});

test("SharedList: each text gets the next index, and stays there", async () => {
  const found = await asked<number>("listPush", (call) => ({ list: "l", text: `t${call}` }));
  expect(inOrder(found.flat())).toEqual(upTo(ALL));
  const texts = await app.result<string[]>("listAfter", { list: "l", index: -1, most: ALL });
  const byIndex = new Map(found.flat().map((index, call) => [index, `t${call}`]));
  expect(texts).toEqual(upTo(ALL).map((index) => byIndex.get(index)));
  expect(await app.result("listAfter", { list: "l", index: 2, most: 2 })).toEqual(texts.slice(3, 5));
  expect(await app.result("listGet", { list: "l", index: 3 })).toBe(texts[3]);
  expect(await app.result("listGet", { list: "l", index: ALL })).toBeNull();
});

test("an operation with the tag runs near storage, and a read of what is leased asks nobody", async () => {
  const { path } = await app.call("addAndGet", { name: "calm", n: 1 });
  expect(path).toBe("near-storage");
  // Reads pay off when there are some.
  const read = (): Promise<string | null> => app.call("longValue", { name: "calm" }).then((answer) => answer.path);
  await expect.poll(read, { timeout: 20_000, interval: 20 }).toBe("leased");
});
