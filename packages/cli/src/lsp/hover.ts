/** Texts that an editor shows of a handler, of an access and of a table, as Markdown. */
import type { AccessPattern, Analysis, HandlerReport, PlanReport, Span, TableReport } from "@radical/analyzer";

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
  const rows = [...rowsOf("reads", reads), ...rowsOf("writes", writes)];
  const isDependent = rows.some(({ dependent }) => dependent);
  const does = rows.length === 0 ? "touches no table" : readOnly ? "reads only" : "reads and writes";
  return [
    `**${name}** ${does}. ${planWords(plan)}`,
    ...(plan.kind === "recorded" ? [`> ${plan.reason.message}`] : []),
    ...(rows.length === 0 ? [] : [fenced(rows)]),
    ...(isDependent ? ["*dependent*: the value decides which other items the handler touches."] : []),
    ...transformations.map(
      ({ kind, words, steps }) => `*${kind}*: ${words} This saves about ${steps.toLocaleString("en")} steps.`,
    ),
  ].join("\n\n");
}

function planWords(plan: PlanReport): string {
  switch (plan.kind) {
    case "sliced":
      return "Its location knows the items before it runs.";
    case "given":
      return `The function ${plan.function.name} names the items.`;
    case "recorded":
      return "Its location runs it before it asks the primary, since the items are not known:";
    case "near-storage":
      return plan.keptBy === null ? "The primary runs it, by your choice." : plan.keptBy.words;
    case "workflow":
      return "It is a workflow: it runs steps, and touches no items itself.";
  }
}

interface Row {
  readonly label: string;
  readonly pattern: string;
  readonly dependent: boolean;
}

/** Accesses with the same pattern are one row; those on which others depend come first. */
function rowsOf(label: string, accesses: readonly AccessPattern[]): readonly Row[] {
  const dependent = new Set(accesses.filter((access) => access.dependent).map(({ pattern }) => pattern));
  return [...new Set(accesses.map(({ pattern }) => pattern))]
    .map((pattern) => ({ label, pattern, dependent: dependent.has(pattern) }))
    .toSorted((a, b) => Number(b.dependent) - Number(a.dependent));
}

/** Longer patterns push the word behind them out of its column. */
const MOST_PATTERN_WIDTH = 40;

function fenced(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(({ pattern }) => (pattern.length > MOST_PATTERN_WIDTH ? 0 : pattern.length)));
  const lines = rows.map(({ label, pattern, dependent }) =>
    `${label.padEnd(6)} ${pattern.padEnd(width)}${dependent ? "  dependent" : ""}`.trimEnd(),
  );
  return ["```text", ...lines, "```"].join("\n");
}

function tableWords({ name, isPrivate, isAudited }: TableReport, handlers: readonly HandlerReport[]): string {
  const using = (kind: "reads" | "writes"): string =>
    namesOf(handlers.filter(({ tables }) => tables?.[kind].includes(name) === true).map((handler) => handler.name));
  const unknown = handlers.filter(({ tables }) => tables === null).map((handler) => handler.name);
  return [
    `**${name}** is a ${isPrivate ? "private " : ""}table.`,
    ...(isPrivate ? ["Its items are never at a location, so the primary runs all that touches it."] : []),
    ...(isAudited ? ["The primary compares each followup that writes to it with a run of its own."] : []),
    `* read by ${using("reads")}\n* written by ${using("writes")}`,
    ...(unknown.length === 0 ? [] : [`The tables of ${namesOf(unknown)} are not known.`]),
  ].join("\n\n");
}

function namesOf(handlers: readonly string[]): string {
  return handlers.join(", ") || "no handler";
}

/** The innermost access there, with the handlers that make it. */
function accessAt({ handlers }: Analysis, isHere: (span: Span) => boolean): Shown | null {
  const found = handlers.flatMap((handler) =>
    (["reads", "writes"] as const).flatMap((label) =>
      handler[label].filter(({ span }) => isHere(span)).map((access) => ({ handler: handler.name, label, access })),
    ),
  );
  const length = ({ access: { span } }: (typeof found)[number]): number => span.end - span.start;
  const span = found.toSorted((a, b) => length(a) - length(b))[0]?.access.span;
  if (span === undefined) return null;
  const byRow = new Map<string, { readonly row: Row; readonly handlers: Set<string> }>();
  for (const { handler, label, access } of found) {
    if (access.span.start !== span.start || access.span.end !== span.end) continue;
    const { pattern, dependent } = access;
    const key = JSON.stringify([label, pattern, dependent]);
    const known = byRow.get(key) ?? { row: { label, pattern, dependent }, handlers: new Set() };
    byRow.set(key, known);
    known.handlers.add(handler);
  }
  const parts = [...byRow.values()].map(({ row, handlers: by }) => `${fenced([row])}\n\nby ${namesOf([...by])}`);
  return { markdown: parts.join("\n\n"), span };
}
