import {
  KEY_HEADER,
  LOG_PATH,
  MAX_MODULE_BYTES,
  MAX_QUESTION_BYTES,
  MODULES_PATH,
  NODE_HEADER,
  PROBE_PATH,
  REPLAY_WINDOW_MS,
  SIGNATURE_HEADER,
  STATUS_PATH,
  TIME_HEADER,
} from "@radical/protocol";
import { describe, expect, test, vi } from "vitest";
import relay from "./relay.worker.ts";

const MODULE = `${MODULES_PATH}${"a".repeat(64)}`;

interface Asked {
  readonly what: string;
  readonly body: string;
}

/** A server of the primary; it is asked in this process. */
class FakeServer {
  readonly asked: Asked[] = [];
  readonly #answer: (path: string) => Response;

  constructor(answer: (path: string) => Response) {
    this.#answer = answer;
  }

  async fetch(url: string, init: RequestInit): Promise<Response> {
    const { pathname, search } = new URL(url);
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

function headers(changed: Readonly<Record<string, string | null>> = {}): Headers {
  const given = new Headers({
    [KEY_HEADER]: "k0123abcd",
    [TIME_HEADER]: String(Date.now()),
    [SIGNATURE_HEADER]: "5e".repeat(32),
  });
  for (const [name, value] of Object.entries(changed))
    if (value === null) given.delete(name);
    else given.set(name, value);
  return given;
}

function ask(
  [a, b]: readonly [FakeServer, FakeServer],
  method: string,
  path: string,
  changed: Readonly<Record<string, string | null>> = {},
  body = "{}",
): Promise<Response> {
  const length = method === "GET" ? {} : { "content-length": String(body.length) };
  const request = new Request(`https://relay.example${path}`, {
    method,
    headers: headers({ ...length, ...changed }),
    ...(method === "GET" ? {} : { body }),
  });
  return relay.fetch(request, { RADICAL_PRIMARY_A: a, RADICAL_PRIMARY_B: b });
}

describe("a request that can't be right is passed on to nobody", () => {
  test.each([
    ["no signature", { [SIGNATURE_HEADER]: null }],
    ["no key", { [KEY_HEADER]: null }],
    ["no time", { [TIME_HEADER]: null }],
    ["an id that no key has", { [KEY_HEADER]: "dev" }],
    ["half a signature", { [SIGNATURE_HEADER]: "5e".repeat(31) }],
    ["a time that is none", { [TIME_HEADER]: "1e12" }],
    ["an old time", { [TIME_HEADER]: String(Date.now() - 2 * REPLAY_WINDOW_MS - 60_000) }],
    ["a time to come", { [TIME_HEADER]: String(Date.now() + 2 * REPLAY_WINDOW_MS + 60_000) }],
  ])("%s: 404", async (_, changed) => {
    const servers = [leader(), leader()] as const;
    expect((await ask(servers, "GET", STATUS_PATH, changed)).status).toBe(404);
    expect(servers.flatMap(({ asked }) => asked)).toEqual([]);
  });

  test.each(["/v1/lvi", "/v1/followup", "/v1/updates", "/v1/alarms", "/metrics", "/v1/time", `${MODULES_PATH}x`, "/"])(
    "%s: 404",
    async (path) => {
      const servers = [leader(), leader()] as const;
      expect((await ask(servers, "POST", path)).status).toBe(404);
      expect(servers.flatMap(({ asked }) => asked)).toEqual([]);
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
    expect(servers.flatMap(({ asked }) => asked)).toEqual([]);
  });

  test.each([
    ["POST", LOG_PATH, String(MAX_QUESTION_BYTES + 1)],
    ["PUT", MODULE, String(MAX_MODULE_BYTES + 1)],
    ["POST", LOG_PATH, null],
    ["PUT", MODULE, null],
    ["POST", LOG_PATH, "-1"],
    ["POST", LOG_PATH, "1e3"],
  ])("%s %s of %s bytes: 413", async (method, path, length) => {
    const servers = [leader(), leader()] as const;
    const answer = await ask(servers, method, path, { "content-length": length });
    expect([answer.status, await answer.json()]).toMatchObject([413, { error: { code: "message_too_large" } }]);
    expect(servers.flatMap(({ asked }) => asked)).toEqual([]);
  });

  test("a query that is too long: 413", async () => {
    const servers = [leader(), leader()] as const;
    expect((await ask(servers, "PUT", `${MODULE}?worker=${"x".repeat(3_000)}`)).status).toBe(413);
    expect(servers.flatMap(({ asked }) => asked)).toEqual([]);
  });
});

describe("a request that may be right", () => {
  test("goes to the server that leads, with its body", async () => {
    for (const servers of [
      [leader(), standby()],
      [standby(), leader()],
      [dead(), leader()],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const answer = await ask(servers, "POST", LOG_PATH, {}, '{"lines":1}');
      // oxlint-disable-next-line no-await-in-loop -- likewise
      expect([answer.status, await answer.text()]).toEqual([200, "done"]);
      const last = servers.findLast(({ asked }) => asked.length > 0)!;
      expect(last.asked).toEqual([{ what: `POST ${LOG_PATH}`, body: '{"lines":1}' }]);
    }
  });

  test("goes to the machine that it names, and to no other", async () => {
    const servers = [standby(), leader()] as const;
    expect((await ask(servers, "GET", STATUS_PATH, { [NODE_HEADER]: "a" })).status).toBe(503);
    expect((await ask(servers, "GET", STATUS_PATH, { [NODE_HEADER]: "b" })).status).toBe(200);
    expect(servers.map(({ asked }) => asked.length)).toEqual([1, 1]);
  });

  test.each([
    ["one waits and the other is dead", [standby(), dead()], 503],
    ["one is dead and the other waits", [dead(), standby()], 503],
    ["both are dead", [dead(), dead()], 502],
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
      const answer = await ask(servers, "PUT", `${MODULE}?worker=https%3A%2F%2Fshop.example`, {}, "module");
      expect(answer.status).toBe(200);
      const sent = servers.flatMap(({ asked }) => asked).filter(({ what }) => what.startsWith("PUT"));
      expect(sent).toEqual([{ what: `PUT ${MODULE}?worker=https%3A%2F%2Fshop.example`, body: "module" }]);
    }
    // A server that is not ready says why.
    const none = [standby(), dead()] as const;
    expect((await ask(none, "PUT", MODULE, {}, "module")).status).toBe(503);
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
