/**
 * How soon `npm run dev` of a new application answers, and how much memory its processes take when nobody uses them.
 *
 * The memory is the proportional set size of Linux: pages that processes share count once. The resident size counts them for
 * each process, and is told beside it.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { descendantsOf } from "../packages/cli/e2e/radical-process.ts";
import { startDevProcess } from "./dev-process.ts";
import { packScaffolder, scaffoldApp } from "./packed-app.ts";

export interface DevWeight {
  /** From the start of npm to the answer of a handler. */
  readonly firstAnswerMs: number;
  /** Megabytes of all processes, npm among them. */
  readonly proportionalMb: number;
  readonly residentMb: number;
  readonly processes: number;
}

/** Of so many starts, each with the data of the ones before. The memory is read `idleMs` after the answer. */
export async function devWeights(starts: number, idleMs: number): Promise<readonly DevWeight[]> {
  const folder = await mkdtemp(join(tmpdir(), "radical-dev-weight-"));
  try {
    const app = await scaffoldApp(await packScaffolder(folder), folder, "weighed", "social");
    const all: DevWeight[] = [];
    for (let start = 0; start < starts; start++) all.push(await weigh(app, start, idleMs));
    return all;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function weigh(app: string, start: number, idleMs: number): Promise<DevWeight> {
  const startedAtMs = performance.now();
  const dev = await startDevProcess(app, ["--port", "0"]);
  try {
    // A name is registered once.
    const body = JSON.stringify({ name: `ann${start}`, password: "correct horse" });
    const { status } = await fetch(`${dev.url}/api/register`, { method: "POST", body });
    if (status !== 200) throw new Error(`the handler answered ${status}`);
    const firstAnswerMs = performance.now() - startedAtMs;
    await sleep(idleMs);
    const pid = dev.child.pid ?? 0;
    const pids = [pid, ...(await descendantsOf(pid))];
    const sizes = await Promise.all(pids.map(sizeOf));
    const sum = (name: "Pss" | "Rss"): number => sizes.reduce((total, size) => total + size[name], 0) / 1024;
    return { firstAnswerMs, proportionalMb: sum("Pss"), residentMb: sum("Rss"), processes: pids.length };
  } finally {
    await dev.stop();
  }
}

/** In KiB: https://man7.org/linux/man-pages/man5/proc_pid_smaps.5.html */
async function sizeOf(pid: number): Promise<Readonly<Record<"Pss" | "Rss", number>>> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  const of = (name: string): number => Number(new RegExp(String.raw`^${name}: +(\d+) kB`, "m").exec(text)?.[1] ?? 0);
  return { Pss: of("Pss"), Rss: of("Rss") };
}
