/**
 * The compiler's own messages as diagnostics.
 */
import { diagnostic, type DiagnosticCode } from "../diagnostics/catalogue.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { ENVIRONMENT_HELP, LOCAL_DECLARATION, LOG_HELP, REGULAR_EXPRESSION } from "../diagnostics/words.ts";
import { as } from "./assemblyscript.ts";
import type { Crash, LoadedProgram } from "./compile.ts";
import { isDevelopers } from "./graft.ts";
import { conversionHelp, declarationOf } from "./conversions.ts";
import { EMPTY_LIST, MAP_UPDATE, messageFix, NUMBER_AS_TEXT } from "./message-fixes.ts";
import { CLOSURE_KEPT, mistakeIn } from "./expand/mistakes.ts";
import { readableTypes, spanOfRange } from "./span.ts";
import { MOST_PARTS } from "./tuples.ts";

/** The place of messages that have none in the developer's files. */
type Fallback = Span;

/** The most errors and the most warnings: the first ones. */
const MOST_MESSAGES = 200;

/** Messages of the parser. */
export function fromParser(messages: readonly as.DiagnosticMessage[], fallback: Fallback): Diagnostic[] {
  return messages.slice(0, MOST_MESSAGES).map((message) => convert(message, "syntax_error", fallback));
}

/** Messages of resolution and compilation; remarks (like "unused type parameter") are left out. */
export function fromCompiler(messages: readonly as.DiagnosticMessage[], fallback: Fallback): Diagnostic[] {
  const told = messages.filter((message) => as.isError(message));
  // Where a function is kept, its type does not fit: that follows from it.
  const isKept = told.some(({ message }) => mistakeIn(readable(message))?.message === CLOSURE_KEPT.message);
  const errors = isKept ? told.filter(({ message }) => !CAPTURED.test(message)) : told;
  const warnings = messages.filter((message) => as.isWarning(message) && !isComparisonWithNull(message));
  const diagnostics = [...errors.slice(0, MOST_MESSAGES), ...warnings.slice(0, MOST_MESSAGES)].map((message) =>
    convert(message, as.isError(message) ? "type_error" : "compiler_warning", fallback),
  );
  // A captured variable is also reported as not assigned.
  const closures = new Set(diagnostics.filter(({ code }) => code === "closure").map(({ primary }) => primary.start));
  return diagnostics.filter(({ code, primary }) => code === "closure" || !closures.has(primary.start));
}

/** All messages of the compiler about a program so far. */
export function fromProgram({ messages, crash }: LoadedProgram, fallback: Fallback): Diagnostic[] {
  return [...fromCompiler(messages, fallback), ...(crash === null ? [] : [fromCrash(crash, fallback)])];
}

/** A comparison that `parse/arithmetic.ts` reports in better words. */
function isComparisonWithNull({ message, range }: as.DiagnosticMessage): boolean {
  if (range === null || !/^(null|undefined)$/.test(textAt(range)) || !/'usize'/.test(message)) return false;
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
    message: `The AssemblyScript compiler crashed${own ? ` in ${declaration.name.text}` : ""}${behalf}: ${words}`,
    primary: own
      ? spanOfRange(declaration.name.range)
      : crash.handler === null
        ? fallback
        : spanOfRange(crash.handler.declaration.name.range),
    help: "This is not your mistake. Write this code in another way, which may avoid it.",
  });
}

type MessageCode = "syntax_error" | "type_error" | "compiler_warning";

function convert(message: as.DiagnosticMessage, code: MessageCode, fallback: Fallback): Diagnostic {
  const { range, relatedRange } = message;
  const text = readable(message.message);
  const own = range !== null && isDevelopers(range.source);
  const relatedIsOwn = relatedRange !== null && isDevelopers(relatedRange.source);
  const known: Known | undefined = mistakeIn(text) ?? KNOWN.find(({ pattern }) => pattern.test(text));
  const declared = own && CONVERSION.test(text) ? declarationOf(range) : null;
  const related = declared ?? (own && relatedIsOwn ? relatedRange : null);
  return diagnostic(known?.code ?? code, {
    message: wordsOf(known, text),
    primary: own ? spanOfRange(range) : relatedIsOwn ? spanOfRange(relatedRange) : fallback,
    related:
      related === null ? [] : [{ span: spanOfRange(related), label: declared === null ? "see here" : "declared here" }],
    help: helpOf(known, text, range),
    fix: own ? messageFix(known?.code ?? code, text, range) : undefined,
  });
}

function wordsOf(known: Known | undefined, text: string): string {
  const message = known?.message ?? sentence(text.replace(CONVERSION, CONVERSION_WORDS));
  return typeof message === "function" ? message(known!.pattern.exec(text)!) : message;
}

