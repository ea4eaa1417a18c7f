/** Which port `radical dev` listens on. */
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { CommandError } from "../command-error.ts";

/** Ports that are tried from the configured one on. */
const PORTS_TRIED = 20;
/** A killed process counts as ended when its first thread has, and holds its ports until its last one has. */
export const MAX_PORT_WAIT_MS = 5_000;
const PORT_POLL_MS = 50;

/**
 * The port that was asked for, or the configured one or else the next that is free. The first of them is waited for if
 * what held it is ending. Said before anything is built or started. Throws a CommandError.
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
      const message = `can't listen on ${host}:${port}: ${error.message}`;
      throw new CommandError("port_in_use", message, "take another port, for example --port 8787", { cause: error });
    }
  }
  const next = first + tried > 65_535 ? 8787 : first + tried;
  throw new CommandError(
    "port_in_use",
    tried === 1 ? `port ${first} is in use` : `the ports ${first} to ${first + tried - 1} are in use`,
    `stop what uses it, or take another one: radical dev --port ${next}`,
  );
}

async function listenError(host: string, port: number): Promise<NodeJS.ErrnoException | null> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once("error", resolve);
    probe.listen(port, host, () => probe.close(() => resolve(null)));
  });
}
