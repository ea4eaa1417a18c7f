/**
 * Hot keys: fifty clients of five locations increment one counter. Beside them stand fifty clients with a counter each, and
 * bare commits of the same storage, one after another. The versions of the clients are never the primary's, so each execution runs
 * near storage, as on a key that everybody writes.
 */
import { randomBytes } from "node:crypto";
import path from "node:path";
import {
  commitId,
  contentHash,
  decodeLviReply,
  encodeLviRequest,
  encodeOutcome,
  type ExecutionId,
  LVI_PATH,
  type ModuleHash,
  type Outcome,
  unitId,
} from "@radical/protocol";
import { KeyRing } from "../../src/http/keys.ts";
import { openStorage, parseStorageAddress } from "../../src/storage/storage-address.ts";
import { commitOf, type Storage } from "../../src/storage/storage.ts";
import { CREDENTIALS, hasDynamoDbLocal, startDynamoDbLocal } from "../dynamodb/dynamodb-local.ts";
import { incrementUnits } from "../test-client.ts";
import { Connection, signedRequest } from "./connection.ts";
import { type Effort, type Figure, figure, median, type Progress } from "./figure.ts";
import { metricsOf, type StartedServer, startServerProcess, withFolder } from "./processes.ts";

const LOCATIONS = ["VA", "CA", "IE", "DE", "JP"];
const CLIENTS = 50;
const WARM_UP = 2;
/** On SQLite the first of these is enough, or the other two together. */
const AT_ALL = { atLeast: 1_000 };
const OF_FIFTY_KEYS = { atLeast: 0.6 };
const OF_BARE_COMMITS = { atLeast: 4 };
const OF_RECORDS = { atLeast: 0.3 };
/** The most that DynamoDB takes in one transaction, with an item and the fence. */
const RECORDS = 98;

export async function benchHotKeys(effort: Effort, progress: Progress): Promise<readonly Figure[]> {
  const figures = await withFolder((folder) => {
    const at = (name: string): string => `sqlite:${path.join(folder, name)}.sqlite`;
    return measure("SQLite", at, effort, progress);
  });
  if (!effort.dynamodb || !hasDynamoDbLocal()) return figures;
  Object.assign(process.env, CREDENTIALS);
  const local = await startDynamoDbLocal();
  try {
    const at = (name: string): string => `dynamodb:${name}?endpoint=${local.endpoint}`;
    return [...figures, ...(await measure("DynamoDB Local", at, effort, progress))];
  } finally {
    await local.stop();
  }
}

async function measure(
  name: string,
  storageOf: (name: string) => string,
  effort: Effort,
  progress: Progress,
): Promise<readonly Figure[]> {
  const server = await startServerProcess(["--storage", storageOf("primary"), "--lease-ms", "60000"]);
  const bare = await BareCommits.open(storageOf("bare"));
  const connections = await Promise.all(Array.from({ length: CLIENTS }, () => Connection.open(server.url)));
  const rates = { one: [] as number[], fifty: [] as number[], bare: [] as number[], records: [] as number[] };
  const members: number[] = [];
  try {
    for (let turn = 0; turn < WARM_UP + effort.turns; turn++) {
      progress(`${name}, turn ${turn + 1} of ${WARM_UP + effort.turns}`);
      const before = await commitsOf(server);
      const one = await rateOf(server, connections, effort.requests, () => "hot");
      const commits = (await commitsOf(server)) - before;
      const fifty = await rateOf(server, connections, effort.requests, (client) => `cold-${client}`);
      const alone = await bare.perSecond(effort.requests / 10, 1);
      const records = RECORDS * (await bare.perSecond(effort.requests / RECORDS, RECORDS));
      if (turn < WARM_UP) continue;
      rates.one.push(one);
      rates.fifty.push(fifty);
      rates.bare.push(alone);
      rates.records.push(records);
      members.push(effort.requests / commits);
    }
  } finally {
    for (const connection of connections) connection.close();
    await bare.close();
    await server.process.kill("SIGTERM");
  }
  const isLocal = name === "SQLite";
  const share = (of: readonly number[]): number => median(rates.one.map((rate, turn) => rate / of[turn]!));
  const words = `${name}: ${CLIENTS} clients on one key`;
  return [
    figure(`${words}: executions`, median(rates.one), "/s", isLocal ? AT_ALL : null),
    figure(`${words}: executions in one commit`, median(members), ""),
    figure(`${words}: beside a key for each`, share(rates.fifty), "", isLocal ? OF_FIFTY_KEYS : null),
    figure(`${words}: beside bare commits`, share(rates.bare), "", isLocal ? OF_BARE_COMMITS : null),
    figure(`${words}: beside records in commits of ${RECORDS}`, share(rates.records), "", isLocal ? null : OF_RECORDS),
    figure(`${name}: ${CLIENTS} clients with a key for each: executions`, median(rates.fifty), "/s"),
    figure(`${name}: bare commits, one after another`, median(rates.bare), "/s"),
    figure(`${name}: records in commits of ${RECORDS}`, median(rates.records), "/s"),
  ];
}

