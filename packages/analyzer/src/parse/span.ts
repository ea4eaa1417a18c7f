/**
 * From places in the compiler's syntax trees to spans of the developer's files.
 */
import { spanOf, type Span } from "../diagnostics/diagnostic.ts";
import type { as } from "./assemblyscript.ts";

export function spanOfRange(range: as.Range): Span {
  const { source, start, end } = range;
  return spanOf({ path: source.normalizedPath, text: source.text }, start, end);
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
