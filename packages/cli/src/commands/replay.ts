/** `radical replay`: recorded executions in the build of the sources as they are; what is different fails it, for CI. */
import { readFile } from "node:fs/promises";
import { text as textOf } from "node:stream/consumers";
import { type LoggedLine, terminalText } from "@radical/protocol";
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import { buildApp, framesOf, startCompiler, loadProject, counted } from "@radical/app";
import { CommandError, EXIT_FAILED, messageOf } from "@radical/app/command-error";
import { DEPLOYED } from "../operate/deployed-options.ts";
import { type ChangedField, changedFields } from "../replay/changed-fields.ts";
import { outcomeFields, readWords, STUCK_WORDS } from "../replay/difference-fields.ts";
import type { Difference } from "../replay/differences.ts";
import { NAME_A_RECORDING, readRecording, wrongUse } from "../replay/read-recording.ts";
import { type DifferingExecution, isSame, type LoggingExecution, logsOther, replay } from "../replay/replay.ts";
import { createTerminal, type Terminal, print } from "../terminal/terminal.ts";
import { PROJECT, reported } from "./command.ts";

/** Most executions that are shown to people. */
const MAX_SHOWN = 20;
/** Most fields of one difference that are shown to people. */
const MAX_FIELDS_SHOWN = 10;
const MAX_VALUE_SHOWN = 200;
const NO_END = "the recording has no end: its command was killed, or the file was cut. The records that are there run";
/** Characters that are the same, before the first one that differs in a value that is too long to be shown. */
const SAME_SHOWN = 40;

const REPLAY = {
  name: "replay",
  words: "run recorded executions in this build, and show the differences",
  options: {
    file: { kind: "operand", words: "file of radical record; - reads standard input" },
    project: PROJECT,
    env: {
      ...DEPLOYED.env,
      words: "deployed environment that a sealed file was recorded of (default: as the file says)",
    },
    primary: {
      kind: "text",
      placeholder: "url",
      words: "LVI server that a sealed file was recorded of; RADICAL_ADMIN_KEYS has its administration key",
    },
    region: DEPLOYED.region,
    handler: {
      kind: "list",
      placeholder: "name",
      words: "only executions of this handler; may be given several times",
    },
    fuelTolerance: {
      kind: "number",
      default: 10,
      least: 0,
      most: 999_999,
      fraction: true,
      unit: "percent",
      words: "additional fuel that an execution may take",
    },
    log: { kind: "flag", words: "show what the handlers log" },
    json: { kind: "flag", words: "print the result as JSON" },
  },
  notes: `Builds the handlers and runs each recorded execution in them, with its arguments, time, seed and caller. It reads exactly the items
that it read when it was recorded. These are differences:
  another outcome: result, abort or trap
  another write, or another effect: a task, a cancellation or a signal
  a read of an item that it did not read when it was recorded
  more fuel than the tolerance allows

Each line has a field by its path: result.posts[3].text: "a" → "b", or effects[0].args.to. Without differences the command is
silent. It writes nothing: no task begins.

A file that is not sealed needs no server. The key of a sealed one is at the deployment that it was recorded of. The command asks for
it, and opens the file in memory only. Once the deployment has destroyed the key, the file can't be read any more.

A workflow runs on the results that had arrived when it was recorded. The first other command, commands[2], or wait, waits[1],
ends the comparison: in this build the workflow would be stuck there.

--log shows the lines that each execution logs. A - marks a line that it logged when it was recorded, and a + a line that it
logs now. Other lines are not a difference.`,
  exitCodes: [
    "no differences",
    "there are differences, or the handlers do not build",
    "wrong usage, or a file that holds no records or was damaged",
  ],
  examples: [
    ["radical replay records.jsonl"],
    ["radical replay records.jsonl --handler follow --fuel-tolerance 25"],
    ["radical replay records.jsonl --handler follow --log"],
    ["radical replay records.jsonl --json | jq '.differing[].handler'"],
    ["radical replay records.jsonl --json | jq '.differing[].differences[].path'", "effects[0].args.to"],
    ["radical replay sealed.jsonl --env production", "with the key that production has"],
    ["gunzip -c records.jsonl.gz | radical replay -"],
  ],
} as const satisfies Command<Options>;

