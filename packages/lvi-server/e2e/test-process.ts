/** The server as a real process, for tests. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { KEYS_VARIABLE } from "./test-client.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

export interface ServerProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly epoch: number;
  /** Ends it by a signal; resolves with its exit code, null if the signal ended it. */
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

export function spawnServer(args: readonly string[], environment: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, ["--conditions=source", MAIN, "--port", "0", ...args], {
    // Followups of tests say what tests like. An audit would find that, now and then.
    env: {
      ...process.env,
      RADICAL_KEYS: KEYS_VARIABLE,
      RADICAL_AUDIT_PERCENT: "0",
      // Tests share their machine.
      RADICAL_SHED_DELAY_MS: "0",
      ...environment,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

/** Resolves when the server says that it listens; rejects with what it wrote if it ends before. */
export async function startProcess(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<ServerProcess> {
  const child = spawnServer(["--log-level", "error", ...args], environment);
  let errors = "";
  child.stderr!.on("data", (data: Buffer) => (errors += data.toString()));
  const [line] = await Promise.race([
    once(createInterface(child.stdout!), "line") as Promise<[string]>,
    once(child, "exit").then(() => {
      throw new Error(`the server ended: ${errors}`);
    }),
  ]);
  const { port, epoch } = JSON.parse(line) as { port: number; epoch: number };
  const ended = once(child, "exit") as Promise<[number | null]>;
  return {
    child,
    url: `http://127.0.0.1:${port}`,
    epoch,
    kill: async (signal) => {
      child.kill(signal);
      return (await ended)[0];
    },
  };
}

/** How many alarms of a kind the server has counted. */
export async function alarmsOf(url: string, alarm: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const [, count] = new RegExp(`^radical_alarms_total\\{alarm="${alarm}"\\} (\\d+)$`, "m").exec(text) ?? [];
  if (count === undefined) throw new Error(`the server counts no alarms of the kind ${alarm}`);
  return Number(count);
}

/** The alarms that the server logs from now on. */
export function loggedAlarms({ child }: ServerProcess): readonly Readonly<Record<string, unknown>>[] {
  const alarms: Readonly<Record<string, unknown>>[] = [];
  createInterface(child.stderr!).on("line", (line) => {
    const entry = JSON.parse(line) as Readonly<Record<string, unknown>>;
    if (String(entry["event"]).endsWith("_alarm")) alarms.push(entry);
  });
  return alarms;
}

/** Everything that a process that is expected to end wrote, and its exit code. */
export async function runToEnd(child: ChildProcess): Promise<{ code: number | null; out: string; errors: string }> {
  let out = "";
  let errors = "";
  child.stdout!.on("data", (data: Buffer) => (out += data.toString()));
  child.stderr!.on("data", (data: Buffer) => (errors += data.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out, errors };
}

/** What is left of each log: two events may come in one piece. */
const logs = new WeakMap<ChildProcess, AsyncIterator<string>>();

/** The next line of its log with this event. */
export async function logged(child: ChildProcess, event: string): Promise<Readonly<Record<string, unknown>>> {
  const lines = logs.get(child) ?? createInterface(child.stderr!)[Symbol.asyncIterator]();
  logs.set(child, lines);
  for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
    const entry = JSON.parse(line.value) as Readonly<Record<string, unknown>>;
    if (entry["event"] === event) return entry;
  }
  throw new Error(`the server ended without ${event}`);
}
