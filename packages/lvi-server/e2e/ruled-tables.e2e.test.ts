/**
 * The holder of a location's key against a real server and tables with rules: counters are audited, people are private. The holder
 * says what it likes of its own executions.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  type AccessedUnit,
  encodeLviRequest,
  encodeModuleContent,
  type ExecutionId,
  type Followup,
  type FollowupResult,
  LVI_PATH,
  type LviRequest,
  NO_COMMIT,
  unitId,
  UPDATES_PATH,
  entryOf,
} from "@radical/protocol";
import { moduleHash } from "@radical/wasm-host";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestClient } from "./test-client.ts";
import { type TestModule, testModule } from "./test-module.ts";
import { alarmsOf, loggedAlarms, type ServerProcess, startProcess } from "./test-process.ts";

const SOON = { timeout: 100_000 };
const NOBODY: Followup["writes"] = [];

let folder: string;
let module: TestModule;
let server: ServerProcess;
let thief: TestClient;
/** The alarms in the log of the server that runs. */
let logged: ReturnType<typeof loggedAlarms> = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "radical-ruled-tables-"));
  const { content: plain } = await testModule();
  const tables = {
    counters: { isPrivate: false, isAudited: true },
    people: { isPrivate: true, isAudited: false },
  };
  const content = { ...plain, tables };
  module = { content, bytes: encodeModuleContent(content), hash: moduleHash(content) };
});
afterAll(async () => {
  await server.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

async function start(auditPercent: number): Promise<void> {
  const storage = `sqlite:${path.join(folder, "data.sqlite")}`;
  const audit = ["--audit-percent", String(auditPercent)];
  server = await startProcess(["--storage", storage, "--workers", "1", "--followup-timeout-ms", "600000", ...audit]);
  logged = loggedAlarms(server);
  thief = new TestClient(server.url, module);
}

async function heardOf(): Promise<void> {
  // It hears of the server, so that nothing is in doubt.
  await thief.lvi(thief.requestOf("incrementNearStorage", "known", null)).catch(() => undefined);
}

/** The followup of a location that says what it likes, about units that are absent. */
async function claimed(
  handler: string,
  argument: string,
  units: readonly AccessedUnit[],
  writes: Followup["writes"],
  result: Uint8Array,
): Promise<readonly [FollowupResult, ExecutionId]> {
  const request = thief.requestOf(handler, argument, units, { location: "stolen" });
  const reply = await thief.lvi(request);
  if (reply.kind !== "valid" || reply.commitId === null) throw new Error(`not valid: ${JSON.stringify(reply)}`);
  const { executionId } = request;
  const outcome = { kind: "result", value: result } as const;
  return [await thief.followup({ executionId, commitId: reply.commitId, outcome, writes, effects: [] }), executionId];
}

function counterUnits(key: string): readonly AccessedUnit[] {
  const { version } = entryOf(NO_COMMIT, null);
  return [{ unit: unitId("counters", key), mode: "read-write", version }];
}

async function audits(): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/radical_re_executions_total\{cause="audit"\} (\d+)/.exec(text)?.[1] ?? 0);
}

