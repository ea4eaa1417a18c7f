/** `radical analyze`: what each handler reads and writes, how that is known, and why it is not known better. */
import type { AccessPattern, DerivingPhase, Diagnostic, HandlerReport, Span, Transformation } from "@radical/analyzer";
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import {
  type BuildOutcome,
  buildApp,
  framesOf,
  PLAN_WORDS,
  type Compilation,
  startCompiler,
  loadProject,
} from "@radical/app";
import { CommandError, EXIT_FAILED, EXIT_USAGE } from "@radical/app/command-error";
import { createTerminal, type Terminal, print } from "../terminal/terminal.ts";
import { PROJECT, reported } from "./command.ts";
import { checkStrict, STRICT } from "./strict.ts";

/** Of the analyzer, which is loaded in its thread only. */
const PHASES = ["lower", "infer", "slice", "emit"] as const satisfies readonly DerivingPhase[];

const ANALYZE = {
  name: "analyze",
  words: "show what the handlers read and write",
  options: {
    handler: { kind: "operand", optional: true, words: "only this handler" },
    project: PROJECT,
    explain: { kind: "flag", words: "also show why the read/write-set functions keep what they keep" },
    emit: { kind: "flag", words: "print the source of the read/write-set functions only" },
    emitIr: {
      kind: "choice",
      of: ["all", ...PHASES],
      default: null,
      alone: "all",
      placeholder: "phase",
      words: "print the product of each phase of the analyzer, or of one",
    },
    strict: STRICT,
    json: { kind: "flag", words: "print the report as JSON" },
  },
  notes: `How the set of a handler is found:
  sliced        by a function that was derived from its source
  given         by a function of yours: /** @readwrite <handler> */
  record mode   by running the handler itself at its location, before the request to the primary
  near storage  not at the location: the primary runs the handler

The sets are shown as key patterns: {user} is a parameter, and {author of posts/{id}} is a field of an item. The pattern
{each …} is every element, {= …} a computed value, and {?} an unknown one. The value of a dependent read is needed to find
further items.

The phases derive the function of a handler in this order:
  lower  the handler and all that it calls, as a program in the intermediate representation
  infer  the same with marks: > before kept statements, ! behind needed values, * behind kept effects
  slice  the program that is left, with its transformations
  emit   its source`,
  examples: [
    ["radical analyze"],
    ["radical analyze follow --explain", "and why its read/write-set function keeps what it keeps"],
    ["radical analyze follow --emit", "the source of that function and nothing else"],
    ["radical analyze follow --emit-ir=slice", "the program from which that source is printed"],
    ["radical analyze --strict", "exit code 3 if a handler is neither sliced nor given"],
    ["radical analyze --json | jq '.handlers[] | {name, plan}'"],
  ],
} as const satisfies Command<Options>;

type AnalyzeOptions = Values<typeof ANALYZE.options>;

export const analyzeCommand: Subcommand = subcommand(ANALYZE, (options) => reported(options, () => analyze(options)));

async function analyze(options: AnalyzeOptions): Promise<void> {
  const { handler: wanted } = options;
  const progress = createTerminal({ quiet: options.json });
  const terminal = createTerminal({ stream: process.stdout });
  const project = await loadProject(options.project);
  const compiler = await startCompiler({ colours: terminal.colours });
  try {
    const explain = options.explain || options.json;
    const emitIr = options.emitIr !== null;
    const outcome = await progress.during(
      "Analyzing",
      buildApp(project, compiler, { optimize: false, bundle: false, explain, emitIr }),
    );
    const handlers = outcome.report.handlers.filter(({ name }) => wanted === null || name === wanted);
    if (outcome.app === null) process.exitCode = EXIT_FAILED;
    else if (handlers.length === 0) throw unknownHandler(wanted ?? "", outcome.report.handlers);
    if (options.json) print(JSON.stringify(jsonOf(outcome, handlers), null, 2));
    else if (options.emitIr !== null) showProducts(handlers, outcome.report, options.emitIr);
    else if (options.emit) emit(handlers, outcome.report);
    else show(handlers, outcome.report, terminal, options.explain);
    if (options.strict) checkStrict(handlers, progress);
  } finally {
    await compiler.close();
  }
}

function unknownHandler(name: string, handlers: readonly HandlerReport[]): CommandError {
  return new CommandError(
    "unknown_handler",
    `The handler "${name}" does not exist.`,
    `Name one of these handlers: ${handlers.map((handler) => handler.name).join(", ")}.`,
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
    else if (handler.plan.kind === "recorded") createTerminal().note(report.frames.get(handler.plan.reason) ?? "");
  }
  showErrors(report);
}

function showProducts(
  handlers: readonly HandlerReport[],
  report: Compilation,
  wanted: NonNullable<AnalyzeOptions["emitIr"]>,
): void {
  for (const { name, products, plan } of handlers) {
    for (const { phase, text } of products)
      if (wanted === "all" || wanted === phase) print(`# ${name}: ${phase}\n\n${text}`);
    if (plan.kind === "recorded") createTerminal().note(report.frames.get(plan.reason) ?? "");
  }
  showErrors(report);
}

