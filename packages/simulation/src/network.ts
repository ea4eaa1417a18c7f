/** The messages between locations and the primary, and a network that delays, drops, duplicates and reorders them. */
import type {
  ExecutionId,
  Followup,
  FollowupVerdict,
  Heard,
  HeardReply,
  LviReply,
  LviRequest,
} from "@radical/protocol";
import type { Clock } from "./clock.ts";
import type { FaultCounts } from "./faults.ts";

/** The answer from the place where a location believed the leader to be. */
export type Unled = "not leading" | "no connection";

/** `server`: which one the location asks; without it any that listens may get the message. */
export type ToPrimary = { readonly server?: number } & Message;

type Message =
  | {
      readonly kind: "lvi-request";
      /** Names the sending: its reply comes back on the same connection. */
      readonly sending: number;
      /** By the location's clock. */
      readonly signedAtMs: number;
      readonly request: LviRequest;
    }
  | { readonly kind: "followup"; readonly sending: number; readonly followup: Followup }
  | { readonly kind: "heard"; readonly sending: number; readonly heard: Heard };

export interface ToLocation {
  readonly to: number;
  /** Null: the answer is about none. */
  readonly executionId: ExecutionId | null;
  /** Which of the location's sendings it answers. */
  readonly sending: number;
  readonly reply: LviReply | FollowupVerdict | HeardReply | Unled;
}

/** Probabilities of faults, and the longest usual delay. */
export interface NetworkFaults {
  readonly drop: number;
  readonly duplicate: number;
  /** Of messages that are on their way for seconds; of second copies, more. */
  readonly late: number;
  readonly maxDelayMs: number;
}

/** Messages in one direction between two places. */
interface Link {
  sent: number;
  /** The last one sent of those that have arrived. */
  arrived: number;
}

export class Network {
  readonly #clock: Clock;
  readonly #counts: FaultCounts;
  readonly #links: Link[] = [];
  faults: NetworkFaults;
  /** Messages on their way. */
  underWay = 0;

  constructor(clock: Clock, faults: NetworkFaults, counts: FaultCounts) {
    this.#clock = clock;
    this.faults = faults;
    this.#counts = counts;
  }

  /** Hands over what opens a connection: once. */
  connect(deliver: () => void): void {
    this.underWay++;
    this.#clock.after(this.#clock.random.between(1, this.faults.maxDelayMs), () => {
      this.underWay--;
      deliver();
    });
  }

  /** Hands a message over, perhaps: once, twice or never, each time after a delay of its own. */
  transmit(linkIndex: number, maxDelayMs: number, deliver: () => void): void {
    const clock = this.#clock;
    const counts = this.#counts;
    const { random } = clock;
    const { drop, duplicate, late } = this.faults;
    const link = (this.#links[linkIndex] ??= { sent: 0, arrived: 0 });
    const number = ++link.sent;
    if (drop > 0 && random.chance(drop)) return counts.add("message dropped");
    const copies = duplicate > 0 && random.chance(duplicate) ? 2 : 1;
    if (copies === 2) counts.add("message duplicated");
    for (let copy = 0; copy < copies; copy++) {
      const isLate = late > 0 && random.chance(copy === 0 ? late : 10 * late);
      if (isLate) counts.add("message delayed for long");
      this.underWay++;
      clock.after(random.between(1, maxDelayMs) + (isLate ? random.between(500, 8_000) : 0), () => {
        this.underWay--;
        if (number < link.arrived) counts.add("message overtaken");
        else link.arrived = number;
        deliver();
      });
    }
  }
}
