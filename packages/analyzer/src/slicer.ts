/**
 * The back half of the analyzer as the pipeline uses it.
 */
import type { Slicer } from "./front.ts";
import { Derivations } from "./slice/derivations.ts";
import { deriveReadWriteSets } from "./slice/derive.ts";

export const slicer: Slicer = {
  deriveReadWriteSets: (front) => deriveReadWriteSets(front),
};

/** Derives only what is not as it was in its last build. */
export function rememberingSlicer(): Slicer {
  const derivations = new Derivations();
  return { deriveReadWriteSets: (front) => deriveReadWriteSets(front, derivations) };
}
