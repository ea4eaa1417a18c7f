/**
 * Between the LVI server of `radical dev` and the application's Worker. It hands calls of services to the first location, or to
 * the services that a test has given. It makes the failures that were ordered. Orders about caches go to the locations that they are
 * about: each has a Worker of its own here.
 */
import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { DeploymentKey } from "@radical/admin";
import { messageOf } from "@radical/app/command-error";
import { LOCATION_HEADER } from "@radical/local";
import { ENTRY_TOKEN_HEADER } from "@radical/app/workers";
import {
  type CacheAnswer,
  cacheAnswerIn,
  encodeServiceAnswer,
  type Manifest,
  readCacheOrder,
  SERVICE_PATH,
  SIGNATURE_HEADER,
  signedAnswerHead,
  WORKER_CACHES_PATH,
} from "@radical/protocol";
import { answerService, Nonces, type Service } from "@radical/runtime/services";
import { closeServer, listen } from "./control-server.ts";
import type { EntryPort } from "./front-server.ts";
import { type FaultsByService, NO_SERVICE_FAULTS, SERVICE_NAME } from "./service-faults.ts";

/** Services that a test gives in place of those of the Worker. */
export type GivenServices = Readonly<Record<string, Service<unknown>>>;

export interface ServiceFrontOptions {
  readonly key: DeploymentKey;
  readonly faults: () => FaultsByService;
  /** Null: the Worker has them. */
  readonly services: GivenServices | null;
  readonly manifest: () => Manifest | null;
  /** Names of the locations. */
  readonly locations: readonly string[];
  readonly told: (service: string, words: string) => void;
}

export interface ServiceFront {
  readonly url: string;
  /** From now on. */
  serve(workerd: EntryPort): void;
  close(): Promise<void>;
}

export async function startServiceFront(options: ServiceFrontOptions): Promise<ServiceFront> {
  let entry: EntryPort | null = null;
  const nonces = new Nonces();
  const server = createServer((request, response) => {
    if (request.url === WORKER_CACHES_PATH) return void answerCaches(options, entry, request, response);
    const name = serviceIn(request);
    if (name === null) return void response.writeHead(404).end();
    const { slowMs, throw: thrown, lost } = options.faults()[name] ?? NO_SERVICE_FAULTS;
    const respond = async (): Promise<void> => {
      const body = await bodyOf(request);
      if (slowMs > 0) await pause(slowMs);
      if (Math.random() < thrown) return send(response, orderedFailure(options.key, request, name));
      const answer = await answerOf(options, nonces, entry, request, body);
      if (Math.random() < lost) return void response.destroy();
      send(response, answer);
    };
    respond().catch((error: unknown) => {
      options.told(name, messageOf(error));
      // Nobody knows whether the service has acted.
      response.destroy();
    });
  });
  const port = await listen(server, HOST, 0);
  return {
    url: `http://${HOST}:${port}`,
    serve: (workerd) => (entry = workerd),
    close: () => closeServer(server),
  };
}

const HOST = "127.0.0.1";

