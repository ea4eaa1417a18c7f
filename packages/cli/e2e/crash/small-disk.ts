/** Disks of a server that a test fills while it runs, and empties again. No right of an administrator is needed. */
import { spawnSync } from "node:child_process";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

export interface SmallDisk {
  /** The command that a server runs under, with its options; `folder` is to be on the disk. */
  under(folder: string): readonly string[];
  /** From now on the server with this pid has no room on it. */
  fill(pid: number, folder: string): Promise<void>;
  empty(pid: number, folder: string): Promise<void>;
  /** Why this machine has no such disk; null: it has. */
  whyNot(): string | null;
}

const MOUNT = 'mkdir -p "$1" && mount -t tmpfs -o size=16m tmpfs "$1" && shift && exec "$@"';
/** A namespace of its own, in which whoever runs the tests may mount. */
const UNSHARE: readonly string[] =
  process.getuid?.() === 0 ? ["unshare", "--mount"] : ["unshare", "--mount", "--user", "--map-root-user"];

/** A file system in memory that only the server sees. It is gone with the server. */
const IN_MEMORY: SmallDisk = {
  under: (folder) => [...UNSHARE, "sh", "-c", MOUNT, "sh", folder],
  fill: async (pid, folder) => {
    const file = await open(ballast(pid, folder), "w");
    try {
      for (let bytes = 65_536; bytes >= 1;) {
        try {
          // oxlint-disable-next-line no-await-in-loop -- until there is no room
          await file.write(Buffer.alloc(bytes));
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
          bytes /= 2;
        }
      }
    } finally {
      await file.close();
    }
  },
  empty: (pid, folder) => rm(ballast(pid, folder)),
  whyNot: () => failureOf([...UNSHARE, "sh", "-c", MOUNT, "sh", process.cwd(), "true"]),
};

function ballast(pid: number, folder: string): string {
  return join(`/proc/${pid}/root`, folder, "ballast");
}

/** The kernel lets the server write to no file. Node ignores the signal that comes with it. */
const WRITE_LIMIT: SmallDisk = {
  under: (folder) => ["sh", "-c", 'mkdir -p "$1" && shift && exec "$@"', "sh", folder],
  fill: (pid) => limit(pid, "0"),
  empty: (pid) => limit(pid, "unlimited"),
  whyNot: () => failureOf(["prlimit", "--pid", String(process.pid), "--fsize"]),
};

async function limit(pid: number, bytes: string): Promise<void> {
  const failure = failureOf(["prlimit", "--pid", String(pid), `--fsize=${bytes}:`]);
  if (failure !== null) throw new Error(failure);
}

function failureOf([program, ...args]: readonly string[]): string | null {
  const { status, stderr, error } = spawnSync(program!, args, { encoding: "utf8" });
  return status === 0 ? null : `${program} fails: ${error?.message ?? stderr.trim()}`;
}

export const SMALL_DISKS: Readonly<Record<string, SmallDisk>> = {
  "a file system without room": IN_MEMORY,
  "no file may be written": WRITE_LIMIT,
};
