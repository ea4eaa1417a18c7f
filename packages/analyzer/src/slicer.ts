/**
 * The back half of the analyzer as the pipeline uses it.
 */
import { diagnostic } from "./diagnostics/catalogue.ts";
import { RadicalCompiler } from "./parse/compile.ts";
import { spanOfRange } from "./parse/span.ts";
import type { Slicer } from "./pipeline.ts";

export const slicer: Slicer<RadicalCompiler> = {
  createCompiler: (program) => new RadicalCompiler(program),
  deriveReadWriteSets: (front) =>
    front.handlers.map(({ name, declaration }) => ({
      kind: "near-storage",
      handler: name,
      reason: diagnostic("read_write_set_not_derived", {
        message: `the read/write set of ${name} can't be derived`,
        primary: spanOfRange(declaration.name.range),
      }),
      readOnly: false,
      reads: [],
      writes: [],
    })),
};
