/**
 * `pnpm bench:edge`: how near a location comes to the longer of round trip and run, what four heavy requests at once do to
 * each other, and how a cold cache heals. Every location is a process of its own, on another core than all else if there is
 * one; the LVI server is a process, and all times are measured here, outside of them. docs/internals/measurements/edge.md has the tables.
 */
import { readFile, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { commandLine } from "@radical/command-line";
import { Random } from "@radical/history";
import { separateCores } from "./cores.ts";
import { type BenchLocation, Deployment, type Probe, type Timed } from "./deployment.ts";
import { replayDoubt } from "./doubt.ts";
import { MEANS, replayStaleness } from "./staleness.ts";

const { quick, gridOnly, coldOnly, roundTrips, samples, json, page, seed } = commandLine({
  name: "pnpm bench:edge",
  words:
    "How near a location comes to the longer of round trip and run; what heavy requests at once do to each other;\nhow a cold cache heals. Times are of this machine: what counts is how they compare within one run.",
  options: {
    quick: { kind: "flag", words: "fewer samples" },
    gridOnly: { kind: "flag", words: "nothing but the longer of round trip and run" },
    coldOnly: { kind: "flag", words: "nothing but a cold cache and the replays" },
    roundTrips: { kind: "text", placeholder: "ms,…", words: "rows of the grid, of 0, 50, 100 and 150; all of them" },
    samples: { kind: "number", default: 60, least: 1, words: "samples of each cell of the grid" },
    json: { kind: "flag", words: "as JSON" },
    page: { kind: "flag", words: "write the tables into docs/internals/measurements/edge.md, too" },
    seed: { kind: "seed", words: "of what is asked for" },
  },
  exitCodes: ["measured"],
  examples: [
    ["pnpm bench:edge --page", "all of it, some minutes, on a quiet machine"],
    ["pnpm bench:edge --grid-only --round-trips 0,50 --json", "two rows of the grid, four minutes"],
    ["pnpm bench:edge --quick", "one minute"],
  ],
});

const PAGE = new URL("../../../../docs/internals/measurements/edge.md", import.meta.url);
const ROUND_TRIPS_MS = [0, 50, 100, 150] as const;
/** Much longer runs use up the fuel of a speculation on a fast machine, and go near storage. */
const WORK_MS = [0, 50, 100] as const;
const SAMPLES = quick ? Math.min(8, samples) : samples;
const WARM_UPS = quick ? 6 : 10;
/** What each Worker has served before the first round: by then V8 has compiled most of what it runs. */
const WARM_UP_REQUESTS = quick ? 40 : 300;
const WARM_UP_CLIENTS = 8;
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
const COLD_ROUND_TRIP_MS = 50;
const STALE_BY = ["under way", "just before", "long before", "own"] as const;

interface Cell {
  readonly roundTripMs: number;
  readonly workMs: number;
  readonly samples: number;
  readonly lvi: number;
  readonly f: number;
  /** The longer of the two where both begin together, in two Workers: with what that costs on this machine. */
  readonly both: number;
  readonly total: number;
  readonly p99: number;
  /** Total minus the longer of LVI and f, of each round, at p50. */
  readonly excess: number;
  /** The same over both. */
  readonly excessOfBoth: number;
}

type Times = Readonly<Record<"lvi" | "f" | "both" | "total", number>>;

const measured: readonly number[] = ROUND_TRIPS_MS.filter(
  (ms) => roundTrips === null || roundTrips.split(",").includes(`${ms}`),
);
if (measured.length === 0) throw new Error(`--round-trips ${roundTrips}: none of ${ROUND_TRIPS_MS.join(", ")}`);
if (gridOnly && coldOnly) throw new Error("nothing is left");
if (measured.length < ROUND_TRIPS_MS.length && (!gridOnly || page))
  throw new Error("--round-trips goes with --grid-only");

const random = new Random(seed, 0.99);
const loadBefore = loadavg()[0]!;
const cores = await separateCores();
const deployment = await Deployment.start(cores);
try {
  const byRoundTrip = new Map<number, BenchLocation>();
  const probes = new Map<number, Probe>();
  let runner: Probe | null = null;
  let rounds: ReadonlyMap<number, number> = new Map();
  if (!coldOnly) {
    for (const ms of measured) byRoundTrip.set(ms, await deployment.location(`at-${ms}`, ms, "location"));
    for (const ms of measured) probes.set(ms, await deployment.probe(`probe-${ms}`, ms));
    runner = await deployment.probe("runner", 0);
    await Promise.all([...[...byRoundTrip.values()].map(warmUp), ...[...probes.values()].map(warmUpProbe)]);
    rounds = await calibrate(runner);
  }
  const grid = runner === null ? null : await measureGrid(byRoundTrip, probes, runner, rounds);
  const machine = {
    cpu: cpus()[0]?.model ?? "",
    cores: cpus().length,
    node: process.version,
    loadBefore,
    separated: cores !== null,
  };
  const atOnce =
    gridOnly || coldOnly
      ? null
      : {
          idle: await measureIdle(byRoundTrip.get(100)!, rounds.get(100)!),
          lane: await measureLane(byRoundTrip.get(50)!, rounds.get(100)!),
        };
  const caches = gridOnly
    ? null
    : { cold: await measureCold(), staleness: replayStaleness(random), doubt: replayDoubt(random) };
  const sections = new Map([
    ...(grid === null ? [] : [["grid", gridSection(machine, grid)] as const]),
    ...(atOnce === null ? [] : atOnceSections(atOnce)),
    ...(caches === null ? [] : cacheSections(caches)),
  ]);
  if (json) console.log(JSON.stringify({ seed, machine, grid, ...atOnce, ...caches }, null, 2));
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
  return new Map(WORK_MS.map((ms) => [ms, Math.round(ms * perMs)]));
}

/** Requests without work. */
async function warmUp(location: BenchLocation): Promise<void> {
  const clients = Array.from({ length: WARM_UP_CLIENTS }, async (_, client) => {
    for (let index = client; index < WARM_UP_REQUESTS; index += WARM_UP_CLIENTS)
      confirmed(await location.call("change", { key: `warm-up-${location.name}-${client}`, rounds: 0 }));
  });
  await Promise.all(clients);
}

async function warmUpProbe(probe: Probe): Promise<void> {
  for (let index = 0; index < WARM_UP_REQUESTS; index++) await probe.lvi();
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
  runner: Probe,
  rounds: ReadonlyMap<number, number>,
): Promise<readonly Cell[]> {
  const cells = [...byRoundTrip.keys()].flatMap((roundTripMs) =>
    WORK_MS.map((workMs) => ({ roundTripMs, workMs, times: [] as Times[] })),
  );
  // In turns, and what a cell compares one after the other, so that whatever else the machine does meets all of it.
  for (let sample = -WARM_UPS; sample < SAMPLES; sample++) {
    for (const { roundTripMs, workMs, times } of cells) {
      const probe = probes.get(roundTripMs)!;
      const work = rounds.get(workMs)!;
      const lvi = await probe.lvi();
      const f = await runner.f(work);
      await sleep(PAUSE_MS);
      const both = Math.max(...(await Promise.all([probe.lvi(), runner.f(work)])));
      await sleep(PAUSE_MS);
      const args = { key: `own-${roundTripMs}`, rounds: work };
      const { ms: total, path, reason } = confirmed(await byRoundTrip.get(roundTripMs)!.call("change", args));
      await sleep(roundTripMs / 2 + PAUSE_MS);
      if (sample < 0) continue;
      if (path !== "speculative") throw new Error(`${path}: ${reason}`);
      times.push({ lvi, f, both, total });
    }
  }
  return cells.map(({ roundTripMs, workMs, times }): Cell => {
    const column = (name: keyof Times): number[] => times.map((time) => time[name]);
    const differences = (of: (time: Times) => number): number => median(times.map((time) => time.total - of(time)));
    return {
      roundTripMs,
      workMs,
      samples: times.length,
      lvi: median(column("lvi")),
      f: median(column("f")),
      both: median(column("both")),
      total: median(column("total")),
      p99: quantile(column("total"), 0.99),
      excess: differences(({ lvi, f }) => Math.max(lvi, f)),
      excessOfBoth: differences(({ both }) => both),
    };
  });
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
  /** Shares of the same, of validations that failed: what had made the version old. */
  readonly failedBy: Readonly<Record<StaleBy, number>>;
  readonly reasons: Readonly<Record<string, number>>;
}

type StaleBy =
  /** A write at the other location that had not been answered when the request was sent: nobody could have told. */
  | "under way"
  /** One that was answered at most two round trips before: its followup and the update took that time. */
  | "just before"
  | "long before"
  /** None, since this location was last told of the item: another request of its own. */
  | "own";

interface ColdCall {
  readonly key: string;
  readonly writes: boolean;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly timed: Timed;
}

/** Two locations begin at once with empty caches: 85 % reads, 10 % changes, 5 % inserts, items by Zipf's law. */
async function measureCold(): Promise<readonly ColdRow[]> {
  const filler = await deployment.location("filler", 0, "all");
  for (let from = 0; from < ITEMS; from += 500) confirmed(await filler.call("seed", { from, to: from + 500 }));
  const locations: BenchLocation[] = [];
  for (const name of ["cold-1", "cold-2"]) locations.push(await deployment.location(name, COLD_ROUND_TRIP_MS, "all"));
  const draw = (): number => random.zipf(ITEMS);
  const calls: ColdCall[][] = locations.map(() => []);
  await Promise.all(
    locations.flatMap((location, index) => {
      let begun = 0;
      return Array.from({ length: COLD_CLIENTS }, async () => {
        while (begun < COLD_REQUESTS) {
          const place = begun++;
          const key = `item-${draw()}`;
          const kind = random.unit();
          const startedAtMs = performance.now();
          const writes = kind >= 0.05 && kind < 0.15;
          const timed = confirmed(
            kind < 0.05
              ? await location.call("mark", { user: `user-${index}-${place}`, key })
              : await location.call(writes ? "change" : "look", { key, rounds: 0 }),
          );
          calls[index]![place] = { key, writes, startedAtMs, endedAtMs: performance.now(), timed };
        }
      });
    }),
  );
  const step = COLD_REQUESTS / 10;
  return Array.from({ length: 10 }, (_, part) => {
    const own = calls.flatMap((all) => all.slice(part * step, (part + 1) * step));
    const reasons: Record<string, number> = {};
    for (const { timed } of own) reasons[timed.reason] = (reasons[timed.reason] ?? 0) + 1 / own.length;
    const share = (...names: readonly string[]): number => names.reduce((sum, name) => sum + (reasons[name] ?? 0), 0);
    const hit = 1 - share("missing");
    const failedBy: Record<StaleBy, number> = { "under way": 0, "just before": 0, "long before": 0, own: 0 };
    for (const [index, all] of calls.entries()) {
      for (const call of all.slice(part * step, (part + 1) * step)) {
        if (call.timed.reason === "stale" || call.timed.reason === "hot")
          failedBy[staleBy(call, all, calls[1 - index]!)] += 1 / own.length / hit;
      }
    }
    return {
      requests: `${part * step + 1} to ${(part + 1) * step}`,
      p50: median(own.map(({ timed }) => timed.ms)),
      hit,
      validated: share("valid", "doubted") / hit,
      failedBy,
      reasons,
    };
  });
}

function staleBy(
  { key, startedAtMs, endedAtMs }: ColdCall,
  here: readonly ColdCall[],
  there: readonly ColdCall[],
): StaleBy {
  const toldAtMs = Math.max(
    0,
    ...here.filter((call) => call.key === key && call.endedAtMs <= startedAtMs).map((call) => call.startedAtMs),
  );
  const writes = there.filter((call) => call.writes && call.key === key && call.startedAtMs < endedAtMs);
  const since = writes.filter((call) => call.endedAtMs >= toldAtMs).map((call) => call.endedAtMs);
  if (since.length === 0) return "own";
  const last = Math.max(...since);
  if (last >= startedAtMs) return "under way";
  return last >= startedAtMs - 2 * COLD_ROUND_TRIP_MS ? "just before" : "long before";
}

// ── Tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly node: string;
  /** Processes that ran or wanted to: on a quiet machine near 0, and from the number of cores on all is waiting. */
  readonly loadBefore: number;
  /** Whether locations had a core of their own. */
  readonly separated: boolean;
}

