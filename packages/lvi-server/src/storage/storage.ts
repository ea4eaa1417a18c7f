/**
 * The port to primary storage: items, write intents, modules and the epoch. Implementations pass the suite in
 * `storage-conformance.ts`.
 *
 * Every method is one atomic operation and resolves when it is durable. Operations of one server may overlap and take
 * effect in any order between call and answer. The epoch fences: once a later server has taken over, nothing that an
 * earlier one sends has an effect.
 */
import type { ExecutionId, HandlerPlan, ModuleHash, UnitId } from "@radical/protocol";
import type { CompleteResult, StoreResult } from "../core/events.ts";
import type { Completion, Intent, IntentRecord } from "../core/intent.ts";
import type { StoredItem } from "../core/version-table.ts";

export interface Storage {
  /** Makes the epoch one more, durably, and reads the pending intents that earlier servers left. */
  takeOver(): Promise<TakeOver>;
  /** The intent of an execution; strongly consistent. */
  lookUp(id: ExecutionId): Promise<IntentRecord | null>;
  /** Strongly consistent; what is not in the answer is absent. At most a few thousand units. */
  load(units: readonly UnitId[]): Promise<ReadonlyMap<UnitId, StoredItem>>;
  /** Inserts a pending intent if the execution id is new. */
  storeIntent(epoch: number, intent: Intent): Promise<StoreResult>;
  /** If the intent is pending, or new: applies all writes and makes it done with its outcome. */
  complete(epoch: number, expects: "pending" | "new", completion: Completion): Promise<CompleteResult>;
  /** Deletes intents that were done before a time, and says how many. */
  collect(doneBeforeMs: number): Promise<number>;
  /** Keeps a module; the same again changes nothing. */
  storeModule(module: StoredModule, content: Uint8Array): Promise<void>;
  modules(): Promise<readonly StoredModule[]>;
  moduleContent(hash: ModuleHash): Promise<Uint8Array | null>;
  close(): Promise<void>;
}

export interface TakeOver {
  readonly epoch: number;
  readonly pending: readonly Intent[];
}

export interface StoredModule {
  readonly hash: ModuleHash;
  readonly plans: ReadonlyMap<string, HandlerPlan>;
}

/** A failed operation. `none`: nothing was done and nothing will be. `unknown`: it may have been done. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly effect: "none" | "unknown";

  constructor(effect: "none" | "unknown", message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.effect = effect;
  }
}
