/** The paths that the server answers. A test holds the documents to this table. */
import {
  type ADMINISTRATIVE_PATHS,
  ALARMS_PATH,
  CACHES_PATH,
  CONTENTION_PATH,
  DATA_PATH,
  FOLLOWUP_PATH,
  HEARD_PATH,
  INDEXES_PATH,
  isModuleHash,
  KEYS_PATH,
  LIVES_PATH,
  LOG_PATH,
  LVI_PATH,
  METRICS_PATH,
  MODULE_LIST_PATH,
  type ModuleHash,
  MODULES_PATH,
  PROBE_PATH,
  QUIET_PATH,
  RECORDING_KEYS_PATH,
  SAMPLES_PATH,
  SCHEDULES_PATH,
  STATUS_PATH,
  TASK_ORDERS_PATH,
  TASKS_PATH,
  TIME_PATH,
  UPDATES_PATH,
  UPGRADE_PATH,
  WORKFLOW_HISTORY_PATH,
  WORKFLOW_ORDERS_PATH,
  WORKFLOW_PATH,
  WORKFLOWS_PATH,
} from "@radical/protocol";

/** Of anybody who reaches the server. They are not signed. */
export const OPEN_ROUTES = {
  "/metrics": "metrics",
  "/healthz": "healthz",
  "/readyz": "readyz",
  [PROBE_PATH]: "probez",
  [KEYS_PATH]: "keys",
} as const;

export const LOCATION_ROUTES = {
  [LVI_PATH]: "lvi",
  [FOLLOWUP_PATH]: "followup",
  [WORKFLOW_PATH]: "workflow",
  [UPDATES_PATH]: "updates",
  [HEARD_PATH]: "heard",
  [ALARMS_PATH]: "alarms",
} as const;

export const ADMINISTRATIVE_ROUTES = {
  [STATUS_PATH]: "status",
  [METRICS_PATH]: "signed-metrics",
  [MODULE_LIST_PATH]: "modules",
  [INDEXES_PATH]: "indexes",
  [SCHEDULES_PATH]: "schedules",
  [CONTENTION_PATH]: "contention",
  [TASKS_PATH]: "tasks",
  [TASK_ORDERS_PATH]: "task-orders",
  [WORKFLOWS_PATH]: "workflows",
  [WORKFLOW_HISTORY_PATH]: "workflow-history",
  [WORKFLOW_ORDERS_PATH]: "workflow-orders",
  [UPGRADE_PATH]: "upgrade",
  [QUIET_PATH]: "quiet",
  [TIME_PATH]: "time",
  [LOG_PATH]: "log",
  [SAMPLES_PATH]: "samples",
  [RECORDING_KEYS_PATH]: "recording-keys",
  [LIVES_PATH]: "lives",
  [CACHES_PATH]: "caches",
  [DATA_PATH]: "data",
} as const satisfies Readonly<Record<(typeof ADMINISTRATIVE_PATHS)[number], string>>;

type Fixed =
  | (typeof OPEN_ROUTES)[keyof typeof OPEN_ROUTES]
  | (typeof LOCATION_ROUTES)[keyof typeof LOCATION_ROUTES]
  | (typeof ADMINISTRATIVE_ROUTES)[keyof typeof ADMINISTRATIVE_ROUTES];

export type Route =
  | { readonly kind: Fixed | "none" }
  | { readonly kind: "module"; readonly hash: ModuleHash; readonly worker: string | null; readonly isAside: boolean }
  | { readonly kind: "module-content"; readonly hash: ModuleHash };

const [GET, POST] = [["GET"], ["POST"]];

export const METHODS: Readonly<Record<Exclude<Route["kind"], "none">, readonly string[]>> = {
  metrics: GET,
  healthz: GET,
  readyz: GET,
  probez: GET,
  keys: GET,
  lvi: POST,
  followup: POST,
  workflow: POST,
  updates: POST,
  heard: POST,
  alarms: POST,
  module: ["GET", "PUT"],
  "module-content": GET,
  status: GET,
  "signed-metrics": GET,
  modules: GET,
  indexes: GET,
  schedules: ["GET", "POST"],
  contention: GET,
  tasks: POST,
  "task-orders": POST,
  workflows: POST,
  "workflow-history": POST,
  "workflow-orders": POST,
  upgrade: POST,
  quiet: POST,
  time: POST,
  log: POST,
  samples: POST,
  "recording-keys": POST,
  lives: POST,
  caches: POST,
  data: POST,
};

/** They are about this process, whether it serves or not. */
export const ASK_PROCESS: ReadonlySet<Route["kind"]> = new Set(["status", "signed-metrics", "log"]);

/** Signed by an administration key. All other signed ones are of locations. */
export const ADMINISTRATIVE: ReadonlySet<Route["kind"]> = new Set<Route["kind"]>([
  ...Object.values(ADMINISTRATIVE_ROUTES),
  "module",
  "module-content",
]);

const FIXED: ReadonlyMap<string, Fixed> = new Map(
  Object.entries({ ...OPEN_ROUTES, ...LOCATION_ROUTES, ...ADMINISTRATIVE_ROUTES }),
);
const CONTENT_SUFFIX = "/content";

export function routeOf(path: string): Route {
  const fixed = FIXED.get(path);
  if (fixed !== undefined) return { kind: fixed };
  const name = path.startsWith(MODULES_PATH) ? path.slice(MODULES_PATH.length) : "";
  const [module = "", query = ""] = name.split("?", 2);
  if (isModuleHash(module)) return { kind: "module", hash: module, worker: workerIn(query), isAside: isAsideIn(query) };
  const hash = name.endsWith(CONTENT_SUFFIX) ? name.slice(0, -CONTENT_SUFFIX.length) : "";
  return isModuleHash(hash) ? { kind: "module-content", hash } : { kind: "none" };
}

/** Whether the module is of no application, so that tasks do not run on it. */
function isAsideIn(query: string): boolean {
  return new URLSearchParams(query).get("aside") === "yes";
}

/** The origin that a registration names; null: none, or it is not one. */
function workerIn(query: string): string | null {
  const url = URL.parse(new URLSearchParams(query).get("worker") ?? "");
  return url !== null && /^https?:$/.test(url.protocol) ? url.origin : null;
}
