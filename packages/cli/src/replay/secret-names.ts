/**
 * Fields whose names say that they are secret: the dashboard masks them wherever it shows values. Handlers may have declared none of
 * them as such.
 */
import { isObject, type Json, jsonText, parseJson } from "@radical/app";
import { SHOWN_SECRET } from "@radical/protocol";
import type { Difference } from "./differences.ts";
import { shownValue } from "./recorded-part.ts";

const SECRET = /password|passphrase|secret|token|credential/i;
/** A value that JSON can't hold, as `shownValue` has it. */
const CBOR_TEXT = /^cbor ([\w+/=]*)$/;

/** Secrets that a person has typed are masked. */
export function shownArguments(args: Uint8Array): string {
  return withoutSecretNames(shownValue(args));
}

/** A value as text for people, without what is secret by its name. */
export function withoutSecretNames(shown: string): string {
  const cbor = CBOR_TEXT.exec(shown)?.[1];
  if (cbor !== undefined) return hasSecretName(cbor) ? SHOWN_SECRET : shown;
  if (!SECRET.test(shown) && !shown.includes("cbor")) return shown;
  try {
    return jsonText(masked(parseJson(shown)));
  } catch (error) {
    // Words, or what handlers of tests take: any bytes.
    if (error instanceof SyntaxError) return shown;
    throw error;
  }
}

/** Whether the path of a difference ends in a field that is secret by its name. Names of items say nothing of that. */
export function isSecretPath(difference: Difference, path: string): boolean {
  switch (difference.kind) {
    case "write":
      return SECRET.test(path.slice(difference.unit.length));
    case "effect":
    case "way":
    case "outcome":
      return SECRET.test(path);
    case "handler_gone":
    case "read_outside":
    case "fuel":
    case "not_run":
      return false;
  }
}

function masked(json: Json): Json {
  if (typeof json === "string") {
    const cbor = CBOR_TEXT.exec(json)?.[1];
    return cbor !== undefined && hasSecretName(cbor) ? SHOWN_SECRET : json;
  }
  if (Array.isArray(json)) return (json as readonly Json[]).map(masked);
  if (!isObject(json)) return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => {
      const isSecret = SECRET.test(name) || (name === "cbor" && typeof value === "string" && hasSecretName(value));
      return [name, isSecret ? SHOWN_SECRET : masked(value)];
    }),
  );
}

/** The names of fields stand in the bytes as they are. */
function hasSecretName(base64: string): boolean {
  return SECRET.test(Buffer.from(base64, "base64").toString("latin1"));
}
