import {
  administrativeHeaders,
  newAdministrationKey,
  newDeploymentKeys,
  publicKeyText,
  signedHeaders,
} from "@radical/admin";
import {
  BODY_HASH_HEADER,
  DATA_PATH,
  DEPLOYMENT_HEADER,
  KEY_HEADER,
  KEYS_PATH,
  LOG_PATH,
  MAX_DATA_BYTES,
  MAX_MODULE_BYTES,
  MAX_QUESTION_BYTES,
  MODULES_PATH,
  NODE_HEADER,
  PROBE_PATH,
  NONCE_HEADER,
  REPLAY_WINDOW_MS,
  SIGNATURE_HEADER,
  STATUS_PATH,
  TIME_HEADER,
} from "@radical/protocol";
import type relayWorker from "./relay.worker.ts";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

const MODULE = `${MODULES_PATH}${"a".repeat(64)}`;
const KEY = newAdministrationKey("k0123abcd");
const halfOf = (key: typeof KEY): string => publicKeyText(key).split(":")[2]!;
const DEPLOYMENT = "shop-production";

type Relay = typeof relayWorker;

let relay: Relay;
/** The public halves that the servers tell. */
let halves: Readonly<Record<string, string>>;

beforeEach(async () => {
  // An isolate of its own.
  vi.resetModules();
  relay = (await import("./relay.worker.ts")).default;
  halves = { [KEY.id]: halfOf(KEY) };
});
afterEach(() => {
  vi.useRealTimers();
});

interface Asked {
  readonly what: string;
  readonly body: string;
}

/** A server of the primary; it is asked in this process. */
class FakeServer {
  /** But for its keys. */
  readonly asked: Asked[] = [];
  /** How often it was asked for its keys. */
  keysAsked = 0;
  readonly #answer: (path: string) => Response;

  constructor(answer: (path: string) => Response) {
    this.#answer = answer;
  }

  async fetch(url: string, init: RequestInit): Promise<Response> {
    const { pathname, search } = new URL(url);
    if (pathname === KEYS_PATH) {
      this.keysAsked++;
      const answer = this.#answer(pathname);
      return answer.status === 404 ? answer : Response.json({ administration: halves });
    }
    const body = init.body === null || init.body === undefined ? "" : await new Response(init.body).text();
    this.asked.push({ what: `${init.method} ${pathname}${search}`, body });
    return this.#answer(pathname);
  }
}

const leader = (): FakeServer => new FakeServer(() => new Response("done"));
const standby = (): FakeServer => new FakeServer(() => new Response("not leading", { status: 503 }));
const dead = (): FakeServer =>
  new FakeServer(() => {
    throw new Error("connection lost");
  });

/** Of a release without administration keys. */
const without = (): FakeServer => new FakeServer(() => new Response(null, { status: 404 }));

type Changed = Readonly<Record<string, string | null>>;
type Servers = readonly [FakeServer, FakeServer];

interface Sent {
  readonly body?: string;
  readonly key?: typeof KEY;
  readonly node?: "a" | "b";
}

function ask(
  servers: Servers,
  method: string,
  path: string,
  changed: Changed = {},
  { body = "{}", key = KEY, node }: Sent = {},
): Promise<Response> {
  const bytes = new TextEncoder().encode(method === "GET" ? "" : body);
  const headers = administrativeHeaders(key, method, path, bytes, { deployment: DEPLOYMENT, node });
  return send(servers, method, path, headers, changed, body);
}

function send(
  [a, b]: Servers,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  changed: Changed = {},
  body = "{}",
): Promise<Response> {
  const given = new Headers(headers);
  if (method !== "GET") given.set("content-length", String(body.length));
  for (const [name, value] of Object.entries(changed))
    if (value === null) given.delete(name);
    else given.set(name, value);
  const request = new Request(`https://relay.example${path}`, {
    method,
    headers: given,
    ...(method === "GET" ? {} : { body }),
  });
  return relay.fetch(request, { RADICAL_PRIMARY_A: a, RADICAL_PRIMARY_B: b });
}

