import { type Life, traceContextOf, type TracePlace } from "@radical/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "./log.ts";
import { Traces } from "./traces.ts";

const PLACE: TracePlace = { traceId: "a".repeat(32), spanId: "b".repeat(16), parentId: null };
const life = (number: number): Life =>
  ({
    handler: `h${number}`,
    side: "primary",
    spans: [],
    units: [],
    unitsLeftOut: 0,
    atMs: 1,
    tookUs: 1,
  }) as unknown as Life;

interface Request {
  readonly names: readonly string[];
  answer(response: Response | Error): Promise<void>;
}

let requests: Request[];
let logged: string[];
let traces: Traces;

beforeEach(() => {
  vi.useFakeTimers();
  requests = [];
  logged = [];
  const log = createLog("info", (line) => logged.push((JSON.parse(line) as { event: string }).event));
  traces = new Traces({
    url: "http://collector/v1/traces?key=secret",
    headers: {},
    ratio: 1,
    followsCaller: true,
    resource: { "service.name": "s" },
    log,
    fetch: (_url, init) => {
      const { promise, resolve, reject } = Promise.withResolvers<Response>();
      init!.signal!.addEventListener("abort", () => reject(new Error("aborted")));
      requests.push({
        names: [...(init!.body as string).matchAll(/"name":"(h\d+)"/g)].map(([, name]) => name!),
        answer: async (response) => {
          if (response instanceof Error) reject(response);
          else resolve(response);
          await vi.advanceTimersByTimeAsync(0);
        },
      });
      return promise;
    },
  });
});
afterEach(() => vi.useRealTimers());

const ok = (): Response => new Response("{}");

test("what comes in a second goes in one request, and a full one at once", async () => {
  traces.take(life(1), PLACE);
  traces.take(life(2), PLACE);
  expect(requests).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(requests.map(({ names }) => names)).toEqual([["h1", "h2"]]);
  await requests[0]!.answer(ok());
  expect(traces.counts).toEqual({ told: 2, lost: 0 });
  for (let number = 0; number < 450; number++) traces.take(life(number), PLACE);
  // One request is under way at most.
  expect(requests).toHaveLength(2);
  await requests[1]!.answer(ok());
  await vi.advanceTimersByTimeAsync(0);
  expect(requests).toHaveLength(3);
  await requests[2]!.answer(ok());
  await vi.advanceTimersByTimeAsync(1_000);
  await requests[3]!.answer(ok());
  expect(requests.map(({ names }) => names.length)).toEqual([2, 200, 200, 50]);
  expect(traces.counts).toEqual({ told: 452, lost: 0 });
});

test("a collector that is away is asked again, ever later, and told everything that still waits", async () => {
  traces.take(life(1), PLACE);
  await vi.advanceTimersByTimeAsync(1_000);
  await requests[0]!.answer(new Error("connect ECONNREFUSED"));
  traces.take(life(2), PLACE);
  await vi.advanceTimersByTimeAsync(1_000);
  await requests[1]!.answer(new Response("", { status: 503 }));
  await vi.advanceTimersByTimeAsync(1_999);
  expect(requests).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(requests[2]!.names).toEqual(["h1", "h2"]);
  await requests[2]!.answer(ok());
  expect(traces.counts).toEqual({ told: 2, lost: 0 });
  expect(logged).toEqual(["spans_not_taken", "collector_answers"]);
});

test("so many wait at most; the others are counted", async () => {
  traces.take(life(0), PLACE);
  await vi.advanceTimersByTimeAsync(1_000);
  for (let number = 1; number <= 10_005; number++) traces.take(life(number), PLACE);
  expect(traces.counts.lost).toBe(5);
  // There is no room left for what comes back.
  await requests[0]!.answer(new Error("away"));
  expect(traces.counts.lost).toBe(6);
});

test("what is refused is lost, and not sent again", async () => {
  traces.take(life(1), PLACE);
  await vi.advanceTimersByTimeAsync(1_000);
  await requests[0]!.answer(new Response("no", { status: 400 }));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests).toHaveLength(1);
  expect(traces.counts).toEqual({ told: 0, lost: 1 });
});

test("a server that stops sends what waits, and does not wait for a collector that is silent", async () => {
  traces.take(life(1), PLACE);
  const closed = traces.close();
  expect(requests[0]!.names).toEqual(["h1"]);
  await requests[0]!.answer(ok());
  await closed;
  expect(traces.counts).toEqual({ told: 1, lost: 0 });
});

test("a collector that is silent at the end keeps no server", async () => {
  traces.take(life(1), PLACE);
  const closed = traces.close();
  await vi.advanceTimersByTimeAsync(2_000);
  await closed;
  expect(traces.counts).toEqual({ told: 0, lost: 1 });
});

test("a caller decides whether an execution has spans", () => {
  const parent = traceContextOf(`00-${"a".repeat(32)}-${"c".repeat(16)}-01`, null);
  expect(traces.placeOf(parent)).toMatchObject({ traceId: "a".repeat(32), parentId: "c".repeat(16) });
  expect(traces.placeOf(traceContextOf(`00-${"a".repeat(32)}-${"c".repeat(16)}-00`, null))).toBeNull();
  expect(traces.placeOf(null)).toMatchObject({ parentId: null });
});

test("each span has an id of its own", () => {
  const ids = Array.from({ length: 3_000 }, () => traces.placeOf(null)!).flatMap(({ traceId, spanId }) => [
    traceId,
    spanId,
  ]);
  expect(new Set(ids).size).toBe(6_000);
  expect(ids.every((id) => /^(?:[0-9a-f]{16}){1,2}$/.test(id))).toBe(true);
});
