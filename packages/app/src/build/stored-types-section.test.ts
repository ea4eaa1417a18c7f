import type { StoredTypes } from "@radical/protocol";
import { expect, test } from "vitest";
import { storedTypesOf, withStoredTypes } from "./stored-types-section.ts";

const EMPTY = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00);

const types = (fields: number): StoredTypes => ({
  tables: { users: { kind: "array", element: { kind: "nullable", inner: { kind: "record", name: "User" } } } },
  records: {
    User: {
      name: "User",
      fields: Array.from({ length: fields }, (_, index) => ({
        name: `é${index}`,
        type: index === 0 ? { kind: "record", name: "Address" } : { kind: "string" },
        optional: false,
      })),
    },
    Address: { name: "Address", fields: [] },
  },
});

test("a program keeps the types of its tables, and stays a program", () => {
  for (const fields of [1, 3, 400]) {
    const program = new Uint8Array(withStoredTypes(EMPTY, types(fields)));
    expect(WebAssembly.validate(program)).toBe(true);
    expect(WebAssembly.Module.customSections(new WebAssembly.Module(program), "radical.tables")).toHaveLength(1);
    expect(storedTypesOf(program)).toEqual(types(fields));
  }
  expect(storedTypesOf(EMPTY)).toBeNull();
});

test("names of types and doc comments leave no trace", () => {
  const shape = (named: boolean): StoredTypes => ({
    tables: { seats: { kind: "record", name: "Seat" } },
    records: {
      Seat: {
        name: "Seat",
        ...(named ? { description: "A seat." } : {}),
        fields: [
          {
            name: "sort",
            type: {
              kind: "map",
              value: { kind: "nullable", inner: { kind: "i32", ...(named ? { named: "Sort" } : {}) } },
            },
            optional: false,
            ...(named ? { description: "How it is sorted." } : {}),
          },
          {
            name: "status",
            type: { kind: "array", element: { kind: "string", oneOf: ["a"], ...(named ? { named: "Status" } : {}) } },
            optional: true,
            absent: true,
          },
        ],
      },
    },
  });
  expect(withStoredTypes(EMPTY, shape(true))).toEqual(withStoredTypes(EMPTY, shape(false)));
});

test("the order of declarations and records that no item holds leave no trace", () => {
  const { tables, records } = types(2);
  const more = { Arguments: { name: "Arguments", fields: [] }, Address: records["Address"]!, User: records["User"]! };
  expect(withStoredTypes(EMPTY, { tables, records: more })).toEqual(withStoredTypes(EMPTY, { tables, records }));
});
