/**
 * Two servers on one storage, and clients that repeat each request until one of them answers. The one that serves is
 * killed, or stopped past its leadership and continued: what was answered is there, once, and the pause that clients see is
 * bounded by the leadership.
 *
 * The machine may be slow, so nothing is compared with the time of a clock. The standby's own bound is counted in its looks
 * at the leadership, a quarter of the term apart; the pause of clients in ticks, of which there are fewer if the machine does
 * something else.
 */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { LviReply, LviRequest } from "@radical/protocol";
import { drawn } from "@radical/command-line/short-tier";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CREDENTIALS, type DynamoDbLocal, hasDynamoDbLocal, startDynamoDbLocal } from "./dynamodb/dynamodb-local.ts";
import { dynamoStorage, sqliteStorage, type StorageUnderTest } from "./storage-under-test.ts";
import { TestClient } from "./test-client.ts";
import { testModule } from "./test-module.ts";
import { spawnServer, startProcess } from "./test-process.ts";

const LEASE_MS = 1_500;
/**
 * One at which the leadership is first found as its holder left it, four until its term is over, one for the drift of clocks; and
 * two for timers that are a moment early.
 */
const MOST_LOOKS = 8;
const TICK_MS = 20;
/** Of clients: the term, a quarter and a tenth more, recovery; and a standby that the machine stops for ten seconds meanwhile. */
const LONGEST_PAUSE_MS = 20 * LEASE_MS;
/** After which a client asks again. */
const ATTEMPT_MS = 250;
const CLIENTS = 4;
/** Requests answered before and after the takeover. */
const ANSWERS = 40;
/** Values of the test module's counters are one byte, of which CBOR takes so many for itself. */
const MOST_PER_COUNTER = 20;

const storages = drawn("storages of a takeover", hasDynamoDbLocal() ? ["sqlite", "dynamodb"] : ["sqlite"], 1);

describe.runIf(storages.includes("sqlite"))("on SQLite", () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "radical-takeover-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  takeovers(() => sqliteStorage(path.join(folder, "data.sqlite")));
});

describe.runIf(storages.includes("dynamodb"))("on DynamoDB", () => {
  let local: DynamoDbLocal;

  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
  });
  afterAll(() => local.stop());

  takeovers(() => dynamoStorage(local));

  test("a leader that is stopped past its leadership, and has no successor, goes on under its epoch", async () => {
    const leaseMs = 300;
    const child = spawnServer([...dynamoStorage(local).args, "--workers", "1", "--lease-ms", String(leaseMs)]);
    try {
      const [line] = (await once(createInterface(child.stdout!), "line")) as [string];
      const { port, epoch } = JSON.parse(line) as { port: number; epoch: number };
      const logged = logOf(child);
      const url = `http://127.0.0.1:${port}`;
      const clients = new Clients([new TestClient(url, await testModule())]);
      await clients.register();
      await clients.answered(ANSWERS);
      child.kill("SIGSTOP");
      await sleep(leaseMs);
      child.kill("SIGCONT");
      await logged("leadership_run_out");
      await logged("leadership_regained");
      await clients.answered(ANSWERS);
      await clients.stop();
      expect(await (await fetch(`${url}/metrics`)).text()).toContain(`radical_epoch ${epoch}\n`);
    } finally {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  });
});

