/**
 * The back half of the analyzer as the pipeline uses it.
 */
import { FactsCompiler } from "./parse/facts.ts";
import type { Slicer } from "./pipeline.ts";
import { deriveReadWriteSets } from "./slice/derive.ts";

export const slicer: Slicer<FactsCompiler> = {
  createCompiler: (program) => new FactsCompiler(program),
  deriveReadWriteSets,
};
