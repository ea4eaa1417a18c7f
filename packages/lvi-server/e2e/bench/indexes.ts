/**
 * An index on live data in SQLite. Its build is timed when nobody else works, when callers of a build without the index write,
 * and when the server is killed meanwhile. Afterwards an entry exists exactly if its item has the field.
 */
import path from "node:path";
import { entriesOf, fillWithPeople, indexStatus, nameIndex } from "../index-people.ts";
import { TestClient } from "../test-client.ts";
import { testModule } from "../test-module.ts";
import { startProcess } from "../test-process.ts";
import { type Effort, type Figure, figure, median, type Progress, quantile } from "./figure.ts";
import { withFolder } from "./processes.ts";

const CALLERS = 8;
const KILLS = 10;
/** Items whose number is new to the table, in parts of those that it has. */
const NEW = 0.005;
/** Writes before the build, to compare with. */
const WRITES_BEFORE = 500;
const POLL_MS = 20;
const PROGRESS_MS = 10_000;

export async function benchIndexes({ items }: Effort, progress: Progress): Promise<readonly Figure[]> {
  const alone = await built(items, 0, 0, progress);
  const beside = await built(items, CALLERS, 0, progress);
  const killed = await built(items, CALLERS, KILLS, progress);
  const of = `index over ${items} items`;
  const callers = `${CALLERS} callers of a build without it`;
  return [
    figure(of, alone.seconds, "s"),
    figure(`the same beside ${callers}`, beside.seconds, "s"),
    figure("their writes before the build: p50", median(beside.before), "ms"),
    figure("their writes before the build: p99", quantile(beside.before, 0.99), "ms"),
    figure("their writes while it is built: p50", median(beside.during), "ms"),
    figure("their writes while it is built: p99", quantile(beside.during, 0.99), "ms"),
    figure(
      "last quarter of the build beside the second, by its items a second",
      beside.rates[3]! / beside.rates[1]!,
      "",
    ),
    figure(`the same with ${KILLS} kills of the server, starts included`, killed.seconds, "s"),
    figure("entries that lack or that no item has, of all three", alone.wrong + beside.wrong + killed.wrong, "", {
      atMost: 0,
    }),
  ];
}

interface Built {
  readonly seconds: number;
  /** Items a second in each quarter of the build. */
  readonly rates: readonly number[];
  /** Times of writes, in ms. */
  readonly before: readonly number[];
  readonly during: readonly number[];
  readonly wrong: number;
}

function built(items: number, callers: number, kills: number, progress: Progress): Promise<Built> {
  return withFolder(async (folder) => {
    const file = path.join(folder, "primary.sqlite");
    await fillWithPeople(file, items);
    const args = ["--storage", `sqlite:${file}`];
    const module = await testModule();
    let server = await startProcess(args);
    let client = new TestClient(server.url, module);
    await client.register();
    const writing = new Writing(items);
    const rounds = callers === 0 ? 0 : Math.ceil(WRITES_BEFORE / callers);
    for (let round = 0; round < rounds; round++)
      await Promise.all(Array.from({ length: callers }, () => writing.write(client)));
    const before = writing.times.splice(0);

    await nameIndex(client, module);
    let isCalled = writing.begin(client, callers);
    const startedAtMs = performance.now();
    const quarters: number[] = [];
    let killed = 0;
    let toldAtMs = startedAtMs;
    for (;;) {
      const status = await indexStatus(client);
      const { phase, items: done } = status;
      if (phase === "stopped") throw new Error(`the build has stopped: ${JSON.stringify(status)}`);
      while (done >= ((quarters.length + 1) * items) / 4 && quarters.length < 4) quarters.push(performance.now());
      if (phase === "ready") break;
      if (performance.now() - toldAtMs > PROGRESS_MS) {
        toldAtMs = performance.now();
        progress(`${done} of ${items} items, ${killed} kills`);
      }
      if (killed < kills && done >= ((killed + 1) * items) / (kills + 1)) {
        killed++;
        await server.kill("SIGKILL");
        await isCalled;
        server = await startProcess(args);
        client = new TestClient(server.url, module);
        isCalled = writing.begin(client, callers);
      } else await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    const endedAtMs = performance.now();
    writing.end();
    await isCalled;
    await server.kill("SIGTERM");
    const { wanted, found } = await entriesOf(file);
    const wrong =
      [...wanted].filter(([entry, key]) => found.get(entry) !== key).length +
      [...found].filter(([entry]) => !wanted.has(entry)).length;
    const begins = [startedAtMs, ...quarters];
    const rates = begins.slice(1).map((at, quarter) => (items * 250) / (at - begins[quarter]!));
    return { seconds: (endedAtMs - startedAtMs) / 1_000, rates, before, during: writing.times, wrong };
  });
}

/** Callers of the build without the index. Each call is of another item, so that all of the table is written. */
class Writing {
  readonly times: number[] = [];
  readonly #items: number;
  #calls = 0;
  #hasEnded = false;

  constructor(items: number) {
    this.#items = items;
  }

  async write(client: TestClient): Promise<void> {
    const call = this.#calls++;
    const key = `k${(call * 7_919) % Math.ceil(this.#items * (1 + NEW))}`;
    const startedAtMs = performance.now();
    const reply = await client.lvi(client.requestOf("remember", `${key}=w${call % 100}`, null));
    if (reply.kind !== "executed") throw new Error(`not executed: ${JSON.stringify(reply)}`);
    this.times.push(performance.now() - startedAtMs);
  }

  /** Resolves when all of them have ended, or have lost the server. */
  async begin(client: TestClient, callers: number): Promise<void> {
    await Promise.all(Array.from({ length: callers }, () => this.#call(client)));
  }

  end(): void {
    this.#hasEnded = true;
  }

  async #call(client: TestClient): Promise<void> {
    try {
      while (!this.#hasEnded) await this.write(client);
    } catch (error) {
      // The server was killed.
      if (!(error instanceof TypeError)) throw error;
    }
  }
}
