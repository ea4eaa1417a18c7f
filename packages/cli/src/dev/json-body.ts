/** The body of a request to the control of `radical dev`. */
import type { IncomingMessage } from "node:http";
import { CommandError } from "@radical/app/command-error";

/** More than the arguments of a handler may have. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;

/** Throws a CommandError. */
export async function jsonOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new CommandError("request_too_large", "The body is too large.", "Send less.");
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw new CommandError("invalid_json", "The body is not JSON.", 'Send for example {"primaryDown": true}.');
  }
}
