/** The rows of ranges: a class of the SDK that the analyzer knows as it knows those of developers. */
import type { as } from "./assemblyscript.ts";

/** The file with the class, as the compiler names it. */
export const ROWS_LIBRARY = "~lib/@radical/sdk/rows";

export function isRowClass({ prototype }: as.Class): boolean {
  return prototype.internalName === `${ROWS_LIBRARY}/Row`;
}
