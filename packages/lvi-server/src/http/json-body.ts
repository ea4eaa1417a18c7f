/** Bodies of JSON. */
import { MalformedError } from "@radical/protocol";

/** Throws a MalformedError unless it is an object. */
export function jsonOf(body: Uint8Array): Readonly<Record<string, unknown>> {
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(body).toString());
  } catch {
    throw new MalformedError("the body is no JSON");
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw new MalformedError("no JSON object");
  return json as Readonly<Record<string, unknown>>;
}
