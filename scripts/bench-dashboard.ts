/**
 * `pnpm bench:dashboard`: how soon the dashboard shows a call, and how smooth and how large the page stays while many come. In a
 * real browser, with the page as it is built.
 *
 * First calls go one after the other to a real `radical dev` of the template social. Their time is from the answer, as the client
 * has it, to the frame with the call's row. Then the page's stream is fed with the halves of these calls again and again, each time as
 * another execution. So many calls a second need no processor but the page's.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { availableParallelism, loadavg } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { commandLine } from "../packages/command-line/src/command-line.ts";
import { startTestApp } from "../packages/cli/src/testing.ts";
import {
  DASHBOARD_STREAM_PATH,
  DASHBOARD_TOKEN_HEADER,
  type DashboardLine,
  type DashboardState,
  type ExecutionId,
  type Life,
} from "../packages/protocol/src/index.ts";
import { openBrowser } from "./pictures/shots.ts";

const SOCIAL = fileURLToPath(new URL("../templates/social", import.meta.url));
const PAGE = fileURLToPath(new URL("../packages/dashboard/dist/page", import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
const PEOPLE = ["ada", "alan", "grace", "edsger", "barbara"];
const LOCATIONS = { VA: 0, JP: 20 };
/** As long as the page wants it: the stream of recorded calls asks for none. */
const TOKEN = "recorded-calls";
const POLL_MS = 50;
const SAMPLE_MS = 2_000;
const BYTES_PER_MB = 1_048_576;

const options = commandLine({
  name: "pnpm bench:dashboard",
  words:
    "Measures how soon the dashboard shows a call, and the frames and the memory of its page while many calls come.",
  options: {
    calls: { kind: "number", default: 100, least: 10, words: "calls of a real radical dev, one after the other" },
    rate: { kind: "number", default: 200, least: 1, words: "calls a second that are fed to the page" },
    seconds: { kind: "number", default: 60, least: 5, words: "how long they are fed" },
  },
  exitCodes: ["it was measured", "the page has shown nothing"],
  examples: [["pnpm bench:dashboard"], ["pnpm bench:dashboard --rate 50 --seconds 10"]],
});

/** In the page: when the row of each call was there first, by the frame after it, and the times of all frames. */
const WATCH = `(() => {
  const seen = (window.seen = {});
  const frames = (window.frames = []);
  const look = () => {
    for (const row of document.querySelectorAll('[id^="call-"]')) seen[row.id.slice(5)] ??= 0;
  };
  const frame = () => {
    const now = performance.timeOrigin + performance.now();
    for (const id of Object.keys(seen)) if (seen[id] === 0) seen[id] = now;
    frames.push(now);
    look();
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})()`;

type Seen = Readonly<Record<string, number>>;

const now = (): number => performance.timeOrigin + performance.now();
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function until(isDone: () => boolean | Promise<boolean>): Promise<boolean> {
  for (let poll = 0; poll < 600; poll++) {
    if (await isDone()) return true;
    await pause(POLL_MS);
  }
  return false;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

async function open(browser: Browser, address: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, bypassCSP: true });
  const page = await context.newPage();
  page.setDefaultTimeout(100_000);
  await page.goto(address);
  await page.waitForSelector(".pill:has-text('live')");
  await page.evaluate(WATCH);
  return page;
}

interface Recorded {
  readonly state: DashboardState;
  /** The halves of each call, as they came. */
  readonly calls: readonly (readonly Life[])[];
  /** By call: from its answer to its row, in milliseconds. */
  readonly shownMs: readonly number[];
}

