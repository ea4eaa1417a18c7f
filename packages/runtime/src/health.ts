/**
 * `GET /api/-/health`: whether this location serves, found out by one real LVI round trip. It asks for a handler that no
 * module has: that has no effect whatever the application is, and only a primary that serves, knows the key and has the
 * module says that there is no such handler. The first request through a new deployment.
 */
import {
  type ExecutionId,
  HEALTH_PATH,
  type Health,
  type LviReply,
  type LviRequest,
  type Manifest,
  RadicalError,
  SEED_BYTES,
} from "@radical/protocol";
import { hex } from "./hex.ts";
import { replyOfError, toResponse } from "./http/reply.ts";
import { type Answered, Primary } from "./lvi/primary.ts";
import { type Env, readSettings } from "./settings.ts";

interface HealthEnv extends Env {
  /** What `radical deploy` says of the version, as JSON. */
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
  return isAsked ? answer(env as HealthEnv, manifest) : null;
}

async function answer(env: HealthEnv, { application, module }: Manifest): Promise<Response> {
  try {
    const settings = readSettings(env);
    const location = settings.location;
    const startedAtMs = performance.now();
    const probe: LviRequest = {
      executionId: hex(crypto.getRandomValues(new Uint8Array(EXECUTION_ID_BYTES))) as ExecutionId,
      module,
      handler: NO_HANDLER,
      args: new Uint8Array(),
      environment: { timeMs: Date.now(), seed: new Uint8Array(SEED_BYTES), caller: null },
      location,
      units: [],
      retained: false,
      deadlineMs: LIMIT_MS,
      attempt: 1,
      seen: null,
    };
    const primary = new Primary(settings.primaryUrl, settings.key);
    check(await primary.ask(probe, LIMIT_MS, null).answered);
    const health: Health = {
      status: "ok",
      application,
      module,
      deployment: deploymentOf(env),
      location,
      primaryMs: Math.round(performance.now() - startedAtMs),
    };
    return Response.json(health, { headers: { "cache-control": "no-store" } });
  } catch (error) {
    return toResponse(replyOfError(error), {});
  }
}

/** Throws a RadicalError for any answer but that of a primary that serves this module. */
function check(answered: Answered<LviReply>): void {
  if (answered.kind !== "reply")
    throw new RadicalError("primary_unreachable", `the primary did not answer: ${answered.reason}`, "see its log");
  const { reply } = answered;
  if (reply.kind !== "refused") throw new Error(`the primary answered a handler that is none with ${reply.kind}`);
  switch (reply.code) {
    case "unknown_handler":
      return;
    case "unknown_module":
      throw new RadicalError("unknown_module", reply.message, "register it: radical deploy");
    default:
      throw new RadicalError("primary_busy", `the primary refuses requests: ${reply.code}: ${reply.message}`, "see its log");
  }
}

function deploymentOf({ RADICAL_DEPLOYMENT: text }: HealthEnv): string | null {
  if (text === undefined) return null;
  const { deployment } = JSON.parse(text) as { readonly deployment?: string };
  return deployment ?? null;
}
