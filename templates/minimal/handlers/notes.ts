/** Notes and a counter: the smallest application that reads and writes. */
import { Table, abort, now, uuid } from "@radical/sdk";

export class Note {
  id: string = "";
  text: string = "";
  at: i64 = 0;
}

/** The ids of all notes, the newest first. */
export class NoteList {
  ids: string[] = [];
}

export class Counter {
  value: i32 = 0;
}

const notes = new Table<Note>("notes");
const lists = new Table<NoteList>("lists");
const counters = new Table<Counter>("counters");

const ALL = "all";

/** Adds a note and gives it. */
export function addNote(text: string): Note {
  if (text.length == 0 || text.length > 1000) abort(400, "bad_text", "A note has 1 to 1000 characters.");
  const note: Note = { id: uuid(), text, at: now() };
  notes.put(note.id, note);

  const list = lists.get(ALL) ?? new NoteList();
  list.ids.unshift(note.id);
  lists.put(ALL, list);
  return note;
}

/** The newest notes. */
export function listNotes(limit: i32 = 20): Note[] {
  const found: Note[] = [];
  const ids = lists.get(ALL)?.ids ?? [];
  for (const id of ids.slice(0, max(limit, 0))) {
    const note = notes.get(id);
    if (note != null) found.push(note);
  }
  return found;
}

/** Removes a note; tells whether there was one. */
export function removeNote(id: string): bool {
  if (id.length != 36 || !notes.has(id)) return false;
  notes.delete(id);
  const list = lists.get(ALL);
  if (list != null) {
    const at = list.ids.indexOf(id);
    if (at >= 0) list.ids.splice(at, 1);
    lists.put(ALL, list);
  }
  return true;
}

/** Counts up and gives the new value. */
export function increment(by: i32 = 1): i32 {
  const counter = counters.get(ALL) ?? new Counter();
  counter.value += by;
  counters.put(ALL, counter);
  return counter.value;
}

/** The value of the counter. */
export function count(): i32 {
  return counters.get(ALL)?.value ?? 0;
}