interface AtOnce {
  readonly idle: { readonly warm: number; readonly idle: number };
  readonly lane: { readonly alone: number; readonly answered: readonly number[] };
}

interface Caches {
  readonly cold: readonly ColdRow[];
  readonly staleness: ReturnType<typeof replayStaleness>;
  readonly doubt: ReturnType<typeof replayDoubt>;
}

function shown(value: number): string {
  return value.toFixed(1);
}

function gridSection(machine: Machine, grid: readonly Cell[]): string {
  return `${table(
    ["round trip", "work", "LVI", "f", "both at once", "total", "p99", "total − max(LVI, f)", "total − both"],
    grid.map((cell) => [
      String(cell.roundTripMs),
      String(cell.workMs),
      shown(cell.lvi),
      shown(cell.f),
      shown(cell.both),
      shown(cell.total),
      shown(cell.p99),
      shown(cell.excess),
      shown(cell.excessOfBoth),
    ]),
  )}
Over max(LVI, f): at most ${largestAndMedian(grid.map(({ excess }) => excess))}; over both at once: at most ${largestAndMedian(grid.map(({ excessOfBoth }) => excessOfBoth))}. ${SAMPLES} samples a cell were taken in turns, ${machine.separated ? "locations on one core, all else on the others" : "all on the same cores"}. Seed ${seed}, ${machine.cores} × ${machine.cpu}, Node ${machine.node}, with a load of ${machine.loadBefore.toFixed(1)} before.
`;
}

