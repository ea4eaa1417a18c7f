/** The records of a file of `radical record`. A sealed one is opened in memory, with the key that the deployment has. */
import { type Project, spanText, timeText } from "@radical/app";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { type PrimaryAddress, recordingKey, serverName } from "@radical/admin";
import { leadingPrimary, type PrimaryChoice } from "../operate/leading-primary.ts";
import { explained } from "../operate/older-server.ts";
import { type Recorded, recordOfLine } from "./record-line.ts";
import { RecordProblem } from "./recorded-part.ts";
import { openRecording, type RecordingHead, recordingHeadOf, SealedLineProblem } from "./sealed-recording.ts";

export const NAME_A_RECORDING = "Name a file that radical record has written.";

export interface ReadRecording {
  readonly records: readonly Recorded[];
  readonly isSealed: boolean;
  /** False: a sealed recording lacks its end. Of a file that is not sealed nobody can tell. */
  readonly isWhole: boolean;
}

/** `file`: its name, for people. Throws a CommandError. */
export async function readRecording(
  text: string,
  file: string,
  project: Project,
  choice: PrimaryChoice,
): Promise<ReadRecording> {
  try {
    const head = recordingHeadOf(text);
    if (head === null) return { records: plainRecords(text, file), isSealed: false, isWhole: true };
    const { records, isWhole } = openRecording(text, await secretOf(head, file, project, choice));
    const opened = records.map((record) => recordIn(record.text, file, record.number));
    return { records: someOf(opened, file), isSealed: true, isWhole };
  } catch (error) {
    if (!(error instanceof SealedLineProblem)) throw error;
    throw wrongUse(`${file}:${error.line} ${error.message}.`, error.hint);
  }
}

function plainRecords(text: string, file: string): readonly Recorded[] {
  const lines = text.split("\n");
  const records = lines.flatMap((line, index) => (line.trim() === "" ? [] : [recordIn(line, file, index + 1)]));
  return someOf(records, file);
}

function recordIn(line: string, file: string, number: number): Recorded {
  try {
    return recordOfLine(line);
  } catch (error) {
    if (!(error instanceof RecordProblem)) throw error;
    throw wrongUse(`${file}:${number} ${error.message}.`, NAME_A_RECORDING);
  }
}

/** A test of nothing would always pass. */
function someOf(records: readonly Recorded[], file: string): readonly Recorded[] {
  if (records.length === 0) throw wrongUse(`${file} holds no records.`, "Record some with radical record.");
  return records;
}

/** Of the server that is named, or of the environment of this project that the file names. An address is never taken from the file. */
async function secretOf(
  head: RecordingHead,
  file: string,
  project: Project,
  { env, primary, region }: PrimaryChoice,
): Promise<Uint8Array> {
  const environment = env ?? (primary === null ? head.environment : null);
  if (environment === null && primary === null)
    throw wrongUse(
      `${file} is sealed, and the LVI server that it was recorded of has the key.`,
      "Name that server: --primary <url>, or --env <name>.",
    );
  const address = await leadingPrimary(project, { env: environment, primary, region });
  checkDeployment(head, file, address);
  const hint = "Ask the server that the file was recorded of, or bring this one to the version of this command.";
  const key = await explained("recording keys", () => recordingKey(address, head.key), hint);
  if (key === null) throw keyMissing(head, file, address);
  return Buffer.from(key.secret, "base64");
}

function checkDeployment({ deployment }: RecordingHead, file: string, address: PrimaryAddress): void {
  if (deployment === null || address.deployment === undefined || deployment === address.deployment) return;
  throw new CommandError(
    "other_deployment",
    `${file} was recorded of the deployment ${deployment}, and ${serverName(address)} is of ${address.deployment}.`,
    "Name the environment that it was recorded of: --env <name>.",
    { exitCode: EXIT_USAGE },
  );
}

function keyMissing({ key, madeAtMs, untilMs }: RecordingHead, file: string, address: PrimaryAddress): CommandError {
  if (Date.now() >= untilMs)
    return new CommandError(
      "recording_key_destroyed",
      `${file} can't be read any more: its key was destroyed at ${timeText(untilMs)}, ${spanText(untilMs - madeAtMs)} after it was recorded.`,
      "Record again.",
    );
  return new CommandError(
    "no_recording_key",
    `${file} can't be read: ${serverName(address)} does not have its key ${key}.`,
    "Name the deployment that it was recorded of with --env or --primary. If the server keeps keys for a shorter time now, record again.",
  );
}

export function wrongUse(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