function takeovers(storageOf: () => StorageUnderTest): void {
  let storage: StorageUnderTest;
  let spawned: ReturnType<typeof spawnServer>[];

  beforeEach(() => {
    storage = storageOf();
    spawned = [];
  });
  afterEach(async () => {
    for (const child of spawned) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  });

  const args = (): string[] => [...storage.args, "--workers", "1", "--lease-ms", String(LEASE_MS)];

  test.each(drawn("storages of a takeover", ["killed", "stopped past its leadership", "told to stop"], 1))(
    "the leader is %s under load",
    async (how) => {
      // Told to stop, it lets nothing under way end.
      const leader = await startProcess([...args(), "--log-level", "info", "--drain-ms", "0"]);
      spawned.push(leader.child);
      let log = "";
      leader.child.stderr!.on("data", (bytes) => (log += bytes));
      const ended = once(leader.child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
      const standby = spawnServer([...args(), "--log-level", "info"]);
      spawned.push(standby);
      const logged = logOf(standby);
      const port = (await logged("http_listening"))["port"] as number;
      expect(await logged("waiting_for_leadership")).toMatchObject({ epoch: leader.epoch, termMs: LEASE_MS });

      const module = await testModule();
      const clients = new Clients([leader.url, `http://127.0.0.1:${port}`].map((url) => new TestClient(url, module)));
      await clients.register();
      await clients.answered(ANSWERS);

      if (how === "killed") process.kill(leader.child.pid!, "SIGKILL");
      else if (how === "told to stop") leader.child.kill("SIGTERM");
      else await storage.stop(leader);
      const { epoch, looks } = await logged("leadership_acquired");
      expect(epoch).toBeGreaterThan(leader.epoch);
      if (how !== "told to stop") expect(looks).toBeGreaterThan(0);
      expect(looks).toBeLessThanOrEqual(MOST_LOOKS);
      await clients.answered(ANSWERS);
      if (how === "stopped past its leadership") leader.child.kill("SIGCONT");
      // It was not told that it has been replaced: it finds out. So does one that the machine has stopped before it was killed.
      const [code, signal] = await ended;
      expect([how === "told to stop" ? 0 : 1, "SIGKILL"]).toContain(code ?? signal);
      if (how === "stopped past its leadership") expect(code).toBe(1);
      await clients.answered(ANSWERS);

      // Nothing of it is a fault: what was under way is asked of the next server.
      expect(log.split("\n").filter((line) => line.includes('"level":"error"'))).toEqual([]);
      if (how === "stopped past its leadership") expect(log).toContain('"event":"taken_over"');
      if (how === "told to stop") expect(log).toContain('"event":"stopped"');
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(metrics.match(/^radical_alarms_total\{.*\} [1-9].*$/gm)).toBeNull();
      const told = await clients.stop();
      expect(clients.longestPauseMs).toBeLessThanOrEqual(LONGEST_PAUSE_MS);
      for (const [counter, increments] of told)
        expect([counter, await storage.stored(counter)]).toEqual([counter, increments]);
    },
  );
}

/** Waits for lines of a server's log, by event; each of them once. */
function logOf(child: ReturnType<typeof spawnServer>): (event: string) => Promise<Readonly<Record<string, unknown>>> {
  const lines = createInterface(child.stderr!)[Symbol.asyncIterator]();
  return async (event) => {
    for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
      const entry = JSON.parse(line.value) as Readonly<Record<string, unknown>>;
      if (entry["event"] === event) return entry;
    }
    throw new Error(`the server ended without ${event}`);
  };
}

/** Each increments counters of its own, one request after the other, and asks all servers until one has answered. */
class Clients {
  readonly #servers: readonly TestClient[];
  readonly #told = new Map<string, number>();
  #running: Promise<unknown> = Promise.resolve();
  #isOver = false;
  #answers = 0;
  #onAnswer = (): void => {};
  #ticksSinceAnswer = 0;
  #longestTicks = 0;

  constructor(servers: readonly TestClient[]) {
    this.#servers = servers;
  }

  get longestPauseMs(): number {
    return this.#longestTicks * TICK_MS;
  }

  async register(): Promise<void> {
    await Promise.any(this.#servers.map((server) => server.register()));
    const clients = Array.from({ length: CLIENTS }, (_, client) => this.#client(client));
    const ticking = setInterval(() => {
      this.#longestTicks = Math.max(this.#longestTicks, ++this.#ticksSinceAnswer);
    }, TICK_MS);
    this.#running = Promise.all(clients).finally(() => clearInterval(ticking));
  }

  /** Resolves when so many more requests have been answered. */
  async answered(count: number): Promise<void> {
    const target = this.#answers + count;
    while (this.#answers < target) {
      const next = new Promise<void>((resolve) => (this.#onAnswer = resolve));
      await Promise.race([next, this.#running]);
    }
  }

  /** How often each counter was told to be incremented. */
  async stop(): Promise<ReadonlyMap<string, number>> {
    this.#isOver = true;
    await this.#running;
    return this.#told;
  }

  async #client(client: number): Promise<void> {
    for (let request = 0; !this.#isOver; request++) {
      const counter = `counter ${client} ${Math.floor(request / MOST_PER_COUNTER)}`;
      const reply = await this.#untilAnswered(
        this.#servers[0]!.requestOf("increment", counter, null, { retained: true }),
      );
      const told = (this.#told.get(counter) ?? 0) + 1;
      if (reply.kind !== "executed" || reply.outcome.kind !== "result" || reply.outcome.value[0] !== told)
        throw new Error(`increment ${told} of ${counter} gave ${JSON.stringify(reply)}`);
      this.#told.set(counter, told);
      this.#answers++;
      this.#ticksSinceAnswer = 0;
      this.#onAnswer();
    }
  }

  async #untilAnswered(request: LviRequest): Promise<LviReply> {
    for (;;) {
      const answers = this.#servers.map(async (server) => {
        const reply = await server.lvi(request);
        if (reply.kind === "refused") throw new Error(reply.code);
        return reply;
      });
      try {
        // A server that is stopped does not even refuse.
        const givenUp = sleep(ATTEMPT_MS).then(() => null);
        const reply = await Promise.race([Promise.any(answers), givenUp]);
        if (reply !== null) return reply;
      } catch {
        await sleep(TICK_MS);
      }
    }
  }
}