type ReplayOptions = Values<typeof REPLAY.options>;

export const replayCommand: Subcommand = subcommand(REPLAY, (options) => reported(options, () => run(options)));

async function run(options: ReplayOptions): Promise<void> {
  const terminal = createTerminal({ quiet: options.json });
  const { file, handler: handlers, fuelTolerance: percent } = options;
  const text = await read(file);
  const project = await loadProject(options.project);
  const { records: all, isSealed, isWhole } = await readRecording(text, file, project, options);
  const records = all.filter(({ handler }) => handlers.length === 0 || handlers.includes(handler));
  if (!isWhole) terminal.note(`${terminal.style("yellow", "!")} ${NO_END}`);
  const compiler = await startCompiler({ colours: terminal.colours });
  try {
    const { app, report } = await buildApp(project, compiler, { bundle: false, colours: terminal.colours });
    if (app === null) {
      const frames = framesOf(report, "error").join("\n\n");
      throw new CommandError(
        "build_failed",
        `The handlers have errors, so nothing was run.\n\n${frames}`,
        "Correct them.",
      );
    }
    const { differing, logging, withoutEffects } = replay(app.content, records, percent / 100);
    if (differing.length > 0) process.exitCode = EXIT_FAILED;
    const { module } = app.manifest;
    if (options.json) {
      const told = {
        module,
        records: records.length,
        isSealed,
        isWhole,
        withoutEffects,
        differing,
        ...(options.log ? { logging } : {}),
      };
      return print(JSON.stringify(told));
    }
    if (options.log) for (const one of logging) for (const line of loggingLines(one, terminal)) print(line);
    else tellOfOther(logging.filter(logsOther).length, terminal);
    if (withoutEffects > 0) terminal.note(terminal.style("dim", withoutEffectsWords(withoutEffects)));
    if (differing.length > 0) tell(differing, records.length, terminal);
  } finally {
    await compiler.close();
  }
}

async function read(file: string): Promise<string> {
  try {
    return file === "-" ? await textOf(process.stdin) : await readFile(file, "utf8");
  } catch (error) {
    throw wrongUse(`${file} can't be read: ${messageOf(error)}`, NAME_A_RECORDING);
  }
}

function tell(differing: readonly DifferingExecution[], records: number, terminal: Terminal): void {
  for (const one of differing.slice(0, MAX_SHOWN)) for (const line of differingLines(one, terminal)) print(line);
  if (differing.length > MAX_SHOWN) print(`… and ${differing.length - MAX_SHOWN} more; --json has all`);
  const by = terminalText([...new Set(differing.map(({ handler }) => handler))].toSorted().join(", "));
  terminal.note(
    `${terminal.style("red", "✗")} ${differing.length} of ${counted(records, "recorded execution")} differ: ${by}`,
  );
}

function withoutEffectsWords(count: number): string {
  const [records, have] = count === 1 ? ["record is", "it has"] : ["records are", "they have"];
  return `${count} ${records} of an earlier release: ${have} no effects, so those were not compared. Record again for that`;
}

function tellOfOther(count: number, terminal: Terminal): void {
  if (count === 0) return;
  const note = `${counted(count, "execution")} ${count === 1 ? "logs" : "log"} other lines than when recorded: --log shows them`;
  terminal.note(terminal.style("dim", note));
}

/** The width of the mark and the level of a line. */
const MARK_WIDTH = 9;

/** The lines of an execution, beside those that it logged when it was recorded. */
export function loggingLines(
  { execution, handler, logged, was }: LoggingExecution,
  { style }: Terminal,
): readonly string[] {
  const lines = [`${style("bold", terminalText(handler))} ${style("dim", terminalText(execution))}`];
  const told = (mark: string, { level, text }: LoggedLine): string => {
    // The lines of a text stand below one another, where none passes for another one.
    const below = text
      .split(/\r?\n/)
      .map(terminalText)
      .join(`\n${" ".repeat(MARK_WIDTH)}`);
    return `${mark} ${level}`.padEnd(MARK_WIDTH) + below;
  };
  for (let at = 0; at < Math.max(logged.length, was?.length ?? 0); at++) {
    const [before, now] = [was?.[at], logged[at]];
    if (now !== undefined && (was === null || (before !== undefined && isSame(before, now))))
      lines.push(told(" ", now));
    else {
      if (before !== undefined) lines.push(style("red", told("-", before)));
      if (now !== undefined) lines.push(style("green", told("+", now)));
    }
  }
  return lines;
}

