/** Texts that an editor shows of a handler, of an access and of a table, as Markdown. */
import type { AccessPattern, Analysis, HandlerReport, Span, TableReport } from "@radical/analyzer";
import { PLAN_WORDS } from "../build/build-app.ts";

export interface Shown {
  readonly markdown: string;
  readonly span: Span;
}

/** Says what there is at the place; null: nothing. */
export function shownAt(analysis: Analysis, file: string, offset: number): Shown | null {
  const isHere = (span: Span): boolean => span.file === file && span.start <= offset && offset <= span.end;
  const handler = analysis.handlers.find(({ span }) => isHere(span));
  if (handler !== undefined) return { markdown: handlerWords(handler), span: handler.span };
  const table = analysis.tables.find(({ span }) => isHere(span));
  if (table !== undefined) return { markdown: tableWords(table, analysis.handlers), span: table.span };
  return accessAt(analysis, isHere);
}

/** Says what a handler reads and writes, and how that is known. */
export function handlerWords({ name, plan, readOnly, reads, writes, transformations }: HandlerReport): string {
  const lines = [`**${name}**: ${PLAN_WORDS[plan.kind]}${readOnly ? ", reads only" : ""}`];
  const accesses = [...accessLines("reads", reads), ...accessLines("writes", writes)];
  lines.push(accesses.length === 0 ? "It reads and writes nothing." : fenced(accesses));
  switch (plan.kind) {
    case "sliced":
      break;
    case "recorded":
      lines.push(`The location runs the handler before it asks the primary: ${plan.reason.message}.`);
      break;
    case "given":
      lines.push(`The function ${plan.function.name} says what it reads and writes.`);
      break;
    case "near-storage":
      lines.push("The primary runs it, by your choice.");
  }
  for (const { kind, words, steps } of transformations)
    lines.push(`${kind}: ${words}. This saves about ${steps.toLocaleString("en")} steps.`);
  return lines.join("\n\n");
}

/** Accesses with the same pattern are one line. */
function accessLines(label: string, accesses: readonly AccessPattern[]): readonly string[] {
  const dependent = new Set(accesses.filter((access) => access.dependent).map(({ pattern }) => pattern));
  return [...new Set(accesses.map(({ pattern }) => pattern))].map(
    (pattern) => `${label.padEnd(6)} ${pattern}${dependent.has(pattern) ? "  dependent" : ""}`,
  );
}

function tableWords({ name }: TableReport, handlers: readonly HandlerReport[]): string {
  const using = (kind: "reads" | "writes"): string =>
    handlers
      .filter((handler) => handler.tables?.[kind].includes(name) === true)
      .map((handler) => handler.name)
      .join(", ") || "no handler";
  const unknown = handlers.filter(({ tables }) => tables === null).map((handler) => handler.name);
  return [
    `**${name}**: a table`,
    `Read by ${using("reads")}.`,
    `Written by ${using("writes")}.`,
    ...(unknown.length === 0 ? [] : [`The tables of ${unknown.join(", ")} are not known.`]),
  ].join("\n\n");
}

/** The innermost access there, as each handler makes it. */
function accessAt({ handlers }: Analysis, isHere: (span: Span) => boolean): Shown | null {
  const found = handlers.flatMap((handler) =>
    (["reads", "writes"] as const).flatMap((kind) =>
      handler[kind].filter(({ span }) => isHere(span)).map((access) => ({ handler: handler.name, kind, access })),
    ),
  );
  const length = ({ access: { span } }: (typeof found)[number]): number => span.end - span.start;
  const span = found.toSorted((a, b) => length(a) - length(b))[0]?.access.span;
  if (span === undefined) return null;
  const lines = found
    .filter(({ access }) => access.span.start === span.start && access.span.end === span.end)
    .map(
      ({ handler, kind, access: { pattern, dependent } }) =>
        `${handler} ${kind} ${pattern}${dependent ? "  dependent" : ""}`,
    );
  return { markdown: fenced([...new Set(lines)]), span };
}

function fenced(lines: readonly string[]): string {
  return ["```text", ...lines, "```"].join("\n");
}
