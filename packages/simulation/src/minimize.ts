/**
 * A smaller case of a history that is wrong: fewer operations, and without the faults that it does not need. Every
 * change of the weather changes what happens, so a few seeds are tried with each.
 */
import { simulate, type SimulationResult } from "./simulate.ts";
import { Random } from "@radical/history";
import { type Weather, type WeatherName, weatherOf } from "./weather.ts";

export interface SmallCase {
  readonly seed: number;
  /** The parts of the seed's weather that the case does without. */
  readonly without: readonly string[];
  readonly operations: number;
  /** The history of the case, with its trace; null: it throws. */
  readonly result: SimulationResult | null;
  readonly problems: readonly string[];
}

/** Seeds tried after each change. */
const TRIED = 60;

const CHANGES: Readonly<Record<string, (weather: Weather) => Weather>> = {
  drops: (weather) => ({ ...weather, network: { ...weather.network, drop: 0 } }),
  duplicates: (weather) => ({ ...weather, network: { ...weather.network, duplicate: 0 } }),
  "late messages": (weather) => ({ ...weather, network: { ...weather.network, late: 0 } }),
  "storage failures": (weather) => ({ ...weather, storage: { ...weather.storage, failure: 0, lostAnswer: 0 } }),
  "slow storage": (weather) => ({ ...weather, storage: { ...weather.storage, late: 0 } }),
  "servers that end": (weather) => ({ ...weather, serverEnd: 0, trouble: { ...weather.trouble, serverKilled: null } }),
  "servers that stop": (weather) => ({
    ...weather,
    serverFreeze: 0,
    trouble: { ...weather.trouble, serverStopped: null },
  }),
  "servers that drain": (weather) => ({ ...weather, trouble: { ...weather.trouble, serverDrained: null } }),
  "a second server": (weather) => ({ ...weather, servers: 1 }),
  partitions: (weather) => ({ ...weather, trouble: { ...weather.trouble, partition: null } }),
  "clocks that are set": (weather) => ({
    ...weather,
    trouble: { ...weather.trouble, serverClock: null, locationClock: null },
  }),
  "clocks that drift": (weather) => ({ ...weather, drift: 0 }),
  "locations that end": (weather) => ({
    ...weather,
    locationEnd: 0,
    trouble: { ...weather.trouble, locationKilled: null },
  }),
  "isolates that stop": (weather) => ({ ...weather, trouble: { ...weather.trouble, isolateStopped: null } }),
  "requests that are cut off": (weather) => ({ ...weather, trouble: { ...weather.trouble, requestCutOff: null } }),
  "streams that break": (weather) => ({ ...weather, trouble: { ...weather.trouble, stream: null } }),
  "slow streams": (weather) => ({ ...weather, slowStreams: 0 }),
  "slow messages of what was heard": (weather) => ({ ...weather, heardDelayMs: 5 }),
  "lost lines": (weather) => ({ ...weather, lineLoss: 0 }),
  "disturbed caches": (weather) => ({ ...weather, trouble: { ...weather.trouble, cache: null } }),
  "killed handlers": (weather) => ({ ...weather, kill: 0 }),
  "followups outside their intents": (weather) => ({ ...weather, spoil: 0 }),
  "a deployment": (weather) => ({ ...weather, deploys: false }),
  collection: (weather) => ({ ...weather, collectMs: null }),
  "a storage that is set back": (weather) => ({ ...weather, setBack: null }),
  samples: (weather) => ({ ...weather, samplesMs: null }),
  disconnects: (weather) => ({ ...weather, disconnect: 0 }),
  updates: (weather) => ({ ...weather, updates: false }),
  subscribers: (weather) => ({ ...weather, subscribers: 0 }),
  "chosen ids": (weather) => ({ ...weather, retained: 0 }),
};

/** Finds a smaller case of a history in which `run` finds a problem. `only`: the history had this weather; null: that of its seed. */
export function minimize(seed: number, only: WeatherName | null = null, run: typeof simulate = simulate): SmallCase {
  const original = weatherOf(seed, new Random(seed), only);
  let best = attempt(seed, [], original.operations);
  for (const name of Object.keys(CHANGES)) {
    const without = [...best.without, name];
    for (let next = 0; next < TRIED; next++) {
      const smaller = attempt(next === 0 ? best.seed : seed + next, without, best.operations);
      if (smaller.problems.length === 0) continue;
      best = smaller;
      break;
    }
  }
  for (let operations = 1; operations < best.operations; operations++) {
    const smaller = attempt(best.seed, best.without, operations);
    if (smaller.problems.length > 0) return smaller;
  }
  return best;

  function attempt(of: number, without: readonly string[], operations: number): SmallCase {
    const change = (weather: Weather): Weather => ({
      ...without.reduce((changed, each) => CHANGES[each]!(changed), weather),
      operations,
    });
    try {
      const options = { seed: of, change, weather: original.name };
      const { problems } = run(options);
      const result = problems.length === 0 ? null : run({ ...options, isRead: true });
      return { seed: of, without, operations, result, problems };
    } catch (error) {
      return { seed: of, without, operations, result: null, problems: [String(error)] };
    }
  }
}
