import { Table, caller } from "@radical/sdk";

/** Notes by `writer/number`. */
const notes = new Table<string>("notes");
const numbers = new Table<i32>("numbers");

function writer(): string {
  const me = caller();
  return me == null ? "nobody" : me;
}

export function write(text: string): i32 {
  const me = writer();
  const number = numbers.get(me) + 1;
  numbers.put(me, number);
  notes.put(`${me}/${number}`, text);
  return number;
}

export function count(): i32 {
  return numbers.get(writer());
}