const ruled = (name: string): void => {
  test("a forged followup for an audited table is refused, and the primary applies its own run", async () => {
    const [before, key] = [await alarmsOf(server.url, "forged"), `forged-${name}`];
    const writes = [{ unit: unitId("counters", key), value: Uint8Array.of(99) }];
    const [result, execution] = await claimed("increment", key, counterUnits(key), writes, Uint8Array.of(99));
    expect(result).toBe("not_covered");
    expect(await thief.read(key)).toBe(1);
    const alarm = (): unknown => logged.find((entry) => entry["execution"] === execution);
    await expect.poll(alarm, SOON).toMatchObject({
      level: "error",
      event: "forged_alarm",
      handler: "increment",
      detail: `A followup of the location stolen was not applied: it has another outcome (result in place of result), other writes of counters/${key}. Two runs of the handler here agree on something else.`,
    });
    expect(await alarmsOf(server.url, "forged")).toBe(before + 1);
  });

  test("one that leaves a write out is refused as well", async () => {
    const key = `left-out-${name}`;
    const [result] = await claimed("increment", key, counterUnits(key), NOBODY, Uint8Array.of(1));
    expect(result).toBe("not_covered");
    expect(await thief.read(key)).toBe(1);
  });

  test("what the handler does is applied, and nobody is accused", async () => {
    const [before, key] = [await alarmsOf(server.url, "forged"), `honest-${name}`];
    const runs = await audits();
    const writes = [{ unit: unitId("counters", key), value: Uint8Array.of(1) }];
    const [result] = await claimed("increment", key, counterUnits(key), writes, Uint8Array.of(1));
    expect(result).toBe("applied");
    expect([
      await thief.read(key),
      await alarmsOf(server.url, "forged"),
      await alarmsOf(server.url, "determinism"),
    ]).toEqual([1, before, 0]);
    expect(await audits()).toBe(runs + 1);
  });

  test("a private item is in no answer and in no update, and is named by no set", async () => {
    const before = await alarmsOf(server.url, "outside_tables");
    const victim = unitId("people", "victim");
    const updates = await thief.send(
      "POST",
      UPDATES_PATH,
      Buffer.from(JSON.stringify({ location: "stolen", listener: "thief", session: null, heard: 0, ends: null })),
    );
    const heard: Buffer[] = [];
    const reader = updates.body!.getReader();
    const listening = (async () => {
      for (let read = await reader.read(); !read.done; read = await reader.read()) heard.push(Buffer.from(read.value));
    })();
    const asked = async (request: LviRequest): Promise<Buffer> => {
      const response = await thief.send("POST", LVI_PATH, encodeLviRequest(request));
      expect(response.status).toBe(200);
      return Buffer.from(await response.arrayBuffer());
    };
    const asStolen = (handler: string, argument: string, units: readonly AccessedUnit[] | null): LviRequest =>
      thief.requestOf(handler, argument, units, { location: "stolen" });
    for (const units of [[{ unit: victim, mode: "read", version: null }], [{ unit: victim, mode: "write" }]] as const) {
      const answer = await thief.lvi(asStolen("remember", "victim=Robin", units));
      expect(answer).toMatchObject({ kind: "refused", code: "outside_tables", retryAfterMs: null });
    }
    expect(await alarmsOf(server.url, "outside_tables")).toBe(before + 2);
    // The handlers have what they need.
    for (const person of ["Robin", "Marian"]) {
      const answer = await asked(asStolen("remember", `victim=${person}`, null));
      expect([answer.includes(person), answer.includes("victim")]).toEqual([false, false]);
    }
    // A line that comes later than any of these would.
    const counter = asStolen("increment", `seen-${name}`, counterUnits(`seen-${name}`));
    const reply = await thief.lvi(counter);
    if (reply.kind !== "valid" || reply.commitId === null) throw new Error("not valid");
    await thief.read(`seen-${name}`);
    const all = (): string => Buffer.concat(heard).toString();
    await expect.poll(all, SOON).toContain(`counters/seen-${name}`);
    for (const form of ["people/", "victim", "Robin", "Marian", Buffer.from("Marian").toString("base64").slice(0, 6)])
      expect(all()).not.toContain(form);
    await reader.cancel();
    await listening;
  });
};

describe("by the server at which the module was registered", () => {
  beforeAll(async () => {
    await start(0);
    await thief.register();
    await heardOf();
  });
  ruled("registered");

  test("as docs/security.md says, the word of a location is taken about tables that are not audited", async () => {
    const forged = unitId("links", "forged");
    const value = Buffer.from("elsewhere");
    const set = [{ unit: forged, mode: "write" }] as const;
    const [result] = await claimed("link", "forged>here", set, [{ unit: forged, value }], new Uint8Array());
    expect(result).toBe("applied");
  });
});

describe("by a server that has found the module in storage", () => {
  beforeAll(async () => {
    await server.kill("SIGKILL");
    await start(100);
    await heardOf();
  });
  ruled("found");

  test("with --audit-percent 100 no followup is taken by its word", async () => {
    const forged = unitId("links", "forged-too");
    const value = Buffer.from("elsewhere");
    const set = [{ unit: forged, mode: "write" }] as const;
    const [result] = await claimed("link", "forged-too>here", set, [{ unit: forged, value }], new Uint8Array());
    expect(result).toBe("not_covered");
  });
});
