/** The key of a development deployment: made on first use, kept in the state folder, readable by its owner only. */
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "@radical/app/command-error";

export interface DeploymentKey {
  readonly id: string;
  /** 32 bytes as 64 hexadecimal characters. */
  readonly secret: string;
}

/** In the state folder. */
export const KEY_FILE = "key.json";
const SECRET = /^[0-9a-f]{64}$/;

/** Throws a CommandError if the stored key can't be used. */
export async function loadDeploymentKey(stateFolder: string): Promise<DeploymentKey> {
  const file = join(stateFolder, KEY_FILE);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (text === null) {
    const key: DeploymentKey = { id: "dev", secret: randomBytes(32).toString("hex") };
    await writeFile(file, `${JSON.stringify(key)}\n`, { mode: 0o600, flag: "wx" });
    return key;
  }
  const parsed = parse(text);
  if (parsed === null) {
    throw new CommandError(
      "key_invalid",
      `${file} does not hold a deployment key.`,
      "Remove the file: the next start makes a new key.",
    );
  }
  return parsed;
}

function parse(text: string): DeploymentKey | null {
  try {
    const { id, secret } = JSON.parse(text) as { readonly id?: unknown; readonly secret?: unknown };
    return typeof id === "string" && typeof secret === "string" && SECRET.test(secret) ? { id, secret } : null;
  } catch {
    return null;
  }
}
