/** Real processes: kill -9 at the worst moments, restarts, signals, wrong options, parents that die. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { CommitId, LviReply } from "@radical/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ABSENT, incrementFollowup, incrementUnits, TestClient } from "./test-client.ts";
import { testModule } from "./test-module.ts";
import { runToEnd, type ServerProcess, spawnServer, startProcess } from "./test-process.ts";

let folder: string;
let data: string;
let running: ServerProcess[];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "radical-server-"));
  data = path.join(folder, "data.sqlite");
  running = [];
});

afterEach(async () => {
  for (const server of running) {
    if (server.child.exitCode === null && server.child.signalCode === null) await server.kill("SIGKILL");
  }
  await rm(folder, { recursive: true, force: true });
});

async function start(...args: string[]): Promise<{ server: ServerProcess; client: TestClient }> {
  const server = await startProcess(["--storage", `sqlite:${data}`, "--workers", "1", ...args]);
  running.push(server);
  return { server, client: new TestClient(server.url, await testModule()) };
}

function commitOf(reply: LviReply): CommitId {
  if (reply.kind !== "valid" || reply.commitId === null) throw new Error(`not valid: ${JSON.stringify(reply)}`);
  return reply.commitId;
}

/** What storage holds, behind the server's back. */
function stored(key: string): number | null {
  const database = new DatabaseSync(data, { readOnly: true });
  const row = database.prepare("SELECT value FROM items WHERE \"table\" = 'counters' AND key = ?").get(key) as
    | { value: Uint8Array }
    | undefined;
  database.close();
  return row?.value[0] ?? null;
}

describe("kill -9", () => {
  test("between reply and followup: the new server takes the followup", async () => {
    const first = await start("--followup-timeout-ms", "60000");
    await first.client.register();
    const request = first.client.requestOf("increment", "a", incrementUnits("a", ABSENT));
    const commit = commitOf(await first.client.lvi(request));
    await first.server.kill("SIGKILL");
    expect(stored("a")).toBe(null);

    const second = await start("--followup-timeout-ms", "60000");
    expect(second.server.epoch).toBe(first.server.epoch + 1);
    expect(await second.client.followup(incrementFollowup(request.executionId, commit, "a", ABSENT))).toBe("applied");
    expect(await second.client.followup(incrementFollowup(request.executionId, commit, "a", ABSENT))).toBe(
      "completed_before",
    );
    expect(await second.client.lvi(request)).toMatchObject({
      kind: "executed",
      cause: "stored",
      outcome: { value: Uint8Array.of(1) },
    });
    expect(stored("a")).toBe(1);
  });

  test("between reply and followup, and the location dies too: re-executed by the timer", async () => {
    const first = await start("--followup-timeout-ms", "60000");
    await first.client.register();
    const request = first.client.requestOf("increment", "a", incrementUnits("a", ABSENT));
    commitOf(await first.client.lvi(request));
    await first.server.kill("SIGKILL");

    const second = await start("--followup-timeout-ms", "1");
    // A reader waits for the adopted intent, so this needs no timing.
    expect(await second.client.read("a")).toBe(1);
    expect(stored("a")).toBe(1);
  });

  test("before the reply reached the location: the same request gets the outcome, once", async () => {
    const first = await start("--followup-timeout-ms", "60000");
    await first.client.register();
    const request = first.client.requestOf("increment", "a", incrementUnits("a", ABSENT), { retained: true });
    commitOf(await first.client.lvi(request));
    await first.server.kill("SIGKILL");

    const second = await start("--followup-timeout-ms", "60000");
    expect(await second.client.lvi(request)).toMatchObject({
      kind: "executed",
      cause: "stored",
      outcome: { value: Uint8Array.of(1) },
    });
    await second.server.kill("SIGKILL");
    const third = await start();
    expect(await third.client.lvi(request)).toMatchObject({ kind: "executed", cause: "stored" });
    expect(stored("a")).toBe(1);
  });

  test("at any time during a stream of writes: nothing that was answered is lost, nothing is doubled", async () => {
    let { server, client } = await start();
    await client.register();
    let answered = 0;
    let asked = 0;
    for (let round = 0; round < 3; round++) {
      const writing = Promise.all(
        Array.from({ length: 20 }, async () => {
          asked++;
          try {
            const reply = await client.lvi(client.requestOf("increment", "a", null));
            if (reply.kind === "executed") answered++;
          } catch {
            // Killed: whether it happened is not known.
          }
          if (answered === 5 * (round + 1)) void server.kill("SIGKILL");
        }),
      );
      await writing;
      if (server.child.exitCode === null && server.child.signalCode === null) await server.kill("SIGKILL");
      ({ server, client } = await start());
    }
    const value = await client.read("a");
    expect(value).toBeGreaterThanOrEqual(answered);
    expect(value).toBeLessThanOrEqual(asked);
    expect(stored("a")).toBe(value);
  });
});

describe("the process", () => {
  test.each(["SIGTERM", "SIGINT"] as const)("%s drains and ends with 0", async (signal) => {
    const { server, client } = await start();
    await client.register();
    expect(await client.lvi(client.requestOf("increment", "a", null))).toMatchObject({ kind: "executed" });
    expect(await server.kill(signal)).toBe(0);
    expect(stored("a")).toBe(1);
  });

  test("ends with its parent's end of the pipe", async () => {
    const { server } = await start("--exit-with-parent");
    const ended = once(server.child, "exit");
    server.child.stdin!.end();
    expect((await ended)[0]).toBe(0);
  });

  test("a second server on the same file is refused with exit code 2", async () => {
    await start();
    const { code, errors } = await runToEnd(spawnServer(["--storage", `sqlite:${data}`]));
    expect(code).toBe(2);
    expect(errors).toContain("in use by another server");
  });

  test("a port that is taken: exit code 2", async () => {
    const { server } = await start();
    const { port } = new URL(server.url);
    const { code, errors } = await runToEnd(
      spawnServer(["--storage", `sqlite:${path.join(folder, "other.sqlite")}`, "--port", port]),
    );
    expect(code).toBe(2);
    expect(errors).toContain(port);
  });

  test("wrong options: exit code 2 and the wrong value; help and version: 0", async () => {
    const wrong = await runToEnd(spawnServer(["--followup-timeout-ms", "soon"]));
    expect([wrong.code, wrong.errors]).toEqual([2, expect.stringContaining('"soon"')]);
    const unknown = await runToEnd(spawnServer(["--nothing"]));
    expect([unknown.code, unknown.errors]).toEqual([2, expect.stringContaining("--nothing")]);
    const keyless = await runToEnd(spawnServer([], { RADICAL_KEYS: "" }));
    expect([keyless.code, keyless.errors]).toEqual([2, expect.stringContaining("RADICAL_KEYS")]);
    const help = await runToEnd(spawnServer(["--help"]));
    expect([help.code, help.out]).toEqual([0, expect.stringContaining("Examples:")]);
    const version = await runToEnd(spawnServer(["--version"]));
    expect([version.code, version.out]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });
});
