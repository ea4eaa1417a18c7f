/**
 * `Idempotency-Key`: how a client names its execution, so that it can repeat the request. A key means something within its
 * scope only: to the application, its caller and the handler. So nobody meets an execution of somebody else by a key.
 */
import { type ExecutionId, RadicalError, isExecutionId } from "@radical/protocol";
import { hex } from "../hex.ts";

export interface Identity {
  readonly executionId: ExecutionId;
  /** The client chose the id and may repeat it. */
  readonly retained: boolean;
  /** The key with which the client may repeat its request. */
  readonly repeatKey: string;
}

export interface Scope {
  readonly application: string;
  /** Null: nobody is known. */
  readonly caller: string | null;
  readonly handler: string;
}

const EXECUTION_ID_BYTES = 16;
const VISIBLE = /^[\x21-\x7e]{1,255}$/;
/** In this form the id of an execution without a key is told, and taken as it stands. */
const TOLD = "execution-";
/** The first bit of an id: whether it was made of a key. */
const KEYED = 0x80;
/** People without a name are told apart by their keys alone, so those must not be guessed. */
const MIN_ANONYMOUS_LENGTH = 16;

/** An id as clients are told it. */
export function toldExecution(id: ExecutionId): string {
  return TOLD + id;
}

export function isToldExecution(key: string): boolean {
  return key.startsWith(TOLD) && isExecutionId(key.slice(TOLD.length));
}

/** `key` null: the client sent none. Throws `invalid_idempotency_key`. */
export async function identityOf(key: string | null, scope: Scope): Promise<Identity> {
  if (key === null) {
    const executionId = idOf(crypto.getRandomValues(new Uint8Array(EXECUTION_ID_BYTES)), 0);
    return { executionId, retained: false, repeatKey: toldExecution(executionId) };
  }
  return { executionId: toldIn(key) ?? (await madeOf(key, scope)), retained: true, repeatKey: key };
}

/**
 * The id that the key tells, or null: then it is a key of the client's own choice. The id of an execution that has a key
 * is not taken: whoever guesses the key could otherwise take the id before its owner does.
 */
function toldIn(key: string): ExecutionId | null {
  if (!isToldExecution(key)) return null;
  const id = key.slice(TOLD.length) as ExecutionId;
  if ((Number.parseInt(id.slice(0, 2), 16) & KEYED) === 0) return id;
  throw invalid(
    "The Idempotency-Key names an execution that has a key of its own.",
    "Repeat the request with the key that you sent.",
  );
}

/** The id of a key in its scope: SHA-256 over a list that can be read in one way only. */
async function madeOf(key: string, { application, caller, handler }: Scope): Promise<ExecutionId> {
  if (!VISIBLE.test(key)) {
    throw invalid(
      "The Idempotency-Key is empty, too long or has characters that are not visible ASCII.",
      "Send one UUID, or 1 to 255 visible ASCII characters.",
    );
  }
  if (caller === null && key.length < MIN_ANONYMOUS_LENGTH) {
    throw invalid(
      `The Idempotency-Key has fewer than ${MIN_ANONYMOUS_LENGTH} characters, and nobody is signed in. Another client could guess it, and get this answer.`,
      `Send a UUID, or at least ${MIN_ANONYMOUS_LENGTH} characters that nobody can guess.`,
    );
  }
  const text = JSON.stringify(["radical idempotency key", application, caller, handler, key]);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return idOf(new Uint8Array(digest, 0, EXECUTION_ID_BYTES), KEYED);
}

function idOf(bytes: Uint8Array, keyed: 0 | typeof KEYED): ExecutionId {
  bytes[0] = (bytes[0]! & ~KEYED) | keyed;
  return hex(bytes) as ExecutionId;
}

function invalid(message: string, hint: string): RadicalError {
  return new RadicalError("invalid_idempotency_key", message, hint);
}
