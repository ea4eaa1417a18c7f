import { Table, abort, ascending } from "@radical/sdk";

// #region records
export class Event {
  title: string = "";
  at: i64 = 0;
}

export class EventPage {
  events: Event[] = [];
  /** Ask with it for the next page; null: this one is the last. */
  next: string | null = null;
}

/** By time and name, so that the order of the keys is the order of the pages. */
const events = new Table<Event>("events");
// #endregion

// #region announce
export function announce(title: string, at: i64): void {
  events.put(`${ascending(at)}/${title}`, { title, at });
}
// #endregion

// #region page
const MOST: i32 = 100;

/** The next events, or those behind a page. */
export function listEvents(after: string | null = null, most: i32 = 20): EventPage {
  if (most < 1 || most > MOST) abort(400, "bad_page", `A page has 1 to ${MOST} events.`);
  let range = events.all();
  if (after != null) range = range.after(after);
  const rows = range.first(most + 1);
  const page = new EventPage();
  for (const row of rows.slice(0, most)) page.events.push(row.value);
  if (rows.length > most) page.next = rows[most - 1].cursor;
  return page;
}
// #endregion
