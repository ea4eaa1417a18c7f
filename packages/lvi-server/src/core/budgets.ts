/**
 * The share of the server that one location may use, so that none can starve the others. It bounds executions under way,
 * units held or asked for, bytes that requests keep in memory, and time that handlers run here. A location is the name in
 * the body that its key has signed.
 *
 * Run time is a bucket: the time of a location's runs is put in, and leaks out at the rate of its share. It is known only
 * when a run has ended, so a location is refused for what it has used, not for what it asks.
 */
import { present } from "@radical/protocol";

export interface Budget {
  readonly executions: number;
  readonly units: number;
  readonly bytes: number;
  /** How many workers it may keep busy in the long run. */
  readonly workers: number;
  /** Of this time at that rate: what it may use at once. */
  readonly burstMs: number;
}

/** The part of a budget that an execution uses until it ends. */
export interface Usage {
  readonly units: number;
  readonly bytes: number;
}

/** Which budget is used up, and when it is worth asking again. */
export interface OverBudget {
  readonly words: string;
  readonly retryAfterMs: number;
}

interface Account {
  executions: number;
  units: number;
  bytes: number;
  /** The time of its runs that has not leaked out, as of a time. */
  ranMs: number;
  asOfMs: number;
}

const ACCOUNT = "a location has an account while it has executions";
const NOTHING = { executions: 0, units: 0, bytes: 0 };

/** For what ends when others end. */
const RETRY_MS = 1_000;

/** From so many on, accounts with nothing in them are looked for. */
const MANY_ACCOUNTS = 1_000;

export class Budgets {
  readonly #budget: Budget;
  readonly #allBytes: number;
  /** Of all accounts. */
  #bytes = 0;
  readonly #accounts = new Map<string, Account>();

  /** `allBytes`: those of all locations together. */
  constructor(budget: Budget, allBytes: number) {
    this.#budget = budget;
    this.#allBytes = allBytes;
  }

  /** Locations that something is known of. */
  get size(): number {
    return this.#accounts.size;
  }

  /** The sum over all locations. */
  get used(): Usage & { readonly executions: number } {
    const used = { ...NOTHING };
    for (const { executions, units, bytes } of this.#accounts.values()) {
      used.executions += executions;
      used.units += units;
      used.bytes += bytes;
    }
    return used;
  }

  /** The bound that one more execution would exceed; null: none. */
  excess(location: string, { units, bytes }: Usage): OverBudget | null {
    const most = this.#budget;
    const has = this.#accounts.get(location) ?? NOTHING;
    const over = (what: string): OverBudget => ({
      words: `The location ${location} has ${what}.`,
      retryAfterMs: RETRY_MS,
    });
    if (has.executions + 1 > most.executions)
      return over(`${has.executions} executions under way; at most ${most.executions}`);
    if (has.bytes + bytes > most.bytes)
      return over(`requests of ${has.bytes} bytes under way, and this one of ${bytes}; at most ${most.bytes}`);
    if (this.#bytes + bytes > this.#allBytes) {
      const words = `Requests of ${this.#bytes} bytes are under way, and this one has ${bytes}; at most ${this.#allBytes}.`;
      return { words, retryAfterMs: RETRY_MS };
    }
    return this.excessOfUnits(location, units);
  }

  /** The bound that more units for an execution under way would exceed; null: none. */
  excessOfUnits(location: string, units: number): OverBudget | null {
    const has = this.#accounts.get(location) ?? NOTHING;
    if (has.units + units <= this.#budget.units) return null;
    const words = `The location ${location} has ${has.units} units held or asked for, and wants ${units} more; at most ${this.#budget.units}.`;
    return { words, retryAfterMs: RETRY_MS };
  }

  /** Whether a run more would be over what the location's runs may take; null: no. */
  excessOfRuns(location: string, nowMs: number): OverBudget | null {
    const account = this.#accounts.get(location);
    if (account === undefined) return null;
    const { workers, burstMs } = this.#budget;
    const overMs = this.#leak(account, nowMs) - workers * burstMs;
    if (overMs <= 0) return null;
    const words = `The handlers of ${location} have used up its share of the workers.`;
    return { words, retryAfterMs: Math.max(1, Math.ceil(overMs / workers)) };
  }

  begin(location: string, usage: Usage, nowMs: number): void {
    const account = this.#account(location, nowMs);
    account.executions++;
    account.units += usage.units;
    account.bytes += usage.bytes;
    this.#bytes += usage.bytes;
  }

  grow(location: string, units: number): void {
    present(this.#accounts.get(location), ACCOUNT).units += units;
  }

  end(location: string, usage: Usage, nowMs: number): void {
    const account = present(this.#accounts.get(location), ACCOUNT);
    account.executions--;
    account.units -= usage.units;
    account.bytes -= usage.bytes;
    this.#bytes -= usage.bytes;
    if (this.#isEmpty(account, nowMs)) this.#accounts.delete(location);
  }

  ran(location: string, tookMs: number, nowMs: number): void {
    const account = this.#account(location, nowMs);
    account.ranMs = this.#leak(account, nowMs) + tookMs;
    account.asOfMs = nowMs;
  }

  #account(location: string, nowMs: number): Account {
    let account = this.#accounts.get(location);
    if (account === undefined) {
      if (this.#accounts.size >= MANY_ACCOUNTS) {
        for (const [name, other] of this.#accounts) if (this.#isEmpty(other, nowMs)) this.#accounts.delete(name);
      }
      this.#accounts.set(location, (account = { executions: 0, units: 0, bytes: 0, ranMs: 0, asOfMs: nowMs }));
    }
    return account;
  }

  #leak({ ranMs, asOfMs }: Account, nowMs: number): number {
    return Math.max(0, ranMs - (nowMs - asOfMs) * this.#budget.workers);
  }

  #isEmpty(account: Account, nowMs: number): boolean {
    return account.executions === 0 && this.#leak(account, nowMs) === 0;
  }
}
