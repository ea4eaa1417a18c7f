/** The option `--strict`: handlers whose set is neither sliced nor given are a failure. */
import type { HandlerReport, PlanReport } from "@radical/analyzer";
import type { Option } from "@radical/command-line";
import { PLAN_WORDS, counted } from "@radical/app";
import { EXIT_FALLBACK, EXIT_OK } from "@radical/app/command-error";
import type { Terminal } from "../terminal/terminal.ts";

export const STRICT = {
  kind: "flag",
  words: "exit with code 3 if a handler is neither sliced nor given",
} as const satisfies Option;

/** Says which handlers fell back and sets the exit code, unless it is that of a failure already. */
export function checkStrict(handlers: readonly HandlerReport[], terminal: Terminal): void {
  const fallen = handlers.filter(({ plan }) => plan.kind === "recorded" || plan.kind === "near-storage");
  if (fallen.length === 0) return;
  if ((process.exitCode ?? EXIT_OK) === EXIT_OK) process.exitCode = EXIT_FALLBACK;
  terminal.note(`${terminal.style("red", "✗")} strict: ${counted(fallen.length, "handler")} neither sliced nor given`);
  for (const { name, plan, file, line } of fallen) {
    const reason = reasonOf(plan);
    terminal.note(`  ${name}  ${PLAN_WORDS[plan.kind]}${reason}  ${file}:${line}`);
  }
}

function reasonOf(plan: PlanReport): string {
  if (plan.kind === "recorded") return `: ${plan.reason.code}`;
  return plan.kind === "near-storage" && plan.keptBy !== null ? `: private table ${plan.keptBy.table}` : "";
}
