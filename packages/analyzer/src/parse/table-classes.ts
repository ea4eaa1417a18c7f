/** The classes of the SDK whose objects are tables. */

export type TableClass = "Table" | "Objects" | "Counter";

const SDK_LIBRARY = "~lib/@radical/sdk";

const CLASSES: ReadonlyMap<string, TableClass> = new Map([
  [`${SDK_LIBRARY}/index/Table`, "Table"],
  [`${SDK_LIBRARY}/objects/Objects`, "Objects"],
  [`${SDK_LIBRARY}/counters/Counter`, "Counter"],
]);

/** The class that has the internal name; null: another one. */
export function tableClass(internalName: string): TableClass | null {
  return CLASSES.get(internalName) ?? null;
}
