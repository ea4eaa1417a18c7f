/**
 * Stands before DynamoDB Local and counts the requests, and makes those fail that a test has planned for: with errors
 * that DynamoDB Local never gives, without an answer, or with a part of one. All others are what DynamoDB Local does.
 */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import {
  Agent,
  createServer,
  type IncomingMessage,
  request as forward,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

export type Fault =
  /** None. */
  | { readonly kind: "pass" }
  /** It arrives late. */
  | { readonly kind: "hold"; readonly until: Promise<void> }
  /** DynamoDB refuses it, and does nothing. */
  | { readonly kind: "refuse"; readonly status: number; readonly body: object }
  /** It is carried out or not, and the connection breaks. */
  | { readonly kind: "break"; readonly applied: boolean }
  /** It is carried out or not, and never answered. */
  | { readonly kind: "stall"; readonly applied: boolean }
  /** Only so many of a batch are carried out. */
  | { readonly kind: "partial"; readonly count: number }
  /** A query answers with pages of this length. */
  | { readonly kind: "page"; readonly length: number };

/** An error as DynamoDB has it. */
export function refusal(name: string, status = 400, more: object = {}): Fault {
  return {
    kind: "refuse",
    status,
    body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: `${name}, injected`, ...more },
  };
}

/** A transaction that was cancelled, for this reason of its first action. */
export function cancellation(code: string): Fault {
  const message = `Transaction cancelled, please refer cancellation reasons for specific reasons [${code}, None]`;
  return refusal("TransactionCanceledException", 400, {
    message,
    CancellationReasons: [{ Code: code }, { Code: "None" }],
  });
}

interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
}

type Batch = Record<string, { Keys: unknown[] } | unknown[]>;

export class FaultyProxy {
  readonly #server: Server;
  readonly #targetPort: number;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #next = new Map<string, Fault[]>();
  readonly #always = new Map<string, Fault>();
  /** The operations asked for, in order. */
  calls: string[] = [];
  /** Of a request whose answer is lost: carried out before any other that comes later. */
  #applied: Promise<unknown> = Promise.resolve();

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  static async start(targetPort: number, port = 0): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(targetPort);
    proxy.#server.listen(port, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  /** On a port where nobody listens once it is stopped: none of those that a system gives to whoever asks for any. */
  static async startApart(targetPort: number): Promise<FaultyProxy> {
    for (;;) {
      const proxy = await FaultyProxy.start(targetPort, randomInt(20_000, 32_000)).catch(() => null);
      if (proxy !== null) return proxy;
    }
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Faults of the next requests for an operation, one each. */
  plan(operation: string, ...faults: readonly Fault[]): void {
    this.#next.set(operation, [...faults]);
  }

  /** A fault of all requests for an operation, once those planned are over. */
  always(operation: string, fault: Fault): void {
    this.#always.set(operation, fault);
  }

  /** No faults any more, and no calls yet. Throws if a planned fault has not happened. */
  reset(): void {
    const left = [...this.#next].filter(([, faults]) => faults.length > 0);
    this.#next.clear();
    this.#always.clear();
    this.calls = [];
    if (left.length > 0) throw new Error(`faults that did not happen: ${JSON.stringify(left)}`);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    this.#agent.destroy();
    await once(this.#server, "close");
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, operation = ""] = String(request.headers["x-amz-target"]).split(".");
    const body = Buffer.concat(await request.toArray());
    this.calls.push(operation);
    const fault = this.#next.get(operation)?.shift() ?? this.#always.get(operation);
    const answer = (status: number, headers: Answer["headers"], bytes: Buffer | string): void => {
      response.writeHead(status, headers).end(bytes);
    };
    switch (fault?.kind) {
      case undefined:
      case "pass":
      case "hold": {
        if (fault?.kind === "hold") await fault.until;
        await this.#applied;
        const { status, headers, body: bytes } = await this.#forward(request, body);
        return answer(status, headers, bytes);
      }
      case "refuse":
        return answer(fault.status, { "content-type": "application/x-amz-json-1.0" }, JSON.stringify(fault.body));
      case "break":
        if (fault.applied) await (this.#applied = this.#forward(request, body));
        request.socket.destroy();
        return;
      case "stall":
        if (fault.applied) await (this.#applied = this.#forward(request, body));
        return;
      case "page": {
        const query = { ...(JSON.parse(body.toString()) as object), Limit: fault.length };
        const { status, headers, body: bytes } = await this.#forward(request, Buffer.from(JSON.stringify(query)));
        return answer(status, headers, bytes);
      }
      case "partial": {
        const { RequestItems } = JSON.parse(body.toString()) as { RequestItems: Batch };
        const [table, batch] = Object.entries(RequestItems)[0]!;
        const all = Array.isArray(batch) ? batch : batch.Keys;
        const asked = all.slice(0, fault.count);
        const rest = all.slice(fault.count);
        const of = (some: unknown[]) => (Array.isArray(batch) ? some : { ...batch, Keys: some });
        const left = rest.length === 0 ? {} : { [table]: of(rest) };
        const field = Array.isArray(batch) ? "UnprocessedItems" : "UnprocessedKeys";
        let answered: object = { Responses: {} };
        if (asked.length > 0) {
          const { body: bytes } = await this.#forward(
            request,
            Buffer.from(JSON.stringify({ RequestItems: { [table]: of(asked) } })),
          );
          answered = JSON.parse(bytes.toString()) as object;
        }
        return answer(
          200,
          { "content-type": "application/x-amz-json-1.0" },
          JSON.stringify({ ...answered, [field]: left }),
        );
      }
    }
  }

  #forward(request: IncomingMessage, body: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = { ...request.headers, "content-length": String(body.length) };
      const options = { host: "127.0.0.1", port: this.#targetPort, method: "POST", agent: this.#agent, headers };
      forward(options, (response) => {
        response
          .toArray()
          .then(
            (chunks: Buffer[]) =>
              resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
            reject,
          );
      })
        .on("error", reject)
        .end(body);
    });
  }
}