/** Keys of items and messages are of clients' choice. */
export function differingLines(
  { execution, handler, differences }: DifferingExecution,
  { style }: Terminal,
): readonly string[] {
  const head = `${style("bold", terminalText(handler))} ${style("dim", terminalText(execution))}`;
  const isStuck = differences.some(({ kind }) => kind === "way");
  const lines = [...differences.flatMap(words), ...(isStuck ? [STUCK_WORDS] : [])];
  return [head, ...lines.map((line) => `  ${terminalText(line)}`)];
}

function words(difference: Difference): readonly string[] {
  switch (difference.kind) {
    case "handler_gone":
      return ["the handler is gone"];
    case "read_outside":
      return [`reads ${readWords(difference.unit)}, which it did not read`];
    case "outcome":
      return outcomeWords(difference.was, difference.is);
    case "write": {
      const { unit, was, is } = difference;
      if (was === null) return [`writes ${unit}, which it did not write: ${shortened(is!)}`];
      if (is === null) return [`does not write ${unit} (was ${shortened(was)})`];
      const written = `writes ${unit}: `;
      return fieldLines(changedFields("", was, is), (path) => `${written}${path}`) ?? [`${written}${change(was, is)}`];
    }
    case "effect":
      return [commandWords(difference)];
    case "way": {
      const { place } = difference;
      return [`${commandWords(difference)}${place === "" ? "" : ` (${place})`}`];
    }
    case "fuel":
      return [
        `fuel: ${difference.was} → ${difference.is}, ${Math.round((difference.is / difference.was - 1) * 100)} % more`,
      ];
    case "not_run":
      return [`could not be run: ${difference.reason}`];
  }
}

/** An effect, a command or a wait that is there only once is told whole, others by their fields. */
function commandWords({ path, was, is }: ChangedField): string {
  const isWhole = /^\w+\[\d+\]$/.test(path);
  if (is === null && isWhole) return `${path} is missing: it was ${shortened(was ?? "")}`;
  if (was === null && isWhole) return `${path} is new: ${shortened(is ?? "")}`;
  return `${path}: ${change(was ?? "absent", is ?? "absent")}`;
}

/** Outcomes of one kind by their fields, others whole. */
function outcomeWords(was: string, is: string): readonly string[] {
  return fieldLines(outcomeFields(was, is), (path) => path) ?? [`outcome: ${change(was, is)}`];
}

function fieldLines(fields: readonly ChangedField[] | null, named: (path: string) => string): readonly string[] | null {
  if (fields === null) return null;
  const lines = fields
    .slice(0, MAX_FIELDS_SHOWN)
    .map(({ path, was, is }) => `${named(path)}${path === "" ? "" : ": "}${change(was ?? "absent", is ?? "absent")}`);
  const left = fields.length - MAX_FIELDS_SHOWN;
  return left > 0 ? [...lines, `${named("…")} and ${counted(left, "more field")}; --json has the whole values`] : lines;
}

/** Values that are too long from shortly before the first character that differs. */
function change(was: string, is: string): string {
  if (was.length <= MAX_VALUE_SHOWN && is.length <= MAX_VALUE_SHOWN) return `${was} → ${is}`;
  let same = 0;
  while (same < was.length && was[same] === is[same]) same++;
  const from = Math.max(0, same - SAME_SHOWN);
  return [was, is].map((text) => (from === 0 ? "" : "…") + shortened(text.slice(from))).join(" → ");
}

function shortened(text: string): string {
  return text.length <= MAX_VALUE_SHOWN ? text : `${text.slice(0, MAX_VALUE_SHOWN)}…`;
}
