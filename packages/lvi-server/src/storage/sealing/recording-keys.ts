/**
 * Keys that files of `radical record` are sealed with, one for each recording. The server keeps them, apart from the keys of its
 * storage. A key is destroyed when its time is over. From then on no copy of its recording can be read.
 */
import { RadicalError, type RecordingKey } from "@radical/protocol";
import { toBase64 } from "../../base64.ts";
import type { Log } from "../../log.ts";
import { newSealingKey, type SealingKey, type SealingKeyStore, TENDING_MS } from "./sealing-key.ts";

export interface RecordingKeysOptions {
  readonly keys: SealingKeyStore;
  /** How long a recording can be read. */
  readonly retentionMs: number;
  /** Most keys that are kept at once. */
  readonly most?: number;
  readonly log: Log;
  /** By the wall clock. */
  readonly nowMs: () => number;
}

/** A look reads all keys. */
const MOST_KEYS = 1_000;
/** A key of a time that is further ahead was made while the clock was wrong. */
const AHEAD_MS = 86_400_000;

export class RecordingKeys {
  readonly #options: RecordingKeysOptions;
  /** Questions and looks go one after the other. */
  #doing: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined = undefined;
  #isClosed = false;

  constructor(options: RecordingKeysOptions) {
    this.#options = options;
  }

  /** Once this server leads. It looks after the keys until it is closed. */
  begin(): Promise<void> {
    this.#timer = setInterval(() => void this.#tendInTime(), TENDING_MS);
    this.#timer.unref();
    return this.#tendInTime();
  }

  /** It is durable when this resolves. `by`: the administration key that asks. Rejects with a StorageError, or with a RadicalError if there are too many. */
  make(by: string): Promise<RecordingKey> {
    return this.#next(async () => {
      const { keys, log, nowMs, most = MOST_KEYS } = this.#options;
      if ((await this.#kept()).length >= most)
        throw new RadicalError(
          "primary_busy",
          `This server has the keys of ${most} recordings already.`,
          "Wait until the oldest one is destroyed, or start the server with a shorter --recording-retention-ms.",
        );
      const key = newSealingKey(nowMs());
      await keys.add(key);
      log.info("recording_key_made", { key: key.id, by });
      return this.#told(key);
    });
  }

  /** Null: it was destroyed, or never was here. */
  find(id: string, by: string): Promise<RecordingKey | null> {
    return this.#next(async () => {
      const found = (await this.#kept()).find((key) => key.id === id);
      if (found === undefined) return null;
      this.#options.log.info("recording_key_told", { key: id, by });
      return this.#told(found);
    });
  }

  /** Destroys the keys whose time is over. */
  tend(): Promise<void> {
    return this.#next(async () => void (await this.#kept()));
  }

  /** Questions that are under way are answered before. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#doing;
    this.#options.keys.close();
  }

  async #tendInTime(): Promise<void> {
    try {
      if (!this.#isClosed) await this.tend();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.log.warn("recording_keys_not_tended", { reason });
    }
  }

  /** Those whose time is not over; all others are destroyed before. */
  async #kept(): Promise<readonly SealingKey[]> {
    const { keys, log, nowMs } = this.#options;
    const kept: SealingKey[] = [];
    for (const key of await keys.list()) {
      // oxlint-disable-next-line no-await-in-loop -- few keys change in one look
      if (nowMs() < this.#untilMs(key)) kept.push(await this.#counted(key));
      else {
        // oxlint-disable-next-line no-await-in-loop -- likewise
        await keys.destroy(key.id);
        log.info("recording_key_destroyed", { key: key.id });
      }
    }
    return kept;
  }

  /** The time of a key that was made while the clock was far ahead counts from now on. */
  async #counted(key: SealingKey): Promise<SealingKey> {
    const nowMs = this.#options.nowMs();
    if (beganAtMs(key, nowMs) <= nowMs + AHEAD_MS) return key;
    await this.#options.keys.need(key.id, nowMs);
    return { ...key, neededAtMs: nowMs };
  }

  #untilMs(key: SealingKey): number {
    const { retentionMs, nowMs } = this.#options;
    return beganAtMs(key, nowMs()) + retentionMs;
  }

  #told(key: SealingKey): RecordingKey {
    return {
      id: key.id,
      secret: toBase64(key.secret),
      madeAtMs: beganAtMs(key, this.#options.nowMs()),
      untilMs: this.#untilMs(key),
    };
  }

  #next<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#doing.then(act);
    this.#doing = done.catch(() => undefined);
    return done;
  }
}

/** When the time of a key began. */
function beganAtMs({ createdAtMs, neededAtMs }: SealingKey, nowMs: number): number {
  return createdAtMs > nowMs + AHEAD_MS ? neededAtMs : createdAtMs;
}
