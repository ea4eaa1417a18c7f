/** Read leases, as far as they hold writers up: docs/operations.md says what to make of it. */
import type { LeasedLocation, ReadLeaseStatus } from "@radical/protocol";
import { counted } from "@radical/app";
import type { Finding, Problem } from "./finding.ts";

/** An isolate that the platform ends holds a lease for its last seconds, so a few of these are nothing. */
const MOST_LAPSES = 3;
/** The mean of so many waits says something. */
const LEAST_REVOCATIONS = 20;
/** A location answers after its round trip, and what it is busy with. */
const MOST_BUSY_MS = 250;

/** `configured`: `readLeaseMs` of the application. `status`: of the server that leads; null: it is not known. */
export function leaseFinding(status: ReadLeaseStatus | null, configured: number): readonly Finding[] {
  if (status === null) return [];
  const { readLeaseMs, locations } = status;
  const problems = locations.flatMap((location) => [...lapseProblem(location), ...slowProblem(location)]);
  if (readLeaseMs !== configured)
    problems.unshift({
      message: `The primary grants ${words(readLeaseMs)}, and radical.config.ts says ${words(configured)}.`,
      hint: "Start radical dev again, or run `radical deploy --only primary`. A primary of your own has the option --read-lease-ms.",
    });
  return [{ check: "read_leases", problems }];
}

function words(readLeaseMs: number): string {
  return readLeaseMs === 0 ? "no read leases" : `read leases of ${readLeaseMs} ms`;
}

function lapseProblem({ location, lapsed, longestWaitMs, refusedForMs }: LeasedLocation): readonly Problem[] {
  if (lapsed < MOST_LAPSES || refusedForMs === 0) return [];
  return [
    {
      message: `Writes have waited for the location ${location}, at most ${Math.round(longestWaitMs)} ms. It let its read leases run out ${counted(lapsed, "time")}, and gets none for ${Math.ceil(refusedForMs / 1_000)} s.`,
      hint: "See whether it is cut off or its machines stop. A smaller readLeaseMs in radical.config.ts makes such a wait shorter.",
    },
  ];
}

function slowProblem({ location, revocations, waitedMs, roundTripMs }: LeasedLocation): readonly Problem[] {
  const meanMs = waitedMs / revocations;
  if (revocations < LEAST_REVOCATIONS || roundTripMs === null || meanMs <= roundTripMs + MOST_BUSY_MS) return [];
  return [
    {
      message: `The location ${location} takes ${Math.round(meanMs)} ms on average to hear that a read lease ends. Its round trip is ${Math.round(roundTripMs)} ms, and writes wait for it.`,
      hint: "Its isolates are busy with handlers that compute for long. readLeaseMs: 0 in radical.config.ts ends read leases.",
    },
  ];
}
