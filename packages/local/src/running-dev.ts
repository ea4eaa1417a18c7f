/** Where the `radical dev` that runs in a project is reached, on disk: for other commands. It is gone when that has stopped. */
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface RunningDev {
  readonly pid: number;
  /** Origin of the LVI server. */
  readonly lviServer: string;
  /** Origin of the control server. */
  readonly control: string;
  /** Origin that requests are sent to, and the locations behind it; null: it is being started. */
  readonly edge: { readonly url: string; readonly locations: readonly string[] } | null;
}

/** In the state folder. */
export const RUNNING_FILE = "running.json";

export async function writeRunning(stateFolder: string, running: RunningDev): Promise<void> {
  const file = join(stateFolder, RUNNING_FILE);
  await writeFile(`${file}.part`, `${JSON.stringify(running)}\n`);
  await rename(`${file}.part`, file);
}

export function removeRunning(stateFolder: string): Promise<void> {
  return rm(join(stateFolder, RUNNING_FILE), { force: true });
}

/** Null: none runs, or it has not started its LVI server. */
export async function readRunning(stateFolder: string): Promise<RunningDev | null> {
  try {
    const running = JSON.parse(await readFile(join(stateFolder, RUNNING_FILE), "utf8")) as RunningDev;
    // One that was killed has left the file behind.
    process.kill(running.pid, 0);
    return running;
  } catch {
    return null;
  }
}
