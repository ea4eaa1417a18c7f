import { Table } from "@radical/sdk";

export class Entry {
  key: string = "";
  value: string = "";
}

/** By `<map>/<key>`. The name of a map has no slash. */
const entries = new Table<string>("entries");

export function mapGet(map: string, key: string): string | null {
  return entries.get(`${map}/${key}`);
}

export function mapPut(map: string, key: string, value: string): void {
  entries.put(`${map}/${key}`, value);
}

/** Gives the value that is there, or null if the new one is. */
export function putIfAbsent(map: string, key: string, value: string): string | null {
  const found = entries.get(`${map}/${key}`);
  if (found == null) entries.put(`${map}/${key}`, value);
  return found;
}

export function mapRemove(map: string, key: string): void {
  entries.delete(`${map}/${key}`);
}

/** The entries behind a key, in the order of their keys. */
export function mapEntries(map: string, after: string = "", most: i32 = 100): Entry[] {
  let range = entries.prefix(`${map}/`);
  if (after.length > 0) range = range.after(`${map}/${after}`);
  const rows = range.first(most);
  const found: Entry[] = [];
  for (const row of rows) {
    found.push({ key: row.key.substring(map.length + 1), value: row.value });
  }
  return found;
}

export function mapSize(map: string): i32 {
  return entries.prefix(`${map}/`).count();
}
