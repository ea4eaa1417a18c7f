/** A sampled execution run again, step by step, as the dashboard shows it. */
import {
  type CommitId,
  type RedactionQuestion,
  type Replay,
  type ReplayDifference,
  type ReplayStep,
  type Settled,
  SHOWN_SECRET,
  type UnitId,
  type WorkflowCommand,
} from "@radical/protocol";
import type { HandlerModule, RunStep } from "@radical/wasm-host";
import { differenceFields, readWords, STUCK_WORDS } from "./difference-fields.ts";
import { activationDifferences, type Difference, differencesOf, endOf as activationEnd } from "./differences.ts";
import { entriesOf, inputsOf, recordOf, valuesOf } from "./record.ts";
import type { Recorded } from "./record-line.ts";
import { endToJson } from "./recorded-activation.ts";
import { shownCommand } from "./recorded-commands.ts";
import { outcomeToJson } from "./recorded-outcome.ts";
import { shownValue } from "./recorded-part.ts";
import { followAgain, type RunAgain, runAgain, type RunAgainOptions } from "./run-again.ts";
import type { Sample } from "./sample-ring.ts";
import { isSecretPath, shownArguments, withoutSecretNames } from "./secret-names.ts";

/** Most steps of a run that are told. */
const MAX_STEPS = 1_000;
/** Most characters of a value. */
const MAX_VALUE = 20_000;
/** As `radical replay`. */
const FUEL_TOLERANCE = 0.1;

export interface ReplayOptions {
  readonly sample: Sample;
  /** The module in which it was carried out. */
  readonly recordedIn: HandlerModule;
  /** The module of the present build, to run in that one. */
  readonly present: { readonly hash: string; readonly module: HandlerModule } | null;
  /** The redaction of the sample by the server. */
  readonly redact: RedactionQuestion;
}

export function replaySample({ sample, recordedIn, present, redact }: ReplayOptions): Replay {
  const steps: ReplayStep[] = [];
  let stepsLeftOut = 0;
  const versions = new Map(sample.versions.map(([unit, commit]) => [unit, commit]));
  const watch = (step: RunStep): void => {
    if (steps.length >= MAX_STEPS) return void stepsLeftOut++;
    const shown = shownStep(step, versions);
    const last = steps.at(-1);
    // A workflow asks for a result, and for a failure.
    if (shown.kind === "settled" && last?.kind === "settled" && last.subject === shown.subject) return;
    steps.push({ ...shown, value: told(shown.value) });
  };
  const found = present === null ? null : recordOf(sample, recordedIn, redact);
  const recorded = typeof found === "object" ? found : null;
  const recordedSites = recorded?.drawSites ?? [];
  const again = runSample(sample, present?.module ?? recordedIn, recorded, { recordedSites, watch });
  return {
    module: present?.hash ?? sample.module,
    args: shortened(shownArguments(inputsOf(sample).args)),
    caller: sample.caller,
    redacted: sample.redacted ?? [],
    steps,
    stepsLeftOut,
    ...again,
  };
}

/** `recorded` null: there is nothing to compare with. */
function runSample(
  sample: Sample,
  module: HandlerModule,
  recorded: Recorded | null,
  options: RunAgainOptions,
): Pick<Replay, "outcome" | "reason" | "fuel" | "differences"> {
  const { activation } = sample;
  if (activation === undefined) {
    const run = runAgain(module, inputsOf(sample), valuesOf(sample), options);
    const differences = recorded?.kind === "execution" ? differencesOf(recorded, run, FUEL_TOLERANCE) : [];
    return { ...endOf(run), differences: shownDifferences(differences) };
  }
  const { round } = activation;
  const run = followAgain(module, inputsOf(sample), { round, arrived: entriesOf(activation) }, options);
  const differences = recorded?.kind === "activation" ? activationDifferences(recorded, run) : [];
  const isStuck = differences.some(({ kind }) => kind === "way");
  const end =
    run.kind === "failed"
      ? endOf(run)
      : { outcome: told(endToJson(activationEnd(run.run, sample.redacted ?? []))), reason: null, fuel: null };
  return { ...end, ...(isStuck && { reason: STUCK_WORDS }), differences: shownDifferences(differences) };
}

