/**
 * Whether waiting for locks is fair, after every step of a server:
 *
 * - from the step in which an execution begins to wait, no execution with a greater ticket joins the holders in its way;
 * - a waiter has a holder in its way, or a conflicting waiter with a smaller ticket.
 *
 * So finitely many executions pass a waiter, and it waits no longer than for them.
 */
import type { LockWait } from "@radical/lvi-server/core";
import { overlaps } from "@radical/protocol";
import { shortId } from "../describe.ts";

export class OvertakingChecker {
  /** The waits after the last step, each with the holders in its way. */
  #before: ReadonlyMap<LockWait["wait"], LockWait["inWay"]> = new Map();

  /** The violations since the last call, in words; empty if there are none. */
  check(waits: readonly LockWait[]): readonly string[] {
    const problems: string[] = [];
    for (const { wait, inWay } of waits) {
      const { id } = wait.owner;
      const before = this.#before.get(wait);
      for (const holder of inWay)
        if (before !== undefined && holder.ticket > wait.ticket && !before.includes(holder))
          problems.push(`${shortId(holder.id)} has overtaken ${shortId(id)}, which waits for locks`);
      if (inWay.length === 0 && !waits.some((other) => isInWay(other, wait)))
        problems.push(`${shortId(id)} waits for locks, and nobody is in its way`);
    }
    this.#before = new Map(waits.map(({ wait, inWay }) => [wait, inWay]));
    return problems;
  }
}

/** Whether one waiter waits behind another. */
function isInWay({ wait: other }: LockWait, wait: LockWait["wait"]): boolean {
  return (
    other.ticket < wait.ticket &&
    other.accesses.some((a) =>
      wait.accesses.some((b) => (a.mode === "exclusive" || b.mode === "exclusive") && overlaps(a.unit, b.unit)),
    )
  );
}
