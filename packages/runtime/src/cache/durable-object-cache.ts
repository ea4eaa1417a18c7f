/** The Worker's side of {@link RadicalCache}: whatever goes wrong with the object, a read of it is a miss. */
import type { Entry, UnitId } from "@radical/protocol";
import type { CachePut } from "../core/effects.ts";
import { answerLeaves } from "../speculation-lane.ts";
import { type Cache, NOTHING_KNOWN } from "./cache.ts";
import type { Place } from "./place.ts";
import type { RadicalCache } from "./radical-cache.ts";
import { within } from "./within.ts";

export type CacheNamespace = DurableObjectNamespace<RadicalCache>;

/** The methods of the object's stub, without the generic machinery of its type. */
interface RemoteCache {
  getMany(application: string, units: readonly UnitId[]): Promise<readonly CachePut[]>;
  putMany(application: string, puts: readonly CachePut[], maxBytes: number): Promise<void>;
}

export interface DurableObjectCacheOptions {
  readonly namespace: CacheNamespace;
  readonly application: string;
  readonly location: string;
  readonly hint?: Place["hint"];
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly onError: (error: unknown) => void;
}

/** Made anew for every request: a stub belongs to the request that made it. */
export class DurableObjectCache implements Cache {
  readonly #options: DurableObjectCacheOptions;
  #stub: RemoteCache | null = null;

  constructor(options: DurableObjectCacheOptions) {
    this.#options = options;
  }

  readonly directories = NOTHING_KNOWN;

  peek(): undefined {
    return undefined;
  }

  async getMany(units: readonly UnitId[]): Promise<ReadonlyMap<UnitId, Entry>> {
    const { application, timeoutMs } = this.#options;
    try {
      const found = await within(timeoutMs, this.#remote().getMany(application, units));
      return new Map(found.map(({ unit, entry }) => [unit, entry]));
    } catch (error) {
      this.#failed(error);
      return new Map();
    }
  }

  async putMany(puts: readonly CachePut[]): Promise<void> {
    const { application, maxBytes, timeoutMs } = this.#options;
    await answerLeaves();
    try {
      await within(timeoutMs, this.#remote().putMany(application, puts, maxBytes));
    } catch (error) {
      this.#failed(error);
    }
  }

  #remote(): RemoteCache {
    const { namespace, application, location, hint = null } = this.#options;
    // The hint counts when the object is created, at the first call.
    this.#stub ??= namespace.get(
      namespace.idFromName(`${application}/${location}`),
      hint === null ? {} : { locationHint: hint },
    ) as unknown as RemoteCache;
    return this.#stub;
  }

  #failed(error: unknown): void {
    // A stub is broken for good after some errors.
    this.#stub = null;
    this.#options.onError(error);
  }
}
