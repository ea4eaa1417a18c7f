/**
 * An index on live data, in real processes. A build without the index goes on writing, and the server is killed ten times.
 * Afterwards an entry exists exactly if its item has the field.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { unitId } from "@radical/protocol";
import { expect, test } from "vitest";
import { entriesOf, fillWithPeople, indexStatus, nameIndex } from "./index-people.ts";
import { TestClient } from "./test-client.ts";
import { testModule } from "./test-module.ts";
import { startProcess } from "./test-process.ts";

const ITEMS = 10_000;
const KILLS = 10;

test(
  "ten kills and an older build: an entry exists exactly if its item has the field",
  { timeout: 300_000 },
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "radical-index-"));
    const file = path.join(folder, "data.sqlite");
    try {
      await fillWithPeople(file, ITEMS);
      const args = ["--storage", `sqlite:${file}`, "--workers", "1"];
      const module = await testModule();
      let server = await startProcess(args);
      let client = new TestClient(server.url, module);
      await client.register();
      await nameIndex(client, module);

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
        const status = await indexStatus(client);
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
      const { wanted, found } = await entriesOf(file);
      expect(wanted.size).toBeGreaterThan((ITEMS * 8) / 10);
      expect(Object.fromEntries(found)).toEqual(Object.fromEntries(wanted));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);
