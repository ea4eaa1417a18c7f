/**
 * `pnpm bench:central`: how right *central, about* is, which the dashboard and `radical dev --central` show. The evaluation's
 * handlers run under `radical dev --central`, on the benchmark's data: at a location, and at `central`, in turns. The page's own
 * reckoning is compared with the median of what was measured.
 */
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { commandLine } from "@radical/command-line";
import { Reckoner } from "@radical/dashboard/model";
import { itemToJson, loadProject, PAPER_LOCATIONS, type Project, seedItems } from "@radical/app";
import { buildForBenchmark, type BuiltApp, drawnCall, median, prepared } from "@radical/bench";
import { Random } from "@radical/history";
import {
  callPath,
  DASHBOARD_STREAM_PATH,
  DASHBOARD_TOKEN_HEADER,
  type DashboardLine,
  isHiddenTable,
  type Life,
  splitUnit,
} from "@radical/protocol";
import { LOCATION_HEADER } from "@radical/local";
import { valueOf } from "../../src/data/data-work.ts";
import { startTestApp } from "../../src/testing.ts";

const TEMPLATES = fileURLToPath(new URL("../../../../templates", import.meta.url));
const CENTRAL = "central";
/** Both aims of the design: a difference is small if it is below one of them. */
const [MOST_SHARE, MOST_MS] = [0.1, 5];
const ZIPF = 0.99;

const options = commandLine({
  name: "pnpm bench:central",
  words:
    "Compares the time that the dashboard reckons for central with the measured one, for each handler of the evaluation.",
  options: {
    part: { kind: "operands", of: ["social", "hotel", "forum", "images", "board"], words: "the applications" },
    rounds: { kind: "number", default: 30, least: 1, words: "calls of each handler, at the location and at central" },
    location: { kind: "text", placeholder: "name", default: "JP", words: "of the paper" },
    json: { kind: "flag", words: "print the rows as JSON" },
    seed: { kind: "seed", words: "of data and calls" },
  },
  exitCodes: ["each handler is within the aim", "one is not"],
  examples: [["pnpm bench:central"], ["pnpm bench:central social --rounds 10"]],
});

interface Row {
  readonly application: string;
  readonly handler: string;
  /** Share of the calls at the location that ran there. */
  readonly ranHere: number;
  readonly tookMs: number;
  readonly centralMs: number;
  readonly reckonedMs: number;
}

/** As the benchmarks know callers, in place of the application's own code. Its services do nothing. */
const workerWith = (services: readonly string[]): string => `import { createRadical } from "radical:worker";
const services = {${services.map((name) => ` ${name}: () => "",`).join("")} };
export default createRadical({ authenticate: ({ headers }) => headers.get("x-bench-caller"), services });
`;

async function measure(name: string): Promise<readonly Row[]> {
  const project = await loadProject(join(TEMPLATES, name));
  const built = await buildForBenchmark(project);
  const folder = await copied(project, built);
  try {
    return await measureIn(folder, name, built);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The project with the benchmark's data as its seed, and its way to know callers. */
async function copied({ root, config }: Project, { app, module, benchmark }: BuiltApp): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "radical-central-"));
  await cp(root, folder, {
    recursive: true,
    // Templates share files by links.
    dereference: true,
    filter: (path) => !/node_modules|\.radical|\.ndjson$/.test(path.slice(root.length)),
  });
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  await writeFile(join(folder, config.worker), workerWith(Object.keys(app.manifest.services ?? {})));
  const seed = benchmark.prepare === undefined ? await seedItems(root, app.manifest) : [];
  const items = prepared(app, module, benchmark, seed, new Random(options.seed, ZIPF).fork("prepare"));
  const lines = Array.from(items, ([unit, value]) => {
    const { table, key } = splitUnit(unit);
    if (isHiddenTable(table)) return "";
    return `{"table": ${JSON.stringify(table)}, "key": ${JSON.stringify(key)}, "value": ${valueOf(itemToJson({ table, key, value }))}}`;
  });
  await writeFile(join(folder, "seed.ndjson"), lines.filter((line) => line !== "").join("\n"));
  return folder;
}

