/**
 * The back half of the analyzer as the pipeline uses it.
 */
import type { Slicer } from "./pipeline.ts";
import { deriveReadWriteSets } from "./slice/derive.ts";

export const slicer: Slicer = {
  deriveReadWriteSets,
};
