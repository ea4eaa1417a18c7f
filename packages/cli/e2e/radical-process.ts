/** The command `radical` as a process. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { DevEvent } from "../src/dev/dev-events.ts";

export const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

const TSC = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url));

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a command. */
export function spawnRadical(
  args: readonly string[],
  options: {
    readonly cwd?: string;
    readonly env?: NodeJS.ProcessEnv;
    readonly detached?: boolean;
    /** For its standard input, which else is empty. */
    readonly input?: string;
  } = {},
): ChildProcess {
  const child = spawn(process.execPath, ["--conditions=source", MAIN, ...args], {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, FORCE_COLOR: undefined, ...options.env },
    detached: options.detached ?? false,
    stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  child.stdin?.end(options.input);
  return child;
}

/** Runs a command to its end. */
export async function radical(
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly input?: string } = {},
): Promise<Finished> {
  const child = spawnRadical(args, options);
  const chunks = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk: Buffer) => (chunks.stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (chunks.stderr += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, ...chunks };
}

export interface RadicalDev {
  readonly child: ChildProcess;
  readonly url: string;
  readonly events: DevEvent[];
  /** Resolves with the exit code once the process and all that have its pipes are gone. */
  readonly closed: Promise<number | null>;
}

/** What a developer may have set for the server of a deployment, and what that of `radical dev` would not start with. */
const OF_ANOTHER_SERVER = { RADICAL_KEYS_FILE: "/nowhere", RADICAL_STORAGE: "dynamodb:live", RADICAL_WORKERS: "none" };

/** Starts `radical dev --json` in a process group of its own; resolves when it serves. */
export async function radicalDev(
  project: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<RadicalDev> {
  const { serving, ...dev } = startDev(project, ["--port", "0", ...args], env);
  return { ...dev, url: await serving };
}

export interface StartingDev extends Omit<RadicalDev, "url"> {
  /** Resolves with the URL; rejects if it ends before. */
  readonly serving: Promise<string>;
}

export function startDev(project: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): StartingDev {
  const child = spawnRadical(["dev", "--project", project, "--json", ...args], {
    detached: true,
    env: { ...OF_ANOTHER_SERVER, ...env },
  });
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  const events: DevEvent[] = [];
  let output = "";
  const serving = new Promise<string>((resolve, reject) => {
    child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    if (child.stdout !== null) {
      createInterface(child.stdout).on("line", (line) => {
        output += `${line}\n`;
        const event = JSON.parse(line) as DevEvent;
        events.push(event);
        if (event.event === "ready") resolve(event.url);
      });
    }
    void closed.then((code) => reject(new Error(`radical dev ended with ${code}:\n${output}`)));
  });
  // Told to whoever waits for it.
  serving.catch(() => undefined);
  return { child, serving, events, closed };
}

/** Ids of the processes below this one that live, itself not included. */
export async function descendantsOf(pid: number): Promise<readonly number[]> {
  const parents = new Map<number, number>();
  for (const name of await readdir("/proc")) {
    const stat = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, "utf8").catch(() => null) : null;
    const [state, parent] = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? [];
    if (state !== undefined && state !== "Z") parents.set(Number(name), Number(parent));
  }
  const below = (of: number): number[] =>
    [...parents].flatMap(([child, parent]) => (parent === of ? [child, ...below(child)] : []));
  return below(pid);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export interface TemporaryProject {
  readonly folder: string;
  write(path: string, text: string): Promise<void>;
  remove(): Promise<void>;
}

/** A project outside of the workspace with these files. */
export async function createProject(files: Readonly<Record<string, string>>): Promise<TemporaryProject> {
  const folder = await mkdtemp(join(tmpdir(), "radical-project-"));
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  for (const [path, text] of Object.entries(files)) await write(path, text);
  return { folder, write, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** The words of the compiler of TypeScript about a project, or why it did not run. Empty: its types are right. */
export async function problemsOfTypes(project: string): Promise<string> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [TSC, "-p", project]);
    return stdout || stderr;
  } catch (error) {
    const { stdout, stderr, message } = error as Error & { readonly stdout?: string; readonly stderr?: string };
    return stdout || stderr || message;
  }
}
