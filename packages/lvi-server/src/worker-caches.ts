/**
 * Orders about caches, handed on to the application's Worker: it alone reaches the caches of locations. Each is signed with a key that
 * the Worker has.
 */
import {
  type CacheAnswer,
  cacheAnswerIn,
  type CacheOrder,
  KEY_HEADER,
  RadicalError,
  SIGNATURE_HEADER,
  signedHead,
  TIME_HEADER,
  WORKER_CACHES_PATH,
} from "@radical/protocol";
import type { HmacKey } from "./http/hmac.ts";
import type { KeyRing } from "./http/keys.ts";
import { AnswerTooLongError, readWorkerAnswer } from "./worker-answer.ts";

/** Less than the time that a command waits. */
const TIMEOUT_MS = 25_000;
const MAX_WORDS = 300;

/** `origin`: of the Worker; null: not known. Rejects with a RadicalError. */
export async function orderCaches(
  origin: string | null,
  order: CacheOrder,
  keys: KeyRing,
  now: () => number,
): Promise<CacheAnswer> {
  if (origin === null)
    throw new RadicalError(
      "worker_unreachable",
      "The server was not told where the application's Worker is.",
      "Name its origin: radical cache purge --url https://app.example.com",
    );
  const body = new TextEncoder().encode(JSON.stringify(order));
  let refused = "the server has no key";
  for (const [id, key] of keys.current) {
    // oxlint-disable-next-line no-await-in-loop -- the next key is for a Worker that does not know this one
    const asked = await ask(origin, body, id, key, now());
    if (asked.kind === "answered") return asked.answer;
    refused = asked.words;
  }
  throw unreachable(origin, refused, "Give the Worker and its primary the same key, and set their clocks.");
}

type Asked =
  | { readonly kind: "answered"; readonly answer: CacheAnswer }
  /** The Worker does not take the key. */
  | { readonly kind: "refused"; readonly words: string };

async function ask(
  origin: string,
  body: Uint8Array<ArrayBuffer>,
  keyId: string,
  key: HmacKey,
  timeMs: number,
): Promise<Asked> {
  let status: number;
  let text: string;
  try {
    const response = await fetch(`${origin}${WORKER_CACHES_PATH}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        [KEY_HEADER]: keyId,
        [TIME_HEADER]: String(timeMs),
        [SIGNATURE_HEADER]: key.sign(signedHead("POST", WORKER_CACHES_PATH, timeMs), body),
      },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    ({ status } = response);
    text = new TextDecoder().decode(await readWorkerAnswer(response));
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const hint =
      error instanceof AnswerTooLongError
        ? "The answer is longer than any of Radical. See that the address is the Worker's. If the Worker is a class, it must hand /api/-/caches to radical.fetch."
        : "See that it is deployed there.";
    throw unreachable(origin, cause instanceof Error ? cause.message : String(cause), hint);
  }
  const json = jsonIn(text);
  const answer = status === 200 ? cacheAnswerIn(json) : null;
  if (answer !== null) return { kind: "answered", answer };
  const { message = text } = (json as { readonly error?: { readonly message?: string } } | null)?.error ?? {};
  const words = `${status} ${message}`.slice(0, MAX_WORDS).trimEnd();
  if (status === 401) return { kind: "refused", words };
  throw unreachable(
    origin,
    `it answers ${words}`,
    "Deploy the Worker with this release. If it is a class, it must hand /api/-/caches to radical.fetch. Else try again.",
  );
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function unreachable(origin: string, words: string, hint: string): RadicalError {
  return new RadicalError(
    "worker_unreachable",
    `The application's Worker at ${origin} empties no caches: ${words}`,
    hint,
  );
}
