/** Which port `radical dev` listens on. */
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { CommandError } from "@radical/app/command-error";

/** Ports that are tried from the configured one on. */
const PORTS_TRIED = 20;
/** A killed process counts as ended when its first thread has, and holds its ports until its last one has. */
export const MAX_PORT_WAIT_MS = 5_000;
const PORT_POLL_MS = 50;

/**
 * The port that the options name, or the configured one, or else the next that is free. It waits for the first of them, which
 * an ending process may still hold. It is chosen before anything is built or started. Throws a CommandError.
 */
export async function choosePort(
  host: string,
  asked: number | undefined,
  configured: number,
  waitMs: number,
): Promise<number> {
  const first = asked ?? configured;
  if (first === 0) return first;
  for (let waited = 0; waited < waitMs && (await listenError(host, first)) !== null; waited += PORT_POLL_MS)
    await delay(PORT_POLL_MS);
  const tried = asked === undefined ? Math.min(PORTS_TRIED, 65_536 - first) : 1;
  for (let port = first; port < first + tried; port++) {
    const error = await listenError(host, port);
    if (error === null) return port;
    if (error.code !== "EADDRINUSE") {
      const message = `radical dev can't listen on ${host}:${port}: ${error.message}`;
      throw new CommandError("port_in_use", message, "Take another port, for example --port 8787.", { cause: error });
    }
  }
  const next = first + tried > 65_535 ? 8787 : first + tried;
  throw new CommandError(
    "port_in_use",
    tried === 1 ? `Port ${first} is in use.` : `The ports ${first} to ${first + tried - 1} are in use.`,
    `Stop the program that uses it, or take another port: radical dev --port ${next}`,
  );
}

async function listenError(host: string, port: number): Promise<NodeJS.ErrnoException | null> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once("error", resolve);
    probe.listen(port, host, () => probe.close(() => resolve(null)));
  });
}
