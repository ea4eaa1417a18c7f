/** Diagnostics and their fixes in the words of the Language Server Protocol. */
import { existsSync } from "node:fs";
import type { Diagnostic, Edit, Fix, Span } from "@radical/analyzer";
import {
  DiagnosticSeverity,
  type Diagnostic as ToldDiagnostic,
  type Range,
  type TextEdit,
} from "vscode-languageserver";
import type { TextDocument } from "vscode-languageserver-textdocument";
import { diagnosticPages } from "../diagnostic-pages.ts";
import type { CommandError } from "@radical/app/command-error";

const SOURCE = "radical";

const SEVERITIES = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  info: DiagnosticSeverity.Information,
} as const satisfies Record<Diagnostic["severity"], DiagnosticSeverity>;

/** The files that were analyzed, by their path in the project. */
export interface AnalyzedFiles {
  /** With the text that was analyzed. */
  document(file: string): TextDocument | undefined;
  uriOf(file: string): string;
}

/** In the text that was analyzed; an empty one at the start, should the file not be among them. */
export function rangeOf({ file, start, end }: Span, files: AnalyzedFiles): Range {
  const document = files.document(file);
  const at = (offset: number) => document?.positionAt(offset) ?? { line: 0, character: 0 };
  return { start: at(start), end: at(end) };
}

/** The help stands in the message, since editors show it where the mistake is. */
export function toldDiagnostic(
  { code, severity, message, help, primary, related }: Diagnostic,
  files: AnalyzedFiles,
): ToldDiagnostic {
  const page = pageOf(code);
  return {
    range: rangeOf(primary, files),
    severity: SEVERITIES[severity],
    source: SOURCE,
    code,
    ...(page === null ? {} : { codeDescription: { href: page } }),
    message: help === undefined ? message : `${message}\n${help}`,
    relatedInformation: related.map(({ span, label }) => ({
      location: { uri: files.uriOf(span.file), range: rangeOf(span, files) },
      message: label,
    })),
  };
}

/** An application that can't be built at all: at the start of its configuration. */
export function toldProblem({ code, message, hint }: CommandError): ToldDiagnostic {
  const start = { line: 0, character: 0 };
  return {
    range: { start, end: start },
    severity: DiagnosticSeverity.Error,
    source: SOURCE,
    code,
    message: `${message}\n${hint}`,
  };
}

export function toldEdit({ span, text }: Edit, files: AnalyzedFiles): TextEdit {
  return { range: rangeOf(span, files), newText: text };
}

/**
 * The edits of several fixes as one change. Fixes often share an edit: an import that both need. One that disagrees with
 * those before it is left for the next time.
 */
export function joinedEdits(fixes: readonly Fix[]): readonly Edit[] {
  const joined: Edit[] = [];
  for (const { edits } of fixes) {
    const added = edits.filter((edit) => !joined.some((other) => isSame(edit, other)));
    if (added.every((edit) => joined.every((other) => !overlaps(edit.span, other.span)))) joined.push(...added);
  }
  return joined;
}

function isSame(a: Edit, b: Edit): boolean {
  return a.text === b.text && a.span.file === b.span.file && a.span.start === b.span.start && a.span.end === b.span.end;
}

/** Two insertions at one place do not. */
function overlaps(a: Span, b: Span): boolean {
  return a.file === b.file && a.start < b.end && b.start < a.end;
}

function pageOf(code: string): string | null {
  const page = new URL(`${code}.md`, diagnosticPages());
  return existsSync(page) ? page.href : null;
}
