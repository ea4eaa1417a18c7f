/** Each alarm and each event at level `error` has its page, and each page its alarm or event. */
import { describe, expect, test } from "vitest";
import { radicalProgram } from "../../packages/cli/src/program.ts";
import { helpOf, readProgramLine } from "../../packages/command-line/src/index.ts";
import { anchorsOf } from "./markdown.ts";
import { pagesUnder, readPage } from "./pages.ts";
import { alarmNames, errorEvents, pageOf, RUNBOOKS } from "./runbooks-part.ts";

test("each has its page, and each page is of one", () => {
  const [alarms, events] = [alarmNames(), errorEvents()];
  expect(alarms.length).toBeGreaterThan(10);
  for (const event of ["halted", "not_started", "uncaught_exception", "determinism_alarm", "leader_unreachable"])
    expect(events).toContain(event);
  const pages = pagesUnder(RUNBOOKS).map((page) => page.slice(RUNBOOKS.length + 1, -".md".length));
  expect(new Set([...alarms, ...events.map(pageOf)])).toEqual(new Set(pages));
});

test("each says what it means, where to look and what to do", () => {
  for (const page of pagesUnder(RUNBOOKS))
    expect([page, ...anchorsOf(readPage(page))]).toEqual(expect.arrayContaining([page, "it-means", "look", "do"]));
});

const program = radicalProgram();
const helps = helpOf(program, 200);

/** The problem of a command in a runbook, or null. A command alone stands for any of its kind, as in "a later `radical deploy`". */
function problemOf(command: string): string | null {
  const words = command.replaceAll("<id>", "0".repeat(32)).replaceAll(/<\w+>/g, "x").split(" ");
  const help = helps.findLast(({ path }) => `${words.join(" ")} `.startsWith(`${path} `))?.text;
  // A parser may want more than the page needs to say: `radical replay` has a file.
  const isAlone = help?.startsWith(`Usage: ${command} `) === true;
  if (!isAlone && readProgramLine(program, words.slice(1)).kind !== "run")
    return `${command}: there is no such command`;
  const asksDev = help?.includes("--env <") === true && !help.includes('(default: "production")');
  return asksDev && !command.includes("--env production") ? `${command}: it asks radical dev` : null;
}

describe("the commands of the runbooks", () => {
  test("are commands, and act on the deployment", () => {
    const commands = pagesUnder(RUNBOOKS).flatMap((page) =>
      Array.from(readPage(page).matchAll(/`(radical [^`]+)`/g), ([, command]) => command!),
    );
    expect(commands.length).toBeGreaterThan(20);
    expect(commands.map(problemOf).filter((problem) => problem !== null)).toEqual([]);
  });

  test.each([
    ["radical tasks retry <id>", "it asks radical dev"],
    ["radical tail --errors", "it asks radical dev"],
    ["radical tasks retri <id> --env production", "there is no such command"],
    ["radical deploy --onyl primary", "there is no such command"],
  ])("%s: %s", (command, problem) => {
    expect(problemOf(command)).toBe(`${command}: ${problem}`);
  });
});
