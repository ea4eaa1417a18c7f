/** The alarms of a deployment on its servers: each trouble is made with real processes, and the template's alarms read what those log. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { hasDynamoDbLocal, startDynamoDbLocal } from "@radical/lvi-server/e2e/dynamodb-local";
import { FaultyProxy, refusal } from "@radical/lvi-server/e2e/faulty-proxy";
import { ABSENT, incrementUnits, TestClient } from "@radical/lvi-server/e2e/test-client";
import { testModule } from "@radical/lvi-server/e2e/test-module";
import { spawnServer } from "@radical/lvi-server/e2e/test-process";
import { METRICS_EVENT, PROBE_PATH } from "@radical/protocol";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { goingOff, missing, NAMESPACE, valueOf } from "./alarm-values.ts";
import { fieldsOf } from "./metric-filter.ts";

type Line = Readonly<Record<string, unknown>>;

let folder: string;
let count = 0;
const running = new Set<ChildProcess>();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "radical-alarms-"));
});
afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
  running.clear();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A server whose standard error is read line by line. */
class WatchedServer {
  readonly child: ChildProcess;
  readonly lines: string[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #ended: Promise<number | null>;

  constructor(child: ChildProcess) {
    this.child = child;
    running.add(child);
    const lines = createInterface(child.stderr!);
    lines.on("line", (line) => {
      this.lines.push(line);
      for (const look of this.#waiting) look();
    });
    this.#ended = Promise.all([once(child, "exit"), once(lines, "close")]).then(([[code]]) => code as number | null);
  }

  /** The first such line of its log. */
  async logged(event: string, isWanted: (line: Line) => boolean = () => true): Promise<Line> {
    let look = (): void => {};
    const found = new Promise<Line>((resolve) => {
      look = () => {
        const all = this.lines.map((line) => fieldsOf(line) ?? {});
        const one = all.find((line) => line["event"] === event && isWanted(line));
        if (one !== undefined) resolve(one);
      };
      this.#waiting.add(look);
      look();
    });
    const ended = this.#ended.then((): Line => {
      look();
      throw new Error(`the server ended without ${event}:\n${this.lines.slice(-20).join("\n")}`);
    });
    try {
      return await Promise.race([found, ended]);
    } finally {
      this.#waiting.delete(look);
    }
  }

  /** Where it serves. */
  async url(): Promise<string> {
    const { port } = await this.logged("http_listening");
    return `http://127.0.0.1:${String(port)}`;
  }

  async kill(signal: NodeJS.Signals): Promise<number | null> {
    this.child.kill(signal);
    return this.ended();
  }

  ended(): Promise<number | null> {
    return this.#ended;
  }
}

interface Starting {
  readonly storage?: string;
  readonly args?: readonly string[];
  readonly environment?: NodeJS.ProcessEnv;
}

/** As on a machine of a deployment, but that it looks at itself more often. */
function start({ storage = newStorage(), args = [], environment = {} }: Starting = {}): WatchedServer {
  const watching = ["--metrics-namespace", NAMESPACE, "--metrics-interval-ms", "200"];
  return new WatchedServer(spawnServer(["--storage", storage, "--workers", "1", ...watching, ...args], environment));
}

function newStorage(): string {
  return `sqlite:${join(folder, `${++count}.sqlite`)}`;
}

