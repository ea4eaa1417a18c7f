/**
 * `radical bench` on a small application: all systems, two locations, a few requests; and that its checks fail if a system did
 * something else.
 */
import { fileURLToPath } from "node:url";
import { contains, Digest, hashWords, spanOf, splitUnit } from "@radical/protocol";
import { expect, test } from "vitest";
import {
  buildForBenchmark,
  Measurement,
  replayPlaced,
  replayVersioned,
  orderOf,
  type CheckRow,
  type System,
  SYSTEMS,
} from "@radical/bench";
import { loadProject } from "@radical/app";

const LOCKS = fileURLToPath(new URL("./fixtures/locks", import.meta.url));
const ROOMS = fileURLToPath(new URL("./fixtures/rooms", import.meta.url));
/** Its benchmark is on the page docs/how-to/benchmark.md. */
const BOOKING = fileURLToPath(new URL("../../../docs/examples/booking", import.meta.url));
const CHECKS: readonly (readonly [System, CheckRow["kind"]])[] = [
  ["radical", "replay"],
  ["radical", "strict-serializability"],
  ["central", "replay"],
  ["edge-direct", "replay"],
  ["ideal", "replay"],
];

interface Load {
  readonly requests: number;
  readonly arrivalsPerSecond: number;
  readonly leastMs: Readonly<Record<string, number>>;
}

/** All systems under a load, with their checks passed. */
async function measured(folder: string, { requests, arrivalsPerSecond, leastMs }: Load): Promise<Measurement> {
  const project = await loadProject(folder);
  const measurement = await Measurement.start(project, await buildForBenchmark(project), {
    locations: [
      { name: "near", roundTripMs: 0 },
      { name: "far", roundTripMs: 20 },
    ],
    systems: SYSTEMS,
    seed: 4,
    zipf: 0.99,
    storage: null,
    standby: false,
    signal: new AbortController().signal,
  });
  try {
    const { answered, systems } = await measurement.run({
      name: "small",
      loads: SYSTEMS.map((system) => ({ system, arrivalsPerSecond, requests })),
      warmUpRequests: 0,
      leastMs,
    });
    expect(systems.map(({ requests: asked, failed }) => [asked, failed])).toEqual(SYSTEMS.map(() => [2 * requests, 0]));
    expect(answered).toHaveLength(SYSTEMS.length * 2 * requests);
    const checks = await measurement.check(0);
    expect(checks.map(({ system, kind, problems }) => [system, kind, ...problems])).toEqual(CHECKS);
    expect(checks.every(({ executions }) => executions === 2 * requests)).toBe(true);
    return measurement;
  } catch (error) {
    await measurement.stop();
    throw error;
  }
}

test("four systems do what the handlers say, and whoever does not is found", async () => {
  const measurement = await measured(LOCKS, { requests: 12, arrivalsPerSecond: 20, leastMs: { look: 3 } });
  try {
    // Seeded mistakes: an answer that no run gives, and a write that is not stored.
    const histories = await measurement.histories();
    const { module, initial } = histories;
    const { order } = orderOf(histories.radical, measurement.deployment.initial);
    const [first] = histories.radical;
    const wrong = { ...first!, answer: { status: 200, body: '{"result":-1}' } };
    const other = [wrong, ...histories.radical.slice(1)];
    const stored = await measurement.deployment.stored("radical");
    expect(replayVersioned(histories.radical, order, module, initial, stored)).toEqual([]);
    expect(replayVersioned(other, order, module, initial, stored).join()).toMatch(/was answered .*-1/);
    const [unit] = [...stored.keys()];
    stored.delete(unit!);
    expect(replayVersioned(histories.radical, order, module, initial, stored)).toEqual([`${unit} is not stored`]);
    const twice = histories.central.map((one) => (one.position > 0 ? { ...one, position: 1 } : one));
    expect(replayPlaced(twice, module, initial, null).join()).toMatch(/instead of one/);
    const silent = histories.central.map((one) => ({ ...one, wrote: false }));
    expect(replayPlaced(silent, module, initial, null).join()).toMatch(/did not write what it should/);
  } finally {
    await measurement.stop();
  }
});

test("the benchmark of the documents runs, and all systems do what its handlers say", async () => {
  const measurement = await measured(BOOKING, { requests: 10, arrivalsPerSecond: 20, leastMs: {} });
  try {
    const { radical } = await measurement.histories();
    expect(radical.length).toBeGreaterThan(0);
  } finally {
    await measurement.stop();
  }
});

test("ranges: all systems see the same rows and numbers, and a seeded phantom is found", async () => {
  const measurement = await measured(ROOMS, { requests: 60, arrivalsPerSecond: 15, leastMs: {} });
  try {
    const { radical: history } = await measurement.histories();
    const { initial } = measurement.deployment;
    expect(orderOf(history, initial).problems).toEqual([]);
    // An execution that has seen a row that was inserted before is made to have missed it.
    const seeded = history.flatMap((reader, place) =>
      Array.from(reader.scans).flatMap(([unit, digest]) => {
        const span = spanOf(unit)!;
        const inserted = history
          .flatMap(({ commit, writes, answeredAtMs }) =>
            Array.from(writes, ([item, hash]) => ({ commit, hash, item, answeredAtMs })),
          )
          .find(({ item, hash, commit, answeredAtMs }) => {
            const { table, key } = splitUnit(item);
            const writers = history.filter(({ writes }) => writes.has(item));
            return (
              hash !== null &&
              commit !== null &&
              writers.length === 1 &&
              !initial.has(item) &&
              answeredAtMs < reader.invokedAtMs &&
              span.kind === "rows" &&
              span.table === table &&
              contains(span, key)
            );
          });
        if (inserted === undefined) return [];
        const row = { key: splitUnit(inserted.item).key, commitId: inserted.commit!, hash: inserted.hash! };
        const missed = new Digest().addWords(...hashWords(digest)).remove(row).hash;
        return [history.with(place, { ...reader, scans: new Map(reader.scans).set(unit, missed) })];
      }),
    );
    expect(seeded.length).toBeGreaterThan(0);
    for (const wrong of seeded) expect(orderOf(wrong, initial).problems.join()).toMatch(/never was there at one time/);
  } finally {
    await measurement.stop();
  }
});
