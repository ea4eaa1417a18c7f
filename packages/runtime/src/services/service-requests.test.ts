/** Calls of services: who may call, what a service gets, and what its end becomes. */
import { createHmac, randomBytes } from "node:crypto";
import {
  decodeServiceAnswer,
  encodeArguments,
  encodeServiceCall,
  KEY_HEADER,
  type Manifest,
  type ServiceAnswer,
  type ServiceCall,
  SERVICE_PATH,
  SIGNATURE_HEADER,
  signedAnswerHead,
  signedHead,
  TIME_HEADER,
  valueToJson,
} from "@radical/protocol";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Service, ServiceContext } from "./perform.ts";
import { Refused } from "./refused.ts";
import { checkServices } from "./registered.ts";
import { answerService, isServicePath, Nonces } from "./service-requests.ts";

const SECRET = Uint8Array.from(randomBytes(32));
const KEY = { id: "main", secret: SECRET };
const NOW_MS = 1_700_000_000_000;
const TASK = "80".padEnd(32, "0") as ServiceCall["task"];
const RULES = { keyWindowMs: 72_000_000, once: false, file: "services.ts", line: 1 };
const MANIFEST = {
  services: {
    charge: {
      ...RULES,
      parameters: [
        { name: "order", type: { kind: "string" }, optional: false },
        { name: "cents", type: { kind: "i64" }, optional: false },
      ],
      result: { kind: "record", name: "Receipt" },
    },
    mail: { ...RULES, parameters: [], result: null },
  },
  records: {
    Receipt: { name: "Receipt", fields: [{ name: "id", type: { kind: "string" }, optional: false }] },
  },
} as unknown as Manifest;
const ENV = { BANK: "https://bank.example" };

let told: string[] = [];
let nonces = new Nonces();
afterEach(() => {
  told = [];
  nonces = new Nonces();
  vi.useRealTimers();
});

function callOf(more: Partial<ServiceCall> = {}): ServiceCall {
  const { parameters } = MANIFEST.services!["charge"]!;
  const args = encodeArguments(parameters, MANIFEST.records, { order: "o1", cents: 900 });
  if (args.kind === "problem") throw new Error(args.problem.message);
  const nonce = Uint8Array.from(randomBytes(16));
  return { service: "charge", task: TASK, key: "k1", nonce, timeoutMs: 30_000, args: args.bytes, ...more };
}

function signed(path: string, body: Uint8Array, timeMs = NOW_MS, secret = SECRET, id = "main"): Request {
  const signature = createHmac("sha256", secret)
    .update(signedHead("POST", path, timeMs))
    .update(body)
    .digest("hex");
  const headers = { [KEY_HEADER]: id, [TIME_HEADER]: String(timeMs), [SIGNATURE_HEADER]: signature };
  return new Request(`https://shop.example${path}`, { method: "POST", headers, body: body as Uint8Array<ArrayBuffer> });
}

function answer(request: Request, services: Readonly<Record<string, Service<typeof ENV>>>): Promise<Response> {
  const context = { waitUntil: () => undefined };
  const parts = { manifest: MANIFEST, services, key: KEY, nonces, now: () => NOW_MS };
  return answerService(request, ENV, context, {
    ...parts,
    told: (name, { code, message }) => void told.push(`${name} ${code} ${message}`),
  });
}

/** The answer, whose signature must be right. */
async function answered(
  service: Service<typeof ENV>,
  call: ServiceCall = callOf(),
  name: string = call.service,
): Promise<ServiceAnswer> {
  const request = signed(`${SERVICE_PATH}${name}`, encodeServiceCall(call));
  const head = signedAnswerHead(request.headers.get(SIGNATURE_HEADER)!);
  const response = await answer(request, { charge: service, mail: service });
  expect(response.status).toBe(200);
  const bytes = new Uint8Array(await response.arrayBuffer());
  expect(response.headers.get(SIGNATURE_HEADER)).toBe(
    createHmac("sha256", SECRET).update(head).update(bytes).digest("hex"),
  );
  return decodeServiceAnswer(bytes);
}

test("a service gets its arguments by name, the key, its bindings and a signal; its result is encoded by its type", async () => {
  const got: unknown[] = [];
  const value = await answered((args: unknown, { key, env, signal }: ServiceContext<typeof ENV>) => {
    got.push(args, key, env, signal.aborted);
    return Promise.resolve({ id: "r1" });
  });
  expect(got).toEqual([{ order: "o1", cents: 900 }, "k1", ENV, false]);
  expect(value.kind === "value" && valueToJson(value.bytes)).toBe('{"id":"r1"}');
});

test("what a service returns that returns nothing is left out", async () => {
  const value = await answered(() => ({ any: "thing" }), callOf({ service: "mail" }));
  expect(value).toEqual({ kind: "value", bytes: Uint8Array.of(0xf6) });
});

