/** The Worker's side of {@link RadicalCache}: whatever goes wrong with the object, a read of it is a miss. */
import type { Entry, Jurisdiction, UnitId } from "@radical/protocol";
import type { CachePut } from "../core/effects.ts";
import { answerLeaves } from "../speculation-lane.ts";
import { type Cache, NOTHING_KNOWN } from "./cache.ts";
import type { Place } from "./place.ts";
import type { PurgeMark } from "./purge-mark.ts";
import type { PurgePart } from "./purge-part.ts";
import type { PurgeAnswer, PutAnswer, PutManner, RadicalCache } from "./radical-cache.ts";
import { within } from "./within.ts";

export type CacheNamespace = DurableObjectNamespace<RadicalCache>;

/** The methods of an object's stub, without the generic machinery of its type. */
interface RemoteCache {
  getMany(application: string, units: readonly UnitId[], maxAgeMs: number): Promise<readonly CachePut[]>;
  putMany(application: string, puts: readonly CachePut[], manner: PutManner): Promise<PutAnswer>;
  purgedAt(): Promise<number>;
  purge(application: string, part: PurgePart | null): Promise<PurgeAnswer>;
  listed(): Promise<void>;
  list(location: string): Promise<void>;
  locations(): Promise<readonly string[]>;
}

/** The objects of an application: where they are, and how one is found. */
export class CacheObjects {
  readonly #namespace: CacheNamespace;
  readonly #application: string;
  readonly #isBound: boolean;

  constructor(namespace: CacheNamespace, application: string, jurisdiction?: Jurisdiction) {
    this.#namespace = jurisdiction === undefined ? namespace : namespace.jurisdiction(jurisdiction);
    this.#application = application;
    this.#isBound = jurisdiction !== undefined;
  }

  /** The cache of a location. The hint counts when the object is created, at the first call. */
  of(location: string, hint: Place["hint"] = null): RemoteCache {
    const id = this.#namespace.idFromName(`${this.#application}/${location}`);
    // Within a jurisdiction the platform chooses.
    const options = hint === null || this.#isBound ? {} : { locationHint: hint };
    return this.#namespace.get(id, options);
  }

  /** The one that has the list of locations. No location has such a name. */
  get list(): RemoteCache {
    return this.of("~locations");
  }
}

export interface DurableObjectCacheOptions {
  readonly objects: CacheObjects;
  readonly application: string;
  readonly location: string;
  readonly hint?: Place["hint"];
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  readonly timeoutMs: number;
  /** All that is put was learned after this time. */
  readonly sinceMs: () => number;
  readonly mark: PurgeMark;
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
    const { application, maxAgeMs, timeoutMs } = this.#options;
    try {
      const found = await within(timeoutMs, this.#remote().getMany(application, units, maxAgeMs));
      return new Map(found.map(({ unit, entry }) => [unit, entry]));
    } catch (error) {
      this.#failed(error);
      return new Map();
    }
  }

  async putMany(puts: readonly CachePut[]): Promise<void> {
    const { application, maxBytes, maxAgeMs, sinceMs, timeoutMs, mark } = this.#options;
    await answerLeaves();
    try {
      const manner = { maxBytes, maxAgeMs, sinceMs: sinceMs() };
      const { purgedAtMs, isListed } = await within(timeoutMs, this.#remote().putMany(application, puts, manner));
      mark.hear(purgedAtMs);
      if (!isListed) await within(timeoutMs, this.#list());
    } catch (error) {
      this.#failed(error);
    }
  }

  async purgedAtMs(): Promise<number> {
    return within(this.#options.timeoutMs, this.#remote().purgedAt());
  }

  async #list(): Promise<void> {
    const { objects, location } = this.#options;
    await objects.list.list(location);
    await this.#remote().listed();
  }

  #remote(): RemoteCache {
    const { objects, location, hint } = this.#options;
    return (this.#stub ??= objects.of(location, hint));
  }

  #failed(error: unknown): void {
    // A stub is broken for good after some errors.
    this.#stub = null;
    this.#options.onError(error);
  }
}
