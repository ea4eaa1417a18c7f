/** Services of a real application: enqueued by handlers, called by the primary, written in its Worker, with a bank that fails. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { loadProject, startCompiler, buildApp } from "@radical/app";
import { Refused, type TestApp, startTestApp } from "../src/testing.ts";
import { type TemporaryProject, createProject } from "./radical-process.ts";

const SERVICES = `
/** Takes the money.
 *  @service keyWindow=24h */
export declare function charge(order: string, card: string, cents: i64): string;
/** @service once */
export declare function sendMail(to: string, subject: string): void;
`;
const HANDLERS = `import { Table, enqueue, log } from "@radical/sdk";
import { charge, sendMail } from "../services";

const orders = new Table<string>("orders");

export function buy(order: string, card: string): void {
  orders.put(order, "open");
  // One by one: what comes behind the charge runs when that is over.
  enqueue(charge(order, card, 900), { key: order });
  enqueue(sendMail(card, "Order " + order), { key: order });
  enqueue(close(order), { key: order });
}

/** @internal */
export function close(order: string): void {
  orders.put(order, "closed");
  log("closed " + order);
}

export function look(order: string): string | null {
  return orders.get(order);
}
`;
const WORKER = `import { createRadical, Refused } from "radical:worker";

interface Bindings { readonly BANK: string }

