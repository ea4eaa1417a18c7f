/** Tasks and schedules of the primary, for the dashboard's page. */
import { askPrimary, type PrimaryAddress } from "@radical/admin";
import {
  type DashboardTask,
  type DashboardTasks as Answer,
  type ListedTask,
  MAX_LISTED_TASKS,
  type ScheduleAnswer,
  type ScheduleList,
  SCHEDULES_PATH,
  type ScheduleQuestion,
  TASK_ORDERS_PATH,
  type TaskList,
  type TaskListQuestion,
  type TaskOrder,
  type TaskOrderAnswer,
  TASKS_PATH,
  type TasksQuestion,
} from "@radical/protocol";
import { explained } from "../operate/older-server.ts";
import { shownArguments } from "../replay/replay-steps.ts";

export interface DashboardTasksPorts {
  /** Asks the server that leads. */
  readonly asking: <T>(ask: (primary: PrimaryAddress) => Promise<T>) => Promise<T>;
  /** Whether arguments are shown. Those of a deployment are values of its users. */
  readonly showsArguments: boolean;
}

export class DashboardTasks {
  readonly #ports: DashboardTasksPorts;

  constructor(ports: DashboardTasksPorts) {
    this.#ports = ports;
  }

  /** Each of these throws a CommandError. */
  async list({ task }: TasksQuestion): Promise<Answer> {
    const question: TaskListQuestion = {
      filter: task === null ? {} : { ids: [task] },
      limit: MAX_LISTED_TASKS,
      after: null,
      withArguments: task !== null && this.#ports.showsArguments,
    };
    const { tasks, next, timeMs } = await this.#asked<TaskList>("POST", TASKS_PATH, question);
    return { tasks: tasks.map(shownTask), isMore: next !== null, timeMs };
  }

  order(order: TaskOrder): Promise<TaskOrderAnswer> {
    return this.#asked("POST", TASK_ORDERS_PATH, order);
  }

  schedules(): Promise<ScheduleList> {
    return this.#asked("GET", SCHEDULES_PATH);
  }

  changeSchedule(question: ScheduleQuestion): Promise<ScheduleAnswer> {
    return this.#asked("POST", SCHEDULES_PATH, question);
  }

  async #asked<T>(method: "GET" | "POST", path: string, question?: object): Promise<T> {
    return explained(path === SCHEDULES_PATH ? "schedules" : "tasks", () =>
      this.#ports.asking(async (primary) => (await askPrimary(primary, method, path, question)).json() as T),
    );
  }
}

function shownTask({ args, caller, ...task }: ListedTask): DashboardTask {
  const shown = args === undefined ? null : shownArguments(Buffer.from(args, "base64"));
  return { ...task, arguments: shown, caller: caller ?? null };
}
