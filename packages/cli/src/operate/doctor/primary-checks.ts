/** The LVI servers of a deployment: reached, with the key, one leading and the others standing by. */
import { MODULE_LIST_PATH, type ModuleList, REPLAY_WINDOW_MS, type ServerStatus, STATUS_PATH } from "@radical/protocol";
import { messageOf } from "../../command-error.ts";
import { signedRequest } from "../../dev/signed-request.ts";
import { askPrimary } from "../ask-primary.ts";
import type { PrimaryAddress } from "../primary-address.ts";
import { type ClockReading, clockOf, type Finding, type Problem } from "./finding.ts";

const REQUEST_MS = 10_000;

interface Look {
  readonly url: string;
  /** Null: it has not answered as a server that takes the key. */
  readonly status: ServerStatus | null;
  readonly problem: Problem | null;
  readonly clock: ClockReading | null;
}

export interface PrimaryLook {
  readonly findings: readonly Finding[];
  readonly clocks: readonly ClockReading[];
  /** What the server that leads has; null: none does. */
  readonly modules: ModuleList | null;
}

/** `servers`: of one storage. With one of them nobody is expected to stand by. */
export async function lookAtPrimary(servers: readonly PrimaryAddress[]): Promise<PrimaryLook> {
  const looks = await Promise.all(servers.map(lookAt));
  const leading = looks.findIndex(({ status }) => status?.state === "serving");
  const problems = looks.flatMap(({ problem }) => (problem === null ? [] : [problem]));
  if (leading < 0 && problems.length === 0) {
    const states = looks.map(({ url, status }) => `${url} is ${status?.state}`).join(", ");
    problems.push({
      message: `no LVI server leads: ${states}`,
      hint: "another server has the lease of this storage, or one is about to take it: see its /readyz and log",
    });
  }
  // While one leads, the others are what a takeover needs: requests are served.
  const isServed = leading >= 0;
  const others = looks.filter((_, index) => index !== leading);
  const standby: Problem[] = isServed
    ? others.flatMap(({ url, status, problem }) =>
        status?.state === "standby"
          ? []
          : [
              {
                message: `${url} does not stand by: ${problem?.message ?? `it is ${status?.state}`}`,
                hint: problem?.hint ?? "see its log",
              },
            ],
      )
    : [];
  const clocks = looks.flatMap(({ clock }) => (clock === null ? [] : [clock]));
  return {
    findings: [
      { check: "primary", problems: isServed ? [] : problems },
      ...(servers.length > 1 ? [{ check: "standby", problems: standby } as const] : []),
    ],
    clocks,
    modules: isServed ? await modulesOf(servers[leading]!) : null,
  };
}

async function modulesOf(server: PrimaryAddress): Promise<ModuleList | null> {
  try {
    return (await (await askPrimary(server, "GET", MODULE_LIST_PATH)).json()) as ModuleList;
  } catch {
    // It has just answered: told is what the locations run into.
    return null;
  }
}

async function lookAt({ url, key }: PrimaryAddress): Promise<Look> {
  const sentMs = Date.now();
  let response: Response;
  let text: string;
  try {
    response = await signedRequest(url, key, "GET", STATUS_PATH, new Uint8Array(), AbortSignal.timeout(REQUEST_MS));
    text = await response.text();
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : "";
    const message = `the LVI server was not reached at ${url}: ${messageOf(error)}${cause}`;
    const hint = "see that it runs and that this machine reaches it";
    return { url, status: null, clock: null, problem: { message, hint } };
  }
  const receivedMs = Date.now();
  const clock = clockOf(response, `the LVI server at ${url}`, sentMs, receivedMs);
  if (response.ok) {
    const status = statusOf(text);
    if (status !== null) return { url, status, clock, problem: null };
  }
  // Refused for the time that the request was signed at: the clock is what is wrong, and is told.
  const isClock = response.status === 401 && clock !== null && Math.abs(clock.aheadMs) >= REPLAY_WINDOW_MS;
  const refused = `the LVI server at ${url} refuses the key "${key.id}"`;
  const problem: Problem =
    response.status === 401
      ? {
          message: isClock ? `the LVI server at ${url} refuses requests of this machine's time` : refused,
          hint: isClock ? "set the clock" : "give RADICAL_KEYS a key that the server has",
        }
      : {
          message: `what is at ${url} is no LVI server that serves: status ${response.status} ${text.slice(0, 200)}`,
          hint: "name the LVI server, or what stands in front of it",
        };
  return { url, status: null, clock, problem };
}

function statusOf(text: string): ServerStatus | null {
  try {
    const status = JSON.parse(text) as Partial<ServerStatus>;
    return typeof status.state === "string" ? (status as ServerStatus) : null;
  } catch {
    return null;
  }
}
