/** The products of the phases are what `radical analyze --emit-ir` prints. */
import { expect, test } from "vitest";
import { buildWith } from "../pipeline.ts";
import { rememberingSlicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";

const INPUT = {
  ...buildInput({
    "handlers/a.ts": `import { Table } from "@radical/sdk";
class Note { text: string = ""; seen: i32 = 0; }
const notes = new Table<Note>("notes");
export function see(id: string): i32 {
  const note = notes.get(id);
  if (note == null) return 0;
  note.seen += 1;
  notes.put("seen/" + id, note);
  return note.text.length;
}
export function all(names: string[]): string {
  return names.join();
}
export function holes(id: string): i32 {
  notes.get(id);
  const texts: string[] = ["x", , id];
  return texts.length;
}
`,
  }),
  optimize: false,
};

test("the phases show what they made of a handler, in order", () => {
  const { handlers } = buildWith({ ...INPUT, emitIr: true }, rememberingSlicer());
  const products = new Map(handlers.map(({ name, products: made }) => [name, made]));
  expect(products.get("see")?.map(({ phase }) => phase)).toEqual(["lower", "infer", "slice", "emit"]);
  const [lower, infer, slice, emit] = products.get("see")!.map(({ text }) => text);
  expect(lower).toContain("variable note: Note | null = get(global notes, id)");
  expect(lower).toContain("expression += field seen(");
  expect(infer).toContain("> variable note: Note | null = get!(global notes!, id!)");
  expect(infer).toContain('> expression put*(global notes!, +!("seen/"!, id!)');
  expect(infer).not.toContain("> expression += field seen(");
  expect(slice).not.toContain("seen(");
  expect(emit).toBe(handlers.find(({ name }) => name === "see")?.rwSource);
});

test("a handler that is not sliced has the products of the phases before", () => {
  const { handlers } = buildWith({ ...INPUT, emitIr: true }, rememberingSlicer());
  const holes = handlers.find(({ name }) => name === "holes");
  expect(holes?.plan.kind).toBe("recorded");
  expect(holes?.products).toEqual([]);
});

test("nobody who does not ask gets them, also of a handler that is known", () => {
  const slicer = rememberingSlicer();
  const asked = buildWith({ ...INPUT, emitIr: true }, slicer).handlers.map(({ products }) => products.length);
  const not = buildWith(INPUT, slicer).handlers.map(({ products }) => products.length);
  expect([asked, not]).toEqual([
    [4, 0, 4],
    [0, 0, 0],
  ]);
});
