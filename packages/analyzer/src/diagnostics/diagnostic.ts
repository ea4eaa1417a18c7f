/**
 * Diagnostics: mistakes in the developer's sources, as data. They are collected, never thrown.
 */
import type { DiagnosticCode } from "./catalogue.ts";

/** A file that the developer wrote. */
export interface SourceFile {
  /** Relative to the application, `/` separated: "handlers/social.ts". */
  readonly path: string;
  readonly text: string;
}

/** A piece of a source file. */
export interface Span {
  readonly file: string;
  /** Offsets in UTF-16 units; `end` is exclusive. */
  readonly start: number;
  readonly end: number;
  /** Line of `start`; `line` and `column` count from 1. */
  readonly line: number;
  readonly column: number;
}

/** Says who must act on a diagnostic. */
export type DiagnosticClass =
  /** The source is wrong. */
  | "invalid"
  /** The source is right, but not supported. */
  | "unsupported"
  /** It works, at a cost. */
  | "imprecise"
  /** A mistake of Radical's own. */
  | "internal";

export interface Diagnostic {
  readonly code: DiagnosticCode;
  readonly severity: "error" | "warning" | "info";
  readonly class: DiagnosticClass;
  /** Says what is wrong and why, in the developer's terms: sentences with a capital and a full stop, code in backticks. */
  readonly message: string;
  readonly primary: Span;
  readonly related: readonly { readonly span: Span; readonly label: string }[];
  /** Says what to do, and shows the accepted form, in the same style. */
  readonly help?: string;
  /** Makes the accepted form, where a mechanical rewrite does. */
  readonly fix?: Fix;
}

/** A change of the sources that removes a mistake and keeps the developer's meaning. */
export interface Fix {
  /** Says what the fix does: "Leave out async". */
  readonly title: string;
  /** Edits that don't overlap. */
  readonly edits: readonly Edit[];
}

/** Puts the text in place of the span's own; an empty span is an insertion. */
export interface Edit {
  readonly span: Span;
  readonly text: string;
}

/** The span of the offsets `start` to `end` of a file. */
export function spanOf(file: SourceFile, start: number, end: number): Span {
  const starts = lineStartsOf(file.text);
  let line = 0;
  for (let step = 2 ** Math.floor(Math.log2(starts.length)); step >= 1; step /= 2)
    if (line + step < starts.length && starts[line + step]! <= start) line += step;
  return { file: file.path, start, end, line: line + 1, column: start - starts[line]! + 1 };
}

/** The line starts of the last text: spans are made file by file, and there may be many. */
let lastLines: { readonly text: string; readonly starts: readonly number[] } = { text: "", starts: [0] };

function lineStartsOf(text: string): readonly number[] {
  if (lastLines.text !== text) {
    const starts = [0];
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
    lastLines = { text, starts };
  }
  return lastLines.starts;
}

/** By file, then place, then code, without repetitions. */
export function sortDiagnostics(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const sorted = diagnostics.toSorted(
    (a, b) =>
      (a.primary.file < b.primary.file ? -1 : a.primary.file > b.primary.file ? 1 : 0) ||
      a.primary.start - b.primary.start ||
      a.primary.end - b.primary.end ||
      (a.code < b.code ? -1 : a.code > b.code ? 1 : 0) ||
      (a.message < b.message ? -1 : a.message > b.message ? 1 : 0),
  );
  return sorted.filter((diagnostic, index) => {
    const previous = sorted[index - 1];
    return (
      previous === undefined ||
      previous.code !== diagnostic.code ||
      previous.message !== diagnostic.message ||
      previous.primary.file !== diagnostic.primary.file ||
      previous.primary.start !== diagnostic.primary.start
    );
  });
}