/** Lets a process run this code besides. */
function planted(code: string): NodeJS.ProcessEnv {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

/** The alarms but that of the event loop: on a machine with much to do it goes off rightly. */
function troubles(lines: readonly string[]): readonly string[] {
  return goingOff(lines).filter((id) => id !== "EventLoop");
}

test("servers that are well set off nothing: one leads and one stands by", async () => {
  const storage = newStorage();
  const leader = start({ storage });
  await leader.logged(METRICS_EVENT, ({ state }) => state === "serving");
  const standby = start({ storage });
  await standby.logged(METRICS_EVENT, ({ state }) => state === "standby");
  const client = new TestClient(await leader.url(), await testModule());
  await client.register();
  const request = client.requestOf("increment", "a", null);
  expect(await client.lvi(request)).toMatchObject({ kind: "executed" });
  // The minute in which it was answered.
  const told = await leader.logged(METRICS_EVENT, ({ Requests }) => Number(Requests) > 0);
  expect(told).toMatchObject({ state: "serving", Pending: 0, OldestPendingSeconds: 0, TasksReady: 0, LeasedUnits: 0 });
  for (const name of ["LatencyP50Ms", "LatencyP99Ms", "StorageP99Ms", "MemoryPercent"])
    expect(told[name]).toBeGreaterThan(0);
  expect(told).not.toHaveProperty("StorageFailures");
  expect(troubles([...leader.lines, ...standby.lines])).toEqual([]);
  await Promise.all([standby.kill("SIGTERM"), leader.kill("SIGTERM")]);
});

test("memory near its bound", async () => {
  const fill = "globalThis.kept = Buffer.alloc(700 * 2 ** 20, 1)";
  const server = start({ environment: planted(fill), args: ["--memory-mb", "700"] });
  const { memoryBytes, boundBytes } = await server.logged("memory_near_bound");
  expect([Number(memoryBytes) > Number(boundBytes), boundBytes]).toEqual([true, 700 * 1_048_576]);
  await server.logged(METRICS_EVENT, ({ MemoryPercent }) => Number(MemoryPercent) > 100);
  expect(troubles(server.lines)).toEqual(["Memory"]);
});

test("a promised write that is not applied, also by the server that takes over", async () => {
  const storage = newStorage();
  const waiting = ["--followup-timeout-ms", "3600000"];
  const first = start({ storage, args: waiting });
  const client = new TestClient(await first.url(), await testModule());
  await first.logged(METRICS_EVENT, ({ state }) => state === "serving");
  await client.register();
  await client.read("a");
  const reply = await client.lvi(client.requestOf("increment", "a", incrementUnits("a", ABSENT)));
  expect(reply).toMatchObject({ kind: "valid" });
  await first.logged(METRICS_EVENT, ({ Pending }) => Pending === 1);
  expect(troubles(first.lines)).toEqual([]);
  await first.kill("SIGKILL");
  // A minute and a half later.
  const second = start({ storage, args: [...waiting, "--virtual-time-ms", "90000"] });
  const { pending, oldestSeconds } = await second.logged("intents_wait");
  expect([pending, Number(oldestSeconds) >= 90]).toEqual([1, true]);
  await second.logged(METRICS_EVENT, ({ OldestPendingSeconds }) => Number(OldestPendingSeconds) >= 90);
  expect(troubles(second.lines)).toEqual(["OldestPending"]);
});

test("a server that is busy beyond its processor", async () => {
  const busy = "setInterval(() => { const until = Date.now() + 700; while (Date.now() < until); }, 20)";
  const server = start({ environment: planted(busy), args: ["--metrics-interval-ms", "2000"] });
  const { delayMs } = await server.logged("event_loop_late");
  expect(Number(delayMs)).toBeGreaterThan(500);
  await server.logged(METRICS_EVENT, ({ LoopDelayMs }) => Number(LoopDelayMs) > 500);
  expect(goingOff(server.lines)).toContain("EventLoop");
});

test.each([
  ["uncaught_exception", "throw new Error('planted')"],
  ["unhandled_rejection", "void Promise.reject(new Error('planted'))"],
])("an error that nobody catches: %s", async (event, code) => {
  const server = start({ environment: planted(`process.on("SIGUSR2", () => { ${code} })`) });
  await server.logged("recovered");
  server.child.kill("SIGUSR2");
  expect(await server.logged(event)).toMatchObject({ level: "error", exitCode: 1 });
  expect(await server.ended()).toBe(1);
  expect(troubles(server.lines)).toEqual(["Errors"]);
});

test("a server that does not start, again and again", async () => {
  const lines: string[] = [];
  for (let times = 0; times < 5; times++) {
    const server = start({ storage: `sqlite:${join(folder, "none", "app.sqlite")}` });
    // oxlint-disable-next-line no-await-in-loop -- systemd starts it again when it has ended
    const code = await server.ended();
    expect(code).toBeGreaterThan(0);
    lines.push(...server.lines);
    expect(fieldsOf(lines.at(-1) ?? "")).toMatchObject({ level: "error", event: "not_started", exitCode: code });
    expect(troubles(lines)).toEqual(times < 4 ? ["Errors"] : ["Errors", "Restarts"]);
  }
});

test("memory that is used up: Node's last words are no log, which has an alarm", async () => {
  const fill = 'process.on("SIGUSR2", () => { const kept = []; for (;;) kept.push(new Array(1e4).fill({})); })';
  const { NODE_OPTIONS = "" } = planted(fill);
  const server = start({ environment: { NODE_OPTIONS: `${NODE_OPTIONS} --max-old-space-size=64` } });
  await server.logged("recovered");
  server.child.kill("SIGUSR2");
  await server.ended();
  const plain = server.lines.filter((line) => fieldsOf(line) === null && line !== "");
  expect(plain.join("\n")).toMatch(/heap out of memory/);
  expect(valueOf("PlainLines", server.lines)).toBeGreaterThan(0);
  expect(troubles(server.lines.filter((line) => fieldsOf(line) !== null))).not.toContain("PlainLines");
});

test("probes: a server says that it was asked, and the alarm misses those of one that is not", async () => {
  const [first, second] = [start(), start()];
  const [url] = await Promise.all([first.url(), second.url()]);
  const answer = await fetch(`${url}${PROBE_PATH}`);
  expect(answer.status).toBe(200);
  await first.logged("probed");
  // A second one at once is not written.
  await fetch(`${url}${PROBE_PATH}`);
  await first.kill("SIGTERM");
  expect(valueOf("Probes", first.lines)).toBe(1);
  // In a minute both are asked.
  expect(missing([...first.lines, ...second.lines], 1)).toContain("Probes");
  const probed = first.lines.filter((line) => fieldsOf(line)?.["event"] === "probed");
  expect(missing([...probed, ...probed], 1)).not.toContain("Probes");
});

describe.skipIf(!hasDynamoDbLocal())("on DynamoDB", () => {
  test("requests that are throttled", async () => {
    const dynamo = await startDynamoDbLocal();
    const proxy = await FaultyProxy.start(dynamo.port);
    try {
      const credentials = { AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local", AWS_REGION: "local" };
      const storage = `dynamodb:alarms?endpoint=${proxy.endpoint}`;
      const server = start({ storage, environment: credentials });
      const client = new TestClient(await server.url(), await testModule());
      await server.logged(METRICS_EVENT, ({ state }) => state === "serving");
      await client.register();
      await client.read("a");
      expect(troubles(server.lines)).toEqual([]);
      proxy.plan("PutItem", refusal("ProvisionedThroughputExceededException"), refusal("ThrottlingException"));
      // It is repeated until DynamoDB takes it: nobody else notices.
      const reply = await client.lvi(client.requestOf("increment", "a", incrementUnits("a", ABSENT)));
      expect(reply).toMatchObject({ kind: "valid" });
      expect(Number((await server.logged("storage_throttled"))["times"])).toBeGreaterThan(0);
      await server.logged(METRICS_EVENT, ({ Throttles }) => Number(Throttles) > 0);
      expect(troubles(server.lines)).toEqual(["Throttles"]);
      await server.kill("SIGKILL");
    } finally {
      await proxy.stop();
      await dynamo.stop();
    }
  });
});
