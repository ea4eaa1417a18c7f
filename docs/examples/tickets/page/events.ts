/** A page shows all events, one page after the other. */
import type { Event } from "#radical";

const list = document.querySelector("ul")!;

function show(events: readonly Event[]): void {
  for (const { title } of events) list.append(Object.assign(document.createElement("li"), { textContent: title }));
}

// #region pages
import { createClient } from "#radical";

const client = createClient();
let after: string | null = null;
do {
  const page = await client.listEvents({ after, most: 20 });
  show(page.events);
  after = page.next;
} while (after !== null);
// #endregion
