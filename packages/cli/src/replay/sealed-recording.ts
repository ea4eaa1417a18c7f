/**
 * The form of a sealed recording. Its first line says which key it is sealed with, and is not sealed. Each record is a line, and a
 * last one says that the recording has ended: AES-256-GCM, as a JSON string in base 64.
 *
 * The nonce is the number of the line. A key is of one recording, whose lines one process writes in their order, so no nonce comes
 * twice. A line is bound to its number and to the first line, so that none can stand in another place or in another file.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";

/** Of the file; others are refused. */
const FORMAT = 1;
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** No date is later. */
const LAST_TIME_MS = 8.64e15;
/** Messages show the names of a first line before the key can say that they are right. */
const NAME = /^[\w.-]{1,200}$/;

/** The first line. */
export interface RecordingHead {
  /** The id of the key. */
  readonly key: string;
  /** The name of the deployment that has the key; null: not known. */
  readonly deployment: string | null;
  /** The environment of that deployment; null: none was named. */
  readonly environment: string | null;
  /** When the key was made, and when it is destroyed, by the clock of the server. */
  readonly madeAtMs: number;
  readonly untilMs: number;
}

/** A line of the file can't be opened. */
export class SealedLineProblem extends Error {
  override readonly name = "SealedLineProblem";
  /** From 1. */
  readonly line: number;
  readonly hint: string;

  constructor(line: number, message: string, hint: string) {
    super(message);
    this.line = line;
    this.hint = hint;
  }
}

const TAKE_A_WHOLE_ONE = "Take a whole copy of the file, or record again.";

/** Makes the lines of a file, in their order. */
export class RecordingSeal {
  /** The first line. */
  readonly head: string;
  readonly #secret: Uint8Array;
  #lines = 0;

  /** `secret`: of a key that nothing was sealed with before. */
  constructor(head: RecordingHead, secret: Uint8Array) {
    this.head = JSON.stringify({ radicalRecording: FORMAT, ...head });
    this.#secret = secret;
  }

  record(text: string): string {
    return this.#seal({ record: text });
  }

  /** No line comes after it. */
  end(): string {
    return this.#seal({ end: this.#lines });
  }

  #seal(content: Content): string {
    const number = ++this.#lines;
    const cipher = createCipheriv(CIPHER, this.#secret, nonceOf(number));
    cipher.setAAD(boundTo(this.head));
    const sealed = [cipher.update(JSON.stringify(content), "utf8"), cipher.final(), cipher.getAuthTag()];
    return JSON.stringify(Buffer.concat(sealed).toString("base64"));
  }
}

type Content = { readonly record: string } | { readonly end: number };

/** Whether the first line may have it as the name of a key, a deployment or an environment. */
export function isHeadName(name: unknown): name is string {
  return typeof name === "string" && NAME.test(name);
}

/** The first line of a text; null: the text is not a sealed recording. Throws a SealedLineProblem if it is of another format. */
export function recordingHeadOf(text: string): RecordingHead | null {
  const head = headIn(linesOf(text)[0]?.line ?? "");
  if (head === null) return null;
  const { radicalRecording: format, key, deployment, environment, madeAtMs, untilMs } = head;
  if (format !== FORMAT)
    throw new SealedLineProblem(
      1,
      `is a sealed recording of format ${JSON.stringify(format)}, and this command reads format ${FORMAT}`,
      "Replay it with the version of Radical that has recorded it, or a later one.",
    );
  const isName = (name: unknown): name is string | null => name === null || isHeadName(name);
  const isTime = (time: unknown): time is number =>
    Number.isSafeInteger(time) && Math.abs(time as number) <= LAST_TIME_MS;
  if (isHeadName(key) && isName(deployment) && isName(environment) && isTime(madeAtMs) && isTime(untilMs))
    return { key, deployment, environment, madeAtMs, untilMs };
  throw new SealedLineProblem(1, "is the first line of a sealed recording, and was changed", TAKE_A_WHOLE_ONE);
}

export interface OpenedRecording {
  readonly records: readonly { readonly number: number; readonly text: string }[];
  /** False: the command that has recorded it was killed, or lines at the end are missing. */
  readonly isWhole: boolean;
}

/** `text`: with its first line. Throws a SealedLineProblem. */
export function openRecording(text: string, secret: Uint8Array): OpenedRecording {
  const [head, ...lines] = linesOf(text);
  const bound = boundTo(head?.line ?? "");
  const records: { number: number; text: string }[] = [];
  let isWhole = false;
  for (const [index, { line, number, isCut }] of lines.entries()) {
    if (isWhole) throw new SealedLineProblem(number, "stands behind the end of the recording", TAKE_A_WHOLE_ONE);
    const content = contentOf({ line, number, isCut }, { secret, at: index + 1, bound });
    if ("record" in content) records.push({ number, text: content.record });
    else isWhole = true;
  }
  return { records, isWhole };
}

interface NumberedLine {
  readonly line: string;
  /** In the file, from 1. */
  readonly number: number;
  /** The file ends in it. */
  readonly isCut: boolean;
}

/** Without empty ones, and whichever way lines end. */
function linesOf(text: string): readonly NumberedLine[] {
  const lines = text.split("\n");
  const numbered = lines.map((line, index) => ({
    line: line.replace(/\r$/, ""),
    number: index + 1,
    isCut: index === lines.length - 1,
  }));
  return numbered.filter(({ line }) => line.trim() !== "");
}

function contentOf(
  { line, number, isCut }: NumberedLine,
  { secret, at, bound }: { readonly secret: Uint8Array; readonly at: number; readonly bound: Uint8Array },
): Content {
  const sealed = bytesIn(line);
  if (sealed === null && isCut)
    throw new SealedLineProblem(number, "is cut off in its middle", `Delete that line, or: ${TAKE_A_WHOLE_ONE}`);
  if (sealed === null && headIn(line) !== null)
    throw new SealedLineProblem(number, "is the first line of another recording", "Replay one recording at a time.");
  if (sealed === null) throw new SealedLineProblem(number, "is not a sealed line", TAKE_A_WHOLE_ONE);
  const decipher = createDecipheriv(CIPHER, secret, nonceOf(at));
  decipher.setAAD(bound);
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    const opened = Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
    return JSON.parse(opened.toString()) as Content;
  } catch {
    throw new SealedLineProblem(
      number,
      "was changed, does not follow the line before it, or the first line was changed",
      TAKE_A_WHOLE_ONE,
    );
  }
}

/** Null: the line is not a JSON string of base 64, or too short. */
function bytesIn(line: string): Buffer | null {
  if (!/^"[A-Za-z0-9+/]+={0,2}"$/.test(line)) return null;
  const text = line.slice(1, -1);
  const bytes = Buffer.from(text, "base64");
  return bytes.length > TAG_BYTES && bytes.toString("base64") === text ? bytes : null;
}

function headIn(line: string): Readonly<Record<string, unknown>> | null {
  if (!line.startsWith("{")) return null;
  try {
    const head = JSON.parse(line) as Readonly<Record<string, unknown>>;
    return Object.hasOwn(head, "radicalRecording") ? head : null;
  } catch {
    return null;
  }
}

function nonceOf(number: number): Uint8Array {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeBigUInt64BE(BigInt(number), NONCE_BYTES - 8);
  return nonce;
}

function boundTo(head: string): Uint8Array {
  return Buffer.from(`radical recording\n${head}`);
}
