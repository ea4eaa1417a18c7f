/** People in a SQLite file whose index is to be built, and whether it has the entries that it should have. */
import {
  CborWriter,
  commitId,
  encodeModuleContent,
  type IndexEntry,
  indexEntryOf,
  type IndexList,
  indexOf,
  type IndexStatus,
  INDEXES_PATH,
  itemOfEntry,
  MODULES_PATH,
  present,
  splitUnit,
  unitId,
} from "@radical/protocol";
import { moduleHash } from "@radical/wasm-host";
import { openItems } from "../src/storage/items.ts";
import { SqliteStorage } from "../src/storage/sqlite-storage.ts";
import type { TestClient } from "./test-client.ts";
import type { TestModule } from "./test-module.ts";

const INDEX = present(indexOf("people.name"), "the name of an index");
/** Items of one commit while the table is filled. */
const FILLED = 10_000;
/** Every tenth lacks the field. */
const LACKING = 10;
const EMPTY = new Uint8Array();

export async function fillWithPeople(file: string, count: number): Promise<void> {
  const storage = new SqliteStorage(file);
  const leadership = present(
    await storage.acquireLeadership(await storage.readLeadership(), 0, 0),
    "nobody else has the file",
  );
  const { epoch } = leadership;
  for (let from = 0; from < count; from += FILLED) {
    const items = Array.from({ length: Math.min(FILLED, count - from) }, (_, at) => {
      const n = from + at;
      const writer = new CborWriter();
      const value = n % LACKING === 0 ? writer.map(0) : writer.map(1).text("name").text(`n${n}`);
      return { unit: unitId("people", `k${n}`), value: value.finish(), commitId: commitId(epoch, n + 1) };
    });
    await storage.commit(epoch, { records: [], items });
  }
  await storage.renewLeadership(epoch, 0);
  await storage.close();
}

/** Registers a build that has the index beside the one of the client, which lacks it. */
export async function nameIndex(client: TestClient, { content }: TestModule): Promise<void> {
  const indexed = { ...content, indexes: [INDEX.name] };
  const put = await client.send("PUT", MODULES_PATH + moduleHash(indexed), encodeModuleContent(indexed));
  if (put.status !== 204) throw new Error(`the module was not registered: ${put.status} ${await put.text()}`);
}

export async function indexStatus(client: TestClient): Promise<IndexStatus> {
  const { indexes } = (await (await client.send("GET", INDEXES_PATH, EMPTY)).json()) as IndexList;
  return present(
    indexes.find(({ name }) => name === INDEX.name),
    "the server knows the index",
  );
}

/** The keys of items by those of their entries: the entries that there should be, and those that there are. */
export async function entriesOf(file: string): Promise<{ readonly wanted: Entries; readonly found: Entries }> {
  const reader = await openItems({ kind: "sqlite", file });
  const wanted = new Map<string, string>();
  const found = new Map<string, string>();
  for await (const { unit, value } of reader.items(INDEX.table)) {
    const { key } = splitUnit(unit);
    const entry: IndexEntry | null = indexEntryOf(INDEX, key, value);
    if (entry !== null) wanted.set(entry.key, key);
  }
  for await (const { unit, value } of reader.items(INDEX.name)) found.set(splitUnit(unit).key, itemOfEntry(value));
  await reader.close();
  return { wanted, found };
}

type Entries = ReadonlyMap<string, string>;
