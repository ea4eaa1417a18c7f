/** Calls as they come, joined of their halves, and what the reckoning of {@link Central} has learned of them. */
import type { Life } from "@radical/protocol";
import { Central, type Distances } from "./central.ts";
import { type Call, Joined } from "./join.ts";

export interface ReckonerOptions {
  /** Most calls that are kept. */
  readonly most: number;
  /** Whether the location runs everything near storage: its calls are central itself. */
  readonly isCentral: (place: string) => boolean;
  readonly distances: Distances;
}

export class Reckoner {
  readonly central: Central;
  readonly #joined: Joined;
  readonly #isCentral: ReckonerOptions["isCentral"];

  constructor({ most, isCentral, distances }: ReckonerOptions) {
    this.central = new Central(distances);
    this.#joined = new Joined(most);
    this.#isCentral = isCentral;
  }

  /** Halves may come in any order. A call is learned from once, when it is whole. */
  add(life: Life): void {
    const call = this.#joined.add(life);
    if (call === null || (call.primary === null && call.life.attempt > 0)) return;
    if (this.#isCentral(call.life.place)) this.central.learnCentral(call);
    else this.central.learn(call);
  }

  /** The latest first. */
  get calls(): readonly Call[] {
    return this.#joined.calls;
  }
}
