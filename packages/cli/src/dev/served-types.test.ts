import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CborWriter, contentHash, type StoredTypes, type ValueType } from "@radical/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ServedTypes } from "./served-types.ts";

let stateFolder: string;
beforeEach(async () => {
  stateFolder = await mkdtemp(join(tmpdir(), "radical-served-"));
});
afterEach(() => rm(stateFolder, { recursive: true }));

/** Of a table of events that have these fields. */
function typesOf(fields: Readonly<Record<string, ValueType["kind"]>>): StoredTypes {
  return {
    tables: { events: { kind: "record", name: "Event" } },
    records: {
      Event: {
        name: "Event",
        fields: Object.entries(fields).map(([name, kind]) => ({ name, type: { kind } as ValueType, optional: true })),
      },
    },
  };
}

/** Stores an event as the server would. */
function store(key: string, fields: Readonly<Record<string, string | number>>): void {
  const writer = new CborWriter().map(Object.keys(fields).length);
  for (const [name, value] of Object.entries(fields)) {
    writer.text(name);
    if (typeof value === "string") writer.text(value);
    else writer.integer(value);
  }
  const value = writer.finish();
  const database = new DatabaseSync(join(stateFolder, "data.sqlite"));
  database.exec('CREATE TABLE IF NOT EXISTS items ("table" TEXT, key TEXT, value BLOB, commit_id TEXT, hash TEXT)');
  database.exec(`DELETE FROM items WHERE key = '${key}'`);
  database.prepare("INSERT INTO items VALUES ('events', ?, ?, '1', ?)").run(key, value, contentHash(value));
  database.close();
}

const served = (acceptMisfits = false): ServedTypes => new ServedTypes({ stateFolder, acceptMisfits });

/** A run of `radical dev` that builds these types, one after the other. Answers what the last one was refused for, or null. */
async function dev(types: readonly StoredTypes[], acceptMisfits = false): Promise<string | null> {
  const run = served(acceptMisfits);
  let refused: string | null = null;
  for (const built of types) {
    refused = await run.check(built).then(
      () => null,
      (error: Error) => error.message,
    );
    if (refused === null) await run.serves(built);
  }
  return refused;
}

const text = typesOf({ title: "string" });
const integer = typesOf({ title: "i32" });

test("a changed type is refused while an item misfits, and told with the first one", async () => {
  expect(await dev([text])).toBeNull();
  store("a", { other: "x" });
  store("b", { title: "x" });
  store("c", { title: "x" });
  const words =
    "The stored data does not fit the types of this build:\n  events[].title: string → i32\n    2 of 3 items; the first is events/b, field title: expected an integer, found text";
  expect(await dev([integer])).toBe(words);
  // Refused, it has not served.
  expect(await dev([typesOf({ title: "string", added: "i32" }), integer])).toBe(words);
  store("b", { title: 7 });
  store("c", { title: 7 });
  expect(await dev([integer])).toBeNull();
  // All items fit it, so what once was stored is forgotten.
  expect(await dev([text])).toMatch(/title: i32 → string\n {4}2 of 3 items/);
});

test("a table without items, or no data at all, fits everything", async () => {
  expect(await dev([text, integer, text])).toBeNull();
  store("a", {});
  expect(await dev([integer, text])).toBeNull();
});

test("a field that was dropped is remembered, as items keep it", async () => {
  expect(await dev([text])).toBeNull();
  store("a", { title: "x" });
  expect(await dev([typesOf({}), typesOf({ other: "bool" })])).toBeNull();
  expect(await dev([integer])).toContain("title: string → i32");
  expect(await dev([text])).toBeNull();
});

test("data of an unknown build is looked at, item by item", async () => {
  store("a", { title: "x" });
  expect(await dev([integer])).toMatch(/events\[\]\n {4}1 of 1 item; the first is events\/a, field title/);
  expect(await dev([text])).toBeNull();
  await writeFile(join(stateFolder, "stored-types.json"), "[{");
  expect(await dev([integer])).toContain("expected an integer, found text");
});

test("accepted, a build serves, and the next run refuses it as long as items misfit", async () => {
  expect(await dev([text])).toBeNull();
  store("a", { title: "x" });
  expect(await dev([integer], true)).toBeNull();
  expect(await dev([integer])).toContain("title: string → i32");
  store("a", { title: 7 });
  expect(await dev([integer])).toBeNull();
});

test("builds that say the same are kept once", async () => {
  expect(await dev([text, text, typesOf({ title: "string", added: "i32" }), text, text])).toBeNull();
  const kept = JSON.parse(await readFile(join(stateFolder, "stored-types.json"), "utf8")) as readonly unknown[];
  // The added field may be in items.
  expect(kept).toEqual([typesOf({ title: "string", added: "i32" }), text]);
});
