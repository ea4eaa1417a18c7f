/** `radical analyze`: what each handler reads and writes, and the function that computes it, or why there is none. */
import type { AccessPattern, HandlerReport } from "@radical/analyzer";
import { Argument, Command } from "commander";
import { PLAN_WORDS, type BuildOutcome, buildApp, framesOf } from "../build/build-app.ts";
import { type Compilation, startCompiler } from "../build/compile.ts";
import { CommandError, EXIT_FAILED, EXIT_USAGE } from "../command-error.ts";
import { loadProject } from "../config/load-config.ts";
import { createTerminal, type Terminal } from "../terminal/terminal.ts";
import { type CommonOptions, PROJECT_OPTION, print, reportError } from "./command.ts";

const HELP = `
A dependent read is one whose value the read/write-set function needs, to find further units.
A handler that can't be sliced runs in record mode: correct, but its run and the round trip to the primary take their
sum. The reason is shown with the expression that it is about.

Examples:
  $ radical analyze
  $ radical analyze follow
  $ radical analyze follow --emit        # the read/write-set function and nothing else
  $ radical analyze --json | jq '.handlers[] | {name, plan}'`;

interface AnalyzeOptions extends CommonOptions {
  readonly emit?: true;
}

export function analyzeCommand(): Command {
  return new Command("analyze")
    .description("show what the handlers read and write")
    .addArgument(new Argument("[handler]", "only this one"))
    .option(...PROJECT_OPTION)
    .option("--emit", "print the source of the read/write-set functions only")
    .option("--json", "print the report as JSON")
    .addHelpText("after", HELP)
    .action(async (handler: string | undefined, options: AnalyzeOptions) => {
      try {
        await analyze(handler, options);
      } catch (error) {
        reportError(error, options.json === true);
      }
    });
}

async function analyze(wanted: string | undefined, options: AnalyzeOptions): Promise<void> {
  const progress = createTerminal({ quiet: options.json === true });
  const terminal = createTerminal({ stream: process.stdout });
  const project = await loadProject(options.project);
  const compiler = await startCompiler({ colours: terminal.colours });
  try {
    const outcome = await progress.during("Analyzing", buildApp(project, compiler, { optimize: false }));
    const handlers = outcome.report.handlers.filter(({ name }) => wanted === undefined || name === wanted);
    if (outcome.app === null) process.exitCode = EXIT_FAILED;
    else if (handlers.length === 0) throw unknownHandler(wanted ?? "", outcome.report.handlers);
    if (options.json === true) print(JSON.stringify(jsonOf(outcome, handlers), null, 2));
    else if (options.emit === true) emit(handlers, outcome.report);
    else show(handlers, outcome.report, terminal);
  } finally {
    await compiler.close();
  }
}

function unknownHandler(name: string, handlers: readonly HandlerReport[]): CommandError {
  return new CommandError(
    "unknown_handler",
    `there is no handler "${name}"`,
    `the handlers are: ${handlers.map((handler) => handler.name).join(", ")}`,
    {
      exitCode: EXIT_USAGE,
    },
  );
}

function jsonOf({ app, report }: BuildOutcome, handlers: readonly HandlerReport[]): unknown {
  return { ok: app !== null, module: app?.manifest.module ?? null, handlers, diagnostics: report.diagnostics };
}

function emit(handlers: readonly HandlerReport[], report: Compilation): void {
  for (const handler of handlers) {
    if (handler.rwSource !== null) print(handler.rwSource.trimEnd());
    else if (handler.plan.kind === "recorded")
      process.stderr.write(`${report.frames.get(handler.plan.reason) ?? ""}\n`);
  }
  showErrors(report);
}

function show(handlers: readonly HandlerReport[], report: Compilation, terminal: Terminal): void {
  const { style } = terminal;
  for (const handler of handlers) {
    const { plan } = handler;
    const verdict = style(plan.kind === "sliced" || plan.kind === "given" ? "green" : "yellow", PLAN_WORDS[plan.kind]);
    print(
      `${style("bold", handler.name)}  ${verdict}${handler.readOnly ? ", reads only" : ""}  ${style("dim", `${handler.file}:${handler.line}`)}`,
    );
    showAccesses("reads", handler.reads, terminal);
    showAccesses("writes", handler.writes, terminal);
    if (plan.kind === "recorded") print(indent(report.frames.get(plan.reason) ?? ""));
    else if (handler.rwSource !== null) print(`\n${indent(style("dim", handler.rwSource.trimEnd()))}`);
    print("");
  }
  showErrors(report);
}

function showAccesses(label: string, accesses: readonly AccessPattern[], { style }: Terminal): void {
  for (const { pattern, dependent, span } of accesses) {
    const note = dependent ? `  ${style("cyan", "dependent")}` : "";
    print(`  ${label.padEnd(6)} ${pattern}${note}  ${style("dim", `${span.file}:${span.line}`)}`);
  }
}

function showErrors(report: Compilation): void {
  for (const frame of framesOf(report, "error")) process.stderr.write(`${frame}\n\n`);
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, "    ");
}