function shownDifferences(differences: readonly Difference[]): readonly ReplayDifference[] {
  return differences.flatMap((difference) =>
    differenceFields(difference).map(({ path, was, is }) => {
      const shown = isSecretPath(difference, path) ? () => SHOWN_SECRET : told;
      return { path, was: was && shown(was), is: is && shown(is) };
    }),
  );
}

function endOf(run: RunAgain): Pick<Replay, "outcome" | "reason" | "fuel"> {
  switch (run.kind) {
    case "ended":
      return { outcome: told(outcomeToJson(run.outcome)), reason: null, fuel: run.fuel };
    case "outside":
      return {
        outcome: null,
        reason: `It reads ${readWords(run.unit)}, which the recorded execution did not read.`,
        fuel: null,
      };
    case "failed":
      return { outcome: null, reason: run.reason, fuel: null };
  }
}

function shownStep(step: RunStep, versions: ReadonlyMap<string, CommitId | null>): ReplayStep {
  const { kind } = step;
  const versionOf = (unit: UnitId): CommitId | null => versions.get(unit) ?? null;
  switch (kind) {
    case "get": {
      const { unit, value, isOwn } = step;
      return { kind, subject: unit, version: isOwn ? null : versionOf(unit), value: shownValue(value) };
    }
    case "has": {
      const { unit, isThere, isOwn } = step;
      return { kind, subject: unit, version: isOwn ? null : versionOf(unit), value: isThere ? "there" : "absent" };
    }
    case "scan":
      return {
        kind,
        subject: readWords(step.unit),
        version: versionOf(step.unit),
        value: JSON.stringify(step.keys),
      };
    case "count":
      return { kind, subject: readWords(step.unit), version: versionOf(step.unit), value: String(step.count) };
    case "write":
      return {
        kind,
        subject: step.unit,
        version: null,
        value: step.value === null ? "deleted" : shownValue(step.value),
      };
    case "caller":
      return { kind, subject: "", version: null, value: step.caller ?? "nobody" };
    case "now":
      return { kind, subject: "", version: null, value: new Date(step.timeMs).toISOString() };
    case "draw":
      return { kind, subject: step.site, version: null, value: step.drawn };
    case "log":
      return { kind, subject: step.level, version: null, value: step.text };
    case "effect":
      return shownAsStep(step.effect, `effects[${step.ordinal}]`);
    case "command":
      return shownAsStep(step.command, `commands[${step.number}]`);
    case "wait": {
      const { mode, commands } = step.wait;
      const names = commands.map((command) => `commands[${command}]`).join(mode === "all" ? " and " : " or ");
      return { kind, subject: names, version: null, value: JSON.stringify(step.wait) };
    }
    case "settled":
      return { kind, subject: `commands[${step.command}]`, version: null, value: shownSettled(step.settled) };
    case "abort":
      return { kind, subject: `${step.status} ${step.code}`, version: null, value: step.message };
  }
}

function shownAsStep(command: WorkflowCommand, path: string): ReplayStep {
  const { kind } = command;
  const subject =
    "callee" in command ? `${path} ${command.callee}` : "name" in command ? `${path} ${command.name}` : path;
  return { kind, subject, version: null, value: shownCommand(command) };
}

function shownSettled(settled: Settled): string {
  switch (settled.kind) {
    case "value":
    case "signal":
      return shownValue(settled.value);
    case "failed":
    case "unknown":
    case "timer":
      return JSON.stringify(settled);
  }
}

/** Without secrets, and not too long. */
function told(text: string): string {
  return shortened(withoutSecretNames(text));
}

function shortened(text: string): string {
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}… (${text.length} characters)`;
}
