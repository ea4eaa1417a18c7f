/** The work of `radical metrics`. */
import { setTimeout as sleep } from "node:timers/promises";
import { askPrimary, type PrimaryAddress, serverName } from "@radical/admin";
import { loadProject, targetOf } from "@radical/app";
import { CommandError, EXIT_FAILED, messageOf } from "@radical/app/command-error";
import { METRICS_PATH } from "@radical/protocol";
import { createTerminal, print } from "../../terminal/terminal.ts";
import { checkRegion } from "../deployed-options.ts";
import { explained } from "../older-server.ts";
import { primaryAddress } from "../primary-address.ts";
import type { OperateOptions } from "../orders.ts";
import { metricLines, type Told } from "./metric-lines.ts";
import { type Samples, samplesOf } from "./prometheus-text.ts";
import { serverReport } from "./server-report.ts";

export interface MetricsOptions extends OperateOptions {
  readonly seconds: number;
  readonly watch: boolean;
}

interface Look {
  readonly atMs: number;
  readonly samples: Samples;
}

/** Prints what happened in some seconds, once or again and again, until the signal. Throws a CommandError if no server answers. */
export async function metrics(options: MetricsOptions, signal: AbortSignal): Promise<void> {
  const servers = await serversOf(options);
  const terminal = createTerminal({ quiet: options.json });
  const out = createTerminal({ stream: process.stdout });
  const isRedrawn = options.watch && !options.json && process.stdout.isTTY;
  let shown = 0;
  let before = await looks(servers);
  for (;;) {
    const waiting = sleep(options.seconds * 1_000, true, { signal }).catch(() => false);
    // oxlint-disable-next-line no-await-in-loop -- one span of time after the other
    if (!(await (isRedrawn ? waiting : terminal.during(`Measuring for ${options.seconds} s`, waiting)))) return;
    // oxlint-disable-next-line no-await-in-loop -- likewise
    const after = await looks(servers);
    const told = servers.map((server, at) => toldOf(server, before[at]!, after[at]!));
    if (options.json) print(JSON.stringify({ timeMs: Date.now(), seconds: options.seconds, servers: told }));
    else {
      if (isRedrawn && shown > 0) process.stdout.write(`\u001b[${shown}A\u001b[J`);
      const lines = metricLines(told, out.style);
      for (const line of lines) print(line);
      if (options.watch && !isRedrawn) print("");
      shown = lines.length;
    }
    if (!options.watch) {
      if (told.some((one) => "failure" in one)) process.exitCode = EXIT_FAILED;
      return;
    }
    before = after;
  }
}

/** Of a deployment all, since a standby has memory to be seen too. */
async function serversOf({
  project: folder,
  env,
  primary,
  region,
}: MetricsOptions): Promise<readonly PrimaryAddress[]> {
  const project = await loadProject(folder);
  checkRegion({ env, region });
  if (env === null) return [await primaryAddress(project, primary)];
  const { findDeployed } = await import("@radical/deploy");
  return (await findDeployed({ project, target: targetOf(project.config.name, env), primary, region, url: null }))
    .servers;
}

/** Throws the error of the first server if none answers. */
async function looks(servers: readonly PrimaryAddress[]): Promise<readonly (Look | CommandError)[]> {
  const all = await Promise.all(servers.map(lookAt));
  const [first] = all;
  if (first instanceof CommandError && all.every((one) => one instanceof CommandError)) throw first;
  return all;
}

async function lookAt(server: PrimaryAddress): Promise<Look | CommandError> {
  try {
    const answer = await explained("metrics", () => askPrimary(server, "GET", METRICS_PATH));
    return { atMs: performance.now(), samples: samplesOf(await answer.text()) };
  } catch (error) {
    if (error instanceof CommandError) return error;
    return new CommandError("primary_not_reached", messageOf(error), "See that the server runs.");
  }
}

function toldOf(address: PrimaryAddress, before: Look | CommandError, after: Look | CommandError): Told {
  const server = serverName(address);
  const failure = after instanceof CommandError ? after : before;
  if (after instanceof CommandError || before instanceof CommandError)
    return { server, failure: failure instanceof CommandError ? failure.message : "" };
  return {
    server,
    report: serverReport(before.samples, after.samples, (after.atMs - before.atMs) / 1_000, Date.now()),
  };
}
