import { Table, abort, ascending, now, uuid } from "@radical/sdk";
import { requireWorker } from "./lib/worker-only";

// #region order
export class Mail {
  id: string = "";
  to: string = "";
  text: string = "";
}

const orders = new Table<string>("orders");
/** Mail that is to be sent, in the order in which it was asked for. */
const outbox = new Table<Mail>("outbox");

/** Orders, and asks for the mail that confirms it: both, or neither. */
export function order(what: string, address: string): string {
  if (address.indexOf("@") < 1) abort(400, "bad_address", "The address has no @.");
  const id = uuid();
  orders.put(id, what);
  outbox.put(`${ascending(now())}-${id}`, { id, to: address, text: `Thank you for ordering ${what}.` });
  return id;
}
// #endregion

// #region outbox
export class Waiting {
  key: string = "";
  mail: Mail = new Mail();
}

/** The oldest mail that was not sent. For the Worker only. */
export function waitingMail(most: i32 = 20): Waiting[] {
  requireWorker();
  const found: Waiting[] = [];
  for (const row of outbox.all().first(most)) found.push({ key: row.key, mail: row.value });
  return found;
}

/** Mail that was sent is not sent again. For the Worker only. */
export function mailSent(key: string): void {
  requireWorker();
  outbox.delete(key);
}
// #endregion
