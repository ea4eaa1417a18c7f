/** All paths of operators' commands, in one list: a server answers them, a relay forwards them, and the documents have them. */
import {
  CONTENTION_PATH,
  DATA_PATH,
  INDEXES_PATH,
  LOG_PATH,
  MODULE_LIST_PATH,
  QUIET_PATH,
  SAMPLES_PATH,
  SCHEDULES_PATH,
  STATUS_PATH,
  TIME_PATH,
  UPGRADE_PATH,
} from "./administration.ts";
import { CACHES_PATH } from "./cache-orders.ts";
import { LIVES_PATH } from "./life.ts";
import { RECORDING_KEYS_PATH } from "./recording-key.ts";
import { METRICS_PATH } from "./server-metrics.ts";
import { TASK_ORDERS_PATH, TASKS_PATH } from "./task-administration.ts";
import { WORKFLOW_HISTORY_PATH, WORKFLOW_ORDERS_PATH, WORKFLOWS_PATH } from "./workflow-administration.ts";

/** But for those of one module, which begin with `MODULES_PATH`. */
export const ADMINISTRATIVE_PATHS = [
  STATUS_PATH,
  METRICS_PATH,
  MODULE_LIST_PATH,
  INDEXES_PATH,
  TASKS_PATH,
  TASK_ORDERS_PATH,
  SCHEDULES_PATH,
  WORKFLOWS_PATH,
  WORKFLOW_HISTORY_PATH,
  WORKFLOW_ORDERS_PATH,
  UPGRADE_PATH,
  QUIET_PATH,
  TIME_PATH,
  LOG_PATH,
  SAMPLES_PATH,
  RECORDING_KEYS_PATH,
  LIVES_PATH,
  CONTENTION_PATH,
  CACHES_PATH,
  DATA_PATH,
] as const;