async function errorOf(answer: Response): Promise<unknown> {
  return [answer.status, ((await answer.json()) as { readonly error: { readonly code: string } }).error.code];
}

/** Of all but keys. */
const passedOn = (servers: Servers): readonly Asked[] => servers.flatMap(({ asked }) => asked);

describe("a request that can't be right is passed on to nobody", () => {
  test("no key: 404", async () => {
    const servers = [leader(), leader()] as const;
    expect((await ask(servers, "GET", STATUS_PATH, { [KEY_HEADER]: null })).status).toBe(404);
    expect([passedOn(servers), servers[0].keysAsked]).toEqual([[], 0]);
  });

  test.each([
    ["no signature", { [SIGNATURE_HEADER]: null }],
    ["no time", { [TIME_HEADER]: null }],
    ["no nonce", { [NONCE_HEADER]: null }],
    ["no hash of the body", { [BODY_HASH_HEADER]: null }],
    ["half a signature", { [SIGNATURE_HEADER]: "5e".repeat(32) }],
    ["a nonce that is none", { [NONCE_HEADER]: "1" }],
    ["a time that is none", { [TIME_HEADER]: "1e12" }],
    ["an old time", { [TIME_HEADER]: String(Date.now() - 2 * REPLAY_WINDOW_MS - 60_000) }],
    ["a time to come", { [TIME_HEADER]: String(Date.now() + 2 * REPLAY_WINDOW_MS + 60_000) }],
  ])("%s: 401, before a server is asked for keys", async (_, changed) => {
    const servers = [leader(), leader()] as const;
    expect(await errorOf(await ask(servers, "GET", STATUS_PATH, changed))).toEqual([401, "unauthorized"]);
    expect([passedOn(servers), servers[0].keysAsked]).toEqual([[], 0]);
  });

  test.each([
    ["a signature of something else", { [SIGNATURE_HEADER]: "5e".repeat(64) }],
    ["another time", { [TIME_HEADER]: String(Date.now() + 1_000) }],
    ["another nonce", { [NONCE_HEADER]: "ab".repeat(16) }],
    ["another body", { [BODY_HASH_HEADER]: "ab".repeat(32) }],
    ["another deployment", { [DEPLOYMENT_HEADER]: "shop-staging" }],
    ["another machine", { [NODE_HEADER]: "b" }],
    ["a key that the servers do not have", { [KEY_HEADER]: "k89abcdef" }],
  ])("%s: 401", async (_, changed) => {
    const servers = [leader(), leader()] as const;
    expect(await errorOf(await ask(servers, "POST", LOG_PATH, changed))).toEqual([401, "unauthorized"]);
    expect(passedOn(servers)).toEqual([]);
  });

  test("another path, another method, the body of another request: 401", async () => {
    const servers = [leader(), leader()] as const;
    const signed = (method: string, path: string): Readonly<Record<string, string>> =>
      administrativeHeaders(KEY, method, path, new TextEncoder().encode("{}"), {});
    const ofLog = signed("POST", LOG_PATH);
    for (const [method, path, headers, body] of [
      ["POST", "/v1/samples", ofLog, "{}"],
      ["POST", LOG_PATH, ofLog, "{ }"],
      ["PUT", MODULE, signed("GET", MODULE), "{}"],
    ] as const)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await errorOf(await send(servers, method, path, headers, {}, body))).toEqual([401, "unauthorized"]);
    expect(passedOn(servers)).toEqual([]);
    expect((await send(servers, "POST", LOG_PATH, ofLog)).status).toBe(200);
    expect((await send(servers, "PUT", MODULE, signed("PUT", MODULE))).status).toBe(200);
  });

  test("the key of a location, and the private half of another key: 401", async () => {
    const servers = [leader(), leader()] as const;
    const { location } = newDeploymentKeys(KEY.id);
    const signed = signedHeaders(location, "GET", STATUS_PATH, new Uint8Array());
    expect(await errorOf(await send(servers, "GET", STATUS_PATH, signed))).toEqual([401, "unauthorized"]);
    const other = newAdministrationKey(KEY.id);
    expect(await errorOf(await ask(servers, "GET", STATUS_PATH, {}, { key: other }))).toEqual([401, "unauthorized"]);
    expect(passedOn(servers)).toEqual([]);
  });

  test.each(["/v1/lvi", "/v1/followup", "/v1/updates", "/v1/alarms", "/metrics", "/v1/time", `${MODULES_PATH}x`, "/"])(
    "%s: 404",
    async (path) => {
      const servers = [leader(), leader()] as const;
      expect((await ask(servers, "POST", path)).status).toBe(404);
      expect(passedOn(servers)).toEqual([]);
    },
  );

  test.each([
    ["GET", LOG_PATH],
    ["POST", STATUS_PATH],
    ["POST", MODULE],
    ["PUT", `${MODULE}/content`],
  ])("%s %s: 405", async (method, path) => {
    const servers = [leader(), leader()] as const;
    expect((await ask(servers, method, path)).status).toBe(405);
    expect(passedOn(servers)).toEqual([]);
  });

  test.each([
    ["POST", LOG_PATH, String(MAX_QUESTION_BYTES + 1)],
    ["PUT", MODULE, String(MAX_MODULE_BYTES + 1)],
    ["POST", LOG_PATH, null],
    ["PUT", MODULE, null],
    ["POST", LOG_PATH, "-1"],
    ["POST", LOG_PATH, "1e3"],
    ["POST", DATA_PATH, String(MAX_DATA_BYTES + 1)],
  ])("%s %s of %s bytes: 413", async (method, path, length) => {
    const servers = [leader(), leader()] as const;
    const answer = await ask(servers, method, path, { "content-length": length });
    expect([answer.status, await answer.json()]).toMatchObject([413, { error: { code: "message_too_large" } }]);
    expect(passedOn(servers)).toEqual([]);
  });

  test("a query that is too long: 413", async () => {
    const servers = [leader(), leader()] as const;
    expect((await ask(servers, "PUT", `${MODULE}?worker=${"x".repeat(3_000)}`)).status).toBe(413);
    expect(passedOn(servers)).toEqual([]);
  });
});

