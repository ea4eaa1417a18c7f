/** Questions to the server of the page. */
import {
  type CachedAnswer,
  type ContentionReport,
  DASHBOARD_APP_PATH,
  DASHBOARD_CACHED_PATH,
  DASHBOARD_CALL_PATH,
  DASHBOARD_CONTENTION_PATH,
  DASHBOARD_DATA_PATH,
  DASHBOARD_FAULTS_PATH,
  DASHBOARD_RECORDS_PATH,
  DASHBOARD_REPLAY_PATH,
  DASHBOARD_SCHEDULES_PATH,
  DASHBOARD_TASK_ORDERS_PATH,
  DASHBOARD_TASKS_PATH,
  DASHBOARD_TIME_PATH,
  DASHBOARD_TOKEN_HEADER,
  DASHBOARD_WORKFLOW_ORDERS_PATH,
  DASHBOARD_WORKFLOWS_PATH,
  DASHBOARD_WRITE_PATH,
  type DashboardApp,
  type DashboardCalled,
  type DashboardCalls,
  type DashboardRecords,
  type DashboardTasks,
  type DashboardTime,
  type DashboardWorkflow,
  type DashboardWorkflows,
  type DataChange,
  type DataChanged,
  type DataPage,
  type DataQuestion,
  type ExecutionId,
  type Replay,
  type ReplayQuestion,
  type ScheduleAnswer,
  type ScheduleList,
  type ScheduleQuestion,
  type TaskOrder,
  type TaskOrderAnswer,
  type TasksQuestion,
  type UnitId,
  type WorkflowOrder,
  type WorkflowOrderAnswer,
} from "@radical/protocol";

const KEPT = "token";

/** The fragment leaves the address at once: it is nobody's bookmark. */
function takeToken(): string {
  const given = location.hash.slice(1);
  if (/^[\w-]{10,}$/.test(given)) {
    sessionStorage.setItem(KEPT, given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEPT) ?? "";
}

export const token: string = takeToken();

/** An error, in the words of the server. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/** The error in words, with the way out. */
export function problemOf(error: unknown): string {
  return error instanceof ApiError ? `${error.message} ${error.hint}` : String(error);
}

async function ask<T>(path: string, question?: unknown): Promise<T> {
  const headers = { [DASHBOARD_TOKEN_HEADER]: token, "content-type": "application/json" };
  const init = question === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(question) };
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch {
    throw new ApiError("The command does not answer.", "Start it again, and open the address that it prints.");
  }
  const answer = (await response.json()) as T;
  if (response.ok) return answer;
  const { error } = answer as { readonly error?: { readonly message: string; readonly hint: string } };
  throw new ApiError(error?.message ?? `status ${response.status}`, error?.hint ?? "");
}

export const api = {
  app: (): Promise<DashboardApp> => ask(DASHBOARD_APP_PATH),
  faults: (change: Readonly<Record<string, unknown>>): Promise<unknown> => ask(DASHBOARD_FAULTS_PATH, change),
  call: (calls: DashboardCalls): Promise<DashboardCalled> => ask(DASHBOARD_CALL_PATH, calls),
  data: (question: DataQuestion): Promise<DataPage> => ask(DASHBOARD_DATA_PATH, question),
  contention: (): Promise<ContentionReport> => ask(DASHBOARD_CONTENTION_PATH),
  records: (): Promise<DashboardRecords> => ask(DASHBOARD_RECORDS_PATH),
  replay: (question: ReplayQuestion): Promise<Replay> => ask(DASHBOARD_REPLAY_PATH, question),
  cached: (units: readonly UnitId[]): Promise<CachedAnswer> => ask(DASHBOARD_CACHED_PATH, { units }),
  tasks: (question: TasksQuestion): Promise<DashboardTasks> => ask(DASHBOARD_TASKS_PATH, question),
  orderTasks: (order: TaskOrder): Promise<TaskOrderAnswer> => ask(DASHBOARD_TASK_ORDERS_PATH, order),
  workflows: (): Promise<DashboardWorkflows> => ask(DASHBOARD_WORKFLOWS_PATH),
  workflow: (workflow: ExecutionId): Promise<DashboardWorkflow> => ask(DASHBOARD_WORKFLOWS_PATH, { workflow }),
  orderWorkflows: (order: WorkflowOrder): Promise<WorkflowOrderAnswer> => ask(DASHBOARD_WORKFLOW_ORDERS_PATH, order),
  /** Milliseconds. */
  moveTime: (advance: number): Promise<DashboardTime> => ask(DASHBOARD_TIME_PATH, { advance }),
  schedules: (): Promise<ScheduleList> => ask(DASHBOARD_SCHEDULES_PATH),
  changeSchedule: (question: ScheduleQuestion): Promise<ScheduleAnswer> => ask(DASHBOARD_SCHEDULES_PATH, question),
  write: (change: DataChange): Promise<DataChanged> => ask(DASHBOARD_WRITE_PATH, change),
};
