/**
 * Ranges of a large table on SQLite. A walk over rows that memory lacks keeps the server's loop for some time. The number of all
 * rows is compared with the read of an item, once the rows are in memory.
 */
import { randomBytes } from "node:crypto";
import path from "node:path";
import { commitId, type LviReply, unitId } from "@radical/protocol";
import { KeyRing } from "../../src/http/keys.ts";
import { openStorage, parseStorageAddress } from "../../src/storage/storage-address.ts";
import { type Effort, type Figure, figure, median, type Progress, quantile } from "./figure.ts";
import { metricsOf, type StartedServer, startServerProcess, withFolder } from "./processes.ts";

/** Rows of one walk. */
const WALKED = 1_000;
const WALKS = 50;
const ROW_BYTES = 200;
/** A handler may count somewhat more. */
const MOST_COUNTED = 800_000;
/** Rows of one commit while the table is filled. */
const FILLED = 10_000;
/** An idle server's loop is late by this: what a machine does besides. */
const IDLE_MS = 5_000;
const TURN_MS = { atMost: 20 };
const READS = { atMost: 3 };

const HASHES = new KeyRing({ locations: new Map([["bench", randomBytes(32)]]), administration: new Map() }).callHashes;

export function benchRanges(effort: Effort, progress: Progress): Promise<readonly Figure[]> {
  return withFolder(async (folder) => {
    const address = `sqlite:${path.join(folder, "primary.sqlite")}`;
    await fill(address, effort.rows, progress);
    const server = await startServerProcess(["--storage", address]);
    try {
      return await measure(server, effort, progress);
    } finally {
      await server.process.kill("SIGTERM");
    }
  });
}

async function fill(address: string, rows: number, progress: Progress): Promise<void> {
  const parsed = parseStorageAddress(address);
  if (typeof parsed === "string") throw new Error(parsed);
  const storage = await openStorage(parsed, { retentionMs: 60_000, hasher: HASHES });
  const leadership = await storage.acquireLeadership(await storage.readLeadership(), 60_000, 0);
  if (leadership === null) throw new Error("another server leads the storage of the benchmark");
  const { epoch } = leadership;
  await storage.recover(epoch);
  for (let from = 0; from < rows; from += FILLED) {
    if (from % 100_000 === 0) progress(`${from} of ${rows} rows written`);
    const items = Array.from({ length: Math.min(FILLED, rows - from) }, (_, at) => ({
      unit: unitId("bulk", keyOf(from + at)),
      // A byte string of CBOR.
      value: Uint8Array.of(0x58, ROW_BYTES, ...randomBytes(ROW_BYTES)),
      commitId: commitId(epoch, from + at + 1),
    }));
    const { kind } = await storage.commit(epoch, { records: [], items });
    if (kind !== "applied") throw new Error(`the storage did not take rows: ${kind}`);
  }
  await storage.renewLeadership(epoch, 0);
  await storage.close();
}

const keyOf = (row: number): string => String(row).padStart(8, "0");

async function measure(server: StartedServer, effort: Effort, progress: Progress): Promise<readonly Figure[]> {
  await longestTurnMs(server);
  progress("the loop without requests");
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const idleMs = await longestTurnMs(server);

  const cold: number[] = [];
  const turns: number[] = [];
  for (let walk = 0; walk < WALKS; walk++) {
    const from = Math.floor((walk * effort.rows) / WALKS);
    cold.push(await timeOf(server, "walkNearStorage", `${keyOf(from)}:${WALKED}`));
    turns.push(await longestTurnMs(server));
  }
  progress(`${WALKS} cold walks done`);
  const again: number[] = [];
  for (let walk = 0; walk < WALKS; walk++) {
    const from = Math.floor((walk * effort.rows) / WALKS);
    again.push(await timeOf(server, "walkNearStorage", `${keyOf(from)}:${WALKED}`));
  }

  const counted = Math.min(effort.rows, MOST_COUNTED);
  const countedFrom = keyOf(effort.rows - counted);
  const firstMs = await timeOf(server, "countNearStorage", countedFrom);
  const countTurnMs = await longestTurnMs(server);
  progress(`${counted} rows counted for the first time`);
  const shares: number[] = [];
  const counts: number[] = [];
  for (let turn = 0; turn < effort.turns; turn++) {
    const times = { count: [] as number[], read: [] as number[] };
    for (let call = 0; call < WALKS; call++) {
      times.count.push(await timeOf(server, "countNearStorage", countedFrom));
      times.read.push(await timeOf(server, "readBulkNearStorage", "1"));
    }
    shares.push(median(times.count) / median(times.read));
    counts.push(median(times.count));
  }
  const of = `${effort.rows} rows`;
  return [
    figure(
      `walk over ${WALKED} of ${of}, not in memory: longest turn of the loop, median`,
      median(turns),
      "ms",
      TURN_MS,
    ),
    figure(`the same, longest of ${WALKS} walks`, Math.max(...turns), "ms"),
    figure(`longest turn of an idle server in ${IDLE_MS / 1_000} s`, idleMs, "ms"),
    figure(`walk over ${WALKED} rows, not in memory`, median(cold), "ms"),
    figure("the same, in memory", median(again), "ms"),
    figure(`number of ${counted} rows for the first time`, firstMs, "ms"),
    figure("its longest turn of the loop", countTurnMs, "ms", TURN_MS),
    figure(`number of ${counted} rows in memory`, median(counts), "ms"),
    figure("the same beside reads of an item", median(shares), "", READS),
    figure("the same beside them, least favourable turn", quantile(shares, 1), ""),
  ];
}

/** The time of a call, in ms. */
async function timeOf(server: StartedServer, handler: string, argument: string): Promise<number> {
  const startedAtMs = performance.now();
  const reply: LviReply = await server.client.lvi(server.client.requestOf(handler, argument, null));
  const tookMs = performance.now() - startedAtMs;
  if (reply.kind !== "executed" || reply.outcome.kind !== "result")
    throw new Error(`${handler} was not executed: ${JSON.stringify(reply)}`);
  return tookMs;
}

/** The longest that the server's loop was late since the last question, in ms; it samples each 10 ms. */
async function longestTurnMs({ url }: StartedServer): Promise<number> {
  const seconds = (await metricsOf(url)).get("nodejs_eventloop_lag_max_seconds");
  if (seconds === undefined) throw new Error("the server does not tell how late its loop is");
  return seconds * 1_000;
}