/** Calls of a real `radical dev`, one after the other, while the page is looked at. */
async function real(browser: Browser): Promise<Recorded> {
  const app = await startTestApp({ project: SOCIAL, seeded: true, locations: LOCATIONS });
  const ending = new AbortController();
  try {
    const lines: DashboardLine[] = [];
    const following = follow(app.dashboard!, (line) => lines.push(line), ending.signal);
    const page = await open(browser, app.dashboard!);
    const answeredMs: number[] = [];
    for (let call = 0; call < options.calls; call++) {
      const name = PEOPLE[call % PEOPLE.length]!;
      const location = Object.keys(LOCATIONS)[call % 2]!;
      await app.call(call % 3 === 0 ? "posts" : "profile", { name }, { location });
      answeredMs.push(now());
      // The calls are counted as they come: the next one has the next number.
      await until(async () => ((await page.evaluate<Seen>("seen"))[String(call + 1)] ?? 0) > 0);
    }
    const seen = await page.evaluate<Seen>("seen");
    await page.context().close();
    ending.abort();
    await following;
    const lives = lines.filter((line) => line.kind === "life");
    const halves = Map.groupBy(lives, ({ execution, place }) => `${execution} ${place}`);
    return {
      state: lines.findLast((line) => line.kind === "state")!,
      calls: [...halves.values()],
      shownMs: answeredMs.flatMap((atMs, call) => {
        const shownMs = seen[String(call + 1)] ?? 0;
        return shownMs === 0 ? [] : [Math.max(0, shownMs - atMs)];
      }),
    };
  } finally {
    ending.abort();
    await app.stop();
  }
}

