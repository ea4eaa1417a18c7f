/** What `radical doctor` has found. */

export type CheckName =
  /** The version of Node. */
  | "node"
  /** The port of `radical dev`. */
  | "dev_port"
  /** Who may deploy at Cloudflare, and the Worker that is deployed there. */
  | "cloudflare"
  | "worker"
  /** Whether this machine's clock is that of the others. */
  | "clock"
  /** The LVI server: reached, with the key, and leading; and the one that stands by. */
  | "primary"
  | "standby"
  /** Handlers that leave their read/write set. */
  | "sets"
  /** How long writers wait for read leases to end. */
  | "read_leases"
  /** The primary calls the services of the application's Worker. */
  | "services"
  /** Each location serves, and reaches the primary. */
  | "locations"
  /** What the locations run is what the primary has. */
  | "modules"
  /** Who may administer the primary at AWS, and its machines and tables. */
  | "aws"
  | "tables"
  /** Alarms have an address. */
  | "alarms";

export interface Problem {
  /** What is wrong, and what that means. */
  readonly message: string;
  /** What to do. */
  readonly hint: string;
}

export interface Finding {
  readonly check: CheckName;
  /** Empty: it is well. */
  readonly problems: readonly Problem[];
}

/** A clock that somebody else has. */
export interface ClockReading {
  readonly whose: string;
  /** By how much this machine's is ahead of it; to within a second or two. */
  readonly aheadMs: number;
}

/** Signatures count for five minutes, at AWS too. */
const MAX_AHEAD_MS = 30_000;

export function clockFinding(readings: readonly ClockReading[]): Finding {
  const problems = readings
    .filter(({ aheadMs }) => Math.abs(aheadMs) > MAX_AHEAD_MS)
    .map(({ whose, aheadMs }): Problem => {
      const seconds = Math.round(Math.abs(aheadMs) / 1_000);
      return {
        message: `This machine's clock is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} that of ${whose}. Signatures are refused from 300 s.`,
        hint: "Set it by the network: `sudo timedatectl set-ntp true`, or the system's settings.",
      };
    });
  return { check: "clock", problems };
}

/** By its header `date`, which is up to a second old. Null: it has none. */
export function clockOf(response: Response, whose: string, sentMs: number, receivedMs: number): ClockReading | null {
  const saidMs = Date.parse(response.headers.get("date") ?? "");
  return Number.isNaN(saidMs) ? null : { whose, aheadMs: (sentMs + receivedMs) / 2 - (saidMs + 500) };
}
