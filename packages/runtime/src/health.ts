/**
 * `GET /api/-/health`: whether this location serves, found out by one real LVI round trip. It asks for a handler that no
 * module has, which has no effect whatever the application is. Only a primary that serves, knows the key and has the module
 * can say that the handler does not exist. The first request through a new deployment.
 */
import {
  type CommitId,
  type ExecutionId,
  HEALTH_PATH,
  type Health,
  type LviReply,
  type LviRequest,
  type Manifest,
  RadicalError,
  SEED_BYTES,
} from "@radical/protocol";
import { answersSoFar } from "./answered.ts";
import { placeOf, type Whereabouts } from "./cache/place.ts";
import type { Answered } from "./core/effects.ts";
import { hex } from "./hex.ts";
import { replyOfError, toResponse } from "./http/reply.ts";
import { Primary } from "./lvi/primary.ts";
import { type Env, type Settings, readSettings } from "./settings.ts";

interface HealthEnv extends Env {
  /** The version in the words of `radical deploy`, as JSON. */
  readonly RADICAL_DEPLOYMENT?: string;
}

/** No name of a handler. */
const NO_HANDLER = "-";
const LIMIT_MS = 10_000;
const EXECUTION_ID_BYTES = 16;

/** Null: the request is another one. */
export function healthOf(request: Request, env: unknown, manifest: Manifest): Promise<Response> | null {
  // First what is cheap: this is looked at before every request.
  if (!request.url.includes(HEALTH_PATH)) return null;
  const isAsked = new URL(request.url).pathname === HEALTH_PATH && ["GET", "HEAD"].includes(request.method);
  return isAsked ? answer(request, env as HealthEnv, manifest) : null;
}

async function answer(request: Request, env: HealthEnv, { application, module }: Manifest): Promise<Response> {
  try {
    const settings = readSettings(env);
    const location = settings.location ?? placeOf((request.cf ?? {}) as Partial<Whereabouts>).location;
    const startedAtMs = performance.now();
    await askEach(settings, { module, location });
    const health: Health = {
      status: "ok",
      application,
      module,
      deployment: deploymentOf(env),
      location,
      primaryMs: Math.round(performance.now() - startedAtMs),
      ...answersSoFar(),
    };
    return Response.json(health, { headers: { "cache-control": "no-store" } });
  } catch (error) {
    return toResponse(replyOfError(error), {});
  }
}

/** Settles when one of the servers has answered as the primary of this module. Throws the RadicalError of the last one that has not. */
async function askEach({ ways, key }: Settings, of: Pick<LviRequest, "module" | "location">): Promise<void> {
  const primary = new Primary(ways, key);
  const executionId = hex(crypto.getRandomValues(new Uint8Array(EXECUTION_ID_BYTES))) as ExecutionId;
  let failure: unknown;
  let seen: CommitId | null = null;
  let attempt = 1;
  for (const server of ways.keys()) {
    // A server that has just begun to serve wants to be asked twice.
    for (const last = attempt + 1; attempt <= last; attempt++) {
      const probe: LviRequest = {
        ...of,
        executionId,
        handler: NO_HANDLER,
        args: new Uint8Array(),
        environment: { timeMs: Date.now(), seed: new Uint8Array(SEED_BYTES), caller: null },
        units: [],
        retained: false,
        mustNotWrite: true,
        mayEffect: false,
        lanes: [],
        deadlineMs: LIMIT_MS,
        attempt,
        seen,
        session: null,
      };
      const answered = await primary.ask(server, probe, LIMIT_MS, null).answered;
      if (answered.kind === "reply") seen = answered.reply.asOf ?? seen;
      failure = faultOf(answered);
      if (failure === null) return;
    }
  }
  throw failure;
}

/** The fault of an answer; null: it is that of a primary that serves this module. */
function faultOf(answered: Answered<LviReply>): Error | null {
  if (answered.kind !== "reply")
    return new RadicalError("primary_unreachable", `the primary did not answer: ${answered.reason}`, "see its log");
  const { reply } = answered;
  if (reply.kind !== "refused") return new Error(`the primary answered a handler that is none with ${reply.kind}`);
  const { code, message } = reply;
  if (code === "unknown_handler") return null;
  if (code === "unknown_module") return new RadicalError(code, message, "register it: radical deploy");
  return new RadicalError("primary_busy", `the primary refuses requests: ${code}: ${message}`, "see its log");
}

function deploymentOf({ RADICAL_DEPLOYMENT: text }: HealthEnv): string | null {
  if (text === undefined) return null;
  const { deployment } = JSON.parse(text) as { readonly deployment?: string };
  return deployment ?? null;
}
