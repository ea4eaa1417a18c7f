/** Keys that files of `radical record` are sealed with. The server makes one for each recording, and destroys it when its time is over. */

/** `POST` of a {@link RecordingKeyQuestion}: {@link RecordingKeyAnswer}. A server of an earlier release has nothing there. */
export const RECORDING_KEYS_PATH = "/v1/recordings/keys";

export interface RecordingKeyQuestion {
  /** The id of the key; null: a new one. */
  readonly key: string | null;
}

export interface RecordingKeyAnswer {
  /** It is durable. Null: the server has none of this id, or keeps none, since its storage is in memory. */
  readonly key: RecordingKey | null;
}

export interface RecordingKey {
  readonly id: string;
  /** Of 32 bytes, in base 64. */
  readonly secret: string;
  /** By the wall clock of the server, in milliseconds since the epoch. */
  readonly madeAtMs: number;
  /** When it is destroyed. */
  readonly untilMs: number;
}
