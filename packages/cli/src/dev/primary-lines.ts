/** Lines that the primary tells as they come: followed from its server, and again from the next one when that has ended. */
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Life,
  lifeIn,
  type LifeLine,
  LIVES_PATH,
  type LivesQuestion,
  SAMPLES_PATH,
  type SampleLine,
  type SampleQuestion,
} from "@radical/protocol";

/** Sends a signed `POST` of JSON to the server that leads. Throws, or answers with an error, if there is none. */
export type AskPrimary = (path: string, question: object, signal: AbortSignal) => Promise<Response>;

export interface FollowedPrimary {
  readonly ask: AskPrimary;
  readonly signal: AbortSignal;
  /** How long to wait before it is asked again. */
  readonly pauseMs: number;
  /** Told at each connection, and at its end: whether lines come. */
  readonly onState?: (isConnected: boolean) => void;
}

/** It is told lives, and how many were left out before the next one. */
export interface LivesTaker {
  add(life: Life): void;
  leaveOut(count: number): void;
}

/** Of one of so many executions. Resolves when the signal ends it. */
export function followLives(primary: FollowedPrimary, question: LivesQuestion, taker: LivesTaker): Promise<void> {
  return follow(primary, LIVES_PATH, question, (line) => {
    const life = lifeIn(line);
    if (life !== null) taker.add(life);
    else if (isLeftOut(line)) taker.leaveOut(line.count);
  });
}

function isLeftOut(line: unknown): line is LifeLine & { readonly kind: "left-out" } {
  if (typeof line !== "object" || line === null) return false;
  const { kind, count } = line as Partial<LifeLine & { readonly kind: "left-out" }>;
  return kind === "left-out" && Number.isSafeInteger(count);
}

/** In a second. A sample with ten items costs the primary half as much as a read of these; people look at one at a time. */
const MOST_SAMPLES = 100;

/** Samples with the values that executions read, at most 100 in a second. Resolves when the signal ends it. */
export function followSamples(
  primary: FollowedPrimary,
  { every, redact }: Pick<SampleQuestion, "every" | "redact">,
  onLine: (line: SampleLine) => void,
): Promise<void> {
  const question: SampleQuestion = { every, handlers: [], values: true, redact, perSecond: MOST_SAMPLES };
  return follow(primary, SAMPLES_PATH, question, (line) => onLine(line as SampleLine));
}

async function follow(
  { ask, signal, pauseMs, onState }: FollowedPrimary,
  path: string,
  question: object,
  onLine: (line: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const response = await ask(path, question, signal);
      if (response.ok && response.body !== null) {
        onState?.(true);
        for await (const text of createInterface({ input: Readable.fromWeb(response.body) })) {
          const line = text === "" ? undefined : parsed(text);
          if (line !== undefined) onLine(line);
        }
      } else await response.body?.cancel();
    } catch {
      // It is being started, or has ended: the next one is asked.
    }
    if (!signal.aborted) onState?.(false);
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
