/**
 * Clients that call handlers at two locations, repeat each call with its Idempotency-Key until they have its outcome, and
 * write down what they were told; and what must be true of that.
 *
 * Every call ends with an outcome, so that in the end the values are known exactly: nothing may be lost or doubled.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "@radical/history";
import { type Deployment, LOCATIONS } from "./deployment.ts";

const COUNTERS = ["a", "b"];
/** The counter of the record-mode handler. */
const VISITED = "Date1970-01-01";
const PEOPLE = ["ann", "bob", "cid"];
const BALANCE = 1_000;
const STOCK = 1_000_000;
const WIDE = "wide";
/** Pause before a call is repeated that nobody answered. */
const REPEAT_MS = 15;
/** Attempts of one call, after which something must be held for good. */
const MOST_ATTEMPTS = 2_000;

interface Books {
  readonly counters: readonly number[];
  readonly balances: readonly number[];
  readonly tokens: readonly string[];
  readonly left: number;
  readonly stamps: readonly number[];
}

export class Load {
  readonly #deployment: Deployment;
  readonly #random: Random;
  readonly problems: string[] = [];
  /** Calls with an outcome, and by the path that they took. */
  calls = 0;
  readonly paths = new Map<string, number>();
  #stopping = false;
  #clients: Promise<void>[] = [];
  #paused: PromiseWithResolvers<void> | null = null;
  #onCall: (() => void) | null = null;

  // What was told.
  readonly #counts = new Map<string, number>([...COUNTERS, VISITED].map((name) => [name, 0]));
  readonly #balances = new Map(PEOPLE.map((name) => [name, BALANCE]));
  readonly #drawn = new Set<string>();
  #log = "";
  #tokens: string[] = [];
  #stamp = 0;

  constructor(deployment: Deployment, random: Random) {
    this.#deployment = deployment;
    this.#random = random;
  }

  async open(): Promise<void> {
    await this.#call("open", { names: PEOPLE, balance: BALANCE });
    await this.#call("refill", { pool: "pool", by: STOCK });
  }

  /** Clients call until they are told to stop. The list is a fresh one. */
  start(): void {
    this.#stopping = false;
    this.#log = `log-${randomUUID()}`;
    this.#tokens = [];
    this.#clients = [
      // Several, so that trains form.
      ...Array.from({ length: 4 }, () => this.#client(() => this.#increment(COUNTERS[0]!))),
      this.#client(() => this.#increment(this.#random.pick(COUNTERS))),
      this.#client(() => this.#append()),
      this.#client(() => this.#append()),
      this.#client(() => this.#transfer()),
      this.#client(() => this.#draw()),
      this.#client(() => this.#readOrVisit()),
      this.#client(() => this.#spread()),
    ];
  }

  /** Resolves when each client has the outcome of its last call. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#clients);
  }

  /** From now on nothing is sent, until `goOn`. What was sent may still be answered. */
  pause(): void {
    this.#paused ??= Promise.withResolvers<void>();
  }

  goOn(): void {
    this.#paused?.resolve();
    this.#paused = null;
  }

  /** Resolves when so many more calls have ended, or something is wrong. */
  async ended(count: number): Promise<void> {
    const target = this.calls + count;
    while (this.calls < target && this.problems.length === 0) {
      await new Promise<void>((resolve) => {
        this.#onCall = resolve;
      });
    }
  }

