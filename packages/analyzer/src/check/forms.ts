/**
 * Forms of TypeScript that handlers don't have, each with the form to use in its place.
 */
import { diagnostic, type DiagnosticCode } from "../diagnostics/catalogue.ts";
import { spanOf, type Diagnostic, type SourceFile } from "../diagnostics/diagnostic.ts";
import { scan, type ScannedToken } from "./scanner.ts";

interface Form {
  readonly message: string;
  readonly help: string;
}

const FORMS = {
  async_function: {
    message: "handlers are not async",
    help: "read and write tables directly: const user = users.get(name). Nothing is awaited, and all of it is one transaction",
  },
  generator_function: {
    message: "there are no generators",
    help: "return an array, or pass a function that is called for each value",
  },
  try_statement: {
    message: "handlers can't catch errors",
    help: "test what could fail before it does; end the whole handler with abort(status, code, message)",
  },
  for_of_loop: {
    message: "there is no for…of loop",
    help: "count: for (let i = 0; i < items.length; i++) { const item = items[i]; … }",
  },
  for_in_loop: {
    message: "there is no for…in loop",
    help: "count over an array, or over the keys of a map: const keys = map.keys(); for (let i = 0; i < keys.length; i++) …",
  },
  destructuring: {
    message: "there is no destructuring",
    help: "name each part: const first = pair[0]; const name = user.name;",
  },
  spread: {
    message: "there is no spread operator",
    help: "join arrays with concat or push in a loop; pass arguments one by one",
  },
  optional_chaining: {
    message: "there is no optional chaining",
    help: 'test for null first: const name = user == null ? "" : user.name;',
  },
  nullish_coalescing: {
    message: "there is no ?? operator",
    help: 'test for null: const name = given == null ? "nobody" : given;',
  },
  regular_expression: {
    message: "there are no regular expressions",
    help: "use the methods of strings: indexOf, includes, startsWith, split, charCodeAt",
  },
  labeled_statement: {
    message: "there are no labels",
    help: "put the loops into a function of their own and return from it",
  },
  type_import: {
    message: "there is no import type",
    help: 'import { User } from "../lib/models"',
  },
} as const satisfies Partial<Record<DiagnosticCode, Form>>;

type FormCode = keyof typeof FORMS;

/** What of these forms is in a file, in order. */
export function checkForms(file: SourceFile): Diagnostic[] {
  const tokens = scan(file.text);
  const found: Diagnostic[] = [];
  for (let index = 0; index < tokens.length; index++) {
    const code = formAt(tokens, index);
    if (code === null) continue;
    const { start, end } = tokens[index]!;
    found.push(diagnostic(code, { ...FORMS[code], primary: spanOf(file, start, end) }));
  }
  return found;
}

function formAt(tokens: readonly ScannedToken[], index: number): FormCode | null {
  const token = tokens[index]!;
  const before = tokens[index - 1];
  const after = (distance = 1): string => tokens[index + distance]?.text ?? "";
  const isName = (distance: number): boolean => tokens[index + distance]?.kind === "name";
  if (token.kind === "regex") return "regular_expression";
  if (token.kind === "punctuation") {
    switch (token.text) {
      case "?.":
        return "optional_chaining";
      case "??":
      case "??=":
        return "nullish_coalescing";
      case "...":
        // `...rest: T[]` declares a rest parameter.
        return isName(1) && after(2) === ":" ? null : "spread";
      default:
        return null;
    }
  }
  if (token.kind !== "name" || before?.text === ".") return null;
  switch (token.text) {
    case "async":
      return after() === "function" || (isName(1) && after(2) !== "=") || isAsyncArrow(tokens, index)
        ? "async_function"
        : null;
    case "await":
      return isName(1) ? "async_function" : null;
    case "function":
      if (after() === "*") return "generator_function";
      return hasPatternParameter(tokens, isName(1) ? index + 2 : index + 1) ? "destructuring" : null;
    case "try":
      return after() === "{" ? "try_statement" : null;
    case "let":
    case "const":
    case "var":
      return after() === "{" || after() === "[" ? "destructuring" : null;
    case "import":
      return after() === "type" && after(2) !== "from" ? "type_import" : null;
    case "for":
      return after() === "(" ? loopForm(tokens, index + 2) : null;
    default:
      // `name: for (…)`; not `case name: for (…)`.
      return after() === ":" && ["for", "while", "do"].includes(after(2)) && isStatementStart(before)
        ? "labeled_statement"
        : null;
  }
}

/** `async (…) =>`, not a call of a function named async. */
function isAsyncArrow(tokens: readonly ScannedToken[], index: number): boolean {
  if (tokens[index + 1]?.text !== "(") return false;
  let depth = 0;
  for (let at = index + 1; at < tokens.length; at++) {
    if (tokens[at]!.text === "(") depth++;
    else if (tokens[at]!.text === ")" && --depth === 0)
      return tokens[at + 1]?.text === "=>" || tokens[at + 1]?.text === ":";
  }
  return false;
}

function hasPatternParameter(tokens: readonly ScannedToken[], open: number): boolean {
  if (tokens[open]?.text !== "(") return false;
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    const { text } = tokens[at]!;
    if (text === "(") depth++;
    if (text === ")" && --depth === 0) return false;
    const starts = depth === 1 && (text === "(" || text === ",");
    const next = tokens[at + 1]?.text;
    if (starts && (next === "{" || next === "[")) return true;
  }
  return false;
}

/** The kind of a loop whose head starts at the index. */
function loopForm(tokens: readonly ScannedToken[], start: number): FormCode | null {
  let at = start;
  if (["let", "const", "var"].includes(tokens[at]?.text ?? "")) at++;
  if (tokens[at]?.kind !== "name") return null;
  const word = tokens[at + 1];
  if (word?.kind !== "name") return null;
  return word.text === "of" ? "for_of_loop" : word.text === "in" ? "for_in_loop" : null;
}

function isStatementStart(before: ScannedToken | undefined): boolean {
  return before === undefined || [";", "{", "}", ")"].includes(before.text);
}
