/** The keys of Workers KV under which caches keep their entries. Locations share a namespace, and each has keys of its own. */
import type { UnitId } from "@radical/protocol";
import { isPurged, type PurgePart } from "./purge-part.ts";
import { hashOfText } from "./seal.ts";

const MAX_KEY_BYTES = 512;
const PRINTABLE = /^[\x20-\x7e]+$/;
const HASHED = "#";

/**
 * The unit where that is a key of KV, so that an operator can find it; otherwise its hash. The seal tells whose it is.
 *
 * @param owner application and location
 */
export function keyOf(owner: string, unit: UnitId): string {
  const key = `${owner}/${unit}`;
  return key.length <= MAX_KEY_BYTES && PRINTABLE.test(key) ? key : `${owner}/${HASHED}${hashOfText(unit)}`;
}

/** The key of the time of the last purge. No location has such a name. */
export function purgeMarkOf(application: string): string {
  return `${application}/~purged`;
}

/** The beginning of the keys of an application, or of one of its locations. */
export function beginningOf(application: string, location: string | null): string {
  return location === null ? `${application}/` : `${application}/${location}/`;
}

/** Whether a purge of a part takes the key. A hash may be that of any unit. */
export function takesKey(application: string, part: PurgePart | null, key: string): boolean {
  if (key === purgeMarkOf(application)) return false;
  const [, unit = ""] = /^[^/]*\/(.*)$/s.exec(key.slice(application.length + 1)) ?? [];
  return part === null || unit.startsWith(HASHED) || isPurged(part, unit);
}
