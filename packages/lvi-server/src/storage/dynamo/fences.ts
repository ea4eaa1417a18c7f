/**
 * The fences: items that name the epoch, which a transaction checks so that it has no effect once another server has
 * the leadership. There are several because DynamoDB lets two transactions that check the same item conflict; a transaction
 * waits until one is free.
 */
import type { Weight } from "./limits.ts";

export const FENCES: readonly string[] = Array.from({ length: 32 }, (_, index) => String(index).padStart(2, "0"));

/** What a fence takes of a transaction. */
export const FENCE: Weight = { actions: 1, bytes: 100 };

export class FencePool {
  readonly #free: string[] = [...FENCES];
  readonly #waiting: ((fence: string) => void)[] = [];

  async with<T>(run: (fence: string) => Promise<T>): Promise<T> {
    const fence = this.#free.shift() ?? (await new Promise<string>((resolve) => this.#waiting.push(resolve)));
    try {
      return await run(fence);
    } finally {
      const next = this.#waiting.shift();
      // Last in line: a request that was given up may still be under way over this one.
      if (next === undefined) this.#free.push(fence);
      else next(fence);
    }
  }
}
