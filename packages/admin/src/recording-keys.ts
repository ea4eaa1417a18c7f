/** Keys of recordings, which the server keeps. */
import {
  type RecordingKey,
  type RecordingKeyAnswer,
  type RecordingKeyQuestion,
  RECORDING_KEYS_PATH,
} from "@radical/protocol";
import { askPrimary } from "./ask-primary.ts";
import type { PrimaryAddress } from "./primary-address.ts";

/** A new key. Null: the server keeps none. Throws a PrimaryError. */
export function newRecordingKey(address: PrimaryAddress): Promise<RecordingKey | null> {
  return ask(address, { key: null });
}

/** The key of an earlier recording. Null: the server does not have it. Throws a PrimaryError. */
export function recordingKey(address: PrimaryAddress, id: string): Promise<RecordingKey | null> {
  return ask(address, { key: id });
}

async function ask(address: PrimaryAddress, question: RecordingKeyQuestion): Promise<RecordingKey | null> {
  const answer = await askPrimary(address, "POST", RECORDING_KEYS_PATH, question);
  return ((await answer.json()) as RecordingKeyAnswer).key;
}