test("a refusal is told apart from what is thrown, and only the latter is logged", async () => {
  const refusing = (): never => {
    throw new Refused("declined", "the card is blocked");
  };
  expect(await answered(refusing)).toEqual({ kind: "refused", code: "declined", message: "the card is blocked" });
  expect(told).toEqual([]);
  const throwing = (): never => {
    throw new TypeError("the bank is down");
  };
  expect(await answered(throwing)).toEqual({ kind: "failed", code: "TypeError", message: "the bank is down" });
  expect(await answered(() => Promise.reject(new Error("no")))).toMatchObject({ kind: "failed", code: "Error" });
  expect(told).toHaveLength(2);
});

test.each([
  ["of another type", "r1", "must be of type Receipt"],
  ["with a field more", { id: "r1", paid: true }, "There is no field"],
  ["that is missing", undefined, "must be of type Receipt"],
])("a result %s is a failure that says so", async (_what, result, words) => {
  const failure = await answered(() => result);
  expect(failure).toMatchObject({ kind: "failed", code: "invalid_result" });
  expect(failure.kind === "failed" && failure.message).toContain(words);
});

test("a service that takes too long is told by its signal, and its call has failed", async () => {
  vi.useFakeTimers();
  let aborted = false;
  const service: Service<typeof ENV> = (_args: never, { signal }) => {
    signal.addEventListener("abort", () => (aborted = true));
    return new Promise(() => undefined);
  };
  const answering = answered(service, callOf({ timeoutMs: 5_000 }));
  await vi.waitFor(() => expect(vi.getTimerCount()).toBeGreaterThan(0));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await answering).toMatchObject({ kind: "failed", code: "service_timeout" });
  expect(aborted).toBe(true);
});

test.each([
  ["that nobody has declared", callOf({ service: "refund" }), "refund"],
  ["under the path of another", callOf(), "mail"],
])("a service %s is not called", async (_what, call, name) => {
  const service = vi.fn<Service<typeof ENV>>();
  expect(await answered(service, call, name)).toMatchObject({ kind: "not-called", code: "unknown_service" });
  expect(service).not.toHaveBeenCalled();
});

describe("nobody but the primary calls a service", () => {
  const path = `${SERVICE_PATH}charge`;
  const body = (): Uint8Array => encodeServiceCall(callOf());
  const other = Uint8Array.from(randomBytes(32));
  const unsigned = (): Request => new Request(`https://shop.example${path}`, { method: "POST", body: "{}" });
  const changed = (): Request => {
    const { headers } = signed(path, body());
    return new Request(`https://shop.example${path}`, {
      method: "POST",
      headers,
      body: body() as Uint8Array<ArrayBuffer>,
    });
  };
  const moved = (): Request => {
    const bytes = body();
    const { headers } = signed(`${SERVICE_PATH}mail`, bytes);
    return new Request(`https://shop.example${path}`, {
      method: "POST",
      headers,
      body: bytes as Uint8Array<ArrayBuffer>,
    });
  };
  test.each([
    ["unsigned", unsigned, 401],
    ["signed with another key", () => signed(path, body(), NOW_MS, other), 401],
    ["signed under another name of a key", () => signed(path, body(), NOW_MS, SECRET, "old"), 401],
    ["signed for another body", changed, 401],
    ["signed for another path", moved, 401],
    ["signed too long ago", () => signed(path, body(), NOW_MS - 300_001), 401],
    ["signed in the future", () => signed(path, body(), NOW_MS + 300_001), 401],
    ["that is a GET", () => new Request(`https://shop.example${path}`), 405],
    ["that is none", () => signed(path, Uint8Array.of(1, 2, 3)), 400],
    ["that is too large", () => signed(path, new Uint8Array(500_000)), 400],
  ])("a call %s is refused", async (_what, request, status) => {
    const service = vi.fn<Service<typeof ENV>>();
    const response = await answer(request(), { charge: service, mail: service });
    expect([response.status, service.mock.calls.length]).toEqual([status, 0]);
    expect(response.headers.get(SIGNATURE_HEADER)).toBeNull();
  });

  test("a call that comes again is carried out once, and its second answer is none", async () => {
    const service = vi.fn<Service<typeof ENV>>(() => ({ id: "r1" }));
    const bytes = body();
    const statuses = [];
    for (let n = 0; n < 2; n++)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      statuses.push((await answer(signed(path, bytes), { charge: service })).status);
    expect([statuses, service.mock.calls.length]).toEqual([[200, 409], 1]);
  });

  test("of all paths only those of services", () => {
    expect(isServicePath("https://shop.example/_radical/service/charge?a=1")).toBe(true);
    expect(isServicePath("https://shop.example/api/x?next=/_radical/service/charge")).toBe(false);
  });
});

test("a Worker without a service of the sources, or with one more, does not start", () => {
  const service = (): void => undefined;
  expect(() => checkServices(MANIFEST, { charge: service })).toThrow(/lacks services .*: mail\./);
  expect(() => checkServices(MANIFEST, { charge: service, mail: service, fax: service })).toThrow(
    /no source declares: fax/,
  );
  expect(() => checkServices(MANIFEST, { charge: service, mail: service })).not.toThrow();
});
