/** Imports of the SDK, for rewrites that call its functions. */
import { spanOf, type Edit, type Fix, type SourceFile, type Span } from "../diagnostics/diagnostic.ts";
import { scan, type ScannedToken } from "./scanner.ts";

const SDK = "@radical/sdk";

/** Edits by which the file imports the name; none if it does already. Null: the file has the name for something else. */
export function sdkImportEdits(
  file: SourceFile,
  tokens: readonly ScannedToken[],
  name: string,
): readonly Edit[] | null {
  const from = tokens.findIndex(
    ({ kind, text }, at) => kind === "string" && text.slice(1, -1) === SDK && tokens[at - 1]?.text === "from",
  );
  let open = from;
  while (open >= 0 && tokens[open]!.text !== "import") open--;
  const named = open >= 0 && tokens[open + 1]?.text === "{" ? tokens.slice(open + 2, from - 2) : null;
  const names = named?.filter(({ kind }) => kind === "name").map(({ text }) => text) ?? [];
  if (names.includes("as")) return null;
  if (names.includes(name)) return [];
  if (tokens.some(({ kind, text }, at) => kind === "name" && text === name && tokens[at - 1]?.text !== "."))
    return null;
  const last = named?.findLast(({ kind }) => kind === "name");
  if (last !== undefined) return [{ span: spanOf(file, last.end, last.end), text: `, ${name}` }];
  if (from >= 0) return null;
  const start = tokens[0]?.start ?? 0;
  return [{ span: spanOf(file, start, start), text: `import { ${name} } from "${SDK}";\n` }];
}

/** Calls of JavaScript's library by their text, and the function of the SDK that takes their place. */
const CALLS: Readonly<Record<string, string>> = {
  "Date.now()": "now",
  "Math.random()": "random",
  "crypto.randomUUID()": "uuid",
};

/** Calls the SDK where a call at the span draws or asks for the time; null: it does something else. */
export function recordedCallFix(file: SourceFile, span: Span): Fix | null {
  const name = CALLS[file.text.slice(span.start, span.end)];
  const imports = name === undefined ? null : sdkImportEdits(file, scan(file.text), name);
  if (name === undefined || imports === null) return null;
  return { title: `Use what is recorded: ${name}()`, edits: [...imports, { span, text: `${name}()` }] };
}
