/**
 * The compiler's own messages as diagnostics.
 */
import { diagnostic, type DiagnosticCode } from "../diagnostics/catalogue.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { as } from "./assemblyscript.ts";
import type { Crash, LoadedProgram } from "./compile.ts";
import { isDevelopers } from "./graft.ts";
import { conversionHelp } from "./conversions.ts";
import { mistakeIn } from "./expand/mistakes.ts";
import { MAP_UPDATE, messageFix, NUMBER_AS_TEXT } from "./message-fixes.ts";
import { readableTypes, spanOfRange } from "./span.ts";

/** In place of the console. */
export const LOG_HELP =
  'Write log("…"), with import { log } from "@radical/sdk". Radical shows the line once, and only for a run that counts.';

/** Where a message goes that has no place in the developer's files. */
type Fallback = Span;

/** Of more errors or warnings the first are told. */
const MOST_MESSAGES = 200;

/** Messages of the parser. */
export function fromParser(messages: readonly as.DiagnosticMessage[], fallback: Fallback): Diagnostic[] {
  return messages.slice(0, MOST_MESSAGES).map((message) => convert(message, "syntax_error", fallback));
}

/** Messages of resolution and compilation; remarks (like "unused type parameter") are left out. */
export function fromCompiler(messages: readonly as.DiagnosticMessage[], fallback: Fallback): Diagnostic[] {
  const errors = messages.filter((message) => as.isError(message));
  const warnings = messages.filter((message) => as.isWarning(message) && !isComparisonWithNull(message));
  const diagnostics = [...errors.slice(0, MOST_MESSAGES), ...warnings.slice(0, MOST_MESSAGES)].map((message) =>
    convert(message, as.isError(message) ? "type_error" : "compiler_warning", fallback),
  );
  // A captured variable is also reported as not assigned.
  const closures = new Set(diagnostics.filter(({ code }) => code === "closure").map(({ primary }) => primary.start));
  return diagnostics.filter(({ code, primary }) => code === "closure" || !closures.has(primary.start));
}

/** All that the compiler said of a program so far. */
export function fromProgram({ messages, crash }: LoadedProgram, fallback: Fallback): Diagnostic[] {
  return [...fromCompiler(messages, fallback), ...(crash === null ? [] : [fromCrash(crash, fallback)])];
}

/** Told by `parse/arithmetic.ts`. */
function isComparisonWithNull({ message, range }: as.DiagnosticMessage): boolean {
  if (range === null || textAt(range) !== "null" || !/'usize'/.test(message)) return false;
  const { text } = range.source;
  return /[=!]=\s*$/.test(text.slice(0, range.start)) || /^\s*[=!]=/.test(text.slice(range.end));
}

export function fromCrash(crash: Crash, fallback: Fallback): Diagnostic {
  const declaration = crash.within?.declaration;
  const own = declaration !== undefined && isDevelopers(declaration.range.source);
  const words = crash.error instanceof Error ? crash.error.message : String(crash.error);
  const handler = crash.handler?.declaration.name.text;
  const behalf = handler === undefined || handler === declaration?.name.text ? "" : `, compiled for handler ${handler}`;
  return diagnostic("compiler_crash", {
    message: `the AssemblyScript compiler crashed${own ? ` in ${declaration.name.text}` : ""}${behalf}: ${words}`,
    primary: own
      ? spanOfRange(declaration.name.range)
      : crash.handler === null
        ? fallback
        : spanOfRange(crash.handler.declaration.name.range),
    help: "this is not your mistake; writing this code in another way may avoid it",
  });
}

type MessageCode = "syntax_error" | "type_error" | "compiler_warning";

function convert(message: as.DiagnosticMessage, code: MessageCode, fallback: Fallback): Diagnostic {
  const { range, relatedRange } = message;
  const text = readable(message.message);
  const own = range !== null && isDevelopers(range.source);
  const relatedIsOwn = relatedRange !== null && isDevelopers(relatedRange.source);
  const known: Known | undefined =
    mistakeIn(text) ?? (isTuple(message) ? TUPLE : KNOWN.find(({ pattern }) => pattern.test(text)));
  return diagnostic(known?.code ?? code, {
    message: known?.message ?? text,
    primary: own ? spanOfRange(range) : relatedIsOwn ? spanOfRange(relatedRange) : fallback,
    related: own && relatedIsOwn ? [{ span: spanOfRange(relatedRange), label: "see here" }] : [],
    help: helpOf(known, text, range),
    fix: own ? messageFix(known?.code ?? code, text, range) : undefined,
  });
}

