/**
 * A line of log a minute: does this server lead, and can it be reached? Alarms of a deployment count these lines. A machine of EC2 has a
 * script for it (watch.sh of the artefact); in a container there is only the server.
 */
import type { Log } from "./log.ts";

const EVERY_MS = 60_000;
const PATIENCE_MS = 4_000;

export class TunnelWatch {
  readonly #url: string;
  readonly #leads: () => boolean;
  readonly #log: Log;
  readonly #interval: NodeJS.Timeout;

  /** `url`: answers 200 while the tunnel is connected. */
  constructor(url: string, leads: () => boolean, log: Log) {
    this.#url = url;
    this.#leads = leads;
    this.#log = log;
    this.#interval = setInterval(() => void this.look(), EVERY_MS);
    this.#interval.unref();
  }

  async look(): Promise<void> {
    const tunnel = await this.#isConnected();
    this.#log.info("machine", { server: 1, serving: this.#leads() ? 1 : 0, tunnel: tunnel ? 1 : 0 });
  }

  async #isConnected(): Promise<boolean> {
    try {
      const response = await fetch(this.#url, { signal: AbortSignal.timeout(PATIENCE_MS) });
      await response.body?.cancel();
      return response.ok;
    } catch {
      return false;
    }
  }

  stop(): void {
    clearInterval(this.#interval);
  }
}
