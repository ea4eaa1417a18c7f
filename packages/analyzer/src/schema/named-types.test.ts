/** Names of enums and of unions of texts, and the words about types, as clients get them. */
import { expect, test } from "vitest";
import { buildWith } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";

function schemaOf(files: Readonly<Record<string, string>>) {
  const { diagnostics, handlers, ...schema } = buildWith({ ...buildInput(files), modules: false }, slicer);
  expect(diagnostics).toEqual([]);
  return { ...schema, handlers: Object.fromEntries(handlers.map((handler) => [handler.name, handler])) };
}

test("types have the names that the source gives them, through other names and files", () => {
  const { named, handlers, records } = schemaOf({
    "lib/models.ts": `/** How seats are sorted. */
export enum Sort { Newest, Dearest = 5, Last, Before = -1, Same = Dearest }
/** The state of a seat. */
export type SeatStatus = "free" | "held";
export type Order = Sort;
export type Perhaps = SeatStatus | null;
export enum Flags { A = 1 << 0, B = 1 << 1 }
type List<T> = T[];
/** A seat. */
export interface Seat {
  /** What stands on it. */
  label: string;
  status: SeatStatus;
  all: List<SeatStatus>;
  // No doc comment.
  prices: Record<string, Sort>;
  flags: Flags;
}
`,
    "handlers/a.ts": `import { Flags, Order, Perhaps, Seat, SeatStatus, Sort } from "../lib/models";
export function find(order: Order, status: SeatStatus | null, perhaps: Perhaps, sort?: Sort): Seat | null {
  return null;
}
export function plain(kind: "a" | "b", flags: Flags): void {}
`,
  });
  const status = { kind: "string", oneOf: ["free", "held"], named: "SeatStatus" };
  const sort = { kind: "i32", named: "Sort" };
  expect(handlers["find"]?.parameters.map(({ type }) => type)).toEqual([
    sort,
    { kind: "nullable", inner: status },
    { kind: "nullable", inner: { kind: "string", oneOf: ["free", "held"] } },
    sort,
  ]);
  expect(handlers["plain"]?.parameters.map(({ type }) => type)).toEqual([
    { kind: "string", oneOf: ["a", "b"] },
    { kind: "i32" },
  ]);
  expect(records["Seat"]).toEqual({
    name: "Seat",
    description: "A seat.",
    fields: [
      { name: "label", type: { kind: "string" }, optional: false, description: "What stands on it." },
      { name: "status", type: status, optional: false },
      { name: "all", type: { kind: "array", element: status }, optional: false },
      { name: "prices", type: { kind: "map", value: sort }, optional: false },
      { name: "flags", type: { kind: "i32" }, optional: false },
    ],
  });
  expect(named).toEqual({
    Sort: {
      kind: "enum",
      values: { Newest: 0, Dearest: 5, Last: 6, Before: -1, Same: 5 },
      description: "How seats are sorted.",
    },
    SeatStatus: { kind: "texts", texts: ["free", "held"], description: "The state of a seat." },
  });
});

test("of two types with one name, one has it", () => {
  const { named, handlers } = schemaOf({
    "handlers/a.ts": 'type Kind = "a" | "b";\nexport function one(kind: Kind): void {}\n',
    "handlers/b.ts": 'type Kind = "c" | "d";\nexport function two(kind: Kind): void {}\n',
  });
  expect(named).toEqual({ Kind: { kind: "texts", texts: ["a", "b"] } });
  expect(handlers["two"]?.parameters[0]?.type).toEqual({ kind: "string", oneOf: ["c", "d"] });
});
