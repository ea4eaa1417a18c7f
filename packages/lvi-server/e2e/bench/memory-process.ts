/** Fills a version table and says what memory it takes. */
import { type CommitId, commitId, unitId } from "@radical/protocol";
import { VersionTable } from "../../src/core/version-table.ts";
import type { Memory } from "./memory.ts";

const [versions = 0, valueBytes = 0] = process.argv.slice(2).map(Number);

function used(): NodeJS.MemoryUsage {
  globalThis.gc!();
  globalThis.gc!();
  return process.memoryUsage();
}

/** Storage answers with flat strings. */
function asStored(id: CommitId): CommitId {
  return Buffer.from(id, "latin1").toString("latin1") as CommitId;
}

const before = used();
const table = new VersionTable(Number.POSITIVE_INFINITY, 1);
for (let index = 0; index < versions; index++) {
  const unit = unitId("users", `u${index}`);
  table.loadStarted(index, [unit]);
  const item = { commitId: asStored(commitId(1, index)), value: new Uint8Array(valueBytes) };
  table.loadEnded(index, valueBytes === 0 ? new Map() : new Map([[unit, item]]));
}
const after = used();
const memory: Memory = {
  heapBytes: after.heapUsed + after.external - before.heapUsed - before.external,
  residentBytes: after.rss - before.rss,
  countedBytes: table.bytes,
};
if (table.size !== versions) throw new Error(`${table.size} versions`);
process.stdout.write(`${JSON.stringify(memory)}\n`);
