/** The questions of the dashboard's page, checked. Each throws a CommandError. */
import {
  type CachedQuestion,
  type DashboardCalls,
  type DataChange,
  type DataQuestion,
  type ExecutionId,
  isCommitId,
  isExecutionId,
  isItemId,
  MalformedError,
  MAX_LOOKED_AT,
  readTaskOrder,
  readWorkflowOrder,
  type ReplayQuestion,
  SCHEDULE_ACTIONS,
  type ScheduleQuestion,
  type TaskOrder,
  type TasksQuestion,
  type WorkflowOrder,
} from "@radical/protocol";
import { CommandError } from "@radical/app/command-error";

const MAX_SENDS = 32;

export function readCalls(json: unknown): DashboardCalls {
  const { handler, args, sends } = fieldsOf(json);
  if (typeof handler !== "string" || typeof args !== "string") throw wrong("The fields handler and args must be text.");
  if (!Array.isArray(sends) || sends.length === 0 || sends.length > MAX_SENDS)
    throw wrong(`The field sends must be a list of 1 to ${MAX_SENDS}.`);
  return {
    handler,
    args,
    sends: sends.map((send: unknown) => {
      const { place, key, authorization } = fieldsOf(send);
      if (typeof place !== "string") throw wrong("The field place must be text.");
      return { place, key: textOrNull(key, "key"), authorization: textOrNull(authorization, "authorization") };
    }),
  };
}

export function readDataQuestion(json: unknown): DataQuestion {
  const { kind, table, prefix, after } = fieldsOf(json);
  if (kind === "tables") return { kind };
  if (kind !== "page" || typeof table !== "string" || typeof prefix !== "string")
    throw wrong("The dashboard does not know this question.");
  return { kind, table, prefix, after: textOrNull(after, "after") };
}

export function readDataChange(json: unknown): DataChange {
  const { table, key, value, expects } = fieldsOf(json);
  if (typeof table !== "string" || typeof key !== "string") throw wrong("The fields table and key must be text.");
  const version = textOrNull(expects, "expects");
  if (version !== null && !isCommitId(version)) throw wrong("The field expects must be a version or null.");
  return { table, key, value: textOrNull(value, "value"), expects: version };
}

export function readReplayQuestion(json: unknown): ReplayQuestion {
  const { execution, build } = fieldsOf(json);
  if (typeof execution !== "string") throw wrong("The field execution must be text.");
  if (build !== "recorded" && build !== "present") throw wrong("The field build must be recorded or present.");
  return { execution, build };
}

export function readCachedQuestion(json: unknown): CachedQuestion {
  const { units } = fieldsOf(json);
  if (!Array.isArray(units) || units.length > MAX_LOOKED_AT)
    throw wrong(`The field units must be a list of at most ${MAX_LOOKED_AT}.`);
  return {
    units: units.map((unit: unknown) => {
      if (typeof unit !== "string" || !isItemId(unit))
        throw wrong("Each unit must be an item: its table, a slash and its key.");
      return unit;
    }),
  };
}

export function readTasksQuestion(json: unknown): TasksQuestion {
  const { task } = fieldsOf(json);
  const id = textOrNull(task, "task");
  if (id !== null && !isExecutionId(id)) throw wrong("The field task must be an id or null.");
  return { task: id };
}

export function readWorkflowQuestion(json: unknown): ExecutionId {
  const { workflow } = fieldsOf(json);
  if (typeof workflow !== "string" || !isExecutionId(workflow)) throw wrong("The field workflow must be an id.");
  return workflow;
}

export function readOrderOfWorkflows(json: unknown): WorkflowOrder {
  return checked(() => readWorkflowOrder(fieldsOf(json)));
}

export function readOrder(json: unknown): TaskOrder {
  return checked(() => readTaskOrder(fieldsOf(json)));
}

export function readScheduleChange(json: unknown): ScheduleQuestion {
  const { handler, action } = fieldsOf(json);
  const known = SCHEDULE_ACTIONS.find((one) => one === action);
  if (typeof handler !== "string" || known === undefined)
    throw wrong(`The field handler must be text, and action one of ${SCHEDULE_ACTIONS.join(", ")}.`);
  return { handler, action: known };
}

function checked<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof MalformedError ? wrong(error.message) : error;
  }
}

function fieldsOf(json: unknown): Readonly<Record<string, unknown>> {
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw wrong("The body must be a JSON object.");
  return json as Readonly<Record<string, unknown>>;
}

function textOrNull(value: unknown, name: string): string | null {
  if (value === null || typeof value === "string") return value;
  throw wrong(`The field ${name} must be text or null.`);
}

function wrong(message: string): CommandError {
  return new CommandError("invalid_question", message, "Reload the page: it may be of another release.");
}
