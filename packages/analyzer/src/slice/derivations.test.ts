import { expect, test } from "vitest";
import type { Derived } from "../front.ts";
import { buildWith } from "../pipeline.ts";
import { rememberingSlicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";

const NOTES = `
import { Table } from "@radical/sdk";
export class Note { text: string = ""; next: string = ""; }
export const notes = new Table<Note>("notes");
export const drafts = new Table<Note>("drafts");
export function follow(id: string): string {
  const note = notes.get(id);
  return note == null ? "" : note.next;
}
`;
const HANDLERS = `
import { drafts, follow, notes } from "../lib/notes";
export function one(id: string): bool { return notes.has(id); }
export function two(id: string): bool { return notes.has(follow(id)); }
export function three(id: string): bool { return notes.has("a" + /* first */ id); }
/** @refuse union */
export function four(id: string): bool { return drafts.has(id); }
`;

/** The handlers that are derived again if both files become these, after they were `HANDLERS` and `NOTES`. */
function derivedAgain(handlers: string, notes = NOTES): string[] {
  const slicer = rememberingSlicer();
  const derive = (files: Readonly<Record<string, string>>): readonly Derived[] => {
    let found: readonly Derived[] = [];
    const build = buildWith(
      { ...buildInput(files), optimize: false },
      { deriveReadWriteSets: (front) => (found = slicer.deriveReadWriteSets(front)) },
    );
    expect(build.ok).toBe(true);
    return found;
  };
  const before = new Set(derive({ "handlers/a.ts": HANDLERS, "lib/notes.ts": NOTES }));
  const after = derive({ "handlers/a.ts": handlers, "lib/notes.ts": notes });
  return after.filter((derived) => !before.has(derived)).map(({ handler }) => handler);
}

test("only what is as it was is not derived again", () => {
  expect(derivedAgain(HANDLERS)).toEqual([]);
  expect(derivedAgain(`${HANDLERS}// a remark behind all handlers\n`)).toEqual([]);
  expect(derivedAgain(`${HANDLERS}export function five(): bool { return notes.has("a"); }\n`)).toEqual(["five"]);
  expect(derivedAgain(HANDLERS, NOTES.replace("note.next", "note.text"))).toEqual(["two"]);
  expect(derivedAgain(HANDLERS, NOTES.replace('"drafts"', '"things"'))).toEqual(["four"]);
});

test("what is shown of the source counts, and where it stands", () => {
  expect(derivedAgain(HANDLERS.replace("/* first */", "/* other */"))).toEqual(["three"]);
  expect(derivedAgain(HANDLERS.replace("export function three", "\nexport function three"))).toEqual(["four", "three"]);
  expect(derivedAgain(HANDLERS.replace("@refuse union", "@refuse all  "))).toEqual(["four"]);
});
