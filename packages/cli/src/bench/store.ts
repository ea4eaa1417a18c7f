/**
 * The primary storage of the systems that Radical is compared with: the same storage drivers that the LVI server has, with
 * steps that read, check what was read before, and write. A step is done under locks of its units, one after the other for
 * each of them, so that steps have an order.
 */
import { randomBytes } from "node:crypto";
import {
  byUnit,
  commitId,
  contentHash,
  encodeOutcome,
  type ExecutionId,
  type ModuleHash,
  type Outcome,
  type UnitId,
  type Write,
} from "@radical/protocol";
import { commitOf, KeyRing, openStorage, type Storage, type StorageAddress } from "@radical/lvi-server";
import type { Access, Accessed, StoredValue } from "./store-messages.ts";

/** Longer than any benchmark. */
const TERM_MS = 24 * 3_600_000;
const RETENTION_MS = 24 * 3_600_000;
const MOST_BYTES = 64 * 1024 * 1024;
/** Within one transaction of every storage. */
const MAX_BATCH = 90;

const DONE: Outcome = { kind: "result", value: Uint8Array.of(0xf6) };

const NO_ARGUMENTS = Uint8Array.of(0xa0);
const HASHES = new KeyRing(new Map([["benchmark", randomBytes(32)]])).callHashes;

export class Store {
  readonly #storage: Storage;
  readonly #epoch: number;
  readonly #versions = new Map<UnitId, number>();
  readonly #locked = new Map<UnitId, Promise<void>>();
  #position = 0;
  #commits = 0;

  private constructor(storage: Storage, epoch: number) {
    this.#storage = storage;
    this.#epoch = epoch;
  }

  static async open(address: StorageAddress): Promise<Store> {
    const storage = await openStorage(address, { retentionMs: RETENTION_MS, hasher: HASHES });
    const leadership = await storage.acquireLeadership(await storage.readLeadership(), TERM_MS, 0);
    if (leadership === null) throw new Error("somebody else has the storage of the benchmark");
    return new Store(storage, leadership.epoch);
  }

  /** What is there from the beginning. */
  async begin(items: ReadonlyMap<UnitId, Uint8Array>): Promise<void> {
    const writes = Array.from(items, ([unit, value]): Write => ({ unit, value })).toSorted(byUnit);
    for (let from = 0; from < writes.length; from += MAX_BATCH) await this.#apply(writes.slice(from, from + MAX_BATCH));
  }

  access({ reads, expects, writes }: Access): Promise<Accessed> {
    const units = [...new Set([...reads, ...expects.keys(), ...writes.keys()])];
    return this.#alone(units, async () => {
      for (const [unit, version] of expects) if (this.#versionOf(unit) !== version) return null;
      const values = new Map<UnitId, StoredValue>();
      if (reads.length > 0) {
        const items = await this.#storage.load(reads, MOST_BYTES);
        if (items === null) throw new Error("the values of one step are too large");
        for (const unit of reads)
          values.set(unit, { version: this.#versionOf(unit), value: items.get(unit)?.value ?? null });
      }
      if (writes.size === 0) return { position: this.#position, values };
      await this.#apply(Array.from(writes, ([unit, value]): Write => ({ unit, value })).toSorted(byUnit));
      const position = ++this.#position;
      for (const unit of writes.keys()) this.#versions.set(unit, position);
      return { position, values };
    });
  }

  async close(): Promise<void> {
    await this.#storage.renewLeadership(this.#epoch, 0);
    await this.#storage.close();
  }

  #versionOf(unit: UnitId): number {
    return this.#versions.get(unit) ?? 0;
  }

  /** When nobody else is at one of the units any more. */
  async #alone<T>(units: readonly UnitId[], step: () => Promise<T>): Promise<T> {
    for (;;) {
      const others = units.flatMap((unit) => this.#locked.get(unit) ?? []);
      if (others.length === 0) break;
      await Promise.all(others);
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    for (const unit of units) this.#locked.set(unit, promise);
    try {
      return await step();
    } finally {
      for (const unit of units) this.#locked.delete(unit);
      resolve();
    }
  }

  /** One durable write, as the LVI server makes it for a near-storage execution. */
  async #apply(writes: readonly Write[]): Promise<void> {
    const commit = commitId(this.#epoch, ++this.#commits);
    const { kind } = await this.#storage.commit(
      this.#epoch,
      commitOf([
        {
          expects: "new",
          completion: {
            executionId: randomBytes(16).toString("hex") as ExecutionId,
            module: "0".repeat(64) as ModuleHash,
            handler: "store",
            args: NO_ARGUMENTS,
            environment: { timeMs: Date.now(), seed: randomBytes(16), caller: null },
            commitId: commit,
            location: "store",
            outcome: DONE,
            writes,
            resultHash: contentHash(encodeOutcome(DONE)),
            doneAtMs: Date.now(),
            call: HASHES.hash(NO_ARGUMENTS),
            keeps: "briefly",
          },
        },
      ]),
    );
    if (kind !== "applied") throw new Error(`the storage did not take a step: ${kind}`);
  }
}