export default createRadical<Bindings>({
  services: {
    charge: async ({ order, card, cents }, { key, env, signal }) => {
      const body = JSON.stringify({ order, card, cents });
      const response = await fetch(env.BANK, { method: "POST", headers: { "idempotency-key": key }, body, signal });
      if (response.status === 402) throw new Refused("declined", await response.text());
      if (!response.ok) throw new Error("the bank answers " + response.status);
      return (await response.text());
    },
    sendMail: async ({ to, subject }, { env }) => {
      await fetch(env.BANK, { method: "POST", body: JSON.stringify({ to, subject }) });
    },
  },
});
`;
const FILES = {
  "radical.config.ts": 'export default { name: "services" };\n',
  "services.ts": SERVICES,
  "handlers/shop.ts": HANDLERS,
  "src/worker.ts": WORKER,
};

interface Asked {
  readonly order: string;
  readonly card: string;
  readonly cents: number;
  readonly to: string;
}

/** A bank that knows keys. What it does depends on the card. */
class Bank {
  /** Done charges, by key. */
  readonly charges = new Map<string, { readonly order: string; readonly cents: number }>();
  readonly mails: string[] = [];
  readonly keys: string[] = [];
  #server: Server | null = null;

  async start(): Promise<string> {
    this.#server = createServer((request, response) => {
      let text = "";
      request.on("data", (chunk: Buffer) => (text += chunk.toString()));
      request.on("end", () => {
        const { order = "", card, cents = 0, to } = JSON.parse(text) as Partial<Asked>;
        if (to !== undefined) {
          this.mails.push(to);
          return response.end();
        }
        const key = request.headers["idempotency-key"] as string;
        const isFirst = !this.keys.includes(key);
        this.keys.push(key);
        if (card === "declined") return response.writeHead(402).end("the card is blocked");
        if (card === "flaky" && isFirst) return response.writeHead(500).end();
        this.charges.set(key, { order, cents });
        if (card === "lost" && isFirst) return response.destroy();
        return response.end(`receipt of ${order}`);
      });
    });
    await new Promise<void>((resolve) => this.#server!.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  of(order: string): number {
    return [...this.charges.values()].filter((charge) => charge.order === order).length;
  }

  close(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }
}

const waiting = new Map<string, () => void>();
const heard: string[] = [];

function onEvent(event: unknown): void {
  const text = JSON.stringify(event);
  heard.push(text);
  for (const [wanted, resolve] of waiting) if (text.includes(wanted)) resolve();
}

/** Waits for a line of a handler, or of the server. */
function line(text: string): Promise<void> {
  if (heard.some((one) => one.includes(text))) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.set(text, resolve);
  return promise;
}

let project: TemporaryProject;
let bank: Bank;

beforeAll(async () => {
  project = await createProject(FILES);
});

beforeEach(async () => {
  bank = new Bank();
  heard.length = 0;
});

afterAll(async () => {
  await project?.remove();
});

async function withApp(
  options: Omit<Parameters<typeof startTestApp>[0] & object, "project" | "onEvent">,
  use: (app: TestApp) => Promise<void>,
): Promise<void> {
  const BANK = await bank.start();
  const app = await startTestApp({ project: project.folder, onEvent, vars: { BANK }, ...options });
  try {
    await use(app);
  } finally {
    await app.stop();
    bank.close();
  }
}

test("a service of the Worker is called once for each task, whatever the bank does, and by the primary only", async () => {
  await withApp({}, async (app) => {
    for (const card of ["good", "flaky", "lost", "declined"]) await app.result("buy", { order: `o-${card}`, card });
    await Promise.all(["good", "flaky", "lost", "declined"].map((card) => line(`closed o-${card}`)));
    expect(["good", "flaky", "lost", "declined"].map((card) => bank.of(`o-${card}`))).toEqual([1, 1, 1, 0]);
    expect([...bank.charges.values()].map(({ cents }) => cents)).toEqual([900, 900, 900]);
    // The second calls came under the first keys.
    expect([bank.keys.length, new Set(bank.keys).size]).toEqual([6, 4]);
    expect(bank.mails.toSorted()).toEqual(["declined", "flaky", "good", "lost"]);
    expect(heard.filter((text) => text.includes("service_refused"))).toHaveLength(1);
    expect(heard.filter((text) => text.includes('"event":"service_failed"'))).toHaveLength(2);
    const forged = await fetch(`${app.url}/_radical/service/charge`, { method: "POST", body: "{}" });
    expect(forged.status).toBe(401);
    expect(bank.keys).toHaveLength(6);
  });
});

describe("failures to order", () => {
  test("a call whose answer is lost is made again, and one that is thrown is not made", async () => {
    const charge = { throw: 0.1, lost: 0.2, slowMs: 5 };
    await withApp({ serviceFaults: { charge } }, async (app) => {
      const orders = Array.from({ length: 6 }, (_, n) => `p${n}`);
      for (const order of orders) await app.result("buy", { order, card: "good" });
      await Promise.all(orders.map((order) => line(`closed ${order}`)));
      expect(orders.map((order) => bank.of(order))).toEqual(orders.map(() => 1));
      expect(bank.mails).toHaveLength(6);
    });
  });
});

test("a test gives services of its own", async () => {
  const calls: unknown[] = [];
  const services = {
    charge: (args: unknown, { key }: { readonly key: string }) => {
      calls.push([args, key.length]);
      if ((args as { readonly card: string }).card === "declined") throw new Refused("declined", "blocked");
      return "r1";
    },
    sendMail: (args: unknown) => void calls.push(args),
  };
  await withApp({ services }, async (app) => {
    await app.result("buy", { order: "q1", card: "good" });
    await line("closed q1");
    expect(calls).toEqual([[{ order: "q1", card: "good", cents: 900 }, 36], { to: "good", subject: "Order q1" }]);
    await app.result("buy", { order: "q2", card: "declined" });
    await line("closed q2");
    expect(heard.some((text) => text.includes("service_refused"))).toBe(true);
  });
});

test("the Worker's types name the services, and a build without a Worker says what is lacking", async () => {
  const compiler = await startCompiler({ colours: false });
  try {
    const { app } = await buildApp(await loadProject(project.folder), compiler);
    expect(app?.workerTypes).toMatchInlineSnapshot(`
      "// Types of "radical:worker" in "services". Generated by \`radical build\` and \`radical dev\`: changes are overwritten.

      declare module "radical:worker" {
        /** What every handler takes and returns. */
        export interface Handlers {
          /** handlers/shop.ts:6 */
          readonly buy: {
            readonly arguments: {
              readonly order: string;
              readonly card: string;
            };
            readonly result: null;
            /** Codes with which the handler may abort. */
            readonly aborts: never;
          };
          /** handlers/shop.ts:15 */
          readonly close: {
            readonly arguments: {
              readonly order: string;
            };
            readonly result: null;
            /** Codes with which the handler may abort. */
            readonly aborts: never;
          };
          /** handlers/shop.ts:20 */
          readonly look: {
            readonly arguments: {
              readonly order: string;
            };
            readonly result: string | null;
            /** Codes with which the handler may abort. */
            readonly aborts: never;
          };
        }

        /** The services that the sources declare. This Worker has them. */
        export interface Services<Bindings = unknown> {
          /**
           * Takes the money.
           *
           * services.ts:4
           */
          readonly charge: (
            args: {
              readonly order: string;
              readonly card: string;
              readonly cents: number;
            },
            context: ServiceContext<Bindings>,
          ) => string | Promise<string>;
          /** services.ts:6 */
          readonly sendMail: (
            args: {
              readonly to: string;
              readonly subject: string;
            },
            context: ServiceContext<Bindings>,
          ) => unknown;
        }

        /** What of the platform's context is used. */
        export interface Context {
          waitUntil(promise: Promise<unknown>): void;
        }

        export interface RadicalOptions<Bindings = unknown> {
          /**
           * Finds the principal on whose behalf a request is made: its id, which handlers read as \`caller()\`, or null. Throw a
           * \`CallError\` to refuse the request. It is given the head of the request, without the body.
           */
          readonly authenticate?: (request: Request, env: Bindings) => string | null | Promise<string | null>;
          /** Without it only pages of the application's own origin may call. */
          readonly cors?: CorsOptions;
          /** Without it nobody may put blobs in a deployment. */
          readonly blobs?: BlobOptions<Bindings>;
          /** The services that the sources declare, each as a function. */
          readonly services: Services<Bindings>;
        }

        /** What a service gets besides its arguments. */
        export interface ServiceContext<Bindings = unknown> {
          /** The same for all calls of one task: the idempotency key for whatever the service asks. */
          readonly key: string;
          readonly env: Bindings;
          /** Is aborted when the call has taken too long. */
          readonly signal: AbortSignal;
        }

        /** Thrown by a service: its answer is no, and it is not called again. Whatever else it throws is tried again. */
        export class Refused extends Error {
          readonly name: "Refused";
          /** For programs: a snake_case word. */
          readonly code: string;
          constructor(code: string, message?: string);
        }

        export interface BlobOptions<Bindings = unknown> {
          /**
           * Whether the bytes of the request may be put, on behalf of the caller that \`authenticate\` has found. It may throw a
           * \`CallError\` instead. It is given the head of the request, with its \`content-type\` and its \`content-length\`.
           */
          readonly authorize: (request: Request, env: Bindings, caller: string | null) => boolean | Promise<boolean>;
        }

        export interface CorsOptions {
          /** Origins whose pages may call, like \`https://app.example.com\`, or \`"*"\`: all, then without cookies. */
          readonly origins: readonly string[] | "*";
          /** Whether those pages may send cookies. Default: false. */
          readonly credentials?: boolean;
          /** Request headers that they may send, besides those that Radical knows. */
          readonly headers?: readonly string[];
          /** How long browsers may keep the answer to a preflight request. Default: 7200. */
          readonly maxAgeSeconds?: number;
        }

        export interface CallOptions {
          /**
           * The request on whose behalf the handler is called: \`authenticate\` finds its caller, and its trace goes on. Its
           * idempotency key is not taken: a route may call several handlers.
           */
          readonly request?: Request;
          /** On whose behalf, if not what \`authenticate\` says of \`request\`. */
          readonly caller?: string | null;
          /** As the header \`Idempotency-Key\`. */
          readonly idempotencyKey?: string;
        }

        /** The arguments may be left out if all of them may be. */
        type Arguments<T> = Record<string, never> extends T
          ? [args?: T, options?: CallOptions]
          : [args: T, options?: CallOptions];

        export interface Calls {
          /** Calls a handler; gives its result, or throws a {@link CallError}. */
          readonly call: <Name extends keyof Handlers>(
            handler: Name,
            ...rest: Arguments<Handlers[Name]["arguments"]>
          ) => Promise<Handlers[Name]["result"]>;
        }

        export interface Radical<Bindings = unknown> {
          /** Handlers in process. Without a context the platform's current one keeps the Worker alive for the followup. */
          (env: Bindings, context?: Context): Calls;
          /** Answers \`/api/<handler>\`, and \`/blobs\` of an application with Blobs. */
          readonly fetch: (request: Request, env: Bindings, context: Context) => Promise<Response>;
        }

        /** The handlers of this application at a location. */
        export function createRadical<Bindings = unknown>(options: RadicalOptions<Bindings>): Radical<Bindings>;

        /** A call that has no result, with the HTTP status and the code that a client is answered with. */
        export class CallError extends Error {
          readonly name: "CallError";
          /** 400 to 599. */
          readonly status: number;
          /** For programs: a snake_case word. */
          readonly code: string;
          /** What to do about it; may be empty. */
          readonly hint: string;
          /** With this key the call may be repeated without a second effect; null: nothing was called. */
          readonly idempotencyKey: string | null;
          /** Seconds after which a repeat may succeed; null: a repeat won't help. */
          readonly retryAfter: number | null;
          constructor(
            status: number,
            code: string,
            message: string,
            more?: { readonly hint?: string; readonly idempotencyKey?: string | null; readonly retryAfter?: number | null },
          );
          /** The answer that \`/api/<handler>\` gives. */
          toResponse(): Response;
        }
      }
      "
    `);
    const { "src/worker.ts": _worker, ...files } = FILES;
    const without = await createProject(files);
    try {
      await expect(buildApp(await loadProject(without.folder), compiler)).rejects.toThrow(
        /declares services \(charge, sendMail\), and has no Worker .* no src\/worker\.ts/,
      );
    } finally {
      await without.remove();
    }
  } finally {
    await compiler.close();
  }
});
