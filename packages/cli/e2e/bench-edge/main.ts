/**
 * `pnpm bench:edge`: how near a location comes to the longer of round trip and run, what four heavy requests at once do to
 * each other, and how a cold cache heals. Every location is a process of its own, the LVI server is one, and all times are
 * measured here, outside of them. docs/internals/edge-speed.md has the tables.
 */
import { readFile, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { commandLine } from "@radical/command-line";
import { generator } from "../crash/random.ts";
import { type BenchLocation, Deployment, type Probe, type Timed } from "./deployment.ts";
import { replayDoubt } from "./doubt.ts";

const {
  quick,
  "grid-only": gridOnly,
  json,
  page,
  seed,
} = commandLine({
  name: "pnpm bench:edge",
  words:
    "How near a location comes to the longer of round trip and run; what heavy requests at once do to each other;\nhow a cold cache heals. Times are of this machine: what counts is how they compare within one run.",
  options: {
    quick: { kind: "flag", words: "fewer samples" },
    "grid-only": { kind: "flag", words: "nothing but the longer of round trip and run" },
    json: { kind: "flag", words: "as JSON" },
    page: { kind: "flag", words: "write the tables into docs/internals/edge-speed.md, too" },
    seed: { kind: "seed", words: "of what is asked for" },
  },
  exitCodes: ["measured"],
  examples: [
    ["pnpm bench:edge --page", "all of it, some minutes, on a quiet machine"],
    ["pnpm bench:edge --quick", "one minute"],
  ],
});

const PAGE = new URL("../../../../docs/internals/edge-speed.md", import.meta.url);
const GRID_MS = [0, 50, 100, 150] as const;
const SAMPLES = quick ? 8 : 30;
const WARM_UPS = quick ? 6 : 12;
/** In which the followup of one request has arrived before the next one is sent. */
const PAUSE_MS = 10;
const IDLE_SAMPLES = quick ? 1 : 5;
/** Longer than connections are kept. */
const IDLE_MS = 6_000;
const LANE_ROUNDS = quick ? 2 : 10;
const LANE_WIDTH = 4;
const ITEMS = 10_000;
const COLD_REQUESTS = 1_000;
const COLD_CLIENTS = 8;
const ZIPF = 0.99;

interface Cell {
  readonly roundTripMs: number;
  readonly workMs: number;
  readonly samples: number;
  readonly lvi: number;
  readonly f: number;
  readonly total: number;
  /** Of the shortest times instead of p50: nearer to a quiet machine's on one that is not. */
  readonly least: { readonly lvi: number; readonly f: number; readonly total: number; readonly excess: number };
  readonly p99: number;
  /** Total minus the longer of the two, at p50. */
  readonly excess: number;
}

const random = generator(seed);
const loadBefore = loadavg()[0]!;
const deployment = await Deployment.start();
try {
  const byRoundTrip = new Map<number, BenchLocation>();
  for (const ms of GRID_MS) byRoundTrip.set(ms, await deployment.location(`at-${ms}`, ms));
  const probes = new Map<number, Probe>();
  for (const ms of GRID_MS) probes.set(ms, await deployment.probe(`probe-${ms}`, ms));
  const rounds = await calibrate(probes.get(0)!);
  const grid = await measureGrid(byRoundTrip, probes, rounds);
  const machine = { cpu: cpus()[0]?.model ?? "", cores: cpus().length, node: process.version, loadBefore };
  const rest = gridOnly
    ? null
    : {
        idle: await measureIdle(byRoundTrip.get(100)!, rounds.get(100)!),
        lane: await measureLane(byRoundTrip.get(50)!, rounds.get(100)!),
        cold: await measureCold(),
        doubt: replayDoubt(random),
      };
  const sections = new Map([["grid", gridSection(machine, grid)], ...(rest === null ? [] : tables(rest))]);
  if (json) console.log(JSON.stringify({ seed, machine, grid, ...rest }, null, 2));
  else console.log([...sections.values()].join("\n"));
  if (page) await writeFile(PAGE, withTables(await readFile(PAGE, "utf8"), sections));
} finally {
  await deployment.stop();
}

// ── The longer of round trip and run ─────────────────────────────────────────────────────────────────────────────────

/** Rounds of the handler's loop by milliseconds. */
async function calibrate(probe: Probe): Promise<ReadonlyMap<number, number>> {
  const trial = 20_000_000;
  const times: { readonly idle: number; readonly busy: number }[] = [];
  for (let index = 0; index < 12; index++) {
    const idle = await probe.f(0);
    const busy = await probe.f(trial);
    // The first runs are not yet optimized.
    if (index >= 4) times.push({ idle, busy });
  }
  const perMs = trial / median(times.map(({ idle, busy }) => busy - idle));
  return new Map(GRID_MS.map((ms) => [ms, Math.round(ms * perMs)]));
}

async function change(location: BenchLocation, rounds: number): Promise<number> {
  return confirmed(await location.call("change", { key: "own", rounds })).ms;
}

function confirmed(timed: Timed): Timed {
  if (timed.status !== 200) throw new Error(`status ${timed.status}`);
  return timed;
}

async function measureGrid(
  byRoundTrip: ReadonlyMap<number, BenchLocation>,
  probes: ReadonlyMap<number, Probe>,
  rounds: ReadonlyMap<number, number>,
): Promise<readonly Cell[]> {
  const lvi = new Map<number, number[]>();
  const runs = new Map<number, number[]>();
  const totals = new Map<string, number[]>();
  const add = <Key>(times: Map<Key, number[]>, key: Key, ms: number): void => {
    const list = times.get(key);
    if (list === undefined) times.set(key, [ms]);
    else list.push(ms);
  };
  // In turns, so that whatever else the machine does meets all of them.
  for (let sample = -WARM_UPS; sample < SAMPLES; sample++) {
    for (const workMs of GRID_MS) {
      const ran = await probes.get(0)!.f(rounds.get(workMs)!);
      if (sample >= 0) add(runs, workMs, ran);
    }
    for (const [roundTripMs, location] of byRoundTrip) {
      const replied = await probes.get(roundTripMs)!.lvi();
      if (sample >= 0) add(lvi, roundTripMs, replied);
      for (const workMs of GRID_MS) {
        const key = `own-${roundTripMs}`;
        await sleep(roundTripMs / 2 + PAUSE_MS);
        const timed = confirmed(await location.call("change", { key, rounds: rounds.get(workMs) }));
        if (sample < 0) continue;
        if (timed.path !== "speculative") throw new Error(`${timed.path}: ${timed.reason}`);
        add(totals, `${roundTripMs} ${workMs}`, timed.ms);
      }
    }
  }
  const total = (roundTripMs: number, workMs: number): number[] => totals.get(`${roundTripMs} ${workMs}`)!;
  return GRID_MS.flatMap((roundTripMs) =>
    GRID_MS.map((workMs): Cell => {
      const times = total(roundTripMs, workMs);
      const p50 = median(times);
      const lviMs = median(lvi.get(roundTripMs)!);
      const f = median(runs.get(workMs)!);
      const least = {
        lvi: Math.min(...lvi.get(roundTripMs)!),
        f: Math.min(...runs.get(workMs)!),
        total: Math.min(...times),
      };
      return {
        roundTripMs,
        workMs,
        samples: times.length,
        lvi: lviMs,
        f,
        total: p50,
        least: { ...least, excess: least.total - Math.max(least.lvi, least.f) },
        p99: quantile(times, 0.99),
        excess: p50 - Math.max(lviMs, f),
      };
    }),
  );
}

/** The same where connections have been closed meanwhile. */
async function measureIdle(location: BenchLocation, rounds: number): Promise<{ warm: number; idle: number }> {
  const warm: number[] = [];
  const idle: number[] = [];
  for (let sample = 0; sample < IDLE_SAMPLES; sample++) {
    await change(location, rounds);
    warm.push(await change(location, rounds));
    await sleep(IDLE_MS);
    idle.push(await change(location, rounds));
  }
  return { warm: median(warm), idle: median(idle) };
}

// ── The lane ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** When the first, second, … of heavy requests at once is answered, as multiples of the time that one takes alone. */
async function measureLane(location: BenchLocation, rounds: number): Promise<{ alone: number; answered: number[] }> {
  const alone: number[] = [];
  const answers: number[][] = [];
  for (let round = 0; round < LANE_ROUNDS; round++) {
    for (let key = 0; key < LANE_WIDTH; key++) await location.call("look", { key: `lane-${key}`, rounds: 0 });
    alone.push(confirmed(await location.call("look", { key: "lane-0", rounds })).ms);
    const together = Array.from({ length: LANE_WIDTH }, async (_, key) =>
      confirmed(await location.call("look", { key: `lane-${key}`, rounds })),
    );
    answers.push((await Promise.all(together)).map(({ ms }) => ms).toSorted((a, b) => a - b));
  }
  const one = median(alone);
  return {
    alone: one,
    answered: Array.from({ length: LANE_WIDTH }, (_, place) => median(answers.map((times) => times[place]!)) / one),
  };
}

// ── A cold cache ─────────────────────────────────────────────────────────────────────────────────────────────────────

interface ColdRow {
  readonly requests: string;
  readonly p50: number;
  /** Shares: the cache had all that was read, or was right that it is not there; validation succeeded, of those. */
  readonly hit: number;
  readonly validated: number;
  readonly reasons: Readonly<Record<string, number>>;
}

/** Two locations begin at once with empty caches: 85 % reads, 10 % changes, 5 % inserts, items by Zipf's law. */
async function measureCold(): Promise<readonly ColdRow[]> {
  const filler = await deployment.location("filler", 0);
  for (let from = 0; from < ITEMS; from += 500) confirmed(await filler.call("seed", { from, to: from + 500 }));
  const locations = [await deployment.location("cold-1", 50), await deployment.location("cold-2", 50)];
  const draw = zipf(ITEMS);
  const answers: Timed[][] = locations.map(() => []);
  await Promise.all(
    locations.flatMap((location, index) => {
      let begun = 0;
      return Array.from({ length: COLD_CLIENTS }, async () => {
        while (begun < COLD_REQUESTS) {
          const place = begun++;
          const key = `item-${draw()}`;
          const kind = random();
          const call =
            kind < 0.05
              ? location.call("mark", { user: `user-${index}-${place}`, key })
              : location.call(kind < 0.15 ? "change" : "look", { key, rounds: 0 });
          answers[index]![place] = confirmed(await call);
        }
      });
    }),
  );
  const step = COLD_REQUESTS / 10;
  return Array.from({ length: 10 }, (_, part) => {
    const own = answers.flatMap((all) => all.slice(part * step, (part + 1) * step));
    const reasons: Record<string, number> = {};
    for (const { reason } of own) reasons[reason] = (reasons[reason] ?? 0) + 1 / own.length;
    const share = (...names: readonly string[]): number => names.reduce((sum, name) => sum + (reasons[name] ?? 0), 0);
    const hit = 1 - share("missing");
    return {
      requests: `${part * step + 1} to ${(part + 1) * step}`,
      p50: median(own.map(({ ms }) => ms)),
      hit,
      validated: share("valid", "doubted") / hit,
      reasons,
    };
  });
}

function zipf(count: number): () => number {
  const sums: number[] = [];
  let sum = 0;
  for (let rank = 1; rank <= count; rank++) sums.push((sum += rank ** -ZIPF));
  return () => {
    const drawn = random() * sum;
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle]! < drawn) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

// ── Tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly node: string;
  /** Processes that ran or wanted to: on a quiet machine near 0, and from the number of cores on all is waiting. */
  readonly loadBefore: number;
}

