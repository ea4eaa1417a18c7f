/** `radical schedules`: the handlers that the primary calls by a schedule, seen, fired, paused and resumed. */
import { askSchedule, PrimaryError, schedulesOf } from "@radical/admin";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { type Program, subcommand } from "@radical/command-line";
import type { ScheduleAction, ScheduleAnswer } from "@radical/protocol";
import { explained } from "../operate/older-server.ts";
import { type OperateOptions, primaryOf } from "../operate/orders.ts";
import { scheduleLines } from "../operate/schedule-lines.ts";
import { createTerminal, print } from "../terminal/terminal.ts";
import { OF_PRIMARY, reported } from "./command.ts";

const HANDLER = { kind: "operand", words: "name of the handler" } as const;

export const schedulesCommand: Program = {
  name: "schedules",
  words: "list, fire, pause and resume the schedules of handlers",
  commands: [
    subcommand(
      {
        name: "list",
        words: "print the schedules: when the last tick was, and when the next one is",
        options: OF_PRIMARY,
        examples: [
          ["radical schedules list"],
          ["radical schedules list --env production --json | jq '.schedules[].nextMs'"],
        ],
      },
      (options) => reported(options, () => list(options)),
    ),
    subcommand(
      {
        name: "run",
        words: "call the handler of a schedule once, now",
        options: { handler: HANDLER, ...OF_PRIMARY },
        notes: `The call is a task of its own, with the present time as its tick. It waits for no other call of the schedule, and the next tick
comes as it would have. A schedule that is paused can be run too.`,
        examples: [["radical schedules run nightly"], ["radical schedules run nightly --env production"]],
      },
      (options) => reported(options, () => ask(options, "run")),
    ),
    subcommand(
      {
        name: "pause",
        words: "make no more calls by a schedule, until it is resumed",
        options: { handler: HANDLER, ...OF_PRIMARY },
        notes: `A pause outlasts restarts of the primary, deployments and rollbacks. A call that is under way goes on.`,
        examples: [["radical schedules pause nightly --env production"]],
      },
      (options) => reported(options, () => ask(options, "pause")),
    ),
    subcommand(
      {
        name: "resume",
        words: "let a paused schedule go on; the ticks of the pause are left out",
        options: { handler: HANDLER, ...OF_PRIMARY },
        examples: [["radical schedules resume nightly --env production"]],
      },
      (options) => reported(options, () => ask(options, "resume")),
    ),
  ],
  notes: `The schedules are those of the build that was deployed last: handlers with the tag @cron or @every. The command asks the LVI
server of radical dev, if that runs in the project. --env names a deployment instead, and --primary another LVI server.

docs/how-to/effects.md shows how a schedule is written.`,
  examples: [
    ["radical schedules list"],
    ["radical schedules run nightly", "do not wait for the night"],
    ["radical schedules pause nightly --env production"],
    ["radical schedules resume nightly --env production"],
  ],
};

async function list(options: OperateOptions): Promise<void> {
  const address = await primaryOf(options);
  const found = await explained("schedules", () => schedulesOf(address));
  if (options.json) return print(JSON.stringify(found));
  if (found.schedules.length === 0) {
    createTerminal().note("No handler has a schedule: the tag @cron or @every gives it one.");
    return;
  }
  const { style } = createTerminal({ stream: process.stdout });
  const [headings, ...lines] = scheduleLines(found);
  print(style("dim", headings!));
  for (const line of lines) print(line);
}

async function ask(options: OperateOptions & { readonly handler: string }, action: ScheduleAction): Promise<void> {
  const { handler, json } = options;
  const address = await primaryOf(options);
  let answer: ScheduleAnswer;
  try {
    answer = await askSchedule(address, { handler, action });
  } catch (error) {
    if (!(error instanceof PrimaryError) || error.answered !== "not_found") throw error;
    const names = (await explained("schedules", () => schedulesOf(address))).schedules.map((one) => one.handler);
    throw new CommandError(
      "no_schedule",
      `The handler "${handler}" has no schedule.`,
      names.length === 0 ? "No handler has one: see docs/how-to/effects.md." : `Name one of: ${names.join(", ")}.`,
      { exitCode: EXIT_USAGE },
    );
  }
  if (json) print(JSON.stringify({ handler, action, ...answer }));
  else print(WORDS[action](handler, answer));
}

const WORDS: Readonly<Record<ScheduleAction, (handler: string, answer: ScheduleAnswer) => string>> = {
  run: (handler, { task }) => `${handler} is called, as task ${task}.`,
  pause: (handler) => `The schedule of ${handler} is paused.`,
  resume: (handler) => `The schedule of ${handler} goes on.`,
};
