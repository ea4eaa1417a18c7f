/** The caches of the locations, as far as calls have shown them. */
import { compareCommits, type CommitId, type UnitId } from "@radical/protocol";
import { type Call, unitsOf } from "./join.ts";

export interface CacheCount {
  readonly place: string;
  /** Calls that ran here, ones that met an old version, ones that met none, and others that ran at the primary. */
  readonly here: number;
  readonly stale: number;
  readonly missing: number;
  readonly other: number;
}

export interface SeenUnit {
  readonly unit: UnitId;
  /** The newest version that any call has shown. */
  readonly newest: CommitId | null;
  /** By place: the version that its last call had. */
  readonly had: ReadonlyMap<string, CommitId | null>;
}

/** The latest calls first. */
export function cacheCounts(calls: readonly Call[], places: readonly string[]): readonly CacheCount[] {
  return places.map((place) => {
    const count = { place, here: 0, stale: 0, missing: 0, other: 0 };
    for (const { life } of calls) {
      if (life.place !== place || life.path === null) continue;
      if (life.path !== "near-storage") count.here++;
      else if (life.reason === "stale" || life.reason === "hot") count.stale++;
      else if (life.reason === "missing") count.missing++;
      else count.other++;
    }
    return count;
  });
}

/** The units that most places have used, then by their last use: items only. */
export function seenUnits(calls: readonly Call[], most: number): readonly SeenUnit[] {
  const found = new Map<UnitId, { newest: CommitId | null; had: Map<string, CommitId | null> }>();
  for (const call of calls) {
    for (const [unit, place, version] of versionsOf(call)) {
      let one = found.get(unit);
      if (one === undefined) {
        if (found.size >= most) continue;
        found.set(unit, (one = { newest: null, had: new Map() }));
      }
      if (version !== null && (one.newest === null || compareCommits(version, one.newest) > 0)) one.newest = version;
      if (place !== null && !one.had.has(place)) one.had.set(place, version);
    }
  }
  return Array.from(found, ([unit, { newest, had }]) => ({ unit, newest, had })).toSorted(
    (a, b) => b.had.size - a.had.size,
  );
}

/** `place` null: nobody has cached that. A location has cached its own writes, and the reply has repaired its stale items. */
function versionsOf(call: Call): readonly (readonly [UnitId, string | null, CommitId | null])[] {
  const { life, primary } = call;
  const { place } = life;
  const commit = primary?.commit ?? life.commit;
  return unitsOf(call).flatMap(([unit, mode, had]) => {
    // A span has no commit of its own.
    if (isSpan(unit)) return [];
    if (mode !== "read" && commit !== null) return [[unit, place, commit] as const];
    const is = primary?.because?.unit === unit ? primary.because.is : had;
    return [[unit, place, is] as const];
  });
}

/** Its key names a walk: `v` or `n` behind a colon. */
function isSpan(unit: string): boolean {
  return /^[^/]*:[vn]/.test(unit);
}
