/**
 * The drill: a storage is set back to an earlier state under a deployment whose locations live on, with what they have cached. Real
 * servers, a real workerd, and the command. DynamoDB Local keeps no past of its tables, so the test keeps the state of a time.
 */
import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { type DynamoBackups, KeyRing, openBackups, openStorage, parseKeys } from "@radical/lvi-server";
import {
  CREDENTIALS,
  type DynamoDbLocal,
  hasDynamoDbLocal,
  startDynamoDbLocal,
} from "@radical/lvi-server/e2e/dynamodb-local";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Application, buildApplication, Deployment, LOCATIONS } from "./crash/deployment.ts";
import { dynamoDb, newTables, SQLITE } from "./crash/storages.ts";
import { type Finished, radical } from "./radical-process.ts";
import { COPIED, Past } from "./tables-past.ts";

const TIMEOUT_MS = 300_000;
/** Less than the test has: what it has started is stopped. */
const SOON = { timeout: 100_000, interval: 20 };
const [HERE, THERE] = LOCATIONS;
/** Any application: a command about items wants one. */
const PROJECT = fileURLToPath(new URL("../../../templates/minimal", import.meta.url));
/** The application has a schedule, which writes too. */
const COUNT = expect.any(Number) as number;

let application: Application;

beforeAll(async () => {
  application = await buildApplication();
}, TIMEOUT_MS);
afterAll(() => application?.remove());

/** A call that is repeated under its key until it has an answer, as a client does it. */
async function called(deployment: Deployment, handler: string, args: unknown, location: string): Promise<unknown> {
  const key = randomUUID();
  return vi.waitFor(async () => {
    const reply = await deployment.call(handler, args, location, key);
    if (reply === null || reply.status >= 500) throw new Error(`${handler} is not answered: ${JSON.stringify(reply)}`);
    return reply.result;
  }, SOON);
}

const incremented = (deployment: Deployment, name: string, location: string): Promise<unknown> =>
  called(deployment, "increment", { name }, location);
const counted = (deployment: Deployment, name: string, location: string): Promise<unknown> =>
  called(deployment, "count", { name }, location);

/** Until nothing is promised that is not applied. */
async function settled(deployment: Deployment): Promise<void> {
  await expect.poll(() => deployment.load(), SOON).toMatchObject({ pending: 0 });
}

async function before(deployment: Deployment): Promise<void> {
  for (let n = 1; n <= 3; n++) expect(await incremented(deployment, "kept", HERE)).toBe(n);
  expect(await counted(deployment, "kept", THERE)).toBe(3);
  await settled(deployment);
}

/** Both locations have cached values that are to be lost, and may hold leases of them. */
async function lost(deployment: Deployment): Promise<void> {
  expect(await incremented(deployment, "kept", HERE)).toBe(4);
  expect(await incremented(deployment, "kept", THERE)).toBe(5);
  expect(await incremented(deployment, "lost", HERE)).toBe(1);
  for (let n = 0; n < 10; n++)
    for (const location of LOCATIONS) expect(await counted(deployment, "kept", location)).toBe(5);
}

/** Right after it: nobody sees a value of the lost time. */
async function after(deployment: Deployment): Promise<void> {
  const [atHere, atThere] = await Promise.all(LOCATIONS.map((location) => counted(deployment, "kept", location)));
  expect([atHere, atThere]).toEqual([3, 3]);
  expect(await counted(deployment, "lost", THERE)).toBe(0);
  expect(await incremented(deployment, "kept", THERE)).toBe(4);
  expect(await incremented(deployment, "kept", HERE)).toBe(5);
  expect(await incremented(deployment, "lost", HERE)).toBe(1);
  for (const location of LOCATIONS) expect(await counted(deployment, "kept", location)).toBe(5);
  expect(deployment.alarms).toEqual([]);
}

/**
 * Until its term is over the server that is replaced may answer, and so may read leases. Once somebody has seen the restored state, nobody
 * sees the one before.
 */
async function untilSeen(deployment: Deployment, name: string, value: number): Promise<void> {
  await expect.poll(() => counted(deployment, name, HERE), SOON).toBe(value);
}

