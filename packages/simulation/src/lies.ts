/** Locations that lie: some of their followups have another end than their handler. Each sending lies in all of its copies, or in none. */
import type { Followup } from "@radical/protocol";
import type { Random } from "@radical/history";
import { shortId } from "./describe.ts";
import type { FaultCounts } from "./faults.ts";
import type { ToLocation, ToPrimary } from "./network.ts";
import { bytesOf } from "./programs.ts";

export class Lies {
  readonly #chance: number;
  readonly #random: Random;
  readonly #counts: FaultCounts;
  readonly #told = new Set<string>();
  readonly #problems: string[] = [];
  #found = 0;

  constructor(chance: number, random: Random, counts: FaultCounts) {
    this.#chance = chance;
    this.#random = random;
    this.#counts = counts;
  }

  /** The message as it leaves the location. */
  told(from: number, message: ToPrimary): ToPrimary {
    if (message.kind !== "followup" || this.#chance === 0 || !this.#random.chance(this.#chance)) return message;
    this.#counts.add("followup that lies");
    this.#told.add(`${from} ${message.sending}`);
    return { ...message, followup: this.#forged(message.followup) };
  }

  /** It stays within the units of the intent. */
  #forged(followup: Followup): Followup {
    const { writes, outcome } = followup;
    if (writes.length === 0 || this.#random.chance(0.3)) {
      const other = outcome.kind === "result" ? Uint8Array.of(...outcome.value, 0) : bytesOf("liar:");
      return { ...followup, outcome: { kind: "result", value: other } };
    }
    const chosen = this.#random.pick(writes);
    if (this.#random.chance(0.3)) return { ...followup, writes: writes.filter((write) => write !== chosen) };
    const isForged = (write: (typeof writes)[number]): boolean => write === chosen;
    return {
      ...followup,
      writes: writes.map((write) => (isForged(write) ? { unit: write.unit, value: bytesOf("liar:") } : write)),
    };
  }

  /** A server answers. */
  answered({ to, executionId, sending, reply }: ToLocation): void {
    if (executionId === null || typeof reply !== "string") return;
    const isLie = this.#told.has(`${to} ${sending}`);
    const id = shortId(executionId);
    if (isLie && reply === "applied") this.#problems.push(`a forged followup of ${id} was applied`);
    if (reply !== "forged") return;
    if (isLie) this.#counts.add("lie found before it was applied");
    else this.#problems.push(`an honest followup of ${id} is called forged`);
    this.#found++;
  }

  /** `alarms`: how many servers have raised about forged followups. An answer may be lost, and an alarm not. */
  problemsWith(alarms: number): readonly string[] {
    const problems = [...this.#problems];
    if (alarms > 0 && this.#told.size === 0) problems.push("nobody has lied, and there was an alarm");
    if (this.#found > 0 && alarms === 0) problems.push("a followup is called forged without an alarm");
    return problems;
  }
}
