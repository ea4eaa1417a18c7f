/**
 * A line of log a minute while effects wait for somebody. Alarms on the log see by it how things stand, also when another server
 * has taken over meanwhile. A server whose effects are well says nothing.
 */
import type { ServiceStatus } from "@radical/protocol";
import type { TaskCounts } from "./core/task-table.ts";
import type { WorkflowCounts } from "./core/workflow-table.ts";
import type { Fields, Log } from "./log.ts";

/** A task that may begin and has waited for so long is worth a line. */
const LONG_WAIT_SECONDS = 60;
const EVERY_MS = 60_000;

export interface Effects {
  readonly tasks: Pick<TaskCounts, "dead" | "oldestReadyMs">;
  readonly workflows: Pick<WorkflowCounts, "stuck">;
  readonly services: readonly Pick<ServiceStatus, "name" | "breaker">[];
}

/** The fields of the line; null: nothing waits for anybody. The alarms of a deployment read them by their names. */
export function effectsThatWait({ tasks, workflows, services }: Effects): Fields | null {
  const down = services.filter(({ breaker }) => breaker !== "closed").map(({ name }) => name);
  // Not counted yet: the next line has them.
  const deadTasks = tasks.dead ?? 0;
  const oldestReadySeconds = Math.floor(tasks.oldestReadyMs / 1_000);
  const stuckWorkflows = workflows.stuck;
  const isWell = deadTasks + stuckWorkflows + down.length === 0 && oldestReadySeconds < LONG_WAIT_SECONDS;
  if (isWell) return null;
  const names = down.length === 0 ? {} : { services: down.join(" ") };
  return { deadTasks, oldestReadySeconds, stuckWorkflows, servicesDown: down.length, ...names };
}

export class EffectsWatch {
  readonly #effects: () => Effects;
  readonly #log: Log;
  readonly #interval: NodeJS.Timeout;

  constructor(effects: () => Effects, log: Log) {
    this.#effects = effects;
    this.#log = log;
    this.#interval = setInterval(() => this.look(), EVERY_MS);
    this.#interval.unref();
  }

  look(): void {
    const fields = effectsThatWait(this.#effects());
    if (fields !== null) this.#log.warn("effects_wait", fields);
  }

  stop(): void {
    clearInterval(this.#interval);
  }
}
