/** A sampled execution run again, step by step, as the dashboard shows it. */
import {
  type CommitId,
  MalformedError,
  type Replay,
  type ReplayDifference,
  type ReplayStep,
  SHOWN_SECRET,
  type UnitId,
} from "@radical/protocol";
import type { HandlerModule, RunStep } from "@radical/wasm-host";
import { differenceFields, readWords } from "./difference-fields.ts";
import { differencesOf } from "./differences.ts";
import { inputsOf, recordOf, valuesOf } from "./record.ts";
import { outcomeToJson, type Recorded, shownValue } from "./record-line.ts";
import { type RunAgain, runAgain } from "./run-again.ts";
import type { Sample } from "./sample-ring.ts";

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
  readonly isRedacted: boolean;
}

export function replaySample({ sample, recordedIn, present, isRedacted }: ReplayOptions): Replay {
  const steps: ReplayStep[] = [];
  let stepsLeftOut = 0;
  const versions = new Map(sample.versions.map(([unit, commit]) => [unit, commit]));
  const watch = (step: RunStep): void => {
    if (steps.length < MAX_STEPS) steps.push(shownStep(step, versions));
    else stepsLeftOut++;
  };
  const recorded = present === null ? null : recordOf(sample, recordedIn, isRedacted);
  const sites = typeof recorded === "object" && recorded !== null ? recorded.drawSites : [];
  const run = runAgain(present?.module ?? recordedIn, inputsOf(sample), valuesOf(sample), sites, watch);
  return {
    module: present?.hash ?? sample.module,
    args: shortened(shownArguments(inputsOf(sample).args)),
    caller: sample.caller,
    redacted: sample.redacted ?? [],
    steps,
    stepsLeftOut,
    ...endOf(run),
    differences: typeof recorded === "object" && recorded !== null ? differences(recorded, run) : [],
  };
}

function differences(recorded: Recorded, run: RunAgain): readonly ReplayDifference[] {
  return differencesOf(recorded, run, FUEL_TOLERANCE)
    .flatMap(differenceFields)
    .map(({ path, was, is }) => ({ path, was: was && shortened(was), is: is && shortened(is) }));
}

function endOf(run: RunAgain): Pick<Replay, "outcome" | "reason" | "fuel"> {
  switch (run.kind) {
    case "ended":
      return { outcome: shortened(outcomeToJson(run.outcome)), reason: null, fuel: run.fuel };
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
      return { kind, subject: unit, version: isOwn ? null : versionOf(unit), value: shown(value) };
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
        value: shortened(JSON.stringify(step.keys)),
      };
    case "count":
      return { kind, subject: readWords(step.unit), version: versionOf(step.unit), value: String(step.count) };
    case "write":
      return { kind, subject: step.unit, version: null, value: step.value === null ? "deleted" : shown(step.value) };
    case "caller":
      return { kind, subject: "", version: null, value: step.caller ?? "nobody" };
    case "now":
      return { kind, subject: "", version: null, value: new Date(step.timeMs).toISOString() };
    case "draw":
      return { kind, subject: step.site, version: null, value: step.drawn };
    case "log":
      return { kind, subject: step.level, version: null, value: shortened(step.text) };
    case "abort":
      return { kind, subject: `${step.status} ${step.code}`, version: null, value: shortened(step.message) };
  }
}

function shown(value: Uint8Array | null): string {
  return shortened(shownValue(value));
}

/** Arguments whose names say that they are secret, of handlers that do not declare them as such. */
const SECRET = /password|passphrase|secret|token|credential/i;

/** Secrets that a person has typed are masked. */
export function shownArguments(args: Uint8Array): string {
  try {
    const json: unknown = JSON.parse(shownValue(args));
    const isSecret = typeof json === "object" && json !== null && Object.keys(json).some((name) => SECRET.test(name));
    if (!isSecret) return shownValue(args);
    return JSON.stringify(json, (name, value: unknown) => (SECRET.test(name) ? SHOWN_SECRET : value));
  } catch (error) {
    // Handlers of tests take any bytes.
    if (error instanceof SyntaxError || error instanceof MalformedError) return shownValue(args);
    throw error;
  }
}

function shortened(text: string): string {
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}… (${text.length} characters)`;
}
