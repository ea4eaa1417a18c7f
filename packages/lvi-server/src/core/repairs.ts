/** The repairs of a reply: fresh entries of units whose version at the location is not the primary's. */
import {
  type AccessedUnit,
  compareKeys,
  type Entry,
  type Repair,
  sameVersion,
  type UnitId,
  type Version,
} from "@radical/protocol";

/** In the order of units, so that what the bound leaves out is the same each time. */
export function repairsOf(
  sent: readonly AccessedUnit[],
  entries: ReadonlyMap<UnitId, Entry>,
  maxBytes: number,
): readonly Repair[] {
  const versions = new Map<UnitId, Version | null>();
  for (const accessed of sent) if (accessed.mode !== "write") versions.set(accessed.unit, accessed.version);
  const repairs: Repair[] = [];
  let bytes = 0;
  for (const [unit, entry] of [...entries].toSorted(([a], [b]) => compareKeys(a, b))) {
    const version = versions.get(unit) ?? null;
    if (version !== null && sameVersion(version, entry.version)) continue;
    bytes += entry.value?.length ?? 0;
    if (bytes > maxBytes) break;
    repairs.push({ unit, entry });
  }
  return repairs;
}