function succeeded({ code, stdout, stderr }: Finished): unknown {
  expect([code, code === 0 ? "" : stdout + stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as unknown;
}

test(
  "a database is copied beside its server, and set back to the copy",
  async () => {
    const deployment = await Deployment.start(application, SQLITE);
    const storage = ["--storage", `sqlite:${deployment.file}`, "--json"];
    try {
      await before(deployment);
      expect(succeeded(await radical(["backup", "create", ...storage]))).toMatchObject({
        items: COUNT,
        pendingIntents: 0,
      });
      const [copy, ...others] = succeeded(await radical(["backup", "list", ...storage])) as { readonly time: string }[];
      expect(others).toEqual([]);
      await lost(deployment);

      const restore = ["restore", "--to", new Date().toISOString(), "--yes", ...storage];
      const refused = await radical(restore);
      expect(refused.code).toBe(1);
      expect(refused.stdout).toContain("an LVI server uses the file");
      expect(await counted(deployment, "kept", HERE)).toBe(5);

      await deployment.stopServer();
      const early = await radical(["restore", "--to", "2020-01-01T00:00:00Z", "--yes", ...storage]);
      expect(early.stdout).toContain(`The oldest copy is of ${copy?.time}`);
      const { kept } = succeeded(await radical(restore)) as { readonly kept: string };
      await deployment.startServer();
      await after(deployment);

      // The state of before is there whole, and is a copy like any other.
      await deployment.stopServer();
      succeeded(await radical(["restore", "--from", kept, "--yes", ...storage]));
      await deployment.startServer();
      expect(await counted(deployment, "kept", HERE)).toBe(5);
      expect(await counted(deployment, "lost", THERE)).toBe(1);
      expect(deployment.alarms).toEqual([]);
    } finally {
      await deployment.stop();
    }
  },
  TIMEOUT_MS,
);

test(
  "a broken copy changes nothing, and a restore after a kill takes an epoch that no server had",
  async () => {
    const deployment = await Deployment.start(application, SQLITE);
    const storage = ["--storage", `sqlite:${deployment.file}`, "--json"];
    try {
      await before(deployment);
      const copy = `${deployment.file}.copy`;
      succeeded(await radical(["backup", "create", "--out", copy, ...storage]));
      await lost(deployment);
      await deployment.killServer();
      const epochOf = (file: string): number => {
        const database = new DatabaseSync(file, { readOnly: true });
        const { number } = database.prepare("SELECT number FROM meta WHERE name = 'epoch'").get() as { number: number };
        database.close();
        return number;
      };
      const [atCopy, atEnd] = [epochOf(copy), epochOf(deployment.file)];
      const broken = await radical(["restore", "--from", `${deployment.file}-wal`, "--yes", ...storage]);
      expect(broken.stdout).toContain("is not a whole copy");
      expect(epochOf(deployment.file)).toBe(atEnd);
      const restored = succeeded(await radical(["restore", "--from", copy, "--yes", ...storage]));
      expect(restored).toMatchObject({ epoch: expect.any(Number) as number });
      const { epoch } = restored as { readonly epoch: number };
      expect(epoch).toBeGreaterThan(Math.max(atCopy, atEnd));
      await deployment.startServer();
      await after(deployment);
      expect(readdirSync(dirname(deployment.file)).filter((name) => name.includes("restored"))).toEqual([]);

      // The drill: beside the server, in a folder of its own.
      const drill = join(dirname(deployment.file), "drill", "radical.sqlite");
      succeeded(await radical(["restore", "--from", copy, "--yes", "--storage", `sqlite:${drill}`, "--json"]));
      const list = ["data", "list", "--storage", `sqlite:${drill}`, "--json"];
      const listed = await radical(list, { cwd: PROJECT });
      expect(listed).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('"table":"counters"') as string,
        stderr: expect.stringContaining("no LVI server has led since this storage was restored") as string,
      });
      // A command that writes leads itself, once the promises of the lost time are over.
      await deployment.stopServer();
      succeeded(await radical(["restore", "--from", copy, "--yes", ...storage]));
      const data = (...args: string[]): Promise<Finished> => radical(["data", ...args, ...storage], { cwd: PROJECT });
      expect(await data("put", "notes", "drill", "1", "--untyped")).toMatchObject({ code: 0 });
      expect(await data("get", "notes", "drill")).toMatchObject({ code: 0, stderr: "" });
      await rm(copy);
    } finally {
      await deployment.stop();
    }
  },
  TIMEOUT_MS,
);

const AT_MS = Date.UTC(2026, 10, 27, 14);

