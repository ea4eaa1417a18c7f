/**
 * The primary storage of the systems that Radical is compared with: the same storage drivers that the LVI server has, with
 * steps that read, check what was read before, and write. A step is done under locks of its units, one after the other for
 * each of them, so that steps have an order.
 */
import { randomBytes } from "node:crypto";
import {
  byUnit,
  type CommitId,
  commitId,
  type ContentHash,
  contentHash,
  encodeOutcome,
  type ExecutionId,
  type Key,
  type ModuleHash,
  type Outcome,
  type Query,
  SpanMap,
  splitUnit,
  type UnitId,
  type Write,
} from "@radical/protocol";
import { commitOf, KeyRing, openStorage, type Storage, type StorageAddress } from "@radical/lvi-server";
import type { InitialVersions } from "./history.ts";
import { lastVersion, unitOfQuery, valueOfCount, valuesOfRows } from "./scanned.ts";
import type { Access, Accessed, StoredValue } from "./store-messages.ts";

/** Longer than any benchmark. */
const TERM_MS = 24 * 3_600_000;
const RETENTION_MS = 24 * 3_600_000;
const MOST_BYTES = 64 * 1024 * 1024;
/** Within one transaction of every storage. */
const MAX_BATCH = 90;
/** More than any benchmark counts. */
const MOST_ROWS = 1_000_000;

const DONE: Outcome = { kind: "result", value: Uint8Array.of(0xf6) };

const NO_ARGUMENTS = Uint8Array.of(0xa0);
const HASHES = new KeyRing({
  locations: new Map([["benchmark", randomBytes(32)]]),
  administration: new Map(),
}).callHashes;

export class Store {
  readonly #storage: Storage;
  readonly #epoch: number;
  /** Of the items that were written. */
  readonly #versions = new SpanMap<number>();
  readonly #locked = new SpanMap<Promise<void>>();
  #position = 0;
  #commits = 0;

  private constructor(storage: Storage, epoch: number) {
    this.#storage = storage;
    this.#epoch = epoch;
  }

  static async open(address: StorageAddress): Promise<Store> {
    const storage = await openStorage(address, { retentionMs: RETENTION_MS, hasher: HASHES });
    const leadership = await storage.acquireLeadership(await storage.readLeadership(), TERM_MS, 0);
    if (leadership === null) throw new Error("Another process has the storage of the benchmark.");
    return new Store(storage, leadership.epoch);
  }

  /** What is there from the beginning. */
  async begin(items: ReadonlyMap<UnitId, Uint8Array>): Promise<InitialVersions> {
    const writes = Array.from(items, ([unit, value]) => ({ unit, value })).toSorted(byUnit);
    const versions = new Map<UnitId, { readonly commitId: CommitId; readonly hash: ContentHash }>();
    for (let from = 0; from < writes.length; from += MAX_BATCH) {
      const batch = writes.slice(from, from + MAX_BATCH);
      const id = await this.#apply(batch);
      for (const { unit, value } of batch) versions.set(unit, { commitId: id, hash: contentHash(value) });
    }
    return versions;
  }

  access({ reads, queries, expects, writes }: Access): Promise<Accessed> {
    const units = new Set([...reads, ...queries.map(unitOfQuery), ...expects.keys(), ...writes.keys()]);
    return this.#alone([...units], async () => {
      for (const [unit, version] of expects) if (this.#versionOf(unit) !== version) return null;
      const values = new Map<UnitId, StoredValue>();
      if (reads.length > 0) {
        const items = await this.#storage.load(reads, MOST_BYTES);
        if (items === null) throw new Error("the values of one step are too large");
        for (const unit of reads)
          values.set(unit, { version: this.#versionOf(unit), value: items.get(unit)?.value ?? null });
      }
      for (const query of queries) for (const [unit, value] of await this.#scanned(query)) values.set(unit, value);
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

  readonly #versionOf = (unit: UnitId): number => lastVersion(this.#versions, unit);

  async #scanned(query: Query): Promise<readonly (readonly [UnitId, StoredValue])[]> {
    const { table, lo, hi } = query;
    const range = { table, from: lo === "" ? null : (lo as Key), to: hi === "" ? null : (hi as Key) };
    if (query.kind === "count") {
      const counted = await this.#storage.scan(range, MOST_ROWS);
      return [valueOfCount(query, counted.length, this.#versionOf)];
    }
    const stored = await this.#storage.scan({ ...range, isReversed: query.isReversed }, query.limit);
    const rows = stored.map(({ unit, value }) => ({ key: splitUnit(unit).key, version: this.#versionOf(unit), value }));
    return valuesOfRows(query, rows, this.#versionOf);
  }

  /** When nobody else is at one of the units any more. */
  async #alone<T>(units: readonly UnitId[], step: () => Promise<T>): Promise<T> {
    for (;;) {
      const others = units.flatMap((unit) => this.#locked.overlapping(unit).map(([, other]) => other));
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
  async #apply(writes: readonly Write[]): Promise<CommitId> {
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
    return commit;
  }
}
