/**
 * Splits a source file into tokens, as TypeScript would. AssemblyScript's parser stops at the first form that it does not
 * have, often at a place that says nothing. On tokens all such forms are found by name, whatever else is wrong with the
 * file.
 */

export interface ScannedToken {
  readonly kind: "name" | "punctuation" | "number" | "string" | "template" | "regex";
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A token that knows its brackets, by index. */
export interface NestedToken extends ScannedToken {
  /** The bracket that it stands in; -1: none. */
  readonly opener: number;
  /** The bracket that closes this opening one, or the end of the tokens if none does. Null: it is not an opening bracket. */
  closer: number | null;
}

const PUNCTUATION = [
  ">>>=", "...", "===", "!==", "**=", "<<=", ">>=", "&&=", "||=", "??=", "=>", "==", "!=", "<=", ">=", "&&", "||", "??",
  "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", "**",
] as const; // prettier-ignore

/** Words after which a slash starts a regular expression rather than a division. */
const BEFORE_EXPRESSION = new Set([
  "return",
  "case",
  "typeof",
  "in",
  "of",
  "instanceof",
  "new",
  "throw",
  "else",
  "do",
  "void",
]);

const NAME = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;
const NUMBER = /(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][+-]?\d+)?)n?/y;
const SPACE = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/y;
const STRING = /"(?:[^"\\\n]|\\[\s\S])*"?|'(?:[^'\\\n]|\\[\s\S])*'?/y;
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;

/** All tokens; comments and white space are left out. The expressions in a template's holes are tokens, too. */
export function scan(text: string): ScannedToken[] {
  const tokens: ScannedToken[] = [];
  /** For each open template hole: the depth of braces inside it. */
  const holes: number[] = [];
  let at = 0;

  const match = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null || found[0].length === 0) return false;
    at = pattern.lastIndex;
    return true;
  };
  const push = (kind: ScannedToken["kind"], start: number): void => {
    tokens.push({ kind, text: text.slice(start, at), start, end: at });
  };
  /** From the start or the end of a hole to the next hole or the end of the template. */
  const template = (): void => {
    while (at < text.length) {
      const unit = text[at]!;
      if (unit === "\\") at = Math.min(at + 2, text.length);
      else if (unit === "`") {
        at++;
        return;
      } else if (unit === "$" && text[at + 1] === "{") {
        at += 2;
        holes.push(0);
        return;
      } else at++;
    }
  };

  while (at < text.length) {
    if (match(SPACE)) continue;
    const start = at;
    const unit = text[at]!;
    if (match(NAME)) push("name", start);
    else if (match(STRING)) push("string", start);
    else if (unit === "`") {
      at++;
      template();
      push("template", start);
    } else if (unit === "}" && holes.at(-1) === 0) {
      holes.pop();
      at++;
      template();
      push("template", start);
    } else if (/\d/.test(unit) || (unit === "." && /\d/.test(text[at + 1] ?? ""))) {
      match(NUMBER);
      push("number", start);
    } else if (unit === "/" && expectsExpression(tokens.at(-1)) && match(REGEX)) push("regex", start);
    else {
      let length = PUNCTUATION.find((candidate) => text.startsWith(candidate, at))?.length ?? 1;
      // `a ?.5 : b` is a conditional.
      if (text.startsWith("?.", at) && /\d/.test(text[at + 2] ?? "")) length = 1;
      at += length;
      if (holes.length > 0 && unit === "{") holes[holes.length - 1]!++;
      if (holes.length > 0 && unit === "}") holes[holes.length - 1]!--;
      push("punctuation", start);
    }
  }
  return tokens;
}

function expectsExpression(before: ScannedToken | undefined): boolean {
  if (before === undefined) return true;
  if (before.kind === "name") return BEFORE_EXPRESSION.has(before.text);
  if (before.kind === "template") return before.text.endsWith("${");
  return before.kind === "punctuation" && ![")", "]", "}", "++", "--"].includes(before.text);
}

/** The tokens with the brackets that they stand in; brackets match whatever their kinds. */
export function nested(tokens: readonly ScannedToken[]): readonly NestedToken[] {
  const open: NestedToken[] = [];
  const places: number[] = [];
  return tokens.map((token, index) => {
    const isBracket = token.kind === "punctuation";
    if (isBracket && /^[)\]}]$/.test(token.text)) {
      const opening = open.pop();
      places.pop();
      if (opening !== undefined) opening.closer = index;
    }
    const opens = isBracket && /^[([{]$/.test(token.text);
    const known: NestedToken = { ...token, opener: places.at(-1) ?? -1, closer: opens ? tokens.length : null };
    if (opens) {
      open.push(known);
      places.push(index);
    }
    return known;
  });
}
