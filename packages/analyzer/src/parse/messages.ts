/**
 * The compiler's own messages as diagnostics.
 */
import { diagnostic } from "../diagnostics/catalogue.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { as } from "./assemblyscript.ts";
import { isGenerated, type Crash } from "./compile.ts";
import { spanOfRange } from "./span.ts";

/** Where a message goes that has no place in the developer's files. */
type Fallback = Span;

/** Messages of the parser. */
export function fromParser(messages: readonly as.DiagnosticMessage[], fallback: Fallback): Diagnostic[] {
  return messages.map((message) => convert(message, "syntax_error", fallback));
}

/** Messages of resolution and compilation; remarks (like "unused type parameter") are left out. */
export function fromCompiler(messages: readonly as.DiagnosticMessage[], fallback: Fallback): Diagnostic[] {
  return messages
    .filter((message) => as.isError(message) || as.isWarning(message))
    .map((message) => convert(message, as.isError(message) ? "type_error" : "compiler_warning", fallback));
}

export function fromCrash(crash: Crash, fallback: Fallback): Diagnostic {
  const declaration = crash.within?.declaration;
  const own = declaration !== undefined && isDevelopers(declaration.range);
  const words = crash.error instanceof Error ? crash.error.message : String(crash.error);
  return diagnostic("compiler_crash", {
    message: `the AssemblyScript compiler crashed${own ? ` in ${declaration.name.text}` : ""}: ${words}`,
    primary: own ? spanOfRange(declaration.name.range) : fallback,
    help: "this is not your mistake; writing this code in another way may avoid it",
  });
}

function isDevelopers(range: as.Range): boolean {
  return !range.source.isLibrary && !range.source.isNative && !isGenerated(range.source);
}

function convert(
  message: as.DiagnosticMessage,
  code: "syntax_error" | "type_error" | "compiler_warning",
  fallback: Fallback,
): Diagnostic {
  const { range, relatedRange } = message;
  const text = message.message.replace(/\.$/, "");
  const unresolved = /^File '(.*)' not found$/.exec(text);
  if (unresolved !== null) return diagnostic("import_not_found", importNotFound(unresolved[1]!, range, fallback));
  const own = range !== null && isDevelopers(range);
  const relatedIsOwn = relatedRange !== null && isDevelopers(relatedRange);
  const primary = own ? spanOfRange(range) : relatedIsOwn ? spanOfRange(relatedRange) : fallback;
  return diagnostic(code, {
    message: lowerFirst(text),
    primary,
    related: own && relatedIsOwn ? [{ span: spanOfRange(relatedRange), label: "see here" }] : [],
    help: HELP.find(([pattern]) => pattern.test(text))?.[1],
  });
}

function importNotFound(path: string, range: as.Range | null, fallback: Fallback): { message: string; primary: Span; help: string } {
  const file = path.replace(/^~lib\//, "").replace(/\.ts$/, "");
  return {
    message: `there is no file ${file}.ts`,
    primary: range === null || !isDevelopers(range) ? fallback : spanOfRange(range),
    help: path.startsWith("~lib/")
      ? "handlers import @radical/sdk and files of the application, by relative path"
      : "the path is relative to the importing file, without extension",
  };
}

function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/** What the compiler's most common messages mean in a handler. */
const HELP: readonly (readonly [message: RegExp, help: string])[] = [
  [/^Type expected$/, "write the type: parameters, results and fields have one"],
  [/^Object is possibly 'null'$/, "test it first: if (user == null) abort(404, …); then user is not null"],
  [/\| null' is not assignable to type/, "test for null first: if (user == null) abort(404, …); then user is not null"],
  [/^Conversion from type .* requires an explicit cast$/, "write the conversion: value as i32"],
  [/^Cannot find name '(console|process|fetch|setTimeout|crypto|performance)'$/, "handlers have @radical/sdk and AssemblyScript's library, nothing of a platform"],
  [/^Property '.*' has no initializer and is not assigned/, "give the field an initial value: name: string = \"\""],
];

