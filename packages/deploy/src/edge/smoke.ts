/**
 * A first request through a new deployment: the Worker's own health path, which makes one LVI round trip. It is repeated
 * while the network learns of the version.
 */
import { type DeploymentKey, signedHeaders } from "@radical/admin";
import { HEALTH_PATH, type Health } from "@radical/protocol";
import { CommandError, messageOf } from "@radical/app/command-error";

export interface SmokeOptions {
  readonly origin: string;
  readonly worker: string;
  /** That is to answer, however few requests it gets. */
  readonly version: string;
  /** Of its record. */
  readonly deployment: string;
  /** That the version has. */
  readonly key: DeploymentKey;
  readonly wait: (ms: number) => Promise<void>;
  readonly signal?: AbortSignal;
}

export interface SmokeAnswer {
  readonly location: string;
  /** What the LVI round trip took. */
  readonly primaryMs: number;
  readonly attempts: number;
}

const REQUEST_MS = 30_000;
const ATTEMPTS = 9;
const FIRST_WAIT_MS = 250;
/** Together about a minute. */
const MAX_WAIT_MS = 16_000;

/** Throws a CommandError with the last answer. */
export async function smoke(options: SmokeOptions): Promise<SmokeAnswer> {
  const { origin, wait, signal } = options;
  let last = "";
  for (let attempt = 1, waitMs = FIRST_WAIT_MS; attempt <= ATTEMPTS; attempt++, waitMs *= 2) {
    if (attempt > 1) await wait(Math.min(waitMs, MAX_WAIT_MS));
    signal?.throwIfAborted();
    const answer = await ask(options);
    if (typeof answer !== "string") return { ...answer, attempts: attempt };
    last = answer;
  }
  throw new CommandError(
    "smoke_request_failed",
    `The new version did not answer as it should at ${origin}${HEALTH_PATH}: ${last}`,
    "See the Worker's log (`radical tail`) and the primary (`radical doctor`). Then run the same command again.",
  );
}

/** In words what is wrong, or what is right. */
async function ask(options: SmokeOptions): Promise<string | Omit<SmokeAnswer, "attempts">> {
  const { origin, worker, version, deployment, key, signal } = options;
  let status: number;
  let text: string;
  try {
    const limit = AbortSignal.timeout(REQUEST_MS);
    const response = await fetch(`${origin}${HEALTH_PATH}`, {
      headers: {
        ...signedHeaders(key, "GET", HEALTH_PATH, new Uint8Array()),
        "cloudflare-workers-version-overrides": `${worker}="${version}"`,
      },
      redirect: "manual",
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
    });
    ({ status } = response);
    text = await response.text();
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : "";
    return `${messageOf(error)}${cause}`;
  }
  const health = parse(text);
  if (status === 200 && health?.status === "ok" && health.deployment === deployment)
    return { location: health.location ?? "unknown", primaryMs: health.primaryMs ?? 0 };
  if (health?.status === "ok") return `deployment ${health.deployment ?? "unknown"} answered in its place`;
  if (health?.error !== undefined)
    return `status ${status} ${health.error.code}: ${health.error.message} (${health.error.hint})`;
  return `status ${status} ${text.slice(0, 200)}`;
}

/** What may be answered, by the Worker or by whatever is there. */
type Answer = Partial<Omit<Health, "status">> & {
  readonly status?: string;
  readonly error?: { readonly code: string; readonly message: string; readonly hint: string };
};

function parse(text: string): Answer | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : null;
  } catch {
    return null;
  }
}
