import { Table, caller } from "@radical/sdk";

/** Notes by `writer/number`. */
const notes = new Table<string>("notes");

function writer(): string {
  const me = caller();
  return me == null ? "nobody" : me;
}

export function write(text: string): i32 {
  const me = writer();
  const number = notes.prefix(`${me}/`).count() + 1;
  notes.put(`${me}/${number}`, text);
  return number;
}

export function count(): i32 {
  return notes.prefix(`${writer()}/`).count();
}
