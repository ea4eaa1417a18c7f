/**
 * Between the LVI server of `radical dev` and the application's services. It hands calls to the Worker of the first location, or to
 * the services that a test has given. It makes the failures that were ordered.
 */
import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { DeploymentKey } from "@radical/admin";
import { messageOf } from "@radical/app/command-error";
import { ENTRY_TOKEN_HEADER } from "@radical/app/workers";
import {
  encodeServiceAnswer,
  type Manifest,
  SERVICE_PATH,
  SIGNATURE_HEADER,
  signedAnswerHead,
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
  { url = "", headers: { host: _host, connection: _connection, ...headers } }: IncomingMessage,
  body: Uint8Array<ArrayBuffer>,
): Promise<Answer> {
  const current = manifest();
  // Nothing serves yet: the call is not made.
  if (current === null || (services === null && entry === null)) return { status: 404, headers: {}, body: NOTHING };
  const sent = { method: "POST", headers: headers as Record<string, string>, body };
  const response =
    services === null
      ? await fetch(`${entry!.url}${url}`, {
          ...sent,
          headers: { ...sent.headers, [ENTRY_TOKEN_HEADER]: entry!.token },
          redirect: "manual",
        })
      : await answerService(
          new Request(`http://${HOST}${url}`, sent),
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
        );
  return {
    status: response.status,
    headers: Object.fromEntries([...response.headers].filter(([name]) => KEPT.has(name))),
    body: new Uint8Array(await response.arrayBuffer()),
  };
}

const KEPT: ReadonlySet<string> = new Set(["content-type", SIGNATURE_HEADER]);
const NOTHING = new Uint8Array();

/** As the Worker signs the answer of a service that throws. */
function orderedFailure({ secret }: DeploymentKey, { headers }: IncomingMessage, name: string): Answer {
  const message = `${name} fails, as radical dev was told`;
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
