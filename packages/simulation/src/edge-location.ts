/** A location of the cores that ship: isolates that share a cache, and nothing else. */
import type { Random } from "@radical/history";
import type { ModuleHash } from "@radical/protocol";
import type { Holder } from "./checkers/lease-agreement.ts";
import { Isolate, type LiveHabits } from "./isolate.ts";
import type { LiveClient, LiveQuery } from "./live-streams.ts";
import type { Client, Invocation, Location, LocationOptions } from "./location.ts";
import { ModelCache } from "./model-cache.ts";
import type { ToLocation } from "./network.ts";
import { MODULES } from "./programs.ts";

export interface EdgeLocationOptions extends LocationOptions {
  readonly isolates: number;
  readonly live: LiveHabits;
}

/** Between -1 and 1, and often one of the two. */
export function rateOf(random: Random): number {
  return random.pick([-1, -1, 1, 1, (random.below(201) - 100) / 100]);
}

export class EdgeLocation implements Location {
  module: ModuleHash = MODULES[0];
  readonly #options: EdgeLocationOptions;
  readonly #cache = new ModelCache();
  readonly #isolates: readonly Isolate[];

  constructor(options: EdgeLocationOptions) {
    this.#options = options;
    const { isolates, clock, counts, drift } = options;
    const cache = this.#cache;
    this.#isolates = Array.from({ length: isolates }, (_, isolate) => {
      const rate = drift === 0 ? 1 : 1 + drift * rateOf(clock.random);
      if (rate !== 1) counts.add("clock of an isolate runs at another rate");
      return new Isolate({ ...options, isolate, cache, rate });
    });
  }

  invoke(invocation: Invocation, client: Client): void {
    this.#any().invoke(this.module, invocation, client);
  }

  /** Returns a function by which the client goes away. */
  subscribe(query: LiveQuery, known: string | null, client: LiveClient): () => void {
    return this.#pick(this.#options.live.random).subscribe(this.module, query, known, client);
  }

  receive(message: ToLocation): void {
    this.#isolates[message.sending % this.#isolates.length]!.receive(message);
  }

  crash(): void {
    const { clock, counts } = this.#options;
    if (clock.random.chance(0.5)) {
      counts.add("isolate killed");
      return this.#any().crash();
    }
    counts.add("location killed");
    for (const isolate of this.#isolates) isolate.crash();
  }

  cutOff(): void {
    this.#options.counts.add("listening request cut off");
    this.#any().cutOff();
  }

  stop(ms: number): void {
    this.#options.counts.add("isolate stopped and continued");
    this.#any().stop(ms);
  }

  setClock(offsetMs: number): void {
    this.#options.counts.add("clock of an isolate set");
    this.#any().offsetMs = offsetMs;
  }

  disturb(): void {
    const { clock, counts, commits } = this.#options;
    this.#cache.disturb(clock.random, counts, commits);
  }

  /** Of the isolates that live. */
  get leases(): readonly Holder[] {
    return this.#isolates.map(({ leases }) => leases);
  }

  #any(): Isolate {
    return this.#pick(this.#options.clock.random);
  }

  #pick(random: Random): Isolate {
    return this.#isolates.length === 1 ? this.#isolates[0]! : random.pick(this.#isolates);
  }
}
