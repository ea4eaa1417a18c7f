/** How long the files of the test suite take, by the wall and by the processor, and how long one of them may. */
import { readFileSync } from "node:fs";
import path from "node:path";

/** The environment variable that names the file to which `test-times.setup.ts` appends a line for each test file. */
export const TIMES_FILE = "RADICAL_TEST_TIMES_FILE";

/** Such a line. */
export interface Measured {
  /** An absolute path in the lines, one from the root of the repository elsewhere. */
  readonly file: string;
  readonly wallSeconds: number;
  readonly processorSeconds: number;
}

/**
 * The most that a file of the short tier may take. The limit is on processor time. Wall time depends on whatever else the
 * machine does, so a limit on it fails now and then without a reason.
 */
export const MOST_PROCESSOR_SECONDS = 20;

/** The measured files, the dearest first; of one that ran twice, the second time. @param lines the file with the lines */
export function timesOf(root: string, lines: string): readonly Measured[] {
  const times = new Map<string, Measured>();
  for (const line of readFileSync(lines, "utf8").split("\n").filter(Boolean)) {
    const { file, wallSeconds, processorSeconds } = JSON.parse(line) as Measured;
    const name = path.relative(root, file).replaceAll(path.sep, "/");
    times.set(name, { file: name, wallSeconds: rounded(wallSeconds), processorSeconds: rounded(processorSeconds) });
  }
  return [...times.values()].toSorted((a, b) => b.processorSeconds - a.processorSeconds);
}

function rounded(seconds: number): number {
  return Math.round(seconds * 100) / 100;
}

/** The files over the limit. @param slowness of the machine, {@link slownessOfMachine}; a fast machine has the same limit */
export function overLimit(times: readonly Measured[], slowness: number): readonly Measured[] {
  return times.filter(({ processorSeconds }) => processorSeconds > MOST_PROCESSOR_SECONDS * Math.max(1, slowness));
}

/** A line for each of the dearest files. */
export function dearest(times: readonly Measured[], count: number): string {
  return times
    .slice(0, count)
    .map(({ file, wallSeconds, processorSeconds }) => `${padded(processorSeconds)} s ${padded(wallSeconds)} s  ${file}`)
    .join("\n");
}

function padded(seconds: number): string {
  return seconds.toFixed(1).padStart(7);
}

/** The seconds of one count on the machine for which the limit was set. */
const REFERENCE_SECONDS = 0.1;

/**
 * Counts how many times as long this machine takes for such work as tests do: objects, strings, garbage. The count is of
 * processor time, which grows where processes share caches, so it is taken while the tests run.
 */
export function slownessOfMachine(): number {
  const before = process.cpuUsage();
  for (let round = 0; round < 20; round++) {
    const items = Array.from({ length: 10_000 }, (_, index) => ({ key: `item ${index * round}`, parts: [index] }));
    JSON.parse(JSON.stringify(items.toSorted((a, b) => (a.key < b.key ? -1 : 1))));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000_000 / REFERENCE_SECONDS;
}
