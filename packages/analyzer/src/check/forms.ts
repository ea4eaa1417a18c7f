/**
 * Forms of TypeScript that handlers don't have, each with the form to use in its place.
 */
import { diagnostic, type DiagnosticCode } from "../diagnostics/catalogue.ts";
import { spanOf, type Diagnostic, type SourceFile } from "../diagnostics/diagnostic.ts";
import { LOCAL_DECLARATION, REGULAR_EXPRESSION } from "../diagnostics/words.ts";
import { formFix } from "./form-fixes.ts";
import { nested, type NestedToken, type ScannedToken } from "./scanner.ts";

interface Form {
  readonly message: string;
  readonly help: string;
}

const FORMS = {
  async_function: {
    message: "A handler can't be async, because it never waits: a table gives its items directly.",
    help: "Leave out `async`, `await` and `Promise`: `const user = users.get(name);`. The whole handler is one transaction.",
  },
  generator_function: {
    message: "Handlers have no generators.",
    help: "Return an array, or take a function and call it for each value: `each: (value: i32) => void`.",
  },
  try_statement: {
    message: "A handler can't catch errors, because an error ends the whole handler and undoes its writes.",
    help: "Test for the failure beforehand: `if (n == 0) return 0;`. To answer with an error, call `abort(status, code, message)`.",
  },
  for_in_loop: {
    message: "Handlers have no `for … in` loop, because the names of an object's fields are not there when it runs.",
    help: "Loop over an array, or over the keys of a map: `for (const key of map.keys()) …`.",
  },
  regular_expression: REGULAR_EXPRESSION,
  labeled_statement: {
    message: "Handlers have no labels.",
    help: "Put the loops into a function of their own, and leave both with `return`.",
  },
  type_import: {
    message: "Handlers have no `import type`, because types and values are imported alike.",
    help: 'Leave out `type`: `import { User } from "../lib/models";`.',
  },
  bigint_literal: {
    message: "Handlers have no bigints.",
    help: "Write a whole number of 64 bits: `const large: i64 = 10;`.",
  },
  type_operator: {
    message: "Handlers have no operators on types.",
    help: "Write out the resulting type: a record, a type of numbers, `bool`, `string` or an array.",
  },
  assertion_signature: {
    message: "Handlers have no assertion signatures, because a call does not change the type of its arguments.",
    help: "Test the value where you use it: `if (user == null) abort(404, …);`. After this line `user` is not null.",
  },
  symbol: {
    message: "Handlers have no symbols.",
    help: "Use a text or a member of an enum. For your own collection, write a method that returns an array, and loop over that.",
  },
  computed_name: {
    message: "The name of a member can't be computed, because the members of a class are fixed when it is compiled.",
    help: "Write the name itself. For computed names use a map: `const ages = new Map<string, i32>();`.",
  },
  private_name: {
    message: "Handlers have no names with `#`.",
    help: "Write `private` instead: `private count: i32 = 0;`.",
  },
  dynamic_import: {
    message: "Handlers have no `import()`, because the build compiles all files together.",
    help: 'Import at the top of the file: `import { User } from "../lib/models";`.',
  },
  old_statement: {
    message: "Handlers have no `debugger` and `with` statements.",
    help: 'Leave the statement out. To see how a handler runs, write `log("…")` with the `log` of `@radical/sdk`.',
  },
  unknown_decorator: {
    message: "Handlers can't have decorators of your own.",
    help: "Call the function yourself. AssemblyScript has a few decorators: `@inline`, `@final` and `@operator` are among them.",
  },
  nondeterministic: {
    message: "A handler can't read the clock, because a second run of the execution would read another time.",
    help: 'Write `new Date(now())`, with `import { now } from "@radical/sdk"`. This is the recorded time of the execution.',
  },
  void_operator: {
    message: "Handlers have no `void` operator.",
    help: "Call the function as a statement of its own: `save(user);`.",
  },
  object_literal: {
    message: "An object literal can only give values to fields. It has no accessors and methods.",
    help: "Write a class with the method, and construct it: `new Box(2)`.",
  },
  index_signature: {
    message: "Handlers have no index signatures, because the fields of an object are fixed when it is compiled.",
    help: "Use a map: `const ages: Record<string, i32> = {};`.",
  },
  string_enum: {
    message: "A member of an enum is a number, and can't be a text.",
    help: 'Write a union of texts: `type State = "open" | "done";`. Or leave the texts out: `State[value]` is the name of a member.',
  },
  local_declaration: LOCAL_DECLARATION,
  this_parameter: {
    message: "A function can't have a parameter named `this`.",
    help: "Write a method, or give the parameter another name.",
  },
  class_form: {
    message:
      "Handlers have no static blocks, `accessor` and `declare` fields, `override` modifiers and `using` declarations.",
    help: "Give a static field its value where it is declared: `static most: i32 = 10;`. Write `get` and `set` for `accessor`, and leave out `override`.",
  },
  module_form: {
    message:
      "A file exports and imports by name. It has no module declarations, `export =`, `export * as` and `import = require()`.",
    help: 'Write `export { User } from "./models";` and `import { User } from "../lib/models";`.',
  },
  meta_property: {
    message: "Handlers have no `new.target` and no `import.meta`, because they run the same wherever they are loaded.",
    help: "Leave it out. If a function needs to know its caller, pass that as an argument.",
  },
  call_signature: {
    message: "A type can't have call and construct signatures.",
    help: "Write a function type: `type Format = (count: i32) => string;`. For a construct signature, take a function that makes the object.",
  },
} as const satisfies Partial<Record<DiagnosticCode, Form>>;