async function follow(dashboard: string, onLine: (line: DashboardLine) => void, signal: AbortSignal): Promise<void> {
  const { origin, hash } = new URL(dashboard);
  const headers = { [DASHBOARD_TOKEN_HEADER]: hash.slice(1) };
  try {
    const response = await fetch(origin + DASHBOARD_STREAM_PATH, { headers, signal });
    let rest = "";
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") onLine(JSON.parse(line) as DashboardLine);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

interface Fed {
  readonly fed: number;
  readonly seconds: number;
  readonly shownMs: readonly number[];
  readonly framesPerSecond: readonly number[];
  /** Of the page's thread, as processor time. */
  readonly busyPercent: readonly number[];
  readonly heapMb: readonly number[];
  readonly processMb: readonly number[];
  /** Of the processes at the end, without the page's garbage. */
  readonly usedMb: number;
}

/** The page with a stream of these calls, so many a second. */
async function fed(browser: Browser, { state, calls }: Recorded): Promise<Fed> {
  const streams = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://page");
    if (pathname === DASHBOARD_STREAM_PATH) {
      streams.add(response);
      response.on("close", () => streams.delete(response));
      return void response.write(`${JSON.stringify(state)}\n`);
    }
    const name = pathname === "/" ? "index.html" : pathname.slice(1);
    readFile(join(PAGE, name)).then(
      (bytes) => response.writeHead(200, { "content-type": TYPES[extname(name)] ?? "text/html" }).end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const page = await open(browser, `http://127.0.0.1:${(server.address() as AddressInfo).port}/#${TOKEN}`);
    const devtools = await page.context().newCDPSession(page);
    // Durations are those of its thread: they do not grow with the load of the machine.
    await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
    const metric = async (wanted: string): Promise<number> =>
      (await devtools.send("Performance.getMetrics")).metrics.find(({ name }) => name === wanted)?.value ?? 0;
    const fedMs: number[] = [];
    const [heapMb, processMb, busyPercent]: [number[], number[], number[]] = [[], [], []];
    const startMs = now();
    let [wasBusyMs, busySinceMs] = [(await metric("TaskDuration")) * 1_000, startMs];
    let sampledMs = startMs;
    const endMs = startMs + options.seconds * 1_000;
    for (let atMs = startMs; atMs < endMs; atMs = now()) {
      const due = Math.floor(((atMs - startMs) * options.rate) / 1_000);
      const lines: string[] = [];
      while (fedMs.length < due) {
        const execution = randomBytes(16).toString("hex") as ExecutionId;
        for (const half of calls[fedMs.length % calls.length]!)
          lines.push(`${JSON.stringify({ ...half, execution, atMs: Date.now() })}\n`);
        fedMs.push(now());
      }
      for (const stream of streams) stream.write(lines.join(""));
      if (atMs - sampledMs >= SAMPLE_MS) {
        sampledMs = atMs;
        heapMb.push((await metric("JSHeapUsedSize")) / BYTES_PER_MB);
        const busyMs = (await metric("TaskDuration")) * 1_000;
        busyPercent.push(((busyMs - wasBusyMs) / (now() - busySinceMs)) * 100);
        [wasBusyMs, busySinceMs] = [busyMs, now()];
        processMb.push(await ofRenderers(browser));
      }
      await pause(1_000 / options.rate);
    }
    const seconds = (now() - startMs) / 1_000;
    const frames = (await page.evaluate<readonly number[]>("frames")).filter((at) => at >= startMs && at < endMs);
    const seen = await page.evaluate<Seen>("seen");
    await devtools.send("HeapProfiler.collectGarbage");
    const usedMb = await ofRenderers(browser);
    await page.context().close();
    return {
      fed: fedMs.length,
      seconds,
      shownMs: Object.entries(seen).flatMap(([id, atMs]) => {
        const at = fedMs[Number(id) - 1];
        return at === undefined || atMs === 0 ? [] : [Math.max(0, atMs - at)];
      }),
      framesPerSecond: Array.from({ length: options.seconds }, (_, second) => {
        const from = startMs + second * 1_000;
        return frames.filter((at) => at >= from && at < from + 1_000).length;
      }),
      busyPercent,
      heapMb,
      processMb,
      usedMb,
    };
  } finally {
    for (const stream of streams) stream.destroy();
    server.close();
  }
}

/** Megabytes that the processes of pages have for themselves alone: of the page, and of the worker that all tabs share. */
async function ofRenderers(browser: Browser): Promise<number> {
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
  await devtools.detach();
  const kilobytes = processInfo
    .filter(({ type }) => type === "renderer")
    .map(({ id }) =>
      [...readFileSync(`/proc/${id}/smaps_rollup`, "utf8").matchAll(/^Private_\w+: +(\d+) kB$/gm)].reduce(
        (sum, [, kb]) => sum + Number(kb),
        0,
      ),
    );
  return kilobytes.reduce((sum, kb) => sum + kb, 0) / 1_024;
}

const row = (words: string, values: readonly number[], digits = 0): string =>
  `| ${words} | ${[0.5, 0.05, 0.95, 1].map((share) => quantile(values, share).toFixed(digits)).join(" | ")} |`;

const loadBefore = loadavg()[0]!.toFixed(0);
const browser = await openBrowser();
try {
  const recorded = await real(browser);
  const result = await fed(browser, recorded);
  const { fed: count, seconds, shownMs, framesPerSecond, busyPercent, heapMb, processMb, usedMb } = result;
  console.log("| what | median | 5 % | 95 % | most |\n| --- | --- | --- | --- | --- |");
  console.log(row("shown after the answer, one call after the other, ms", recorded.shownMs));
  console.log(row("shown after it was fed, ms", shownMs));
  console.log(row("frames in a second", framesPerSecond));
  console.log(row("processor time of the page's thread, % of a core", busyPercent));
  console.log(row("heap of the page, MB", heapMb));
  console.log(row("processes of the page, MB", processMb));
  console.log(
    `\n${recorded.shownMs.length} of ${options.calls} calls; ${count} fed in ${seconds.toFixed(0)} s, of which ${shownMs.length} had a row. ${usedMb.toFixed(0)} MB without the garbage of the page. ${availableParallelism()} cores, load ${loadBefore} before, ${loadavg()[0]!.toFixed(0)} after.`,
  );
  if (shownMs.length === 0 || recorded.shownMs.length === 0) process.exitCode = 1;
} finally {
  await browser.close();
}
