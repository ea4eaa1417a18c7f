/**
 * `pnpm bench:live [--json]`: how long after a write begins each subscriber of a live query shows it. Ten subscribers are at each
 * of five locations, at the distances of `radical dev`. 200 writes of one counter come one after the other, from all locations in turn.
 * With `--streams 1000` it measures what that many streams of one query at one location cost.
 */
import { commandLine } from "@radical/command-line";
import { quantile } from "@radical/bench";
import { radicalDev } from "../radical-process.ts";
import { createBoard, runLiveLoad } from "./board.ts";
import { measureManyStreams, wordsOf } from "./many-streams.ts";

/** Round trips to the primary, as the paper has them. */
const ROUND_TRIPS: Readonly<Record<string, number>> = { VA: 7, CA: 74, IE: 70, DE: 93, JP: 146 };
/** Of many streams. */
const CHANGES = 10;
/** A lag that is longer than the writer's round trip, half of the subscriber's and this counts as late. */
const ALLOWED_MS = 250;

async function main(): Promise<void> {
  const { json, streams } = commandLine({
    name: "pnpm bench:live",
    words: "Measure how long after a write the subscribers of a live query show it.",
    options: {
      json: { kind: "flag", words: "as JSON instead of a table" },
      streams: { kind: "number", least: 1, words: "instead: the cost of so many streams of one query at one location" },
    },
    exitCodes: ["it is measured", "it could not be, or a subscriber missed the last state", "wrong options"],
    examples: [
      ["pnpm bench:live", "a table by the location of the subscribers"],
      ["pnpm bench:live --streams 1000", "processor time, memory and messages"],
    ],
  });
  const project = await createBoard();
  const dev = await radicalDev(project.folder);
  try {
    if (streams !== null) {
      const measured = await measureManyStreams(project, dev, streams, CHANGES);
      console.log(json ? JSON.stringify(measured) : wordsOf(measured));
      return;
    }
    const locations = Object.keys(ROUND_TRIPS);
    const load = { project, url: dev.url, locations, subscribersOfLocation: 10, writes: 200 };
    const { disordered, behind, lags } = await runLiveLoad(load);
    const row = (name: string, of: readonly (typeof lags)[number][]) => {
      const ms = of.map((lag) => lag.ms).toSorted((a, b) => a - b);
      const beyond = of
        .map((lag) => lag.ms - ROUND_TRIPS[lag.writer]! - ROUND_TRIPS[lag.subscriber]! / 2)
        .toSorted((a, b) => a - b);
      const [p50, p99, p99Beyond] = [quantile(ms, 0.5), quantile(ms, 0.99), quantile(beyond, 0.99)].map(Math.round);
      return { subscribers: name, lags: of.length, p50, p99, p99Beyond, allowed: ALLOWED_MS };
    };
    const rows = [
      ...locations.map((name) =>
        row(
          name,
          lags.filter(({ subscriber }) => subscriber === name),
        ),
      ),
      row("all", lags),
    ];
    if (json) console.log(JSON.stringify({ disordered, behind, rows }));
    else {
      console.table(rows);
      console.log(`${disordered} subscribers out of order, ${behind} without the last state`);
    }
    if (disordered + behind > 0) process.exitCode = 1;
  } finally {
    dev.child.kill("SIGTERM");
    await dev.closed;
    await project.remove();
  }
}

await main();
