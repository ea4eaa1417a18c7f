/** A server that is kept running as systemd keeps it: one that ends by itself, for instance because its leadership ran out, is started again. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface KeptServer {
  /** Where it listens, also after it was started again. */
  readonly port: number;
  /** How often it has said that it has read its keys. */
  readonly keysRead: () => number;
  /** `systemctl reload`. */
  reload(): void;
  /** `systemctl stop`: it drains, and stays down. */
  stop(): Promise<void>;
  kill(): void;
}

/** Resolves when it listens. `environment` is all it sees, but for its port. */
export async function keepServer(
  program: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<KeptServer> {
  let machine: ChildProcess;
  let isStopped = false;
  let keysRead = 0;

  const start = (port: number): Promise<number> => {
    machine = spawn(program, args, {
      env: { ...environment, RADICAL_PORT: String(port) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let log = "";
    return new Promise<number>((resolve, reject) => {
      let listening: number | null = null;
      createInterface(machine.stderr!).on("line", (line) => {
        log += `${line}\n`;
        if (!line.startsWith("{")) return;
        const logged = JSON.parse(line) as { event: string; port?: number };
        if (logged.event === "keys_loaded") keysRead++;
        if (logged.event === "http_listening" && logged.port !== undefined) resolve((listening = logged.port));
      });
      machine.once("exit", () => {
        reject(new Error(log));
        if (isStopped || listening === null) return;
        console.warn(`a server ended by itself, and is started again:\n${log}`);
        start(listening).catch((error: unknown) => console.warn(error));
      });
    });
  };

  const port = await start(0);
  return {
    port,
    keysRead: () => keysRead,
    reload: () => machine.kill("SIGHUP"),
    stop: async () => {
      isStopped = true;
      if (machine.exitCode !== null || machine.signalCode !== null) return;
      machine.kill("SIGTERM");
      await once(machine, "exit");
    },
    kill: () => {
      isStopped = true;
      machine.kill("SIGKILL");
    },
  };
}
