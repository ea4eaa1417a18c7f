/**
 * Records sampled executions of a deployment. The LVI server tells what each one ran on, exactly; what came of it is found
 * by running it again here, in the very module that it ran in, and compared with what the server knows of that.
 */
import {
  type CommandTrace,
  decodeEffects,
  decodeEntry,
  decodeOutcome,
  encodeEntry,
  isRedacted,
  type Journal,
  type ModuleHash,
  MODULES_PATH,
  type RedactionQuestion,
  type SampledEntries,
  type SampleLine,
  SAMPLES_PATH,
  type UnitId,
} from "@radical/protocol";
import { compileModule, type HandlerModule } from "@radical/wasm-host";
import { readModule, askPrimary, linesOf, PrimaryError, type PrimaryAddress } from "@radical/admin";
import { differencesOf, endOf, isSameEnd } from "./differences.ts";
import type { Recorded, RecordedActivation, RecordedCall, RecordedExecution } from "./record-line.ts";
import type { RecordedEntry } from "./recorded-activation.ts";
import { withoutNamed } from "./recorded-commands.ts";
import { type Values, valuesRead } from "./recorded-spans.ts";
import { followAgain, type FollowedAgain, type Inputs, runAgain } from "./run-again.ts";
import type { Sample } from "./sample-ring.ts";

export interface RecordOptions {
  readonly primary: PrimaryAddress;
  readonly count: number;
  /** One of so many executions is recorded. */
  readonly every: number;
  /** Empty: all. */
  readonly handlers: readonly string[];
  /** What the server redacts. */
  readonly redact: RedactionQuestion;
  /** Ends the recording; what was recorded stays. */
  readonly signal: AbortSignal;
  /** Called once the server samples. If it throws, the recording ends. */
  readonly onStarted?: () => void;
  readonly onRecord: (record: Recorded) => void;
}

export interface Recording {
  readonly recorded: number;
  /** Sampled executions that could not be recorded: see `left-out` of the protocol, and what is redacted. */
  readonly leftOut: number;
  /** Executions whose run here had another outcome, or other writes, than the server knows: a fault of Radical. */
  readonly differing: readonly string[];
  /** Those of the names to redact that nothing was found for. */
  readonly unredacted: readonly string[];
}

