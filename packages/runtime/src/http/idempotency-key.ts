/** `Idempotency-Key`: how a client names its execution, so that it can repeat the request. */
import { type ExecutionId, RadicalError, isExecutionId } from "@radical/protocol";
import { hex } from "../hex.ts";

export interface Identity {
  readonly executionId: ExecutionId;
  /** The client chose the id and may repeat it. */
  readonly retained: boolean;
}

const EXECUTION_ID_BYTES = 16;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const VISIBLE = /^[\x21-\x7e]{1,255}$/;

/** Null: there is no key. Throws `invalid_idempotency_key`. */
export async function identityOf(key: string | null): Promise<Identity> {
  if (key === null) {
    return {
      executionId: hex(crypto.getRandomValues(new Uint8Array(EXECUTION_ID_BYTES))) as ExecutionId,
      retained: false,
    };
  }
  return { executionId: await executionIdOf(key), retained: true };
}

/**
 * A UUID or 32 hex characters are the execution id itself, so a client can repeat with the id it was told; any other
 * 1 to 255 visible characters are hashed to one.
 */
async function executionIdOf(key: string): Promise<ExecutionId> {
  const lower = key.toLowerCase();
  const plain = UUID.test(lower) ? lower.replaceAll("-", "") : lower;
  if (isExecutionId(plain)) return plain;
  if (!VISIBLE.test(key)) {
    throw new RadicalError(
      "invalid_idempotency_key",
      "the Idempotency-Key is empty, too long or has characters that are not visible ASCII",
      "send one UUID, or 1 to 255 visible ASCII characters",
    );
  }
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return hex(new Uint8Array(digest, 0, EXECUTION_ID_BYTES)) as ExecutionId;
}
