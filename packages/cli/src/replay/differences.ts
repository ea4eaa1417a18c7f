/** The differences of a recorded execution when it runs again in another build. */
import { encodeOutcome, type Outcome, type UnitId, type Wait, type WorkflowCommand } from "@radical/protocol";
import { changedFields } from "./changed-fields.ts";
import type { RecordedActivation, RecordedExecution } from "./record-line.ts";
import { endToJson, type RecordedEnd } from "./recorded-activation.ts";
import { areSame, argumentsWithoutNamed, shownCommand, withoutNamed } from "./recorded-commands.ts";
import { outcomeToJson } from "./recorded-outcome.ts";
import { shownValue } from "./recorded-part.ts";
import type { FollowedAgain, RunAgain } from "./run-again.ts";

export type Difference =
  | { readonly kind: "handler_gone" }
  /** It reads a unit that the recorded execution did not read, so the record can't say what it does. */
  | { readonly kind: "read_outside"; readonly unit: UnitId }
  /** Result, abort or trap, as JSON; or the end of an activation. */
  | { readonly kind: "outcome"; readonly was: string; readonly is: string }
  /** A value as JSON; null: it did not, or does not, write the item. */
  | { readonly kind: "write"; readonly unit: UnitId; readonly was: string | null; readonly is: string | null }
  /** A field of an effect, by its path: `effects[0].args.to`. As JSON; null: it was, or is, not there. */
  | { readonly kind: "effect"; readonly path: string; readonly was: string | null; readonly is: string | null }
  /**
   * A field of a command of a workflow, `commands[2].args.to`, or of a wait, `waits[1].mode`. Its journal has another one, so in this
   * build the workflow would be stuck. `place`: of the command in the source; empty: not known.
   */
  | {
      readonly kind: "way";
      readonly path: string;
      readonly was: string | null;
      readonly is: string | null;
      readonly place: string;
    }
  | { readonly kind: "fuel"; readonly was: number; readonly is: number }
  | { readonly kind: "not_run"; readonly reason: string };

/** The fuel that a run may take more at any tolerance: less than a call of the host. */
const FREE_FUEL = 1_000;

/** `fuelTolerance`: 0.1 is 10 % more than recorded. Less is never a difference. */
export function differencesOf(
  recorded: RecordedExecution,
  run: RunAgain,
  fuelTolerance: number,
): readonly Difference[] {
  switch (run.kind) {
    case "outside":
      return [{ kind: "read_outside", unit: run.unit }];
    case "failed":
      return [{ kind: "not_run", reason: run.reason }];
    case "ended":
      break;
  }
  const differences: Difference[] = [];
  if (!sameOutcome(recorded.outcome, run.outcome))
    differences.push({ kind: "outcome", was: outcomeToJson(recorded.outcome), is: outcomeToJson(run.outcome) });
  for (const unit of new Set([...recorded.writes.keys(), ...run.writes.keys()])) {
    const [was, is] = [recorded.writes.get(unit), run.writes.get(unit)];
    if (isSame(was, is)) continue;
    differences.push({ kind: "write", unit, was: shownWrite(was), is: shownWrite(is) });
  }
  if (recorded.effects !== null) {
    const effects = withoutNamed(run.effects, recorded.redacted);
    for (const field of changedCommands("effects", recorded.effects, effects))
      differences.push({ kind: "effect", ...field });
  }
  if (run.fuel > recorded.fuel * (1 + fuelTolerance) + FREE_FUEL)
    differences.push({ kind: "fuel", was: recorded.fuel, is: run.fuel });
  return differences;
}

