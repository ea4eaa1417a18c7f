/**
 * Many streams of one live query at one location: the processor time and the messages of a change. Likewise of opening the streams,
 * and of a while in which nothing changes. Another location writes. workerd runs all locations, so its times have those of the writes too.
 */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { quantile } from "@radical/bench";
import { readRunning } from "@radical/local";
import { descendantsOf, type RadicalDev, type TemporaryProject } from "../radical-process.ts";
import { clientAt } from "./board.ts";

/** Where the streams are, and where the writes come from. */
const SUBSCRIBERS = "JP";
const WRITER = "VA";
/** Streams that are opened at a time. */
const OPENED_TOGETHER = 50;
/** Without a change, for the times of that. */
const QUIET_MS = 10_000;
/** From the last subscriber's event of one change to the next change. */
const BETWEEN_MS = 1_000;
/** Of the clock of /proc, which Linux has always at this rate. */
const TICKS_PER_SECOND = 100;

export interface ManyStreams {
  readonly streams: number;
  readonly openedMs: number;
  /** Megabytes of workerd before, and besides them with the streams. */
  readonly memoryBefore: number;
  readonly memoryOfStreams: number;
  /** Of workerd: processor seconds to open the streams, and per second while nothing changes. */
  readonly toOpen: number;
  readonly whileQuiet: number;
  /** LVI requests a second while nothing changes. */
  readonly requestsWhileQuiet: number;
  /** Of each change: processor seconds of workerd, LVI requests besides the writer's, and milliseconds until the last stream has it. */
  readonly changes: readonly { readonly processor: number; readonly requests: number; readonly lastMs: number }[];
}

export async function measureManyStreams(
  project: TemporaryProject,
  dev: RadicalDev,
  streams: number,
  changes: number,
): Promise<ManyStreams> {
  const workerd = await workerdOf(dev.child.pid!);
  const server = (await readRunning(join(project.folder, ".radical")))!.lviServer;
  const writer = await clientAt(project, dev.url, WRITER);
  const reader = await clientAt(project, dev.url, SUBSCRIBERS);
  await writer.add({ key: "board" });
  await reader.read({ key: "board" });

  const memoryBefore = await residentMegabytes(workerd);
  const [beforeMs, beforeOpening] = [performance.now(), await processorSeconds(workerd)];
  const shown = new Shown();
  const agent = new Agent({ maxSockets: Infinity });
  const open: IncomingMessage[] = [];
  while (open.length < streams) {
    const more = Math.min(OPENED_TOGETHER, streams - open.length);
    open.push(...(await Promise.all(Array.from({ length: more }, () => openStream(dev.url, agent, shown)))));
  }
  await shown.until(1, streams);
  const openedMs = performance.now() - beforeMs;
  const toOpen = (await processorSeconds(workerd)) - beforeOpening;
  await sleep(BETWEEN_MS);

  const quiet = await counted(workerd, server, () => sleep(QUIET_MS));
  const found: ManyStreams["changes"][number][] = [];
  for (let change = 2; change <= changes + 1; change++) {
    let lastMs = 0;
    const { processor, requests, seconds } = await counted(workerd, server, async () => {
      const writtenAtMs = performance.now();
      await writer.add({ key: "board" });
      await shown.until(change, streams);
      lastMs = performance.now() - writtenAtMs;
      // The platform has its own share after the events have left.
      await sleep(BETWEEN_MS);
    });
    const idle = (quiet.processor / quiet.seconds) * seconds;
    found.push({ processor: processor - idle, requests: requests - 1, lastMs });
  }
  const memoryOfStreams = (await residentMegabytes(workerd)) - memoryBefore;
  for (const stream of open) stream.destroy();
  agent.destroy();
  return {
    streams,
    openedMs,
    memoryBefore,
    memoryOfStreams,
    toOpen,
    whileQuiet: quiet.processor / quiet.seconds,
    requestsWhileQuiet: quiet.requests / quiet.seconds,
    changes: found,
  };
}

