/**
 * The demonstration, `npm run demo`. It packs the packages, and scaffolds the social template from the tarballs into a
 * temporary folder. It starts it with five locations, sends real traffic and prints the results. Then it keeps running;
 * `--once` ends it.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { commandLine } from "../packages/command-line/src/index.ts";
import { PAPER_LOCATIONS } from "../packages/cli/src/index.ts";
import { type DelayProxy, startDelayProxy } from "../packages/local/src/delay-proxy.ts";
import { createTerminal } from "../packages/cli/src/terminal/terminal.ts";
import { renderTable, rowsOf } from "./demo/table.ts";
import { type Site, runWorkload } from "./demo/workload.ts";
import { startDevProcess } from "./dev-process.ts";
import { packScaffolder, scaffoldApp } from "./packed-app.ts";

const PREFERRED_PORT = 8787;

const {
  once,
  port: given,
  people,
  rounds,
} = commandLine({
  name: "npm run demo --",
  words: "Run the social template at five locations, drive traffic through it and print what came of it.",
  options: {
    once: { kind: "flag", words: "end after the table" },
    port: {
      kind: "text",
      placeholder: "number",
      words: `port of the application (default: ${PREFERRED_PORT}, or a free one if that is taken)`,
    },
    people: { kind: "number", default: 20, least: 2 * PAPER_LOCATIONS.length, words: "people in the social network" },
    rounds: { kind: "number", default: 12, least: 1, words: "rounds of traffic at each location" },
  },
  exitCodes: ["it was stopped, or --once is done", "it failed", "wrong options"],
  examples: [
    ["npm run demo", "run until Ctrl-C"],
    ["npm run demo -- --once --rounds 3", "a short run that ends by itself"],
  ],
});
const terminal = createTerminal({ stream: process.stdout });
const stopping = new AbortController();
const signalled = new Promise<void>((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      stopping.abort();
      resolve();
    });
  }
});
const closers: (() => Promise<unknown>)[] = [];

try {
  await demonstrate();
} catch (error) {
  if (!stopping.signal.aborted) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
} finally {
  for (const close of closers.toReversed()) await close();
}
process.exit();

async function demonstrate(): Promise<void> {
  const { signal } = stopping;
  const folder = await mkdtemp(join(tmpdir(), "radical-demo-"));
  closers.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

  const scaffolder = await step("Packing the packages", packScaffolder(folder, { signal }));
  const app = await step(
    "Scaffolding the social template and installing it with npm",
    scaffoldApp(scaffolder, folder, "social-demo", "social", { signal }),
  );
  const port = given ?? String((await isFree(PREFERRED_PORT)) ? PREFERRED_PORT : 0);
  const dev = await step(
    "Building it and starting the LVI server and five locations",
    startDevProcess(app, ["--port", port, "--central", "--no-watch"], { signal }),
  );
  closers.push(() => dev.stop());

  const { hostname, port: servedPort } = new URL(dev.url);
  const sites = await Promise.all(
    PAPER_LOCATIONS.map(async (location): Promise<Site> => {
      const target = { host: hostname, port: Number(servedPort) };
      const proxy: DelayProxy = await startDelayProxy({ target: () => target, roundTripMs: location.roundTripMs });
      closers.push(() => proxy.close());
      return { location, near: dev.url, central: `http://${proxy.address.host}:${proxy.address.port}` };
    }),
  );
  const samples = await runWorkload({
    sites,
    people,
    rounds,
    onProgress: showProgress(),
    signal,
  });

  console.log(`
Each location answers its own clients; its round trip to the primary is simulated: ${PAPER_LOCATIONS.map(({ name, roundTripMs }) => `${name} ${roundTripMs} ms`).join(", ")}.
"central" is the same application without Radical's locations: the same clients, the same round trip, a Worker beside
the primary, the same handlers and the same storage.

${renderTable(
  rowsOf(
    samples,
    PAPER_LOCATIONS.map(({ name }) => name),
  ),
)}

leased: the location answered by itself. The primary has promised it that the items are unchanged.
speculative: the location's own run was confirmed by the primary in one round trip, beside it.
near: validation failed (the cache lacked something or was stale), so the primary ran the handler.
`);
  if (once) return;
  console.log(`The application serves at ${terminal.style("cyan", dev.url)}; try:
  curl ${dev.url}/api/profile -d '{"name": "person-1"}' -H 'x-radical-location: JP' -i
${terminal.style("dim", "Ctrl-C stops everything and removes the temporary folder.")}`);
  await Promise.race([signalled, new Promise((resolve) => dev.child.once("close", resolve))]);
}

async function step<T>(label: string, work: Promise<T>): Promise<T> {
  const startedAtMs = performance.now();
  const result = await terminal.during(label, work);
  terminal.note(
    `${terminal.style("green", "✓")} ${label} (${((performance.now() - startedAtMs) / 1000).toFixed(1)} s)`,
  );
  return result;
}

/** A line that changes on a terminal, elsewhere one line for each tenth. */
function showProgress(): (done: number, all: number, what: string) => void {
  let shown = "";
  return (done, all, what) => {
    const line = `  ${what}: ${done} of ${all}`;
    if (process.stdout.isTTY) process.stdout.write(`\r\u001b[2K${line}${done === all ? "\n" : ""}`);
    else {
      const tenth = `${what} ${Math.floor((10 * done) / all)}`;
      if (tenth !== shown) console.log(line);
      shown = tenth;
    }
  };
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
