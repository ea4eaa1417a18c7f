/** Blobs: a class of the SDK that the analyzer knows as it knows the records of developers. */
import type { as } from "./assemblyscript.ts";

/** The file with the class, as the compiler names it. */
export const BLOB_LIBRARY = "~lib/@radical/sdk/blob";

/** Its path, which is that of a source. */
export const BLOB_PATH = `${BLOB_LIBRARY}.ts`;

export function isBlobClass({ prototype }: as.Class): boolean {
  return prototype.internalName === `${BLOB_LIBRARY}/Blob`;
}
