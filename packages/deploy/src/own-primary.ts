/** A primary that the developer hosts: `--primary URL`, with its keys in the environment. */
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import type { DeploymentKey } from "@radical/admin";
import { isLoopbackName, type Target } from "@radical/app";
import type { PrimaryHalf } from "./primary-half.ts";

const KEYS_VARIABLE = "RADICAL_KEYS";

/** `urls`: origins of its servers, separated by commas. Throws a CommandError. */
export function ownPrimary(
  urls: string,
  { name: deployment }: Pick<Target, "name">,
  environment: NodeJS.ProcessEnv = process.env,
): PrimaryHalf {
  const origins = ownOrigins(urls);
  const key = firstKey(environment);
  return {
    steps: [],
    description: origins.join(","),
    way: () => ({ kind: "url", urls: origins.join(",") }),
    key: () => key,
    admin: () => ({ urls: origins, key, deployment }),
    servers: () => origins.map((url) => ({ url, key, deployment })),
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

/** Locations sign with the first of the server's keys. */
function firstKey(environment: NodeJS.ProcessEnv): DeploymentKey {
  const text = environment[KEYS_VARIABLE] ?? "";
  const key = keyOf(text.split(SEPARATOR)[0]);
  if (key !== null) return key;
  throw usage(
    text === "" ? `${KEYS_VARIABLE} is not set.` : `${KEYS_VARIABLE} does not begin with <id>:<hex>.`,
    "Set it as for the LVI server: locations sign with its first key.",
  );
}

/** All that are given: those of a server that is left may stand behind those of the other one. */
export function givenKeys(environment: NodeJS.ProcessEnv): readonly DeploymentKey[] {
  return (environment[KEYS_VARIABLE] ?? "").split(SEPARATOR).flatMap((text) => keyOf(text) ?? []);
}

const SEPARATOR = /[\n,]/;

function keyOf(text = ""): DeploymentKey | null {
  const [id = "", secret = "", ...rest] = text.trim().split(":");
  const isKey = /^[A-Za-z0-9._-]{1,64}$/.test(id) && /^(?:[0-9a-fA-F]{2}){16,}$/.test(secret) && rest.length === 0;
  return isKey ? { id, secret } : null;
}

function usage(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
