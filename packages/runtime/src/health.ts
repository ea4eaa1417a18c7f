/**
 * `GET /api/-/health`: whether this location serves, found out by one real LVI round trip. It asks for a handler that no
 * module has, which has no effect whatever the application is. Only a primary that serves, knows the key and has the module
 * can say that the handler does not exist. The first request through a new deployment.
 *
 * Anybody may ask, and is told no more than that. An isolate remembers its answer for some seconds, and makes one round trip at a time
 * for all who ask. A request that is signed with the deployment's key makes a round trip of its own, and is told the rest.
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
  SIGNATURE_HEADER,
} from "@radical/protocol";
import { answersSoFar } from "./answered.ts";
import { placeOf, type Whereabouts } from "./cache/place.ts";
import type { Answered } from "./core/effects.ts";
import { hex } from "./hex.ts";
import { replyOfError, toResponse } from "./http/reply.ts";
import { Primary, type PrimaryKey } from "./lvi/primary.ts";
import { claimOf, verifyClaim } from "./lvi/signed-requests.ts";
import { type Env, type Settings, readSettings } from "./settings.ts";

interface HealthEnv extends Env {
  /** The version in the words of `radical deploy`, as JSON. */
  readonly RADICAL_DEPLOYMENT?: string;
}

/** No name of a handler. */
const NO_HANDLER = "-";
const LIMIT_MS = 10_000;
const EXECUTION_ID_BYTES = 16;
/** For which an answer to anybody counts. */
const REMEMBERED_MS = 5_000;
/** For which nobody else asks while a round trip is under way. Its request may be cancelled, and never tell its end. */
const ASKING_MS = LIMIT_MS;
/** For which an answer counts at all. Otherwise an outage in which every request that asks is cancelled keeps the answer from before. */
const COUNTS_MS = REMEMBERED_MS + ASKING_MS;
const SIGN_AGAIN = "sign with the key that this version of the Worker has: RADICAL_KEYS, or the key of the deployment";

/** The last answer to anybody. Each location of `radical dev` has an isolate of its own. */
let remembered: { readonly error: RadicalError | null; readonly atMs: number } | null = null;

/** The round trip for anybody that is under way, until a time. A request can't await the promise of another one. Null: there is none. */
let asking: { readonly untilMs: number } | null = null;

/** Null: the request is another one. */
export function healthOf(request: Request, env: unknown, manifest: Manifest): Promise<Response> | null {
  // First what is cheap: this is looked at before every request.
  if (!request.url.includes(HEALTH_PATH)) return null;
  const isAsked = new URL(request.url).pathname === HEALTH_PATH && ["GET", "HEAD"].includes(request.method);
  return isAsked ? answer(request, env as HealthEnv, manifest) : null;
}

async function answer(request: Request, env: HealthEnv, manifest: Manifest): Promise<Response> {
  try {
    const settings = readSettings(env);
    const isSigned = request.headers.has(SIGNATURE_HEADER);
    if (isSigned) await checkSigned(request, settings.key);
    const location = settings.location ?? placeOf((request.cf ?? {}) as Partial<Whereabouts>).location;
    const told = isSigned
      ? await wholeHealth(settings, location, env, manifest)
      : await briefHealth(settings, location, manifest);
    return Response.json(told, { headers: { "cache-control": "no-store" } });
  } catch (error) {
    return toResponse(replyOfError(error), {});
  }
}

/** Throws a RadicalError. */
async function checkSigned(request: Request, key: PrimaryKey): Promise<void> {
  const claim = claimOf(request, key, Date.now(), SIGN_AGAIN);
  await verifyClaim(claim, key, { method: request.method, path: HEALTH_PATH, body: new Uint8Array() }, SIGN_AGAIN);
}

/** Throws the RadicalError of a location that does not serve. */
async function wholeHealth(
  settings: Settings,
  location: string,
  env: HealthEnv,
  { application, module }: Manifest,
): Promise<Health> {
  const startedAtMs = performance.now();
  await askEach(settings, { module, location });
  return {
    status: "ok",
    application,
    module,
    deployment: deploymentOf(env),
    location,
    primaryMs: Math.round(performance.now() - startedAtMs),
    ...answersSoFar(),
  };
}

/**
 * Whether the location serves, as of five seconds ago at most. While a request finds it out, others get the last answer, which may be
 * ten seconds older. Throws the RadicalError of a location that does not serve, or has no such answer.
 */
async function briefHealth(
  settings: Settings,
  location: string,
  { module }: Manifest,
): Promise<Pick<Health, "status">> {
  const nowMs = Date.now();
  const isFresh = remembered !== null && nowMs < remembered.atMs + REMEMBERED_MS;
  const isAsked = asking !== null && nowMs < asking.untilMs;
  if (!isFresh && !isAsked) await askForAnybody(settings, location, module);
  if (remembered === null || nowMs >= remembered.atMs + COUNTS_MS) throw notKnown();
  if (remembered.error === null) return { status: "ok" };
  throw remembered.error;
}

/** Remembers the answer. Never rejects. */
async function askForAnybody(settings: Settings, location: string, module: Manifest["module"]): Promise<void> {
  const own = { untilMs: Date.now() + ASKING_MS };
  asking = own;
  const error = await askEach(settings, { module, location }).then(
    () => null,
    (failure: unknown) => replyable(failure),
  );
  remembered = { error, atMs: Date.now() };
  if (asking === own) asking = null;
}

function notKnown(): RadicalError {
  return new RadicalError(
    "primary_unreachable",
    "This location is finding out whether it serves.",
    "Ask again in a second.",
  );
}

/** A failure without its words, which may name an address or a module. */
function replyable(error: unknown): RadicalError {
  const code = error instanceof RadicalError ? error.code : "internal_error";
  return new RadicalError(
    code,
    "This location does not serve now.",
    "Ask again later. Its operator sees the reason: radical doctor",
  );
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
    return new RadicalError("primary_unreachable", `The primary did not answer: ${answered.reason}`, "See its log.");
  const { reply } = answered;
  if (reply.kind !== "refused") return new Error(`the primary answered a handler that is none with ${reply.kind}`);
  const { code, message } = reply;
  if (code === "unknown_handler") return null;
  if (code === "unknown_module") return new RadicalError(code, message, "Register it: radical deploy");
  return new RadicalError("primary_busy", `The primary refuses requests: ${code}: ${message}`, "See its log.");
}

function deploymentOf({ RADICAL_DEPLOYMENT: text }: HealthEnv): string | null {
  if (text === undefined) return null;
  const { deployment } = JSON.parse(text) as { readonly deployment?: string };
  return deployment ?? null;
}
