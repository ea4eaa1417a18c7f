/** Tables that are restored where some of their names are there already, or after a break: without servers, on DynamoDB Local. */
import { randomBytes } from "node:crypto";
import { type DynamoBackups, KeyRing, openBackups, openStorage, parseKeys } from "@radical/lvi-server";
import {
  CREDENTIALS,
  type DynamoDbLocal,
  hasDynamoDbLocal,
  startDynamoDbLocal,
} from "@radical/lvi-server/e2e/dynamodb-local";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { COPIED, Past } from "./tables-past.ts";

const TIMEOUT_MS = 300_000;
const [T1, T2] = [Date.UTC(2026, 10, 27, 14), Date.UTC(2026, 10, 27, 15)];
const HAS_SERVED = "have been served since they were restored";

let local: DynamoDbLocal;
let past: Past;
let first: string;
/** The tables that DynamoDB was asked for. */
let made: string[];
/** After so many of them the command ends. */
let breaksAfter: number;

beforeAll(async () => {
  if (!hasDynamoDbLocal()) return;
  Object.assign(process.env, CREDENTIALS);
  local = await startDynamoDbLocal();
  past = new Past(local.endpoint);
}, TIMEOUT_MS);
beforeEach(() => {
  first = randomBytes(8).toString("hex");
  [made, breaksAfter] = [[], Infinity];
});
afterAll(async () => {
  past?.close();
  await local?.stop();
});

const addressOf = (prefix: string) => ({ kind: "dynamodb", prefix, endpoint: local.endpoint }) as const;

/** A server may serve them; without any it makes them. */
async function served(prefix: string): Promise<void> {
  const { callHashes: hasher } = new KeyRing(parseKeys(`any:${"0".repeat(32)}`));
  const storage = await openStorage(addressOf(prefix), { retentionMs: 1, hasher });
  await storage.close();
}

async function withBackups<T>(prefix: string, run: (backups: DynamoBackups) => Promise<T>): Promise<T> {
  const restoreTable = async (from: string, to: string): Promise<void> => {
    await past.restore(from, to);
    made.push(to);
    if (made.length >= breaksAfter) throw new Error("broken off");
  };
  const backups = await openBackups(addressOf(prefix), { restoreTable, pollMs: 10 });
  try {
    return await run(backups);
  } finally {
    backups.close();
  }
}

const restore = (prefix: string, atMs: number): Promise<string> =>
  withBackups(prefix, (backups) => backups.restoreTo(atMs, () => undefined));
const takeOver = (prefix: string, by: string): Promise<unknown> =>
  withBackups(prefix, (backups) => backups.takeOver(by, Date.now()));
const keep = (prefix: string): Promise<void> => past.keep(COPIED.map((name) => `${prefix}-${name}`));

describe.skipIf(!hasDynamoDbLocal())("restored tables", () => {
  test("after a break at any table it goes on where it was", async () => {
    await served(first);
    await keep(first);
    for (breaksAfter = 1; breaksAfter <= COPIED.length; breaksAfter++)
      await expect(restore(first, T1)).rejects.toThrow("broken off");
    breaksAfter = Infinity;
    const copy = await restore(first, T1);
    expect(made).toEqual(COPIED.map((name) => `${copy}-${name}`));
    await expect(served(copy)).rejects.toThrow("was not taken over");
    await takeOver(first, copy);
    await served(copy);

    // Those were restored themselves, and a copy of them has the layout that they have.
    await keep(copy);
    breaksAfter = made.length + COPIED.length;
    await expect(restore(copy, T2)).rejects.toThrow("broken off");
    breaksAfter = Infinity;
    const second = await restore(copy, T2);
    await expect(served(second)).rejects.toThrow("was not taken over");
    await takeOver(copy, second);
    await served(second);
  });

  test("tables that were served are not the state of their second again", async () => {
    await served(first);
    await keep(first);
    const copy = await restore(first, T1);
    await takeOver(first, copy);
    await keep(copy);
    const second = await restore(copy, T2);
    // It waits for the takeover from the tables that it is a copy of, and from no other.
    await expect(restore(first, T2)).rejects.toThrow(`are a copy of ${copy}-*, not of ${first}-*`);
    await takeOver(copy, second);

    made = [];
    await expect(restore(first, T2)).rejects.toThrow(HAS_SERVED);
    await expect(restore(first, T1)).rejects.toThrow(`or name them as they are: --from ${copy}`);
    await expect(restore(second, T2)).rejects.toThrow(HAS_SERVED);
    // The same command once more.
    expect(await restore(copy, T2)).toBe(second);
    await served(second);

    await takeOver(second, first);
    // Whether some of them are gone meanwhile or not.
    await past.drop(`${copy}-items`);
    for (const atMs of [T1, T2]) await expect(restore(first, atMs)).rejects.toThrow(HAS_SERVED);
    expect(made).toEqual([]);
    await served(first);
  });

  test("a way back that was broken off can be given up", async () => {
    await served(first);
    await keep(first);
    const copy = await restore(first, T1);
    await takeOver(first, copy);
    // The command ends between its two steps: the tables are closed, and those before are not opened.
    await past.keep([`${first}-meta`]);
    await takeOver(copy, first);
    for (const item of past.kept(`${first}-meta`)) await past.put(`${first}-meta`, item);
    for (const prefix of [first, copy]) await expect(served(prefix)).rejects.toThrow("was replaced by");

    await takeOver(first, copy);
    await served(copy);
    await expect(served(first)).rejects.toThrow("was replaced by");
  });
});
