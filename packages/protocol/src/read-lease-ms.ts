/** How long the primary promises a read lease for: chosen in `radical.config.ts`, told to the server by its option. */

/** Three times the time between two renewals, so that a lost one ends nothing. */
export const DEFAULT_READ_LEASE_MS = 3_000;

/** A write waits so long for a location that has died. A caller waits no longer. */
export const MAX_READ_LEASE_MS = 60_000;