describe("a request that an administration key has signed", () => {
  test("goes to the server that leads, with its body", async () => {
    for (const servers of [
      [leader(), standby()],
      [standby(), leader()],
      [dead(), leader()],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const answer = await ask(servers, "POST", LOG_PATH, {}, { body: '{"lines":1}' });
      // oxlint-disable-next-line no-await-in-loop -- likewise
      expect([answer.status, await answer.text()]).toEqual([200, "done"]);
      const last = servers.findLast(({ asked }) => asked.length > 0)!;
      expect(last.asked).toEqual([{ what: `POST ${LOG_PATH}`, body: '{"lines":1}' }]);
    }
  });

  test("goes to the machine that it names, and to no other", async () => {
    const servers = [standby(), leader()] as const;
    expect((await ask(servers, "GET", STATUS_PATH, {}, { node: "a" })).status).toBe(503);
    expect((await ask(servers, "GET", STATUS_PATH, {}, { node: "b" })).status).toBe(200);
    expect(servers.map(({ asked }) => asked.length)).toEqual([1, 1]);
  });

  test.each([
    ["one waits and the other is dead", [standby(), dead()], 503],
    ["one is dead and the other waits", [dead(), standby()], 503],
    ["both are dead", [dead(), dead()], 502],
    ["neither tells its keys", [without(), without()], 502],
  ] as const)("%s: the answer says the most", async (_, servers, status) => {
    expect((await ask(servers, "GET", STATUS_PATH)).status).toBe(status);
  });

  test("a module is sent once, to the server that is ready", async () => {
    for (const servers of [
      [standby(), leader()],
      [dead(), leader()],
      [leader(), standby()],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const answer = await ask(servers, "PUT", `${MODULE}?worker=https%3A%2F%2Fshop.example`, {}, { body: "module" });
      expect(answer.status).toBe(200);
      const sent = servers.flatMap(({ asked }) => asked).filter(({ what }) => what.startsWith("PUT"));
      expect(sent).toEqual([{ what: `PUT ${MODULE}?worker=https%3A%2F%2Fshop.example`, body: "module" }]);
    }
    // A server that is not ready says why.
    const none = [standby(), dead()] as const;
    expect((await ask(none, "PUT", MODULE, {}, { body: "module" })).status).toBe(503);
  });

  test("a change of items goes to the server that leads as it comes", async () => {
    const servers = [standby(), leader()] as const;
    expect((await ask(servers, "POST", DATA_PATH, {}, { body: "request" })).status).toBe(200);
    expect(servers[1].asked.at(-1)).toEqual({ what: `POST ${DATA_PATH}`, body: "request" });
  });
});

describe("keys", () => {
  test("are asked for once in a while, of a server that answers", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const servers = [dead(), leader()] as const;
    for (const afterMs of [0, 1_000, 20_000]) {
      vi.advanceTimersByTime(afterMs);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await ask(servers, "GET", STATUS_PATH)).status).toBe(200);
    }
    expect(servers[1].keysAsked).toBe(1);
    vi.advanceTimersByTime(10_000);
    expect((await ask(servers, "GET", STATUS_PATH)).status).toBe(200);
    expect(servers[1].keysAsked).toBe(2);
  });

  test("a fresh one is taken within two seconds, and one that was dropped is not for long", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const servers = [leader(), leader()] as const;
    expect((await ask(servers, "GET", STATUS_PATH)).status).toBe(200);
    const fresh = newAdministrationKey("kfresh");
    halves = { ...halves, [fresh.id]: halfOf(fresh) };
    vi.advanceTimersByTime(2_000);
    expect((await ask(servers, "GET", STATUS_PATH, {}, { key: fresh })).status).toBe(200);
    expect((await ask(servers, "GET", STATUS_PATH)).status).toBe(200);
    halves = { [fresh.id]: halfOf(fresh) };
    vi.advanceTimersByTime(30_000);
    expect((await ask(servers, "GET", STATUS_PATH)).status).toBe(401);
    expect((await ask(servers, "GET", STATUS_PATH, {}, { key: fresh })).status).toBe(200);
  });

  test("that nobody has are no way to have the servers asked again and again", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const servers = [leader(), leader()] as const;
    for (let made = 0; made < 10; made++) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await ask(servers, "GET", STATUS_PATH, { [KEY_HEADER]: `k${made}` })).status).toBe(401);
    }
    expect(servers.map(({ keysAsked }) => keysAsked)).toEqual([1, 0]);
  });
});

describe("the probe of each minute", () => {
  const probed = (a: FakeServer, b: FakeServer): Promise<void> =>
    relay.scheduled(null, { RADICAL_PRIMARY_A: a, RADICAL_PRIMARY_B: b });

  test("each server is asked, whether it leads or not", async () => {
    const [a, b] = [leader(), leader()];
    await probed(a, b);
    for (const { asked } of [a, b]) expect(asked).toEqual([{ what: `GET ${PROBE_PATH}`, body: "" }]);
  });

  test("one that is not reached keeps nobody from the other, and the log says so", async () => {
    const told = vi.spyOn(console, "log").mockReturnValue();
    const b = leader();
    await probed(dead(), b);
    expect(b.asked).toHaveLength(1);
    expect(told.mock.calls.map(([line]) => JSON.parse(String(line)) as unknown)).toEqual([
      { level: "error", event: "not_probed", node: "a", status: 502 },
    ]);
    told.mockRestore();
  });
});
