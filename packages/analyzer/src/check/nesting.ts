/**
 * The depth to which the code of a file is nested. The compiler and the analyzer walk syntax trees recursively. A tree
 * without limit would end them by a stack overflow, which has no place in the source.
 */
import { diagnostic } from "../diagnostics/catalogue.ts";
import { spanOf, type Diagnostic, type SourceFile } from "../diagnostics/diagnostic.ts";
import type { as } from "../parse/assemblyscript.ts";
import { childrenOf } from "../parse/children.ts";
import { spanOfRange } from "../parse/span.ts";
import type { ScannedToken } from "./scanner.ts";

/** Length of the beginning that is tried first: most of a large file comes behind the place. */
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
 * The place where a parser overflows the stack. The parser does not name it, but overflows only when it has come there.
 * So the shortest beginning of the file that overflows ends at the place. `overflows`: whether a text does.
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

/** The diagnostic for a place that is too deep, which is one of the first terms of a long sum; null: there is none. */
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
    message: `This code is nested in more than ${MOST_LEVELS} levels of expressions and statements.`,
    primary,
    help: "Take it apart: a long sum into several statements or a loop, inner blocks into functions, values into an array.",
  });
}
