/**
 * The rewrites of refused forms that are mechanical: each makes the accepted form of its diagnostic's help, and means the
 * same. They work on tokens, so that other mistakes in a file hinder none.
 */
import type { DiagnosticCode } from "../diagnostics/catalogue.ts";
import { spanOf, type Edit, type Fix, type SourceFile } from "../diagnostics/diagnostic.ts";
import { collectionOf } from "../parse/message-fixes.ts";
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

  /** Text of the token so many places behind this one. */
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

  /** Puts a text in place of so many tokens from this one. */
  replaced(count: number, text: string): Edit {
    return this.edit(this.tokens[this.index]!.start, this.tokens[this.index + count - 1]!.end, text);
  }

  /** Removes so many tokens, with the space that divides them from the next one. */
  leftOut(count = 1): Edit {
    const { start } = this.tokens[this.index]!;
    const { end } = this.tokens[this.index + count - 1]!;
    const next = this.tokens[this.index + count]?.start ?? end;
    const gap = this.file.text.slice(end, next);
    return this.edit(start, /^[ \t]*$/.test(gap) ? next : end, "");
  }

  /** The text of the tokens from one index up to another, as it is written. */
  written(from: number, to: number): string {
    return this.file.text.slice(this.tokens[from]!.start, this.tokens[to]!.end);
  }

  /** Removes so many tokens, with the space that divides them from the one before. */
  cutOff(count: number): Edit {
    const { end } = this.tokens[this.index + count - 1]!;
    return this.edit(this.tokens[this.index - 1]?.end ?? 0, end, "");
  }
}

type FixOf = (place: Place) => Fix | null;

