/**
 * The rewrites of refused forms that are mechanical: each makes the accepted form of its diagnostic's help, and means the
 * same. They work on tokens, so that whatever else is wrong with a file hinders none.
 */
import type { DiagnosticCode } from "../diagnostics/catalogue.ts";
import { spanOf, type Edit, type Fix, type SourceFile } from "../diagnostics/diagnostic.ts";
import { sdkImportEdits } from "./sdk-import.ts";
import type { NestedToken } from "./scanner.ts";

/** A token in its file. */
class Place {
  readonly file: SourceFile;
  readonly tokens: readonly NestedToken[];
  readonly index: number;

  constructor(file: SourceFile, tokens: readonly NestedToken[], index: number) {
    this.file = file;
    this.tokens = tokens;
    this.index = index;
  }

  /** Of the token so many places behind this one. */
  text(distance: number): string {
    return this.tokens[this.index + distance]?.text ?? "";
  }

  /** The place of a token by its index. */
  at(index: number): Place {
    return new Place(this.file, this.tokens, index);
  }

  edit(start: number, end: number, text: string): Edit {
    return { span: spanOf(this.file, start, end), text };
  }

  /** Of so many tokens from this one. */
  replaced(count: number, text: string): Edit {
    return this.edit(this.tokens[this.index]!.start, this.tokens[this.index + count - 1]!.end, text);
  }

  /** So many tokens, with the space that divides them from the next one. */
  leftOut(count = 1): Edit {
    const { start } = this.tokens[this.index]!;
    const { end } = this.tokens[this.index + count - 1]!;
    const next = this.tokens[this.index + count]?.start ?? end;
    const gap = this.file.text.slice(end, next);
    return this.edit(start, /^[ \t]*$/.test(gap) ? next : end, "");
  }

  /** So many tokens, with the space that divides them from the one before. */
  cutOff(count: number): Edit {
    const { end } = this.tokens[this.index + count - 1]!;
    return this.edit(this.tokens[this.index - 1]?.end ?? 0, end, "");
  }
}

type FixOf = (place: Place) => Fix | null;

const FIXES: Partial<Record<DiagnosticCode, FixOf>> = {
  async_function: (place) =>
    place.text(0) === "await" ? { title: "Leave out await", edits: [place.leftOut()] } : withoutAsync(place),
  type_import: (place) => ({ title: "Import without type", edits: [place.at(place.index + 1).leftOut()] }),
  old_statement: (place) =>
    place.text(0) === "debugger" ? { title: "Leave out debugger", edits: [place.leftOut(2)] } : null,
  void_operator: (place) => ({ title: "Leave out void", edits: [place.leftOut()] }),
  class_form: (place) =>
    ["override", "accessor"].includes(place.text(0))
      ? { title: `Leave out ${place.text(0)}`, edits: [place.leftOut()] }
      : null,
  type_operator: (place) =>
    place.text(0) === "satisfies" && [";", ",", ")", "]", "}"].includes(place.text(2))
      ? { title: "Leave out satisfies", edits: [place.cutOff(2)] }
      : null,
  computed_name: (place) => {
    const name = /^["']([A-Za-z_$][\w$]*)["']$/.exec(place.text(1))?.[1];
    return name === undefined || place.text(2) !== "]"
      ? null
      : { title: `Name it ${name}`, edits: [place.replaced(3, name)] };
  },
  private_name: withPrivate,
  nondeterministic: (place) => {
    // `new Date()`
    const imports = sdkImportEdits(place.file, place.tokens, "now");
    if (imports === null || place.text(0) !== "new") return null;
    return {
      title: "Use the recorded time: new Date(now())",
      edits: [...imports, place.replaced(4, "new Date(now())")],
    };
  },
};

/** Null: there is no rewrite that is certain. */
export function formFix(
  code: DiagnosticCode,
  file: SourceFile,
  tokens: readonly NestedToken[],
  index: number,
): Fix | null {
  return FIXES[code]?.(new Place(file, tokens, index)) ?? null;
}

/** Of a whole function: what it awaits is there at once, so the awaits in it go with the word. */
function withoutAsync(place: Place): Fix | null {
  const { tokens, index } = place;
  let open = index + 1;
  while (open < tokens.length && !["(", "=>", "{", ";"].includes(tokens[open]!.text)) open++;
  const behind = tokens[open]?.text === "(" ? (tokens[open]!.closer ?? tokens.length) + 1 : open;
  const result = tokens[behind]?.text === ":" ? promised(place, behind + 1) : { edits: [], end: behind };
  if (result === null) return null;
  let body = result.end;
  while (body < tokens.length && !["{", ";"].includes(tokens[body]!.text)) body++;
  const end = tokens[body]?.text === "{" ? (tokens[body]!.closer ?? tokens.length) : behind;
  const awaits: Edit[] = [];
  for (let at = behind; at < end; at++)
    if (tokens[at]!.text === "await" && tokens[at]!.kind === "name" && tokens[at - 1]?.text !== ".")
      awaits.push(place.at(at).leftOut());
  return { title: "Leave out async, await and Promise", edits: [place.leftOut(), ...result.edits, ...awaits] };
}

/** Of a result type `Promise<T>` only T; another one stays. Null: it has no end. */
function promised(place: Place, start: number): { readonly edits: readonly Edit[]; readonly end: number } | null {
  const { tokens } = place;
  if (tokens[start]?.text !== "Promise" || tokens[start + 1]?.text !== "<") return { edits: [], end: start };
  let depth = 0;
  for (let at = start + 1; at < tokens.length; at++) {
    const { text } = tokens[at]!;
    if (text === "{" || text === ";" || text === "=>") return null;
    if (text === "<") depth++;
    else if (text === ">" && --depth === 0)
      return { edits: [place.at(start).replaced(2, ""), place.at(at).replaced(1, "")], end: at + 1 };
  }
  return null;
}

/** All uses of the name in the file, unless it has a field of that name without the hash, too. */
function withPrivate({ file, tokens, index }: Place): Fix | null {
  const name = tokens[index + 1]!.text;
  const edits: Edit[] = [];
  for (const [at, token] of tokens.entries()) {
    if (token.text !== name || token.kind !== "name") continue;
    const place = new Place(file, tokens, at - 1);
    if (place.text(0) !== "#" || tokens[at - 1]!.end !== token.start) return null;
    const before = place.text(-1);
    if (before === ".") edits.push(place.replaced(1, ""));
    else if (["{", "}", ";"].includes(before)) edits.push(place.replaced(1, "private "));
    // `static #count`, `get #count()`, `#count in object`
    else return null;
  }
  return { title: `Make it private ${name}`, edits };
}
