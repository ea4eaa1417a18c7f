/** The LVI servers of a deployment: reached, with the key, one leading and the others standing by. */
import {
  MODULE_LIST_PATH,
  type ModuleList,
  type ReadLeaseStatus,
  REPLAY_WINDOW_MS,
  type ServerStatus,
  type SetLeft,
  STATUS_PATH,
  terminalText,
} from "@radical/protocol";
import { messageOf } from "@radical/app/command-error";
import { counted } from "@radical/app";
import { signedRequest, askPrimary, type PrimaryAddress, serverName } from "@radical/admin";
import { serviceFindings } from "./service-checks.ts";
import { type ClockReading, clockOf, type Finding, type Problem } from "./finding.ts";

const REQUEST_MS = 20_000;

interface Look {
  /** For people. */
  readonly server: string;
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
  /** Of all modules that it has run. */
  readonly setsLeft: readonly SetLeft[];
  /** Of the server that leads; null: none does, or it is an older one. */
  readonly readLeases: ReadLeaseStatus | null;
}

/** `servers`: of one storage. With one of them nobody is expected to stand by. */
export async function lookAtPrimary(servers: readonly PrimaryAddress[]): Promise<PrimaryLook> {
  const looks = await Promise.all(servers.map(lookAt));
  const leading = looks.findIndex(({ status }) => status?.state === "serving");
  const problems = looks.flatMap(({ problem }) => (problem === null ? [] : [problem]));
  if (leading < 0 && problems.length === 0) {
    const states = looks.map(({ server, status }) => `${server} is ${status?.state}`).join(", ");
    problems.push({
      message: `No LVI server leads: ${states}.`,
      hint: "Another server has the leadership of this storage, or one is about to take it. See its /readyz and its log.",
    });
  }
  const overdue = looks[leading]?.status?.overdue ?? 0;
  // It leads, but their items are locked.
  if (overdue > 0)
    problems.push({
      message: `${looks[leading]!.server} could not bring ${counted(overdue, "pending intent")} to an end. Their items stay locked, and calls that need those items are answered 503.`,
      hint: "See overdue_intent_alarm in its log. The line names the handler and the reason.",
    });
  // While one leads, the others are what a takeover needs: requests are served.
  const isServed = leading >= 0;
  const others = looks.filter((_, index) => index !== leading);
  const standby: Problem[] = isServed
    ? others.flatMap(({ server, status, problem }) =>
        status?.state === "standby"
          ? []
          : [
              {
                message: `No server stands by: ${problem?.message ?? `${server} is ${status?.state}`}`,
                hint: problem?.hint ?? "See its log.",
              },
            ],
      )
    : [];
  const clocks = looks.flatMap(({ clock }) => (clock === null ? [] : [clock]));
  return {
    findings: [
      { check: "primary", problems: isServed && overdue === 0 ? [] : problems },
      ...(servers.length > 1 ? [{ check: "standby", problems: standby } as const] : []),
      ...serviceFindings(looks[leading]?.status?.services ?? null),
    ],
    clocks,
    modules: isServed ? await modulesOf(servers[leading]!) : null,
    setsLeft: looks[leading]?.status?.setsLeft ?? [],
    readLeases: looks[leading]?.status?.readLeases ?? null,
  };
}

/**
 * Nothing is wrong with a handler whose set is wrong but its speed, so this is told only if there is one. `served`: the modules
 * that locations run, since an earlier build needs nothing any more; empty: they are not known.
 */
export function setFindings(setsLeft: readonly SetLeft[], served: ReadonlySet<string>): readonly Finding[] {
  const problems = setsLeft
    .filter(({ module }) => served.size === 0 || served.has(module))
    .map(({ module, handler, times }): Problem => ({
      message: `The handler "${handler}" of module ${module.slice(0, 12)} has left its read/write set in ${counted(times, "call")}. A location that sees two of them runs it in record mode, which is slower.`,
      hint: "Correct the set if a @readwrite gives it. Else report it: this is a fault of the analyzer.",
    }));
  return problems.length === 0 ? [] : [{ check: "sets", problems }];
}

async function modulesOf(server: PrimaryAddress): Promise<ModuleList | null> {
  try {
    return (await (await askPrimary(server, "GET", MODULE_LIST_PATH)).json()) as ModuleList;
  } catch {
    // It has just answered: told is what the locations run into.
    return null;
  }
}

async function lookAt({ url, key, deployment, node }: PrimaryAddress): Promise<Look> {
  const server = serverName({ url, ...(node === undefined ? {} : { node }) });
  const sentMs = Date.now();
  let response: Response;
  let text: string;
  try {
    const signal = AbortSignal.timeout(REQUEST_MS);
    response = await signedRequest(url, key, "GET", STATUS_PATH, new Uint8Array(), signal, { deployment, node });
    text = await response.text();
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : "";
    const where = node === undefined ? "" : ` through the relay ${url}`;
    const message = `${server} was not reached${where}: ${messageOf(error)}${cause}`;
    const hint = "See that it runs and that this machine reaches it.";
    return { server, status: null, clock: null, problem: { message, hint } };
  }
  const receivedMs = Date.now();
  const status = response.ok ? statusOf(text) : null;
  if (status !== null) {
    const clock = { whose: server, aheadMs: (sentMs + receivedMs) / 2 - status.timeMs };
    return { server, status, clock, problem: null };
  }
  const clock = clockOf(response, server, sentMs, receivedMs);
  return { server, status: null, clock, problem: refusalOf(response.status, text, server, key.id, clock) };
}

function refusalOf(status: number, text: string, server: string, keyId: string, clock: ClockReading | null): Problem {
  if (status === 401) {
    // Refused for the time that the request was signed at: the clock is what is wrong, and is told.
    return clock !== null && Math.abs(clock.aheadMs) >= REPLAY_WINDOW_MS
      ? { message: `${server} refuses requests of this machine's time.`, hint: "Set the clock." }
      : {
          message: `${server} refuses the key "${keyId}".`,
          hint: "Give RADICAL_ADMIN_KEYS an administration key whose public half the server has.",
        };
  }
  const unreached = unreachedOf(text);
  if (status === 502 && unreached !== null)
    return {
      message: `${server} was not reached by the relay: ${unreached}`,
      hint: "See that the machine runs. The log group of the deployment has the streams of its server and its tunnel.",
    };
  return {
    message: `${server} gives no status, but ${status} ${terminalText(text.slice(0, 200))}`,
    hint: "Name the LVI server, or the proxy in front of it.",
  };
}

/** Why the relay did not reach a server, if it is the relay that answered. */
function unreachedOf(text: string): string | null {
  try {
    const { error } = JSON.parse(text) as { readonly error?: { readonly code?: string; readonly message?: string } };
    return error?.code === "primary_unreachable" ? (error.message ?? "") : null;
  } catch {
    return null;
  }
}

function statusOf(text: string): ServerStatus | null {
  try {
    const status = JSON.parse(text) as Partial<ServerStatus>;
    return typeof status.state === "string" ? (status as ServerStatus) : null;
  } catch {
    return null;
  }
}
