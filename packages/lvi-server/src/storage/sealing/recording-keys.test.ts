import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../../log.ts";
import { keyPlacesOf } from "../storage-address.ts";
import { SqliteStorage } from "../sqlite-storage.ts";
import { RecordingKeys } from "./recording-keys.ts";
import { type KeyPlaces, newSealingKey } from "./sealing-key.ts";

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 10, 1);
const RETENTION_MS = 30 * DAY_MS;

let folder: string;
let places: KeyPlaces;
let nowMs: number;
let logged: string[];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "radical-recording-keys-"));
  const file = path.join(folder, "data.sqlite");
  places = keyPlacesOf({ kind: "sqlite", file }, new SqliteStorage(":memory:"), null)!;
  nowMs = START_MS;
  logged = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A server that begins to lead, as far as recordings need it. */
const begun = async (retentionMs = RETENTION_MS, most = 1_000): Promise<RecordingKeys> => {
  const log = createLog("info", (line) => logged.push(line));
  const recordings = new RecordingKeys({ keys: places.recordings, retentionMs, most, log, nowMs: () => nowMs });
  await recordings.begin();
  return recordings;
};
const files = (): readonly string[] => readdirSync(places.recordings.place).toSorted();
const destroyed = (): readonly string[] =>
  logged.filter((line) => line.includes("recording_key_destroyed")).map((line) => line.slice(line.indexOf("2026-11")));

test("each recording has a key of its own, which the next server has too", async () => {
  const server = await begun();
  const [first, second] = [await server.make("admin"), await server.make("admin")];
  expect(first).toMatchObject({ madeAtMs: START_MS, untilMs: START_MS + RETENTION_MS });
  expect(Buffer.from(first.secret, "base64")).toHaveLength(32);
  expect(second.secret).not.toBe(first.secret);
  // It is durable by now: nothing is closed here, as if the server had been killed.
  const next = await begun();
  expect(await next.find(first.id, "admin")).toEqual(first);
  expect(await next.find(second.id, "admin")).toEqual(second);
  expect(await next.find("2026-11-01-00000000", "admin")).toBeNull();
  expect(logged.filter((line) => line.includes("recording_key_told") && line.includes('"by":"admin"'))).toHaveLength(2);
  await Promise.all([server.close(), next.close()]);
});

test("keys of executions and of recordings do not see each other", async () => {
  const sealing = newSealingKey(START_MS);
  await places.keys.add(sealing);
  const server = await begun();
  const recording = await server.make("admin");
  expect((await places.keys.list()).map(({ id }) => id)).toEqual([sealing.id]);
  expect((await places.recordings.list()).map(({ id }) => id)).toEqual([recording.id]);
  expect(await server.find(sealing.id, "admin")).toBeNull();
  nowMs += 400 * DAY_MS;
  await server.tend();
  expect((await places.keys.list()).map(({ id }) => id)).toEqual([sealing.id]);
  await server.close();
});

test("a key is destroyed when its time is over, whether somebody asks or not, and by a server that starts then", async () => {
  const server = await begun();
  const asked = await server.make("admin");
  nowMs += DAY_MS;
  const tended = await server.make("admin");
  nowMs += DAY_MS;
  const left = await server.make("admin");
  nowMs = asked.untilMs - 1;
  expect(await server.find(asked.id, "admin")).not.toBeNull();
  nowMs = asked.untilMs;
  expect(await server.find(asked.id, "admin")).toBeNull();
  expect(files()).toEqual([tended.id, left.id].map((id) => `${id}.key`).toSorted());
  nowMs = tended.untilMs;
  await server.tend();
  expect(files()).toEqual([`${left.id}.key`]);
  await server.close();
  nowMs = left.untilMs;
  const next = await begun();
  expect(files()).toEqual([]);
  expect(destroyed()).toHaveLength(3);
  await next.close();
});

test("a shorter retention holds for the keys that are there", async () => {
  const server = await begun();
  const { id } = await server.make("admin");
  await server.close();
  nowMs += DAY_MS;
  const next = await begun(DAY_MS);
  expect(await next.find(id, "admin")).toBeNull();
  await next.close();
});

test("a key that was made while the clock was far ahead lives for its time from then on, and no longer", async () => {
  nowMs = START_MS + 3_650 * DAY_MS;
  const wrong = await begun();
  const { id } = await wrong.make("admin");
  await wrong.close();
  nowMs = START_MS;
  const server = await begun();
  expect(await server.find(id, "admin")).toMatchObject({ untilMs: START_MS + RETENTION_MS });
  nowMs = START_MS + RETENTION_MS;
  expect(await server.find(id, "admin")).toBeNull();
  expect(files()).toEqual([]);
  await server.close();
});

test("there are so many keys at most, until the time of one is over", async () => {
  const server = await begun(RETENTION_MS, 2);
  await Promise.all([server.make("admin"), server.make("admin")]);
  await expect(server.make("admin")).rejects.toMatchObject({ code: "primary_busy" });
  nowMs += RETENTION_MS;
  expect(await server.make("admin")).toMatchObject({ madeAtMs: nowMs });
  await server.close();
});

test("a place that can't be used is told, and stops nothing", async () => {
  const server = await begun();
  await server.make("admin");
  const [name] = files();
  const file = path.join(places.recordings.place, name!);
  rmSync(file);
  // A folder in the place of a key.
  mkdirSync(file);
  await expect(server.make("admin")).rejects.toThrow("The folder of sealing keys");
  rmSync(file, { recursive: true });
  expect(await server.make("admin")).toMatchObject({ madeAtMs: START_MS });
  await server.close();
});