/** Throws a PrimaryError if the server can't be asked, or ends it. */
export async function record(options: RecordOptions): Promise<Recording> {
  const { primary, count, every, handlers, redact, signal, onRecord } = options;
  const modules = new Map<ModuleHash, HandlerModule>();
  const moduleOf = async (hash: ModuleHash): Promise<HandlerModule> => {
    const known = modules.get(hash);
    if (known !== undefined) return known;
    const module = await moduleOfPrimary(primary, hash);
    modules.set(hash, module);
    return module;
  };

  let [recorded, leftOut] = [0, 0];
  const differing: string[] = [];
  const found = new Set<string>();
  const stop = new AbortController();
  const response = await askPrimary(
    primary,
    "POST",
    SAMPLES_PATH,
    { every, handlers, values: true, redact },
    AbortSignal.any([signal, stop.signal]),
  );
  try {
    options.onStarted?.();
    for await (const text of linesOf(response)) {
      const line = JSON.parse(text) as SampleLine;
      switch (line.kind) {
        case "left-out":
          leftOut += line.count;
          break;
        case "ended":
          throw new PrimaryError(
            "primary_failed",
            `The LVI server has ended the recording: ${line.reason}`,
            "The records so far are kept.",
          );
        case "sample": {
          if (line.redacted === undefined && isRedacted(redact, [])) throw tooOld();
          for (const name of line.redacted ?? []) found.add(name);
          const result = recordOf(line, await moduleOf(line.module), redact);
          if (result === "left-out") leftOut++;
          else if (result === "differing") differing.push(line.execution);
          else {
            for (const name of result.redacted) found.add(name);
            onRecord(result);
            recorded++;
          }
        }
      }
      if (recorded >= count) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stop.abort();
  }
  if (recorded < count && !signal.aborted)
    throw new PrimaryError(
      "primary_not_reached",
      "The LVI server has ended the connection.",
      "The records so far are kept.",
    );
  const unredacted = redact === "all" ? [] : redact.filter((name) => !found.has(name));
  return { recorded, leftOut, differing, unredacted };
}

/** The module as the primary has it. Throws a PrimaryError. */
export async function moduleOfPrimary(primary: PrimaryAddress, hash: ModuleHash): Promise<HandlerModule> {
  const response = await askPrimary(primary, "GET", `${MODULES_PATH}${hash}/content`);
  return compileModule(readModule(new Uint8Array(await response.arrayBuffer())));
}

/** What it has sent is neither shown nor kept. */
function tooOld(): PrimaryError {
  return new PrimaryError(
    "primary_failed",
    "The LVI server is of an older version and does not redact what it sends. Nothing was recorded.",
    "Bring the server to the version of this command, or record everything as it is: --whole",
  );
}

/** The arguments and the environment of a sampled execution. */
export function inputsOf({ execution, handler, args, timeMs, seed, caller }: Sample): Inputs {
  return { execution, handler, args: bytesOf(args), timeMs, seed: bytesOf(seed), caller };
}

/** The values that a sampled execution ran on. */
export function valuesOf({ values }: Sample): Values {
  return new Map((values ?? []).map(([name, value]) => [name as UnitId, value === null ? null : bytesOf(value)]));
}

/** Runs a sampled execution in the module in which it was carried out. */
export function recordOf(
  sample: Sample,
  module: HandlerModule,
  redact: RedactionQuestion,
): Recorded | "left-out" | "differing" {
  return sample.activation === undefined
    ? executionOf(sample, module, redact)
    : activationOf(sample, sample.activation, module, redact);
}

function executionOf(
  sample: Sample,
  module: HandlerModule,
  redact: RedactionQuestion,
): RecordedExecution | "left-out" | "differing" {
  const inputs = inputsOf(sample);
  const values = valuesOf(sample);
  const isOther = isRedacted(redact, sample.redacted ?? []);
  const run = runAgain(module, inputs, values);
  // On what was redacted a handler may look for other items.
  if (run.kind !== "ended") return isOther ? "left-out" : "differing";
  const { outcome, writes, fuel, drawSites, logged } = run;
  const redacted = new Set(sample.redacted);
  const recorded: RecordedExecution = {
    kind: "execution",
    ...callOf(sample, inputs),
    drawSites,
    reads: valuesRead(run.reads, values),
    outcome,
    writes,
    effects: withoutNamed(run.effects, namesIn(sample, redact), (name) => redacted.add(name)),
    fuel,
    logged,
    redacted: [...redacted],
  };
  return isOther || isAsEnded(recorded, sample) ? recorded : "differing";
}

/** Runs a workflow as far as the sampled activation has come. */
function activationOf(
  sample: Sample,
  activation: SampledEntries,
  module: HandlerModule,
  redact: RedactionQuestion,
): RecordedActivation | "left-out" | "differing" {
  const inputs = inputsOf(sample);
  const sampled = entriesOf(activation);
  const isOther = isRedacted(redact, sample.redacted ?? []);
  const run = followAgain(module, inputs, { round: activation.round, arrived: sampled });
  if (run.kind === "failed" || !isSameWay(sampled, activation.hasTrapped, run, isOther))
    return isOther ? "left-out" : "differing";
  const redacted = new Set(sample.redacted);
  const names = namesIn(sample, redact);
  const entries = sampled.map(({ timeMs, arrivals }, at): RecordedEntry => {
    const { entry, commands = [] } = run.entries[at] ?? {};
    const issued = commands.map(({ command }) => command);
    const named = withoutNamed(issued, names, (name) => redacted.add(name));
    return { timeMs, arrivals, commands: named, wait: entry?.wait ?? null };
  });
  const end = endOf(run.run, names, (name) => redacted.add(name));
  const recorded: RecordedActivation = {
    kind: "activation",
    ...callOf(sample, inputs),
    drawSites: run.drawSites,
    journal: { round: activation.round, entries, end },
    logged: run.logged,
    redacted: [...redacted],
  };
  const known = sample.ended === null ? null : decodeOutcome(bytesOf(sample.ended.outcome));
  const isAsKnown = known === null || isSameEnd(known, end);
  return isOther || isAsKnown ? recorded : "differing";
}

/** The journal of a sampled run of a workflow, its own entry included. */
export function entriesOf({ entries }: SampledEntries): Journal {
  return entries.map((entry) => decodeEntry(bytesOf(entry)));
}

/** Whether the run here has issued the commands of the journal, and waited as it says. Of a redacted one only their kinds and names are known. */
function isSameWay(
  sampled: Journal,
  hasTrapped: boolean,
  run: FollowedAgain & { kind: "followed" },
  isOther: boolean,
): boolean {
  if (hasTrapped !== (run.run.kind === "trap")) return false;
  const written = hasTrapped ? sampled.slice(0, -1) : sampled;
  if (written.length !== run.entries.length) return false;
  return written.every((entry, at) => {
    const found = run.entries[at]!.entry;
    if (!isOther) return Buffer.compare(encodeEntry(entry), encodeEntry(found)) === 0;
    const isLike = ({ kind, name }: CommandTrace, index: number): boolean =>
      found.commands[index]?.kind === kind && found.commands[index].name === name;
    return entry.commands.length === found.commands.length && entry.commands.every(isLike);
  });
}

/** The names of all that is redacted: those of the question, and the secrets that the server has found. */
function namesIn({ redacted = [] }: Sample, redact: RedactionQuestion): readonly string[] {
  return redact === "all" ? redacted : [...redact, ...redacted];
}

/** The part of a sample that every record has. */
function callOf(
  { path, location, module, task, step }: Sample,
  inputs: Inputs,
): Omit<RecordedCall, "drawSites" | "logged" | "redacted"> {
  return { ...inputs, path, location, module, task: task ?? null, step: step ?? null };
}

/** Whether the run here did what the server knows that the execution did. An older server does not know effects. */
function isAsEnded(recorded: RecordedExecution, { ended }: Sample): boolean {
  if (ended === null) return true;
  const writes = new Map(ended.writes.map(([unit, value]) => [unit as UnitId, value === null ? null : bytesOf(value)]));
  const { outcome, effects, fuel } = recorded;
  const known: RecordedExecution = {
    ...recorded,
    outcome: decodeOutcome(bytesOf(ended.outcome)),
    writes,
    effects: ended.effects === undefined ? null : decodeEffects(bytesOf(ended.effects)),
  };
  const run = { outcome, fuel, writes: recorded.writes, effects: effects ?? [], reads: [], drawSites: [], logged: [] };
  return differencesOf(known, { kind: "ended", ...run }, 0).length === 0;
}

function bytesOf(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, "base64"));
}
