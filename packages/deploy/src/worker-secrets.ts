/**
 * The application's own secrets: those of its Worker at Cloudflare, changed by wrangler. A value goes through wrangler's standard
 * input, so it stands in no argument, file or variable. Each change makes a version that serves at once.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { COMPATIBILITY_DATE } from "@radical/app/workers";
import type { OpenEdge } from "./edge/open-edge.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const RESERVED_PREFIX = "RADICAL_";

/** Names, sorted, without Radical's own. Throws a CommandError if there is no Worker. */
export async function listSecrets(edge: OpenEdge): Promise<readonly string[]> {
  await checkDeployed(edge);
  const path = `/accounts/${edge.account.id}/workers/scripts/${edge.worker}/secrets`;
  const secrets = await edge.api.get<readonly { readonly name: string }[]>(path);
  return secrets
    .map(({ name }) => name)
    .filter((name) => !name.startsWith(RESERVED_PREFIX))
    .toSorted();
}

/** `readValue` is called when the secret can be set. */
export async function setSecret(edge: OpenEdge, name: string, readValue: () => Promise<string>): Promise<void> {
  checkName(name);
  // wrangler would make a Worker.
  await checkDeployed(edge);
  const value = (await readValue()).replace(/\r?\n$/, "");
  if (value === "") {
    throw usage(`The value of ${name} is empty.`, `Write it to standard input: radical secrets set ${name} < file`);
  }
  await withWrangler(edge, ["secret", "put", name], value);
}

export async function deleteSecret(edge: OpenEdge, name: string): Promise<void> {
  checkName(name);
  if (!(await listSecrets(edge)).includes(name)) {
    throw new CommandError(
      "unknown_secret",
      `The Worker ${edge.worker} has no secret ${name}.`,
      "`radical secrets list` shows its secrets.",
      { exitCode: EXIT_USAGE },
    );
  }
  await withWrangler(edge, ["secret", "delete", name]);
}

/** A configuration that names the Worker and nothing else: that of the project may be of another environment. */
async function withWrangler({ wrangler, worker }: OpenEdge, args: readonly string[], input?: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "radical-secrets-"));
  try {
    const config = join(folder, "wrangler.json");
    await writeFile(config, JSON.stringify({ name: worker, compatibility_date: COMPATIBILITY_DATE }));
    await wrangler.run([...args, "--config", config], input === undefined ? { cwd: folder } : { cwd: folder, input });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function checkName(name: string): void {
  if (!NAME.test(name))
    throw usage(`"${name}" can't be the name of a secret.`, "Use letters, digits and _, at most 64, no digit first.");
  if (name.startsWith(RESERVED_PREFIX)) {
    throw usage(
      `${name} can't be set: names that begin with ${RESERVED_PREFIX} are Radical's.`,
      "Choose another name. `radical secrets rotate-keys` rotates keys.",
    );
  }
}

async function checkDeployed({ versions, worker }: OpenEdge): Promise<void> {
  if ((await versions.deployments()) !== null) return;
  throw new CommandError(
    "not_deployed",
    `The Worker ${worker} does not exist.`,
    "Run `radical deploy`, or name another --env.",
  );
}

function usage(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
