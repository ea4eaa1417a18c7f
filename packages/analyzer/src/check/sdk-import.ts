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

/** Functions of JavaScript's library, and those of the SDK that take their place with the same arguments. */
const FUNCTIONS: Readonly<Record<string, string>> = {
  "Date.now": "now",
  "Math.random": "random",
  "crypto.randomUUID": "uuid",
  "console.log": "log",
  "console.info": "log",
  "console.debug": "log.debug",
  "console.warn": "log.warn",
  "console.error": "log.error",
};

/** Calls the SDK in place of the call at the span; null: nothing of the SDK takes its place. */
export function sdkCallFix(file: SourceFile, { start, end }: Span): Fix | null {
  const called = /^[\w.]+(?=\()/.exec(file.text.slice(start, end))?.[0] ?? "";
  const name = FUNCTIONS[called];
  if (name === undefined) return null;
  const imports = sdkImportEdits(file, scan(file.text), name.split(".")[0] ?? name);
  if (imports === null) return null;
  return {
    title: `Call ${name} of the SDK`,
    edits: [...imports, { span: spanOf(file, start, start + called.length), text: name }],
  };
}
