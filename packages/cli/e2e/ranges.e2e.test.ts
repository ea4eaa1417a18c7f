/** Ranges through real locations and a real server: where a scan is answered, and that nobody sees a phantom. */
import { fileURLToPath } from "node:url";
import { MODULES_PATH, valueToJson } from "@radical/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventsOf } from "./event-stream.ts";
import { readModule, loadDeploymentKeys, askPrimary } from "@radical/admin";
import { record } from "../src/replay/record.ts";
import { type Recorded, recordOfLine, recordToLine } from "../src/replay/record-line.ts";
import { replay } from "../src/replay/replay.ts";
import { type Answer, startTestApp, type TestApp } from "../src/testing.ts";

const ROOMS = fileURLToPath(new URL("fixtures/rooms", import.meta.url));
/** Bounded polls of conditions; none of them is a measure of time. */
const SOON = { timeout: 100_000, interval: 20 };

interface Page {
  readonly texts: readonly string[];
  readonly next: string | null;
  readonly total: number;
}

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ project: ROOMS });
});
afterAll(() => app?.stop());

const post = (room: string, number: number, location: string): Promise<Answer> =>
  app.call("post", { room, number, text: `post ${number}` }, { location });
const timeline = (room: string, location: string, before: string | null = null, most = 3): Promise<Answer> =>
  app.call("timeline", { room, before, most }, { location });
const valueOf = (value: Uint8Array): unknown => JSON.parse(valueToJson(value));
const posts = (...numbers: readonly number[]): readonly string[] => numbers.map((number) => `post ${number}`);

async function fill(room: string, count: number): Promise<void> {
  for (let number = 1; number <= count; number++)
    expect(await post(room, number, "near")).toMatchObject({ status: 200 });
}

test("a location that knows nothing learns the rows from one execution near storage, and confirms them then", async () => {
  await fill("cold", 5);
  const first = await timeline("cold", "far");
  expect(first).toMatchObject({ path: "near-storage", result: { texts: posts(5, 4, 3) } });
  expect(first.headers.get("x-radical-reason")).toBe("missing");
  expect(await timeline("cold", "far")).toMatchObject({ path: "speculative", result: first.result });
});

test("a location knows its own posts, in the first room of all too", async () => {
  expect(await timeline("own", "near")).toMatchObject({ result: { texts: [], next: null } });
  for (let number = 1; number <= 6; number++) {
    await post("own", number, "near");
    const newest = posts(number, number - 1, number - 2).slice(0, Math.min(3, number));
    expect(await timeline("own", "near")).toMatchObject({ path: "speculative", result: { texts: newest } });
  }
  // Of another room it knows the number alone.
  await fill("number", 3);
  const total = (): Promise<Answer> => app.call("total", { room: "number" }, { location: "near" });
  expect(await total()).toMatchObject({ result: 3 });
  for (let number = 4; number < 7; number++) {
    await post("number", number, "near");
    expect(await total()).toMatchObject({ path: "speculative", result: number });
  }
});

test("an older page is confirmed again and again, however many posts come behind it", async () => {
  await fill("old", 7);
  const { next } = (await timeline("old", "far")).result as Page;
  const older = await timeline("old", "far", next);
  expect(older).toMatchObject({ result: { texts: posts(4, 3, 2) } });
  for (let number = 8; number < 14; number++) {
    await post("old", number, "near");
    const again = await timeline("old", "far", next);
    expect([again.path, again.result]).toEqual([expect.stringMatching("speculative|leased"), older.result]);
  }
});

test("a post from elsewhere is seen by every read that begins after it, in range and number alike", async () => {
  await fill("two", 3);
  for (let number = 4; number < 16; number++) {
    const [writer, reader] = number % 2 === 0 ? ["near", "far"] : ["far", "near"];
    await post("two", number, writer);
    const [page, total] = await Promise.all([
      timeline("two", reader),
      app.call("total", { room: "two" }, { location: reader }),
    ]);
    expect([page.result, total.result]).toMatchObject([{ texts: posts(number, number - 1, number - 2) }, number]);
  }
});

test("a post that is removed is gone from pages and numbers, and the walk goes on behind it", async () => {
  await fill("gone", 6);
  const keys = await Promise.all([5, 6].map((number) => post("gone", number, "near")));
  await timeline("gone", "far");
  await app.call("remove", { key: keys[0]!.result }, { location: "near" });
  for (const location of ["near", "far"]) {
    expect((await timeline("gone", location)).result).toMatchObject({ texts: posts(6, 4, 3) });
    expect((await app.call("total", { room: "gone" }, { location })).result).toBe(5);
  }
});

