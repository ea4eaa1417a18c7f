/**
 * Bytes sealed under the deployment's keys: AES-256-GCM. A seal is bound to its *label*, which says what it is and of which record,
 * so that none can be put into another's place.
 *
 *   seal = MARK, length of the key's id, id, nonce of 12 bytes, ciphertext, tag of 16 bytes
 *
 * The nonce is a keyed hash of label and content: the same content under the same label and key has the same bytes. A write that is
 * repeated stays the same write. Nothing else can be told from it, since a label names one record.
 */
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import { newSealingKey, type SealingKey, type SealingKeyStore } from "./sealing-key.ts";

/** No encoded value, arguments or outcome begin so: an integer stands alone. */
const MARK = Buffer.from("\0sealed1", "latin1");
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = "aes-256-gcm";

/** How long a key seals. */
export const ROTATION_MS = 86_400_000;
/** Longest wait between two looks for a key that is missing: somebody may put it back. */
const LOOK_MS = 1_000;

interface Prepared {
  readonly key: SealingKey;
  readonly cipher: Uint8Array;
  readonly nonces: Uint8Array;
}

/** The key of a seal is not there, or the seal is not whole. */
export class SealBroken extends Error {
  override readonly name = "SealBroken";
  readonly keyId: string;

  constructor(keyId: string, message: string) {
    super(message);
    this.keyId = keyId;
  }
}

export class Seals {
  readonly #store: SealingKeyStore;
  readonly #nowMs: () => number;
  /** The last one seals. The first ones may be those that were made while the clock was far ahead. */
  #keys: readonly Prepared[] = [];
  /** Under which something was opened since they were last taken. */
  #opened = new Set<string>();
  #lookedAtMs = -Infinity;
  /** Changes of the keys, one after the other. */
  #changing: Promise<unknown> = Promise.resolve();

  /** `nowMs`: by the wall clock. */
  constructor(store: SealingKeyStore, nowMs: () => number) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  /** Looks up all keys, and makes a new one if there is none of today. Nothing is sealed under it before it is durable. */
  turn(): Promise<void> {
    return this.#change(async () => {
      await this.#look();
      const nowMs = this.#nowMs();
      const current = this.#keys.at(-1)?.key;
      const isAhead = current !== undefined && this.#isAhead(current);
      if (current !== undefined && !isAhead && nowMs - current.createdAtMs < ROTATION_MS) return;
      // Also if the clock was set back a little.
      const key = newSealingKey(current === undefined || isAhead ? nowMs : Math.max(nowMs, current.createdAtMs + 1));
      await this.#store.add(key);
      this.#keys = [...this.#keys, prepared(key)];
    });
  }

  /** Looks up all keys. */
  look(): Promise<void> {
    return this.#change(() => this.#look());
  }

  /** Those that seal no more, the oldest first, with the time after which nothing was sealed under each. */
  get retired(): readonly { readonly id: string; readonly neededAtMs: number }[] {
    return this.#keys.slice(0, -1).map(({ key }, index) => ({
      id: key.id,
      neededAtMs: Math.max(key.neededAtMs, this.#keys[index + 1]!.key.createdAtMs),
    }));
  }

  /** The keys under which something was opened since this was last asked. */
  takeOpened(): ReadonlySet<string> {
    const opened = this.#opened;
    this.#opened = new Set();
    return opened;
  }

  get place(): string {
    return this.#store.place;
  }

  need(id: string): Promise<void> {
    return this.#change(async () => {
      const neededAtMs = this.#nowMs();
      await this.#store.need(id, neededAtMs);
      this.#keys = this.#keys.map((one) => (one.key.id === id ? { ...one, key: { ...one.key, neededAtMs } } : one));
    });
  }

  destroy(id: string): Promise<void> {
    return this.#change(async () => {
      await this.#store.destroy(id);
      this.#keys = this.#keys.filter(({ key }) => key.id !== id);
    });
  }

  close(): void {
    this.#store.close();
  }

  seal(label: string, content: Uint8Array): Uint8Array {
    const current = this.#keys.at(-1);
    if (current === undefined) throw new Error("Nothing can be sealed before there is a key");
    const { key, cipher, nonces } = current;
    const nonce = createHmac("sha256", nonces).update(label).update("\0").update(content).digest();
    const sealing = createCipheriv(CIPHER, cipher, nonce.subarray(0, NONCE_BYTES));
    sealing.setAAD(Buffer.from(label));
    const sealed = [sealing.update(content), sealing.final()];
    const id = Buffer.from(key.id, "latin1");
    return new Uint8Array(
      Buffer.concat([MARK, Buffer.of(id.length), id, nonce.subarray(0, NONCE_BYTES), ...sealed, sealing.getAuthTag()]),
    );
  }

  /** Throws a SealBroken. */
  async open(label: string, seal: Uint8Array): Promise<Uint8Array> {
    const keyId = keyOfSeal(seal);
    if (keyId === null) throw new Error("These bytes are not a seal");
    const find = (): Prepared | undefined => this.#keys.find(({ key }) => key.id === keyId);
    let found = find();
    if (found === undefined && this.#nowMs() - this.#lookedAtMs >= LOOK_MS) {
      await this.#change(() => this.#look());
      found = find();
    }
    if (found === undefined) throw new SealBroken(keyId, `Its key ${keyId} is not in ${this.#store.place}.`);
    const from = MARK.length + 1 + keyId.length;
    const opening = createDecipheriv(CIPHER, found.cipher, seal.subarray(from, from + NONCE_BYTES));
    opening.setAAD(Buffer.from(label));
    opening.setAuthTag(seal.subarray(-TAG_BYTES));
    try {
      const content = opening.update(seal.subarray(from + NONCE_BYTES, -TAG_BYTES));
      const opened = new Uint8Array(Buffer.concat([content, opening.final()]));
      this.#opened.add(keyId);
      return opened;
    } catch {
      throw new SealBroken(keyId, `It was changed, or its key ${keyId} is another one.`);
    }
  }

  #change(act: () => Promise<void>): Promise<void> {
    const changed = this.#changing.then(act);
    this.#changing = changed.catch(() => undefined);
    return changed;
  }

  async #look(): Promise<void> {
    this.#lookedAtMs = this.#nowMs();
    const keys = await this.#store.list();
    const sorted = keys.toSorted(
      (a, b) =>
        Number(this.#isAhead(b)) - Number(this.#isAhead(a)) || a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1),
    );
    this.#keys = sorted.map((key) => prepared(key));
  }

  /** It was made while the clock was wrong: by its time it would seal for longer than a day. */
  #isAhead({ createdAtMs }: SealingKey): boolean {
    return createdAtMs > this.#nowMs() + ROTATION_MS;
  }
}

/** The id of the key that bytes are sealed under; null: they are not a seal. */
export function keyOfSeal(bytes: Uint8Array): string | null {
  const least = MARK.length + 1 + NONCE_BYTES + TAG_BYTES;
  if (bytes.length < least || !MARK.every((byte, index) => bytes[index] === byte)) return null;
  const length = bytes[MARK.length]!;
  if (bytes.length < least + length) return null;
  return Buffer.from(bytes.subarray(MARK.length + 1, MARK.length + 1 + length)).toString("latin1");
}

function prepared(key: SealingKey): Prepared {
  const derived = (label: string): Uint8Array => createHmac("sha256", key.secret).update(label).digest();
  return { key, cipher: derived("radical: seals"), nonces: derived("radical: nonces of seals") };
}