interface Measured {
  readonly idle: { readonly warm: number; readonly idle: number };
  readonly lane: { readonly alone: number; readonly answered: readonly number[] };
  readonly cold: readonly ColdRow[];
  readonly doubt: ReturnType<typeof replayDoubt>;
}

function shown(value: number): string {
  return value.toFixed(1);
}

function gridSection(machine: Machine, grid: readonly Cell[]): string {
  return `${table(
    ["round trip", "work", "LVI", "f", "total", "p99", "total − max(LVI, f)", "of the least"],
    grid.map((cell) => [
      String(cell.roundTripMs),
      String(cell.workMs),
      shown(cell.lvi),
      shown(cell.f),
      shown(cell.total),
      shown(cell.p99),
      shown(cell.excess),
      shown(cell.least.excess),
    ]),
  )}
The largest difference is ${shown(Math.max(...grid.map(({ excess }) => excess)))} ms, the median ${shown(median(grid.map(({ excess }) => excess)))} ms. ${SAMPLES} samples a cell, taken in turns; seed ${seed}, ${machine.cores} × ${machine.cpu}, Node ${machine.node}, with a load of ${machine.loadBefore.toFixed(1)} before.
`;
}

/** As the other sections of the page. */
function tables({ idle, lane, cold, doubt }: Measured): ReadonlyMap<string, string> {
  const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
  const reasons = [...new Set(cold.flatMap((row) => Object.keys(row.reasons)))].toSorted();
  const answered = lane.answered.map((multiple) => multiple.toFixed(2));
  return new Map([
    [
      "idle",
      `100 ms of work at a round trip of 100 ms: ${shown(idle.warm)} ms over an open connection, ${shown(idle.idle)} ms after ${IDLE_MS / 1_000} s without a request.
`,
    ],
    [
      "lane",
      table(
        ["alone", ...answered.map((_, place) => `answer ${place + 1}`)],
        [[`${shown(lane.alone)} ms`, ...answered.map((multiple) => `× ${multiple}`)]],
      ),
    ],
    [
      "cold",
      table(
        ["requests", "p50", "hit", "validated", ...reasons.map((reason) => `\`${reason}\``)],
        cold.map((row) => [
          row.requests,
          shown(row.p50),
          percent(row.hit),
          percent(row.validated),
          ...reasons.map((reason) => percent(row.reasons[reason] ?? 0)),
        ]),
      ),
    ],
    [
      "doubt",
      table(
        ["", "likelihood", "runs in vain", "if f never waited", "waits needlessly"],
        doubt.map((row) => [
          row.what,
          String(row.likelihood),
          percent(row.wasted),
          percent(row.wastedAlways),
          percent(row.late),
        ]),
      ),
    ],
  ]);
}

function withTables(before: string, sections: ReadonlyMap<string, string>): string {
  let text = before;
  for (const [name, section] of sections) {
    const place = new RegExp(`(<!-- ${name} -->\n).*(<!-- /${name} -->)`, "s");
    if (!place.test(text)) throw new Error(`the page has no place for ${name}`);
    text = text.replace(place, (_, begin: string, end: string) => `${begin}\n${section}\n${end}`);
  }
  return text;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line), ""].join("\n");
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
