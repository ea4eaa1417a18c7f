/** Callers at the five locations of the paper, each of whom calls again when the answer is there. */
import { fileURLToPath } from "node:url";
import { PAPER_LOCATIONS } from "@radical/app";
import { startTestApp, type TestApp } from "../../src/testing.ts";

const PROJECT = fileURLToPath(new URL("../fixtures/data-load", import.meta.url));

export interface Effort {
  readonly seconds: number;
  readonly turns: number;
  /** Of each location. */
  readonly callers: number;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
}

export interface Call {
  readonly handler: string;
  readonly args: object;
}

/** A call that was answered. */
export interface Answered {
  readonly location: string;
  readonly ms: number;
  readonly status: number;
  readonly path: string | null;
}

export function startApp(): Promise<TestApp> {
  const locations = Object.fromEntries(PAPER_LOCATIONS.map(({ name, roundTripMs }) => [name, roundTripMs]));
  return startTestApp({ project: PROJECT, locations });
}

/** A caller by the place of its location among all, and by its own place among those of the location. */
export interface Caller {
  readonly location: number;
  readonly caller: number;
}

/** The answers to calls of all callers. A caller ends when it has no call more. */
export async function answersOf(
  app: TestApp,
  { callers, signal }: Pick<Effort, "callers" | "signal">,
  next: (caller: Caller) => Call | null,
): Promise<readonly Answered[]> {
  const answers: Answered[] = [];
  const work = async (location: number, caller: number): Promise<void> => {
    const { name } = PAPER_LOCATIONS[location]!;
    while (!signal.aborted) {
      const call = next({ location, caller });
      if (call === null) return;
      const startedAtMs = performance.now();
      const { status, path } = await app.call(call.handler, call.args, { location: name });
      answers.push({ location: name, ms: performance.now() - startedAtMs, status, path });
    }
  };
  await Promise.all(
    PAPER_LOCATIONS.flatMap((_, location) =>
      Array.from({ length: callers }, (_caller, caller) => work(location, caller)),
    ),
  );
  return answers;
}

/** Answers in a second, of a time in which all callers call. Throws if one is an error. */
export async function rateOf(
  app: TestApp,
  effort: Effort,
  next: (caller: Caller) => Call,
): Promise<{ readonly perSecond: number; readonly answers: readonly Answered[] }> {
  const startedAtMs = performance.now();
  const untilMs = startedAtMs + 1_000 * effort.seconds;
  const answers = await answersOf(app, effort, (caller) => (performance.now() < untilMs ? next(caller) : null));
  const failed = answers.find(({ status }) => status !== 200);
  if (failed !== undefined) throw new Error(`a call at ${failed.location} was answered with ${failed.status}`);
  return { perSecond: (1_000 * answers.length) / (performance.now() - startedAtMs), answers };
}
