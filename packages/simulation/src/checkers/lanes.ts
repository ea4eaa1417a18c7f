/**
 * The order of lanes, from what clients and storage saw. Executions are in an order: by what they wrote into one item, and by
 * answers that were told before others were asked for. The tasks that they have enqueued in one lane must end in that order.
 *
 * It knows nothing of commit ids, which are how the primary keeps the order.
 */
import type { ExecutionId } from "@radical/protocol";

export interface Enqueuer {
  readonly id: ExecutionId;
  /** Its tasks of each lane, in the order in which it has asked for them. */
  readonly lanes: ReadonlyMap<string, readonly ExecutionId[]>;
  /** Places in one order of all that clients saw. Infinity: it was not answered. */
  readonly askedAt: number;
  readonly answeredAt: number;
}

/**
 * @param enqueuers executions that have come to their end
 * @param writers of each item, in the order of their writes
 * @param ended tasks that are gone, in that order
 */
export function checkLanes(
  enqueuers: readonly Enqueuer[],
  writers: readonly (readonly ExecutionId[])[],
  ended: readonly ExecutionId[],
): readonly string[] {
  const places = new Map(ended.map((id, place) => [id, place]));
  // A task that has not ended comes after all that have.
  const placeOf = (id: ExecutionId): number => places.get(id) ?? Infinity;
  const problems: string[] = [];
  const checkPair = (first: ExecutionId, second: ExecutionId, lane: string, why: string): void => {
    // Of two that have not ended nothing is known.
    if (placeOf(second) < placeOf(first)) problems.push(`in lane ${lane} task ${second} ended before ${first}: ${why}`);
  };
  const byId = new Map(enqueuers.map((each) => [each.id, each]));
  const checkOrder = (first: Enqueuer, second: Enqueuer, why: string): void => {
    for (const [lane, firsts] of first.lanes)
      for (const task of firsts) for (const later of second.lanes.get(lane) ?? []) checkPair(task, later, lane, why);
  };
  for (const enqueuer of enqueuers) {
    for (const [lane, tasks] of enqueuer.lanes)
      for (let n = 1; n < tasks.length; n++) checkPair(tasks[n - 1]!, tasks[n]!, lane, `both are of ${enqueuer.id}`);
    for (const other of enqueuers)
      if (enqueuer.answeredAt < other.askedAt)
        checkOrder(enqueuer, other, `${enqueuer.id} was answered before ${other.id} was asked for`);
  }
  for (const ids of writers) {
    const known = ids.flatMap((id) => byId.get(id) ?? []);
    for (const [place, first] of known.entries())
      for (const second of known.slice(place + 1))
        checkOrder(first, second, `${first.id} has written before ${second.id}`);
  }
  return problems;
}
