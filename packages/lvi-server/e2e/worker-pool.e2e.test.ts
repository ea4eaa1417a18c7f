/** Limits of runs near storage, and that none of them keeps the others waiting: with real threads. */
import {
  encodeModuleContent,
  type Entry,
  entryOf,
  MAX_LIMITS,
  NO_COMMIT,
  type UnitId,
  unitId,
  NO_EXECUTION,
} from "@radical/protocol";
import { afterEach, expect, test } from "vitest";
import type { EndedRun, Run, RunResult } from "../src/core/run.ts";
import { WorkerPool, type WorkerPoolOptions } from "../src/execution/worker-pool.ts";
import { testModule } from "./test-module.ts";

/** Longer than any test: a limit that is not met. */
const NEVER_MS = 3_600_000;

let pool: WorkerPool | null = null;

afterEach(async () => {
  await pool?.close();
  pool = null;
});

/** `speculationFuel`: of the module, if not the usual one. */
async function open({
  speculationFuel,
  ...options
}: Partial<WorkerPoolOptions> & { readonly speculationFuel?: number }): Promise<
  (handler: string, location?: string, inPlaceOf?: Partial<Run>) => Promise<EndedRun>
> {
  const { content, hash } = await testModule();
  const { limits } = content;
  const bytes = encodeModuleContent({
    ...content,
    limits: { ...limits, speculationFuel: speculationFuel ?? limits.speculationFuel },
  });
  const opened = new WorkerPool({
    workers: 1,
    limitMs: NEVER_MS,
    crowdedLimitMs: NEVER_MS,
    trainMs: NEVER_MS,
    onRun: () => {},
    moduleContent: () => Promise.resolve(bytes),
    ...options,
  });
  pool = opened;
  const absent: Entry = entryOf(NO_COMMIT, null);
  const snapshot = new Map<UnitId, Entry>([[unitId("counters", "a"), absent]]);
  return (handler, location = "va", inPlaceOf = {}) => {
    const environment = { timeMs: 0, seed: new Uint8Array(16), caller: null };
    const run: Run = {
      id: 1,
      invocation: {
        executionId: NO_EXECUTION,
        module: hash,
        handler,
        args: new TextEncoder().encode("a"),
        environment,
      },
      snapshot,
      access: { kind: "derive", writable: null },
      kills: 0,
      ...inPlaceOf,
    };
    return opened.execute(run, location);
  };
}

const resultOf = async (run: Promise<EndedRun>): Promise<RunResult> => (await run).result;

test("a run that never ends is ended at its limit, and the next one is run", async () => {
  const run = await open({ limitMs: 200 });
  const { result, tookMs } = await run("spin");
  expect(result).toEqual({ kind: "killed", reason: "the handler ran longer than 200 ms" });
  expect(tookMs).toBeGreaterThan(0);
  // On a machine that does other things the limit may be too short for the first one.
  await expect
    .poll(() => resultOf(run("increment")), { timeout: 100_000 })
    .toMatchObject({ kind: "completed", outcome: { kind: "result" } });
});

test("a read/write-set function that never ends uses up its fuel: no outcome, but no set", async () => {
  const run = await open({});
  expect(await resultOf(run("spinDeriving"))).toEqual({
    kind: "no-set",
    reason: "the read/write-set function trapped: the handler used up its fuel",
  });
});

test("a handler that takes all memory traps, the same each time, and the thread serves on", async () => {
  const run = await open({});
  const trapped = { kind: "completed", outcome: { kind: "trap", code: "out_of_memory" }, writes: [] };
  expect(await resultOf(run("hog"))).toMatchObject(trapped);
  expect(await resultOf(run("increment"))).toMatchObject({ kind: "completed", outcome: { kind: "result" } });
  expect(await resultOf(run("hog"))).toMatchObject(trapped);
});

test("a handler that calls itself for ever traps, and the thread serves on", async () => {
  const run = await open({});
  const trapped = { kind: "completed", outcome: { kind: "trap", code: "stack_overflow" }, writes: [] };
  expect(await resultOf(run("nest"))).toMatchObject(trapped);
  expect(await resultOf(run("increment"))).toMatchObject({ kind: "completed", outcome: { kind: "result" } });
});

test("as many endless runs as there are workers: others are run beside them", async () => {
  const run = await open({ workers: 2 });
  const endless = [run("spin"), run("spin")];
  for (let i = 0; i < 20; i++) expect(await resultOf(run("increment"))).toMatchObject({ kind: "completed" });
  await expect.poll(() => pool!.load, { timeout: 100_000 }).toEqual({ workers: 2, busy: 2, aside: 2, queued: 0 });
  await pool!.close();
  for (const ended of endless) expect((await ended).result.kind).toBe("killed");
});

test("an endless run that keeps others waiting is crowded out, and leaves nothing behind", async () => {
  const run = await open({ crowdedLimitMs: 100 });
  const endless = run("spin");
  expect(await resultOf(run("increment"))).toMatchObject({ kind: "completed" });
  expect(await resultOf(endless)).toEqual({ kind: "crowded-out" });
  expect(pool!.load).toEqual({ workers: 1, busy: 0, aside: 0, queued: 0 });
});

