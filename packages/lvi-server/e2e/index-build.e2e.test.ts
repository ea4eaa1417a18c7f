/**
 * An index on live data, in real processes. A build without the index goes on writing, and the server is killed ten times.
 * Afterwards an entry exists exactly if its item has the field.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  CborWriter,
  commitId,
  encodeModuleContent,
  indexEntryOf,
  type IndexList,
  indexOf,
  type IndexStatus,
  INDEXES_PATH,
  itemOfEntry,
  MODULES_PATH,
  splitUnit,
  unitId,
} from "@radical/protocol";
import { moduleHash } from "@radical/wasm-host";
import { expect, test } from "vitest";
import { openItems } from "../src/storage/items.ts";
import { SqliteStorage } from "../src/storage/sqlite-storage.ts";
import { TestClient } from "./test-client.ts";
import { testModule } from "./test-module.ts";
import { startProcess } from "./test-process.ts";

const ITEMS = 10_000;
const KILLS = 10;
const INDEX = indexOf("people.name")!;
const EMPTY = new Uint8Array();

test(
  "ten kills and an older build: an entry exists exactly if its item has the field",
  { timeout: 300_000 },
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "radical-index-"));
    const file = path.join(folder, "data.sqlite");
    try {
      await fillWith(file, ITEMS);
      const args = ["--storage", `sqlite:${file}`, "--workers", "1"];
      const module = await testModule();
      let server = await startProcess(args);
      let client = new TestClient(server.url, module);
      await client.register();
      const content = { ...module.content, indexes: [INDEX.name] };
      const put = await client.send("PUT", MODULES_PATH + moduleHash(content), encodeModuleContent(content));
      expect(put.status).toBe(204);

      let writes = 0;
      /** As a location that has speculated, whose followup may be lost, and as one that has not. */
      const write = async (): Promise<void> => {
        const key = `k${(writes * 7919) % (ITEMS + 500)}`;
        const unit = unitId("people", key);
        const units = writes % 3 === 0 ? null : [{ unit, mode: "write" as const, version: null }];
        const reply = await client.lvi(client.requestOf("remember", `${key}=w${writes++ % 100}`, units));
        // An index that is known keeps every write of a build without it at the primary.
        expect(reply.kind === "executed" || reply.kind === "refused").toBe(true);
      };
      let most = 0;
      for (let kills = 0; ;) {
        await write();
        const status = await statusOf(client);
        expect(status.faults).toEqual([]);
        // It goes on behind its last page.
        expect(status.items).toBeGreaterThanOrEqual(most);
        most = status.items;
        if (status.phase === "ready") {
          expect(kills).toBe(KILLS);
          break;
        }
        if (kills < KILLS && status.items < (kills * ITEMS) / (KILLS + 1)) {
          await sleep(1);
          continue;
        }
        if (kills === KILLS) continue;
        kills++;
        await server.kill("SIGKILL");
        server = await startProcess(args);
        client = new TestClient(server.url, module);
      }
      for (let more = 0; more < 50; more++) await write();
      await server.kill("SIGTERM");
      await expectKept(file);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);

async function fillWith(file: string, count: number): Promise<void> {
  const storage = new SqliteStorage(file);
  const leadership = (await storage.acquireLeadership(await storage.readLeadership(), 0, 0))!;
  const items = Array.from({ length: count }, (_, n) => ({
    unit: unitId("people", `k${n}`),
    // Every tenth lacks the field.
    value:
      n % 10 === 0 ? new CborWriter().map(0).finish() : new CborWriter().map(1).text("name").text(`n${n}`).finish(),
    commitId: commitId(1, n + 1),
  }));
  await storage.commit(leadership.epoch, { records: [], items });
  await storage.renewLeadership(leadership.epoch, 0);
  await storage.close();
}

async function statusOf(client: TestClient): Promise<IndexStatus> {
  const { indexes } = (await (await client.send("GET", INDEXES_PATH, EMPTY)).json()) as IndexList;
  return indexes.find(({ name }) => name === INDEX.name)!;
}

async function expectKept(file: string): Promise<void> {
  const reader = await openItems({ kind: "sqlite", file });
  const wanted = new Map<string, string>();
  const found = new Map<string, string>();
  for await (const { unit, value } of reader.items(INDEX.table)) {
    const { key } = splitUnit(unit);
    const entry = indexEntryOf(INDEX, key, value);
    if (entry !== null) wanted.set(entry.key, key);
  }
  for await (const { unit, value } of reader.items(INDEX.name)) found.set(splitUnit(unit).key, itemOfEntry(value));
  await reader.close();
  expect(wanted.size).toBeGreaterThan((ITEMS * 8) / 10);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(wanted));
}
