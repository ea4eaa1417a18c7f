/** Calls as they come, joined of their halves, and what the reckoning of {@link Central} has learned of them. */
import type { Life } from "@radical/protocol";
import { Central, type CentralOptions } from "./central.ts";
import { type Call, Joined } from "./join.ts";

export interface ReckonerOptions extends CentralOptions {
  /** Most calls that are kept. */
  readonly most: number;
}

export class Reckoner {
  readonly central: Central;
  readonly #joined: Joined;

  constructor({ most, ...options }: ReckonerOptions) {
    this.central = new Central(options);
    this.#joined = new Joined(most);
  }

  /** Halves may come in any order. A call is learned from once, when it is whole. */
  add(life: Life): void {
    const call = this.#joined.add(life);
    if (call === null || (call.primary === null && call.life.attempt > 0)) return;
    this.central.learn(call);
  }

  /** The latest first. */
  get calls(): readonly Call[] {
    return this.#joined.calls;
  }
}
