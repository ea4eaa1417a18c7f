/** Where syntax nodes stand, and whose they are. */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { as } from "../parse/assemblyscript.ts";
import { spanOfRange } from "../parse/span.ts";
import { BLOB_LIBRARY } from "../parse/blobs.ts";
import { ROWS_LIBRARY } from "../parse/rows.ts";
import { TUPLES_LIBRARY } from "../parse/tuples.ts";

export function spanOf(node: as.Node): Span {
  return spanOfRange(node.range);
}

export function sourcePath(element: as.DeclaredElement): string {
  return element.declaration.range.source.internalPath;
}

/** Written by the developer, not part of AssemblyScript's library or the SDK. Tuples, rows and blobs are classes like those of developers. */
export function isApplication(path: string): boolean {
  return !path.startsWith("~lib/") || path === TUPLES_LIBRARY || path === ROWS_LIBRARY || path === BLOB_LIBRARY;
}
