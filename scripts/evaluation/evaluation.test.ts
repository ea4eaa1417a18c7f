/** Verdicts, tables and pictures of made-up results are right, and the committed results are shown as they are. */
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { OperationRow } from "../../packages/bench/src/result.ts";
import { type Chart, drawChart, type LinePanel } from "./chart.ts";
import { costOf } from "./cost-of-results.ts";
import { partOf } from "./evaluation-part.ts";
import { chartsOf } from "./pictures.ts";
import { readResults, RESULTS_FOLDER } from "./results.ts";
import { madeResults } from "./testing/made-results.ts";
import { verdictsOf } from "./verdict.ts";

const MADE = madeResults();
const PAGES = ["docs/evaluation.md", "docs/internals/measurements/evaluation.md", "docs/README.md", "README.md"].map(
  (page) => path.resolve(import.meta.dirname, "../..", page),
);

test("the pictures are what the results say (else: pnpm bench:report)", () => {
  const charts = chartsOf(readResults(RESULTS_FOLDER));
  const files = globSync("*.svg", { cwd: RESULTS_FOLDER });
  expect(files.toSorted()).toEqual([...charts.keys()].map((name) => `${name}.svg`).toSorted());
  for (const [name, chart] of charts) {
    expect(readFileSync(path.join(RESULTS_FOLDER, `${name}.svg`), "utf8")).toBe(drawChart(chart));
  }
});

describe("verdicts", () => {
  test("are met where the figures are good enough", () => {
    const verdicts = verdictsOf(MADE);
    expect(verdicts.filter(({ met }) => !met)).toEqual([]);
    expect(verdicts.map(({ what, found, where }) => `${what}: ${found} (${where})`)).toEqual([
      // Central takes 120 + 78 + 3, radical 122, ideal 121.
      "share of the possible improvement, at the median: 98.8 % (social)",
      "share of the possible improvement, at the median: 98.8 % (hotel)",
      "share of the possible improvement, at the median: 98.8 % (forum)",
      "validation succeeds, paper profile: 99.50 % (social)",
      "validation succeeds, paper profile: 99.50 % (hotel)",
      "validation succeeds, paper profile: 99.50 % (forum)",
      // At VA: 7 + 213 + 3 beside 213 + 2; and with a handler of 0.52 ms, at all alike, 7 + 0.52 + 3 beside 7 + 2.
      "slower than central, at any handler and location, paper profile: -8.0 ms (social, login, VA; the interval is -8.5 to -7.5)",
      "slower than central, at any handler and location, native profile: -1.5 ms (hotel, review, CA; the interval is -2.0 to -1.0)",
      "f^rw at the median: 0.040 ms (social, login)",
      // Of 6.44 ms, in the native profile.
      "f^rw of f, where f takes over 5 ms: 0.62 % (hotel, search)",
      // 2,500 requests a second, provisioned. Lambda: 6,779 for reads, 170 for writes, 2,356 of traffic, 4.50 stored.
      // Radical: 1,009 for calls of caches, 16 awake, 106 and 936 for rows, 37 for the primary. Then 163 for reads, 339
      // for writes, 405 of traffic, 4.50 stored.
      "infrastructure beside central on Lambda, at the paper's 50,000 reads a second: 0.33 × (forum)",
    ]);
  });

  test.each([
    ["share of the possible improvement", { slowerMs: 2 }],
    ["validation succeeds", { validShare: 0.9899 }],
    ["slower than central", { slowerMs: 11 }],
    ["f^rw at the median", { rwMs: 0.101 }],
    ["f^rw of f", { rwMs: 0.3 }],
  ])("%s is not met where they are not", (what, made) => {
    const verdicts = verdictsOf(madeResults(made)).filter((verdict) => verdict.what.startsWith(what));
    expect(verdicts.some(({ met }) => !met)).toBe(true);
    expect(partOf("verdict", madeResults(made))).toContain("| **not met** |");
  });

  test("say what was not measured", () => {
    const paper = MADE["end-to-end-paper"]!;
    const cut = { ...paper, improvements: [], differences: [], executionTimes: [], validations: [], operations: [] };
    const verdicts = verdictsOf({ "end-to-end-paper": cut });
    expect(verdicts.map(({ found, met }) => `${found}${met}`)).toEqual(verdicts.map(() => "null"));
    expect(partOf("verdict", { "end-to-end-paper": cut })).toContain("| **not measured** |");
  });

  test("say that a run was too short, and nothing without a run", () => {
    expect(partOf("verdict", MADE)).toContain("too short for conclusions");
    expect(partOf("verdict", {})).toBe("No results of `end-to-end-paper` are here yet.");
    expect(verdictsOf({})).toEqual([]);
  });
});

