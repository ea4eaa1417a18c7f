/** `radical replay`: recorded executions in the build of the sources as they are; what is different fails it, for CI. */
import { readFile } from "node:fs/promises";
import { text as textOf } from "node:stream/consumers";
import { terminalText } from "@radical/protocol";
import { Argument, Command } from "commander";
import { buildApp, framesOf } from "../build/build-app.ts";
import { startCompiler } from "../build/compile.ts";
import { CommandError, EXIT_FAILED, EXIT_USAGE, messageOf } from "../command-error.ts";
import { loadProject } from "../config/load-config.ts";
import type { Difference } from "../replay/differences.ts";
import { type Recorded, recordOfLine, RecordProblem } from "../replay/record-line.ts";
import { type DifferingExecution, replay } from "../replay/replay.ts";
import { counted, createTerminal, type Terminal, print } from "../terminal/terminal.ts";
import { type CommonOptions, PROJECT_OPTION, reported } from "./command.ts";

const HELP = `
Builds the handlers and runs each recorded execution in them, on exactly what it read then, with its arguments, time, seed and
caller. Told is what is different: the outcome (result, abort or trap), writes, an item that was not read then, fuel beyond the
tolerance. Nothing is said, and nothing is written anywhere, if nothing is. No server is needed.

Exit codes:
  0  no differences
  1  there are differences, or the handlers do not build
  2  wrong usage, or a file that holds no records

Examples:
  $ radical replay records.jsonl
  $ radical replay records.jsonl --handler follow --fuel-tolerance 25
  $ radical replay records.jsonl --json | jq '.differing[].handler'
  $ gunzip -c records.jsonl.gz | radical replay -`;

interface ReplayCommandOptions extends CommonOptions {
  readonly handler: readonly string[];
  readonly fuelTolerance: string;
}

/** Most executions that are shown to people. */
const MAX_SHOWN = 20;
const MAX_VALUE_SHOWN = 200;

export function replayCommand(): Command {
  return new Command("replay")
    .description("run recorded executions in this build, and tell what is different")
    .addArgument(new Argument("<file>", "what radical record has written; -: standard input"))
    .option(...PROJECT_OPTION)
    .option(
      "--handler <name>",
      "only executions of this handler; may be given several times",
      (value: string, before: readonly string[]) => [...before, value],
      [],
    )
    .option("--fuel-tolerance <percent>", "how much more fuel is no difference", "10")
    .option("--json", "print the result as JSON")
    .addHelpText("after", HELP)
    .action((file: string, options: ReplayCommandOptions) => reported(options, () => run(file, options)));
}

async function run(file: string, options: ReplayCommandOptions): Promise<void> {
  const terminal = createTerminal({ quiet: options.json === true });
  const { handler: handlers, fuelTolerance: percent } = options;
  if (!/^\d{1,6}(\.\d+)?$/.test(percent))
    throw wrongUse(`--fuel-tolerance "${percent}" is no percentage`, "for example --fuel-tolerance 10");
  const records = recordsOf(await read(file), file).filter(
    ({ handler }) => handlers.length === 0 || handlers.includes(handler),
  );
  const project = await loadProject(options.project);
  const compiler = await startCompiler({ colours: terminal.colours });
  try {
    const { app, report } = await buildApp(project, compiler, { bundle: false, colours: terminal.colours });
    if (app === null) {
      const frames = framesOf(report, "error").join("\n\n");
      throw new CommandError("build_failed", `the handlers have errors\n\n${frames}`, "correct them: nothing was run");
    }
    const differing = replay(app.content, records, Number(percent) / 100);
    if (differing.length > 0) process.exitCode = EXIT_FAILED;
    if (options.json === true)
      print(JSON.stringify({ module: app.manifest.module, records: records.length, differing }));
    else if (differing.length > 0) tell(differing, records.length, terminal);
  } finally {
    await compiler.close();
  }
}

async function read(file: string): Promise<string> {
  try {
    return file === "-" ? await textOf(process.stdin) : await readFile(file, "utf8");
  } catch (error) {
    throw wrongUse(`${file} can't be read: ${messageOf(error)}`, "name what radical record has written");
  }
}

function recordsOf(text: string, file: string): readonly Recorded[] {
  const records = text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    try {
      return [recordOfLine(line)];
    } catch (error) {
      if (!(error instanceof RecordProblem)) throw error;
      throw wrongUse(`${file}:${index + 1} ${error.message}`, "name what radical record has written");
    }
  });
  // A test of nothing would pass for ever.
  if (records.length === 0) throw wrongUse(`${file} holds no records`, "record some: radical record");
  return records;
}

function tell(differing: readonly DifferingExecution[], records: number, terminal: Terminal): void {
  for (const one of differing.slice(0, MAX_SHOWN)) for (const line of differingLines(one, terminal)) print(line);
  if (differing.length > MAX_SHOWN) print(`… and ${differing.length - MAX_SHOWN} more; --json has all`);
  const by = terminalText([...new Set(differing.map(({ handler }) => handler))].toSorted().join(", "));
  terminal.note(
    `${terminal.style("red", "✗")} ${differing.length} of ${counted(records, "recorded execution")} differ: ${by}`,
  );
}

/** Keys of items and messages are of clients' choice. */
export function differingLines(
  { execution, handler, differences }: DifferingExecution,
  { style }: Terminal,
): readonly string[] {
  const head = `${style("bold", terminalText(handler))} ${style("dim", terminalText(execution))}`;
  return [head, ...differences.map((difference) => `  ${terminalText(words(difference))}`)];
}

function words(difference: Difference): string {
  switch (difference.kind) {
    case "handler_gone":
      return "the handler is gone";
    case "read_outside":
      return `reads ${difference.unit}, which it did not read`;
    case "outcome":
      return `outcome: ${shortened(difference.was)} → ${shortened(difference.is)}`;
    case "write": {
      const { unit, was, is } = difference;
      if (was === null) return `writes ${unit}, which it did not write: ${shortened(is!)}`;
      return is === null
        ? `does not write ${unit} (was ${shortened(was)})`
        : `writes ${unit}: ${shortened(was)} → ${shortened(is)}`;
    }
    case "fuel":
      return `fuel: ${difference.was} → ${difference.is}, ${Math.round((difference.is / difference.was - 1) * 100)} % more`;
    case "not_run":
      return `could not be run: ${difference.reason}`;
  }
}

function shortened(text: string): string {
  return text.length <= MAX_VALUE_SHOWN ? text : `${text.slice(0, MAX_VALUE_SHOWN)}…`;
}

function wrongUse(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
