/** `Prefer: speculative`, as docs/http.md promises it, inside workerd: the order of lines, shown by a primary that is held. */
import type { LviReply } from "@radical/protocol";
import { commitId, entryOf, unitId } from "@radical/protocol";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { buildFixture } from "./fixture/application.ts";
import { Location } from "./location.ts";
import { TestPrimary } from "./primary.ts";

const PREFER = { prefer: "speculative" };
const stored = (text: string): Uint8Array => Uint8Array.of(0x60 + text.length, ...Buffer.from(text));

let primary: TestPrimary;
let location: Location;

beforeAll(async () => {
  const { manifest, ...modules } = await buildFixture();
  const { append, refuse, typed, read } = manifest.handlers;
  primary = new TestPrimary({ manifest, ...modules });
  const tagged = { append, refuse, typed, read };
  const handlers = {
    ...manifest.handlers,
    ...Object.fromEntries(Object.entries(tagged).map(([name, one]) => [name, { ...one!, speculative: true } as const])),
  };
  location = await Location.start({ primaryUrl: await primary.listen(), location: "JP", manifest: { handlers } });
});
afterAll(async () => {
  await location.stop();
  await primary.close();
});
beforeEach(() => primary.reset());

/** Holds every reply until released, and changes it. */
function hold(change: (reply: LviReply) => LviReply = (reply) => reply): () => void {
  const released = Promise.withResolvers<void>();
  primary.intercept = async (_request, ownReply) => {
    const reply = change(ownReply());
    await released.promise;
    return reply;
  };
  return released.resolve;
}

/** Lines of a stream, as they come. */
async function* linesOf(response: Response): AsyncGenerator<Record<string, unknown>> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      yield JSON.parse(text.slice(0, end)) as Record<string, unknown>;
      text = text.slice(end + 1);
    }
  }
  expect(text).toBe("");
}

async function warm(key: string): Promise<void> {
  expect((await location.call("append", { key, text: "a" })).status).toBe(200);
  await primary.happened("followup");
}

test("the result of the run is there while the primary has not replied; then it is confirmed", async () => {
  await warm("shown");
  const release = hold();
  const response = await location.call("append", { key: "shown", text: "b" }, { headers: PREFER });
  expect(response.status).toBe(200);
  const header = (name: string): string => response.headers.get(name) ?? "";
  expect(header("content-type")).toBe("application/x-ndjson; charset=utf-8");
  expect(header("preference-applied")).toBe("speculative");
  expect(header("cache-control")).toBe("no-store");
  expect(header("x-radical-location")).toBe("JP");
  const execution = header("x-radical-execution");
  expect(execution).toMatch(/^execution-[0-9a-f]{32}$/);
  const lines = linesOf(response);
  expect((await lines.next()).value).toEqual({ speculative: { result: "ab" }, execution });
  release();
  const { value } = (await lines.next()) as { value: Record<string, unknown> };
  expect(value).toEqual({ confirmed: true, path: "speculative", reason: "valid", ms: expect.any(Object) as unknown });
  expect(value["ms"]).toMatchObject({ total: expect.any(Number) as unknown, f: expect.any(Number) as unknown });
  expect((await lines.next()).done).toBe(true);
  expect(await location.logged("request", (line) => `execution-${line.execution}` === execution)).toMatchObject({
    status: 200,
    path: "speculative",
    reason: "valid",
    verdict: "confirmed",
  });
});

test("a stale cache is corrected by the primary's own result", async () => {
  await warm("stale");
  primary.put(unitId("notes", "stale"), stored("other"));
  const release = hold();
  const response = await location.call("append", { key: "stale", text: "b" }, { headers: PREFER });
  const lines = linesOf(response);
  expect((await lines.next()).value).toMatchObject({ speculative: { result: "ab" } });
  release();
  expect((await lines.next()).value).toMatchObject({
    corrected: { result: "otherb" },
    path: "near-storage",
    reason: "stale",
  });
  expect((await lines.next()).done).toBe(true);
});

test("a result that the primary's run does not give has failed, with the error's own words", async () => {
  await warm("failed");
  const repairs = [{ unit: unitId("notes", "failed"), entry: entryOf(commitId(1, 9), stored("x")) }];
  const release = hold(({ asOf }) => ({
    asOf,
    times: { receivedAtMs: 0, sentAtMs: 0 },
    kind: "executed",
    cause: "stale",
    outcome: { kind: "abort", status: 409, code: "closed", message: "The note is closed." },
    repairs,
  }));
  const response = await location.call("append", { key: "failed", text: "b" }, { headers: PREFER });
  const lines = linesOf(response);
  expect((await lines.next()).value).toMatchObject({ speculative: { result: "ab" } });
  release();
  expect((await lines.next()).value).toMatchObject({
    failed: { code: "closed", message: "The note is closed.", status: 409, retryAfterMs: null },
    path: "near-storage",
  });
  expect((await lines.next()).done).toBe(true);
});

test.each([
  ["near storage", "typed", { count: 3 }, { corrected: { result: 3 }, path: "near-storage", reason: "plan" }],
  ["refusals", "refuse", { key: "k", status: 403 }, { failed: { status: 403 }, path: "speculative" }],
])("of %s there is one line: the answer", async (_, handler, args, line) => {
  const response = await location.call(handler, args, { headers: PREFER });
  expect([response.status, response.headers.get("preference-applied")]).toEqual([200, "speculative"]);
  const lines: unknown[] = [];
  for await (const one of linesOf(response)) lines.push(one);
  expect(lines).toMatchObject([line]);
});

test.each([
  ["a handler without the tag", "write", { key: "k", text: "x" }, PREFER],
  ["a request without the preference", "append", { key: "k", text: "x" }, {}],
  ["another preference", "append", { key: "k", text: "x" }, { prefer: "respond-async, wait=3" }],
  ["bad input", "append", { key: "k" }, PREFER],
])("%s is answered at once and whole", async (_, handler, args, headers) => {
  const response = await location.call(handler, args, { headers });
  expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(response.headers.get("preference-applied")).toBeNull();
  expect(Object.keys((await response.json()) as object)).toEqual([response.ok ? "result" : "error"]);
});

test("a GET has no preferences", async () => {
  const response = await location.request("/api/read?key=k", { headers: PREFER });
  expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
});

test("the preference stands among others, in any case", async () => {
  const headers = { prefer: "wait=3, Speculative; x=y" };
  const response = await location.call("append", { key: "k", text: "x" }, { headers });
  expect(response.headers.get("preference-applied")).toBe("speculative");
  await response.body?.cancel();
});

test("a client that goes away after the first line does not keep the execution from its end", async () => {
  await warm("away");
  const release = hold();
  const aborting = new AbortController();
  const response = await location.call(
    "append",
    { key: "away", text: "b" },
    { headers: PREFER, signal: aborting.signal },
  );
  await linesOf(response).next();
  aborting.abort();
  release();
  const isOfTheRun = (text: number | undefined): boolean => text === "b".charCodeAt(0);
  const { followup } = await primary.happened("followup", (event) =>
    isOfTheRun(event.followup.writes[0]?.value?.at(-1)),
  );
  expect(followup.writes).toEqual([{ unit: "notes/away", value: stored("ab") }]);
});