/** The same number for each client. */
async function rateOf(
  { client }: StartedServer,
  connections: readonly Connection[],
  requests: number,
  keyOf: (client: number) => string,
): Promise<number> {
  const count = Math.ceil(requests / CLIENTS);
  const made = connections.map((_, index) =>
    Array.from({ length: count }, () => {
      const key = keyOf(index);
      const location = LOCATIONS[index % LOCATIONS.length]!;
      const request = client.requestOf("increment", key, incrementUnits(key, null), { location });
      return signedRequest(LVI_PATH, encodeLviRequest(request));
    }),
  );
  const startedAtMs = performance.now();
  await Promise.all(
    connections.map((connection, index) => {
      const own = made[index]!.values();
      return connection.sendAll(() => own.next().value ?? null, expectExecuted);
    }),
  );
  return (count * CLIENTS * 1_000) / (performance.now() - startedAtMs);
}

function expectExecuted(body: Uint8Array): void {
  const reply = decodeLviReply(body);
  if (reply.kind !== "executed") throw new Error(`not executed: ${JSON.stringify(reply)}`);
}

async function commitsOf({ url }: StartedServer): Promise<number> {
  return (await metricsOf(url)).get('radical_storage_operation_seconds_count{operation="complete"}') ?? 0;
}

const DONE: Outcome = { kind: "result", value: Uint8Array.of(1) };
const HASHES = new KeyRing({ locations: new Map([["bench", randomBytes(32)]]), administration: new Map() }).callHashes;

/** Commits of executions that write one item, as a server makes them, without a server. */
class BareCommits {
  readonly #storage: Storage;
  readonly #epoch: number;
  #commits = 0;

  private constructor(storage: Storage, epoch: number) {
    this.#storage = storage;
    this.#epoch = epoch;
  }

  static async open(address: string): Promise<BareCommits> {
    const parsed = parseStorageAddress(address);
    if (typeof parsed === "string") throw new Error(parsed);
    const storage = await openStorage(parsed, { retentionMs: 60_000, hasher: HASHES });
    const leadership = await storage.acquireLeadership(await storage.readLeadership(), 60_000, 0);
    if (leadership === null) throw new Error("another server leads the storage of the benchmark");
    await storage.recover(leadership.epoch);
    return new BareCommits(storage, leadership.epoch);
  }

  /** How many commits of so many executions end in a second, if each begins after the one before. */
  async perSecond(count: number, executions: number): Promise<number> {
    const startedAtMs = performance.now();
    const most = Math.max(1, Math.ceil(count));
    for (let index = 0; index < most; index++) await this.#commit(executions);
    return (most * 1_000) / (performance.now() - startedAtMs);
  }

  async #commit(count: number): Promise<void> {
    const { kind } = await this.#storage.commit(
      this.#epoch,
      commitOf(
        Array.from({ length: count }, () => ({
          expects: "new",
          completion: {
            executionId: randomBytes(16).toString("hex") as ExecutionId,
            commitId: commitId(this.#epoch, ++this.#commits),
            module: "0".repeat(64) as ModuleHash,
            handler: "increment",
            args: Uint8Array.of(),
            environment: { timeMs: 0, seed: new Uint8Array(16), caller: null },
            location: "bench",
            outcome: DONE,
            writes: [{ unit: unitId("counters", "bare"), value: Uint8Array.of(1) }],
            resultHash: contentHash(encodeOutcome(DONE)),
            doneAtMs: Date.now(),
            call: HASHES.hash(Uint8Array.of()),
            keeps: "briefly",
          },
        })),
      ),
    );
    if (kind !== "applied") throw new Error(`the storage did not take a commit: ${kind}`);
  }

  async close(): Promise<void> {
    await this.#storage.renewLeadership(this.#epoch, 0);
    await this.#storage.close();
  }
}