type FormCode = keyof typeof FORMS;

type Tokens = readonly NestedToken[];

/** The most diagnostics of these forms for one file: the first ones. */
const MOST_FORMS = 200;

/** The diagnostics for the forms in a file with these tokens, in order. */
export function checkForms(file: SourceFile, scanned: readonly ScannedToken[]): Diagnostic[] {
  const tokens = nested(scanned);
  const found: Diagnostic[] = [];
  for (let index = 0; index < tokens.length && found.length < MOST_FORMS; index++) {
    const code = formAt(tokens, index);
    if (code === null) continue;
    const { start, end } = tokens[index]!;
    const fix = formFix(code, file, tokens, index) ?? undefined;
    found.push(diagnostic(code, { ...FORMS[code], primary: spanOf(file, start, end), fix }));
  }
  return found;
}

function formAt(tokens: Tokens, index: number): FormCode | null {
  const token = tokens[index]!;
  const before = tokens[index - 1];
  const after = (distance = 1): string => tokens[index + distance]?.text ?? "";
  const isName = (distance: number): boolean => tokens[index + distance]?.kind === "name";
  if (token.kind === "regex") return "regular_expression";
  if (token.kind === "number") return /\dn$/.test(token.text) ? "bigint_literal" : null;
  if (token.kind === "punctuation") {
    switch (token.text) {
      case "#":
        return isName(1) ? "private_name" : null;
      case "{":
        return isObjectLiteral(tokens, index) && hasLiteralMember(tokens, index) ? "object_literal" : null;
      case "[":
        if (isIndexSignature(tokens, index)) return isMember(tokens, index) ? "index_signature" : null;
        if (isMemberName(tokens, index)) return "computed_name";
        return null;
      case ":": {
        const next = after();
        if (next === "asserts" && before?.text === ")" && isName(2)) return "assertion_signature";
        if (next === "symbol" && isTyped(tokens, index)) return "symbol";
        if (tokens[index + 1]?.kind === "number" && isTyped(tokens, index)) return "type_operator";
        if (next === "unique" && after(2) === "symbol") return "type_operator";
        if (next === "typeof" && isTyped(tokens, index)) return "type_operator";
        if (next === "new" && isTyped(tokens, index)) return "call_signature";
        return isName(1) && after(2) === "[" && tokens[index + 3]?.kind === "string" && isTyped(tokens, index)
          ? "type_operator"
          : null;
      }
      case "@":
        return isName(1) && !DECORATORS.has(after()) ? "unknown_decorator" : null;
      case "(":
        return after() === "this" && after(2) === ":" ? "this_parameter" : null;
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
    case "yield":
      return isStatementStart(before) && after() !== "=" && after() !== "(" ? "generator_function" : null;
    case "void":
      return isStatementStart(before) && (isName(1) || after() === "(") ? "void_operator" : null;
    case "enum":
      if (isInFunction(tokens, index)) return "local_declaration";
      return hasStringValue(tokens, index) ? "string_enum" : null;
    case "interface":
      if (!isName(1) || !isStatementStart(before, "export")) return null;
      if (isInFunction(tokens, index)) return "local_declaration";
      return hasCallSignature(tokens, index) ? "call_signature" : null;
    case "namespace":
      return isName(1) && isStatementStart(before) && isInFunction(tokens, index) ? "local_declaration" : null;
    case "class":
      return before?.text !== "abstract" && isInFunction(tokens, index) ? "local_declaration" : null;
    case "Symbol":
      return after() === "(" || after() === "." ? "symbol" : null;
    case "module":
    case "global":
      return before?.text === "declare" ? "module_form" : null;
    case "override":
    case "declare":
      return isName(1) && isMember(tokens, index) ? "class_form" : null;
    case "export":
      if (after() === "type" && after(2) === "{") return "type_import";
      return after() === "=" || (after() === "*" && after(2) === "as") ? "module_form" : null;
    case "static":
      return after() === "{" ? "class_form" : null;
    case "accessor":
      return isName(1) && after(2) === ":" ? "class_form" : null;
    case "using":
      return isName(1) && after(2) === "=" && isStatementStart(before) ? "class_form" : null;
    case "new":
      if (after() === "Date" && after(2) === "(" && after(3) === ")") return "nondeterministic";
      return after() === "." ? "meta_property" : null;
    case "type":
      if (isName(1) && isImportList(tokens, opener(tokens, index))) return "type_import";
      return isName(1) && isStatementStart(before, "export") ? aliasForm(tokens, index) : null;
    case "debugger":
      return isStatementStart(before) && after() === ";" ? "old_statement" : null;
    case "with":
      return isStatementStart(before) && after() === "(" && endsInBlock(tokens, index + 1) ? "old_statement" : null;
    case "satisfies":
      return endsExpression(before) && isName(1) ? "type_operator" : null;
    case "keyof":
      return isName(1) && [":", "<", "|", "&", "=", "as"].includes(before?.text ?? "") ? "type_operator" : null;
    case "await":
      return isName(1) ? "async_function" : null;
    case "function":
      return after() === "*" ? "generator_function" : null;
    case "try":
      return after() === "{" ? "try_statement" : null;
    case "import":
      if (after() === "(") return "dynamic_import";
      if (after() === ".") return "meta_property";
      if (isName(1) && after(2) === "=") return "module_form";
      return after() === "type" && after(2) !== "from" ? "type_import" : null;
    case "for":
      return after() === "(" ? loopForm(tokens, index + 2) : null;
    default:
      // `name: for (…)`; not `case name: for (…)`.
      if (after() !== ":" || token.text === "default" || !isStatementStart(before)) return null;
      if (["for", "while", "do"].includes(after(2))) return "labeled_statement";
      // Not the first field of an object literal, nor a field of an object type.
      return after(2) === "{" &&
        isInFunction(tokens, index) &&
        !isPattern(tokens, opener(tokens, index)) &&
        !isObjectLiteral(tokens, opener(tokens, index)) &&
        !isObjectType(tokens, opener(tokens, index))
        ? "labeled_statement"
        : null;
  }
}

/** The braces of `import { … }` and `export { … }`; in `{ type as User }` the word is a name. */
function isImportList(tokens: Tokens, open: number): boolean {
  return open > 0 && tokens[open]!.text === "{" && ["import", "export"].includes(tokens[open - 1]!.text);
}

/** `async (…) =>`, not a call of a function named async. */
function isAsyncArrow(tokens: Tokens, index: number): boolean {
  if (tokens[index + 1]?.text !== "(") return false;
  const behind = tokens[closing(tokens, index + 1) + 1]?.text;
  return behind === "=>" || behind === ":";
}

/** Whether a block follows the parentheses that open at the index, so that they are not a call. */
function endsInBlock(tokens: Tokens, open: number): boolean {
  return tokens[closing(tokens, open) + 1]?.text === "{";
}

function endsExpression(before: ScannedToken | undefined): boolean {
  if (before === undefined) return false;
  return before.kind === "punctuation" ? [")", "]", "}"].includes(before.text) : before.text !== "return";
}

/** The kind of a loop whose head starts at the index. */
function loopForm(tokens: Tokens, start: number): FormCode | null {
  let at = start;
  if (["let", "const", "var"].includes(tokens[at]?.text ?? "")) at++;
  if (tokens[at]?.kind !== "name") return null;
  const word = tokens[at + 1];
  if (word?.kind !== "name") return null;
  return word.text === "in" ? "for_in_loop" : null;
}

function isStatementStart(before: ScannedToken | undefined, modifier?: string): boolean {
  return before === undefined || before.text === modifier || [";", "{", "}", ")"].includes(before.text);
}

/** The decorators of AssemblyScript. */
const DECORATORS: ReadonlySet<string> = new Set(
  "global operator unmanaged sealed final inline external builtin lazy unsafe".split(" "),
);

/** Index of the bracket that closes the one at the index. */
function closing(tokens: Tokens, open: number): number {
  return tokens[open]?.closer ?? tokens.length;
}

/** Index of the bracket that the token at the index stands in; -1: none. */
function opener(tokens: Tokens, index: number): number {
  return tokens[index]?.opener ?? -1;
}

/** Where the parts begin that commas separate in the brackets that open at the index. */
function membersOf(tokens: Tokens, open: number): number[] {
  const end = closing(tokens, open);
  const starts = [open + 1];
  for (let at = open + 1; at < end; at++) {
    // Past what stands in brackets of its own.
    if (tokens[at]!.closer !== null) at = tokens[at]!.closer!;
    else if (tokens[at]!.text === ",") starts.push(at + 1);
  }
  return starts;
}

/** Whether braces around the token are the body of a function, loop or branch. */
function isInFunction(tokens: Tokens, index: number): boolean {
  for (let at = opener(tokens, index); at >= 0; at = opener(tokens, at)) {
    if (tokens[at]!.text !== "{") continue;
    const before = tokens[at - 1];
    if (before?.text === ")" || before?.text === "=>") return true;
    // A result type: `): i32[] {`.
    let start = at - 1;
    while (
      start > 0 &&
      (tokens[start]!.kind === "name" || ["[", "]", "<", ">", "|", ",", "."].includes(tokens[start]!.text))
    )
      start--;
    if (tokens[start]?.text === ":" && tokens[start - 1]?.text === ")") return true;
  }
  return false;
}

/** Whether the colon gives a type to a variable, parameter or field. */
function isTyped(tokens: Tokens, colon: number): boolean {
  const name = tokens[colon - 1];
  if (name?.kind !== "name") return false;
  const before = tokens[colon - 2]?.text ?? "";
  if (["let", "const", "var"].includes(before)) return true;
  if (before !== "(" && before !== ",") return false;
  const open = opener(tokens, colon);
  return (
    open >= 0 && tokens[open]!.text === "(" && ["{", "=>", ":"].includes(tokens[closing(tokens, open) + 1]?.text ?? "")
  );
}

/** `[key: string]: T` in a class or interface. */
function isIndexSignature(tokens: Tokens, open: number): boolean {
  const before = tokens[open - 1]?.text ?? "";
  return (
    ["{", ";", "}", "readonly"].includes(before) &&
    tokens[open + 1]?.kind === "name" &&
    tokens[open + 2]?.text === ":" &&
    tokens[open + 4]?.text === "]" &&
    tokens[open + 5]?.text === ":"
  );
}

/** Whether the token begins a member of a class or interface. */
function isMember(tokens: Tokens, index: number): boolean {
  const open = opener(tokens, index);
  if (open < 0 || tokens[open]!.text !== "{") return false;
  const before = tokens[index - 1]!.text;
  if (!["{", ";", "}", "public", "protected", "private", "static", "readonly", "get", "set"].includes(before))
    return false;
  // Back over `extends Base<T> implements Shape`, to the name of a class.
  for (let at = open - 1; at >= 0 && !["{", "}", ";", "(", ")"].includes(tokens[at]!.text); at--)
    if (tokens[at]!.text === "class" || tokens[at]!.text === "interface") return true;
  return false;
}

/** `["name"]: T` and `[Symbol.iterator]() { … }` in a class. */
function isMemberName(tokens: Tokens, open: number): boolean {
  const behind = tokens[closing(tokens, open) + 1]?.text ?? "";
  return [":", "(", "="].includes(behind) && isMember(tokens, open);
}

function isObjectLiteral(tokens: Tokens, open: number): boolean {
  const before = tokens[open - 1];
  if (before === undefined) return false;
  // The value of a field.
  if (before.text === ":")
    return tokens[opener(tokens, open)]?.text === "{" && isObjectLiteral(tokens, opener(tokens, open));
  return (before.text === "return" || ["=", "(", ",", "[", "?"].includes(before.text)) && !isAlias(tokens, open - 1);
}

/** Whether a member of an object literal is something else than a field. */
function hasLiteralMember(tokens: Tokens, open: number): boolean {
  return membersOf(tokens, open).some((at) => {
    const [first, second, third] = [tokens[at], tokens[at + 1], tokens[at + 2]];
    if (first?.text === "[" && tokens[closing(tokens, at) + 1]?.text === "(") return true;
    if (first?.kind === "name" && second?.text === "(") return true;
    return (first?.text === "get" || first?.text === "set") && second?.kind === "name" && third?.text === "(";
  });
}

/** Whether braces begin the pattern of a declaration: `const { price: { amount } } = order`. */
function isPattern(tokens: Tokens, open: number): boolean {
  if (["const", "let", "var"].includes(tokens[open - 1]?.text ?? "")) return true;
  return tokens[open - 1]?.text === ":" && isPattern(tokens, opener(tokens, open));
}

function isObjectType(tokens: Tokens, open: number): boolean {
  return [":", "<", "|"].includes(tokens[open - 1]?.text ?? "");
}

function hasStringValue(tokens: Tokens, index: number): boolean {
  const open = index + 2;
  if (tokens[open]?.text !== "{") return false;
  const end = closing(tokens, open);
  return tokens.slice(open, end).some(({ kind }, at) => kind === "string" && tokens[open + at - 1]?.text === "=");
}

function hasCallSignature(tokens: Tokens, index: number): boolean {
  let open = index + 1;
  while (open < tokens.length && tokens[open]!.text !== "{") open++;
  const end = closing(tokens, open);
  for (let at = open; at < end; at++) {
    const { text } = tokens[at]!;
    if (opener(tokens, at + 1) !== open || !["{", ";"].includes(text)) continue;
    if (tokens[at + 1]?.text === "(" || tokens[at + 1]?.text === "new") return true;
  }
  return false;
}

/** Whether the sign is that of `type Name = …`. */
function isAlias(tokens: Tokens, sign: number): boolean {
  for (let at = sign - 1; at >= 0 && ![";", "{", "}", "(", ")"].includes(tokens[at]!.text); at--)
    if (tokens[at]!.text === "type" && tokens[at + 1]!.kind === "name" && isStatementStart(tokens[at - 1], "export"))
      return true;
  return false;
}

/** The form that a type alias stands for, if handlers don't have it. */
function aliasForm(tokens: Tokens, index: number): FormCode | null {
  let at = index + 2;
  while (at < tokens.length && tokens[at]!.text !== "=" && tokens[at]!.text !== ";") at++;
  const first = tokens[at + 1];
  if (tokens[at]?.text !== "=" || first === undefined) return null;
  if (first.kind === "template" || first.text === "typeof") return "type_operator";
  if (first.text === "{") return tokens[at + 2]?.text === "[" && tokens[at + 4]?.text === "in" ? "type_operator" : null;
  if (first.text === "new") return "call_signature";
  // `A & B`, `A["x"]`, `T extends U ? …`: up to the end of the alias.
  const second = tokens[at + 2];
  if (second?.text === "&" || second?.text === "extends") return "type_operator";
  return second?.text === "[" && tokens[at + 3]?.kind === "string" ? "type_operator" : null;
}
