/**
 * Clients that call handlers at two locations, repeat each call with its Idempotency-Key until they have its outcome, and
 * write down what they were told; and what must be true of that.
 *
 * Every call ends with an outcome, so that in the end the values are known exactly: nothing may be lost or doubled.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { checkStrictSerializability, type Random, type Transaction, type Version } from "@radical/history";
import { type Deployment, LOCATIONS } from "./deployment.ts";
import { CashDesk } from "./cash-desk.ts";
import { PostOffice } from "./post-office.ts";

const COUNTERS = ["a", "b"];
/** The counter of the record-mode handler. */
const VISITED = "Date1970-01-01";
const PEOPLE = ["ann", "bob", "cid"];
const BALANCE = 1_000;
const STOCK = 1_000_000;
const WIDE = "wide";
/** Pause before a call is repeated that nobody answered. */
const REPEAT_MS = 15;
/** Pause between two reads of the board, and the part of them that is a post instead: it is read far more than written. */
const LOOK_MS = 5;
/** Rows that a client has at most at a time. */
const MOST_GUESTS = 3;
/** Seats of a night. */
const SEATS = 6;
const POSTS = 0.03;
/** Attempts of one call, after which something must be held for good. */
const MOST_ATTEMPTS = 2_000;

interface Told {
  readonly result: unknown;
  readonly code: string | null;
  /** Of the attempt that was answered; of a call with a key, of the first one. */
  readonly invokedAt: number;
  readonly answeredAt: number;
}

interface Books {
  readonly counters: readonly number[];
  readonly balances: readonly number[];
  readonly tokens: readonly string[];
  readonly left: number;
  readonly stamps: readonly number[];
  readonly ticks: number;
}

interface Roll {
  readonly names: readonly string[];
  readonly last: readonly string[];
  readonly count: number;
}

export class Load {
  readonly #deployment: Deployment;
  readonly #random: Random;
  readonly problems: string[] = [];
  /** Calls with a key that have an outcome, and all calls by the path that they took. */
  calls = 0;
  readonly paths = new Map<string, number>();
  /** Attempts that were told to try again, or not answered. */
  unanswered = 0;
  #stopping = false;
  #clients: Promise<void>[] = [];
  #paused: PromiseWithResolvers<void> | null = null;
  /** They look again whenever a call has its outcome. */
  readonly #waiting: (() => void)[] = [];
  readonly #postOffice: PostOffice;
  readonly #cashDesk: CashDesk;

  // What was told.
  readonly #counts = new Map<string, number>([...COUNTERS, VISITED].map((name) => [name, 0]));
  readonly #balances = new Map(PEOPLE.map((name) => [name, BALANCE]));
  readonly #drawn = new Set<string>();
  #ticks = 0;
  #log = "";
  #tokens: string[] = [];
  #stamp = 0;
  /** The board of this round, and all answers about it. */
  #board = "";
  #looks: Transaction[] = [];
  #posts: (Transaction & { readonly before: string })[] = [];
  /** The party of this round, with all that came, went and was seen there. */
  #party = "";
  #arrivals = new Map<string, Transaction>();
  #departures = new Map<string, Transaction>();
  #rolls: (Transaction & { readonly names: ReadonlySet<string> })[] = [];
  /** The night whose seats are given away, and the numbers that were told. */
  #night = "";
  #seats = new Set<number>();

  constructor(deployment: Deployment, random: Random) {
    this.#deployment = deployment;
    this.#random = random;
    const call = (handler: string, args: unknown): Promise<Told> => this.#call(handler, args);
    this.#cashDesk = new CashDesk(deployment.bank, random, call);
    this.#postOffice = new PostOffice(deployment, random, call, (...about) => this.#expectSame(...about));
  }

  /** Calls that read leases have answered. */
  get leased(): number {
    return this.paths.get("leased") ?? 0;
  }

  async open(): Promise<void> {
    await this.#call("open", { names: PEOPLE, balance: BALANCE });
    await this.#call("refill", { pool: "pool", by: STOCK });
  }

