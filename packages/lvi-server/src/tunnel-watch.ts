/**
 * A line of log a minute: does this server lead or stand by, and can it be reached? Alarms of a deployment count these lines. A machine of
 * EC2 has a script for it (watch.sh of the artefact); in a container there is only the server. It asks itself by HTTP, as others do.
 */
import { isIP } from "node:net";
import type { Log } from "./log.ts";

const EVERY_MS = 60_000;
const PATIENCE_MS = 4_000;

export interface Watched {
  /** The name of the server's machine. */
  readonly node: string;
  /** Origin of the server itself. */
  readonly server: string;
  /** Answers 200 while the tunnel is connected. */
  readonly tunnel: string;
}

/** Where a server that listens there asks itself. One that listens on all addresses listens on the loopback too. */
export function ownOrigin(host: string, port: number): string {
  const { origin } = new URL(`http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`);
  return origin.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]");
}

/** The name of a machine begins the host that its server advertises; null: there is no name. */
export function machineOf(advertised: string | null): string | null {
  const host = advertised === null ? "" : new URL(advertised).hostname;
  return host.startsWith("[") || isIP(host) !== 0 ? null : host.split(".")[0] || null;
}

export class TunnelWatch {
  readonly #watched: Watched;
  readonly #log: Log;

  constructor(watched: Watched, log: Log) {
    this.#watched = watched;
    this.#log = log;
  }

  /** Returns how to stop. */
  start(): () => void {
    const timer = setInterval(() => void this.look(), EVERY_MS);
    timer.unref();
    return () => clearInterval(timer);
  }

  async look(): Promise<void> {
    const { node, server, tunnel } = this.#watched;
    const [state, way] = await Promise.all([asked(`${server}/readyz`), asked(tunnel)]);
    const status = statusIn(state?.text ?? "");
    this.#log.info("machine", {
      node,
      server: state === null ? 0 : 1,
      serving: status === "ready" ? 1 : 0,
      standby: status === "standby" ? 1 : 0,
      tunnel: way?.isOk === true ? 1 : 0,
    });
  }
}

/** Null: nobody has answered. */
async function asked(url: string): Promise<{ readonly isOk: boolean; readonly text: string } | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) });
    return { isOk: response.ok, text: await response.text() };
  } catch {
    return null;
  }
}

function statusIn(text: string): unknown {
  try {
    return (JSON.parse(text) as { readonly status?: unknown }).status;
  } catch {
    return null;
  }
}
