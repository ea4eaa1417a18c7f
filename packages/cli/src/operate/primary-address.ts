/** Which LVI server a command asks: one that is named, or that of the `radical dev` which runs in the project. Those of a deployment: `deployed.ts`. */
import { join } from "node:path";
import { KeysError, parseKeys } from "@radical/lvi-server";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import type { Project } from "@radical/app";
import { type PrimaryAddress, type DeploymentKey, loadDeploymentKey } from "@radical/admin";
import { readRunning } from "@radical/local";

/** Throws a CommandError if none is named and no `radical dev` runs. */
export async function primaryAddress(project: Project, named: string | null): Promise<PrimaryAddress> {
  if (named !== null) {
    const deployment = process.env["RADICAL_DEPLOYMENT"];
    const key = keyOf(process.env["RADICAL_KEYS"] ?? "");
    return { url: originOf(named), key, ...(deployment === undefined ? {} : { deployment }) };
  }
  const running = await runningPrimary(project);
  if (running !== null) return running;
  throw new CommandError(
    "no_primary",
    "No radical dev runs here, and no LVI server is named.",
    "Start radical dev, or name the server with --primary <url> and give RADICAL_KEYS its key.",
    { exitCode: EXIT_USAGE },
  );
}

/** That of the `radical dev` which runs in the project; null: none does. */
export async function runningPrimary({ root }: Project): Promise<PrimaryAddress | null> {
  const stateFolder = join(root, ".radical");
  const running = await readRunning(stateFolder);
  return running === null ? null : { url: running.lviServer, key: await loadDeploymentKey(stateFolder) };
}

function originOf(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return new URL(url).origin;
  throw wrongUse(`--primary must be a URL, and is "${url}".`, "Give for example --primary https://lvi.example.com.");
}

/** Requests are signed with the first of the server's keys. */
function keyOf(text: string): DeploymentKey {
  if (text === "") throw wrongUse("RADICAL_KEYS is not set.", "Give it a key of that server: <id>:<hex>");
  try {
    const [[id, secret] = []] = parseKeys(text);
    return { id: id!, secret: Buffer.from(secret!).toString("hex") };
  } catch (error) {
    if (error instanceof KeysError) throw wrongUse(`RADICAL_KEYS: ${error.message}`, "Give it as the server has it.");
    throw error;
  }
}

function wrongUse(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
