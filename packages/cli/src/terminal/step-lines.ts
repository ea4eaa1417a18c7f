/** Plans and steps of a deployment as lines for people. */
import type { Change, PlannedStep, StepEvent, StepReport, StepsOutcome } from "@radical/deploy";
import type { Terminal } from "./terminal.ts";

const SIGNS: Readonly<Record<Change["kind"], string>> = {
  make: "+",
  change: "~",
  replace: "±",
  remove: "-",
  repair: "~",
};

export function changesOf(planned: readonly PlannedStep[]): readonly Change[] {
  return planned.flatMap(({ changes }) => changes);
}

/** Nothing if there is nothing to change. */
export function showPlan(planned: readonly PlannedStep[], terminal: Terminal): void {
  const changes = changesOf(planned);
  if (changes.length === 0) return;
  const { style } = terminal;
  terminal.note(style("bold", "\nThis would change:"));
  for (const { kind, what, detail } of changes)
    terminal.note(`  ${SIGNS[kind]} ${kind} ${what}${detail === "" ? "" : style("dim", `  ${detail}`)}`);
  terminal.note("");
}

export function showStep(event: StepEvent, terminal: Terminal): void {
  if (event.kind === "begun") return;
  const { style } = terminal;
  const { step, report } = event;
  const sign = report.outcome === "failed" ? style("red", "✗") : style("green", "✓");
  const unchanged = report.outcome === "unchanged" ? style("dim", " unchanged") : "";
  const found = report.found === null ? "" : style("dim", `  ${report.found}`);
  terminal.note(`${sign} ${step.title}${unchanged}${found} ${duration(report.ms, terminal)}`);
}

/** What was done, in what state things are, and what to run. */
export function showUnfinished(
  outcome: Exclude<StepsOutcome, { readonly kind: "done" }>,
  again: string,
  terminal: Terminal,
): void {
  const { style } = terminal;
  const done = doneWords(outcome.reports);
  switch (outcome.kind) {
    case "stopped":
      return terminal.note(
        `${style("yellow", "!")} stopped ${outcome.isBegun ? "during" : "before"} "${outcome.next.title}". ${done} ${outcome.next.ifFailed}\n  run \`${again}\` to go on`,
      );
    case "failed":
      return terminal.note(
        `${style("red", "error")} ${outcome.error.message}\n  ${outcome.error.hint}\n${done} ${outcome.failed.ifFailed}\n  run \`${again}\` to go on`,
      );
  }
}

function doneWords(reports: readonly StepReport[]): string {
  const done = reports.filter(({ outcome }) => outcome === "done").map(({ name }) => name);
  return done.length === 0 ? "No step before it has changed anything." : `Done before: ${done.join(", ")}.`;
}

export function duration(ms: number, { style }: Terminal): string {
  return style("dim", ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`);
}
