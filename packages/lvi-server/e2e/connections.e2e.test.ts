/**
 * Thousands of connections that send nothing, half a head, or half a body. The others are served meanwhile, the memory stays within its
 * budget, and each connection is ended by the server.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import process from "node:process";
import { KEY_HEADER, LVI_PATH, SIGNATURE_HEADER, TIME_HEADER } from "@radical/protocol";
import { afterEach, expect, test } from "vitest";
import { KEY_ID, TestClient } from "./test-client.ts";
import { testModule } from "./test-module.ts";
import { type ServerProcess, startProcess } from "./test-process.ts";

const CONNECTIONS = 9_000;
/** Files that a process has open besides. */
const OTHER_FILES = 500;
/** Connections that are made at a time: a server takes so many in while it works. */
const TOGETHER = 200;
const MEMORY_MB = 700;
/** Increments of others, while all connections are open. A counter of the test module goes up to 23. */
const CALLS = 20;

const HALF_BODY = [
  `POST ${LVI_PATH} HTTP/1.1`,
  "host: x",
  `${KEY_HEADER}: ${KEY_ID}`,
  `${TIME_HEADER}: ${Date.now()}`,
  `${SIGNATURE_HEADER}: 00`,
  "content-length: 2000",
  "",
  "x".repeat(1_000),
].join("\r\n");

/** The bytes that a connection sends before it falls silent, and how the server ends it. */
const KINDS: readonly { readonly bytes: string; readonly answer: RegExp }[] = [
  { bytes: "", answer: /^(?:HTTP\/1\.1 408 |$)/ },
  { bytes: `POST ${LVI_PATH} HTTP/1.1\r\nhost: x\r\nx-half:`, answer: /^HTTP\/1\.1 408 / },
  { bytes: HALF_BODY, answer: /^HTTP\/1\.1 408 / },
];

let server: ServerProcess | null = null;
const sockets = new Set<Socket>();
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  if (server?.child.exitCode === null && server.child.signalCode === null) await server.kill("SIGKILL");
});

/** Fewer where a process may not have so many files open. */
function connectionsHere(): number {
  const limit = Number(execFileSync("sh", ["-c", "ulimit -Hn"], { encoding: "utf8" }));
  const most = Number.isNaN(limit) ? CONNECTIONS : Math.min(CONNECTIONS, limit - OTHER_FILES);
  if (most < CONNECTIONS)
    process.stderr.write(`${most} connections, not ${CONNECTIONS}: \`ulimit -Hn\` is ${limit} here\n`);
  return most;
}

/** A connection that has sent these bytes; its end has all that came back. */
async function open(url: string, bytes: string): Promise<{ readonly end: Promise<string> }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  sockets.add(socket);
  let text = "";
  socket.on("data", (data) => (text += data.toString()));
  const end = new Promise<string>((resolve) => {
    socket
      .on("error", () => undefined)
      .on("close", () => {
        sockets.delete(socket);
        resolve(text);
      });
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject).once("connect", () => socket.write(bytes, () => resolve()));
  });
  return { end };
}

test("thousands of connections that fall silent", { timeout: 600_000 }, async () => {
  server = await startProcess(["--storage", "sqlite::memory:", "--workers", "1", "--memory-mb", String(MEMORY_MB)]);
  const { url, child } = server;
  const client = new TestClient(url, await testModule());
  await client.register();
  const count = connectionsHere();
  const ends: { readonly answer: RegExp; readonly end: Promise<string> }[] = [];
  for (let made = 0; made < count; made += TOGETHER) {
    const batch = Array.from({ length: Math.min(TOGETHER, count - made) }, async (_, index) => {
      const { bytes, answer } = KINDS[(made + index) % KINDS.length]!;
      return { answer, end: (await open(url, bytes)).end };
    });
    // oxlint-disable-next-line no-await-in-loop -- one batch after the other
    ends.push(...(await Promise.all(batch)));
  }
  // None has been refused, or ended yet.
  expect(sockets.size).toBe(count);

  for (let call = 1; call <= CALLS; call++) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const reply = await client.lvi(client.requestOf("increment", "a", null));
    expect(reply).toMatchObject({ kind: "executed", outcome: { kind: "result", value: Uint8Array.of(call) } });
  }
  const health = await fetch(`${url}/healthz`);
  expect([health.status, await health.json()]).toMatchObject([200, { executions: 0, pending: 0 }]);

  const answers = await Promise.all(ends.map(({ end }) => end));
  expect(answers.filter((answer, index) => !ends[index]!.answer.test(answer))).toEqual([]);
  expect(await client.read("a")).toBe(CALLS);
  // Linux tells it.
  if (process.platform === "linux") expect(peakMb(child.pid!)).toBeLessThan(MEMORY_MB);
});

/** The most memory that a process has had. */
function peakMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Math.ceil(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024);
}
