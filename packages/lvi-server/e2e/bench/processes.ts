/** The processes that a benchmark compares, each told to say how much processor time it has used. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { commitId, encodeFollowupReply, encodeLviReply } from "@radical/protocol";
import { TestClient } from "../test-client.ts";
import { testModule } from "../test-module.ts";
import { type ServerProcess, startProcess } from "../test-process.ts";

const BARE = fileURLToPath(new URL("bare-server.ts", import.meta.url));

/** Who gets the requests. */
export interface Target {
  readonly url: string;
  /** Processor time of the process, in seconds. */
  cpuSeconds(): Promise<number>;
}

export interface StartedServer extends Target {
  readonly process: ServerProcess;
  readonly client: TestClient;
}

/** A server on a SQLite file of its own, with the test module registered; ended afterwards. */
export async function withServer<T>(
  use: (server: StartedServer) => Promise<T>,
  ...more: readonly string[]
): Promise<T> {
  return withFolder(async (folder) => {
    const started = await startServerProcess([...more, "--storage", `sqlite:${path.join(folder, "primary.sqlite")}`]);
    try {
      return await use(started);
    } finally {
      await started.process.kill("SIGTERM");
    }
  });
}

export async function startServerProcess(args: readonly string[]): Promise<StartedServer> {
  const server = await startProcess(args);
  const client = new TestClient(server.url, await testModule());
  await client.register();
  // From here on the client has heard of this server.
  await client.read("nothing");
  return {
    url: server.url,
    process: server,
    client,
    cpuSeconds: async () => (await metricsOf(server.url)).get("process_cpu_seconds_total") ?? Number.NaN,
  };
}

/** Its replies are as long as those to valid requests that only read, or write. */
export async function withBareServer<T>(requests: "reads" | "writes", use: (bare: Target) => Promise<T>): Promise<T> {
  const atMs = Date.now();
  const lviReply = encodeLviReply({
    kind: "valid",
    commitId: requests === "reads" ? null : commitId(1, 1),
    times: { receivedAtMs: atMs, sentAtMs: atMs },
    asOf: commitId(1, 1),
  });
  const replies = [lviReply, encodeFollowupReply("applied")].map((bytes) => Buffer.from(bytes).toString("hex"));
  const child = spawn(process.execPath, ["--conditions=source", BARE, ...replies], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  try {
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    const url = `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`;
    return await use({ url, cpuSeconds: async () => Number(await (await fetch(url)).text()) });
  } finally {
    child.stdin.end();
    await ended;
  }
}

export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), "radical-bench-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Values by name and labels, as the text has them. */
export async function metricsOf(url: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  );
}
