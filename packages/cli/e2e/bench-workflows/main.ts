/**
 * `pnpm bench:workflows`: what many tasks at once gain from a second core, and what steps of a workflow cost beside the same work in
 * one handler. Real processes on this machine, which take turns: only ratios of one run count.
 */
import { randomUUID } from "node:crypto";
import { cpSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { PAPER_LOCATIONS } from "@radical/app";
import { median } from "@radical/bench";
import { commandLine } from "@radical/command-line";
import { startTestApp, type TestApp } from "../../src/testing.ts";
import {
  endWith,
  type Figure,
  FIGURE_EXIT_CODES,
  FIGURE_OPTIONS,
  figure,
  lineOf,
  tellProgress,
} from "../bench-figure.ts";
import { createProject } from "../radical-process.ts";

const PARTS = ["scaling", "services", "steps"] as const;
const SOURCES = ["../fixtures/many-steps", "../../../analyzer/fixtures/workflows/handlers"] as const;

const { part, turns, points, rounds, output, json } = commandLine({
  name: "pnpm bench:workflows",
  words:
    "Measures Crucial's π and k-means with one worker beside two, a thousand calls of a service that takes 100 ms, and a workflow of\nthree steps beside one handler of the same work.",
  options: {
    part: { kind: "operands", of: PARTS, words: "what is measured" },
    turns: { kind: "number", default: 5, quick: 1, least: 1, words: "of each" },
    points: { kind: "number", default: 20_000, quick: 2_000, least: 1_000, words: "of each of the 64 tasks of π" },
    rounds: { kind: "number", default: 2_000_000, quick: 200_000, least: 1_000, words: "of the work of one step" },
    ...FIGURE_OPTIONS,
  },
  exitCodes: FIGURE_EXIT_CODES,
  examples: [
    ["pnpm bench:workflows", "some minutes, on a machine that does nothing else"],
    ["pnpm bench:workflows scaling --turns 9", "only what a second core gives"],
    ["pnpm bench:workflows --quick", "half a minute"],
  ],
});

/** None takes half a second: such a run gives way to others that wait for a worker. */
const TASKS = 64;
/** Of the points of k-means. */
const SETS = 32;
const CENTERS = 10;
const POINTS_OF_A_PART = 2_000;
const CLUSTER_ROUNDS = 10;
const CALLS = 1_000;
const SLOW_MS = 100;
const FAR = "JP";

/** The application, with a primary that has so many workers. */
async function withApp<T>(
  workers: number,
  locations: Readonly<Record<string, number>>,
  use: (app: TestApp) => Promise<T>,
): Promise<T> {
  const project = await createProject({});
  cpSync(fileURLToPath(new URL(SOURCES[0], import.meta.url)), project.folder, { recursive: true });
  cpSync(fileURLToPath(new URL(SOURCES[1], import.meta.url)), `${project.folder}/handlers`, { recursive: true });
  try {
    const app = await startTestApp({ project: project.folder, locations, workers });
    try {
      return await use(app);
    } finally {
      await app.stop();
    }
  } finally {
    await project.remove();
  }
}

/** Processor time of all cores since the machine's start, in milliseconds. */
function busyMs(): number {
  let sum = 0;
  for (const { times } of cpus()) sum += times.user + times.nice + times.sys + times.irq;
  return sum;
}

/** Of a workflow: its client asks until it has ended. */
async function timeOf(app: TestApp, handler: string, args: object, location?: string): Promise<Timed> {
  const at = location === undefined ? {} : { location };
  const options = { ...at, idempotencyKey: randomUUID(), headers: { prefer: "wait=60" } };
  const startedAtMs = performance.now();
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- it is asked until it has ended
    const { status, result, error } = await app.call(handler, args, options);
    if (status === 200) return { ms: performance.now() - startedAtMs, result };
    if (status !== 202) throw new Error(`${handler} was answered with ${status}: ${error?.message ?? ""}`);
  }
}

interface Timed {
  readonly ms: number;
  readonly result: unknown;
}

const NEAR = { near: 1 };