async function measureIn(folder: string, name: string, { benchmark }: BuiltApp): Promise<readonly Row[]> {
  const { location } = options;
  const distance = PAPER_LOCATIONS.find((known) => known.name === location)?.roundTripMs ?? 0;
  const app = await startTestApp({ project: folder, central: true, locations: { [location]: distance }, seeded: true });
  const ending = new AbortController();
  try {
    const lives: Life[] = [];
    const following = follow(app.dashboard!, (life) => lives.push(life), ending.signal);
    const draw = new Random(options.seed, ZIPF).fork("calls");
    const failed = new Set<string>();
    for (let round = 0; round < options.rounds; round++)
      for (const request of benchmark.requests)
        for (const place of round % 2 === 0 ? [location, CENTRAL] : [CENTRAL, location]) {
          const { handler, args, caller } = drawnCall(request, draw);
          const called = callPath(handler, args);
          const response = await fetch(`${app.url}${called.path}`, {
            method: "POST",
            body: JSON.stringify(called.args),
            headers: {
              "content-type": "application/json",
              [LOCATION_HEADER]: place,
              ...(caller === undefined ? {} : { "x-bench-caller": caller }),
            },
          });
          const text = await response.text();
          if (response.status >= 500 || response.status === 400) failed.add(`${handler}: ${response.status} ${text}`);
        }
    if (failed.size > 0) process.stderr.write(`${[...failed].slice(0, 5).join("\n")}\n`);
    // The halves of the last calls come when their writes are applied.
    const sent = 2 * options.rounds * benchmark.requests.length;
    await settled(() => lives.filter(({ side }) => side === "location").length >= sent);
    ending.abort();
    await following;
    return rowsOf(name, lives, location, distance);
  } finally {
    ending.abort();
    await app.stop();
  }
}

async function follow(dashboard: string, onLife: (life: Life) => void, signal: AbortSignal): Promise<void> {
  const { origin, hash } = new URL(dashboard);
  const response = await fetch(origin + DASHBOARD_STREAM_PATH, {
    headers: { [DASHBOARD_TOKEN_HEADER]: hash.slice(1) },
    signal,
  });
  let rest = "";
  try {
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const told = line === "" ? null : (JSON.parse(line) as DashboardLine);
        if (told?.kind === "life") onLife(told);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

const POLL_MS = 50;

async function settled(isDone: () => boolean): Promise<void> {
  for (let poll = 0; poll < 200 && !isDone(); poll++) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
}

/** The page's reckoning: that of each call at the location when it has heard everything, beside calls at central. */
function rowsOf(application: string, lives: readonly Life[], location: string, distance: number): readonly Row[] {
  const reckoner = new Reckoner({
    most: lives.length,
    isCentral: (place) => place === CENTRAL,
    distances: (place) => (place === location ? distance * 1_000 : null),
  });
  for (const life of lives) reckoner.add(life);
  const { central, calls } = reckoner;
  const handlers = new Set(calls.map(({ life }) => life.handler));
  return [...handlers].toSorted().flatMap((handler): readonly Row[] => {
    const own = calls.filter(({ life }) => life.handler === handler && life.place === location && life.code === null);
    const reckoned = own.flatMap((call) => central.of(call)?.totalUs ?? []);
    const measured = own[0] === undefined ? null : central.measuredUs(own[0]);
    if (measured === null || reckoned.length === 0) return [];
    const here = own.filter(({ life }) => life.path !== "near-storage").length;
    return [
      {
        application,
        handler,
        ranHere: here / own.length,
        tookMs: median(own.map(({ life }) => life.tookUs)) / 1_000,
        centralMs: measured / 1_000,
        reckonedMs: median(reckoned) / 1_000,
      },
    ];
  });
}

function isWithin({ centralMs, reckonedMs }: Row): boolean {
  return Math.abs(reckonedMs - centralMs) <= Math.max(MOST_MS, MOST_SHARE * centralMs);
}

function print(rows: readonly Row[]): void {
  const ms = (value: number): string => value.toFixed(1);
  console.log("| application | handler | ran here | took | central, measured | central, about | difference |");
  console.log("| --- | --- | --- | --- | --- | --- | --- |");
  for (const row of rows) {
    const { application, handler, ranHere, tookMs, centralMs, reckonedMs } = row;
    const difference = `${ms(reckonedMs - centralMs)}${isWithin(row) ? "" : " ✗"}`;
    console.log(
      `| ${application} | \`${handler}\` | ${Math.round(ranHere * 100)} % | ${ms(tookMs)} | ${ms(centralMs)} | ${ms(reckonedMs)} | ${difference} |`,
    );
  }
}

const rows: Row[] = [];
const loadBefore = loadavg()[0]!.toFixed(1);
for (const name of options.part) rows.push(...(await measure(name)));
if (options.json) console.log(JSON.stringify({ loadBefore, rows }));
else {
  print(rows);
  const within = rows.filter(isWithin).length;
  console.log(
    `\n${within} of ${rows.length} handlers are within 10 % or 5 ms. ${options.rounds} rounds, seed ${options.seed}, load before ${loadBefore}.`,
  );
}
process.exitCode = rows.every(isWithin) ? 0 : 1;
