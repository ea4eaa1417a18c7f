/**
 * The primary's way to the application's Worker. One call is one request: signed, bounded in time, never repeated here. An answer
 * counts if the Worker has signed it for this very call.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import {
  decodeServiceAnswer,
  encodeServiceCall,
  KEY_HEADER,
  SERVICE_NONCE_BYTES,
  SERVICE_PATH,
  SIGNATURE_HEADER,
  signedAnswerHead,
  signedHead,
  TIME_HEADER,
} from "@radical/protocol";
import type { CallAnswer } from "./core/services.ts";
import type { OutgoingCall } from "./driver.ts";
import { failpoint } from "./failpoints.ts";
import type { HmacKey } from "./http/hmac.ts";
import type { KeyRing } from "./http/keys.ts";
import { readWorkerAnswer } from "./worker-answer.ts";

/** For which the answer may be late: the Worker itself ends a service that takes too long. */
const GRACE_MS = 2_000;

/** Failures before anything was sent, by the codes of Node and of its `fetch`. */
const NOT_CONNECTED: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

export class ServiceCaller {
  /** Where the application's Worker answers; null: nobody has said. */
  origin: string | null;
  readonly #keys: KeyRing;
  readonly #now: () => number;
  /** The id of the key that the Worker has taken last: it has one, and while keys are rotated the server has several. */
  #taken: string | null = null;

  constructor(origin: string | null, keys: KeyRing, now: () => number) {
    this.origin = origin;
    this.#keys = keys;
    this.#now = now;
  }

  /** Never rejects. */
  async call(call: OutgoingCall): Promise<CallAnswer> {
    failpoint("service.call-unsent");
    const answer = await this.#tryKeys(call);
    failpoint("service.called");
    return answer;
  }

  async #tryKeys(call: OutgoingCall): Promise<CallAnswer> {
    const keys = [...this.#keys.current].toSorted(([a], [b]) => Number(b === this.#taken) - Number(a === this.#taken));
    const { origin } = this;
    let answer: CallAnswer = notCalled("The server was not told where the application's Worker is: set --worker-url.");
    for (const [id, key] of origin === null ? [] : keys) {
      // oxlint-disable-next-line no-await-in-loop -- the next key is for a Worker that does not know this one
      const asked = await ask(call, origin!, id, key, this.#now());
      if (asked.isKnown) {
        this.#taken = id;
        return asked.answer;
      }
      answer = asked.answer;
    }
    return answer;
  }
}

/** `isKnown`: false if the Worker does not take the key, and has done nothing. */
async function ask(
  { task, service, key, args, timeoutMs }: OutgoingCall,
  origin: string,
  keyId: string,
  hmac: HmacKey,
  timeMs: number,
): Promise<{ readonly isKnown: boolean; readonly answer: CallAnswer }> {
  const path = `${SERVICE_PATH}${encodeURIComponent(service)}`;
  const nonce = randomBytes(SERVICE_NONCE_BYTES);
  const body = encodeServiceCall({ service, task, key, nonce, timeoutMs, args });
  const signature = hmac.sign(signedHead("POST", path, timeMs), body);
  try {
    const response = await fetch(`${origin}${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/cbor",
        [KEY_HEADER]: keyId,
        [TIME_HEADER]: String(timeMs),
        [SIGNATURE_HEADER]: signature,
      },
      body: body as Uint8Array<ArrayBuffer>,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs + GRACE_MS),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      return { isKnown: response.status !== 401, answer: answerOfStatus(response.status, origin) };
    }
    const bytes = await readWorkerAnswer(response);
    const claimed = response.headers.get(SIGNATURE_HEADER) ?? "";
    if (!isSame(claimed, hmac.sign(signedAnswerHead(signature), bytes)))
      throw new Error("the answer is not signed for this call");
    return { isKnown: true, answer: decodeServiceAnswer(bytes) };
  } catch (error) {
    return { isKnown: true, answer: answerOfError(error, origin) };
  }
}

/** Only the Worker that has the key acts on a call, and it answers 200 then, unless the platform ends it. */
function answerOfStatus(status: number, origin: string): CallAnswer {
  if (status === 401)
    return notCalled(`${origin} does not take the key of this server: give both the same key, and set their clocks.`);
  if (status === 404 || status === 405 || (status >= 300 && status < 400))
    return notCalled(
      `${origin} answers ${status}: it must be the origin of the application's Worker, with this release.`,
    );
  return { kind: "lost", message: `${origin} answers ${status}.` };
}

function answerOfError(error: unknown, origin: string): CallAnswer {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const words = cause instanceof Error ? cause.message || code : String(cause);
  const message = `${origin}: ${words}`;
  return NOT_CONNECTED.has(code) ? notCalled(message) : { kind: "lost", message };
}

function notCalled(message: string): CallAnswer {
  return { kind: "not-called", code: "worker_unreachable", message };
}

function isSame(claimed: string, expected: string): boolean {
  return claimed.length === expected.length && timingSafeEqual(Buffer.from(claimed), Buffer.from(expected));
}