test("as many endless runs as there are workers are set aside also when nobody waits for a worker", async () => {
  const run = await open({ workers: 2 });
  const endless = [run("spin"), run("spin")];
  await expect.poll(() => pool!.load, { timeout: 100_000 }).toEqual({ workers: 2, busy: 2, aside: 2, queued: 0 });
  await pool!.close();
  for (const one of endless) expect((await one).result.kind).toBe("killed");
});

test("an endless run that begins after another was set aside is set aside too, though a thread has nothing to do", async () => {
  const run = await open({ workers: 2 });
  const first = run("spin");
  while (pool!.load.aside === 0) await Promise.all([run("increment"), run("increment"), run("increment")]);
  expect(await resultOf(run("increment"))).toMatchObject({ kind: "completed" });
  const second = run("spin");
  await expect.poll(() => pool!.load, { timeout: 100_000 }).toEqual({ workers: 2, busy: 2, aside: 2, queued: 0 });
  await pool!.close();
  for (const one of [first, second]) expect((await one).result.kind).toBe("killed");
});

/** A re-execution, of an execution that was ended so often. */
function reExecution(kills: number): Pick<Run, "access" | "kills"> {
  const units = new Set([unitId("counters", "a")]);
  return { access: { kind: "declared", set: { reads: units, writes: units } }, kills };
}

test("a re-execution may last twice as long each time that it was ended, and has the fuel of a speculation", async () => {
  const run = await open({ limitMs: 1 });
  const reasonOf = async (kills: number): Promise<RunResult> =>
    resultOf(run("searchNearStorage", "va", reExecution(kills)));
  expect(await reasonOf(0)).toEqual({ kind: "killed", reason: "the handler ran longer than 1 ms" });
  expect(await reasonOf(3)).toEqual({ kind: "killed", reason: "the handler ran longer than 8 ms" });
  expect(await resultOf(run("spin", "va", reExecution(30)))).toEqual({ kind: "exhausted" });
});

test("re-executions that were ended before have a thread of their own: they keep no place from others, and crowd nobody", async () => {
  const run = await open({ workers: 2, crowdedLimitMs: 1, speculationFuel: MAX_LIMITS.fuel });
  const promised = [run("spin", "va", reExecution(1)), run("spin", "jp", reExecution(1))];
  await expect.poll(() => pool!.load, { timeout: 100_000 }).toEqual({ workers: 2, busy: 1, aside: 1, queued: 1 });
  // Alone in the pool it is not crowded out, as it would be beside another long one.
  expect(await resultOf(run("compute"))).toMatchObject({ kind: "completed", outcome: { kind: "result" } });
  expect(pool!.load).toMatchObject({ aside: 1, queued: 1 });
  await pool!.close();
  for (const one of promised) expect((await one).result.kind).toBe("killed");
});

test("a re-execution is not ended because others wait", async () => {
  const run = await open({ crowdedLimitMs: 1, speculationFuel: MAX_LIMITS.fuel });
  const promised = run("compute", "va", reExecution(0));
  for (let i = 0; i < 20; i++) expect(await resultOf(run("increment"))).toMatchObject({ kind: "completed" });
  expect(await resultOf(promised)).toMatchObject({ kind: "completed", outcome: { kind: "result" } });
});

test("one that lasts alone may go on to its limit", async () => {
  const run = await open({ workers: 2, crowdedLimitMs: 1, limitMs: 500 });
  expect((await resultOf(run("spin"))).kind).toBe("killed");
});

test("a run that ends although it was set aside gives its result", async () => {
  const run = await open({});
  const long = run("compute");
  expect(await resultOf(run("increment"))).toMatchObject({ kind: "completed" });
  expect(await resultOf(long)).toMatchObject({ kind: "completed", outcome: { kind: "result" } });
  expect(pool!.load).toMatchObject({ busy: 0, aside: 0 });
});

test("no more are set aside than there are workers", async () => {
  const run = await open({});
  const endless = [run("spin"), run("spin")];
  const waiting = run("increment");
  // The second got its place because the first was set aside; the third has to wait.
  await expect.poll(() => pool!.load, { timeout: 100_000 }).toEqual({ workers: 1, busy: 2, aside: 1, queued: 1 });
  await pool!.close();
  for (const one of [...endless, waiting]) expect((await one).result.kind).toBe("killed");
});

test("locations take turns", async () => {
  const run = await open({});
  const order: string[] = [];
  const done =
    (location: string) =>
    async (ended: Promise<EndedRun>): Promise<void> => {
      await ended;
      order.push(location);
    };
  const many = Array.from({ length: 200 }, () => done("va")(run("increment", "va")));
  await Promise.all([...many, done("jp")(run("increment", "jp"))]);
  // It was the second to begin; a thread that is stopped for a moment may end it some places later.
  expect(order.indexOf("jp")).toBeLessThan(100);
});

