/**
 * Diagnostics for a terminal:
 *
 *     error[try_statement]: A handler can't catch errors.
 *       --> handlers/social.ts:12:3
 *        |
 *     12 |   try {
 *        |   ^^^
 *        = help: …
 */
import type { Diagnostic, SourceFile, Span } from "./diagnostic.ts";

export interface RenderOptions {
  /** Whether to use ANSI colors. */
  readonly color: boolean;
  /** Where more can be read about a code. */
  readonly more?: (code: Diagnostic["code"]) => string;
}

type Paint = (text: string) => string;

/** The diagnostic as lines of text, with a code frame for each of its spans; no final line break. */
export function renderDiagnostic(
  diagnostic: Diagnostic,
  sources: readonly SourceFile[],
  options: RenderOptions,
): string {
  const paint = painter(options);
  const bold = paint("1");
  const faint = paint("2");
  const accent = paint(diagnostic.severity === "error" ? "1;31" : diagnostic.severity === "warning" ? "1;33" : "1;36");
  const spans = [diagnostic.primary, ...diagnostic.related.map((related) => related.span)];
  const gutter = Math.max(...spans.map((span) => String(span.line).length));
  const lines = [`${accent(`${diagnostic.severity}[${diagnostic.code}]`)}${bold(`: ${diagnostic.message}`)}`];
  lines.push(...frame(diagnostic.primary, sources, gutter, "", accent, faint));
  for (const { span, label } of diagnostic.related)
    lines.push(...frame(span, sources, gutter, label, paint("1;34"), faint));
  if (diagnostic.help !== undefined) {
    const [first = "", ...rest] = diagnostic.help.split("\n");
    lines.push(`${" ".repeat(gutter + 1)}${faint("=")} ${bold("help")}: ${first}`);
    for (const line of rest) lines.push(`${" ".repeat(gutter + 3)}${line}`);
  }
  if (options.more !== undefined) {
    lines.push(`${" ".repeat(gutter + 1)}${faint("=")} ${faint(`more: ${options.more(diagnostic.code)}`)}`);
  }
  return lines.join("\n");
}

/** Code frames alone: of a place, and of what is related to it. */
export function renderFrames(
  { primary, related }: Pick<Diagnostic, "primary" | "related">,
  sources: readonly SourceFile[],
  options: Pick<RenderOptions, "color">,
): string {
  const paint = painter(options);
  const gutter = Math.max(...[primary, ...related.map(({ span }) => span)].map(({ line }) => String(line).length));
  return [
    ...frame(primary, sources, gutter, "", paint("1;33"), paint("2")),
    ...related.flatMap(({ span, label }) => frame(span, sources, gutter, label, paint("1;34"), paint("2"))),
  ].join("\n");
}

function painter({ color }: Pick<RenderOptions, "color">): (code: string) => Paint {
  return (code) => (color ? (text) => `\u001b[${code}m${text}\u001b[0m` : (text) => text);
}

/** Longer lines are shown around the place only. */
const LONGEST_LINE = 160;

function frame(
  span: Span,
  sources: readonly SourceFile[],
  gutter: number,
  label: string,
  accent: Paint,
  faint: Paint,
): string[] {
  const indent = " ".repeat(gutter);
  const place = `${indent}${faint("-->")} ${span.file}:${span.line}:${span.column}`;
  const text = sources.find((source) => source.path === span.file)?.text;
  if (text === undefined) return [label === "" ? place : `${place}: ${label}`];
  const lineStart = text.lastIndexOf("\n", span.start - 1) + 1;
  const newline = text.indexOf("\n", lineStart);
  const lineEnd = newline === -1 ? text.length : newline;
  const whole = text.slice(lineStart, lineEnd).replace(/\r$/, "");
  const cut = whole.length > LONGEST_LINE ? Math.max(0, span.column - 1 - LONGEST_LINE / 4) : 0;
  const line = whole.slice(cut, cut + LONGEST_LINE);
  // A span over several lines, or over the end of what is shown, is marked as far as that.
  const width = Math.max(1, Math.min(span.end, lineStart + cut + line.length) - span.start);
  // Tabs stay tabs, so that the marks stand under the code whatever the tab width.
  const margin = line.slice(0, span.column - 1 - cut).replace(/[^\t]/g, " ");
  const marks = accent("^".repeat(width) + (label === "" ? "" : ` ${label}`));
  return [
    place,
    `${indent} ${faint("|")}`,
    `${faint(String(span.line).padStart(gutter))} ${faint("|")} ${line}`,
    `${indent} ${faint("|")} ${margin}${marks}`,
  ];
}
