/**
 * A deployment is an application in an environment. All names in the clouds follow from these two, so that
 * nothing has to be remembered on a machine to find it again.
 */
import { CommandError, EXIT_USAGE } from "../command-error.ts";

/** The environment of a deployment that names none. */
export const DEFAULT_ENVIRONMENT = "production";

export interface Target {
  readonly application: string;
  readonly environment: string;
  /** `<application>-<environment>`: of the Worker, and the beginning of all other names. */
  readonly name: string;
  /** The Worker that forwards administrative requests to the primary. */
  readonly relay: string;
  /** Title of the KV namespace of the caches, if there is one. */
  readonly cacheNamespace: string;
  /** The R2 bucket with the bytes of blobs, unless the config names another one. */
  readonly bucket: string;
}

/** Without dashes: so the last dash of a name separates application and environment. */
const ENVIRONMENT = /^[a-z][a-z0-9]{0,15}$/;
/** As part of a name of workers.dev, which is a label of the domain name system. */
const MAX_WORKER_NAME = 63;
const RELAY_ENDING = "-primary";
/** `<application>-primary` would be the relay of another application. */
const RESERVED = RELAY_ENDING.slice(1);

/** Throws a CommandError for an environment that can't be one. */
export function targetOf(application: string, environment: string): Target {
  if (!ENVIRONMENT.test(environment) || environment === RESERVED) {
    throw usage(
      `"${environment}" can't be the name of an environment.`,
      `Use lowercase letters and digits, at most 16, a letter first, and not "${RESERVED}": --env staging`,
    );
  }
  const name = `${application}-${environment}`;
  const relay = `${name}${RELAY_ENDING}`;
  if (relay.length > MAX_WORKER_NAME) {
    throw usage(
      `The name "${relay}" is longer than the ${MAX_WORKER_NAME} characters that the name of a Worker may have.`,
      "Choose a shorter name for the environment, or for the application in radical.config.ts.",
    );
  }
  return { application, environment, name, relay, cacheNamespace: `${name}-cache`, bucket: `${name}-blobs` };
}

/**
 * The R2 bucket of a deployment. `named`: by the config, which all environments share. Each environment has a bucket of its own:
 * it removes the bytes that no item of its own names.
 */
export function bucketOf({ environment, bucket }: Target, named: string | null): string {
  if (named === null) return bucket;
  return environment === DEFAULT_ENVIRONMENT ? named : `${named}-${environment}`;
}

function usage(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
