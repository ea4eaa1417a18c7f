/** A primary that the developer hosts: `--primary URL`, with the key of its locations and one of administration in the environment. */
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { type DeploymentKey, givenLocationKey, operatorKey } from "@radical/admin";
import { isLoopbackName, type Target } from "@radical/app";
import type { PrimaryHalf } from "./primary-half.ts";

const KEYS_VARIABLE = "RADICAL_KEYS";

/** `urls`: origins of its servers, separated by commas. Throws a CommandError if it can't be administered. */
export function ownPrimary(
  urls: string,
  { name: deployment }: Pick<Target, "name">,
  environment: NodeJS.ProcessEnv = process.env,
): PrimaryHalf {
  const origins = ownOrigins(urls);
  const administration = operatorKey(environment);
  return {
    steps: [],
    description: origins.join(","),
    way: () => ({ kind: "url", urls: origins.join(",") }),
    key: () => firstKey(environment),
    admin: () => ({ urls: origins, key: administration, deployment }),
    servers: () => origins.map((url) => ({ url, key: administration, deployment })),
  };
}

/** Throws a CommandError for what can't be one. */
export function ownOrigins(urls: string): readonly string[] {
  return urls.split(",").map((url) => originOf(url.trim()));
}

function originOf(url: string): string {
  if (!URL.canParse(url))
    throw usage(`--primary must be a URL, and is "${url}".`, "Give for example --primary https://lvi.example.com.");
  const { protocol, hostname, origin, pathname } = new URL(url);
  if (protocol !== "https:" && !(protocol === "http:" && isLoopbackName(hostname))) {
    throw usage(
      `With --primary ${url} requests would go through the internet in plain text.`,
      "Put the LVI server behind TLS, and give its https:// URL.",
    );
  }
  if (pathname !== "/")
    throw usage(`--primary must be an origin, and ${url} has a path.`, `Give its origin: --primary ${origin}`);
  return origin;
}

/** Locations sign with the first of the server's keys. Throws a CommandError if there is none. */
function firstKey(environment: NodeJS.ProcessEnv): DeploymentKey {
  const key = givenLocationKey(environment);
  if (key !== null) return key;
  throw usage(
    (environment[KEYS_VARIABLE] ?? "") === ""
      ? `${KEYS_VARIABLE} is not set.`
      : `${KEYS_VARIABLE} has no <id>:<hex> of a location's key.`,
    "Set it as for the LVI server: locations sign with its first key.",
  );
}

function usage(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
