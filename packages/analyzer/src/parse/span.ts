/**
 * From places in the compiler's syntax trees to spans of the developer's files.
 */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { as } from "./assemblyscript.ts";

export function spanOfRange(range: as.Range): Span {
  const { source, start, end } = range;
  // The source keeps where its lines begin. It counts columns in the line that it was asked for last.
  const line = source.lineAt(start);
  return { file: source.normalizedPath, start, end, line, column: source.columnAt() };
}

/** The text that a node was parsed from. */
export function textOf(node: as.Node): string {
  return node.range.source.text.slice(node.range.start, node.range.end);
}

/** The compiler's words with types as the developer writes them: `string` for `~lib/string/String`. */
export function readableTypes(text: string): string {
  return text
    .replaceAll("~lib/@radical/sdk", "@radical/sdk")
    .replaceAll("~lib/string/String", "string")
    .replaceAll(/(?<![@\w/-])(?:~lib\/)?(?:[\w-]+\/)+(?=[A-Za-z_$][\w$]*(?:[<>,' |)[#.]|$))/g, "");
}
