/** `radical record`: a sample of the executions of a deployment, in a file, for `radical replay`. */
import { closeSync, openSync, writeSync } from "node:fs";
import { type RedactionQuestion, terminalText } from "@radical/protocol";
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import { EXIT_FAILED } from "@radical/app/command-error";
import { counted, loadProject } from "@radical/app";
import { untilSignal } from "../operate/until-signal.ts";
import { DEPLOYED, PRIMARY } from "../operate/deployed-options.ts";
import { leadingPrimary } from "../operate/leading-primary.ts";
import { serverName } from "@radical/admin";
import { record, type Recording } from "../replay/record.ts";
import { recordToLine } from "../replay/record-line.ts";
import { redactionChoice } from "../replay/redaction-choice.ts";
import { createTerminal, type Terminal, print } from "../terminal/terminal.ts";
import { PROJECT, reported } from "./command.ts";

const RECORD = {
  name: "record",
  words: "record a sample of the executions of a deployment, for radical replay",
  options: {
    project: PROJECT,
    env: DEPLOYED.env,
    primary: PRIMARY,
    region: DEPLOYED.region,
    output: {
      kind: "text",
      short: "o",
      placeholder: "file",
      default: "records.jsonl",
      words: "file to write; - writes to standard output",
    },
    count: { kind: "number", default: 100, least: 1, most: 999_999_999, words: "number of executions to record" },
    every: {
      kind: "number",
      default: 1,
      least: 1,
      most: 999_999_999,
      words: "record one execution out of this number",
    },
    handler: {
      kind: "list",
      placeholder: "name",
      words: "only executions of this handler; may be given several times",
    },
    redact: {
      kind: "list",
      placeholder: "what",
      words:
        "redact only these fields: <table>.<field>, <table>.*, @arguments.<name>, @caller; may be given several times",
    },
    whole: { kind: "flag", words: "redact only secrets, and record all else that users have sent as it is" },
    json: { kind: "flag", words: "print the result as JSON" },
  },
  notes: `Writes one line for each execution: handler, arguments, time, seed, caller, reads, outcome, writes, effects and fuel. Attempts
of tasks and steps of workflows are executions too. A run of a workflow has the results that had arrived, and the commands that
it issued. The executions are those of radical dev, if that runs in the project. --env names a deployment instead, and --primary
another LVI server. Ctrl-C ends the recording, and keeps the lines so far.

The LVI server of a deployment redacts what it sends, before it leaves. Each text gets a pseudonym of its length, the same
wherever it stands, in keys of items too. Numbers become 0 unless a key has them, and the seed is another one. The handler runs
again on these values, so its outcome and writes are redacted too. An execution that then reads other items is left out.
--redact redacts only the named fields: all else, keys of items included, is recorded as it is. The name @arguments.<name>
stands for the arguments of tasks and steps as well. All results that have arrived at a workflow are redacted whole then.
--whole redacts only secrets. Executions of radical dev, on this machine, are recorded as they are, unless --redact names
fields. A parameter of the type Secret is always ‹secret›, and its handler runs with that text.`,
  exitCodes: [
    "the recording has the executions that you asked for, or Ctrl-C ended it",
    "the server was not reached, or has ended the recording, or a run here differed from the one at the server",
    "wrong usage",
  ],
  examples: [
    ["radical record", "100 executions of radical dev to records.jsonl"],
    ["radical record --count 1000 --every 50 --handler follow --handler post"],
    ["radical record --redact users.email --redact '@arguments.password' --redact @caller"],
    ["radical record --env production --every 100", "redacted at the server"],
    ["radical record --env production --every 100 --whole"],
    [
      "RADICAL_ADMIN_KEYS=admin:… radical record --primary https://lvi.example.com --output - | gzip > records.jsonl.gz",
    ],
  ],
} as const satisfies Command<Options>;

type RecordOptions = Values<typeof RECORD.options>;

export const recordCommand: Subcommand = subcommand(RECORD, (options) => reported(options, () => run(options)));

async function run(options: RecordOptions): Promise<void> {
  const { output, handler: handlers, count, every } = options;
  const terminal = createTerminal({ quiet: options.json });
  const redact = redactionOf(options);
  const primary = await leadingPrimary(await loadProject(options.project), options);
  terminal.note(`${terminal.style("yellow", "!")} ${warningOf(redact)}`);

  const { signal, stopListening } = untilSignal();
  let file: number | null = null;
  try {
    const recording = await record({
      primary,
      count,
      every,
      handlers,
      redact,
      signal,
      onStarted: () => {
        // Only now: a server that can't be asked leaves an earlier file as it was.
        file = output === "-" ? process.stdout.fd : openSync(output, "w", 0o600);
        terminal.note(`recording ${counted(count, "execution")} of ${serverName(primary)} … (Ctrl-C ends it)`);
      },
      // The same JSON, on a terminal too.
      onRecord: (recorded) => void writeSync(file!, `${terminalText(recordToLine(recorded))}\n`),
    });
    if (recording.differing.length > 0) process.exitCode = EXIT_FAILED;
    if (options.json) {
      if (output !== "-") print(JSON.stringify({ ...recording, output }));
    } else tell(recording, output, terminal);
  } finally {
    stopListening();
    if (file !== null && output !== "-") closeSync(file);
  }
}

/** All by default; on this machine, of `radical dev`, nothing. */
function redactionOf({ redact, whole, env, primary }: RecordOptions): RedactionQuestion {
  return redactionChoice({ redact, whole }) ?? (env === null && primary === null ? [] : "all");
}

function warningOf(redact: RedactionQuestion): string {
  if (redact === "all")
    return "the LVI server replaces texts by pseudonyms, and numbers that no key has by 0; --whole records all as it is";
  const words = "records hold what users have sent and what tables have; keep them as you keep that";
  return `${words}${redact.length === 0 ? " (--redact leaves fields out)" : "; keys of items are not redacted"}`;
}

function tell({ recorded, leftOut, differing, unredacted }: Recording, output: string, terminal: Terminal): void {
  for (const name of unredacted)
    terminal.note(`${terminal.style("yellow", "!")} nothing was found for --redact ${name}`);
  if (leftOut > 0)
    terminal.note(terminal.style("dim", `${counted(leftOut, "sampled execution")} could not be recorded`));
  if (differing.length > 0) {
    const some = differing.slice(0, 5).join(", ");
    terminal.note(
      `${terminal.style("red", "✗")} ${counted(differing.length, "execution")} ran differently here, which is a fault of Radical: ${some}`,
    );
  }
  terminal.note(
    `${terminal.style("green", "✓")} ${counted(recorded, "execution")} recorded${output === "-" ? "" : `: ${output}`}`,
  );
}
