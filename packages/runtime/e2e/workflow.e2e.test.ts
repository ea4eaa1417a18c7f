/** Workflows at a location inside workerd: how they are started, asked for and cancelled over HTTP. */
import {
  CborWriter,
  type HandlerManifest,
  type LviAnswer,
  type LviRequest,
  type WorkflowQuestion,
} from "@radical/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildFixture } from "./fixture/application.ts";
import { Location } from "./location.ts";
import { TestPrimary } from "./primary.ts";

const ENTRY = `
  import { RadicalCache } from "../src/cache/radical-cache.ts";
  import { CallError } from "../src/call-error.ts";
  import { bindRadical } from "../src/worker.ts";
  import f from "./module.wasm";
  import rw from "./module.rw.wasm";
  import manifest from "./manifest.json";
  export { RadicalCache };
  const radical = bindRadical({ manifest, f, rw })({
    authenticate: ({ headers }) => headers.get("x-name"),
    cors: { origins: ["https://shop.example.com"] },
  });
  export default {
    fetch: async (request, env, context) => {
      if (new URL(request.url).pathname !== "/own") return radical.fetch(request, env, context);
      try {
        return Response.json(await radical(env, context).call("buy", { seat: "A" }, { caller: "ann", idempotencyKey: "own" }));
      } catch (error) {
        if (error instanceof CallError) return error.toResponse();
        throw error;
      }
    },
  };
`;

const BUY: HandlerManifest = {
  parameters: [{ name: "seat", type: { kind: "string" }, optional: false }],
  result: { kind: "string" },
  plan: "workflow",
  readOnly: false,
  mayEffect: true,
  file: "handlers.as",
  line: 1,
};

let primary: TestPrimary;
let location: Location;

beforeAll(async () => {
  const application = await buildFixture();
  primary = new TestPrimary(application);
  const handlers = { ...application.manifest.handlers, buy: BUY, hidden: { ...BUY, internal: true as const } };
  location = await Location.start({
    primaryUrl: await primary.listen(),
    location: "JP",
    entry: ENTRY,
    manifest: { handlers },
  });
});
afterAll(async () => {
  await location.stop();
  await primary.close();
});
beforeEach(() => primary.reset());

const times = { receivedAtMs: 0, sentAtMs: 0 };
const text = (words: string): Uint8Array => new CborWriter().text(words).finish();
const done = (words: string): LviAnswer => ({
  kind: "executed",
  cause: "requested",
  outcome: { kind: "result", value: text(words) },
  repairs: [],
  times,
});

/** The primary answers requests so, and remembers who has started what. */
function startsWith(answer: (request: LviRequest) => LviAnswer): Map<string, LviRequest> {
  const started = new Map<string, LviRequest>();
  primary.intercept = async (request) => {
    started.set(request.executionId, request);
    return { ...answer(request), asOf: null };
  };
  return started;
}

const isWorking = ({ executionId }: LviRequest): LviAnswer => ({
  kind: "working",
  workflow: executionId,
  state: "waiting",
  retryAfterMs: 2_500,
});

const start = (headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  location.call("buy", { seat: "A" }, { headers: { "x-name": "ann", ...headers } });
const ask = (path: string, method = "GET", headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  location.request(path, { method, headers: { "x-name": "ann", ...headers } });

describe("a workflow is started", () => {
  test("and is 200 with its result, if it ends in time", async () => {
    const started = startsWith(() => done("o1"));
    const response = await start();
    expect([response.status, await response.json()]).toEqual([200, { result: "o1" }]);
    expect(response.headers.get("x-radical-path")).toBe("near-storage");
    const [request] = started.values();
    expect(request).toMatchObject({ handler: "buy", units: null, waitMs: 10_000, retained: true, mayEffect: true });
    expect(request!.environment.caller).toBe("ann");
  });

  test("and is 202 with its path, if not", async () => {
    const started = startsWith(isWorking);
    const response = await start({ prefer: "wait=0", "idempotency-key": "order 1".replace(" ", "-") });
    const [request] = started.values();
    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({ workflow: request!.executionId, state: "waiting" });
    expect(response.headers.get("location")).toBe(`/api/buy/${request!.executionId}`);
    expect(response.headers.get("retry-after")).toBe("3");
    expect(response.headers.get("x-radical-execution")).toBe(`execution-${request!.executionId}`);
    expect(request!.waitMs).toBeUndefined();
    expect(await location.logged("request", ({ status }) => status === 202)).toMatchObject({
      handler: "buy",
      code: null,
    });
  });

  test("once, whatever is repeated with its key", async () => {
    const started = startsWith(isWorking);
    for (const seconds of [1, 2]) await (await start({ "idempotency-key": "k1", prefer: `wait=${seconds}` })).text();
    expect([...started.values()].map(({ waitMs }) => waitMs)).toEqual([2_000]);
  });

  test("and waits a minute at most", async () => {
    const started = startsWith(isWorking);
    await (await start({ prefer: "wait=999999" })).text();
    expect([...started.values()][0]!.waitMs).toBe(60_000);
  });

  test("with wrong arguments by nobody", async () => {
    const response = await location.call("buy", { chair: "A" });
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      400,
      "unknown_argument",
    ]);
    expect(primary.events).toEqual([]);
  });

  test("by the application's own code, which is told that it goes on", async () => {
    startsWith(isWorking);
    const response = await location.request("/own");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: "workflow_working" } });
    expect(response.headers.get("retry-after")).toBe("3");
    startsWith(() => done("o1"));
    expect(await (await location.request("/own")).json()).toBe("o1");
  });
});

