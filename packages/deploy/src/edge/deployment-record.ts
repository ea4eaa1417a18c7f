/**
 * What a version of the Worker says of itself: a variable in it, which every later version that only gets another
 * secret keeps, and its tag and message, which Cloudflare's own tools show.
 */
import { randomBytes } from "node:crypto";
import { type ModuleHash, isModuleHash } from "@radical/protocol";

export interface DeploymentRecord {
  /** Of the `radical deploy` that made it. */
  readonly deployment: string;
  readonly module: ModuleHash;
  /** Digest of all that was uploaded. */
  readonly build: string;
  /** Where its primary is, in words that tell two primaries apart. */
  readonly primary: string;
  /** Digest of its routes and schedules, which are no part of a version. */
  readonly triggers: string;
}

/** The variable that holds it, as JSON. */
export const RECORD_VARIABLE = "RADICAL_DEPLOYMENT";

/** Cloudflare keeps 25 characters of a tag and 100 of a message. */
export function annotationsOf({ deployment, module, build }: DeploymentRecord): {
  readonly tag: string;
  readonly message: string;
} {
  return { tag: deployment, message: `module ${module} build ${build.slice(0, BUILD_SHOWN)}` };
}

const BUILD_SHOWN = 12;

/** Before the message of a version that serves from its upload on. wrangler makes its routes and schedules after that. */
export const AT_ONCE = "at once: ";

/** `20261121-141503-3fa9`: in the order of time, and not twice. */
export function newDeploymentId(nowMs: number): string {
  const [date = "", time = ""] = new Date(nowMs).toISOString().replaceAll(/[-:]/g, "").split(/[T.]/);
  return `${date}-${time}-${randomBytes(2).toString("hex")}`;
}

/** Null: the text is no record. */
export function parseRecord(text: string | undefined): DeploymentRecord | null {
  try {
    const { deployment, module, build, primary, triggers } = JSON.parse(text ?? "") as Partial<Record<string, unknown>>;
    const areTexts = [deployment, module, build, primary, triggers].every((field) => typeof field === "string");
    if (!areTexts || !isModuleHash(module as string)) return null;
    return { deployment, module, build, primary, triggers } as DeploymentRecord;
  } catch {
    return null;
  }
}
