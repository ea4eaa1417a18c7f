/** The locations of a deployment, as far as this machine reaches them: each makes a round trip to its primary. */
import { HEALTH_PATH, type Health, type ModuleList, terminalText } from "@radical/protocol";
import { type DeploymentKey, signedHeaders } from "@radical/admin";
import { messageOf } from "@radical/app/command-error";
import { LOCATION_HEADER } from "@radical/local";
import type { Finding, Problem } from "./finding.ts";

/** Where a location is asked; null: the one that the network chooses. */
export interface Site {
  readonly url: string;
  readonly location: string | null;
  /** That its Worker has; null: not known, so that it says no more than that it serves. */
  readonly key: DeploymentKey | null;
}

/** A version of the Worker that requests go to. */
export interface ServedModule {
  readonly version: string;
  readonly module: string;
}

export interface RoundTrip {
  readonly location: string;
  readonly module: string;
  /** Of one LVI request, by the location's clock. */
  readonly primaryMs: number;
  /** Calls that the isolate which was reached has answered, by their path; null: it is an older one. */
  readonly answered: Health["answered"] | null;
  /** Results that it has shown before their answers, by what became of them; null: it is an older one. */
  readonly shown: Health["shown"] | null;
}

export interface EdgeLook {
  readonly findings: readonly Finding[];
  readonly roundTrips: readonly RoundTrip[];
}

const REQUEST_MS = 20_000;
/** Once round the earth, over a new connection. */
const SLOW_MS = 1_500;
/** Most round trips of a location: one that is slow may have been the only one, so that the shortest counts. */
const MOST_TRIPS = 4;

/** `modules`: what the primary has; null: not known. */
export async function lookAtEdge(
  sites: readonly Site[],
  served: readonly ServedModule[],
  modules: ModuleList | null,
): Promise<EdgeLook> {
  const isMissing = (module: string): boolean =>
    modules !== null && !modules.modules.some((known) => known.registered && known.module === module);
  const looks = await Promise.all(sites.map(lookUntilFast));
  const [locations, hashes]: [Problem[], Problem[]] = [[], []];
  const roundTrips: RoundTrip[] = [];
  for (const look of looks) {
    if ("health" in look) {
      const { location, module, primaryMs, answered = null, shown = null } = look.health;
      roundTrips.push({ location, module, primaryMs, answered, shown });
      if (primaryMs > SLOW_MS) locations.push(slow(location, primaryMs));
      if (isMissing(module)) hashes.push(notRegistered(`The location ${location} runs`, module));
    } else if ("problem" in look) (look.isModule ? hashes : locations).push(look.problem);
  }
  // A gradual deployment has two, of which a location that is asked shows one.
  for (const { version, module } of served) {
    const isTold = roundTrips.some((trip) => trip.module === module);
    if (isMissing(module) && !isTold) hashes.push(notRegistered(`Version ${version} of the Worker runs`, module));
  }
  return {
    findings: [
      { check: "locations", problems: locations },
      { check: "modules", problems: hashes },
    ],
    roundTrips,
  };
}

type Look =
  | { readonly health: Health }
  /** It serves, and says no more. */
  | { readonly serves: true }
  | { readonly problem: Problem; readonly isModule: boolean };

async function lookUntilFast(site: Site): Promise<Look> {
  let best = await lookAt(site);
  for (let trip = 2; trip <= MOST_TRIPS && "health" in best && best.health.primaryMs > SLOW_MS; trip++) {
    const look = await lookAt(site);
    if ("health" in look && look.health.primaryMs < best.health.primaryMs) best = look;
  }
  return best;
}

async function lookAt({ url, location, key }: Site): Promise<Look> {
  const name = location ?? url;
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${url}${HEALTH_PATH}`, {
      headers: {
        ...(location === null ? {} : { [LOCATION_HEADER]: location }),
        ...(key === null ? {} : signedHeaders(key, "GET", HEALTH_PATH, new Uint8Array())),
      },
      redirect: "manual",
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    text = await response.text();
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : "";
    const message = `The location ${name} was not reached at ${url}: ${messageOf(error)}${cause}`;
    return { problem: { message, hint: "See that it is deployed and that this machine reaches it." }, isModule: false };
  }
  const answer = answerOf(text);
  if (response.ok && answer?.status === "ok") return key === null ? { serves: true } : { health: answer as Health };
  if (answer?.error === undefined) {
    const message = `The server at ${url} is not a location. It answered status ${response.status} ${terminalText(text.slice(0, 200))}`;
    return { problem: { message, hint: "Name the deployment's origin with --url." }, isModule: false };
  }
  const { code, message, hint } = answer.error;
  return {
    problem: { message: `The location ${name}: ${terminalText(message)}`, hint },
    isModule: code === "unknown_module",
  };
}

interface Answer {
  readonly status?: string;
  readonly error?: { readonly code: string; readonly message: string; readonly hint: string };
}

function answerOf(text: string): Answer | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : null;
  } catch {
    return null;
  }
}

function slow(location: string, ms: number): Problem {
  return {
    message: `A round trip from ${location} to the primary takes ${ms} ms.`,
    hint: "See the load of the LVI server and of the proxy in front of it. A deployment in another region stays slow.",
  };
}

function notRegistered(who: string, module: string): Problem {
  return {
    message: `${who} module ${module.slice(0, 12)}, which the LVI server does not have.`,
    hint: "`radical deploy` registers it. Or the Worker and --primary are of two deployments.",
  };
}