describe("the path of a workflow", () => {
  const PATH = `/api/buy/${"8a".repeat(16)}`;
  const questions = (): readonly WorkflowQuestion[] =>
    primary.events.flatMap((event) => (event.kind === "question" ? [event.question] : []));

  test("gives its state, and later its result", async () => {
    const states = ["running", "undoing"] as const;
    let asked = 0;
    primary.answerQuestion = async ({ workflow }) => {
      const state = states[asked++];
      return state === undefined ? done("o1") : { kind: "working", workflow, state, retryAfterMs: 100 };
    };
    for (const state of states) {
      const response = await ask(PATH, "GET", { prefer: "wait=5" });
      expect([response.status, await response.json()]).toEqual([202, { workflow: "8a".repeat(16), state }]);
      expect(response.headers.get("location")).toBe(PATH);
    }
    const response = await ask(PATH);
    expect([response.status, await response.json()]).toEqual([200, { result: "o1" }]);
    expect(questions()).toMatchObject([
      { workflow: "8a".repeat(16), handler: "buy", caller: "ann", cancels: false, waitMs: 5_000 },
      { waitMs: 5_000 },
      { waitMs: 0 },
    ]);
    expect(response.headers.get("x-radical-execution")).toBe(`execution-${"8a".repeat(16)}`);
    const line = await location.logged(
      "request",
      ({ status, execution }) => status === 200 && execution === "8a".repeat(16),
    );
    expect(line).toMatchObject({ handler: "buy", path: "near-storage", reason: "stored" });
    expect(primary.badSignatures).toEqual([]);
  });

  test("gives its failure as the POST would", async () => {
    primary.answerQuestion = async () =>
      ({
        ...done(""),
        kind: "executed",
        outcome: { kind: "abort", status: 402, code: "declined", message: "no money" },
      }) as LviAnswer;
    const response = await ask(PATH);
    expect(response.status).toBe(402);
    expect(response.headers.get("x-radical-path")).toBe("near-storage");
    expect(await response.json()).toMatchObject({ error: { code: "declined", message: "no money" } });
  });

  test("cancels it with DELETE", async () => {
    primary.answerQuestion = async ({ workflow }) => ({
      kind: "working",
      workflow,
      state: "cancelling",
      retryAfterMs: 1,
    });
    const response = await ask(PATH, "DELETE");
    expect([response.status, await response.json()]).toEqual([202, { workflow: "8a".repeat(16), state: "cancelling" }]);
    expect(questions()).toMatchObject([{ cancels: true, caller: "ann", waitMs: 0 }]);
  });

  test("is its caller's: the primary is told who asks", async () => {
    primary.answerQuestion = async ({ caller }) =>
      caller === "ann" ? done("o1") : { kind: "refused", code: "unknown_workflow", message: "no", retryAfterMs: null };
    expect((await ask(PATH)).status).toBe(200);
    for (const headers of [{ "x-name": "bob" }, { "x-name": "" }]) {
      const response = await location.request(PATH, headers["x-name"] === "" ? {} : { headers });
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: "unknown_workflow" } });
    }
    expect(questions().map(({ caller }) => caller)).toEqual(["ann", "bob", null]);
  });

  test("is for pages of origins that may call, with their DELETE", async () => {
    primary.answerQuestion = async () => done("o1");
    const origin = "https://shop.example.com";
    const asked = await ask(PATH, "OPTIONS", { origin, "access-control-request-method": "DELETE" });
    expect(asked.headers.get("access-control-allow-methods")).toContain("DELETE");
    expect((await ask(PATH, "GET", { origin })).headers.get("access-control-allow-origin")).toBe(origin);
    const other = await ask(PATH, "DELETE", { origin: "https://evil.example.com" });
    expect(other.status).toBe(403);
    expect(questions()).toHaveLength(1);
  });

  test.each([
    [`${PATH}0`, "GET", 404, "unknown_workflow"],
    [PATH, "PUT", 405, "method_not_allowed"],
    [PATH, "POST", 405, "method_not_allowed"],
    [`/api/read/${"8a".repeat(16)}`, "GET", 404, "unknown_handler"],
    [`/api/hidden/${"8a".repeat(16)}`, "GET", 404, "unknown_handler"],
  ])("%s with %s is %i", async (path, method, status, code) => {
    const response = await ask(path, method);
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      status,
      code,
    ]);
    expect(questions()).toEqual([]);
  });

  test("is 503 while the primary is away", async () => {
    primary.goDown();
    const response = await ask(PATH);
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(await response.json()).toMatchObject({ error: { code: "primary_unreachable" } });
  });
});
