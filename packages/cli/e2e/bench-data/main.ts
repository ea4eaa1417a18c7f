/**
 * `pnpm bench:data`: what ranges and counters give, ranges beside the same data in one item. Real processes at the
 * distances of the paper's five locations, one LVI server on SQLite, all on this machine.
 */
import { loadavg } from "node:os";
import { commandLine } from "@radical/command-line";
import { untilSignal } from "../../src/operate/until-signal.ts";
import { endWith, type Figure, FIGURE_EXIT_CODES, FIGURE_OPTIONS, lineOf, tellProgress } from "../bench-figure.ts";
import { measureAppends } from "./appends.ts";
import { type Effort, startApp } from "./load.ts";
import { measureSeats } from "./seats.ts";

const PARTS = ["appends", "seats"] as const;
const MEASURES = { appends: measureAppends, seats: measureSeats };

const options = commandLine({
  name: "pnpm bench:data",
  words:
    "Measures appends to one timeline, in turns with other forms of it, and the sale of a thousand seats from five locations.\nOnly ratios count, of one run. Ctrl-C ends it, and tells what was measured until then.",
  options: {
    part: { kind: "operands", of: PARTS, words: "what is measured" },
    callers: { kind: "number", default: 4, least: 1, words: "of each location, each with one call at a time" },
    seconds: { kind: "number", default: 10, quick: 2, least: 1, words: "of each turn" },
    turns: { kind: "number", default: 4, quick: 1, least: 1, words: "of each form" },
    ...FIGURE_OPTIONS,
  },
  exitCodes: FIGURE_EXIT_CODES,
  examples: [
    ["pnpm bench:data", "some ten minutes, on a machine that does nothing else"],
    ["pnpm bench:data --quick", "a minute"],
    ["pnpm bench:data seats --callers 20", "with a hundred buyers at a time"],
  ],
});

const { signal, stopListening } = untilSignal();
const { quick, callers, seconds, turns } = options;
const effort: Effort = { seconds, turns, callers, signal, tell: tellProgress };
const figures: Figure[] = [];
const loadBefore = loadavg()[0];
try {
  const app = await startApp();
  try {
    for (const part of options.part) {
      if (signal.aborted) break;
      const measured = await MEASURES[part](app, effort);
      figures.push(...measured);
      for (const one of measured) tellProgress(lineOf(one));
    }
  } finally {
    await app.stop();
  }
} finally {
  stopListening();
}
await endWith(figures, { seconds, turns, callers, quick, loadBefore, interrupted: signal.aborted }, options);
