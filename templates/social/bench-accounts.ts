/** Accounts and sessions that are there when a benchmark begins. */
import { createHash, scryptSync } from "node:crypto";
import type { Draw } from "@radical/cli";

export const PASSWORD = "correct horse battery";
/** When sessions end: after each benchmark. */
const END_OF_CENTURY = 4_102_444_800_000;

/** The session by which somebody calls, by number. `src/sessions.ts` makes them as long. */
export function sessionOf(person: number): string {
  return String(person).padStart(64, "0");
}

/** The person of a session. */
export function personOf(session: string): number {
  return Number(session);
}

/** A login has a session of its own. */
export function newSession(draw: Draw): string {
  return createHash("sha256").update(`login ${draw.unit()}`).digest("hex");
}

/** As `handlers/lib/accounts.ts` stores them. */
export const stored = {
  session: (name: string) => ({ name, expiresAt: END_OF_CENTURY }),
  /** The salt is always the same. All accounts of a benchmark share the hash, because it takes long. */
  account: (name: string, passwordHash: string) => ({ name, passwordHash, failures: 0, failuresUntil: 0 }),
};

/** Of the password, as `hashPassword` of the SDK writes it. */
export function passwordHash(): string {
  const salt = Buffer.from("0123456789abcdef");
  const hash = scryptSync(PASSWORD, salt, 32, { N: 2 ** 14, r: 8, p: 5, maxmem: 2 ** 26 });
  const digits = (bytes: Buffer): string => bytes.toString("base64").replaceAll("=", "");
  return `$scrypt$ln=14,r=8,p=5$${digits(salt)}$${digits(hash)}`;
}
