/**
 * Keys that storage is sealed with. They lie beside it and not in it, so that a copy of the storage can't be read once a key is
 * destroyed. There is a new key each day.
 */
import { randomBytes } from "node:crypto";

export interface SealingKey {
  /** Names the key in what is sealed under it; tells when it was made. */
  readonly id: string;
  readonly createdAtMs: number;
  /** Of {@link SECRET_BYTES}. */
  readonly secret: Uint8Array;
  /** When something was last found that is sealed under it. */
  readonly neededAtMs: number;
}

/** Where the keys lie. Each method is durable when it resolves, and rejects with a StorageError that names the place. */
export interface SealingKeyStore {
  /** For people: the place. */
  readonly place: string;
  /** A fault of the place that the last look has found, though the place can be used; null, or left out: none. */
  readonly notice?: string | null;
  /** All that were added and not destroyed. */
  list(): Promise<readonly SealingKey[]>;
  add(key: SealingKey): Promise<void>;
  /** Something is still sealed under the key. */
  need(id: string, neededAtMs: number): Promise<void>;
  /** Nothing that is sealed under it can be read from then on, wherever there are copies of it. */
  destroy(id: string): Promise<void>;
  close(): void;
}

export const SECRET_BYTES = 32;

/** How often keys are looked after. */
export const TENDING_MS = 3_600_000;

/** Where the keys of a deployment lie, of its storage and of its recordings. */
export interface KeyPlaces {
  readonly keys: SealingKeyStore;
  /** The keys of one place are never those of the other. */
  readonly recordings: SealingKeyStore;
}

const ID = /^\d{4}-\d{2}-\d{2}-[0-9a-f]{8}$/;

export function newSealingKey(nowMs: number): SealingKey {
  const id = `${new Date(nowMs).toISOString().slice(0, 10)}-${randomBytes(4).toString("hex")}`;
  return { id, createdAtMs: nowMs, secret: randomBytes(SECRET_BYTES), neededAtMs: nowMs };
}

export function isSealingKeyId(text: string): boolean {
  return ID.test(text);
}
