import { describe, expect, test } from "vitest";
import type { HeldLeadership, Leadership } from "./core/leadership.ts";
import { acquireLeadership } from "./leadership.ts";
import { createLog } from "./log.ts";
import { STORAGE_PATIENCE_MS, StorageWatch } from "./storage-watch.ts";
import { SqliteStorage } from "./storage/sqlite-storage.ts";
import { StorageError } from "./storage/storage.ts";

const TERM_MS = 5_000;
const FULL = "the disk is full";

/** A watch whose time is virtual, with the lines that it has written. */
function watched() {
  const lines: { readonly level: string; readonly event: string }[] = [];
  const log = createLog("debug", (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]));
  const time = { ms: 1_000 };
  const watch = new StorageWatch({ log, now: () => time.ms, patienceMs: STORAGE_PATIENCE_MS });
  const events = (): string[] =>
    lines.flatMap(({ level, event }) => (event.startsWith("storage_") ? [`${level} ${event}`] : []));
  return { watch, log, time, lines, events };
}

describe("work that the storage fails", () => {
  test("for long is one error, and one line when it is over", () => {
    const { watch, time, lines, events } = watched();
    for (let ms = 0; ms < 10 * STORAGE_PATIENCE_MS; ms += 1_000, time.ms += 1_000) {
      watch.failed("lead", FULL);
      expect(events()).toEqual(ms < STORAGE_PATIENCE_MS ? [] : ["error storage_unusable"]);
    }
    watch.succeeded("lead");
    watch.succeeded("lead");
    expect(lines).toMatchObject([
      { level: "error", event: "storage_unusable", work: "lead", seconds: 30, reason: FULL },
      { level: "info", event: "storage_usable", seconds: 300 },
    ]);
  });

  test("is told again in the next episode", () => {
    const { watch, time, events } = watched();
    for (let episode = 0; episode < 2; episode++) {
      for (let failure = 0; failure < 4; failure++, time.ms += STORAGE_PATIENCE_MS / 2) watch.failed("write", FULL);
      watch.succeeded("write");
    }
    expect(events()).toEqual([
      "error storage_unusable",
      "info storage_usable",
      "error storage_unusable",
      "info storage_usable",
    ]);
  });

  test("now and then is nobody's concern", () => {
    const { watch, time, events } = watched();
    for (let hiccup = 0; hiccup < 100; hiccup++) {
      for (let failure = 0; failure < 10; failure++, time.ms += 2_000) watch.failed("lead", FULL);
      watch.succeeded("lead");
    }
    expect(events()).toEqual([]);
  });

  test("before a process was stopped, and once after, is nobody's concern yet", () => {
    const { watch, time, events } = watched();
    watch.failed("lead", FULL);
    time.ms += 100 * STORAGE_PATIENCE_MS;
    watch.failed("lead", FULL);
    expect(events()).toEqual([]);
    watch.failed("lead", FULL);
    expect(events()).toEqual(["error storage_unusable"]);
  });

  test("is of one kind: writes that fail are told while renewals succeed, and over when both do", () => {
    const { watch, time, events } = watched();
    for (let second = 0; second <= STORAGE_PATIENCE_MS / 1_000; second++, time.ms += 1_000) {
      watch.failed("write", FULL);
      watch.succeeded("lead");
    }
    expect(events()).toEqual(["error storage_unusable"]);
    watch.failed("lead", FULL);
    watch.succeeded("write");
    expect(events()).toEqual(["error storage_unusable"]);
    watch.succeeded("lead");
    expect(events()).toEqual(["error storage_unusable", "info storage_usable"]);
  });
});

describe("a server that wants to lead", () => {
  /** It acquires the leadership at virtual time; the other server renews its own until then, or is dead. */
  async function candidate(refused: (ms: number) => boolean, otherLivesUntilMs: number) {
    const all = watched();
    const { watch, log, time, events } = all;
    const storage = new SqliteStorage(":memory:");
    const before = (await storage.acquireLeadership(await storage.readLeadership(), TERM_MS, 0)) as Leadership;
    const guarded = new Proxy(storage, {
      get: (target, name) => {
        const method = Reflect.get(target, name, target) as unknown;
        if (typeof method !== "function") return method;
        return async (...args: unknown[]): Promise<unknown> => {
          if (name === "acquireLeadership" && refused(time.ms)) throw new StorageError("none", FULL);
          return (method as (...values: unknown[]) => unknown).apply(target, args);
        };
      },
    });
    const sleep = async (ms: number): Promise<void> => {
      time.ms += ms;
      if (time.ms < otherLivesUntilMs) await storage.renewLeadership(before.epoch, TERM_MS);
    };
    const clock = { now: () => time.ms, sleep };
    const onStandby = (): void => {};
    const wallMs = (): number => 0;
    const held: HeldLeadership = await acquireLeadership({
      storage: guarded,
      termMs: TERM_MS,
      leader: null,
      log,
      clock,
      wallMs,
      onStandby,
      watch,
    });
    await storage.close();
    return { held, events, time };
  }

  test("and waits in good order for an hour tells nobody", async () => {
    const { events, time } = await candidate(() => false, 3_600_000);
    expect(time.ms).toBeGreaterThan(3_600_000);
    expect(events()).toEqual([]);
  });

  test("and is kept from it by the storage tells so once, and when it leads", async () => {
    const { events } = await candidate((ms) => ms < 600_000, 0);
    expect(events()).toEqual(["error storage_unusable", "info storage_usable"]);
  });

  test("and hears for some seconds only that the storage fails tells nobody", async () => {
    const { events, time } = await candidate((ms) => ms < 20_000, 0);
    expect(time.ms).toBeGreaterThanOrEqual(20_000);
    expect(events()).toEqual([]);
  });
});