async function measureScaling(): Promise<readonly Figure[]> {
  return withApp(1, NEAR, (one) =>
    withApp(2, NEAR, async (two) => {
      const set = "all";
      const coordinates = (n: number): { readonly x: number; readonly y: number } => ({
        x: (n * 0.754877666) % 1,
        y: (n * 0.569840291) % 1,
      });
      const args = {
        pi: { tasks: TASKS, points },
        cluster: {
          set,
          first: Array.from({ length: CENTERS }, (_, n) => coordinates(n)),
          rounds: CLUSTER_ROUNDS,
        },
      };
      for (const app of [one, two])
        for (let each = 0; each < SETS; each++) {
          const some = Array.from({ length: POINTS_OF_A_PART }, (_, n) => coordinates(each * POINTS_OF_A_PART + n));
          await app.result("putPoints", { set, part: each, points: some });
        }
      const figures: Figure[] = [];
      for (const [handler, atLeast] of [
        ["pi", 0.9],
        ["cluster", 0.8],
      ] as const) {
        const times: { readonly one: number; readonly two: number; readonly cpuOfOne: number }[] = [];
        // The first turn warms the processes up.
        for (let turn = 0; turn <= turns; turn++) {
          const before = busyMs();
          const ofOne = await timeOf(one, handler, args[handler]);
          const cpuOfOne = busyMs() - before;
          const ofTwo = await timeOf(two, handler, args[handler]);
          if (handler === "cluster" && JSON.stringify(ofOne.result) !== JSON.stringify(ofTwo.result))
            throw new Error("k-means has two results");
          tellProgress(
            `${handler}, turn ${turn}: ${ofOne.ms.toFixed(0)} ms with one worker, ${ofTwo.ms.toFixed(0)} ms with two`,
          );
          if (turn > 0) times.push({ one: ofOne.ms, two: ofTwo.ms, cpuOfOne });
        }
        const least = (of: "one" | "two"): number => Math.min(...times.map((each) => each[of]));
        const name = handler === "pi" ? "π" : "k-means";
        figures.push(
          figure(`${name}: with one worker, least`, least("one"), "ms"),
          // A worker takes 1 at most. The rest is the server's thread and the caller, which share the two cores with two workers.
          figure(
            `${name}: processor time with one worker, beside the time`,
            median(times.map((each) => each.cpuOfOne / each.one)),
            "×",
          ),
          figure(`${name}: T1 / (2 · T2), median`, median(times.map((each) => each.one / (2 * each.two))), "×", {
            atLeast,
          }),
          figure(`${name}: the same, of the least times`, least("one") / (2 * least("two")), "×"),
        );
      }
      return figures;
    }),
  );
}

async function measureServices(): Promise<readonly Figure[]> {
  return withApp(2, NEAR, async (app) => {
    await timeOf(app, "callMany", { calls: 10 });
    const times: number[] = [];
    for (let turn = 0; turn < turns; turn++) {
      const { ms, result } = await timeOf(app, "callMany", { calls: CALLS });
      if (result !== CALLS) throw new Error(`${String(result)} of ${CALLS} answers are right`);
      tellProgress(`services, turn ${turn + 1}: ${ms.toFixed(0)} ms`);
      times.push(ms);
    }
    const share = median(times) / (CALLS * SLOW_MS);
    return [figure(`${CALLS} calls of a service of ${SLOW_MS} ms, beside their sum`, share, "×", { atMost: 0.05 })];
  });
}

async function measureSteps(): Promise<readonly Figure[]> {
  const locations = Object.fromEntries(PAPER_LOCATIONS.map(({ name, roundTripMs }) => [name, roundTripMs]));
  return withApp(2, locations, async (app) => {
    const times: { readonly steps: number; readonly once: number }[] = [];
    for (let turn = 0; turn <= turns * 4; turn++) {
      const args = { key: `turn-${turn}`, rounds };
      const once = await timeOf(app, "threeAtOnce", args, FAR);
      const steps = await timeOf(app, "threeSteps", args, FAR);
      if (once.result !== steps.result) throw new Error("the same work has two results");
      if (turn > 0) times.push({ steps: steps.ms, once: once.ms });
    }
    const of = (which: "steps" | "once"): number => median(times.map((each) => each[which]));
    return [
      figure("one handler near storage, from Japan, p50", of("once"), "ms"),
      figure("a workflow of three steps of that work, p50", of("steps"), "ms"),
      figure("the workflow beside the handler", of("steps") / of("once"), "×", { atMost: 1.2 }),
    ];
  });
}

const MEASURES = { scaling: measureScaling, services: measureServices, steps: measureSteps };
const figures: Figure[] = [];
const loadBefore = loadavg()[0];
for (const each of part) {
  const measured = await MEASURES[each]();
  figures.push(...measured);
  for (const one of measured) tellProgress(lineOf(one));
}
await endWith(figures, { turns, points, rounds, loadBefore, loadAfter: loadavg()[0] }, { output, json });