function largestAndMedian(values: readonly number[]): string {
  return `${shown(Math.max(...values))} ms, median ${shown(median(values))}`;
}

function percent(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}

function atOnceSections({ idle, lane }: AtOnce): ReadonlyMap<string, string> {
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
  ]);
}

function cacheSections({ cold, staleness, doubt }: Caches): ReadonlyMap<string, string> {
  const reasons = [...new Set(cold.flatMap((row) => Object.keys(row.reasons)))].toSorted();
  return new Map([
    [
      "cold",
      table(
        [
          "requests",
          "p50",
          "hit",
          "validated",
          ...STALE_BY.map((by) => `failed: ${by}`),
          ...reasons.map((reason) => `\`${reason}\``),
        ],
        cold.map((row) => [
          row.requests,
          shown(row.p50),
          percent(row.hit),
          percent(row.validated),
          ...STALE_BY.map((by) => percent(row.failedBy[by])),
          ...reasons.map((reason) => percent(row.reasons[reason] ?? 0)),
        ]),
      ),
    ],
    [
      "staleness",
      table(
        ["", "requests a second at each", ...MEANS.map((means) => `validated, ${means}`), "concurrent"],
        staleness.map((row) => [
          row.workload,
          String(row.rate),
          ...MEANS.map((means) => percent(row.validated[means])),
          percent(row.concurrent),
        ]),
      ),
    ],
    [
      "doubt",
      table(
        ["", "likelihood", "runs without effect", "if f never waited", "waits needlessly"],
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

/** The page with these sections in their places, each with the day of the run. */
function withTables(before: string, sections: ReadonlyMap<string, string>): string {
  const day = new Date().toISOString().slice(0, 10);
  let text = before;
  for (const [name, section] of sections) {
    const place = new RegExp(`(<!-- ${name} -->\n).*(<!-- /${name} -->)`, "s");
    if (!place.test(text)) throw new Error(`the page has no place for ${name}`);
    text = text.replace(
      place,
      (_, begin: string, end: string) => `${begin}\n${section.trim()}\n\nMeasured on ${day}.\n\n${end}`,
    );
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
