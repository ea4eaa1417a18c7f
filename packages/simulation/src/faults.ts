/** The faults that the simulation injects, by name, and a count of each: a fault that never fires proves nothing. */
import type { Effect } from "@radical/lvi-server/core";
import type { Effect as LocationEffect } from "@radical/runtime/core";

/** Effects of the server's core before which its process may end. Those it may end after are before the next one. */
export const SERVER_EFFECTS = [
  "reply",
  "followup-reply",
  "look-up",
  "load",
  "store-intent",
  "complete",
  "renew-leadership",
  "name-read-leases",
  "execute",
  "collect",
] as const satisfies readonly Effect["kind"][];

/** Effects of a location's core before which its process may end. */
export const LOCATION_EFFECTS = [
  "derive",
  "record",
  "fetch",
  "send",
  "speculate",
  "answer",
  "put",
  "follow",
  "wait",
] as const satisfies readonly LocationEffect["kind"][];

type CrashPoint =
  | `server ends before ${(typeof SERVER_EFFECTS)[number]}`
  | `location ends before ${(typeof LOCATION_EFFECTS)[number]}`;

const CRASH_POINTS: readonly CrashPoint[] = [
  ...SERVER_EFFECTS.map((kind) => `server ends before ${kind}` as const),
  ...LOCATION_EFFECTS.map((kind) => `location ends before ${kind}` as const),
];

export const FAULTS = [
  // The network.
  "message delayed for long",
  "message dropped",
  "message duplicated",
  "message overtaken",
  "partition",
  "partition in one direction",
  "stream broken",
  "stream half-open",
  "stream takes a detour",
  "stream ended by its server",
  "line lost with its stream",
  "line lost on a stream that goes on",
  "server believes in a location that is gone",
  "listener refused",
  // Storage.
  "storage slow",
  "storage failed, nothing done",
  "storage gave no answer, nothing done",
  "storage gave no answer, done",
  "load that misses a write beside it",
  "intent arrived after a takeover",
  "storage set back",
  "storage set back by hand",
  // Servers.
  "server killed",
  "server stopped and continued",
  "server drained",
  "server elected",
  "server goes on beside its successor",
  "leadership ran out and was regained",
  "server asked that does not lead",
  "server asked that is not there",
  "handler killed near storage",
  "handler crowded out near storage",
  "member of a train stopped",
  "train cut",
  "re-execution over its time",
  "run near storage over its time",
  "clock of a server set",
  "clock of a server runs at another rate",
  "done intents collected",
  "outcomes collected",
  "collection failed",
  "module without use removed",
  "sample of valid",
  "sample of followup",
  "sample of re-execution",
  "sample of near-storage",
  "sample left out",
  // Locations.
  "location killed",
  "isolate killed",
  "isolate stopped and continued",
  "listening request cut off",
  "clock of an isolate set",
  "clock of an isolate runs at another rate",
  "cache lost",
  "cache rolled back",
  "cache torn",
  "cache garbled",
  "cache of another history",
  "cache of another history, ahead of storage",
  "cache updated",
  "update came late",
  "update told of more",
  "absence guessed, rightly",
  "absence guessed, wrongly",
  "rows of the cache confirmed",
  "rows of the cache not confirmed",
  "run put off until its confirmation",
  "result shown, confirmed",
  "result shown, corrected",
  "result shown, failed",
  "followup outside its intent",
  "followup that lies",
  "lie found before it was applied",
  "set with a private table",
  "read/write set given up",
  "GET that was about to write",
  "module not known to the primary",
  "module older than the newest",
  // Read leases.
  "read answered by its leases",
  "writer waited for a location to hear",
  "writer waited for a lease to run out",
  "read leases inherited",
  // Live queries.
  "request of a subscriber cut off",
  "stream of a live query broken",
  "stream of a live query ended by its location",
  "subscriber told that its state may be an old one",
  "subscriber that reads slowly",
  // Clients.
  "client asked again elsewhere",
  "client asked at two locations at once",
  "client disconnected",
  ...CRASH_POINTS,
] as const;

export type FaultName = (typeof FAULTS)[number];

export class FaultCounts {
  readonly #counts = new Map<FaultName, number>();

  add(name: FaultName): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  get(name: FaultName): number {
    return this.#counts.get(name) ?? 0;
  }

  entries(): readonly (readonly [FaultName, number])[] {
    return [...this.#counts];
  }
}
