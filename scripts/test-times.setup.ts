/**
 * Appends to the file named by the environment how long each test file takes, by the wall and by the processor. The
 * processor's time is that of the process that runs the file and, on Linux, of all processes that it started and waited
 * for. The time of a process that is killed together with its parent is lost: nobody waits for it.
 */
import { appendFileSync, readFileSync } from "node:fs";
import process from "node:process";
import { afterAll, expect } from "vitest";
import { type Measured, TIMES_FILE } from "./test-times.ts";

/** The unit in which Linux tells times of processes, everywhere. */
const TICKS_PER_SECOND = 100;

/** Several files may take turns in one process; this module is loaded anew for each. */
const kept = globalThis as { radicalProcessorSeconds?: number };
const startedMs = performance.now();

function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1_000_000;
  if (process.platform !== "linux") return own;
  // `pid (command) state …`: counted from the state, the times of children are the 14th and the 15th.
  const fields = readFileSync("/proc/self/stat", "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return own + (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

// The hook that is registered first runs last, when the file's own hooks have stopped what it started.
afterAll(() => {
  const times = process.env[TIMES_FILE];
  const file = expect.getState().testPath;
  if (times === undefined || file === undefined) return;
  const total = processorSeconds();
  const measured: Measured = {
    file,
    wallSeconds: (performance.now() - startedMs) / 1_000,
    processorSeconds: total - (kept.radicalProcessorSeconds ?? 0),
  };
  kept.radicalProcessorSeconds = total;
  appendFileSync(times, `${JSON.stringify(measured)}\n`);
});