/** The first activation whose commands or wait are others; or the end, if there is none. */
export function activationDifferences(recorded: RecordedActivation, run: FollowedAgain): readonly Difference[] {
  if (run.kind === "failed") return [{ kind: "not_run", reason: run.reason }];
  const { entries, end } = recorded.journal;
  const is = endOf(run.run, recorded.redacted);
  const [before, now]: [WorkflowCommand[], WorkflowCommand[]] = [[], []];
  const places: string[] = [];
  for (const [at, { commands, wait }] of entries.entries()) {
    const found = run.entries[at];
    // Of an activation that traps nobody knows the commands.
    if (found === undefined || (end.kind === "trap" && at === entries.length - 1)) break;
    const issued = found.commands.map(({ command }) => command);
    before.push(...commands);
    now.push(...withoutNamed(issued, recorded.redacted));
    places.push(...found.commands.map(({ place }) => place));
    if (!areSame(commands, now.slice(now.length - issued.length)))
      return changedCommands("commands", before, now).map((field) => ({
        kind: "way",
        ...field,
        place: placeOf(field.path, places),
      }));
    if (wait === null) break;
    const waits = changedWaits(`waits[${at}]`, wait, found.entry.wait, is);
    if (waits.length > 0) return waits.map((field) => ({ kind: "way", ...field, place: "" }));
  }
  return isSameEnd(end, is) ? [] : [{ kind: "outcome", was: endToJson(end), is: endToJson(is) }];
}

/** The end of an activation, as a record has it: `names` are redacted. */
export function endOf(
  run: (FollowedAgain & { kind: "followed" })["run"],
  names: readonly string[],
  onFound?: (name: string) => void,
): RecordedEnd {
  switch (run.kind) {
    case "waiting":
      return { kind: "waiting" };
    case "again":
      return { kind: "again", args: argumentsWithoutNamed(run.args, names, onFound) };
    case "trap":
      return { kind: "trap", code: run.code, message: run.message };
    case "ended":
      return run.outcome;
  }
}

interface ChangedPath {
  readonly path: string;
  readonly was: string | null;
  readonly is: string | null;
}

/** The fields in which two lists differ, by their paths. */
function changedCommands(
  root: string,
  was: readonly WorkflowCommand[],
  is: readonly WorkflowCommand[],
): readonly ChangedPath[] {
  if (areSame(was, is)) return [];
  const [before, now] = [was, is].map((commands) => `[${commands.map(shownCommand).join(",")}]`) as [string, string];
  // Fields in another order, for one.
  return changedFields(root, before, now) ?? [{ path: root, was: before, is: now }];
}

/** `end`: of a run that does not wait there. */
function changedWaits(path: string, was: Wait, is: Wait | null, end: RecordedEnd): readonly ChangedPath[] {
  const before = JSON.stringify(was);
  if (is === null) return [{ path, was: before, is: endToJson(end) }];
  return changedFields(path, before, JSON.stringify(is)) ?? [];
}

/** The place of a command by the path of a field of it. */
function placeOf(path: string, places: readonly string[]): string {
  const number = /^commands\[(\d+)\]/.exec(path)?.[1];
  return number === undefined ? "" : (places[Number(number)] ?? "");
}

export function isSameEnd(a: RecordedEnd, b: RecordedEnd): boolean {
  if (a.kind === "waiting" || b.kind === "waiting") return a.kind === b.kind;
  if (a.kind === "again" || b.kind === "again")
    return a.kind === "again" && b.kind === "again" && Buffer.compare(a.args, b.args) === 0;
  return sameOutcome(a, b);
}

/** A trap's words name its place in the source, which any edit moves. */
function sameOutcome(a: Outcome, b: Outcome): boolean {
  if (a.kind === "trap" && b.kind === "trap") return a.code === b.code;
  return Buffer.compare(encodeOutcome(a), encodeOutcome(b)) === 0;
}

/** Undefined: not written; null: deleted. */
function isSame(a: Uint8Array | null | undefined, b: Uint8Array | null | undefined): boolean {
  return a instanceof Uint8Array && b instanceof Uint8Array ? Buffer.compare(a, b) === 0 : a === b;
}

function shownWrite(value: Uint8Array | null | undefined): string | null {
  return value === undefined ? null : value === null ? "deleted" : shownValue(value);
}