const FIXES: Partial<Record<DiagnosticCode, FixOf>> = {
  bigint_literal: withoutBigint,
  for_in_loop: overKeys,
  string_enum: asTexts,
  local_declaration: atTop,
  regular_expression: withTexts,
  index_signature: asRecord,
  call_signature: asFunctionType,
  module_form: asImport,
  async_function: (place) =>
    place.text(0) === "await" ? { title: "Leave out await", edits: [place.leftOut()] } : withoutAsync(place),
  type_import: (place) => {
    const word = place.text(0) === "type" ? place : place.at(place.index + 1);
    return { title: `${place.text(0) === "export" ? "Export" : "Import"} without type`, edits: [word.leftOut()] };
  },
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

/** The rewrite of the form at the token; null: none is certain. */
export function formFix(
  code: DiagnosticCode,
  file: SourceFile,
  tokens: readonly NestedToken[],
  index: number,
): Fix | null {
  return FIXES[code]?.(new Place(file, tokens, index)) ?? null;
}

/** Rewrites a whole function: a value that it awaits is there at once, so the awaits in it go with the word. */
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

/** Keeps only T of a result type `Promise<T>`, and any other type whole. Null: the type has no end. */
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

/** Rewrites all uses of the name in the file, unless it also has a field of that name without the hash. */
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

/** The keys of a record by texts. */
function overKeys(place: Place): Fix | null {
  const [word, name, at] = [place.text(4), place.text(5), place.index + 4];
  const isRecord = word === "in" && place.text(6) === ")" && collectionOf(name, place.file.text) === "Record";
  const text = `of Object.keys(${name})`;
  return isRecord ? { title: `Write ${text}`, edits: [place.at(at).replaced(2, text)] } : null;
}

/** A constant without a type is of 32 bits then, so it gets one. */
function withoutBigint(place: Place): Fix | null {
  const digits = place.text(0).slice(0, -1);
  if (!isOf64Bits(digits)) return null;
  const behind = place.file.text.slice(place.tokens[place.index]!.end);
  const isConstant =
    ["const", "let"].includes(place.text(-3)) && place.text(-1) === "=" && /^[ \t]*(?:[;,\n\r]|$)/.test(behind);
  const typed = isConstant ? [place.at(place.index - 2).replaced(1, `${place.text(-2)}: i64`)] : [];
  return { title: `Write ${digits}`, edits: [...typed, place.replaced(1, digits)] };
}

function isOf64Bits(digits: string): boolean {
  return BigInt(digits.replaceAll("_", "")) < 2n ** 63n;
}

/** A union of the texts, and each use of a member its text. Other files may import an exported one, so that stays. */
function asTexts(place: Place): Fix | null {
  const { tokens, index } = place;
  const [name, open] = [place.text(1), index + 2];
  const end = tokens[open]?.closer ?? tokens.length;
  if (end >= tokens.length || ["export", "declare"].includes(place.text(place.text(-1) === "const" ? -2 : -1)))
    return null;
  const texts = new Map<string, string>();
  for (let at = open + 1; at < end; at += 4) {
    const [member, sign, text, comma] = [tokens[at], tokens[at + 1], tokens[at + 2], tokens[at + 3]];
    if (member?.kind !== "name" || sign?.text !== "=" || text?.kind !== "string") return null;
    if (at + 3 < end && comma?.text !== ",") return null;
    texts.set(member.text, text.text);
  }
  const first = place.text(-1) === "const" ? index - 1 : index;
  const union = `type ${name} = ${[...new Set(texts.values())].join(" | ")};`;
  const edits: Edit[] = [place.at(first).replaced(end - first + 1, union)];
  for (const [at, token] of tokens.entries()) {
    if (token.text !== name || token.kind !== "name" || at === index + 1) continue;
    const use = place.at(at);
    if (use.text(-1) === ".") continue;
    if (use.text(1) === ".") {
      const text = texts.get(use.text(2));
      if (text === undefined) return null;
      edits.push(use.replaced(3, text));
    } else if (![":", "|", "<", ",", "as"].includes(use.text(-1)) || (use.text(1) === "[" && use.text(2) !== "]"))
      return null;
  }
  return { title: `Make it type ${name} of texts`, edits };
}

/** The declaration before the function in which it stands, unless it uses something of that function. */
function atTop(place: Place): Fix | null {
  const { file, tokens, index } = place;
  let open = index;
  while (open < tokens.length && tokens[open]!.text !== "{") open++;
  const end = tokens[open]?.closer ?? tokens.length;
  let body = index;
  while (tokens[body]!.opener >= 0) body = tokens[body]!.opener;
  let start = body;
  while (start > 0 && !(tokens[start - 1]!.opener < 0 && [";", "}"].includes(tokens[start - 1]!.text))) start--;
  const first = ["abstract", "const"].includes(place.text(-1)) ? index - 1 : index;
  const name = place.text(1);
  const [statementEnd] = [tokens[body]!.closer ?? tokens.length];
  if (end >= tokens.length) return null;
  const outer = new Set<string>();
  for (let at = start; at < statementEnd; at++)
    if ((at < first || at > end) && declares(tokens, at)) outer.add(tokens[at]!.text);
  for (let at = open; at < end; at++)
    if (tokens[at]!.kind === "name" && tokens[at - 1]!.text !== "." && outer.has(tokens[at]!.text)) return null;
  if (tokens.some((token, at) => token.text === name && token.opener < 0 && at !== index + 1)) return null;
  const lineStart = file.text.lastIndexOf("\n", tokens[first]!.start) + 1;
  const indent = file.text.slice(lineStart, tokens[first]!.start);
  if (/\S/.test(indent)) return null;
  const lineEnd = file.text.slice(tokens[end]!.end).startsWith("\n") ? tokens[end]!.end + 1 : tokens[end]!.end;
  const text = place.written(first, end).replaceAll(`\n${indent}`, "\n");
  const before = tokens[start - 1]?.end ?? 0;
  return {
    title: `Declare ${name} at the top of the file`,
    edits: [
      place.edit(before, before, before === 0 ? `${text}\n\n` : `\n\n${text}`),
      place.edit(lineStart, lineEnd, ""),
    ],
  };
}

/** Whether the token is the name of a variable, a parameter or a function that is declared there. */
function declares(tokens: readonly NestedToken[], at: number): boolean {
  const { kind, opener } = tokens[at]!;
  if (kind !== "name") return false;
  const [before, after] = [tokens[at - 1]?.text ?? "", tokens[at + 1]?.text ?? ""];
  if (["const", "let", "var", "function", "class", "enum", "interface"].includes(before) || after === "=>") return true;
  if (opener < 0) return false;
  const { text, closer } = tokens[opener]!;
  const behind = tokens[(closer ?? tokens.length) + 1]?.text ?? "";
  if (text === "(") return ["(", ",", "..."].includes(before) && [":", "=>", "{"].includes(behind);
  return ["{", ",", ":", "[", "..."].includes(before) && (behind === "=" || behind === "of");
}

/** The method of strings that does the same as a regular expression without special characters. */
function withTexts(place: Place): Fix | null {
  const { tokens, index, file } = place;
  const [, before = "", source = "", after = "", flags = ""] =
    /^\/(\^?)((?:[^\\^$.*+?()[\]{}|]|\\[^\w\s])+)(\$?)\/([a-z]*)$/.exec(place.text(0)) ?? [];
  if (source === "" || !["", "g"].includes(flags)) return null;
  const text = JSON.stringify(source.replaceAll(/\\(.)/g, "$1"));
  const isAnchored = before + after !== "";
  if (place.text(1) === "." && place.text(2) === "test" && place.text(3) === "(") {
    const end = tokens[index + 3]!.closer ?? tokens.length;
    if (flags !== "" || end >= tokens.length || end === index + 4) return null;
    const written = place.written(index + 4, end - 1);
    const subject = /^[\w$.]+$/.test(written) ? written : `(${written})`;
    const tested =
      before !== "" && after !== ""
        ? `(${subject} == ${text})`
        : `${subject}.${before === "" ? (after === "" ? "includes" : "endsWith") : "startsWith"}(${text})`;
    return { title: `Write ${tested}`, edits: [place.edit(tokens[index]!.start, tokens[end]!.end, tested)] };
  }
  const method = place.text(-2);
  if (isAnchored || place.text(-1) !== "(" || place.text(-3) !== ".") return null;
  if (method === "split" && place.text(1) === ")")
    return { title: `Split at ${text}`, edits: [place.replaced(1, text)] };
  const value = tokens[index + 2];
  const isPlain = value?.kind === "string" && !value.text.includes("$") && place.text(3) === ")";
  if (!["replace", "replaceAll"].includes(method) || place.text(1) !== "," || !isPlain) return null;
  const name = flags === "g" ? "replaceAll" : "replace";
  const { start } = tokens[index - 2]!;
  return {
    title: `Write ${name}(${text}, ${file.text.slice(value.start, value.end)})`,
    edits: [place.edit(start, tokens[index]!.end, `${name}(${text}`)],
  };
}

/** An interface that is nothing but an index signature. */
function asRecord(place: Place): Fix | null {
  const { tokens, index } = place;
  const open = tokens[index]!.opener;
  const [keyword, name] = [tokens[open - 2], tokens[open - 1]];
  const end = tokens[open]?.closer ?? tokens.length;
  const last = place.at(end - 1).text(0) === ";" ? end - 2 : end - 1;
  const isAlone = index === open + 1 && !tokens.slice(index, last).some(({ text }) => text === ";");
  if (keyword?.text !== "interface" || !isAlone || place.text(3) !== "string" || last < index + 6) return null;
  const text = `type ${name!.text} = Record<string, ${place.written(index + 6, last)}>;`;
  return { title: `Make ${name!.text} a Record`, edits: [place.at(open - 2).replaced(end - open + 3, text)] };
}

/** An interface that is nothing but a call signature. */
function asFunctionType(place: Place): Fix | null {
  const { tokens, index } = place;
  const open = index + 2;
  const end = tokens[open]?.closer ?? tokens.length;
  const closer = tokens[open + 1]?.closer ?? tokens.length;
  const last = place.at(end - 1).text(0) === ";" ? end - 2 : end - 1;
  if (place.text(0) !== "interface" || place.text(2) !== "{" || place.text(3) !== "(") return null;
  if (closer >= end || place.at(closer + 1).text(0) !== ":" || last < closer + 2) return null;
  if (tokens.slice(closer, last).some(({ text }) => text === ";")) return null;
  const type = `${place.written(open + 1, closer)} => ${place.written(closer + 2, last)}`;
  const text = `type ${place.text(1)} = ${type};`;
  return { title: `Make ${place.text(1)} a function type`, edits: [place.replaced(end - index + 1, text)] };
}

/** `import words = require("../lib/words")` of a file of the application. */
function asImport(place: Place): Fix | null {
  const [keyword, path] = [place.text(3), place.tokens[place.index + 5]];
  if (place.text(0) !== "import" || keyword !== "require" || path?.kind !== "string") return null;
  const text = `import * as ${place.text(1)} from ${path.text}`;
  return { title: "Import all names", edits: [place.replaced(7, text)] };
}
