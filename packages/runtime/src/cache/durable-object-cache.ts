/** The Worker's side of {@link RadicalCache}: whatever goes wrong with the object, a read of it is a miss. */
import type { Entry, UnitId } from "@radical/protocol";
import type { CachePut } from "../core/effects.ts";
import type { Cache } from "./cache.ts";
import type { RadicalCache } from "./radical-cache.ts";

/** A cache that takes longer is worth less than the repair that its miss brings. */
const CACHE_TIMEOUT_MS = 1_000;

export type CacheNamespace = DurableObjectNamespace<RadicalCache>;

/** What the object's stub offers, without the generic machinery of its type. */
interface RemoteCache {
  getMany(application: string, units: readonly UnitId[]): Promise<readonly CachePut[]>;
  putMany(application: string, puts: readonly CachePut[]): Promise<void>;
}

export interface DurableObjectCacheOptions {
  readonly namespace: CacheNamespace;
  readonly application: string;
  readonly location: string;
  readonly onError: (error: unknown) => void;
}

/** Made anew for every request: a stub belongs to the request that made it. */
export class DurableObjectCache implements Cache {
  readonly #options: DurableObjectCacheOptions;
  #stub: RemoteCache | null = null;

  constructor(options: DurableObjectCacheOptions) {
    this.#options = options;
  }

  peek(): undefined {
    return undefined;
  }

  async getMany(units: readonly UnitId[]): Promise<ReadonlyMap<UnitId, Entry>> {
    try {
      const found = await withTimeout(this.#remote().getMany(this.#options.application, units));
      return new Map(found.map(({ unit, entry }) => [unit, entry]));
    } catch (error) {
      this.#failed(error);
      return new Map();
    }
  }

  async putMany(puts: readonly CachePut[]): Promise<void> {
    try {
      await withTimeout(this.#remote().putMany(this.#options.application, puts));
    } catch (error) {
      this.#failed(error);
    }
  }

  #remote(): RemoteCache {
    const { namespace, application, location } = this.#options;
    this.#stub ??= namespace.get(namespace.idFromName(`${application}/${location}`)) as unknown as RemoteCache;
    return this.#stub;
  }

  #failed(error: unknown): void {
    // A stub is broken for good after some errors.
    this.#stub = null;
    this.#options.onError(error);
  }
}

async function withTimeout<T>(call: Promise<T>): Promise<T> {
  const timer = new AbortController();
  try {
    const late = scheduler.wait(CACHE_TIMEOUT_MS, { signal: timer.signal }).then(() => {
      throw new Error(`the cache did not answer within ${CACHE_TIMEOUT_MS} ms`);
    });
    return await Promise.race([call, late]);
  } finally {
    timer.abort();
  }
}
