/** The messages between locations and the primary, and a network that delays, drops, duplicates and reorders them. */
import type { ExecutionId, Followup, LviReply, LviRequest } from "@radical/protocol";
import type { Clock } from "./clock.ts";

export type ToPrimary =
  | {
      readonly kind: "lvi-request";
      readonly from: number;
      /** Names the sending: its reply comes back on the same connection. */
      readonly sending: number;
      /** By the location's clock. */
      readonly signedAtMs: number;
      readonly request: LviRequest;
    }
  | { readonly kind: "followup"; readonly followup: Followup };

export interface ToLocation {
  readonly kind: "lvi-reply";
  readonly to: number;
  readonly executionId: ExecutionId;
  /** Which of the location's sendings it answers. */
  readonly sending: number;
  readonly reply: LviReply;
}

/** Probabilities of faults, and the range of delays. */
export interface NetworkFaults {
  readonly drop: number;
  readonly duplicate: number;
  readonly minDelayMs: number;
  readonly maxDelayMs: number;
}

/** Hands a message over, perhaps: once, twice or never, each time after a delay of its own. */
export function transmit(clock: Clock, faults: NetworkFaults, deliver: () => void): void {
  const { random } = clock;
  const copies = random.chance(faults.drop) ? 0 : random.chance(faults.duplicate) ? 2 : 1;
  for (let i = 0; i < copies; i++) {
    // Now and then one is very late, a second copy more often.
    const late = random.chance(i === 0 ? 0.02 : 0.2) ? random.between(500, 8_000) : 0;
    clock.after(random.between(faults.minDelayMs, faults.maxDelayMs) + late, deliver);
  }
}
