/** Notes and a counter: the smallest application that reads and writes. */
import { Counter, Table, abort, ascending, now, uuid } from "@radical/sdk";

export class Note {
  id: string = "";
  text: string = "";
  at: i64 = 0;
}

/** By id, which begins with the time: notes are in the order in which they were added. */
const notes = new Table<Note>("notes");
const counters = new Counter("counters");

const ALL = "all";

/** Adds a note and gives it. */
export function addNote(text: string): Note {
  if (text.length == 0 || text.length > 1000) abort(400, "bad_text", "A note has 1 to 1000 characters.");
  const note: Note = { id: `${ascending(now())}-${uuid()}`, text, at: now() };
  notes.put(note.id, note);
  return note;
}

/** The newest notes, or those before the last note of a page. */
export function listNotes(limit: i32 = 20, before: string | null = null): Note[] {
  let range = notes.all();
  if (before != null) range = range.before(before);
  return range.last(max(limit, 0)).map((row) => row.value);
}

/** Removes a note; tells whether there was one. */
export function removeNote(id: string): bool {
  if (id.length == 0 || id.length > 100 || !notes.has(id)) return false;
  notes.delete(id);
  return true;
}

/** Counts up and gives the new value. */
export function increment(by: i32 = 1): i64 {
  counters.add(ALL, by);
  return counters.get(ALL);
}

/** The value of the counter. */
export function count(): i64 {
  return counters.get(ALL);
}
