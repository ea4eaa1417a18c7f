/** Which LVI server a command asks: one that is named, or that of the `radical dev` which runs in the project. Those of a deployment: `deployed.ts`. */
import { join } from "node:path";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import type { Project } from "@radical/app";
import { loadDeploymentKeys, operatorKey, type PrimaryAddress } from "@radical/admin";
import { readRunning } from "@radical/local";

/** Throws a CommandError if none is named and no `radical dev` runs. */
export async function primaryAddress(project: Project, named: string | null): Promise<PrimaryAddress> {
  if (named !== null) {
    const deployment = process.env["RADICAL_DEPLOYMENT"];
    return { url: originOf(named), key: operatorKey(process.env), ...(deployment === undefined ? {} : { deployment }) };
  }
  const running = await runningPrimary(project);
  if (running !== null) return running;
  throw new CommandError(
    "no_primary",
    "No radical dev runs here, and no LVI server is named.",
    "Start radical dev, or name the server with --primary <url> and give RADICAL_ADMIN_KEYS its administration key.",
    { exitCode: EXIT_USAGE },
  );
}

/** That of the `radical dev` which runs in the project; null: none does. */
export async function runningPrimary({ root }: Project): Promise<PrimaryAddress | null> {
  const stateFolder = join(root, ".radical");
  const running = await readRunning(stateFolder);
  if (running === null) return null;
  return { url: running.lviServer, key: (await loadDeploymentKeys(stateFolder)).administration };
}

function originOf(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return new URL(url).origin;
  throw wrongUse(`--primary must be a URL, and is "${url}".`, "Give for example --primary https://lvi.example.com.");
}

function wrongUse(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
