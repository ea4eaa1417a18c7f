/** The invariants of an execution at a location, for tests and the simulation: they look after every step. */
import { decodeDirectory, digestOf, isSpan, NO_COMMIT, spanOf, type UnitId } from "@radical/protocol";
import { cachedAs } from "./directories.ts";
import type { CapturedSnapshot } from "./effects.ts";
import type { Execution, SetQuestion } from "./execution.ts";
import { guessOf } from "./guess.ts";

/** Throws, in words, if the state of the execution is one that it must never be in. */
export function assertWellFormed({ phase }: Pick<Execution, "phase">): void {
  const hold = (isTrue: boolean, words: string): void => {
    if (!isTrue) throw new Error(`An execution that is "${phase.kind}" is not well formed: ${words}.`);
  };
  switch (phase.kind) {
    case "new":
    case "deriving":
    case "ended":
      return;
    case "fetching": {
      const { sight, found } = phase;
      hold(sight.fetchRounds > 0, "it fetches before the first round");
      hold(
        [...found.lacking, ...Array.from(found.set.reads, cachedAs)].some(
          (unit) => sight.fetched.has(unit) && !sight.snapshot.has(unit),
        ),
        "it fetches nothing that it lacks",
      );
      return;
    }
    case "asking":
    case "backing-off":
      hold(phase.question.search.rounds > 0, "it has asked no server");
      if (phase.question.kind === "set") assertSet(phase.question, hold);
      return;
    case "leased": {
      const { set, snapshot } = phase.basis;
      hold(set.writes.size === 0, "it may write, and asks nobody");
      hold(
        [...set.reads].every((unit) => snapshot.has(unit)),
        "it runs f without all values",
      );
      return;
    }
    case "confirmed":
      assertSet(phase.question, hold);
      hold(phase.question.run.kind === "running", `it is confirmed, and its run is "${phase.question.run.kind}"`);
      return;
    case "following":
      hold(phase.search.rounds > 0, "its followup has asked no server");
      hold(phase.followup.commitId !== NO_COMMIT, "its followup has the commit id of a guess");
  }
}

function assertSet(question: SetQuestion, hold: (isTrue: boolean, words: string) => void): void {
  const { set, units, snapshot, guessed, doubt, run } = question;
  const asked = new Set<UnitId>(units.map(({ unit }) => unit));
  hold(asked.size === units.length, "it names a unit twice");
  hold(asked.size === new Set([...set.reads, ...set.writes]).size, "it does not name its set");
  for (const accessed of units) {
    const { unit } = accessed;
    hold(set.writes.has(unit) === (accessed.mode !== "read"), `it names ${unit} in another mode`);
    if (accessed.mode === "write") continue;
    const held = snapshot.get(unit) ?? (isSpan(unit) ? guessOf(unit) : null);
    hold(accessed.version === (held?.version ?? null), `it sends a version of ${unit} that f does not run on`);
    hold(isOfItems(unit, snapshot), `it sends a digest of ${unit} that is not of the rows that f runs on`);
  }
  for (const unit of guessed) {
    const value = snapshot.get(unit)?.value;
    hold(isSpan(unit) ? value !== undefined : value === null, `it guesses ${unit} to be something`);
  }
  const isWhole = [...set.reads].every((unit) => snapshot.has(unit));
  hold(isWhole === (run.kind !== "none"), "it runs f without all values, or could and does not");
  hold(run.kind !== "waiting" || doubt !== null, "its run waits without a doubt");
}

/** Whether the directory of a span names the very items of the snapshot. */
function isOfItems(unit: UnitId, snapshot: CapturedSnapshot): boolean {
  const span = isSpan(unit) ? spanOf(unit) : null;
  const entry = snapshot.get(unit);
  if (span?.kind !== "rows" || entry === undefined) return true;
  if (entry.value === null) return false;
  const rows = decodeDirectory(entry.value);
  const isCaptured = rows.every(({ key, commitId, hash }) => {
    const item = snapshot.get(`${span.table}/${key}` as UnitId);
    return item?.version.commitId === commitId && item.version.hash === hash;
  });
  return isCaptured && entry.version.hash === digestOf(rows);
}
