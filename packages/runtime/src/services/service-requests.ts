/**
 * `POST /_radical/service/<name>`: the primary calls a service. Nobody else can: the call is signed with the deployment's key, and
 * its answer for this very call.
 */
import {
  decodeServiceCall,
  encodeServiceAnswer,
  type Manifest,
  MAX_TASK_ARGUMENT_BYTES,
  RadicalError,
  REPLAY_WINDOW_MS,
  type ServiceAnswer,
  type ServiceCall,
  SERVICE_PATH,
  SIGNATURE_HEADER,
  signedAnswerHead,
} from "@radical/protocol";
import type { Context } from "../api.ts";
import { hex } from "../hex.ts";
import { readBounded } from "../http/body.ts";
import { MethodNotAllowed } from "../http/call.ts";
import { replyOfError, toResponse } from "../http/reply.ts";
import type { PrimaryKey } from "../lvi/primary.ts";
import { claimOf, verifyClaim } from "../lvi/signed-requests.ts";
import { perform, type Service, type ServiceFault } from "./perform.ts";

const ONLY_PRIMARY = "only the primary calls services";
/** Most bytes of a call. */
const MAX_CALL_BYTES = MAX_TASK_ARGUMENT_BYTES + 4_096;
/** Most nonces that are remembered. */
const MAX_NONCES = 100_000;

export interface ServiceParts<Bindings> {
  readonly manifest: Manifest;
  readonly services: Readonly<Record<string, Service<Bindings>>>;
  readonly key: PrimaryKey;
  readonly nonces: Nonces;
  readonly now: () => number;
  readonly told: (service: string, fault: ServiceFault) => void;
}

/** The calls of the last minutes: none of them is carried out twice here. */
export class Nonces {
  readonly #untilMs = new Map<string, number>();

  /** False: it was taken before. */
  take(nonce: Uint8Array, nowMs: number): boolean {
    for (const [old, untilMs] of this.#untilMs) {
      if (untilMs > nowMs && this.#untilMs.size < MAX_NONCES) break;
      this.#untilMs.delete(old);
    }
    const name = hex(nonce);
    if (this.#untilMs.has(name)) return false;
    // A call may be signed ahead of this clock, and is accepted until a window after that.
    this.#untilMs.set(name, nowMs + 2 * REPLAY_WINDOW_MS);
    return true;
  }
}

export function isServicePath(url: string): boolean {
  // First what is cheap: this is looked at before every request.
  return url.includes(SERVICE_PATH) && new URL(url).pathname.startsWith(SERVICE_PATH);
}

export async function answerService<Bindings>(
  request: Request,
  env: Bindings,
  context: Context,
  parts: ServiceParts<Bindings>,
): Promise<Response> {
  try {
    if (request.method !== "POST") throw new MethodNotAllowed("services are called with POST", ONLY_PRIMARY, "POST");
    const claimed = claimOf(request, parts.key, parts.now(), ONLY_PRIMARY);
    const body = await readBounded(request, MAX_CALL_BYTES, tooLarge);
    const { pathname } = new URL(request.url);
    const hmac = await verifyClaim(claimed, parts.key, { method: "POST", path: pathname, body }, ONLY_PRIMARY);
    const call = callIn(body);
    // Not an answer that is signed: it would pass for that of the first one.
    if (!parts.nonces.take(call.nonce, parts.now())) return new Response(null, { status: 409 });
    // The primary may go away, and what was begun goes on.
    const performing = answerOf(call, decodeURIComponent(pathname.slice(SERVICE_PATH.length)), env, parts);
    context.waitUntil(performing);
    const bytes = encodeServiceAnswer(await performing);
    const head = new TextEncoder().encode(signedAnswerHead(hex(claimed.signature)));
    const signature = await crypto.subtle.sign("HMAC", hmac, concatenated(head, bytes));
    const headers = {
      "content-type": "application/cbor",
      "cache-control": "no-store",
      [SIGNATURE_HEADER]: hex(new Uint8Array(signature)),
    };
    return new Response(bytes as Uint8Array<ArrayBuffer>, { headers });
  } catch (error) {
    return toResponse(replyOfError(error), {});
  }
}

function callIn(body: Uint8Array): ServiceCall {
  try {
    return decodeServiceCall(body);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new RadicalError("malformed_message", message, "Give the primary and its Worker the same release.", error);
  }
}

async function answerOf<Bindings>(
  call: ServiceCall,
  path: string,
  env: Bindings,
  { manifest, services, told }: ServiceParts<Bindings>,
): Promise<ServiceAnswer> {
  const { service: name } = call;
  if (path !== name) return { kind: "not-called", code: "unknown_service", message: `The path names ${path}.` };
  const service = Object.hasOwn(services, name) ? services[name] : undefined;
  return perform(call, manifest, service, env, (fault) => told(name, fault));
}

function tooLarge(): RadicalError {
  return new RadicalError("request_too_large", `The call has more than ${MAX_CALL_BYTES} bytes.`, "Send less.");
}

function concatenated(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(a.length + b.length);
  bytes.set(a);
  bytes.set(b, a.length);
  return bytes;
}