describe.skipIf(!hasDynamoDbLocal())("on DynamoDB", () => {
  let local: DynamoDbLocal;
  let past: Past;
  beforeAll(async () => {
    Object.assign(process.env, CREDENTIALS);
    local = await startDynamoDbLocal();
    past = new Past(local.endpoint);
  });
  afterAll(async () => {
    past?.close();
    await local?.stop();
  });

  const addressOf = (prefix: string): string => `dynamodb:${prefix}?endpoint=${local.endpoint}`;

  const backupsOf = (prefix: string): Promise<DynamoBackups> =>
    openBackups(
      { kind: "dynamodb", prefix, endpoint: local.endpoint },
      { restoreTable: (from, to) => past.restore(from, to), pollMs: 10 },
    );

  /** A server can't serve the tables: their restore was not finished. */
  const areClosed = (prefix: string): Promise<void> => {
    const { callHashes: hasher } = new KeyRing(parseKeys(`any:${"0".repeat(32)}`));
    const opened = openStorage({ kind: "dynamodb", prefix, endpoint: local.endpoint }, { retentionMs: 1, hasher });
    return expect(opened).rejects.toThrow("is restored, and was not taken over");
  };

  /** With a deployment on tables of its own, and with backups of them. */
  async function withTables(
    leaseMs: number,
    body: (deployment: Deployment, tables: { prefix: string }, backups: DynamoBackups) => Promise<void>,
  ): Promise<void> {
    const tables = newTables();
    const { prefix } = tables;
    const deployment = await Deployment.start(application, { ...dynamoDb(local.endpoint, tables), leaseMs });
    try {
      const backups = await backupsOf(prefix);
      await body(deployment, tables, backups).finally(() => backups.close());
    } finally {
      await deployment.stop();
    }
  }

  test(
    "tables are restored beside, checked, and taken over from a server that serves",
    () =>
      withTables(3_000, async (deployment, tables, backups) => {
        const { prefix: first } = tables;
        const command = (args: readonly string[], of = first): Promise<Finished> =>
          radical([...args, "--storage", addressOf(of), "--json"], { env: CREDENTIALS });
        await before(deployment);
        await past.keep(COPIED.map((name) => `${first}-${name}`));
        await lost(deployment);

        const restored = await backups.restoreTo(AT_MS, () => undefined);
        expect(restored).toBe(`${first}-at-20261127T140000Z`);
        // Again, as after a command that was broken off.
        expect(await backups.restoreTo(AT_MS, () => undefined)).toBe(restored);
        const content = await backups.check(restored, () => undefined);
        expect(content).toMatchObject({ items: COUNT, pendingIntents: 0 });
        // Nobody serves them before they are taken over.
        await areClosed(restored);

        // The server that leads ends by itself, and is started again with the tables that are named then.
        tables.prefix = restored;
        succeeded(await command(["restore", "--from", restored, "--yes"]));
        await untilSeen(deployment, "kept", 3);
        await after(deployment);

        // The same once more changes nothing: the tables that were taken over serve.
        succeeded(await command(["restore", "--from", restored, "--yes"]));
        expect(await backups.restoreTo(AT_MS, () => undefined)).toBe(restored);
        expect(await counted(deployment, "kept", HERE)).toBe(5);

        // A restore of restored tables: nobody serves those before they are taken over either.
        await past.keep(COPIED.map((name) => `${restored}-${name}`));
        const again = await backupsOf(restored);
        const second = await again.restoreTo(AT_MS + 3_600_000, () => undefined).finally(() => again.close());
        expect(second).toBe(`${first}-at-20261127T150000Z`);
        await areClosed(second);

        // And back.
        expect(await incremented(deployment, "only", THERE)).toBe(1);
        tables.prefix = first;
        succeeded(await command(["restore", "--from", first, "--yes"], restored));
        await untilSeen(deployment, "only", 0);
        expect(await counted(deployment, "only", THERE)).toBe(0);
        expect(await counted(deployment, "lost", THERE)).toBe(1);
        expect(await incremented(deployment, "kept", THERE)).toBe(6);

        // The tables of that time have the writes that were made in them since.
        await expect(backups.restoreTo(AT_MS, () => undefined)).rejects.toThrow(
          `The tables ${restored}-* have been served since they were restored`,
        );
        expect(await counted(deployment, "kept", HERE)).toBe(6);
        expect(deployment.alarms).toEqual([]);
      }),
    TIMEOUT_MS,
  );

  test(
    "tables that are copied to another region, once their servers are gone, serve there as they were",
    () =>
      withTables(3_000, async (deployment, tables) => {
        const { prefix: first } = tables;
        const names = [...COPIED, "keys"];
        await before(deployment);
        // Promised and not applied: the server of the other region has to do it, with the keys that were copied.
        expect(await incremented(deployment, "kept", THERE)).toBe(4);
        await deployment.killServer();
        await past.keep(names.map((name) => `${first}-${name}`));
        // DynamoDB Local has one region: other names are those of the other one.
        const moved = newTables();
        for (const name of names) await past.restore(`${first}-${name}`, `${moved.prefix}-${name}`);
        for (const name of names) await past.drop(`${first}-${name}`);

        tables.prefix = moved.prefix;
        await deployment.startServer();
        for (const location of LOCATIONS) expect(await counted(deployment, "kept", location)).toBe(4);
        expect(await incremented(deployment, "kept", HERE)).toBe(5);
        expect(await counted(deployment, "kept", THERE)).toBe(5);
        await settled(deployment);
        expect(deployment.alarms).toEqual([]);
      }),
    TIMEOUT_MS,
  );

  test(
    "a copy that has an execution in part is refused",
    () =>
      withTables(10_000, async (deployment, { prefix }, backups) => {
        await before(deployment);
        await past.keep(COPIED.map((name) => `${prefix}-${name}`));
        const restored = await backups.restoreTo(AT_MS, () => undefined);
        const { commitId } = await itemOf(past, `${restored}-items`);
        await past.put(`${restored}-executions`, {
          bucket: { S: "00" },
          id: { S: "0".repeat(32) },
          status: { S: "pending" },
          commit_id: { S: commitId },
          owner: { N: "1" },
        });
        await expect(backups.check(restored, () => undefined)).rejects.toThrow("is there in part");
      }),
    TIMEOUT_MS,
  );
});

async function itemOf(past: Past, table: string): Promise<{ readonly commitId: string }> {
  await past.keep([table]);
  return { commitId: past.kept(table)[0]?.["commit_id"]?.S ?? "" };
}
