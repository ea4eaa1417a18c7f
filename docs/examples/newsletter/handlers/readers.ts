/** Readers of a newsletter, and requests that they have to confirm. The mail by which they do that is left out. */
import { Index, Table, abort, caller, now, sha256 } from "@radical/sdk";

export class Subscription {
  address: string = "";
  /** Milliseconds since 1970: until then its reader may confirm it. */
  endsAt: i64 = 0;
}

// By the hash of the address, since keys stand in messages of faults.
const requests = new Table<Subscription>("requests");
const byEnd = new Index<Subscription>(requests, "endsAt");
const readers = new Table<string>("readers");

/** Asks for the newsletter. Gives the time until which the reader may confirm. */
export function subscribe(address: string): i64 {
  if (address.indexOf("@") < 1) abort(400, "bad_address", "The address has no @.");
  const endsAt = now() + 86_400_000;
  requests.put(sha256(address), { address, endsAt });
  return endsAt;
}

/** Takes a reader of another list over. For the Worker only. */
export function importReader(address: string): void {
  if (caller() != "worker") abort(403, "not_for_clients", "Only the Worker calls this handler.");
  readers.put(sha256(address), address);
}

/** Deletes requests that nobody has confirmed in time, the oldest first, and tells how many. */
export function deleteOldRequests(most: i32 = 100): i32 {
  const time = now();
  let deleted: i32 = 0;
  for (const row of byEnd.all().first(most)) {
    if (row.value.endsAt > time) break;
    requests.delete(row.key);
    deleted++;
  }
  return deleted;
}

export function countReaders(): i32 {
  return readers.all().count();
}
