/** The run of a workflow, in the line of a record: what had arrived in each activation, and the commands that it issued then. */
import type { Arrival, Outcome, Settled, Wait, WorkflowCommand } from "@radical/protocol";
import { commandOf, commandToJson } from "./recorded-commands.ts";
import { outcomeOf, outcomeToJson } from "./recorded-outcome.ts";
import { type RecordedPart, RecordProblem, valueFields } from "./recorded-part.ts";

export interface RecordedEntry {
  /** Of the activation. */
  readonly timeMs: number;
  readonly arrivals: readonly Arrival[];
  /** In full. Their numbers go on from entry to entry. */
  readonly commands: readonly WorkflowCommand[];
  /** Null: the run has not waited any more. */
  readonly wait: Wait | null;
}

/** The end of the last activation. */
export type RecordedEnd =
  | Outcome
  | { readonly kind: "waiting" }
  /** It begins anew with these arguments. */
  | { readonly kind: "again"; readonly args: Uint8Array };

export interface RecordedJournal {
  readonly round: number;
  /** The last one is that of the recorded run. */
  readonly entries: readonly RecordedEntry[];
  readonly end: RecordedEnd;
}

export function journalToJson({ round, entries, end }: RecordedJournal): string {
  return `{"round":${round},"entries":[${entries.map(entryToJson).join(",")}],"end":${endToJson(end)}}`;
}

export function endToJson(end: RecordedEnd): string {
  if (end.kind === "waiting") return '{"kind":"waiting"}';
  return end.kind === "again" ? `{"kind":"again",${valueFields(end.args)}}` : outcomeToJson(end);
}

function entryToJson({ timeMs, arrivals, commands, wait }: RecordedEntry): string {
  const issued = commands.map(commandToJson).join(",");
  const arrived = arrivals.map(arrivalToJson).join(",");
  return `{"timeMs":${timeMs},"arrivals":[${arrived}],"commands":[${issued}],"wait":${JSON.stringify(wait)}}`;
}

function arrivalToJson(arrival: Arrival): string {
  if (arrival.kind === "cancelled") return '{"kind":"cancelled"}';
  const { command, settled } = arrival;
  if (settled.kind !== "value" && settled.kind !== "signal") return JSON.stringify({ command, ...settled });
  return `{"command":${command},"kind":"${settled.kind}",${valueFields(settled.value)}}`;
}

/** Throws a RecordProblem. */
export function journalOf(part: RecordedPart): RecordedJournal {
  const entries = part.list("entries").map(entryOf);
  if (entries.length === 0) throw new RecordProblem("has a workflow without an activation");
  return { round: part.number("round"), entries, end: endOf(part.field("end")) };
}

function endOf(part: RecordedPart): RecordedEnd {
  const kind = part.get("kind");
  if (kind === "waiting") return { kind };
  return kind === "again" ? { kind, args: part.value } : outcomeOf(part);
}

function entryOf(part: RecordedPart): RecordedEntry {
  const wait = part.get("wait") === null ? null : waitOf(part.field("wait"));
  const [arrivals, commands] = [part.list("arrivals").map(arrivalOf), part.list("commands").map(commandOf)];
  return { timeMs: part.number("timeMs"), arrivals, commands, wait };
}

function waitOf(part: RecordedPart): Wait {
  const mode = part.checked("mode", (value) => value === "all" || value === "any") as Wait["mode"];
  const isNumbers = (value: unknown): boolean => Array.isArray(value) && value.every(Number.isSafeInteger);
  const commands = part.checked("commands", isNumbers) as readonly number[];
  return { mode, commands, untilMs: part.numberOrNull("untilMs") };
}

function arrivalOf(part: RecordedPart): Arrival {
  if (part.get("kind") === "cancelled") return { kind: "cancelled" };
  return { kind: "settled", command: part.number("command"), settled: settledOf(part) };
}

function settledOf(part: RecordedPart): Settled {
  const kind = part.text("kind");
  switch (kind) {
    case "value":
    case "signal":
      return { kind, value: part.value };
    case "failed":
      return { kind, status: part.number("status"), code: part.text("code"), message: part.text("message") };
    case "unknown":
      return { kind, message: part.text("message") };
    case "timer":
      return { kind };
    default:
      throw new RecordProblem(`has an arrival "${kind}", which this release does not know`);
  }
}
