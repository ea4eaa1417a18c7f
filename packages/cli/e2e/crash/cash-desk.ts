/**
 * Clients who pay, and a bank that loses answers: what the primary calls as a service. In the end each order that was told is charged
 * once, and no other is.
 */
import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { DeploymentKey } from "@radical/admin";
import type { Random } from "@radical/history";
import type { Manifest } from "@radical/protocol";
import { answerService, Nonces, Refused } from "@radical/runtime/services";

/** Pause between two payments. */
const PAUSE_MS = 20;
/** Of 100 calls. */
const FAILED = 5;
const LOST = 10;
/** One of so many orders. */
const REFUSED = 6;

interface Charged {
  readonly order: string;
}

/** The application's services over HTTP, as its Worker has them. It charges and refunds once for each key, and remembers it. */
export class Bank {
  readonly #keys = new Set<string>();
  /** How often each order was charged. */
  readonly #charged = new Map<string, number>();
  /** How often each order that was charged was refunded. */
  readonly #refunded = new Map<string, number>();
  #server: Server | null = null;

  async start(manifest: Manifest, { id, secret }: DeploymentKey): Promise<string> {
    const nonces = new Nonces();
    const key = { id, secret: Uint8Array.from(Buffer.from(secret, "hex")) };
    const services = {
      charge: ({ order }: Charged, of: { readonly key: string }) => this.#charge(order, of.key),
      refund: ({ order }: Charged, of: { readonly key: string }) => this.#refund(order, of.key),
    };
    this.#server = createServer((incoming, response) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => {
        const request = new Request(`http://bank${incoming.url}`, {
          method: "POST",
          headers: Object.entries(incoming.headers).flatMap(([name, value]): [string, string][] =>
            typeof value === "string" && name !== "connection" ? [[name, value]] : [],
          ),
          body: Uint8Array.from(Buffer.concat(chunks)),
        });
        const parts = { manifest, services, key, nonces, now: Date.now, told: () => undefined };
        void answerService(request, {}, { waitUntil: () => undefined }, parts).then(async (answer) => {
          if (Math.random() * 100 < LOST) return response.destroy();
          const body = Buffer.from(await answer.arrayBuffer());
          return response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(body);
        });
      });
    });
    await new Promise<void>((resolve) => this.#server!.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #charge(order: string, key: string): string {
    if (order.startsWith("refused")) throw new Refused("declined", order);
    this.#falter();
    if (this.#isNew(key)) this.#charged.set(order, (this.#charged.get(order) ?? 0) + 1);
    return key;
  }

  /** Nothing, of an order that was not charged. */
  #refund(order: string, key: string): void {
    this.#falter();
    if (this.#charged.has(order) && this.#isNew(key)) this.#refunded.set(order, (this.#refunded.get(order) ?? 0) + 1);
  }

  /** Throws now and then. */
  #falter(): void {
    if (Math.random() * 100 < FAILED) throw new Error("The bank is busy.");
  }

  #isNew(key: string): boolean {
    const isNew = !this.#keys.has(key);
    this.#keys.add(key);
    return isNew;
  }

  /** How often each order was charged, in the order of their names. */
  get charged(): Counts {
    return sorted(this.#charged);
  }

  get refunded(): Counts {
    return sorted(this.#refunded);
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#server === null) return resolve();
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}

type Counts = readonly (readonly [order: string, times: number])[];

function sorted(counts: ReadonlyMap<string, number>): Counts {
  return [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Calls a handler until it has an outcome. */
type Call = (handler: string, args: unknown) => Promise<unknown>;

export class CashDesk {
  readonly #bank: Bank;
  readonly #random: Random;
  readonly #call: Call;
  /** Since the deployment was made. */
  readonly #told: string[] = [];

  constructor(bank: Bank, random: Random, call: Call) {
    this.#bank = bank;
    this.#random = random;
    this.#call = call;
  }

  /** Each client pays again and again. */
  async pay(): Promise<void> {
    await sleep(PAUSE_MS);
    const order = `${this.#random.below(REFUSED) === 0 ? "refused" : "order"}-${randomUUID()}`;
    await this.#call("pay", { order, cents: this.#random.between(1, 1_000) });
    this.#told.push(order);
  }

  /** When all tasks have ended: the orders as the bank has charged them, and as they were told. */
  get charges(): readonly [found: unknown, told: unknown] {
    const told = this.#told.filter((order) => !order.startsWith("refused")).toSorted();
    return [this.#bank.charged, told.map((order) => [order, 1])];
  }
}
