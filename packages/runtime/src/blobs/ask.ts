/** Calls of the hidden handlers that tell how far the bytes of a hash have come. They run near storage. */
import { type BLOB_HANDLERS, CborWriter, type HandlerManifest } from "@radical/protocol";
import type { CallInput, Exchange } from "../exchange.ts";

export type BlobHandler = (typeof BLOB_HANDLERS)[number];

/** Gives what the handler answers. Throws a CallError if there is no answer. */
export type AskBlobs = (handler: BlobHandler, args: readonly (string | number)[]) => Promise<readonly string[]>;

const DECLARATION: HandlerManifest = {
  parameters: [],
  result: null,
  plan: "near-storage",
  readOnly: false,
  file: "",
  line: 0,
};

export async function inputOf(
  one: Exchange,
  handler: BlobHandler,
  args: readonly (string | number)[],
): Promise<CallInput> {
  const writer = new CborWriter().array(args.length);
  for (const arg of args) {
    if (typeof arg === "string") writer.text(arg);
    else writer.integer(arg);
  }
  const identity = await one.identify(null, null, one.name(handler));
  const rest = { caller: null, mustNotWrite: false, live: null };
  return { handler, declaration: DECLARATION, args: writer.finish(), identity, ...rest };
}
