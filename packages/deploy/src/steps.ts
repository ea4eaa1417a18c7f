/**
 * A deployment as data: steps in order, each of which says what it would change and then changes it. A step looks at
 * the clouds, not at what an earlier run has noted, so whatever is there already is no change: a run that was broken off
 * is continued by running again, and a second run changes nothing.
 */
import { CommandError, messageOf } from "@radical/app/command-error";

export interface Change {
  readonly kind: "make" | "change" | "replace" | "remove" | "repair";
  /** In the developer's words: `Worker social-production`. */
  readonly what: string;
  /** Why; empty if it is plain. */
  readonly detail: string;
}

/** Which half of a deployment a step belongs to: what `--only` chooses. */
export type Half = "edge" | "primary";

export interface Step {
  /** For programs, in kebab-case. */
  readonly name: string;
  /** For people, while it works: `Register the module`. */
  readonly title: string;
  readonly half: Half;
  /** What it would change, by what is there; changes nothing itself. */
  plan(): Promise<readonly Change[]>;
  /** Makes all of it true; called in any case, since a later step may need what it finds. Says what it found. */
  apply(changes: readonly Change[]): Promise<string | undefined>;
  /** What stands if it fails, in words: what serves, and what it has left behind. */
  readonly ifFailed: string;
}

export interface PlannedStep {
  readonly step: Step;
  readonly changes: readonly Change[];
}

/** A step that has ended. */
export interface StepReport {
  readonly name: string;
  readonly half: Half;
  readonly changes: readonly Change[];
  readonly outcome: "done" | "unchanged" | "failed";
  readonly ms: number;
  /** What it found, in words. */
  readonly found: string | null;
}

export type StepEvent =
  | { readonly kind: "begun"; readonly step: Step; readonly number: number; readonly of: number }
  | { readonly kind: "ended"; readonly step: Step; readonly report: StepReport };

export type StepsOutcome =
  | { readonly kind: "done"; readonly reports: readonly StepReport[] }
  | {
      readonly kind: "failed";
      readonly reports: readonly StepReport[];
      readonly failed: Step;
      readonly error: CommandError;
    }
  /** Told to stop. */
  | {
      readonly kind: "stopped";
      readonly reports: readonly StepReport[];
      /** The first that has not ended. */
      readonly next: Step;
      /** Whether it was under way. */
      readonly isBegun: boolean;
    };

export interface StepsOptions {
  readonly onEvent: (event: StepEvent) => void;
  /** Aborted: the step that is under way is not waited for, and no further one begins. */
  readonly signal?: AbortSignal;
  /** In milliseconds; only differences count. */
  readonly now?: () => number;
}

/** What all steps would change. */
export async function planSteps(steps: readonly Step[]): Promise<readonly PlannedStep[]> {
  const planned: PlannedStep[] = [];
  // One after the other: what one finds, later ones use.
  for (const step of steps) planned.push({ step, changes: await step.plan() });
  return planned;
}

export async function applySteps(planned: readonly PlannedStep[], options: StepsOptions): Promise<StepsOutcome> {
  const { onEvent, signal, now = () => performance.now() } = options;
  const reports: StepReport[] = [];
  const isStopped = (): boolean => signal?.aborted === true;
  for (const [index, { step, changes }] of planned.entries()) {
    if (isStopped()) return { kind: "stopped", reports, next: step, isBegun: false };
    onEvent({ kind: "begun", step, number: index + 1, of: planned.length });
    const startedAtMs = now();
    const end = (outcome: StepReport["outcome"], found: string | null): void => {
      const { name, half } = step;
      const report = { name, half, changes, outcome, ms: Math.round(now() - startedAtMs), found };
      reports.push(report);
      onEvent({ kind: "ended", step, report });
    };
    try {
      const found = await unlessStopped(step.apply(changes), signal);
      end(changes.length === 0 ? "unchanged" : "done", found ?? null);
    } catch (error) {
      // What is cut off by the signal is no failure of the step.
      if (isStopped()) return { kind: "stopped", reports, next: step, isBegun: true };
      end("failed", null);
      return { kind: "failed", reports, failed: step, error: commandErrorOf(error) };
    }
  }
  return { kind: "done", reports };
}

/** Waits for it no longer than until the signal: throws a CommandError then. */
export async function unlessStopped<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const stopped = Promise.withResolvers<never>();
  const stop = (): void =>
    stopped.reject(
      new CommandError("stopped", "The command was told to stop.", "Run the same command again to go on."),
    );
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop);
  try {
    return await Promise.race([stopped.promise, work]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function commandErrorOf(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  const words = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
  return new CommandError("internal_error", words, "This is a fault of Radical. Please report it.", { cause: error });
}
