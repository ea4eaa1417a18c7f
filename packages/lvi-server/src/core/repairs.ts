/** The repairs of a reply: fresh entries of units whose version at the location is not the primary's. */
import {
  type AccessedUnit,
  type CommitId,
  compareCommits,
  compareKeys,
  contains,
  type Entry,
  isSpan,
  type Repair,
  sameVersion,
  type Span,
  spanOf,
  splitUnit,
  type UnitId,
  type Version,
} from "@radical/protocol";

/**
 * Spans come first, then items in the order of units, so that what the bound leaves out is the same each time. The version of a
 * span that the location has sent says as of when. An item in that span is left out if it has not changed since.
 */
export function repairsOf(
  sent: readonly AccessedUnit[],
  entries: ReadonlyMap<UnitId, Entry>,
  maxBytes: number,
): readonly Repair[] {
  const versions = new Map<UnitId, Version | null>();
  const spans: { readonly span: Span; readonly asOf: CommitId }[] = [];
  for (const accessed of sent) {
    if (accessed.mode === "write") continue;
    const { unit, version } = accessed;
    versions.set(unit, version);
    const span = isSpan(unit) && version !== null ? spanOf(unit) : null;
    if (span?.kind === "rows" && version !== null) spans.push({ span, asOf: version.commitId });
  }
  const isHeld = (unit: UnitId, { version }: Entry): boolean => {
    if (isSpan(unit) || versions.has(unit)) return false;
    const { table, key } = splitUnit(unit);
    return spans.some(
      ({ span, asOf }) => span.table === table && contains(span, key) && compareCommits(version.commitId, asOf) <= 0,
    );
  };
  const repairs: Repair[] = [];
  let bytes = 0;
  const inOrder = [...entries].toSorted(([a], [b]) => Number(isSpan(b)) - Number(isSpan(a)) || compareKeys(a, b));
  for (const [unit, entry] of inOrder) {
    const version = versions.get(unit) ?? null;
    if (version !== null && sameVersion(unit, version, entry.version)) continue;
    if (isHeld(unit, entry)) continue;
    bytes += entry.value?.length ?? 0;
    if (bytes > maxBytes) break;
    repairs.push({ unit, entry });
  }
  return repairs;
}
