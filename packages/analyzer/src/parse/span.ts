/**
 * From places in the compiler's syntax trees to spans of the developer's files.
 */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { as } from "./assemblyscript.ts";
import { readableShapes } from "./shapes.ts";
import { readableTuples } from "./tuples.ts";
import { writtenText } from "./written.ts";

export function spanOfRange(range: as.Range): Span {
  const { source, start, end } = range;
  // The source keeps where its lines begin. It counts columns in the line that it was asked for last.
  const line = source.lineAt(start);
  return { file: source.normalizedPath, start, end, line, column: source.columnAt() };
}

/** The place by which the host knows a call of `random` or `uuid`. */
export function drawPlace({ file, line, column }: Span): string {
  return `${file}:${line}:${column}`;
}

/** The text that a node was parsed from, for code that is generated: it says first where it is from. */
export function copiedText(node: as.Node): string {
  return `/*@${node.range.source.normalizedPath}@${node.range.start}*/${textOf(node)}`;
}

const COPY = /^\/\*@(.+)@(\d+)\*\//;

/** Where a place in generated code was copied from: path and offset; null if it was not. */
export function originOf(source: as.Source, at: number): { readonly path: string; readonly start: number } | null {
  const mark = source.text.lastIndexOf("/*@", at);
  const found = mark === -1 ? null : COPY.exec(source.text.slice(mark, at));
  if (found === null) return null;
  return { path: found[1]!, start: Number(found[2]) + at - mark - found[0].length };
}

/** The text that a node was parsed from. */
export function textOf(node: as.Node): string {
  const own = writtenText(node);
  if (own !== undefined) return own;
  return node.range.source.text.slice(node.range.start, node.range.end);
}

/** The compiler's words with types as the developer writes them: `string` for `~lib/string/String`. */
export function readableTypes(text: string): string {
  return readableTuples(readableShapes(text))
    .replaceAll(/(?:~lib\/)?@radical\/sdk\/boxed\/Boxed<(\w+)>/g, "$1")
    .replaceAll(/(?:~lib\/)?@radical\/sdk\/entries\/Record</g, "Record<")
    .replaceAll(/(?:~lib\/)?@radical\/sdk\/(?:ranges\/(?=Range<)|rows\/(?=Row<))/g, "")
    .replaceAll("~lib/@radical/sdk/index/", "")
    .replaceAll("~lib/@radical/sdk", "@radical/sdk")
    .replaceAll("~lib/string/String", "string")
    .replaceAll(/(?<![@\w/-])(?:~lib\/)?(?:[\w-]+\/)+(?=[A-Za-z_$][\w$]*(?:[<>,' |)[#.]|$))/g, "");
}
