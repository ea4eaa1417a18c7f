/** Doc comments of handlers and types, for clients and their editors. */
import type { as } from "../parse/assemblyscript.ts";

export interface Documentation {
  /** Markdown, without tags; null: there is none. */
  readonly description: string | null;
  /** By name. */
  readonly parameters: ReadonlyMap<string, string>;
  /** It has the tag `@internal`. */
  readonly isInternal: boolean;
  /** The words of its tags `@was`. */
  readonly was: readonly string[];
}

const NONE: Documentation = { description: null, parameters: new Map(), isInternal: false, was: [] };
/** Between a comment and the name of a function or method. */
const BETWEEN = /^(?:\s|\/\/[^\n]*\n|@[\w.]+(?:\([^)]*\))?|\b(?:export|default|declare|public|function)\b)*$/;
/** Between a comment and the name of a type or of a field. */
const BEFORE_NAME =
  /^(?:\s|\/\/[^\n]*\n|@[\w.]+(?:\([^)]*\))?|\b(?:export|abstract|const|class|interface|enum|type|public|readonly)\b)*$/;
const PARAMETER = /^@param\s+(?:\{[^}]*\}\s*)?\[?([A-Za-z_$][\w$]*)[^\s\]]*\]?\s*(?:-\s*)?([\s\S]*)$/;

/** `nameStart`: where the name of a function or method begins in the text of its file. */
export function documentationOf(text: string, nameStart: number): Documentation {
  return documentationBefore(text, nameStart, BETWEEN);
}

/** The description of the type or field whose name stands at the range; null: there is none. */
export function descriptionBefore({ source, start }: as.Range): string | null {
  return documentationBefore(source.text, start, BEFORE_NAME).description;
}

/** The names that the field had in earlier builds whose name stands at the range, as its tags `@was` say. */
export function formerNames({ source, start }: as.Range): readonly string[] {
  return documentationBefore(source.text, start, BEFORE_NAME).was;
}

function documentationBefore(text: string, nameStart: number, between: RegExp): Documentation {
  const end = text.lastIndexOf("*/", nameStart);
  if (end < 0 || !between.test(text.slice(end + 2, nameStart))) return NONE;
  const start = text.lastIndexOf("/*", end - 1);
  if (!text.startsWith("/**", start) || start + 3 > end) return NONE;
  const lines = text
    .slice(start + 3, end)
    .split(/\r?\n/)
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd());
  const comment = lines.join("\n").trim();
  // A tag begins a line, and ends where the next one begins.
  const [description = "", ...tags] = `\n${comment}`.split(/\n(?=[ \t]*@[A-Za-z])/);
  const parameters = new Map<string, string>();
  for (const tag of tags) {
    const [, name, words] = PARAMETER.exec(tag.trim()) ?? [];
    if (name !== undefined && words !== undefined && words.trim() !== "") parameters.set(name, words.trim());
  }
  const isInternal = tags.some((tag) => /^\s*@internal\b/.test(tag));
  const was = tags.flatMap((tag) => /^\s*@was\b(.*)$/s.exec(tag)?.[1]?.trim() ?? []);
  return { description: description.trim() === "" ? null : description.trim(), parameters, isInternal, was };
}
