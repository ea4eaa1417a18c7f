/**
 * A look into the cache of a location, for people. A look is not a use: it changes no order of use, fills no memory, and counts
 * for no lease.
 */
import type { Entry, HeldItem, UnitId } from "@radical/protocol";
import type { Isolate } from "../isolate.ts";

/** Those of the items that are held. The ones that the cache behind the memory can't give now are left out. */
export async function heldItems(
  { cache, core, place }: Isolate,
  units: readonly UnitId[],
  atMs: number,
): Promise<readonly HeldItem[]> {
  const inMemory = new Map(units.map((unit) => [unit, cache.memory.look(unit)]));
  const others = units.filter((unit) => inMemory.get(unit) === undefined);
  const behind = await cache.behind(place, () => undefined)?.getMany(others);
  const held = (unit: UnitId, tier: HeldItem["tier"], { version }: Entry): HeldItem => ({
    unit,
    tier,
    commit: version.commitId,
    isThere: version.hash !== null,
    isLeased: core.isLeased(unit, atMs),
  });
  return units.flatMap((unit) => {
    const entry = inMemory.get(unit);
    if (entry !== undefined) return [held(unit, "memory", entry)];
    const stored = behind?.get(unit);
    return stored === undefined ? [] : [held(unit, "behind", stored)];
  });
}
