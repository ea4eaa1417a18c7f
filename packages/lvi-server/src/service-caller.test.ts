/** Calls of services over real HTTP: what is sent, and which answers count. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  decodeServiceCall,
  encodeServiceAnswer,
  type ExecutionId,
  KEY_HEADER,
  SERVICE_PATH,
  SIGNATURE_HEADER,
  signedAnswerHead,
  signedHead,
  TIME_HEADER,
} from "@radical/protocol";
import { afterEach, expect, test } from "vitest";
import { HmacKey } from "./http/hmac.ts";
import { KeyRing } from "./http/keys.ts";
import { ServiceCaller } from "./service-caller.ts";

const SECRET = new Uint8Array(32).fill(7);
const OTHER = new Uint8Array(32).fill(8);
const NOW_MS = 1_700_000_000_000;
const CALL = {
  task: "80".padEnd(32, "0") as ExecutionId,
  service: "charge",
  key: "k1",
  args: Uint8Array.of(0xa0),
  timeoutMs: 10_000,
};
const VALUE = encodeServiceAnswer({ kind: "value", bytes: Uint8Array.of(0xf6) });

let server: Server | null = null;

afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

/** A Worker that answers as it is told. */
async function worker(
  answer: (request: IncomingMessage, body: Uint8Array, response: ServerResponse) => void,
): Promise<string> {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => answer(request, Uint8Array.from(Buffer.concat(chunks)), response));
  });
  await new Promise<void>((resolve) => server!.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function callerOf(origin: string | null, keys: ReadonlyMap<string, Uint8Array> = new Map([["main", SECRET]])) {
  return new ServiceCaller(origin, new KeyRing({ locations: keys, administration: new Map() }), () => NOW_MS);
}

function header({ headers }: IncomingMessage, name: string): string {
  return headers[name] as string;
}

function signed(request: IncomingMessage, body: Uint8Array, secret = SECRET): Record<string, string> {
  const head = signedAnswerHead(header(request, SIGNATURE_HEADER));
  return { [SIGNATURE_HEADER]: new HmacKey(secret).sign(head, body) };
}

test("a call is signed, and its signed answer counts", async () => {
  const calls: unknown[] = [];
  const origin = await worker((request, body, response) => {
    const { nonce, ...call } = decodeServiceCall(body);
    calls.push(request.method, request.url, call, nonce.length);
    const head = signedHead("POST", request.url!, Number(header(request, TIME_HEADER)));
    expect(header(request, SIGNATURE_HEADER)).toBe(new HmacKey(SECRET).sign(head, body));
    response.writeHead(200, signed(request, VALUE)).end(VALUE);
  });
  expect(await callerOf(origin).call(CALL)).toEqual({ kind: "value", bytes: Uint8Array.of(0xf6) });
  expect(calls).toEqual(["POST", `${SERVICE_PATH}charge`, CALL, 16]);
});

const ANSWERS: readonly (readonly [
  what: string,
  kind: "lost" | "not-called",
  answer: (request: IncomingMessage, response: ServerResponse) => void,
])[] = [
  ["is not signed", "lost", (_request, response) => void response.end(VALUE)],
  [
    "is signed with another key",
    "lost",
    (request, response) => void response.writeHead(200, signed(request, VALUE, OTHER)).end(VALUE),
  ],
  [
    "is signed for other bytes",
    "lost",
    (request, response) => void response.writeHead(200, signed(request, Uint8Array.of(1))).end(VALUE),
  ],
  [
    "is no answer",
    "lost",
    (request, response) =>
      void response.writeHead(200, signed(request, Uint8Array.of(1))).end(Buffer.from(Uint8Array.of(1))),
  ],
  ["breaks off", "lost", (_request, response) => void response.destroy()],
  ["is an error of the platform", "lost", (_request, response) => void response.writeHead(502).end()],
  ["is that of a replay", "lost", (_request, response) => void response.writeHead(409).end()],
  ["is of another server", "not-called", (_request, response) => void response.writeHead(404).end()],
  ["leads elsewhere", "not-called", (_request, response) => void response.writeHead(302, { location: "/" }).end()],
  ["refuses the key", "not-called", (_request, response) => void response.writeHead(401).end()],
];

test.each(ANSWERS)("an answer that %s: %s", async (_what, kind, answer) => {
  const origin = await worker((request, _body, response) => answer(request, response));
  expect(await callerOf(origin).call(CALL)).toMatchObject({ kind });
});

test("the answer to another call is none: it does not fit the signature of this one", async () => {
  let first: Record<string, string> | null = null;
  const origin = await worker((request, _body, response) => {
    first ??= signed(request, VALUE);
    response.writeHead(200, first).end(VALUE);
  });
  const caller = callerOf(origin);
  expect((await caller.call(CALL)).kind).toBe("value");
  expect(await caller.call(CALL)).toMatchObject({ kind: "lost", message: expect.stringContaining("not signed for") });
});

test.each([
  ["with its length", { "content-length": String(1 << 30) }],
  ["in chunks without end", {}],
])("an answer that is too large, %s, is not kept", async (_how, headers) => {
  const origin = await worker((_request, _body, response) => {
    const chunk = Buffer.alloc(64 * 1024);
    response.writeHead(200, headers);
    const write = (): void => {
      while (response.write(chunk));
      response.once("drain", write);
    };
    write();
  });
  expect(await callerOf(origin).call(CALL)).toMatchObject({
    kind: "lost",
    message: expect.stringContaining("more than 1048576 bytes"),
  });
});

test("while keys are rotated the one that the Worker has is found, and used first from then on", async () => {
  const asked: string[] = [];
  const origin = await worker((request, _body, response) => {
    const id = header(request, KEY_HEADER);
    asked.push(id);
    if (id !== "old") return void response.writeHead(401).end();
    response.writeHead(200, signed(request, VALUE, OTHER)).end(VALUE);
  });
  const caller = callerOf(
    origin,
    new Map([
      ["new", SECRET],
      ["old", OTHER],
    ]),
  );
  expect((await caller.call(CALL)).kind).toBe("value");
  expect((await caller.call(CALL)).kind).toBe("value");
  expect(asked).toEqual(["new", "old", "old"]);
});

test("where nobody listens, and where nobody has said, nothing was called", async () => {
  const origin = await worker(() => undefined);
  await new Promise((resolve) => server!.close(resolve));
  expect(await callerOf(origin).call(CALL)).toMatchObject({ kind: "not-called", code: "worker_unreachable" });
  expect(await callerOf(null).call(CALL)).toMatchObject({
    kind: "not-called",
    message: expect.stringContaining("--worker-url"),
  });
});