describe("a page", () => {
  const parts = PAGES.flatMap((page) => [...readFileSync(page, "utf8").matchAll(/<!-- from: evaluation (.*?) -->/g)])
    .map(([, part = ""]) => part)
    .filter((part, index, all) => all.indexOf(part) === index);

  test.each(parts)("has %s, with results and without", (part) => {
    const made = partOf(part, MADE);
    // Nobody makes up results of these.
    if (!["near-primary", "validation-causes"].includes(part)) expect(made).not.toContain("are here yet");
    expect(made).not.toMatch(/undefined|NaN|null/);
    expect(partOf(part, {})).toMatch(/^No /);
    const widths = made.split("\n").flatMap((line) => (line.startsWith("|") ? [line.split(/(?<!\\)\|/).length] : []));
    expect(new Set(widths).size).toBeLessThanOrEqual(1);
  });

  test.each(parts)("has %s of experiments that were ended before they began", (part) => {
    const nothing = { runs: [], latencies: [], improvements: [], differences: [], executionTimes: [], phases: [] };
    const more = { validations: [], coldStarts: [], replications: [], operations: [], checks: [] };
    const cut = Object.entries(MADE).map(([name, result]) => [name, { ...result, ...nothing, ...more }] as const);
    expect(partOf(part, Object.fromEntries(cut))).not.toMatch(/undefined|NaN|Infinity/);
  });

  test("shows the handlers beside the paper's", () => {
    expect(partOf("handlers", MADE)).toContain(
      "| hotel | `search` | no | sliced \\* | 161 | 161.0 | 60.0 % | 60.0 % | 0.040 | 0.02 % |",
    );
  });

  test("says on front pages what the worst and the best application gain", () => {
    expect(partOf("line-paper", MADE)).toContain("median latency is 27 to 39 % lower** than next to the data, over");
    expect(partOf("line-native", MADE)).toMatch(
      /the median of all calls is .* lower, and the mean .* at worst .* ms higher\./,
    );
  });

  test("names no part and no picture that there is not", () => {
    expect(() => partOf("nothing", MADE)).toThrow('no part "nothing"');
    expect(() => partOf("picture nothing", MADE)).toThrow('no picture "nothing"');
  });
});

describe("costs", () => {
  const native = MADE["end-to-end-native"]!;
  const costs = (change: Partial<OperationRow>): ReturnType<typeof costOf> =>
    costOf({ "end-to-end-native": { ...native, operations: native.operations.map((row) => ({ ...row, ...change })) } });

  test("follow from the operations that were counted, and from what is assumed of the others", () => {
    const [social] = costOf(MADE);
    // 10,000 bytes for 20 units: items of 500 bytes.
    expect(social!.central).toMatchObject({ readUnits: 20, writeUnits: 0.1 });
    expect(social!.radical.writeUnits).toBeCloseTo(0.02 * 5 + 0.05 * 2, 9);
    expect(social!.paperRate?.requestsPerSecond).toBe(2_500);
    // 60 of 2,500 ran near storage. Handlers take 1.03 times 4.96 ms in the mean of the mix. It is `(213 × 0.095 + 106 ×
    // 0.005 + 16 × 0.005 + 120 × 0.8 + 124 × 0.095) × 0.04`.
    const f = 1.03 * 0.04 * (213 * 0.095 + 106 * 0.005 + 16 * 0.005 + 120 * 0.8 + 124 * 0.095);
    const { radical, central } = social!;
    expect(radical.locationCpuMs).toBeCloseTo(f + 2, 9);
    expect(radical.primaryCpuMs).toBeCloseTo(0.024 * f + 0.1 + 0.02 * 0.3, 9);
    expect(radical.cacheCalls).toBeCloseTo(1.024, 9);
    expect(radical.cacheRowsWritten).toBeCloseTo(0.05 + 0.1, 9);
    expect(radical.readUnits).toBeCloseTo(0.024 * 20, 9);
    expect(radical.primaryBytes).toBe(700);
    expect(central.cpuMs).toBeCloseTo(f + 1, 9);
  });

  test("are unknown where nobody counted what is read", () => {
    expect(costs({ unitsRead: 0 })).toEqual([]);
    expect(costOf({ "end-to-end-native": { ...native, operations: [] } })).toEqual([]);
  });
});

