/**
 * Live queries whose isolate dies, and whose stream of updates is half-open: the last state arrives all the same. The client reads the event
 * stream itself. Real processes; only the links to the LVI server are under control.
 */
import { fileURLToPath } from "node:url";
import { HEARD_PATH, UPDATES_PATH } from "@radical/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestApp, startTestApp } from "../src/testing.ts";
import { SQLITE } from "./crash/storages.ts";
import { eventsOf, type StreamEvent } from "./event-stream.ts";
import { createFaultLink, type LinkRequest } from "./fault-link.ts";
import { type Built, built, SOON, World } from "./process-world.ts";

const BANK = fileURLToPath(new URL("fixtures/bank", import.meta.url));

/** The next event that has a state. */
async function stateIn(events: AsyncIterator<StreamEvent>): Promise<StreamEvent> {
  for (let next = await events.next(); next.done !== true; next = await events.next())
    if (next.value.event === "message") return next.value;
  throw new Error("The stream has ended.");
}

describe("an isolate that is killed", () => {
  let application: Built;
  let world: World;
  beforeAll(async () => {
    application = await built(BANK);
    const times = { leaseMs: 60_000, readLeaseMs: 1_500, attemptMs: 15_000 };
    world = await World.start(application, SQLITE, times, ["here", "far"]);
  });
  afterAll(async () => {
    await world?.stop();
    await application?.remove();
  });
  const live = (known: string | null): AsyncGenerator<StreamEvent, void, void> =>
    eventsOf(`${world.urlOf("far")}/api/count?name=k`, known === null ? {} : { "last-event-id": known });

  test("breaks its streams: who comes back is shown the last state, and nothing if it is the one that it knows", async () => {
    const broken = live(null);
    const { id, data } = await stateIn(broken);
    expect(data).toEqual({ result: 0 });
    await world.signal("far", "SIGKILL");
    await expect(stateIn(broken)).rejects.toThrow(/terminated|aborted|ended/);
    expect(await world.call("here", "increment", "k")).toMatchObject({ result: 1 });
    await world.startLocation("far");
    const back = live(id);
    const shown = await stateIn(back);
    expect(shown.data).toEqual({ result: 1 });
    await back.return();
    const again = live(shown.id);
    const next = stateIn(again);
    expect(await world.call("far", "count", "k")).toMatchObject({ result: 1 });
    expect(await world.call("here", "increment", "k")).toMatchObject({ result: 2 });
    expect((await next).data).toEqual({ result: 2 });
    await again.return();
  });
});

describe("a stream of updates that is half-open", () => {
  const faults = createFaultLink();
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ project: BANK, link: faults.link, readLeaseMs: 1_500 });
  });
  afterAll(() => app?.stop());

  test("holds up the changes for as long as the server waits to hear from the session, and then they are shown", async () => {
    const events = eventsOf(`${app.url}/api/count?name=k`, { "x-radical-location": "far" });
    expect((await stateIn(events)).data).toEqual({ result: 0 });
    // By then the query is covered: a location with subscribers says each second what it has heard.
    const sent = (wanted: string): readonly LinkRequest[] =>
      faults.arrived.filter(({ path, location }) => path === wanted && location === "far");
    await expect.poll(() => sent(HEARD_PATH).length, SOON).toBeGreaterThan(2);
    // Both sides believe in it, other messages pass, and nothing comes.
    const muted = new Set<LinkRequest>(sent(UPDATES_PATH));
    expect(muted.size).toBeGreaterThan(0);
    faults.mutes = (request) => muted.has(request);
    for (let i = 1; i <= 3; i++)
      expect(await app.call("increment", { name: "k" }, { location: "near" })).toMatchObject({ result: i });
    let shown: unknown = null;
    while ((shown as { result: number } | null)?.result !== 3) shown = (await stateIn(events)).data;
    expect(await app.call("count", { name: "k" }, { location: "far" })).toMatchObject({ result: 3 });
    await events.return();
  });
});