/** Members of a train behind its head, on the same counter. */
async function followers(...handlers: readonly string[]): Promise<Pick<Run, "followers">> {
  const { hash } = await testModule();
  const environment = { timeMs: 0, seed: new Uint8Array(16), caller: null };
  const snapshot = new Map([[unitId("counters", "a"), entryOf(NO_COMMIT, null)]]);
  const access = { kind: "derive", writable: null } as const;
  return {
    followers: handlers.map((handler) => ({
      invocation: {
        executionId: NO_EXECUTION,
        module: hash,
        handler,
        args: new TextEncoder().encode("a"),
        environment,
      },
      snapshot,
      access,
    })),
  };
}

const completedWith = (value: number): object => ({
  kind: "completed",
  outcome: { kind: "result", value: Uint8Array.of(value) },
});

test("the members of a train run in order, each on what those before it have written; an abort and a trap write nothing", async () => {
  const run = await open({});
  const ended = await run("increment", "va", await followers("increment", "refuse", "trap", "increment", "read"));
  expect(ended.result).toMatchObject(completedWith(1));
  expect(ended.followers!.map(({ result }) => result)).toMatchObject([
    completedWith(2),
    { kind: "completed", outcome: { kind: "abort" }, writes: [] },
    { kind: "completed", outcome: { kind: "trap" }, writes: [] },
    completedWith(3),
    completedWith(3),
  ]);
});

test("a train ends with the first member that has no outcome", async () => {
  const run = await open({});
  const ended = await run("increment", "va", await followers("incrementUndeclared", "increment"));
  expect(ended.followers!.map(({ result }) => result.kind)).toEqual(["undeclared"]);
});

test("an endless member is stopped, although nobody waits for a worker, and takes the results of those before with it", async () => {
  const run = await open({ crowdedLimitMs: 100 });
  const ended = await run("increment", "va", await followers("increment", "spin", "increment"));
  expect(ended.result).toEqual({ kind: "not-run" });
  expect(ended.followers!.map(({ result }) => result.kind)).toEqual(["not-run", "crowded-out"]);
  // Its time is its own.
  expect(ended.followers!.map(({ tookMs }) => tookMs > 0)).toEqual([false, true]);
  expect(ended.tookMs).toBe(0);
  expect(await resultOf(run("increment"))).toMatchObject(completedWith(1));
});

test("an endless head is stopped, and the others have not run", async () => {
  const run = await open({ crowdedLimitMs: 100 });
  const ended = await run("spin", "va", await followers("increment"));
  expect([ended.result.kind, ended.followers]).toEqual(["crowded-out", undefined]);
});

test("a train that has lasted is cut: those that are done do not wait for the others", async () => {
  const run = await open({ trainMs: 0 });
  const ended = await run("increment", "va", await followers("increment", "increment"));
  expect(ended.result).toMatchObject(completedWith(1));
  expect(ended.followers).toEqual([]);
});

test("a module that is not stored", async () => {
  const run = await open({ moduleContent: () => Promise.resolve(null) });
  expect(await resultOf(run("increment"))).toMatchObject({
    kind: "killed",
    reason: expect.stringMatching(/not stored/),
  });
});

test("an execution that comes again with more values, or others, runs on all of them, on whichever thread", async () => {
  const { bytes, hash } = await testModule();
  const opened = new WorkerPool({
    workers: 2,
    limitMs: NEVER_MS,
    crowdedLimitMs: NEVER_MS,
    onRun: () => {},
    moduleContent: () => Promise.resolve(bytes),
  });
  pool = opened;
  const environment = { timeMs: 0, seed: new Uint8Array(16), caller: null };
  const invocations = ["3", "2", "1"].map((count) => ({
    executionId: NO_EXECUTION,
    module: hash,
    handler: "readBulkNearStorage",
    args: new TextEncoder().encode(count),
    environment,
  }));
  const round = (invocation: Run["invocation"], known: number): Promise<RunResult> => {
    const units = Array.from({ length: known }, (_, index) => unitId("bulk", String(index)));
    const snapshot = new Map(units.map((unit) => [unit, entryOf(NO_COMMIT, Uint8Array.of(1))]));
    const access = { kind: "record", guess: false } as const;
    return resultOf(opened.execute({ id: 1, invocation, snapshot, access, kills: 0 }, "va"));
  };
  for (const known of [0, 1, 2]) {
    const results = await Promise.all(invocations.map((invocation) => round(invocation, known)));
    for (const [index, result] of results.entries()) {
      if (known >= 3 - index) expect(result).toMatchObject({ kind: "completed" });
      else expect(result).toEqual({ kind: "missing", queries: [], units: [unitId("bulk", String(known))] });
    }
  }
  // Fewer than before.
  expect(await round(invocations[0]!, 1)).toEqual({ kind: "missing", queries: [], units: [unitId("bulk", "1")] });
  expect(await round(invocations[0]!, 3)).toMatchObject({ kind: "completed" });
});
