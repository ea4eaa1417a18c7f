/** Workflows of the primary, for the dashboard's page. */
import {
  type DashboardListedWorkflow,
  type DashboardWorkflow,
  type DashboardWorkflows as Answer,
  type ExecutionId,
  type ListedWorkflow,
  type ShownArrival,
  type ShownWait,
  WORKFLOW_HISTORY_PATH,
  WORKFLOW_ORDERS_PATH,
  type WorkflowHistory,
  type WorkflowHistoryQuestion,
  type WorkflowList,
  type WorkflowListQuestion,
  type WorkflowOrder,
  type WorkflowOrderAnswer,
  WORKFLOWS_PATH,
} from "@radical/protocol";
import { answerOf } from "../operate/older-server.ts";
import { shownArguments } from "../replay/secret-names.ts";
import type { PrimaryPorts } from "./primary-ports.ts";

/** Most workflows of a list. */
const MOST = 200;
/** So many of them are told with what they wait for: that stands in their journals. */
const MOST_WAITS = 50;

interface Known {
  /** The wait is of this state of its journal. */
  readonly journal: string;
  readonly wait: ShownWait | null;
}

export class DashboardWorkflows {
  readonly #ports: PrimaryPorts;
  #known = new Map<ExecutionId, Known>();

  constructor(ports: PrimaryPorts) {
    this.#ports = ports;
  }

  /** Each of these throws a CommandError. */
  async list(): Promise<Answer> {
    const question: WorkflowListQuestion = { state: null, handler: null, limit: MOST, after: null };
    const { workflows, next, timeMs } = await this.#asked<WorkflowList>(WORKFLOWS_PATH, question);
    const first = workflows.slice(0, MOST_WAITS);
    // Of one whose journal can't be read the list says no wait, and the next list asks again.
    const found = await Promise.all(first.map((workflow) => this.#waitOf(workflow).catch(() => undefined)));
    this.#known = new Map(
      first.flatMap((workflow, at) => {
        const wait = found[at];
        return wait === undefined ? [] : [[workflow.id, { journal: journalOf(workflow), wait }] as const];
      }),
    );
    const listed = workflows.map((workflow, at): DashboardListedWorkflow => ({
      ...workflow,
      waitsFor: found[at] ?? null,
    }));
    return { workflows: listed, isMore: next !== null, timeMs };
  }

  async show(workflow: ExecutionId): Promise<DashboardWorkflow> {
    const history = await this.#history(workflow, this.#ports.showsArguments);
    return history === null ? null : withTexts(history);
  }

  order(order: WorkflowOrder): Promise<WorkflowOrderAnswer> {
    return this.#asked(WORKFLOW_ORDERS_PATH, order);
  }

  /** A journal is asked for once. */
  async #waitOf(workflow: ListedWorkflow): Promise<ShownWait | null> {
    if (workflow.entries === 0) return null;
    const known = this.#known.get(workflow.id);
    if (known?.journal === journalOf(workflow)) return known.wait;
    const history = await this.#history(workflow.id, false);
    const wait = history?.entries.at(-1)?.wait ?? null;
    const [first] = wait?.commands ?? [];
    const command = history?.entries.flatMap(({ commands }) => commands).find(({ number }) => number === first);
    if (wait === null || command === undefined) return null;
    return { mode: wait.mode, commands: wait.commands.length, kind: command.kind, name: command.name };
  }

  #history(workflow: ExecutionId, withArguments: boolean): Promise<WorkflowHistory | null> {
    const question: WorkflowHistoryQuestion = { workflow, withArguments };
    return this.#asked(WORKFLOW_HISTORY_PATH, question);
  }

  #asked<T>(path: string, question: object): Promise<T> {
    return this.#ports.asking((primary) => answerOf("workflows", primary, path, question));
  }
}

function journalOf({ round, entries }: ListedWorkflow): string {
  return `${round} ${entries}`;
}

function withTexts({ args, result, entries, arrived, ...history }: WorkflowHistory): WorkflowHistory {
  const told = ({ value, ...arrival }: ShownArrival): ShownArrival =>
    value === undefined ? arrival : { ...arrival, value: textOf(value) };
  return {
    ...history,
    ...(args === undefined ? {} : { args: textOf(args) }),
    ...(result === undefined ? {} : { result: textOf(result) }),
    entries: entries.map(({ arrivals, commands, ...entry }) => ({
      ...entry,
      arrivals: arrivals.map(told),
      commands: commands.map(({ args: of, ...command }) =>
        of === undefined ? command : { ...command, args: textOf(of) },
      ),
    })),
    arrived: arrived.map(told),
  };
}

function textOf(encoded: string): string {
  return shownArguments(Buffer.from(encoded, "base64"));
}
