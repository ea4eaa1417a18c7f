/** Versions of items at every location beside the primary's, for the dashboard's page. */
import { join } from "node:path";
import { type ItemReader, openItems } from "@radical/lvi-server";
import {
  type CachedAnswer,
  type CachedQuestion,
  type CommitId,
  type HeldItem,
  type ShownVersion,
  splitUnit,
  type UnitId,
} from "@radical/protocol";

export interface DashboardCachesPorts {
  readonly stateFolder: string;
  /** The locations that have a cache. */
  readonly places: readonly string[];
  /** A text says why the location can't be looked at. */
  readonly heldItems: (place: string, units: readonly UnitId[]) => Promise<readonly HeldItem[] | string>;
  /** Null: not remembered. */
  readonly writtenAtMs: (commit: CommitId) => number | null;
}

export class DashboardCaches {
  readonly #ports: DashboardCachesPorts;

  constructor(ports: DashboardCachesPorts) {
    this.#ports = ports;
  }

  /** The locations are looked at before the primary's storage. So a version that is applied in between looks old there, never new. */
  async look({ units }: CachedQuestion): Promise<CachedAnswer> {
    const { stateFolder, places, heldItems } = this.#ports;
    const seen = await Promise.all(places.map(async (place) => ({ place, items: await heldItems(place, units) })));
    const held = seen.flatMap(({ place, items }) =>
      typeof items === "string" ? [] : items.map((item) => ({ place, ...item })),
    );
    const reader = await openItems({ kind: "sqlite", file: join(stateFolder, "data.sqlite") });
    try {
      return {
        items: await Promise.all(
          units.map(async (unit) => ({
            unit,
            primary: await this.#stored(reader, unit),
            held: held
              .filter((one) => one.unit === unit)
              .map(({ place, tier, isLeased, commit, isThere }) => {
                return { place, tier, isLeased, ...this.#shown(commit, isThere) };
              }),
          })),
        ),
        unseen: seen.flatMap(({ place, items }) => (typeof items === "string" ? [{ place, reason: items }] : [])),
      };
    } finally {
      await reader.close();
    }
  }

  async #stored(reader: ItemReader, unit: UnitId): Promise<ShownVersion> {
    const { table, key } = splitUnit(unit);
    const item = await reader.item(table, key);
    return item === null ? { commit: null, isThere: false, writtenAtMs: null } : this.#shown(item.commitId, true);
  }

  #shown(commit: CommitId, isThere: boolean): ShownVersion {
    return { commit, isThere, writtenAtMs: this.#ports.writtenAtMs(commit) };
  }
}
