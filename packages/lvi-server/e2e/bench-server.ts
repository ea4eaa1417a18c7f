/**
 * `pnpm bench:server fairness [--rounds N] [--workers N] [--json]`: what as many endless handlers as there are workers do
 * to everybody else. A server as it is published runs beside its load on this machine: half of the callers read what is
 * hot, which needs no worker, half have a handler run near storage. Rates after the injection are shares of those before.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { unitId } from "@radical/protocol";
import { ABSENT, KEYS_VARIABLE, TestClient } from "./test-client.ts";
import { testModule } from "./test-module.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    workers: { type: "string", default: "2" },
    json: { type: "boolean", default: false },
  },
});
if (positionals[0] !== "fairness") throw new Error("pnpm bench:server fairness [--rounds N] [--workers N] [--json]");

const ROUNDS = Number(values.rounds);
const WORKERS = Number(values.workers);
const CALLERS_OF_EACH_KIND = 4;
const WARM_UP_MS = 2_000;
const BEFORE_MS = 3_000;
const AFTER_MS = 4_000;
const WINDOW_MS = 250;
/** What must be over then. */
const INJECTION_MS = 1_500;
/** Share of the rate before from which on it is normal again. */
const NORMAL = 0.8;

const KINDS = ["hot reads", "near-storage writes"] as const;

interface Round {
  readonly kind: (typeof KINDS)[number];
  readonly perSecondBefore: number;
  /** In the 1.5 s from the injection on. */
  readonly shareDuring: number;
  readonly worstWindow: number;
  /** From 1.5 s after it on, when it must be over. */
  readonly shareAfter: number;
  /** From the injection on; each window after it is normal. */
  readonly normalAfterMs: number;
}

const folder = await mkdtemp(path.join(tmpdir(), "radical-bench-"));
const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const child = spawn(
  process.execPath,
  [
    main,
    "--port",
    "0",
    "--workers",
    values.workers,
    "--storage",
    `sqlite:${path.join(folder, "data.sqlite")}`,
    "--log-level",
    "error",
  ],
  { env: { ...process.env, RADICAL_KEYS: KEYS_VARIABLE }, stdio: ["ignore", "pipe", "inherit"] },
);
try {
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const { port } = JSON.parse(line) as { port: number };
  const client = new TestClient(`http://127.0.0.1:${port}`, await testModule());
  await client.register();
  await client.read("hot");
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(...(await measure(client)));
  report(rounds);
} finally {
  child.kill("SIGTERM");
  await once(child, "exit");
  await rm(folder, { recursive: true, force: true });
}

async function measure(client: TestClient): Promise<readonly Round[]> {
  const ends: Record<Round["kind"], number[]> = { "hot reads": [], "near-storage writes": [] };
  const stop = new AbortController();
  const call = async (kind: Round["kind"], key: string): Promise<void> => {
    while (!stop.signal.aborted) {
      const handler = kind === "hot reads" ? "read" : "increment";
      const set =
        kind === "hot reads"
          ? [{ unit: unitId("counters", "hot"), mode: "read" as const, version: ABSENT.version }]
          : null;
      const reply = await client.lvi(client.requestOf(handler, key, set));
      if (reply.kind !== "refused") ends[kind].push(performance.now());
    }
  };
  const callers = KINDS.flatMap((kind) =>
    Array.from({ length: CALLERS_OF_EACH_KIND }, (_, index) => call(kind, kind === "hot reads" ? "hot" : `k${index}`)),
  );
  await sleep(WARM_UP_MS);
  const fromMs = performance.now();
  await sleep(BEFORE_MS);
  const injectedAtMs = performance.now();
  const endless = Array.from({ length: WORKERS }, () =>
    client.lvi(client.requestOf("spin", "endless", null, { location: "elsewhere" })),
  );
  await sleep(AFTER_MS);
  const untilMs = performance.now();
  stop.abort();
  await Promise.all([...callers, ...endless]);
  return KINDS.map((kind) => {
    const rate = (startMs: number, endMs: number): number =>
      (ends[kind].filter((atMs) => atMs >= startMs && atMs < endMs).length * 1_000) / (endMs - startMs);
    const before = rate(fromMs, injectedAtMs);
    const windows: number[] = [];
    for (let atMs = injectedAtMs; atMs + WINDOW_MS <= untilMs; atMs += WINDOW_MS)
      windows.push(rate(atMs, atMs + WINDOW_MS) / before);
    return {
      kind,
      perSecondBefore: before,
      shareDuring: rate(injectedAtMs, injectedAtMs + INJECTION_MS) / before,
      shareAfter: rate(injectedAtMs + INJECTION_MS, untilMs) / before,
      worstWindow: Math.min(...windows.slice(0, INJECTION_MS / WINDOW_MS)),
      normalAfterMs: (windows.findLastIndex((share) => share < NORMAL) + 1) * WINDOW_MS,
    };
  });
}

function report(rounds: readonly Round[]): void {
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? "?"}, Node ${process.version}`;
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ machine, workers: WORKERS, rounds }, null, 2)}\n`);
    return;
  }
  process.stdout.write(`${machine}; ${WORKERS} workers, as many endless handlers; windows of ${WINDOW_MS} ms\n`);
  for (const { kind, perSecondBefore, shareDuring, shareAfter, worstWindow, normalAfterMs } of rounds) {
    const percent = (share: number): string => `${(100 * share).toFixed(0)} %`.padStart(6);
    process.stdout.write(
      `${kind.padEnd(20)} ${perSecondBefore.toFixed(0).padStart(6)}/s before; ${percent(shareDuring)} in the ${INJECTION_MS} ms from the injection on, ${percent(worstWindow)} in the worst window, ${percent(shareAfter)} after it; each window normal after ${normalAfterMs} ms\n`,
    );
  }
}
