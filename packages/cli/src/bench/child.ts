/** Processes of a benchmark: each says once that it listens, and ends with its standard input. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** In a checkout the packages run from their sources; published, from what was compiled. */
const ENDING = import.meta.url.endsWith(".ts") ? ".ts" : ".js";

export interface Child<Told> {
  readonly told: Told;
  stop(): Promise<void>;
}

/** Resolves when it listens. `name`: of a module of this folder. */
export async function startChild<Told>(
  name: string,
  input: unknown,
  environment: NodeJS.ProcessEnv = {},
): Promise<Child<Told>> {
  const child = fork(fileURLToPath(new URL(`./${name}${ENDING}`, import.meta.url)), [JSON.stringify(input)], {
    stdio: ["pipe", "pipe", "inherit", "ipc"],
    env: { ...process.env, ...environment },
    // Ctrl-C reaches the whole group of a terminal; what is under way is to be answered first.
    detached: true,
  });
  for await (const line of createInterface(child.stdout!)) {
    if (!line.includes('"listening"')) continue;
    child.stdout!.resume();
    return { told: JSON.parse(line) as Told, stop: () => stop(child) };
  }
  throw new Error(`the process ${name} of the benchmark has ended before it listened`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.stdin?.end();
  await ended;
}
