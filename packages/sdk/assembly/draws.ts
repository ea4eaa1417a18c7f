/**
 * Draws as the host counts them: by call site. Internal. Calls of `random` and `uuid` are compiled as calls of these with
 * the place of the call. Read/write-set functions call them with the places in their handlers.
 */
import * as host from "./host";

export function randomAt(site: string): f64 {
  return host.random(site);
}

export function uuidAt(site: string): string {
  const bytes = new StaticArray<u8>(36);
  host.uuid(site, changetype<usize>(bytes));
  return String.UTF8.decodeUnsafe(changetype<usize>(bytes), 36);
}
