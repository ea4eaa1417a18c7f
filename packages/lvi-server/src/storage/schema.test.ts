import { expect, test } from "vitest";
import { checkSchema, type KnownSchemas, newestOf, schemasAhead, stateOf, WrongSchemaError } from "./schema.ts";

/** Schema 6 only adds to schema 5. */
const KNOWN: KnownSchemas<{ readonly name: string }> = {
  oldest: 2,
  servedFrom: 4,
  versions: [
    { schema: 4, readableFrom: 4, abi: 11, name: "base" },
    { schema: 5, readableFrom: 5, abi: 12, name: "five" },
    { schema: 6, readableFrom: 5, abi: 12, name: "six" },
  ],
};

test("a release serves each schema up to its newest, and later ones that can be read from it", () => {
  for (const [written, readableFrom] of [
    [2, 2],
    [4, 4],
    [6, 5],
    [9, 6],
  ] as const)
    expect(checkSchema("a.sqlite", { written, readableFrom }, KNOWN)).toBeUndefined();
  expect(() => checkSchema("a.sqlite", { written: 9, readableFrom: 7 }, KNOWN)).toThrow(
    new WrongSchemaError(
      "a.sqlite has schema 9, which servers read that know schema 7, and this one knows up to 6. A later release has finished its upgrade here: start that release, or a later one.",
    ),
  );
  expect(() => checkSchema("a.sqlite", { written: 1, readableFrom: 1 }, KNOWN)).toThrow(
    "a.sqlite has schema 1, and this release upgrades none before 2. Start the release before this one first",
  );
});

test("the leader moves an old schema to the oldest that is served, and only a finished upgrade to the newest", () => {
  const names = (written: number, isFinished: boolean): readonly string[] =>
    schemasAhead({ written, readableFrom: written }, KNOWN, isFinished).map(({ name }) => name);
  expect(names(2, false)).toEqual(["base"]);
  expect(names(2, true)).toEqual(["base", "five", "six"]);
  expect(names(4, false)).toEqual([]);
  expect(names(4, true)).toEqual(["five", "six"]);
  expect(names(5, false)).toEqual([]);
  expect(names(9, true)).toEqual([]);
  expect(newestOf(KNOWN).name).toBe("six");
});

test("a module may state the ABI that all servers run which can serve the storage", () => {
  const abiOf = (written: number, readableFrom = written): number => stateOf({ written, readableFrom }, KNOWN).abi;
  expect([abiOf(3), abiOf(4), abiOf(5), abiOf(6, 5), abiOf(9, 5)]).toEqual([11, 11, 12, 12, 12]);
  expect(stateOf({ written: 4, readableFrom: 4 }, KNOWN)).toEqual({ written: 4, readableFrom: 4, newest: 6, abi: 11 });
});
