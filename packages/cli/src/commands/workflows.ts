/** `radical workflows`: the workflows that have not ended, looked at, tried again and cancelled. */
import { type Program, subcommand } from "@radical/command-line";
import { WORKFLOW_STATES } from "@radical/protocol";
import { OF_PRIMARY, runnerOf, YES } from "./command.ts";

const run = runnerOf(() => import("../operate/workflows/workflow-work.ts"));
const IDS = { kind: "operands", words: "ids of workflows" } as const;

export const workflowsCommand: Program = {
  name: "workflows",
  words: "look at workflows, try stuck ones again, and cancel them",
  commands: [
    subcommand(
      {
        name: "list",
        words: "print workflows that have not ended, one a line",
        options: {
          state: {
            kind: "choice",
            of: WORKFLOW_STATES,
            default: null,
            placeholder: "state",
            words: "only workflows in this state",
          },
          handler: { kind: "text", placeholder: "name", words: "only workflows of this name" },
          limit: {
            kind: "number",
            default: 50,
            least: 1,
            most: 100_000,
            unit: "workflows",
            words: "print at most this number of workflows",
          },
          after: {
            kind: "text",
            placeholder: "place",
            words: "continue from this place, which an earlier list printed at its end",
          },
          ...OF_PRIMARY,
        },
        notes: `A workflow is running, waiting (for time, a signal or others), cancelling, undoing or stuck. One is stuck if its code traps, or
is no longer a function of its journal: nothing is undone then.`,
        examples: [["radical workflows list"], ["radical workflows list --state stuck --env production"]],
      },
      (options) => run(options, (work, signal) => work.list(options, signal)),
    ),
    subcommand(
      {
        name: "show",
        words: "print all that is known of a workflow, with its journal",
        options: {
          id: { kind: "operand", words: "id of the workflow" },
          arguments: { kind: "flag", words: "show the caller, arguments and results, which users may have sent" },
          ...OF_PRIMARY,
        },
        notes: `The journal says when the workflow ran, the results that it got (←), what it asked for (→), and what it waits for (…). A
workflow that has ended is shown for as long as its outcome is kept.`,
        examples: [["radical workflows show 8a31f0c27d5b4e6990a1b2c3d4e5f607 --arguments"]],
      },
      (options) => run(options, (work, signal) => work.show(options.id, options, signal)),
    ),
    subcommand(
      {
        name: "cancel",
        words: "ask workflows to end",
        options: {
          ids: IDS,
          handler: { kind: "text", placeholder: "name", words: "all workflows of this name" },
          all: { kind: "flag", words: "all workflows" },
          yes: YES,
          ...OF_PRIMARY,
        },
        notes: `A workflow fails with 409 cancelled at its next wait. It cancels the workflows that it has started, waits for them, and undoes
what it has done. A stuck one does so at once: it makes the undos that its journal has. One that was enqueued and has not begun
never begins; radical tasks list shows its id.`,
        examples: [
          ["radical workflows cancel 8a31f0c27d5b4e6990a1b2c3d4e5f607"],
          ["radical workflows cancel --handler reserve --env production"],
        ],
      },
      (options) => run(options, (work, signal) => work.order("cancel", options.ids, options, signal)),
    ),
    subcommand(
      {
        name: "retry",
        words: "let stuck workflows run again",
        options: {
          ids: IDS,
          handler: { kind: "text", placeholder: "name", words: "all stuck workflows of this name" },
          all: { kind: "flag", words: "all stuck workflows" },
          ...OF_PRIMARY,
        },
        notes: `It runs on the build that has started it, from its journal.`,
        examples: [
          ["radical workflows retry 8a31f0c27d5b4e6990a1b2c3d4e5f607 --env production"],
          ["radical workflows retry --all"],
        ],
      },
      (options) => run(options, (work, signal) => work.order("retry", options.ids, options, signal)),
    ),
  ],
  notes: `Asks the LVI server of radical dev, if that runs in the project. --env names a deployment instead, and --primary another LVI
server. Ctrl-C ends a command between two steps: the steps before it stay done.`,
  examples: [
    ["radical workflows list --state stuck", "what can't go on, and why"],
    ["radical workflows list --env production --json | jq '.workflows[].id'"],
  ],
};
