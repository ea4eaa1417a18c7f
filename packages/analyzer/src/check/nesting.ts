/**
 * How deep the code of a file is nested. The compiler and the analyzer walk syntax trees recursively: a tree without
 * limit would end them by a stack overflow, which has no place in the source.
 */
import { diagnostic } from "../diagnostics/catalogue.ts";
import { spanOf, type Diagnostic, type SourceFile } from "../diagnostics/diagnostic.ts";
import type { as } from "../parse/assemblyscript.ts";
import { childrenOf } from "../parse/children.ts";
import { spanOfRange } from "../parse/span.ts";
import type { ScannedToken } from "./scanner.ts";

/** Of a large file, most comes behind the place. */
const FIRST_TRIED = 16_384;

/** Levels of the syntax tree; the stack of Node's main thread is enough for half as many again. */
const MOST_LEVELS = 500;

/** Brackets in brackets, each at least a level, before the parser sees them. */
export function checkBrackets(file: SourceFile, tokens: readonly ScannedToken[]): Diagnostic | null {
  let depth = 0;
  for (const { kind, text, start, end } of tokens) {
    if (kind !== "punctuation") continue;
    if (text === "(" || text === "[" || text === "{") depth++;
    else if (text === ")" || text === "]" || text === "}") depth--;
    if (depth > MOST_LEVELS) return tooDeep(spanOf(file, start, end));
  }
  return null;
}

/**
 * Where a parser overflows the stack. It does not say so itself, but it does not overflow before it has come there: the
 * shortest beginning of the file that is too much ends at the place. `overflows`: whether a text is too much.
 */
export function overflowPlace(file: SourceFile, overflows: (text: string) => boolean): Diagnostic {
  const { length } = file.text;
  let fits = 0;
  let tooMuch = Math.min(FIRST_TRIED, length);
  while (tooMuch < length && !overflows(file.text.slice(0, tooMuch))) {
    fits = tooMuch;
    tooMuch = Math.min(2 * tooMuch, length);
  }
  while (tooMuch - fits > 1) {
    const middle = Math.floor((fits + tooMuch) / 2);
    if (overflows(file.text.slice(0, middle))) tooMuch = middle;
    else fits = middle;
  }
  return tooDeep(spanOf(file, fits, tooMuch));
}

/** A place that is too deep: of a long sum, one of its first terms. */
export function checkNesting(source: as.Source): Diagnostic | null {
  const waiting: { readonly node: as.Node; readonly level: number }[] = [{ node: source, level: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, level } = next;
    if (level > MOST_LEVELS) return tooDeep(spanOfRange(node.range));
    for (const child of childrenOf(node)) waiting.push({ node: child, level: level + 1 });
  }
  return null;
}

function tooDeep(primary: Diagnostic["primary"]): Diagnostic {
  return diagnostic("nested_too_deeply", {
    message: `this code is nested in more than ${MOST_LEVELS} levels of expressions and statements`,
    primary,
    help: "take it apart: a long sum in several statements or a loop, inner blocks as functions, values in an array",
  });
}
