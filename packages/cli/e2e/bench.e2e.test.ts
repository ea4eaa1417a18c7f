/**
 * `radical bench` on a small application: all systems, two locations, a few requests; and that its checks fail if a system did
 * something else.
 */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { buildForBenchmark, Measurement } from "../src/bench/measurement.ts";
import { replayPlaced, replayVersioned } from "../src/bench/replay-check.ts";
import { orderOf } from "../src/bench/strict-serializability.ts";
import { SYSTEMS } from "../src/bench/result.ts";
import { loadProject } from "../src/config/load-config.ts";

const PROJECT = fileURLToPath(new URL("./fixtures/locks", import.meta.url));
const REQUESTS = 12;

test("four systems do what the handlers say, and whoever does not is found", async () => {
  const project = await loadProject(PROJECT);
  const built = await buildForBenchmark(project);
  const measurement = await Measurement.start(project, built, {
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
      loads: SYSTEMS.map((system) => ({ system, arrivalsPerSecond: 20, requests: REQUESTS })),
      warmUpRequests: 0,
      leastMs: { look: 3 },
    });
    expect(systems.map(({ requests, failed }) => ({ requests, failed }))).toEqual(
      SYSTEMS.map(() => ({ requests: 2 * REQUESTS, failed: 0 })),
    );
    expect(answered).toHaveLength(SYSTEMS.length * 2 * REQUESTS);
    const checks = await measurement.check(0);
    expect(checks.map(({ system, kind, problems }) => [system, kind, ...problems])).toEqual([
      ["radical", "replay"],
      ["radical", "strict-serializability"],
      ["central", "replay"],
      ["edge-direct", "replay"],
      ["ideal", "replay"],
    ]);
    expect(checks.every(({ executions }) => executions === 2 * REQUESTS)).toBe(true);

    // Seeded mistakes: an answer that no run gives, and a write that is not stored.
    const histories = await measurement.histories();
    const { module, initial } = histories;
    const { order } = orderOf(histories.radical, new Set(initial.keys()));
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