  /** Clients call until they are told to stop. List and board are fresh ones. */
  start(): void {
    this.#stopping = false;
    this.#log = `log-${randomUUID()}`;
    this.#tokens = [];
    this.#board = `board-${randomUUID()}`;
    [this.#looks, this.#posts] = [[], []];
    this.#party = `party-${randomUUID()}`;
    this.#arrivals = new Map();
    this.#departures = new Map();
    this.#rolls = [];
    this.#opensNight();
    this.#postOffice.opens();
    this.#clients = [
      // Several, so that trains form.
      ...Array.from({ length: 2 }, () => this.#client(() => this.#increment(COUNTERS[0]!))),
      ...Array.from({ length: 2 }, () => this.#client(() => this.#tick())),
      this.#client(() => this.#increment(this.#random.pick(COUNTERS))),
      this.#client(() => this.#append()),
      this.#client(() => this.#append()),
      this.#client(() => this.#transfer()),
      this.#client(() => this.#draw()),
      this.#client(() => this.#readOrVisit()),
      this.#client(() => this.#spread()),
      ...Array.from({ length: 3 }, () => this.#client(() => this.#lookOrPost())),
      ...Array.from({ length: 2 }, () => this.#guests()),
      this.#client(() => this.#roll()),
      this.#client(() => this.#book()),
      ...this.#postOffice.clients.map((each) => this.#client(each)),
      ...Array.from({ length: 2 }, () => this.#client(() => this.#cashDesk.pay())),
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
  ended(count: number): Promise<void> {
    const target = this.calls + count;
    return this.#until(() => this.calls >= target);
  }

  /** Resolves when read leases have answered so many more reads, or so many more calls have ended, or something is wrong. */
  answeredByLeases(count: number, mostCalls: number): Promise<void> {
    const [leased, calls] = [this.leased + count, this.calls + mostCalls];
    return this.#until(() => this.leased >= leased || this.calls >= calls);
  }

  /** Resolves when so many more attempts have had no answer, or something is wrong. */
  failed(count: number): Promise<void> {
    const target = this.unanswered + count;
    return this.#until(() => this.unanswered >= target);
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo() && this.problems.length === 0) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }

  #lookAgain(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async #client(call: () => Promise<void>): Promise<void> {
    while (!this.#stopping && this.problems.length === 0) {
      try {
        await call();
      } catch (error) {
        this.problems.push(String(error));
        this.#lookAgain();
      }
    }
  }

  // ── Calls ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Repeats a call until it has an outcome: under one key, or, of a read, each time as a new call. */
  async #call(handler: string, args: unknown, key: string | null = randomUUID(), early = false): Promise<Told> {
    let invokedAt = performance.now();
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      await this.#paused?.promise;
      const location = this.#random.pick(LOCATIONS);
      if (key === null) invokedAt = performance.now();
      const reply = await this.#deployment.call(handler, args, location, key, early);
      if (reply !== null && reply.status < 500) {
        const answeredAt = performance.now();
        if (key !== null) this.calls++;
        this.paths.set(String(reply.path), (this.paths.get(String(reply.path)) ?? 0) + 1);
        this.#lookAgain();
        return { result: reply.result, code: reply.error?.code ?? null, invokedAt, answeredAt };
      }
      if (reply !== null && reply.status !== 503)
        throw new Error(`${handler}: ${reply.status} ${JSON.stringify(reply.error)}`);
      this.unanswered++;
      this.#lookAgain();
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

  async #tick(): Promise<void> {
    const before = this.#ticks;
    const { result } = await this.#call("tick", {});
    this.#ticks++;
    this.#expect((result as number) > before, `tick gave ${String(result)} after ${before} were told`);
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
    // A number that was shown early, and not confirmed, is drawn by nobody.
    const { result } = await this.#call("draw", { pool: "pool", holder: "somebody" }, randomUUID(), true);
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
    const key = this.#random.chance(0.5) ? null : randomUUID();
    const { result } = await this.#call("balances", { names: PEOPLE }, key);
    this.#expect(sum(result as number[]) === PEOPLE.length * BALANCE, `balances ${String(result)}`);
  }

  async #spread(): Promise<void> {
    await this.#call("spread", { name: WIDE, stamp: this.#stamp + 1 });
    this.#stamp++;
  }

  /** The board is read far more than written, so locations answer most of it by read leases. */
  async #lookOrPost(): Promise<void> {
    if (this.#random.chance(POSTS)) return this.#post();
    await sleep(LOOK_MS);
    const { result, invokedAt, answeredAt } = await this.#call("posted", { board: this.#board }, null);
    const name = `look ${this.#looks.length}`;
    this.#looks.push({ name, invokedAt, answeredAt, reads: sidesOf(result) });
  }

  async #post(): Promise<void> {
    const name = `post ${randomUUID().slice(0, 8)}`;
    const { result, invokedAt, answeredAt } = await this.#call("post", { board: this.#board, text: name });
    const reads = sidesOf(result);
    this.#posts.push({ name, invokedAt, answeredAt, reads, before: reads[0]?.[1] ?? "" });
  }

  /** A client whose rows come and go. */
  #guests(): Promise<void> {
    const present: string[] = [];
    return this.#client(async () => {
      const goes = present.length === MOST_GUESTS ? present.shift() : undefined;
      if (goes !== undefined) return this.#depart(goes);
      // In no order, so that they come between others.
      const name = randomUUID().slice(0, 8);
      present.push(name);
      await this.#arrive(name);
    });
  }

  async #arrive(guest: string): Promise<void> {
    const { invokedAt, answeredAt } = await this.#call("arrive", { party: this.#party, name: guest });
    this.#arrivals.set(guest, { name: `arrival of ${guest}`, invokedAt, answeredAt, reads: [] });
  }

  async #depart(guest: string): Promise<void> {
    const { invokedAt, answeredAt } = await this.#call("depart", { party: this.#party, name: guest });
    this.#departures.set(guest, { name: `departure of ${guest}`, invokedAt, answeredAt, reads: [] });
  }

  async #roll(): Promise<void> {
    await sleep(LOOK_MS);
    const key = this.#random.chance(0.5) ? null : randomUUID();
    const { result, invokedAt, answeredAt } = await this.#call("roll", { party: this.#party }, key);
    const { names, last, count } = result as Roll;
    this.#expectSame("the number of guests", count, names.length);
    this.#expectSame("the last guests", last, names.slice(-2).toReversed());
    this.#rolls.push({ name: `roll ${this.#rolls.length}`, invokedAt, answeredAt, reads: [], names: new Set(names) });
  }

  #opensNight(): void {
    this.#night = `night-${randomUUID()}`;
    this.#seats = new Set();
  }

  /** One client books, so the numbers that it is told follow each other. */
  async #book(): Promise<void> {
    const name = randomUUID().slice(0, 8);
    const { result, code } = await this.#call("book", { night: this.#night, name, most: SEATS });
    if (code === null) {
      this.#seats.add(result as number);
      return this.#expectSame("the number of a seat", result, this.#seats.size);
    }
    this.#expectSame("why there is no seat", [code, this.#seats.size], ["full", SEATS]);
    await this.#checkSeats();
    this.#opensNight();
  }

  // ── What must hold ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** With all clients stopped: a writer on everything gets through, and the primary has exactly what was told. */
  async check(): Promise<void> {
    for (const name of COUNTERS) await this.#increment(name);
    await this.#tick();
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
    await this.#post();
    this.#checkBoard();
    await this.#arrive(randomUUID().slice(0, 8));
    await this.#roll();
    this.#checkParty();
    await this.#book();
    await this.#checkSeats();
    await this.#cashDesk.pay();
    await this.#postOffice.check();
    const [charged, told] = this.#cashDesk.charges;
    this.#expectSame("charges of the bank", charged, told);

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
    this.#expectSame("ticks", books.ticks, this.#ticks);
    this.#expectSame("stamps", [...new Set(books.stamps)], [this.#stamp]);
  }

  /** An order exists of all that read or wrote the board. Each post tells which one was before it. */
  #checkBoard(): void {
    const after = new Map(this.#posts.map((post, place) => [post.before, place]));
    const chain: Version[] = [{ writer: null, value: "" }];
    for (let next = after.get(""); next !== undefined; next = after.get(this.#posts[next]!.name))
      chain.push({ writer: next, value: this.#posts[next]!.name });
    this.#expect(
      chain.length === this.#posts.length + 1,
      `of ${this.#posts.length} posts ${chain.length - 1} follow each other`,
    );
    const versions = new Map(SIDES.map((side) => [side, chain]));
    this.problems.push(...checkStrictSerializability([...this.#posts, ...this.#looks], versions));
  }

  /** An order exists of all that came and went and saw the party. Each guest comes once, and goes once at most. */
  #checkParty(): void {
    const transactions: Transaction[] = [];
    const versions = new Map<string, Version[]>();
    for (const [guest, arrival] of this.#arrivals) {
      const chain: Version[] = [
        { writer: null, value: null },
        { writer: transactions.push(arrival) - 1, value: guest },
      ];
      const departure = this.#departures.get(guest);
      if (departure !== undefined) chain.push({ writer: transactions.push(departure) - 1, value: null });
      versions.set(guest, chain);
    }
    // A roll has read each guest that ever was, present or not.
    for (const { names, ...roll } of this.#rolls) {
      const guests = new Set([...versions.keys(), ...names]);
      transactions.push({ ...roll, reads: Array.from(guests, (guest) => [guest, names.has(guest) ? guest : null]) });
    }
    this.problems.push(...checkStrictSerializability(transactions, versions));
  }

  async #checkSeats(): Promise<void> {
    const { result } = await this.#call("bookings", { night: this.#night });
    this.#expectSame("seats by counter and by rows", result, [this.#seats.size, this.#seats.size]);
  }

  #expect(holds: boolean, problem: string): void {
    if (!holds) this.problems.push(problem);
  }

  #expectSame(what: string, found: unknown, told: unknown): void {
    const [a, b] = [JSON.stringify(found), JSON.stringify(told)];
    this.#expect(a === b, `${what}: ${a} in storage, ${b} were told`);
  }
}

const SIDES = ["left", "right"];

function sidesOf(result: unknown): readonly (readonly [string, string])[] {
  const texts = result as readonly string[];
  return SIDES.map((side, index) => [side, texts[index] ?? ""]);
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
