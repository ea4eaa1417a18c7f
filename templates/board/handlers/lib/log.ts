/** The changes of a board: every handler that changes one logs it. */
import { ascending, now, uuid } from "@radical/sdk";
import { Change, changes } from "./records";

export function logChange(board: string, who: string, what: string, card: string = ""): void {
  const change = new Change();
  change.id = `${ascending(now())}-${uuid()}`;
  change.who = who;
  change.what = what;
  change.card = card;
  change.at = now();
  changes.put(`${board}/${change.id}`, change);
}
