/** The call of a service: the one message that the primary sends to the application's Worker, and its answer. */
import { CborReader, CborWriter } from "../cbor.ts";
import type { ExecutionId } from "../ids.ts";
import { MalformedError, TooLargeError } from "../malformed-error.ts";
import type { ServiceOutcome } from "../services.ts";
import { MAX_TASK_ARGUMENT_BYTES } from "../tasks.ts";
import { SERVICE_ANSWER, SERVICE_CALL } from "../wire-version.ts";
import { closeMessage, openMessage, readExecutionId, readMessageHead } from "./fields.ts";

/** The path of the application's Worker under which the primary calls services: the name of one follows. */
export const SERVICE_PATH = "/_radical/service/";

export interface ServiceCall {
  readonly service: string;
  readonly task: ExecutionId;
  /** The idempotency key of all calls for the task: `serviceKeyOf`. */
  readonly key: string;
  /** Random bytes that name this sending. */
  readonly nonce: Uint8Array;
  /** Longest time of the service, from the arrival of the call. */
  readonly timeoutMs: number;
  /** Encoded arguments: a map by parameter name. */
  readonly args: Uint8Array;
}

/** The answer of the Worker. */
export type ServiceAnswer =
  | Exclude<ServiceOutcome, { readonly kind: "unknown" }>
  /** The service was not called, so nothing was done. */
  | { readonly kind: "not-called"; readonly code: string; readonly message: string };

export const SERVICE_NONCE_BYTES = 16;
export const MAX_SERVICE_TIMEOUT_MS = 600_000;
/** Most bytes of an encoded result. */
export const MAX_SERVICE_RESULT_BYTES: number = 384 * 1024;
const MAX_NAME_LENGTH = 256;
/** Most characters of a message; those beyond are left out. */
const MAX_MESSAGE_LENGTH = 1_000;

export function encodeServiceCall({ service, task, key, nonce, timeoutMs, args }: ServiceCall): Uint8Array {
  const writer = new CborWriter();
  openMessage(writer, SERVICE_CALL.sent);
  return writer.text(service).text(task).text(key).bytes(nonce).integer(timeoutMs).bytes(args).finish();
}

/** Throws a MalformedError. */
export function decodeServiceCall(bytes: Uint8Array): ServiceCall {
  const reader = new CborReader(bytes);
  const length = readMessageHead(reader, SERVICE_CALL.floor);
  const service = readWord(reader);
  const task = readExecutionId(reader);
  const key = readWord(reader);
  const nonce = reader.copiedBytes();
  if (nonce.length !== SERVICE_NONCE_BYTES) throw new MalformedError("malformed nonce of a call");
  const timeoutMs = reader.integerIn(1, MAX_SERVICE_TIMEOUT_MS);
  const args = reader.copiedBytes();
  if (args.length > MAX_TASK_ARGUMENT_BYTES)
    throw new TooLargeError(`the arguments of a call have ${args.length} bytes; at most ${MAX_TASK_ARGUMENT_BYTES}`);
  closeMessage(reader, length - SERVICE_CALL.floor);
  return { service, task, key, nonce, timeoutMs, args };
}

const ANSWER_KINDS = ["value", "refused", "failed", "not-called"] as const satisfies readonly ServiceAnswer["kind"][];

/** Kind, result or null, code and message or empty. */
export function encodeServiceAnswer(answer: ServiceAnswer): Uint8Array {
  const writer = new CborWriter();
  openMessage(writer, SERVICE_ANSWER.sent);
  writer.integer(ANSWER_KINDS.indexOf(answer.kind));
  if (answer.kind === "value") return writer.bytes(answer.bytes).text("").text("").finish();
  const { code, message } = answer;
  return writer.null().text(code.slice(0, MAX_NAME_LENGTH)).text(message.slice(0, MAX_MESSAGE_LENGTH)).finish();
}

/** Throws a MalformedError. */
export function decodeServiceAnswer(bytes: Uint8Array): ServiceAnswer {
  const reader = new CborReader(bytes);
  const length = readMessageHead(reader, SERVICE_ANSWER.floor);
  const kind = ANSWER_KINDS[reader.integerIn(0, ANSWER_KINDS.length - 1)]!;
  const value = reader.nullIfNext() ? null : reader.copiedBytes();
  const [code, message] = [reader.text(), reader.text()];
  closeMessage(reader, length - SERVICE_ANSWER.floor);
  if (kind !== "value") {
    if (value !== null || code === "") throw new MalformedError("malformed answer of a service");
    return { kind, code: code.slice(0, MAX_NAME_LENGTH), message: message.slice(0, MAX_MESSAGE_LENGTH) };
  }
  if (value === null) throw new MalformedError("malformed result of a service");
  if (value.length > MAX_SERVICE_RESULT_BYTES)
    throw new TooLargeError(`the result of a service has ${value.length} bytes; at most ${MAX_SERVICE_RESULT_BYTES}`);
  return { kind, bytes: value };
}

function readWord(reader: CborReader): string {
  const text = reader.text();
  if (text === "" || text.length > MAX_NAME_LENGTH) throw new MalformedError("malformed name in the call of a service");
  return text;
}

/** The bytes before the body of an answer, which are signed with it. They have the signature of the call that it answers. */
export function signedAnswerHead(signature: string): string {
  return `radical-answer-v1\n${signature}\n`;
}
