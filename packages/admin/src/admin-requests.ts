/** The questions of `radical deploy` and its companions to the primary: signed requests to its administrative addresses. */
import {
  INDEXES_PATH,
  type IndexList,
  type IndexStatus,
  MODULES_PATH,
  MODULE_LIST_PATH,
  type ModuleContent,
  type ModuleHash,
  type ModuleList,
  encodeModuleContent,
  type ScheduleAnswer,
  type ScheduleList,
  type ScheduleQuestion,
  SCHEDULES_PATH,
  type ServerStatus,
  type ServicesStatus,
  STATUS_PATH,
  type TaskList,
  type TaskListQuestion,
  TASKS_PATH,
  type ListedWorkflow,
  MAX_LISTED_WORKFLOWS,
  type WorkflowList,
  type WorkflowListQuestion,
  WORKFLOWS_PATH,
  TIME_PATH,
  type TimeMove,
  UPGRADE_PATH,
  type UpgradeOrder,
  type UpgradeStatus,
} from "@radical/protocol";
import type { AdministrationKey } from "./administration-key.ts";
import { askPrimary, PrimaryError } from "./ask-primary.ts";
import type { PrimaryAddress } from "./primary-address.ts";
import { readModule } from "./module-store.ts";

export interface AdminAddress {
  /** Origins: of the LVI servers of one storage, of which one leads, or of the relay in front of them. At least one. */
  readonly urls: readonly string[];
  readonly key: AdministrationKey;
  /** The name of the deployment; left out: not known. */
  readonly deployment?: string;
}

/** Whether the server has the module; so it serves, and knows the key. Throws a PrimaryError if it can't say. */
export async function hasModule(address: AdminAddress, module: ModuleHash): Promise<boolean> {
  try {
    await askLeader(address, "GET", `${MODULES_PATH}${module}`);
    return true;
  } catch (error) {
    if (error instanceof PrimaryError && error.answered === "not_found") return false;
    throw error;
  }
}

/** Gives the server a module. `worker`: the origin at which the primary calls the application's services; null: there are none. */
export async function registerModule(
  address: AdminAddress,
  module: ModuleHash,
  content: ModuleContent,
  worker: string | null,
): Promise<void> {
  const query = worker === null ? "" : `?worker=${encodeURIComponent(worker)}`;
  await askLeader(address, "PUT", `${MODULES_PATH}${module}${query}`, encodeModuleContent(content));
}

/** The primary's view of services; null: its server is of a release without them, or does not say. */
export async function servicesOf(address: AdminAddress): Promise<ServicesStatus | null> {
  const status = (await (await askLeader(address, "GET", STATUS_PATH)).json()) as ServerStatus;
  return status.services ?? null;
}

/** How far the upgrade of one server has come, whether it leads or not. Null: it is of a release that knows none, or has not read its storage. */
export async function upgradeOf(address: PrimaryAddress): Promise<UpgradeStatus | null> {
  return ((await (await askPrimary(address, "GET", STATUS_PATH)).json()) as ServerStatus).upgrade ?? null;
}

/** Has the server that leads write its storage in this schema from now on. Resolves when it does. */
export async function finishUpgrade(address: AdminAddress, to: number): Promise<UpgradeStatus> {
  const order: UpgradeOrder = { to };
  return (await (await askLeader(address, "POST", UPGRADE_PATH, order)).json()) as UpgradeStatus;
}

/** The modules that the server has, or that executions name. Only a server that serves can say. */
export async function registeredModules(address: AdminAddress): Promise<ModuleList["modules"]> {
  return ((await (await askLeader(address, "GET", MODULE_LIST_PATH)).json()) as ModuleList).modules;
}

/** How far the indexes are built that modules of the server name. */
export async function indexStatuses(address: AdminAddress): Promise<readonly IndexStatus[]> {
  return ((await (await askLeader(address, "GET", INDEXES_PATH)).json()) as IndexList).indexes;
}

/** Those of the module that tasks run on. Of a release without schedules: none. */
export async function currentSchedules(address: AdminAddress): Promise<ScheduleList["schedules"]> {
  try {
    return ((await (await askLeader(address, "GET", SCHEDULES_PATH)).json()) as ScheduleList).schedules;
  } catch (error) {
    if (error instanceof PrimaryError && error.answered === "not_found") return [];
    throw error;
  }
}

/** The schedules of handlers, of the server that leads. */
export async function schedulesOf(address: PrimaryAddress): Promise<ScheduleList> {
  return (await (await askPrimary(address, "GET", SCHEDULES_PATH)).json()) as ScheduleList;
}

/** Resolves when it is durable. */
export async function askSchedule(address: PrimaryAddress, question: ScheduleQuestion): Promise<ScheduleAnswer> {
  return (await (await askPrimary(address, "POST", SCHEDULES_PATH, question)).json()) as ScheduleAnswer;
}

