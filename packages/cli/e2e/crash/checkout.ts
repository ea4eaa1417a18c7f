/**
 * Clients of a workflow. It holds an order, has the bank charge it, and confirms it. Or it fails, and undoes that by a refund.
 * Each client waits for the end of its order, however often the server dies.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "@radical/history";
import { type Deployment, LOCATIONS } from "./deployment.ts";

const CLIENTS = 4;
/** Orders that end before the server is killed again. */
const ORDERS_BETWEEN = 2;
/** Pause before a question is repeated that nobody answered. */
const REPEAT_MS = 15;
/** Questions for one order, after which it must be held for good. */
const MOST_ATTEMPTS = 2_000;
/** Polls until nothing is open. */
const MOST_POLLS = 2_000;

/** How an order ends. The bank refuses some; some are charged, and fail then. */
const WAYS = ["good", "refused", "sold-out"] as const;
type Way = (typeof WAYS)[number];

interface Ended {
  readonly order: string;
  readonly way: Way;
  /** The receipt, or the code of the error. */
  readonly told: string;
}

export class Checkout {
  readonly #deployment: Deployment;
  readonly #random: Random;
  readonly #ended: Ended[] = [];
  /** They look again whenever an order has ended. */
  readonly #waiting: (() => void)[] = [];
  #clients: Promise<unknown> = Promise.resolve();
  #isStopping = false;

  constructor(deployment: Deployment, random: Random) {
    this.#deployment = deployment;
    this.#random = random;
  }

  start(): void {
    this.#clients = Promise.all(Array.from({ length: CLIENTS }, () => this.#client()));
    // It is told by what is waited for next.
    this.#clients.catch(() => undefined);
  }

  /** Resolves when some more orders have ended. */
  ended(): Promise<void> {
    const target = this.#ended.length + ORDERS_BETWEEN;
    const reached = async (): Promise<void> => {
      // oxlint-disable-next-line no-await-in-loop -- one order after the other
      while (this.#ended.length < target) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    };
    return this.whileOrdering(reached());
  }

  /** The same promise, or what a client has thrown before. */
  async whileOrdering<T>(awaited: Promise<T>): Promise<T> {
    await Promise.race([awaited, this.#clients]);
    return awaited;
  }

  /** Resolves when the last orders have ended: one of each way among them. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#clients;
    for (const way of WAYS) await this.#order(way);
  }

  async #client(): Promise<void> {
    while (!this.#isStopping) await this.#order(this.#random.pick(WAYS));
  }

  async #order(way: Way): Promise<void> {
    const order = `${way}-${randomUUID()}`;
    const told = await this.#call("buy", { order, cents: 500, sellsOut: way === "sold-out" });
    this.#ended.push({ order, way, told });
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Repeats a call under its key until it has an outcome. */
  async #call(handler: string, args: unknown): Promise<string> {
    const key = randomUUID();
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const reply = await this.#deployment.call(handler, args, this.#random.pick(LOCATIONS), key);
      if (reply?.status === 200) return String(reply.result);
      const isOutcome = reply !== null && reply.status >= 400 && reply.status < 500;
      if (isOutcome) return reply.error?.code ?? "";
      // After 202 the location has waited for its end.
      if (reply?.status !== 202) await sleep(REPEAT_MS);
    }
    throw new Error(`${handler} has no outcome after ${MOST_ATTEMPTS} attempts`);
  }

  // ── What must hold, when all have ended ────────────────────────────────────────────────────────────────────────────

  /** Also how many were charged, confirmed and refunded. */
  async check(): Promise<{ readonly problems: readonly string[]; readonly counts: readonly number[] }> {
    const problems: string[] = [];
    const { charged, refunded } = this.#deployment.bank;
    const [charges, refunds] = [new Map(charged), new Map(refunded)];
    let confirmed = 0;
    for (const { order, way, told } of this.#ended) {
      const done = await this.#call("doneTo", { order });
      if (done.includes("confirmed")) confirmed++;
      const found = [told, done, charges.get(order) ?? 0, refunds.get(order) ?? 0];
      const wanted = {
        good: [told, `held confirmed ${told}`, 1, 0],
        refused: ["declined", "held released", 0, 0],
        "sold-out": ["sold_out", "held released", 1, 1],
      }[way];
      if (JSON.stringify(found) !== JSON.stringify(wanted))
        problems.push(`${order}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
    }
    const [allCharges, allRefunds] = [sum(charges), sum(refunds)];
    if (allCharges !== confirmed + allRefunds)
      problems.push(`${allCharges} charges, ${confirmed} confirmed orders, ${allRefunds} refunds`);
    const open = await this.#open();
    if (open !== null) problems.push(`still open: ${open}`);
    return { problems, counts: [allCharges, confirmed, allRefunds] };
  }

  /** Null: the server has no workflow, no task and no execution. */
  async #open(): Promise<string | null> {
    let told = "";
    for (let poll = 0; poll < MOST_POLLS; poll++) {
      const load = await this.#deployment.load();
      if (load?.workflows === 0 && load.tasks?.all === 0 && load.executions + load.pending === 0) return null;
      told = JSON.stringify(load);
      await sleep(REPEAT_MS);
    }
    return told;
  }
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((a, b) => a + b, 0);
}