  async #client(call: () => Promise<void>): Promise<void> {
    while (!this.#stopping && this.problems.length === 0) {
      try {
        await call();
      } catch (error) {
        this.problems.push(String(error));
        this.#onCall?.();
      }
    }
  }

  // ── Calls ──────────────────────────────────────────────────────────────────────────────────────────────────────

  async #call(handler: string, args: unknown): Promise<{ readonly result: unknown; readonly code: string | null }> {
    const key = randomUUID();
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      await this.#paused?.promise;
      const location = this.#random.pick(LOCATIONS);
      const reply = await this.#deployment.call(handler, args, location, key);
      if (reply !== null && reply.status < 500) {
        this.calls++;
        this.#onCall?.();
        this.paths.set(String(reply.path), (this.paths.get(String(reply.path)) ?? 0) + 1);
        return { result: reply.result, code: reply.error?.code ?? null };
      }
      if (reply !== null && reply.status !== 503)
        throw new Error(`${handler}: ${reply.status} ${JSON.stringify(reply.error)}`);
      await sleep(REPEAT_MS);
    }
    throw new Error(`${handler}: no outcome after ${MOST_ATTEMPTS} attempts`);
  }

  async #increment(name: string): Promise<void> {
    const before = this.#counts.get(name)!;
    const { result } = await this.#call("increment", { name });
    this.#counts.set(name, this.#counts.get(name)! + 1);
    this.#expect((result as number) > before, `increment of ${name} gave ${String(result)} after ${before} were told`);
  }

  async #append(): Promise<void> {
    const token = randomUUID().slice(0, 8);
    const log = this.#log;
    const { result } = await this.#call("append", { name: log, token });
    this.#tokens.push(token);
    this.#expect((result as number) > 0, "a list with a token has no length");
  }

  async #transfer(): Promise<void> {
    const from = this.#random.pick(PEOPLE);
    const to = this.#random.pick(PEOPLE.filter((name) => name !== from));
    const amount = this.#random.between(1, 20);
    const { code } = await this.#call("transfer", { from, to, amount });
    if (code !== null) return this.#expect(code === "poor", `transfer: ${code}`);
    this.#balances.set(from, this.#balances.get(from)! - amount);
    this.#balances.set(to, this.#balances.get(to)! + amount);
  }

  async #draw(): Promise<void> {
    const { result } = await this.#call("draw", { pool: "pool", holder: "somebody" });
    const ticket = String(result);
    this.#expect(!this.#drawn.has(ticket), `${ticket} was drawn twice`);
    this.#drawn.add(ticket);
  }

  async #readOrVisit(): Promise<void> {
    if (this.#random.chance(0.5)) {
      const { result } = await this.#call("visit", { at: 0 });
      this.#counts.set(VISITED, this.#counts.get(VISITED)! + 1);
      this.#expect(result === this.#counts.get(VISITED), `visit ${String(result)} is not the next one`);
      return;
    }
    const { result } = await this.#call("balances", { names: PEOPLE });
    this.#expect(sum(result as number[]) === PEOPLE.length * BALANCE, `balances ${String(result)}`);
  }

  async #spread(): Promise<void> {
    await this.#call("spread", { name: WIDE, stamp: this.#stamp + 1 });
    this.#stamp++;
  }

  // ── What must hold ─────────────────────────────────────────────────────────────────────────────────────────────

  /** With all clients stopped: a writer on everything gets through, and the primary has exactly what was told. */
  async check(): Promise<void> {
    for (const name of COUNTERS) await this.#increment(name);
    await this.#append();
    for (const from of PEOPLE) {
      const to = PEOPLE[(PEOPLE.indexOf(from) + 1) % PEOPLE.length]!;
      const { code } = await this.#call("transfer", { from, to, amount: 1 });
      if (code === null) {
        this.#balances.set(from, this.#balances.get(from)! - 1);
        this.#balances.set(to, this.#balances.get(to)! + 1);
      }
    }
    await this.#draw();
    await this.#spread();

    const names = [...this.#counts.keys()];
    const { result } = await this.#call("inspect", {
      names,
      people: PEOPLE,
      log: this.#log,
      pool: "pool",
      wide: WIDE,
    });
    const books = result as Books;
    this.#expectSame("counters", books.counters, [...this.#counts.values()]);
    this.#expectSame("balances", books.balances, [...this.#balances.values()]);
    this.#expectSame("tokens", books.tokens.toSorted(), this.#tokens.toSorted());
    this.#expectSame("what is left in the pool", books.left, STOCK - this.#drawn.size);
    this.#expectSame("stamps", [...new Set(books.stamps)], [this.#stamp]);
  }

  #expect(holds: boolean, problem: string): void {
    if (!holds) this.problems.push(problem);
  }

  #expectSame(what: string, found: unknown, told: unknown): void {
    const [a, b] = [JSON.stringify(found), JSON.stringify(told)];
    this.#expect(a === b, `${what}: ${a} in storage, ${b} were told`);
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
