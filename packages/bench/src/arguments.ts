/** Arguments of a call as handlers get them. */
import { encodeArguments, type Manifest } from "@radical/protocol";

/** Throws an Error that says what is wrong with them. */
export function argumentsOf(manifest: Manifest, handler: string, args: unknown): Uint8Array {
  const declaration = manifest.handlers[handler];
  if (declaration === undefined) throw new Error(`there is no handler "${handler}"`);
  const encoded = encodeArguments(declaration.parameters, manifest.records, args);
  if (encoded.kind === "problem") throw new Error(`${handler}: ${encoded.problem.message}`);
  return encoded.bytes;
}