test("rows and number of one execution are of one instant, while both locations post and remove", async () => {
  const writing = Promise.all(
    ["near", "far"].map(async (location, index) => {
      for (let number = 0; number < 15; number++) {
        const { result } = await post("instant", 2 * number + index, location);
        if (number % 3 === 0) await app.call("remove", { key: result }, { location });
      }
    }),
  );
  const state = { isOver: false };
  const ending = writing.finally(() => (state.isOver = true));
  let reads = 0;
  while (!state.isOver) {
    for (const location of ["near", "far"]) {
      const page = (await app.call("audited", { room: "instant" }, { location })).result as Page;
      expect(page.total).toBe(page.texts.length);
      expect(new Set(page.texts).size).toBe(page.total);
      reads++;
    }
  }
  await ending;
  expect(reads).toBeGreaterThan(2);
  expect((await app.call("audited", { room: "instant" }, { location: "far" })).result).toMatchObject({ total: 20 });
});

test("two locations sell no seat more than there are, although no two buyers write the same item", async () => {
  const most = 10;
  const buy = (name: string, location: string): Promise<Answer> =>
    app.call("takeSeat", { night: "n", name, most }, { location });
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, index) => buy(`guest ${index}`, index % 2 === 0 ? "near" : "far")),
  );
  const sold = answers.filter(({ status }) => status === 200);
  expect(sold).toHaveLength(most);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(24 - most);
  // Each buyer has seen those before.
  expect(sold.map(({ result }) => result).toSorted((a, b) => Number(a) - Number(b))).toEqual(
    Array.from({ length: most }, (_, index) => index),
  );
  expect((await app.call("taken", { night: "n" }, { location: "near" })).result).toHaveLength(most);
});

test("a range that nobody writes into is read without a request, until somebody does", async () => {
  await fill("leased", 4);
  await expect.poll(async () => (await timeline("leased", "far")).path, SOON).toBe("leased");
  await post("leased", 5, "near");
  expect((await timeline("leased", "far")).result).toMatchObject({ texts: posts(5, 4, 3) });
});

test.each([["nothing", []] as const, ["all", "all"] as const])(
  "executions that read ranges are recorded and run again, with %s redacted",
  async (_what, redact) => {
    await fill("ann", 5);
    const { host, port } = app.lviServer.address();
    const primary = { url: `http://${host}:${port}`, key: (await loadDeploymentKeys(app.stateFolder)).administration };
    const records: Recorded[] = [];
    const reads = async (): Promise<void> => {
      for (const location of ["near", "far", "near"]) {
        await app.call("audited", { room: "ann" }, { location });
        await timeline("ann", location, `ann/${"8".padEnd(16, "0")}3`);
        await app.call("takeSeat", { night: "ann", name: location, most: 9 }, { location });
      }
    };
    let reading: Promise<void> = Promise.resolve();
    const recording = await record({
      primary,
      count: 6,
      every: 1,
      handlers: ["audited", "timeline", "takeSeat"],
      redact,
      signal: AbortSignal.timeout(SOON.timeout),
      onStarted: () => {
        reading = reads();
      },
      onRecord: (one) => records.push(recordOfLine(recordToLine(one))),
    });
    await reading;
    expect(recording).toMatchObject({ recorded: 6, differing: [] });
    const content = await askPrimary(primary, "GET", `${MODULES_PATH}${app.manifest().module}/content`);
    expect(replay(readModule(new Uint8Array(await content.arrayBuffer())), records, 0).differing).toEqual([]);
    const pages = records.filter(({ handler }) => handler === "audited");
    expect(pages.length).toBeGreaterThan(0);
    for (const one of pages) {
      const outcome = one.kind === "execution" ? one.outcome : null;
      const page = outcome?.kind === "result" ? (valueOf(outcome.value) as Page) : null;
      expect(page).toMatchObject({ total: 5 });
      expect(page?.texts).toHaveLength(5);
    }
    if (redact === "all") expect(records.map(recordToLine).join("\n")).not.toMatch(/ann\/|post 1/);
  },
);

test("a live query of a page hears of each post into its room", async () => {
  await fill("live", 4);
  const events = eventsOf(`${app.url}/api/timeline?room=live&most=3`, { "x-radical-location": "far" });
  const next = async (): Promise<unknown> => {
    for (let event = await events.next(); event.done !== true; event = await events.next())
      if (event.value.event === "message") return (event.value.data as { readonly result: Page }).result.texts;
    throw new Error("The stream has ended.");
  };
  expect(await next()).toEqual(posts(4, 3, 2));
  for (let number = 5; number < 9; number++) {
    await post("elsewhere", number, "near");
    await post("live", number, "near");
    expect(await next()).toEqual(posts(number, number - 1, number - 2));
  }
  const { next: before } = (await timeline("live", "near")).result as Page;
  await app.call("remove", { key: before }, { location: "near" });
  expect(await next()).toEqual(posts(8, 7, 5));
  await events.return();
});