function show(handlers: readonly HandlerReport[], report: Compilation, terminal: Terminal, explain: boolean): void {
  const { style } = terminal;
  /** A reason that several handlers share is told once. */
  const told = new Map<string, string>();
  for (const handler of handlers) {
    const { name, plan, readOnly, speculative, file, line } = handler;
    const good = plan.kind === "sliced" || plan.kind === "given";
    const verdict = style(good ? "green" : "yellow", PLAN_WORDS[plan.kind]);
    print(`${style("bold", name)}  ${verdict}${readOnly ? ", reads only" : ""}  ${style("dim", `${file}:${line}`)}`);
    showAccesses("reads", handler.reads, terminal);
    showAccesses("writes", handler.writes, terminal);
    for (const transformation of handler.transformations) showTransformation(transformation, report, terminal);
    switch (plan.kind) {
      case "sliced":
        break;
      case "given":
        print(`  by     ${plan.function.name}  ${style("dim", placeOf(plan.function.span))}`);
        break;
      case "near-storage":
        if (plan.keptBy === null) print(`  by     @nearstorage  ${style("dim", placeOf(plan.span))}`);
        else print(`  by     @private  ${plan.keptBy.words}  ${style("dim", placeOf(plan.span))}`);
        break;
      case "workflow":
        print(`  by     @workflow  ${style("dim", placeOf(plan.span))}`);
        break;
      case "recorded":
        showReason(name, plan.reason, report, told);
    }
    if (speculative !== null)
      print(`  shows  its result before the confirmation: @speculative  ${style("dim", placeOf(speculative))}`);
    if (explain) {
      showCost(handler);
      showExplanations(handler, report, terminal);
    }
    print("");
  }
  showErrors(report);
}

function showReason(handler: string, reason: Diagnostic, report: Compilation, told: Map<string, string>): void {
  const frame = report.frames.get(reason) ?? reason.message;
  // Which keys hang on it differs from handler to handler.
  const { file, start } = reason.primary;
  const place = `${reason.code} ${reason.message} ${file}:${start}`;
  const before = told.get(place);
  if (before === undefined) {
    told.set(place, handler);
    print(indent(frame));
  } else {
    print(`    for the reason that is told at ${before}: ${reason.code}`);
  }
}

/** Accesses of one kind with the same pattern are one line, with all their places. */
function showAccesses(label: string, accesses: readonly AccessPattern[], { style }: Terminal): void {
  const lines = new Map<string, { dependent: boolean; readonly places: Set<string> }>();
  for (const { pattern, dependent, span } of accesses) {
    const line = lines.get(pattern) ?? { dependent: false, places: new Set() };
    line.dependent ||= dependent;
    line.places.add(placeOf(span));
    lines.set(pattern, line);
  }
  for (const [pattern, { dependent, places }] of lines) {
    const note = dependent ? `  ${style("cyan", "dependent")}` : "";
    print(`  ${label.padEnd(6)} ${pattern}${note}  ${style("dim", [...places].join(", "))}`);
  }
}

function showTransformation(transformation: Transformation, { frames }: Compilation, { style }: Terminal): void {
  const { kind, words, steps, makesWriter, span } = transformation;
  print(`  ${style("yellow", kind)}  ${words}  ${style("dim", placeOf(span))}`);
  print(
    `    saves about ${steps.toLocaleString("en")} steps${makesWriter ? "; executions that write nothing take locks as if they did" : ""}`,
  );
  print(indent(frames.get(transformation) ?? ""));
  print(`    ${style("dim", `to refuse it: /** @refuse ${kind} */ before the handler`)}`);
}

/** The work that a call waits for before its request to the primary leaves. */
function showCost({ plan, steps }: HandlerReport): void {
  const about = (count: number | null): string =>
    count === null ? "a number of steps that is not known" : `about ${count.toLocaleString("en")} steps`;
  switch (plan.kind) {
    case "sliced":
      print(
        `  cost   ${about(steps.readWriteSet)} before the request leaves; the handler itself takes ${about(steps.handler)}`,
      );
      return;
    case "given":
      print(`  cost   ${about(steps.readWriteSet)} before the request leaves, in ${plan.function.name}`);
      return;
    case "recorded":
      print(`  cost   the request leaves when the handler has run, which takes ${about(steps.handler)}`);
      print("         and starts again, at most four times, when it comes to an item that the location lacks;");
      print("         sliced, the request would wait for what its keys need, and nothing else");
      return;
    case "near-storage":
      print(
        `  cost   the handler runs when the request has come to the primary: the round trip, then ${about(steps.handler)}`,
      );
      return;
    case "workflow":
      print("  cost   the round trip to the primary, then its steps, each an execution of its own");
  }
}

function showExplanations({ explanations, plan }: HandlerReport, { frames }: Compilation, { style }: Terminal): void {
  if (plan.kind === "sliced" && explanations.length === 0) print("  it keeps nothing");
  for (const explanation of explanations.filter(({ kind }) => kind !== "line")) {
    print(`  ${style("bold", explanation.what)}  ${style("dim", placeOf(explanation.span))}`);
    print(indent(frames.get(explanation) ?? ""));
  }
  const lines = explanations.filter(({ kind }) => kind === "line");
  if (lines.length > 0) print("  every line that it keeps:");
  for (const line of lines) {
    const next = line.chain.find(({ span }) => placeOf(span) !== placeOf(line.span)) ?? line.chain.at(-1);
    const why = next === undefined ? line.what : `${line.what}: ${next.words}  ${style("dim", placeOf(next.span))}`;
    print(`    ${style("dim", placeOf(line.span))}  ${frames.get(line) ?? ""}`);
    print(`      ${why}`);
  }
}

function showErrors(report: Compilation): void {
  for (const frame of framesOf(report, "error")) createTerminal().note(`${frame}\n`);
}

function placeOf({ file, line }: Span): string {
  return `${file}:${line}`;
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, "    ");
}