/** Moves the time of tasks until it is so far ahead of the machine's. Resolves once everything has ended that was due by then. */
export async function moveTime(
  address: PrimaryAddress,
  aheadMs: number,
  onReached: (aheadMs: number) => void = () => undefined,
): Promise<void> {
  for (let reachedMs = -1; reachedMs < aheadMs; onReached(reachedMs)) {
    // It takes as long as the tasks that are due.
    const answer = await askPrimary(address, "POST", TIME_PATH, { aheadMs } satisfies TimeMove, NEVER);
    reachedMs = ((await answer.json()) as TimeMove).aheadMs;
  }
}

/** How far the time of tasks is ahead of the machine's. */
export async function reachedTime(address: PrimaryAddress): Promise<number> {
  // Time never goes back, so this moves nothing.
  const answer = await askPrimary(address, "POST", TIME_PATH, { aheadMs: 0 } satisfies TimeMove);
  return ((await answer.json()) as TimeMove).aheadMs;
}

const NEVER = new AbortController().signal;

/** Null: the server does not have it. Throws a CommandError for one of a release that this one does not run. */
export async function moduleContent(address: AdminAddress, module: ModuleHash): Promise<ModuleContent | null> {
  try {
    const answer = await askLeader(address, "GET", `${MODULES_PATH}${module}/content`);
    return readModule(new Uint8Array(await answer.arrayBuffer()));
  } catch (error) {
    if (error instanceof PrimaryError && error.answered === "not_found") return null;
    throw error;
  }
}

/** How many tasks wait at the primary; null: it has not counted them yet. Of a release without tasks: none. */
export async function waitingTasks(address: AdminAddress): Promise<number | null> {
  const question: TaskListQuestion = { filter: {}, limit: 1, after: null, withArguments: false };
  try {
    return ((await (await askLeader(address, "POST", TASKS_PATH, question)).json()) as TaskList).all;
  } catch (error) {
    if (error instanceof PrimaryError && error.answered === "not_found") return 0;
    throw error;
  }
}

/** All workflows that have not ended, page by page. Of a release without workflows: none. */
export async function* workflowsThatGoOn(address: AdminAddress): AsyncGenerator<ListedWorkflow> {
  for (let after: string | null | undefined = undefined; after !== null;) {
    const question: WorkflowListQuestion = { ...ANY_WORKFLOW, limit: MAX_LISTED_WORKFLOWS, after: after ?? null };
    // oxlint-disable-next-line no-await-in-loop -- a page says where the next one begins
    const page: WorkflowList | null = await workflowPage(address, question);
    if (page === null) return;
    yield* page.workflows;
    after = page.next;
  }
}

const ANY_WORKFLOW = { state: null, handler: null } as const;

/** Null: the server is of a release without workflows. */
async function workflowPage(address: AdminAddress, question: WorkflowListQuestion): Promise<WorkflowList | null> {
  try {
    return (await (await askLeader(address, "POST", WORKFLOWS_PATH, question)).json()) as WorkflowList;
  } catch (error) {
    if (error instanceof PrimaryError && error.answered === "not_found") return null;
    throw error;
  }
}

/** How many workflows have not ended; null: the primary does not know all of them yet. Of a release without workflows: none. */
export async function openWorkflows(address: AdminAddress): Promise<number | null> {
  const page = await workflowPage(address, { ...ANY_WORKFLOW, limit: 1, after: null });
  return page === null ? 0 : page.all;
}

/** How many intents are durable and not applied yet, of all modules. */
export async function pendingIntents(address: AdminAddress): Promise<number> {
  return (await registeredModules(address)).reduce((sum, { pending }) => sum + pending, 0);
}

/** Asks one server after the other until one leads: which one does is decided by the leadership, and may change at any time. */
async function askLeader(
  { urls, ...of }: AdminAddress,
  method: "GET" | "POST" | "PUT",
  path: string,
  body?: object,
): Promise<Response> {
  let failure: PrimaryError | null = null;
  for (const url of urls) {
    try {
      return await askPrimary({ url, ...of }, method, path, body);
    } catch (error) {
      if (!(error instanceof PrimaryError) || !isOfThisServer(error)) throw error;
      // The words of a server that answers tell more.
      if (failure === null || failure.failure === "primary_not_reached") failure = error;
    }
  }
  throw failure ?? new Error("the primary has no administrative address");
}

/** Whether another server of the same storage may answer otherwise. */
function isOfThisServer({ failure, answered }: PrimaryError): boolean {
  // Without a code nobody has answered, or what stands in front of a server that is away.
  return failure === "primary_not_serving" || answered === null;
}
