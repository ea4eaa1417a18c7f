/** `npm run dev` of an application as a process, with its log as events. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { DevEvent } from "../packages/cli/src/index.ts";
import { userEnvironment } from "./packed-app.ts";

export interface DevProcess {
  readonly child: ChildProcess;
  readonly url: string;
  /** Ends it and waits until every process that it has started is gone. */
  stop(): Promise<void>;
}

/** Resolves when it serves; rejects with its output if it ends before. */
export async function startDevProcess(
  app: string,
  args: readonly string[],
  options: { readonly onEvent?: (event: DevEvent) => void; readonly signal?: AbortSignal } = {},
): Promise<DevProcess> {
  const child = spawn("npm", ["run", "--silent", "dev", "--", "--json", ...args], {
    cwd: app,
    env: userEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  // The pipes are closed when the last process that has them is gone.
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  options.signal?.addEventListener("abort", () => child.kill("SIGTERM"));
  let output = "";
  const keep = (text: string): void => {
    output = `${output}${text}\n`.slice(-20_000);
  };
  createInterface(child.stderr).on("line", keep);
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on("line", (line) => {
      keep(line);
      if (!line.startsWith("{")) return;
      const event = JSON.parse(line) as DevEvent;
      options.onEvent?.(event);
      if (event.event === "ready") resolve(event.url);
    });
    void closed.then(() => reject(new Error(`npm run dev ended:\n${output}`)));
  });
  return {
    child,
    url,
    stop: async () => {
      child.kill("SIGTERM");
      await closed;
    },
  };
}
