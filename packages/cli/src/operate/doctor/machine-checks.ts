/** What this machine needs for `radical dev`. */
import { createServer } from "node:net";
import type { Finding } from "./finding.ts";

const MIN_NODE_MAJOR = 24;
const HOST = "127.0.0.1";

export function nodeFinding(version: string): Finding {
  if (Number(version.replace(/^v/, "").split(".")[0]) >= MIN_NODE_MAJOR) return { check: "node", problems: [] };
  const message = `This is Node ${version}, and radical needs ${MIN_NODE_MAJOR}.`;
  const hint = "Add the development dependency node@24, and use the scripts of package.json, which then run with it.";
  return { check: "node", problems: [{ message, hint }] };
}

/** `runsHere`: a `radical dev` of this project has it. */
export async function devPortFinding(port: number, runsHere: boolean): Promise<Finding> {
  const error = runsHere || port === 0 ? null : await listenError(port);
  if (error === null) return { check: "dev_port", problems: [] };
  const isTaken = error.code === "EADDRINUSE";
  const message = isTaken
    ? `Port ${port} is in use by another program, so radical dev takes another one.`
    : `radical dev can't listen on port ${port}: ${error.message}.`;
  const hint = "Stop the program that uses it, or choose another port: dev.port in radical.config.ts.";
  return { check: "dev_port", problems: [{ message, hint }] };
}

function listenError(port: number): Promise<NodeJS.ErrnoException | null> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once("error", resolve);
    probe.listen(port, HOST, () => probe.close(() => resolve(null)));
  });
}