test("results of another format, or under another name, are no results", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "radical-results-"));
  const result = MADE.skew!;
  writeFileSync(path.join(folder, "skew.json"), JSON.stringify(result));
  expect(readResults(folder)).toEqual({ skew: result });
  writeFileSync(path.join(folder, "contention.json"), JSON.stringify(result));
  expect(() => readResults(folder)).toThrow('no result of "contention" in format 1');
  writeFileSync(
    path.join(folder, "contention.json"),
    JSON.stringify({ ...result, experiment: "contention", format: 2 }),
  );
  expect(() => readResults(folder)).toThrow("format 1");
  rmSync(folder, { recursive: true });
});

describe("a picture", () => {
  const lines = (panel: Partial<LinePanel>): Chart => ({
    title: "A < B",
    description: "what it shows",
    legend: [{ name: "radical", colour: 0 }],
    columns: 1,
    panels: [
      {
        kind: "lines",
        heading: "",
        x: { label: "x, ms", scale: "linear" },
        y: { label: "y, ms", scale: "linear" },
        lines: [
          {
            series: "radical",
            marked: true,
            points: [
              [0, 0],
              [10, 50],
            ],
          },
        ],
        ...panel,
      },
    ],
  });

  test("is the same bytes for the same results, well formed, and says in words what it shows", () => {
    for (const [name, chart] of chartsOf(MADE)) {
      const svg = drawChart(chart);
      expect(drawChart(chartsOf(madeResults()).get(name)!)).toBe(svg);
      expect(svg).not.toMatch(/NaN|undefined|Infinity/);
      expect(svg).toContain(`<desc id="description">`);
      expect(svg.match(/<(?!\/|\?)[^>]*[^/]>/g)!.length).toBe(svg.match(/<\/\w+>/g)!.length);
    }
    expect(drawChart(lines({}))).toContain('<title id="title">A &lt; B</title>');
  });

  test("has points where the axes say", () => {
    const at = (svg: string): readonly (readonly number[])[] =>
      [...svg.matchAll(/<circle class="f0" cx="([\d.]+)" cy="([\d.]+)"/g)].map(([, x, y]) => [Number(x), Number(y)]);
    // The plot is from 70 to 800 and, below the title, one line of legend and the heading, from 96 to 286.
    expect(at(drawChart(lines({})))).toEqual([
      [70, 286],
      [800, 96],
    ]);
    const logarithmic = lines({
      x: { label: "x, ms", scale: "logarithmic" },
      lines: [
        {
          series: "radical",
          marked: true,
          points: [
            [1, 0],
            [10, 25],
            [100, 50],
          ],
        },
      ],
    });
    expect(at(drawChart(logarithmic))).toEqual([
      [70, 286],
      [435, 191],
      [800, 96],
    ]);
  });

  test("has no place for what is not in its legend, for nothing, or for 0 by powers of ten", () => {
    expect(() => drawChart({ ...lines({}), legend: [] })).toThrow('the legend has no "radical"');
    expect(() => drawChart(lines({ lines: [] }))).toThrow('"x, ms" has nothing to show');
    expect(() => drawChart(lines({ x: { label: "x, ms", scale: "logarithmic" } }))).toThrow("is logarithmic and has 0");
  });
});
