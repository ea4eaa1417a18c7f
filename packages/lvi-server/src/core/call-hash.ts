/**
 * The hash of a finished call. It tells whether a later request under its execution id repeats the call. It covers handler,
 * arguments and caller, with a secret that storage does not have. So a copy of the storage does not allow to try passwords
 * on it.
 */
import { CborWriter, type ContentHash } from "@radical/protocol";
import type { Invocation } from "./intent.ts";

export interface CallHash {
  /** Names the secret, and tells nothing of it. */
  readonly key: string;
  /** 64 lowercase hex characters. */
  readonly hash: string;
}

/** Keyed hashes of bytes, pure for the core; the server makes the secrets from the deployment's keys. */
export interface CallHasher {
  /** By the secret that new hashes are made with. */
  hash(bytes: Uint8Array): CallHash;
  /** By the secret of that name; null: it is gone. */
  hashWith(key: string, bytes: Uint8Array): CallHash | null;
}

/** The call that an execution id stands for: repeats ask for the same. */
export interface Call {
  readonly handler: string;
  readonly args: Uint8Array;
  readonly caller: string | null;
}

export function callOf({ handler, args, environment: { caller } }: Invocation): Call {
  return { handler, args, caller };
}

export function bytesOfCall({ handler, args, caller }: Call): Uint8Array {
  const writer = new CborWriter().array(3).text(handler).bytes(args);
  return (caller === null ? writer.null() : writer.text(caller)).finish();
}

/**
 * The hash of a call's result, with the secret of the call's hash. So a copy of the storage does not allow to try outcomes
 * on it. `completion`: of outcome and writes. Null: the secret is gone.
 */
export function hashOfResult(call: CallHash, completion: ContentHash, hasher: CallHasher): string | null {
  const bytes = new CborWriter().array(2).text(call.hash).text(completion).finish();
  return hasher.hashWith(call.key, bytes)?.hash ?? null;
}

/** Whether a request asks for what is under way. Nobody is told the answer to another caller. */
export function isSameCall(known: Call, asked: Call): boolean {
  return (
    known.handler === asked.handler &&
    known.caller === asked.caller &&
    known.args.length === asked.args.length &&
    known.args.every((byte, index) => byte === asked.args[index])
  );
}

/** Whether a request asks for what is finished; null: nobody can tell, since the secret of the hash is gone, or there is none. */
export function isHashedCall(known: CallHash | null, asked: Call, hasher: CallHasher): boolean | null {
  if (known === null) return null;
  const again = hasher.hashWith(known.key, bytesOfCall(asked));
  return again === null ? null : again.hash === known.hash;
}
