/**
 * What as many endless handlers as there are workers do to everybody else: half of the callers read what is hot, which needs
 * no worker, half have a handler run near storage. Rates after the injection are shares of those before.
 *
 * Rates are not even: what counts as normal must hold where nothing was injected. So the rate of a second is compared with
 * the slowest second before the injection, and that of the time in which it must be over with the slowest such time before.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { unitId } from "@radical/protocol";
import { ABSENT, type TestClient } from "../test-client.ts";
import { type Effort, type Figure, figure, median, type Progress } from "./figure.ts";
import { withServer } from "./processes.ts";

const WORKERS = 2;
const CALLERS_OF_EACH_KIND = 4;
const WARM_UP_MS = 2_000;
const BEFORE_MS = 6_000;
const AFTER_MS = 4_000;
const WINDOW_MS = 250;
/** What must be over then. */
const INJECTION_MS = 1_500;
/** Whose rates are compared, each beginning a window after the one before. */
const STRETCH_MS = 1_000;

const KINDS = ["hot reads", "near-storage writes"] as const;

interface Round {
  readonly kind: (typeof KINDS)[number];
  readonly perSecondBefore: number;
  /** In the 1.5 s from the injection on. */
  readonly shareDuring: number;
  readonly worstWindow: number;
  /** From 1.5 s after it on, when it must be over. */
  readonly shareAfter: number;
  /** As long a time before the injection, the slowest; and the slowest second. */
  readonly slowestTimeBefore: number;
  readonly slowestSecondBefore: number;
  /** From the injection on, until the first second begins that is not slower than the slowest before. */
  readonly normalAfterMs: number;
}

export function benchFairness(effort: Effort, progress: Progress): Promise<readonly Figure[]> {
  return withServer(
    async ({ client }) => {
      await client.read("hot");
      const rounds: Round[] = [];
      for (let round = 0; round < effort.rounds; round++) {
        progress(`round ${round + 1} of ${effort.rounds}`);
        rounds.push(...(await measure(client)));
      }
      return KINDS.flatMap((kind) =>
        figuresOf(
          kind,
          rounds.filter((round) => round.kind === kind),
        ),
      );
    },
    "--workers",
    String(WORKERS),
  );
}

function figuresOf(kind: Round["kind"], rounds: readonly Round[]): readonly Figure[] {
  const of = (value: (round: Round) => number): number => median(rounds.map(value));
  const injection = `${INJECTION_MS / 1_000} s from the injection of ${WORKERS} endless handlers on`;
  return [
    figure(
      `${kind}: before`,
      of(({ perSecondBefore }) => perSecondBefore),
      "/s",
    ),
    figure(
      `${kind}: part of it in the ${injection}`,
      of(({ shareDuring }) => shareDuring),
      "",
      { atLeast: 0.25 },
    ),
    figure(
      `${kind}: part of it in the worst window of ${WINDOW_MS} ms`,
      of(({ worstWindow }) => worstWindow),
      "",
    ),
    figure(
      `${kind}: part of it after those`,
      of(({ shareAfter }) => shareAfter),
      "",
    ),
    figure(
      `${kind}: the same beside the slowest time as long before the injection`,
      of(({ shareAfter, slowestTimeBefore }) => shareAfter / slowestTimeBefore),
      "",
      { atLeast: 0.95 },
    ),
    figure(
      `${kind}: slowest second before the injection`,
      of(({ slowestSecondBefore }) => slowestSecondBefore),
      "",
    ),
    figure(
      `${kind}: until a second begins that is not slower, median`,
      of(({ normalAfterMs }) => normalAfterMs),
      "ms",
      { atMost: INJECTION_MS },
    ),
    figure(
      `${kind}: until a second begins that is not slower, worst round`,
      Math.max(...rounds.map(({ normalAfterMs }) => normalAfterMs)),
      "ms",
      { atMost: INJECTION_MS },
    ),
  ];
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
    // From each window on, for so long.
    const stretches = (startMs: number, endMs: number, lengthMs: number): readonly number[] =>
      Array.from({ length: Math.floor((endMs - startMs - lengthMs) / WINDOW_MS) + 1 }, (_, at) => {
        const stretchMs = startMs + at * WINDOW_MS;
        return rate(stretchMs, stretchMs + lengthMs) / before;
      });
    const slowestSecondBefore = Math.min(...stretches(fromMs, injectedAtMs, STRETCH_MS));
    const normalAt = stretches(injectedAtMs, untilMs, STRETCH_MS).findIndex((share) => share >= slowestSecondBefore);
    const worstWindow = Math.min(...stretches(injectedAtMs, injectedAtMs + INJECTION_MS, WINDOW_MS));
    return {
      kind,
      perSecondBefore: before,
      shareDuring: rate(injectedAtMs, injectedAtMs + INJECTION_MS) / before,
      shareAfter: rate(injectedAtMs + INJECTION_MS, untilMs) / before,
      worstWindow,
      slowestTimeBefore: Math.min(...stretches(fromMs, injectedAtMs, AFTER_MS - INJECTION_MS)),
      slowestSecondBefore,
      normalAfterMs: normalAt < 0 ? Infinity : normalAt * WINDOW_MS,
    };
  });
}
