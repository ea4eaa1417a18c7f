/**
 * `pnpm bench:leases`: what read leases save and cost, beside the same without them, in turns on the same machine. Five locations at
 * the paper's distances, real processes, one LVI server for each side on SQLite.
 */
import { loadavg } from "node:os";
import { commandLine } from "@radical/command-line";
import { CommandError } from "@radical/app/command-error";
import { untilSignal } from "../../src/operate/until-signal.ts";
import { endWith, type Figure, lineOf, tellProgress } from "../bench-figure.ts";
import { measureMix, MIXES, nameOf } from "./mixes.ts";
import { buildApplication, type Effort } from "./two-deployments.ts";
import { measureWrites } from "./writes.ts";

const PARTS = ["mixes", "writes"] as const;

const options = commandLine({
  name: "pnpm bench:leases",
  words:
    "Measures read leases beside the same without them, in turns: six mixes of reads and writes, writes of leased items, and\nwrites of others. All that was executed is run again in the end, one execution after the other, and compared.\nOnly ratios count, of one run. Ctrl-C ends it, and tells what was measured until then.",
  options: {
    part: { kind: "operands", of: PARTS, words: "what is measured" },
    mixes: { kind: "text", placeholder: "numbers", words: `some of 1 to ${MIXES.length}, by commas; default: all` },
    rate: { kind: "number", default: 20, least: 1, words: "requests a second of each location" },
    seconds: { kind: "number", default: 30, least: 1, words: "of each turn" },
    turns: { kind: "number", default: 4, least: 1, words: "of each side" },
    writes: { kind: "number", default: 30, least: 1, words: "of each location to leased items, and to others" },
    quick: { kind: "flag", words: "one mix, short turns, few writes: to see that it works" },
    output: { kind: "text", short: "o", placeholder: "file", words: "write the figures to a file, as JSON" },
    json: { kind: "flag", words: "print the figures as JSON" },
    seed: { kind: "seed", words: "of arrivals, requests and data" },
  },
  exitCodes: ["all aims are met", "an aim is missed, or a check has failed"],
  examples: [
    ["pnpm bench:leases", "some forty minutes, on a machine that does nothing else"],
    ["pnpm bench:leases --quick", "two minutes"],
    ["pnpm bench:leases mixes --mixes 1,4 --rate 5", "two of the mixes, where there are few processors"],
  ],
});

const { signal, stopListening } = untilSignal();
const { quick, seed } = options;
const effort: Effort = {
  rate: quick ? Math.min(5, options.rate) : options.rate,
  seconds: quick ? 10 : options.seconds,
  turns: quick ? 1 : options.turns,
  writes: quick ? 4 : options.writes,
  seed,
  signal,
  tell: tellProgress,
};
const chosen = options.mixes?.split(",").map(Number) ?? (quick ? [1] : MIXES.map((_, index) => index + 1));
const figures: Figure[] = [];
const loadBefore = loadavg()[0];
tellProgress(`seed ${seed}`);
try {
  const application = await buildApplication();
  const work = [
    ...(options.part.includes("mixes")
      ? MIXES.filter((_, index) => chosen.includes(index + 1)).map((mix) => ({
          name: nameOf(mix),
          measure: () => measureMix(application, mix, effort),
        }))
      : []),
    ...(options.part.includes("writes") ? [{ name: "writes", measure: () => measureWrites(application, effort) }] : []),
  ];
  for (const { name, measure } of work) {
    if (signal.aborted) break;
    try {
      const measured = await measure();
      figures.push(...measured);
      for (const one of measured) tellProgress(lineOf(one));
    } catch (error) {
      // A failure leaves the others.
      process.exitCode = 1;
      tellProgress(`✗ ${name}: ${error instanceof CommandError ? error.message : String(error)}`);
    }
  }
} finally {
  stopListening();
}
const { rate, seconds, turns } = effort;
await endWith(figures, { seed, quick, rate, seconds, turns, loadBefore, interrupted: signal.aborted }, options);