/** Null: it is another request. A request that passes here reaches the Worker past the front door. */
function serviceIn({ url = "", method }: IncomingMessage): string | null {
  const name = url.startsWith(SERVICE_PATH) ? url.slice(SERVICE_PATH.length) : "";
  return method === "POST" && SERVICE_NAME.test(name) ? name : null;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

async function answerOf(
  { services, manifest, key, told }: ServiceFrontOptions,
  nonces: Nonces,
  entry: EntryPort | null,
  request: IncomingMessage,
  body: Uint8Array<ArrayBuffer>,
): Promise<Answer> {
  const current = manifest();
  // Nothing serves yet: the call is not made.
  if (current === null || (services === null && entry === null)) return { status: 404, headers: {}, body: NOTHING };
  if (services === null) return toWorker(entry!, request, body);
  return answerFrom(
    await answerService(
      new Request(`http://${HOST}${request.url ?? ""}`, { method: "POST", headers: headersOf(request), body }),
      {},
      { waitUntil: () => undefined },
      {
        manifest: current,
        services,
        key: { id: key.id, secret: Uint8Array.from(Buffer.from(key.secret, "hex")) },
        nonces,
        now: Date.now,
        told: (name, { code, message, stack }) => told(name, stack ?? `${code}: ${message}`),
      },
    ),
  );
}

async function toWorker(
  { url, token }: EntryPort,
  request: IncomingMessage,
  body: Uint8Array<ArrayBuffer>,
  more: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const headers = { ...headersOf(request), [ENTRY_TOKEN_HEADER]: token, ...more };
  return answerFrom(await fetch(`${url}${request.url ?? ""}`, { method: "POST", headers, body, redirect: "manual" }));
}

function headersOf({ headers: { host: _host, connection: _connection, ...headers } }: IncomingMessage) {
  return headers as Readonly<Record<string, string>>;
}

async function answerFrom(response: Response): Promise<Answer> {
  return {
    status: response.status,
    headers: Object.fromEntries([...response.headers].filter(([name]) => KEPT.has(name))),
    body: new Uint8Array(await response.arrayBuffer()),
  };
}

/** The Worker of each location that an order is about says what it has done. An answer that says less is handed on as it is. */
async function answerCaches(
  { locations, manifest }: ServiceFrontOptions,
  entry: EntryPort | null,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const body = await bodyOf(request);
    // Its signature is the Worker's to check.
    const order = readCacheOrder(JSON.parse(Buffer.from(body).toString()));
    const cache = manifest()?.cache.kind;
    if (entry === null || cache === undefined) return send(response, jsonAnswer(503, {}));
    const places = order.kind === "purge" && order.location !== null ? [order.location] : locations;
    const answers: CacheAnswer[] = [];
    for (const place of places) {
      // oxlint-disable-next-line no-await-in-loop -- they share one process
      const told = await toWorker(entry, request, body, { [LOCATION_HEADER]: place });
      const answer = told.status === 200 ? cacheAnswerIn(JSON.parse(Buffer.from(told.body).toString())) : null;
      if (answer === null) return send(response, told);
      answers.push(answer);
    }
    send(response, jsonAnswer(200, together(answers)));
  } catch (error) {
    const message = messageOf(error);
    send(response, jsonAnswer(500, { error: { code: "internal_error", message, hint: "See the log." } }));
  }
}

/** Locations that share a store all answer for it. */
function together(answers: readonly CacheAnswer[]): CacheAnswer | undefined {
  return answers.reduce((all, one) => {
    if (all.kind === "looked" && one.kind === "looked" && all.locations !== null && one.locations !== null)
      return { ...all, locations: [...all.locations, ...one.locations] };
    if (all.kind === "purged" && one.kind === "purged")
      return { ...all, entries: all.entries + one.entries, next: all.next ?? one.next };
    return all;
  });
}

function jsonAnswer(status: number, json: unknown): Answer {
  const body = new TextEncoder().encode(JSON.stringify(json));
  return { status, headers: { "content-type": "application/json" }, body };
}

const KEPT: ReadonlySet<string> = new Set(["content-type", SIGNATURE_HEADER]);
const NOTHING = new Uint8Array();

/** As the Worker signs the answer of a service that throws. */
function orderedFailure({ secret }: DeploymentKey, { headers }: IncomingMessage, name: string): Answer {
  const message = `${name} fails, because radical dev orders its failures.`;
  const body = encodeServiceAnswer({ kind: "failed", code: "ordered_failure", message });
  const head = signedAnswerHead(headers[SIGNATURE_HEADER]?.toString() ?? "");
  const signature = createHmac("sha256", Buffer.from(secret, "hex")).update(head).update(body).digest("hex");
  return { status: 200, headers: { "content-type": "application/cbor", [SIGNATURE_HEADER]: signature }, body };
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, "content-length": body.length }).end(body);
}

async function bodyOf(request: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Uint8Array.from(Buffer.concat(chunks));
}