function helpOf(known: Known | undefined, text: string, range: as.Range | null): string | undefined {
  const help = known?.help ?? (range === null ? undefined : helpOfConversion(text, range));
  return typeof help === "function" ? help(range === null ? "" : textAt(range), known!.pattern.exec(text)!) : help;
}

const CONVERSION = /^conversion from type '(\w+)' to '(\w+)' requires an explicit cast$/;
const CONVERSION_WORDS = "a value of type $1 does not become $2 by itself, because that can change it";

/** Undefined: the message is about something else. */
function helpOfConversion(text: string, range: as.Range): string | undefined {
  const [, from, to] = CONVERSION.exec(text) ?? [];
  return from === undefined || to === undefined ? undefined : conversionHelp(range, from, to);
}

/** The compiler's words, as the patterns of this file expect them: with types as the developer writes them, and no capital. */
function readable(message: string): string {
  const text = readableTypes(message).replace(/\.$/, "");
  return /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

export interface Known {
  readonly pattern: RegExp;
  readonly code?: DiagnosticCode;
  readonly message?: string | ((found: RegExpExecArray) => string);
  /** `written`: the text at the place. */
  readonly help: string | ((written: string, found: RegExpExecArray) => string);
}

function textAt(range: as.Range): string {
  return range.source.text.slice(range.start, range.end);
}

/** Told before the compiler runs (`check/scopes.ts`) where the words of the source show it. */
export const CLOSURE = { pattern: /^not implemented: Closures$/, ...CLOSURE_KEPT } as const satisfies Known;

/** The type of functions that capture. */
const CAPTURED = /Captured@\d+(#\d+)?/;

/** Longest source text that a help repeats. */
const LONGEST = 40;

/** The compiler learns from a test of a variable only, and not of a field. */
function nullHelp(written: string): string {
  const [, field] = /^[\w$.]*\.([\w$]+)$/.exec(written) ?? [];
  if (field !== undefined)
    return `Put the field into a variable, and test that: \`const ${field} = ${written}; if (${field} == null) abort(404, …);\`. After this line \`${field}\` is not null.`;
  if (/^[\w$]+$/.test(written))
    return `Test for null first: \`if (${written} == null) abort(404, …);\`. After this line \`${written}\` is not null.`;
  const value = written.length <= LONGEST && !written.includes("\n") ? written : "…";
  return `Put the value into a variable, and test that: \`const found = ${value}; if (found == null) abort(404, …);\`. Or give a value in place of null: \`${value} ?? …\`.`;
}

/** The left side of an operator. */
function withoutOperator(written: string): string {
  return /^[\w$.]+/.exec(written)?.[0] ?? written;
}

function callHelp(written: string): string {
  if (/\.entries\b/.test(written))
    return "Write `for (const [key, value] of map) …`. Or loop over `map.keys()` or `map.values()`, which are arrays.";
  if (written === "Array")
    return "Write `new Array<i32>(3)`, which has zeros, or `Array.from({ length: 3 }, (_, index) => index)`.";
  if (/^(String|Number|Boolean)$/.test(written)) return `Write the call: \`(value) => ${written}(value)\`.`;
  return "Give a number another type with `value as f64`. Parse a text with `Number(text)` or `i32.parse(text)`, and make one with `String(value)`.";
}

/** The meanings of the compiler's messages in a handler. */
const KNOWN: readonly Known[] = [
  CLOSURE,
  {
    pattern: /Captured@\d+(#\d+)? \| null' is not assignable/,
    message: "This function may be null.",
    help: "Test it first: `if (act != null) act(key)`. Or write `act?.(key)`.",
  },
  {
    // Captured variables where a function without them is wanted.
    pattern: CAPTURED,
    ...CLOSURE_KEPT,
  },
  {
    pattern: /^not implemented: union types$/,
    code: "union_type",
    message: "A value has one type. The only unions are `T | null` and unions of texts.",
    help: 'Write texts, `"free" | "held"`, a record with optional fields, or one function for each type.',
  },
  {
    pattern: /^not implemented: methods of object types$/,
    code: "object_type",
    message: "An object type can't have methods, because it is the type of a record, and records are data.",
    help: "Write a function that takes the record. Or write a field of a function type: `compare: (other: string) => i32`.",
  },
  {
    pattern: /^not implemented: object types without a name that mention a type parameter$/,
    code: "object_type",
    message: "An object type without a name can't mention a type parameter.",
    help: "Give it a name and a type parameter of its own, `type Page<T> = { items: T[] };`, and write `Page<T>`.",
  },
  {
    pattern: /^not implemented: such parts of tuples$/,
    code: "tuple_type",
    message: `A tuple has 1 to ${MOST_PARTS} parts. No part is optional or stands for several values.`,
    help: "Write a part that can be null, `[string, f64 | null]`, or a record or array.",
  },
  {
    pattern: /^index signature is missing in type '\[/,
    code: "tuple_type",
    message: "The number of a tuple's part can't be computed, because each part has a type of its own.",
    help: "Write the number: `pair[0]`. For a computed number use an array.",
  },
  {
    pattern: /^not implemented: the rest of a record$/,
    code: "spread",
    message: "A pattern can't take the rest of a record, because that would be a record of another type.",
    help: "Name the fields: `const { id, name } = user;`. A copy with other values is `{ ...user, name }`.",
  },
  {
    pattern: /^not implemented: Spread operator$/,
    code: "spread",
    message: "This can't be spread here, because nothing takes a changing number of values.",
    help: "Spread an array in a literal, in `push` or for a rest parameter, and a record in a literal.",
  },
  {
    pattern: /^not implemented: Regular expressions$/,
    ...REGULAR_EXPRESSION,
  },
  {
    pattern: /^not implemented: Block-scoped class/,
    ...LOCAL_DECLARATION,
  },
  {
    pattern: /^not implemented: 'in' operator$/,
    code: "in_operator",
    message: "The `in` operator asks a `Record<string, T>` only, because a class tells which fields its objects have.",
    help: "Ask a map or set: `ages.has(name)`. Test an optional field for null: `user.nickname != null`.",
  },
  {
    pattern: /^function implementation is missing/,
    code: "overload_signature",
    message: "A function can't have overload signatures: it has one list of parameters.",
    help: "Write one function with optional parameters, a generic function, or functions with different names.",
  },
  {
    pattern: /^optional (properties are not supported|parameter must have an initializer)/,
    code: "optional_member",
    message: "This member can't be optional.",
    help: "Only a field or a parameter can be optional: `nickname?: string`.",
  },
  {
    pattern:
      /^the 'this' types of each signature are incompatible$|^property '(bind|apply)' does not exist on type 'Function/,
    code: "method_value",
    message: "A method can't be used as a value, because the value would not know its object.",
    help: "Call the method on its object: `counter.next()`. To pass it on, pass a function, and the object as its argument.",
  },
  {
    pattern: /^type argument expected$|^expected 1 type arguments, but got 0$/,
    code: "missing_type",
    message: "A type argument is missing here, because it does not follow from the arguments.",
    help: (written) => {
      const called = /\b(String|Number|Boolean)\)?$/.exec(written)?.[1];
      if (called !== undefined) return `Write the call: \`(value) => ${called}(value)\`.`;
      const method = /\.(map|reduce|reduceRight|flatMap)\b/.exec(written)?.[1];
      return method === undefined
        ? "Write the types: `new Map<string, i32>()`."
        : `Write the type of the result: \`.${method}<string>(…)\`.`;
    },
  },
  {
    pattern: NUMBER_AS_TEXT,
    help: (written) => {
      const name = /^[\w$.]+$/.test(written) ? written : "value";
      return `Make a text of it: \`${name}.toString()\`.`;
    },
  },
  {
    pattern: /^type 'string' is not assignable to type '([iuf]\d+)'$/,
    message: ([, type]) => `A text does not become a number of type ${type} by itself.`,
    help: (written, [, type]) => {
      const text = /^[\w$.]+$/.test(written) ? written : "text";
      return `Parse the text: \`${type === "f64" ? "Number" : `${type}.parse`}(${text})\`. For a date write \`parseTime(${text})\`.`;
    },
  },
  {
    pattern: /^the '\+' operator cannot be applied to type 'string'$/,
    message: "A text has no sign `+`.",
    help: "Write `Number(text)`, which is the number that the text names.",
  },
  {
    pattern: /^(the '(<<|>>>?|~)' operator|operator '[|&^]') cannot be applied to types? 'f(32|64)'/,
    message: "A float has no bits to work on.",
    help: "For the whole part of a float write `Math.trunc(value)`, or `value as i32`.",
  },
  {
    // The type of a list that begins empty.
    pattern: EMPTY_LIST,
    message: "The type of the list's elements is not known, because the list begins empty.",
    help: (_, [, type]) => `Write the type of the list where you declare it: \`const all: ${type}[] = [];\`.`,
  },
  {
    pattern: /^'NaN' does not compare equal to any other value/,
    code: "constant_test",
    message: "Nothing is equal to NaN, not even NaN.",
    help: "Write `isNaN(value)`.",
  },
  {
    pattern: /^not implemented: assignments to entries of maps inside of expressions$/,
    code: "map_entry",
    message: "An entry of a map can't be set within an expression.",
    help: "Write `map[key] = value;` as a statement of its own, and use the value.",
  },
  {
    pattern: MAP_UPDATE,
    code: "map_entry",
    message: "An entry of a map can't be updated in place, because it may be absent.",
    help: "Give the value for an absent entry: `map[key] = (map[key] ?? 0) + 1;`.",
  },
  {
    pattern: /^type 'Map<.*' is not assignable to type 'Record</,
    help: "Begin with an empty literal, `const ages: Record<string, i32> = {};`, and set each entry.",
  },
  {
    pattern: /^index signature is missing in type/,
    code: "index_signature",
    message:
      "A field can't be read or written by a computed name, because the fields of an object are fixed when it is compiled.",
    help: "Read a field by its name: `user.name`. For computed names use a map: `const ages: Record<string, i32> = {};`.",
  },
  {
    pattern: /^module '.*' has no exported member 'default'$/,
    code: "module_form",
    message: "Handlers have no default imports, because files import and export by name.",
    help: 'Export by name, and write `import { User } from "../lib/models";`.',
  },
  {
    pattern: /^cannot invoke an expression whose type lacks a call signature/,
    code: "platform_name",
    message: "This is not a function that handlers can call.",
    help: callHelp,
  },
  {
    pattern: /^expression does not compile to a value at runtime$/,
    code: "platform_name",
    message: "This is not a function that handlers can call.",
    help: callHelp,
  },
  {
    pattern: /^property '.*' does not exist on type '(crypto|performance|process)'$/,
    code: "nondeterministic",
    message:
      "A handler can't use a member of the platform, because each run of an execution must have the same result.",
    help: ENVIRONMENT_HELP,
  },
  {
    pattern: /^property '.*' does not exist on type 'console'$/,
    code: "console_not_available",
    help: LOG_HELP,
  },
  {
    pattern: /^module requires at least '\d+' pages of maximum memory$/,
    message: "The texts and arrays in the source take more memory than a handler has.",
    help: "Keep large data in a table, and read the items that a handler needs.",
  },
  {
    pattern: /^feature '.*' is not enabled$/,
    code: "unsafe_memory",
    message: "A handler can't use this feature of WebAssembly, because its runs must be the same on every machine.",
    help: "Use classes, arrays and strings.",
  },
  {
    pattern: /^property 'of' does not exist on type 'Array/,
    code: "platform_name",
    message: "Handlers have no `Array.of`.",
    help: "Write a literal: `[1, 2, 3]`.",
  },
  {
    pattern:
      /^property '(from|of|entries|forEach|keys|assign|freeze|fromEntries|hasOwn)' does not exist on type '(Array|Map|Set|Object)/,
    code: "platform_name",
    help: "Loop over the array. A map or set has `keys()` and `values()`, which are arrays: `for (const key of map.keys()) …`.",
  },
  {
    pattern: /^property '.*' does not exist on type 'Object'$/,
    help: "The two sides of `? :` have no common type. Write the type of the variable: `const ids: string[] = …;`.",
  },
  {
    pattern: /^property '(.*)' is missing in type '<object>' but required in type '(.*)'$/,
    message: ([, field, type]) => `This literal has no value for ${field}, which ${type} requires.`,
    help: (_, [, field]) => `Write the field: \`{ ${field}: … }\`. Or declare that it may be absent: \`${field}?: T\`.`,
  },
  {
    pattern: /^cannot find name 'JSON'$/,
    code: "json_not_available",
    help: "Take, return and store records: Radical encodes and decodes them.",
  },
  {
    pattern: /^expression cannot be represented by a type$/,
    message: "The type of this expression is not known.",
    help: (written) =>
      written.startsWith("{")
        ? "Write the type of the result: `(seat): Place => ({ row: seat.row })`, with `type Place = { row: string };`."
        : "Put the value into a variable with a type first: `const total: f64 = …;`.",
  },
  {
    pattern: /^type '<object>' is not assignable/,
    code: "object_literal",
    message: "This object literal has no type: its place does not say which record it is.",
    help: "Write the type of the record: `type Point = { x: i32; y: i32 }; const point: Point = { x: 1, y: 2 };`.",
  },
  {
    pattern:
      /^property '.*' does not exist on type '(string|Array|StaticArray|Map|Set|Math|Object|Date|[IUF]\d+|Bool)\b/,
    help: "AssemblyScript's library has fewer members than JavaScript's. Write a function of your own.",
  },
  {
    pattern: /^property 'save' does not exist on type/,
    help: 'Only objects have `save()`. Make a table of them, at the top of a file: `const notes = new Objects<Note>("notes");`.',
  },
  {
    pattern: /^property '.*' does not exist on type 'Table\b/,
    help: "A table has `get(key)`, `has(key)`, `put(key, value)` and `delete(key)`. Its ranges have rows: `posts.all()`, `posts.prefix(text)`, `posts.range(from, to)`.",
  },
  {
    pattern: /^property '.*' does not exist on type 'Range\b/,
    help: "A range has `after(cursor)`, `before(cursor)`, `first(n)`, `last(n)` and `count()`. Its rows are an array: `range.first(20)`.",
  },
  {
    pattern: /^property '.*' does not exist on type 'Row\b/,
    help: "A row has `key`, `value` and `cursor`.",
  },
  {
    pattern: /^property '.*' does not exist on type 'Counter\b/,
    help: "A counter has `get(key)`, `add(key, n)`, `atLeast(key, n)`, `put(key, n)` and `delete(key)`.",
  },
  {
    pattern: /^property 'length' does not exist on type '\[/,
    code: "tuple_type",
    message: "A tuple has no length, because its type says how many parts it has.",
    help: "Write that number.",
  },
  {
    pattern: /^property '(.*)' does not exist on type 'Record</,
    message: ([, name]) => `A record of entries has no member ${name}.`,
    help: (_, [, name]) => `Read the entry: \`ages["${name}"]\`. It is null for a key that is absent.`,
  },
  {
    pattern: /^property '.*' does not exist on type '[A-Z][\w<>, ]*'$/,
    help: "Check the name. A member of a derived class needs a cast, where the object is one of that class: `(shape as Circle).radius`.",
  },
  {
    pattern: /^operator '([<>]=?)' cannot be applied to types '([iu]\d+)' and '([iu]\d+)'$/,
    message: ([, , left, right]) => `A number of type ${left} can't be compared with one of type ${right}.`,
    help: (_, [, operator]) => `Give both numbers one type: \`(count as i64) ${operator} (limit as i64)\`.`,
  },
  {
    pattern: /^operator '(&&|\|\|)' cannot be applied to types '(.*)' and '(.*)'$/,
    message: ([, operator, left, right]) =>
      `The two sides of \`${operator}\` have no type in common: '${left}' and '${right}'.`,
    help: "For a member of what may be null write `order?.total`. For a value in place of null write `found ?? other`. A condition compares: `order != null && order.total > 0`.",
  },
  {
    pattern: /^a function whose declared type is not 'void' must return a value/,
    message: "This function must return a value on each of its paths.",
    help: 'Return a value on every path. A `switch` over all texts of a union ends with `default: throw new Error("another text");`.',
  },
  {
    pattern: /^variable '(.*)' is used before being assigned$/,
    help: (_, [, name]) => `Give it a value where you declare it, before the loop or block: \`let ${name} = …;\`.`,
  },
  {
    pattern: /^type '[A-Z]\w*' is not assignable to type 'string'$/,
    help: "Write the text: a field of the object, or a method that returns one, as in `order.label()`.",
  },
  {
    pattern: /^type '\((.*)\) => [fiu]\d+' is not assignable to type '\(\1\) => i32'$/,
    help: "Write a function in the call, which calls it: `prices.sort((a, b) => byPrice(a, b))`.",
  },
  {
    pattern: /^type expected$/,
    code: "missing_type",
    message: "A type is missing here.",
    help: "Write the type. Parameters, results and fields have one: `name: string`.",
  },
  { pattern: /^object is possibly 'null'$/, help: nullHelp },
  {
    pattern: /^the '(.*)' operator cannot be applied to type '(.*) \| null'$/,
    message: ([, operator]) => `The value on the left of \`${operator}\` can be null.`,
    help: (written) => nullHelp(withoutOperator(written)),
  },
  {
    pattern: /^type '(.+) \| null' is not assignable to type '\1'$/,
    message: "This value can be null, and its place can't take null.",
    help: nullHelp,
  },
  { pattern: /\| null' is not assignable to type/, help: nullHelp },
  {
    pattern: /^a function whose declared type is not 'void' must return a value$/,
    help: "Return a value at the end of the function too: `return null;`.",
  },
  {
    pattern: /^operator '.+' cannot be applied to types? '.*\| null'/,
    help: (written) => nullHelp(/^[\w$]+(?:\.[\w$]+)*/.exec(written)?.[0] ?? "…"),
  },
  { pattern: /has no initializer and is not assigned/, help: 'Give the field an initial value: `name: string = "";`.' },
];
