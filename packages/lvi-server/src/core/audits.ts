/**
 * Audits: some followups wait until the primary has run the handler as well, and are applied only if that run ends in the same way.
 * The run is the re-execution that would take the place of a lost followup. Its values are those that were validated, since the
 * intent holds its locks. So an honest followup of a deterministic handler is always the same.
 *
 * A followup that differs is compared with a second run. If the two runs agree, the location has not sent what the handler does. If
 * they don't, the handler is not deterministic, and nobody is blamed. The last run counts, as if the followup were lost.
 */
import { CborWriter, type ContentHash, encodeEffects, encodeOutcome, type UnitId, type Write } from "@radical/protocol";
import type { CallHasher } from "./call-hash.ts";
import type { CalledFollowup, Ended, Pending } from "./execution.ts";
import { completionHash, type Intent } from "./intent.ts";
import type { RuledTables } from "./ruled-tables.ts";
import type { RunResult } from "./run.ts";

/** The audit of a pending execution. */
export interface Audit {
  /** Those that have come, in order: a location that hears no answer sends its followup again. */
  readonly followups: CalledFollowup[];
  /** How the first run ended, if that is not what the followups say; null: there was none. */
  first: string | null;
}

export type Verdict =
  /** All followups say what the run does. */
  | "same"
  /** One says otherwise: the handler is to run once more. */
  | "again"
  /** One says otherwise than both runs. */
  | "forged"
  /** The two runs differ. */
  | "unlike";

/** Most followups of one execution that wait and differ: an honest location has one, whatever it repeats. */
const MOST_DIFFERENT = 3;

/** Most units that are named as written otherwise. */
const MOST_NAMED = 5;

export class Audits {
  readonly #part: number;
  readonly #hasher: CallHasher;
  readonly #ruled: () => RuledTables;

  /** `part`: of the followups, 0 to 1. `ruled`: as of now. */
  constructor(part: number, hasher: CallHasher, ruled: () => RuledTables) {
    this.#part = part;
    this.#hasher = hasher;
    this.#ruled = ruled;
  }

  /** Whether a followup of the execution is compared before it is applied. */
  wants({ intent, kills, audit }: Pick<Pending, "intent" | "kills" | "audit">): boolean {
    if (audit !== null || this.isMust(intent)) return true;
    // A run that was stopped may be stopped again, and its location has ended the execution.
    return kills === 0 && this.#isPicked(intent);
  }

  /** Whether the followup is never applied without an audit. */
  isMust({ units }: Pick<Intent, "units">): boolean {
    const ruled = this.#ruled();
    return units.some(({ unit, mode }) => mode !== "read" && ruled.isAudited(unit));
  }

  /** A location can't know which ones these are: the hash has a secret. */
  #isPicked({ executionId }: Intent): boolean {
    if (this.#part <= 0 || this.#part >= 1) return this.#part >= 1;
    const bytes = new CborWriter().array(2).text("audit").text(executionId).finish();
    return Number.parseInt(this.#hasher.hash(bytes).hash.slice(0, 8), 16) < this.#part * 2 ** 32;
  }
}

/**
 * Keeps a followup that waits, and who is to hear of it. Followups that say the same are kept as one. False: it is not kept, since
 * too many wait already.
 */
export function keepFollowup(
  kept: CalledFollowup[],
  { caller, followup }: CalledFollowup,
  mostCallers: number,
): boolean {
  if (kept.length >= mostCallers) return false;
  const different = [...new Set(kept.map((each) => each.followup))];
  const hash = different.length === 0 ? null : hashOfEnded(followup);
  const same = different.find((each) => hashOfEnded(each) === hash);
  if (same === undefined && different.length >= MOST_DIFFERENT) return false;
  kept.push({ caller, followup: same ?? followup });
  return true;
}

export function judge(audit: Audit, result: RunResult): Verdict {
  const end = result.kind === "completed" ? hashOfEnded(result) : result.kind;
  const { followups, first } = audit;
  audit.first = end;
  if (first !== null) return first === end ? "forged" : "unlike";
  // variant: audit-compares
  return followups.every(({ followup }) => hashOfEnded(followup) === end) ? "same" : "again";
}

export function hashOfEnded({ outcome, writes, effects }: Ended): ContentHash {
  return completionHash(outcome, writes, effects);
}

/** How a followup differs from the run, for the operator; null: it does not. No value is told, and no word of an outcome. */
export function differences(followup: Ended, result: RunResult): string | null {
  if (result.kind !== "completed") return `it has an end, and the runs have none (${result.kind})`;
  const found: string[] = [];
  if (!isEqual(encodeOutcome(followup.outcome), encodeOutcome(result.outcome)))
    found.push(`another outcome (${followup.outcome.kind} in place of ${result.outcome.kind})`);
  const units = unitsBetween(followup.writes, result.writes);
  if (units.length > 0) {
    const more = units.length > MOST_NAMED ? ` and ${units.length - MOST_NAMED} more` : "";
    found.push(`other writes of ${units.slice(0, MOST_NAMED).join(", ")}${more}`);
  }
  if (!isEqual(encodeEffects(followup.effects ?? []), encodeEffects(result.effects ?? []))) found.push("other tasks");
  return found.length === 0 ? null : `it has ${found.join(", ")}`;
}

/** The units that only one of the two writes, or that they write differently. */
function unitsBetween(ones: readonly Write[], others: readonly Write[]): readonly UnitId[] {
  const left = new Map(others.map(({ unit, value }) => [unit, value]));
  const units: UnitId[] = [];
  for (const { unit, value } of ones) {
    const other = left.get(unit);
    const isSame = other !== undefined && (value === null || other === null ? value === other : isEqual(value, other));
    if (!isSame) units.push(unit);
    left.delete(unit);
  }
  return [...units, ...left.keys()];
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
