/** Tasks and schedules of the primary, for the dashboard's page. */
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
import { answerOf } from "../operate/older-server.ts";
import { shownArguments } from "../replay/secret-names.ts";
import type { PrimaryPorts } from "./primary-ports.ts";

export class DashboardTasks {
  readonly #ports: PrimaryPorts;

  constructor(ports: PrimaryPorts) {
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
    const { tasks, next, timeMs } = await this.#ports.asking((primary) =>
      answerOf<TaskList>("tasks", primary, TASKS_PATH, question),
    );
    return { tasks: tasks.map(shownTask), isMore: next !== null, timeMs };
  }

  order(order: TaskOrder): Promise<TaskOrderAnswer> {
    return this.#ports.asking((primary) => answerOf("tasks", primary, TASK_ORDERS_PATH, order));
  }

  schedules(): Promise<ScheduleList> {
    return this.#ports.asking((primary) => answerOf("schedules", primary, SCHEDULES_PATH));
  }

  changeSchedule(question: ScheduleQuestion): Promise<ScheduleAnswer> {
    return this.#ports.asking((primary) => answerOf("schedules", primary, SCHEDULES_PATH, question));
  }
}

function shownTask({ args, caller, ...task }: ListedTask): DashboardTask {
  const shown = args === undefined ? null : shownArguments(Buffer.from(args, "base64"));
  return { ...task, arguments: shown, caller: caller ?? null };
}
