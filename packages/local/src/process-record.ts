/**
 * Which processes a `radical dev` has started, on disk: they are orphaned if it is killed, and the next start ends them.
 * Another process may have got a process id since. So each is recorded with its start time, and only a process that has
 * both is ended.
 */
import { execFile } from "node:child_process";
import { readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { CommandError } from "@radical/app/command-error";

/** In the state folder. */
export const PROCESS_RECORD_FILE = "processes.json";
const ENDING_POLL_MS = 20;
const MAX_ENDING_MS = 3_000;

interface RunningProcess {
  readonly pid: number;
  readonly parent: number;
  /** In the words of the platform; together with the pid it names one process. */
  readonly startedAt: string;
}

interface Recorded {
  readonly owner: { readonly pid: number; readonly startedAt: string };
  readonly children: readonly { readonly pid: number; readonly startedAt: string }[];
}

export interface ProcessRecord {
  /** Writes down the current processes below this one; to be called after each start of one. */
  update(): Promise<void>;
  remove(): Promise<void>;
}

export interface Claim {
  readonly record: ProcessRecord;
  /** Processes of an earlier run that were still there and have been ended. */
  readonly reaped: readonly number[];
  /** Whether an earlier run was killed: the system may take a moment more to free what its processes held. */
  readonly isAfterKill: boolean;
}

/** Takes the state folder for this process. Throws a CommandError if another one that lives has it. */
export async function claimStateFolder(stateFolder: string): Promise<Claim> {
  const file = join(stateFolder, PROCESS_RECORD_FILE);
  const running = await listProcesses();
  const earlier = await readRecorded(file);
  const reaped: number[] = [];
  if (earlier !== null) {
    if (isRunning(running, earlier.owner) && earlier.owner.pid !== process.pid) {
      throw new CommandError(
        "already_running",
        `Another radical dev (process ${earlier.owner.pid}) runs in ${stateFolder}.`,
        "Use that one, or stop it first.",
      );
    }
    for (const child of earlier.children) {
      if (!isRunning(running, child)) continue;
      try {
        process.kill(child.pid, "SIGKILL");
        reaped.push(child.pid);
      } catch {
        // It has just ended by itself.
      }
    }
    await untilEnded(earlier.children.filter(({ pid }) => reaped.includes(pid)));
  }
  const record: ProcessRecord = {
    update: async () => {
      const now = await listProcesses();
      const owner = now.find(({ pid }) => pid === process.pid);
      if (owner === undefined) return;
      const children = descendants(now, process.pid).map(({ pid, startedAt }) => ({ pid, startedAt }));
      const recorded: Recorded = { owner: { pid: owner.pid, startedAt: owner.startedAt }, children };
      await writeFile(file, `${JSON.stringify(recorded)}\n`);
    },
    remove: () => rm(file, { force: true }),
  };
  await record.update();
  return { record, reaped, isAfterKill: earlier !== null };
}

/** A killed process holds its ports until the system has taken it down. Gives up after a while. */
async function untilEnded(ended: Recorded["children"]): Promise<void> {
  for (let waited = 0; ended.length > 0 && waited < MAX_ENDING_MS; waited += ENDING_POLL_MS) {
    const running = await listProcesses();
    if (!ended.some((child) => isRunning(running, child))) return;
    await setTimeout(ENDING_POLL_MS);
  }
}

async function readRecorded(file: string): Promise<Recorded | null> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Recorded;
  } catch {
    return null;
  }
}

function isRunning(
  running: readonly RunningProcess[],
  wanted: { readonly pid: number; readonly startedAt: string },
): boolean {
  return running.some(({ pid, startedAt }) => pid === wanted.pid && startedAt === wanted.startedAt);
}

function descendants(running: readonly RunningProcess[], pid: number): readonly RunningProcess[] {
  return running.filter(({ parent }) => parent === pid).flatMap((child) => [child, ...descendants(running, child.pid)]);
}

async function listProcesses(): Promise<readonly RunningProcess[]> {
  return process.platform === "linux" ? listFromProc() : listFromPs();
}

/** https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
async function listFromProc(): Promise<readonly RunningProcess[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, "utf8").catch(() => null)));
  return stats.flatMap((stat, index): RunningProcess[] => {
    // The name of the program, in parentheses, may hold anything. The fields behind it: state, parent, …
    const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, parent] = fields ?? [];
    if (fields === undefined || state === "Z") return [];
    return [{ pid: Number(pids[index]), parent: Number(parent), startedAt: fields[19] ?? "" }];
  });
}

/** Elsewhere `ps` tells; where it is missing too, nothing is recorded and nothing reaped. */
async function listFromPs(): Promise<readonly RunningProcess[]> {
  try {
    const env = { ...process.env, LC_ALL: "C" };
    const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid=,lstart="], { env });
    return stdout.split("\n").flatMap((line): RunningProcess[] => {
      const match = /^\s*(\d+)\s+(\d+)\s+(.*\S)\s*$/.exec(line);
      return match === null ? [] : [{ pid: Number(match[1]), parent: Number(match[2]), startedAt: match[3] ?? "" }];
    });
  } catch {
    return [];
  }
}
