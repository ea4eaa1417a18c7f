/** Live queries at a location, as docs/live-queries.md promises them, inside workerd. */
import { unitId, type UnitId } from "@radical/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { EventReader } from "./event-reader.ts";
import { buildFixture } from "./fixture/application.ts";
import { Location } from "./location.ts";
import { TestPrimary } from "./primary.ts";

let primary: TestPrimary;
let primaryUrl: Promise<string>;
let location: Location;
const readers: EventReader[] = [];

beforeAll(async () => {
  primary = new TestPrimary(await buildFixture());
  primaryUrl = primary.listen();
  location = await Location.start({ primaryUrl: await primaryUrl, location: "IE" });
});
afterAll(async () => {
  await location.stop();
  await primary.close();
});
beforeEach(() => primary.reset());
afterEach(() => {
  for (const reader of readers.splice(0)) reader.close();
});

async function listenTo(target: string, headers: Readonly<Record<string, string>> = {}): Promise<EventReader> {
  const reader = await EventReader.open(new URL(target, location.url), headers);
  readers.push(reader);
  return reader;
}

const text = new TextEncoder();
/** Somebody else writes, and the primary tells locations of it by a hint. */
function write(key: string, value: string): UnitId {
  const unit = unitId("notes", key);
  const commitId = primary.put(unit, encoded(value));
  const { version } = primary.entry(unit);
  primary.update([[unit, commitId, version.hash, Buffer.from(encoded(value)).toString("base64")]]);
  return unit;
}

/** As the SDK writes text. */
function encoded(value: string): Uint8Array {
  const bytes = text.encode(value);
  if (bytes.length > 23) throw new Error("Longer text has another head.");
  return Uint8Array.of(0x60 + bytes.length, ...bytes);
}

describe("a live query", () => {
  test("answers with a stream: the state first, then each that follows, and the same one not twice", async () => {
    write("live", "one");
    const reader = await listenTo("/api/read?key=live");
    expect(reader.response.status).toBe(200);
    expect(reader.response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(reader.response.headers.get("cache-control")).toBe("no-store, no-transform");
    expect(reader.response.headers.get("x-radical-location")).toBe("IE");
    const first = await reader.next();
    expect(first).toMatchObject({ event: "message", data: '{"result":"one"}' });
    expect(first.id).toMatch(/^[0-9a-f]{32}$/);
    const asGet = await location.request("/api/read?key=live");
    expect(await asGet.text()).toBe(first.data);
    write("live", "two");
    expect((await reader.next()).data).toBe('{"result":"two"}');
    write("live", "one");
    expect(await reader.next()).toEqual(first);
  });

  test("is told again what it has run meanwhile only if that is news to its client", async () => {
    write("known", "one");
    const { id } = await (await listenTo("/api/read?key=known")).next();
    const again = await listenTo("/api/read?key=known", { "last-event-id": id });
    write("known", "two");
    expect((await again.next()).data).toBe('{"result":"two"}');
  });

  test("of a handler that refuses has an event of its own, and goes on", async () => {
    const reader = await listenTo("/api/guard?key=door");
    const refused = await reader.next();
    expect(refused).toMatchObject({ event: "error" });
    expect(JSON.parse(refused.data)).toMatchObject({ error: { code: "closed" } });
    write("door", "open");
    expect(await reader.next()).toMatchObject({ event: "message", data: '{"result":"open"}' });
  });

  test("is one run for all who ask the same", async () => {
    write("shared", "one");
    const all = await Promise.all(Array.from({ length: 20 }, () => listenTo("/api/read?key=shared")));
    await Promise.all(all.map((reader) => reader.next()));
    const before = asks();
    write("shared", "two");
    const seen = await Promise.all(all.map((reader) => reader.next()));
    expect(new Set(seen.map(({ data }) => data))).toEqual(new Set(['{"result":"two"}']));
    // Without a promise of the primary it also runs from time to time.
    expect(asks() - before).toBeLessThan(20);
  });
});

describe("a stream is refused like a GET", () => {
  test.each([
    ["/api/append?key=a&text=b", 405, "method_not_allowed"],
    ["/api/nothing", 404, "unknown_handler"],
    ["/api/read", 400, "missing_argument"],
  ])("%s", async (target, status, code) => {
    const response = await location.request(target, { headers: { accept: "text/event-stream" } });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code } });
  });

  test("a POST is none, whatever it accepts", async () => {
    const response = await location.call("read", { key: "x" }, { headers: { accept: "text/event-stream" } });
    expect(response.headers.get("content-type")).toContain("application/json");
    await response.text();
  });
});

describe("a stream ends", () => {
  const ENTRY = `
    import { RadicalCache } from "../src/cache/radical-cache.ts";
    import { CallError } from "../src/call-error.ts";
    import { bindRadical } from "../src/worker.ts";
    import f from "./module.wasm";
    import rw from "./module.rw.wasm";
    import manifest from "./manifest.json";
    export { RadicalCache };
    const signedOut = new Set();
    const radical = bindRadical({ manifest, f, rw })({
      authenticate: ({ headers }) => {
        const name = headers.get("x-name");
        if (signedOut.has(name)) throw new CallError(401, "signed_out", "Nobody of this name is signed in.");
        return name;
      },
    });
    export default {
      fetch: (request, env, context) => {
        const { pathname, searchParams } = new URL(request.url);
        if (pathname !== "/sign-out") return radical.fetch(request, env, context);
        signedOut.add(searchParams.get("name"));
        return new Response();
      },
    };
  `;

  test("with the words of authenticate, when its caller is nobody any more; others go on", async () => {
    const vars = { RADICAL_CALLER_CHECK_MS: "1" };
    const ours = await Location.start({ primaryUrl: await primaryUrl, vars, entry: ENTRY });
    try {
      write("mine", "one");
      const target = new URL("/api/read?key=mine", ours.url);
      const [ann, bob] = await Promise.all(["ann", "bob"].map((name) => EventReader.open(target, { "x-name": name })));
      readers.push(ann!, bob!);
      await Promise.all([ann!.next(), bob!.next()]);
      await ours.request("/sign-out?name=ann");
      const [last, ...more] = await ann!.rest();
      expect([last?.event, JSON.parse(last?.data ?? ""), more]).toMatchObject([
        "error",
        { error: { code: "signed_out" } },
        [],
      ]);
      expect(ann!.retryMs).toBeGreaterThanOrEqual(5_000);
      write("mine", "two");
      expect((await bob!.next()).data).toBe('{"result":"two"}');
    } finally {
      await ours.stop();
    }
  });

  test("before it begins, if the location has as many as it takes", async () => {
    const ours = await Location.start({ primaryUrl: await primaryUrl, vars: { RADICAL_MAX_STREAMS: "2" } });
    try {
      const target = new URL("/api/read?key=mine", ours.url);
      for (let index = 0; index < 2; index++) readers.push(await EventReader.open(target));
      const refused = await EventReader.open(target);
      expect(refused.response.status).toBe(503);
      expect(await refused.response.json()).toMatchObject({ error: { code: "too_many_streams" } });
    } finally {
      await ours.stop();
    }
  });
});

test("a client that was cut off is told so, and then the state, though it is the same", async () => {
  write("cut", "one");
  const reader = await listenTo("/api/read?key=cut");
  expect((await reader.next()).data).toBe('{"result":"one"}');
  primary.goDown();
  expect(await reader.next()).toMatchObject({ event: "stale", id: "" });
  primary.comeBack();
  expect((await reader.next()).data).toBe('{"result":"one"}');
});

function asks(): number {
  return primary.events.filter(({ kind }) => kind === "lvi").length;
}