/** For people. */
export function wordsOf(measured: ManyStreams): string {
  const of = (values: readonly number[]): string => {
    const sorted = values.toSorted((a, b) => a - b);
    return [0, 0.5, 1].map((share) => quantile(sorted, share).toFixed(2)).join(" / ");
  };
  const { changes } = measured;
  return [
    `${measured.streams} streams at ${SUBSCRIBERS}, opened in ${(measured.openedMs / 1_000).toFixed(1)} s`,
    `memory of workerd: ${measured.memoryBefore.toFixed(0)} MB before, ${measured.memoryOfStreams.toFixed(0)} MB besides`,
    `processor time of workerd: ${measured.toOpen.toFixed(1)} s to open, ${(1_000 * measured.whileQuiet).toFixed(0)} ms a second while nothing changes`,
    `LVI requests while nothing changes: ${measured.requestsWhileQuiet.toFixed(2)} a second`,
    `of each of ${changes.length} changes, least / median / most:`,
    `  processor time of workerd: ${of(changes.map(({ processor }) => processor))} s`,
    `  LVI requests besides the writer's: ${of(changes.map(({ requests }) => requests))}`,
    `  until the last stream has it: ${of(changes.map(({ lastMs }) => lastMs / 1_000))} s`,
  ].join("\n");
}

/** How many streams have shown each count, or a later one. */
class Shown {
  readonly #atLeast: number[] = [];
  #waiting: { readonly count: number; readonly streams: number; readonly resolve: () => void } | null = null;

  add(before: number, count: number): void {
    for (let each = before + 1; each <= count; each++) this.#atLeast[each] = (this.#atLeast[each] ?? 0) + 1;
    this.#look();
  }

  async until(count: number, streams: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting = { count, streams, resolve };
    this.#look();
    await promise;
  }

  #look(): void {
    if (this.#waiting === null || (this.#atLeast[this.#waiting.count] ?? 0) < this.#waiting.streams) return;
    this.#waiting.resolve();
    this.#waiting = null;
  }
}

async function openStream(url: string, agent: Agent, shown: Shown): Promise<IncomingMessage> {
  const headers = { accept: "text/event-stream", "x-radical-location": SUBSCRIBERS };
  const asking = request(`${url}/api/read?key=board`, { headers, agent });
  asking.end();
  const [response] = (await once(asking, "response")) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`a stream was answered ${response.statusCode}`);
  let text = "";
  let last = 0;
  response.setEncoding("utf8");
  response.on("error", () => undefined);
  response.on("data", (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const result = /^data: \{"result":(\d+)\}$/m.exec(text.slice(0, end))?.[1];
      text = text.slice(end + 2);
      if (result === undefined) continue;
      shown.add(last, Number(result));
      last = Math.max(last, Number(result));
    }
  });
  return response;
}

async function counted(
  workerd: number,
  server: string,
  work: () => Promise<void>,
): Promise<{ readonly processor: number; readonly requests: number; readonly seconds: number }> {
  const before = [performance.now(), await processorSeconds(workerd), await repliesOf(server)] as const;
  await work();
  return {
    seconds: (performance.now() - before[0]) / 1_000,
    processor: (await processorSeconds(workerd)) - before[1],
    requests: (await repliesOf(server)) - before[2],
  };
}

async function workerdOf(pid: number): Promise<number> {
  for (const below of await descendantsOf(pid)) {
    const command = await readFile(`/proc/${below}/comm`, "utf8").catch(() => "");
    if (command.trim() === "workerd") return below;
  }
  throw new Error("radical dev runs no workerd");
}

/** Of all threads, in the process and for it in the system. */
async function processorSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return (user! + system!) / TICKS_PER_SECOND;
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_000;
}

/** LVI requests that the server has answered. */
async function repliesOf(server: string): Promise<number> {
  const text = await (await fetch(`${server}/metrics`)).text();
  return [...text.matchAll(/^radical_replies_total\{[^}]*\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
}
