/**
 * For tests of the front half: a slicer that derives nothing.
 */
import { diagnostic } from "../diagnostics/catalogue.ts";
import { spanOfRange } from "../parse/span.ts";
import type { Slicer } from "../front.ts";

export const deriveNothing: Slicer = {
  deriveReadWriteSets: (front) =>
    front.handlers.map(({ name, declaration }) => ({
      kind: "refused",
      handler: name,
      reason: diagnostic("analyzer_crash", {
        message: `${name} is not analyzed`,
        primary: spanOfRange(declaration.name.range),
      }),
      products: [],
      readOnly: false,
      tables: null,
      reads: [],
      writes: [],
      steps: { handler: null, readWriteSet: null },
    })),
};
