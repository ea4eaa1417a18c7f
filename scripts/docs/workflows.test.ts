/** The workflow that the page about CI shows is one, and each of its commands is there. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { radicalProgram } from "../../packages/cli/src/program.ts";
import { readProgramLine } from "../../packages/command-line/src/index.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const EXAMPLE = path.join(ROOT, "docs/examples/booking");

interface Workflow {
  readonly on: object;
  readonly jobs: Readonly<
    Record<
      string,
      { readonly "runs-on": string; readonly steps: readonly { readonly run?: string; readonly uses?: string }[] }
    >
  >;
}

/** The parts of these commands that do not exist. */
function unknownCommands(commands: readonly string[], project: string): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(path.join(project, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const radical = ([, ...args]: readonly string[]): boolean => readProgramLine(radicalProgram(), args).kind === "run";
  const isThere = (command: string): boolean => {
    const [tool, first = "", ...rest] = command.split(" ");
    if (tool === "npx") return radical([first, ...rest]);
    if (tool !== "npm") return false;
    if (first === "ci") return rest.length === 0;
    const script = scripts[first === "run" ? (rest[0] ?? "") : first];
    const more = rest.slice(rest.indexOf("--") + 1);
    if (script === undefined) return false;
    return !rest.includes("--") || radical([...script.split(" "), ...more]);
  };
  return commands.filter((command) => !isThere(command));
}

test("the workflow of the example", () => {
  const workflow = parse(readFileSync(path.join(EXAMPLE, ".github/workflows/ci.yml"), "utf8")) as Workflow;
  expect(Object.keys(workflow.on)).toEqual(["push", "pull_request"]);
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);
  for (const { run, uses } of steps)
    expect(run ?? uses).toMatch(uses === undefined ? /^np[mx] / : /^actions\/[\w-]+@[0-9a-f]{40}$/);
  const commands = steps.flatMap(({ run }) => (run === undefined ? [] : run.trim().split("\n")));
  expect(commands.length).toBeGreaterThan(3);
  expect(unknownCommands(commands, EXAMPLE)).toEqual([]);
});

test("a command that is not there is found", () => {
  const commands = [
    "npm run chekc",
    "npm run build -- --strickt",
    "npx radical depoly",
    "npx radical build --jsn",
    "yarn build",
    "npm ci",
  ];
  expect(unknownCommands(commands, EXAMPLE)).toEqual(commands.slice(0, 5));
});
