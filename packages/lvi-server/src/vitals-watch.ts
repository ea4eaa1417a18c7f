/**
 * Looks once a minute at how the server does. It warns in the log while something comes near a bound, and writes the line of metrics, if
 * somebody reads those. A standby is looked at too.
 */
import type { Log } from "./log.ts";
import { embedded, minuteMetrics, type Standing, type Totals, warningsOf } from "./minute-metrics.ts";

export interface VitalsWatchOptions {
  /** As `/readyz` has it, `serving` for ready. */
  readonly state: () => string;
  readonly totals: () => Totals;
  /** Called once at each look. */
  readonly standing: () => Standing;
  readonly log: Log;
  readonly now: () => number;
  readonly intervalMs: number;
  /** Namespace of the metrics in CloudWatch; null: no line of metrics is written. */
  readonly namespace: string | null;
}

export class VitalsWatch {
  readonly #options: VitalsWatchOptions;
  readonly #interval: NodeJS.Timeout;
  #before: Totals;

  constructor(options: VitalsWatchOptions) {
    this.#options = options;
    this.#before = options.totals();
    this.#interval = setInterval(() => this.#look(), options.intervalMs);
    this.#interval.unref();
  }

  stop(): void {
    clearInterval(this.#interval);
  }

  #look(): void {
    const { state, totals, standing, log, now, namespace } = this.#options;
    const [before, after, stands] = [this.#before, totals(), standing()];
    this.#before = after;
    const metrics = minuteMetrics(before, after, stands);
    for (const [event, fields] of warningsOf(metrics, stands)) log.warn(event, fields);
    if (namespace !== null) log.metrics({ state: state(), ...embedded(metrics, namespace, now()) });
  }
}
