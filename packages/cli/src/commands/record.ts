/** `radical record`: a sample of the executions of a deployment, in a file, for `radical replay`. */
import type { RedactionQuestion } from "@radical/protocol";
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import { CommandError, EXIT_FAILED } from "@radical/app/command-error";
import { counted, loadProject, timeText } from "@radical/app";
import { untilSignal } from "../operate/until-signal.ts";
import { DEPLOYED, PRIMARY } from "../operate/deployed-options.ts";
import { leadingPrimary } from "../operate/leading-primary.ts";
import { explained } from "../operate/older-server.ts";
import { newRecordingKey, type PrimaryAddress, serverName } from "@radical/admin";
import { record, type Recording } from "../replay/record.ts";
import { RecordingFile } from "../replay/recording-file.ts";
import { redactionChoice } from "../replay/redaction-choice.ts";
import { isHeadName, type RecordingHead, RecordingSeal } from "../replay/sealed-recording.ts";
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
    plain: { kind: "flag", words: "do not seal the file of a deployment: it can be read by anybody who has it" },
    json: { kind: "flag", words: "print the result as JSON" },
  },
  notes: `Writes one line for each execution: handler, arguments, time, seed, caller, reads, outcome, writes, effects and fuel. Attempts
of tasks and steps of workflows are executions too. A run of a workflow has the results that had arrived, and the commands that
it issued. The executions are those of radical dev, if that runs in the project. --env names a deployment instead, and --primary
another LVI server. Ctrl-C ends the recording, and keeps the lines so far.

The file of a deployment is sealed with a key of its own, which the LVI server makes and keeps. radical replay asks the server for
it. The server destroys the key after 30 days, or after its --recording-retention-ms. From then on nobody can read the file, nor any
copy of it. --plain writes a file that is not sealed, for CI that can't ask the deployment. Files of radical dev are not sealed.

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
    ["radical record --env production --every 100", "redacted at the server, and sealed"],
    ["radical record --env production --every 100 --whole"],
    ["radical record --env production --plain --output tests/records.jsonl", "redacted, for CI"],
    ["RADICAL_ADMIN_KEYS=admin:… radical record --primary https://lvi.example.com --output - > records.jsonl"],
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
  const sealing = isOfDeployment(options) && !options.plain ? await newSeal(primary, options.env) : null;
  if (isOfDeployment(options)) terminal.note(`${terminal.style("yellow", "!")} ${sealWords(sealing?.head ?? null)}`);

  const { signal, stopListening } = untilSignal();
  let file: RecordingFile | null = null;
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
        file = new RecordingFile(output, sealing?.seal ?? null);
        terminal.note(`recording ${counted(count, "execution")} of ${serverName(primary)} … (Ctrl-C ends it)`);
      },
      onRecord: (recorded) => file!.write(recorded),
    });
    if (recording.differing.length > 0) process.exitCode = EXIT_FAILED;
    if (options.json) {
      const readableUntilMs = sealing?.head.untilMs ?? null;
      if (output !== "-") print(JSON.stringify({ ...recording, output, isSealed: sealing !== null, readableUntilMs }));
    } else tell(recording, output, terminal);
  } finally {
    stopListening();
    (file as RecordingFile | null)?.close();
  }
}

/** Or of `radical dev` on this machine. */
function isOfDeployment({ env, primary }: RecordOptions): boolean {
  return env !== null || primary !== null;
}

/** All by default; on this machine, of `radical dev`, nothing. */
function redactionOf(options: RecordOptions): RedactionQuestion {
  return redactionChoice(options) ?? (isOfDeployment(options) ? "all" : []);
}

/** Under a key that is of this recording alone. Throws a CommandError if there is none. */
async function newSeal(
  primary: PrimaryAddress,
  environment: string | null,
): Promise<{ readonly head: RecordingHead; readonly seal: RecordingSeal }> {
  const hint =
    "Nothing was recorded. Bring the server to the version of this command, or record without a seal: --plain";
  const key = await explained("recording keys", () => newRecordingKey(primary), hint);
  if (key === null)
    throw new CommandError(
      "no_recording_keys_there",
      "The LVI server keeps no keys, since its storage is in memory.",
      "Nothing was recorded. Record without a seal: --plain",
    );
  const { id, secret, madeAtMs, untilMs } = key;
  const deployment = isHeadName(primary.deployment) ? primary.deployment : null;
  const head = { key: id, deployment, environment, madeAtMs, untilMs };
  return { head, seal: new RecordingSeal(head, Buffer.from(secret, "base64")) };
}

function sealWords(head: RecordingHead | null): string {
  return head === null
    ? "the file is not sealed: it can be read by anybody who has it"
    : `the file is sealed; its key is at the server until ${timeText(head.untilMs)}, for radical replay`;
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
