/** What was done to a board: every handler that changes one says so. */
import { now } from "@radical/sdk";
import { CHANGES_KEPT, Change, Log, logs } from "./records";

export function logChange(board: string, who: string, what: string, card: string = ""): void {
  let log = logs.get(board);
  if (log == null) log = new Log();
  log.count += 1;
  const change = new Change();
  change.number = log.count;
  change.who = who;
  change.what = what;
  change.card = card;
  change.at = now();
  log.changes.unshift(change);
  if (log.changes.length > CHANGES_KEPT) log.changes.pop();
  logs.put(board, log);
}