function helpOf(known: Known | undefined, text: string, range: as.Range | null): string | undefined {
  const help = known?.help ?? (range === null ? undefined : helpOfConversion(text, range));
  return typeof help === "function" ? help(range === null ? "" : textAt(range), known!.pattern.exec(text)!) : help;
}

/** Undefined: the message is about something else. */
function helpOfConversion(text: string, range: as.Range): string | undefined {
  const [, from, to] = /^conversion from type '(\w+)' to '(\w+)' requires an explicit cast$/.exec(text) ?? [];
  return from === undefined || to === undefined ? undefined : conversionHelp(range, from, to);
}

/** The compiler's words in this catalogue's style. */
function readable(message: string): string {
  const text = readableTypes(message).replace(/\.$/, "");
  return /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

export interface Known {
  readonly pattern: RegExp;
  readonly code?: DiagnosticCode;
  readonly message?: string;
  /** `written`: the text at the place. */
  readonly help: string | ((written: string, found: RegExpExecArray) => string);
}

function isTuple({ message, range }: as.DiagnosticMessage): boolean {
  return message === "Type expected." && range !== null && textAt(range) === "[";
}

function textAt(range: as.Range): string {
  return range.source.text.slice(range.start, range.end);
}

/** Told before the compiler runs (`check/scopes.ts`), but for constants whose value it turns out not to know. */
export const CLOSURE = {
  pattern: /^not implemented: Closures$/,
  code: "closure",
  message: "This function can't use the variables around it.",
  help: "Write it in the call: numbers.filter((n) => n > limit). Or make it a function of the file, and pass what it needs.",
} as const satisfies Known;

const TUPLE: Known = {
  pattern: /^/,
  code: "tuple_type",
  message: "there are no tuples",
  help: "write a class with a field for each part",
};

/** A test tells the compiler about variables only. */
function nullHelp(written: string): string {
  const field = /^[\w$.]*\.([\w$]+)$/.exec(written)?.[1];
  return field === undefined
    ? "test for null first: if (user == null) abort(404, …); behind it user is not null"
    : `put the field into a variable and test that: const ${field} = ${written}; if (${field} == null) abort(404, …); behind it ${field} is not null`;
}

function callHelp(written: string): string {
  if (/^String\b/.test(written)) return "make a text of it: value.toString()";
  if (/^Number\b/.test(written))
    return "parse a text with parseFloat(text) or i32.parse(text); a number becomes another with value as f64";
  if (/^Boolean\b/.test(written)) return "compare the value: value != 0, value != null";
  return "convert a number with value as f64, a text with parseFloat(text) or i32.parse(text), and to a text with value.toString(); maps and sets have keys() and values(), which are arrays";
}

/** What the compiler's messages mean in a handler. */
const KNOWN: readonly Known[] = [
  CLOSURE,
  {
    pattern: /^not implemented: union types$/,
    code: "union_type",
    message: "there are no union types but T | null and unions of texts",
    help: 'write texts, "free" | "held", a record with optional fields, or one handler for each type',
  },
  {
    pattern: /^not implemented: methods of object types$/,
    code: "object_type",
    message: "an object type has no methods: it is the type of a record",
    help: "write a function that takes the record, or a field of a function type: compare: (other: string) => i32",
  },
  {
    pattern: /^not implemented: object types without a name that mention a type parameter$/,
    code: "object_type",
    message: "an object type without a name can't mention a type parameter",
    help: "give it a name with a type parameter of its own: type Page<T> = { items: T[] }, and write Page<T>",
  },
  {
    pattern: /^not implemented: Regular expressions$/,
    code: "regular_expression",
    message: "there are no regular expressions",
    help: "use the methods of strings: indexOf, includes, startsWith, split, charCodeAt",
  },
  {
    pattern: /^not implemented: Block-scoped class/,
    code: "local_declaration",
    message: "classes, enums, interfaces and namespaces are declared at the top of a file",
    help: "move it out of the function",
  },
  {
    pattern: /^not implemented: 'in' operator$/,
    code: "in_operator",
    message: "there is no in operator",
    help: "ask a map or set: ages.has(name); test a nullable field for null",
  },
  {
    pattern: /^function implementation is missing/,
    code: "overload_signature",
    message: "there are no overload signatures",
    help: "write one function with optional parameters, a generic one, or functions of different names",
  },
  {
    pattern: /^optional (properties are not supported|parameter must have an initializer)/,
    code: "optional_member",
    help: "an optional member is a field or a parameter: nickname?: string",
  },
  {
    pattern:
      /^the 'this' types of each signature are incompatible$|^property '(bind|apply)' does not exist on type 'Function/,
    code: "method_value",
    message: "a method can't be called as a value",
    help: "call it on its object, or pass a function of the file and the object",
  },
  {
    pattern: /^type argument expected$|^expected 1 type arguments, but got 0$/,
    code: "missing_type",
    help: (written) => {
      const method = /\.(map|reduce|reduceRight|flatMap)\b/.exec(written)?.[1];
      return method === undefined
        ? "write the types: new Map<string, i32>()"
        : `write the type of the result: .${method}<string>(…)`;
    },
  },
  {
    pattern: NUMBER_AS_TEXT,
    help: (written) => {
      const name = /^[\w$.]+$/.test(written) ? written : "value";
      return `make it a text: \`\${${name}}\` or ${name}.toString()`;
    },
  },
  {
    // The type of a list that begins empty.
    pattern: /^type '(.*)' is not assignable to type '[iu]size'$/,
    message: "the type of the list's elements is not known",
    help: (_, [, type]) => `write the type of the list where it is declared: const all: ${type}[] = []`,
  },
  {
    pattern: /^'NaN' does not compare equal to any other value/,
    code: "constant_test",
    message: "nothing is equal to NaN, not even NaN",
    help: "ask isNaN(value)",
  },
  {
    pattern: /^not implemented: assignments to entries of maps inside of expressions$/,
    code: "map_entry",
    message: "an entry of a map is set by a statement of its own",
    help: "write map[key] = value; as a statement, and use the value",
  },
  {
    pattern: MAP_UPDATE,
    code: "map_entry",
    message: "an entry of a map may be absent, so it can't be updated",
    help: "read it first: const known = map[key]; map[key] = known == null ? 1 : known + 1;",
  },
  {
    pattern: /^type 'Map<.*' is not assignable to type 'Record</,
    help: "write a literal: const ages: Record<string, i32> = {};",
  },
  {
    pattern: /^index signature is missing in type/,
    code: "index_signature",
    help: "read the field by its name, user.name; for names that are computed use a map",
  },
  {
    pattern: /^module '.*' has no exported member 'default'$/,
    code: "module_form",
    help: 'export by name and import { User } from "../lib/models"',
  },
  {
    pattern: /^cannot invoke an expression whose type lacks a call signature/,
    code: "platform_name",
    message: "this is no function that handlers can call",
    help: callHelp,
  },
  {
    pattern: /^expression does not compile to a value at runtime$/,
    code: "platform_name",
    message: "this is no function that handlers can call",
    help: callHelp,
  },
  {
    pattern: /^property '.*' does not exist on type '(crypto|performance|process)'$/,
    code: "nondeterministic",
    help: "a handler sees its arguments, its tables and the recorded environment: now(), caller(), random() and uuid() of @radical/sdk",
  },
  {
    pattern: /^property '.*' does not exist on type 'console'$/,
    code: "console_not_available",
    help: LOG_HELP,
  },
  {
    pattern: /^module requires at least '\d+' pages of maximum memory$/,
    message: "the texts and arrays that are written in the source take too much memory",
    help: "keep large data in a table and read what is needed",
  },
  {
    pattern: /^feature '.*' is not enabled$/,
    code: "unsafe_memory",
    help: "use classes, arrays and strings",
  },
  {
    pattern:
      /^property '(from|of|entries|forEach|keys|assign|freeze|fromEntries|hasOwn)' does not exist on type '(Array|Map|Set|Object)/,
    code: "platform_name",
    help: "count over an array, or over the keys() and values() of a map or set, which are arrays",
  },
  {
    pattern: /^property '.*' does not exist on type 'Object'$/,
    help: "the two sides of ? : have no common type: write the type of the variable, const ids: string[] = …",
  },
  {
    pattern: /^type '<object>' is not assignable/,
    code: "object_literal",
    help: "object literals need a class: class Point { x: i32 = 0; y: i32 = 0; } const point: Point = { x: 1, y: 2 };",
  },
  {
    pattern:
      /^property '.*' does not exist on type '(string|Array|StaticArray|Map|Set|Math|Object|Date|[IUF]\d+|Bool)\b/,
    help: "AssemblyScript's library has fewer members than JavaScript's: write a function of your own",
  },
  {
    pattern: /^property '.*' does not exist on type 'Table\b/,
    help: "a table has get(key), has(key), put(key, value) and delete(key)",
  },
  { pattern: /^type expected$/, code: "missing_type", help: "write the type: parameters, results and fields have one" },
  { pattern: /^object is possibly 'null'$/, help: nullHelp },
  { pattern: /\| null' is not assignable to type/, help: nullHelp },
  { pattern: /has no initializer and is not assigned/, help: 'give the field an initial value: name: string = ""' },
];
