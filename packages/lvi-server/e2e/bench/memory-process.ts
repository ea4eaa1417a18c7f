/** Fills a version table and says what memory it takes. */
import { type CommitId, commitId, unitId } from "@radical/protocol";
import { VersionTable } from "../../src/core/version-table.ts";
import type { Memory } from "./memory.ts";

const [versions = 0, valueBytes = 0] = process.argv.slice(2).map(Number);

/** Units of one load. */
const BATCH = 100;

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
for (let from = 0; from < versions; from += BATCH) {
  const units = Array.from({ length: Math.min(BATCH, versions - from) }, (_, at) => unitId("users", `u${from + at}`));
  const items = units.map((unit, at) => {
    const item = { commitId: asStored(commitId(1, from + at)), value: new Uint8Array(valueBytes) };
    return [unit, item] as const;
  });
  table.loadStarted(from, units);
  table.loadEnded(from, new Map(valueBytes === 0 ? [] : items));
}
const after = used();
const memory: Memory = {
  heapBytes: after.heapUsed + after.external - before.heapUsed - before.external,
  residentBytes: after.rss - before.rss,
  countedBytes: table.bytes,
};
if (table.size !== versions) throw new Error(`${table.size} versions`);
process.stdout.write(`${JSON.stringify(memory)}\n`);
