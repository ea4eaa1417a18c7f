/** The keys of whoever runs a command, for servers of one's own: in the environment, as no option has a secret. */
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { type AdministrationKey, parseAdministrationKeys } from "./administration-key.ts";
import type { DeploymentKey } from "./deployment-key.ts";

const VARIABLE = "RADICAL_ADMIN_KEYS";
const LOCATION_VARIABLE = "RADICAL_KEYS";

/** The first one signs. Throws a CommandError unless there is one. */
export function operatorKey(environment: NodeJS.ProcessEnv): AdministrationKey {
  const [key] = operatorKeys(environment);
  if (key !== undefined) return key;
  throw usage(
    `${VARIABLE} is not set. Commands sign with it what they ask a server; RADICAL_KEYS has the keys of locations, which administer nothing.`,
    "Give it the private half of an administration key of that server. `radical secrets new-keys` makes one, and the server's half of it.",
  );
}

/** All that are given: a server that is left may have another one. Throws a CommandError if they can't be read. */
export function operatorKeys(environment: NodeJS.ProcessEnv): readonly AdministrationKey[] {
  const keys = parseAdministrationKeys(environment[VARIABLE] ?? "");
  if (keys !== null) return keys;
  throw usage(
    `${VARIABLE} does not consist of <id>:ed25519-private:<hex>, with commas in between.`,
    "Give it as `radical secrets new-keys` has printed it.",
  );
}

/** The first of the keys of locations that are given as a server has them; null: none is. */
export function givenLocationKey(environment: NodeJS.ProcessEnv): DeploymentKey | null {
  for (const part of (environment[LOCATION_VARIABLE] ?? "").split(/[\n,]/)) {
    const [, id, secret] = /^([A-Za-z0-9._-]{1,64}):((?:[0-9a-fA-F]{2}){16,})$/.exec(part.trim()) ?? [];
    if (id !== undefined && secret !== undefined) return { id, secret };
  }
  return null;
}

function usage(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
