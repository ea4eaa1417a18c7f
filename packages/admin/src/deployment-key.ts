/** The keys of a development deployment: made on first use, kept in the state folder, readable by their owner only. */
import { randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "@radical/app/command-error";
import { type AdministrationKey, isPrivateHalf, newAdministrationKey, publicKeyText } from "./administration-key.ts";

/** Locations sign with it. */
export interface DeploymentKey {
  readonly id: string;
  /** 32 bytes as 64 hexadecimal characters. */
  readonly secret: string;
}

export interface DeploymentKeys {
  readonly location: DeploymentKey;
  readonly administration: AdministrationKey;
}

/** In the state folder. */
export const KEY_FILE = "key.json";
const SECRET = /^[0-9a-f]{64}$/;

/** Keys that nobody else has. */
export function newDeploymentKeys(id: string): DeploymentKeys {
  const location: DeploymentKey = { id, secret: randomBytes(32).toString("hex") };
  return { location, administration: newAdministrationKey(`${id}-admin`) };
}

/** The text that a server is given: the secret of locations, and the public half of administration. */
export function serverKeysText({ location: { id, secret }, administration }: DeploymentKeys): string {
  return `${id}:${secret},${publicKeyText(administration)}`;
}

/** Throws a CommandError if the stored keys can't be used. */
export async function loadDeploymentKeys(stateFolder: string): Promise<DeploymentKeys> {
  const file = join(stateFolder, KEY_FILE);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (text === null) {
    const keys = newDeploymentKeys("dev");
    await writeFile(file, textOf(keys), { mode: 0o600, flag: "wx" });
    return keys;
  }
  const parsed = parse(text);
  if (parsed === null) {
    throw new CommandError(
      "key_invalid",
      `${file} does not hold the keys of a deployment.`,
      "Remove the file: the next start makes new keys.",
    );
  }
  const { location, administration } = parsed;
  if (administration !== null) return { location, administration };
  // Of a release before there were two. A file beside it, so that no reader sees half of one.
  const keys = { location, administration: newAdministrationKey(`${location.id}-admin`) };
  const whole = `${file}.${randomBytes(4).toString("hex")}`;
  await writeFile(whole, textOf(keys), { mode: 0o600, flag: "wx" });
  await rename(whole, file);
  return keys;
}

function textOf({ location, administration }: DeploymentKeys): string {
  return `${JSON.stringify({ ...location, administration })}\n`;
}

interface Parsed {
  readonly location: DeploymentKey;
  readonly administration: AdministrationKey | null;
}

function parse(text: string): Parsed | null {
  try {
    const { id, secret, administration = null } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if (typeof id !== "string" || typeof secret !== "string" || !SECRET.test(secret)) return null;
    if (administration === null) return { location: { id, secret }, administration };
    const { id: adminId, privateHalf } = administration as Readonly<Record<string, unknown>>;
    if (typeof adminId !== "string" || typeof privateHalf !== "string" || !isPrivateHalf(privateHalf)) return null;
    return { location: { id, secret }, administration: { id: adminId, privateHalf } };
  } catch {
    return null;
  }
}
