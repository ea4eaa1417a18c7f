/** Data in memory that one isolate has for itself: each step is done at once. */
import type { UnitId } from "@radical/protocol";
import type { Access, Accessed, StoredValue } from "./store-messages.ts";

const ABSENT: StoredValue = { version: 0, value: null };

export class LocalStore {
  readonly #values = new Map<UnitId, StoredValue>();
  #position = 0;

  /** What is there from the beginning. */
  fill(items: Access["writes"]): void {
    for (const [unit, value] of items) this.#values.set(unit, { version: 0, value });
  }

  // oxlint-disable-next-line typescript/require-await -- the other storage waits
  async access({ reads, expects, writes }: Access): Promise<Accessed> {
    for (const [unit, version] of expects) if (this.#valueOf(unit).version !== version) return null;
    const values = new Map(reads.map((unit) => [unit, this.#valueOf(unit)]));
    if (writes.size > 0) this.#position++;
    for (const [unit, value] of writes) this.#values.set(unit, { version: this.#position, value });
    return { position: this.#position, values };
  }

  #valueOf(unit: UnitId): StoredValue {
    return this.#values.get(unit) ?? ABSENT;
  }
}
