/** `radical tasks`: the tasks that the primary keeps, looked at, tried again, begun, discarded and cancelled. */
import { type Options, type Program, subcommand } from "@radical/command-line";
import { TASK_STATES } from "@radical/protocol";
import { OF_PRIMARY, runnerOf, YES } from "./command.ts";

const run = runnerOf(() => import("../operate/tasks/task-work.ts"));
const ARGUMENTS = { kind: "flag", words: "show the arguments and the caller, which users may have sent" } as const;
const IDS = { kind: "operands", words: "ids of tasks" } as const;
const DEAD = {
  ids: IDS,
  handler: { kind: "text", placeholder: "name", words: "all dead tasks of this handler" },
  all: { kind: "flag", words: "all dead tasks" },
} as const satisfies Options;

export const tasksCommand: Program = {
  name: "tasks",
  words: "look at tasks, try them again, discard and cancel them",
  commands: [
    subcommand(
      {
        name: "list",
        words: "print tasks, one a line",
        options: {
          state: {
            kind: "choice",
            of: TASK_STATES,
            default: null,
            placeholder: "state",
            words: "only tasks in this state",
          },
          handler: { kind: "text", placeholder: "name", words: "only tasks of this handler" },
          key: { kind: "text", placeholder: "key", words: "only tasks with this key, in their order" },
          limit: {
            kind: "number",
            default: 50,
            least: 1,
            most: 100_000,
            unit: "tasks",
            words: "print at most this number of tasks",
          },
          after: {
            kind: "text",
            placeholder: "place",
            words: "continue from this place, which an earlier list printed at its end",
          },
          arguments: ARGUMENTS,
          ...OF_PRIMARY,
        },
        notes: `A task is ready, running, delayed (its time has not come), waiting (for others with its key) or dead. A dead task begins no more
by itself: its attempts are over, or the current module lacks its handler.`,
        examples: [
          ["radical tasks list"],
          ["radical tasks list --state dead --env production"],
          ["radical tasks list --key ann", "who waits for whom"],
        ],
      },
      (options) => run(options, (work, signal) => work.list(options, signal)),
    ),
    subcommand(
      {
        name: "show",
        words: "print all that is known of a task",
        options: { id: { kind: "operand", words: "id of the task" }, arguments: ARGUMENTS, ...OF_PRIMARY },
        examples: [["radical tasks show 9f2a41c07be3d8569f2a41c07be3d856 --arguments"]],
      },
      (options) => run(options, (work, signal) => work.show(options.id, options, signal)),
    ),
    subcommand(
      {
        name: "retry",
        words: "try dead tasks again, or tasks whose attempt has failed",
        options: {
          ...DEAD,
          callAgain: { kind: "flag", words: "also repeat calls of services that may have had their effect" },
          ...OF_PRIMARY,
        },
        notes: `A task begins at once, its failures count anew, and it keeps its place among the tasks with its key. Those behind it follow.`,
        examples: [
          ["radical tasks retry 9f2a41c07be3d8569f2a41c07be3d856"],
          ["radical tasks retry --handler sendMail --env production"],
        ],
      },
      (options) => run(options, (work, signal) => work.order("retry", options.ids, options, signal)),
    ),
    subcommand(
      {
        name: "run",
        words: "begin tasks at once, also before their time",
        options: { ids: IDS, ...OF_PRIMARY },
        notes: `Tasks with the same key still wait for those before them.`,
        examples: [["radical tasks run 9f2a41c07be3d8569f2a41c07be3d856", "a reminder that is due in a week"]],
      },
      (options) => run(options, (work, signal) => work.order("run", options.ids, options, signal)),
    ),
    subcommand(
      {
        name: "discard",
        words: "remove dead tasks",
        options: { ...DEAD, yes: YES, ...OF_PRIMARY },
        notes: `Tasks with the same key that stand behind a discarded one go on.`,
        examples: [
          ["radical tasks discard 9f2a41c07be3d8569f2a41c07be3d856"],
          ["radical tasks discard --handler sendMail --yes"],
        ],
      },
      (options) => run(options, (work, signal) => work.order("discard", options.ids, options, signal)),
    ),
    subcommand(
      {
        name: "cancel",
        words: "remove tasks that do not run",
        options: {
          ids: IDS,
          handler: { kind: "text", placeholder: "name", words: "all tasks of this handler" },
          all: { kind: "flag", words: "all tasks" },
          yes: YES,
          ...OF_PRIMARY,
        },
        notes: `As cancel in a handler: a task that runs goes on.`,
        examples: [
          ["radical tasks cancel 9f2a41c07be3d8569f2a41c07be3d856"],
          ["radical tasks cancel --handler remind --yes", "reminders that nobody wants any more"],
        ],
      },
      (options) => run(options, (work, signal) => work.order("cancel", options.ids, options, signal)),
    ),
  ],
  notes: `Asks the LVI server of radical dev, if that runs in the project. --env names a deployment instead, and --primary another LVI
server. Ctrl-C ends a command between two steps: the steps before it stay done.`,
  examples: [
    ["radical tasks list --state dead", "what failed, and why"],
    ["radical tasks retry --handler sendMail", "when the mail server is back"],
    ["radical tasks list --env production --json | jq '.tasks[].error'"],
  ],
};
