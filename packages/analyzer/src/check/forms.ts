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
  delete_operator: {
    message: "there is no delete operator",
    help: "delete items with users.delete(key), entries with map.delete(key); a nullable field is set to null",
  },
  logical_assignment: {
    message: "there are no ||= and &&= operators",
    help: "write it out: if (!ready) ready = compute();",
  },
  bigint_literal: {
    message: "there are no bigints",
    help: "use i64 or u64: const large: i64 = 10;",
  },
  type_operator: {
    message: "there are no operators on types",
    help: "write the type itself: a class, a number type, bool, string or an array",
  },
  const_assertion: {
    message: "there is no as const",
    help: "leave it out, or use const variables or an enum",
  },
  private_name: {
    message: "there are no #private names",
    help: "write private: private count: i32 = 0;",
  },
  dynamic_import: {
    message: "there is no import()",
    help: 'import at the top of the file: import { User } from "../lib/models"',
  },
  old_statement: {
    message: "there are no debugger and with statements",
    help: "leave it out",
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
  if (token.kind === "number") return /\dn$/.test(token.text) ? "bigint_literal" : null;
  if (token.kind === "punctuation") {
    switch (token.text) {
      case "?.":
        return "optional_chaining";
      case "??":
      case "??=":
        return "nullish_coalescing";
      case "&&=":
      case "||=":
        return "logical_assignment";
      case "#":
        return isName(1) ? "private_name" : null;
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
    case "delete":
      return isName(1) && isStatementStart(before) ? "delete_operator" : null;
    case "yield":
      return isStatementStart(before) && after() !== "=" && after() !== "(" ? "generator_function" : null;
    case "debugger":
      return isStatementStart(before) && after() === ";" ? "old_statement" : null;
    case "with":
      return isStatementStart(before) && after() === "(" && endsInBlock(tokens, index + 1) ? "old_statement" : null;
    case "satisfies":
      return endsExpression(before) && isName(1) ? "type_operator" : null;
    case "keyof":
      return isName(1) && [":", "<", "|", "&", "=", "as"].includes(before?.text ?? "") ? "type_operator" : null;
    case "as":
      return after() === "const" ? "const_assertion" : null;
    case "is":
      return before?.kind === "name" && tokens[index - 2]?.text === ":" && tokens[index - 3]?.text === ")"
        ? "type_operator"
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
      if (after() === "(") return "dynamic_import";
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

/** Whether a block follows the parentheses that open at the index: no call. */
function endsInBlock(tokens: readonly ScannedToken[], open: number): boolean {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    if (tokens[at]!.text === "(") depth++;
    else if (tokens[at]!.text === ")" && --depth === 0) return tokens[at + 1]?.text === "{";
  }
  return false;
}

function endsExpression(before: ScannedToken | undefined): boolean {
  if (before === undefined) return false;
  return before.kind === "punctuation" ? [")", "]", "}"].includes(before.text) : before.text !== "return";
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
