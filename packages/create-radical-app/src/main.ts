#!/usr/bin/env node
/** The command `create-radical-app`: asks what it was not told on a terminal, and never anywhere else. */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { cancel, confirm, intro, isCancel, log, outro, S_BAR, select, text } from "@clack/prompts";
import { findLocalPackages } from "./local-packages.ts";
import {
  checkNode,
  install,
  inWordsOf,
  PACKAGE_MANAGERS,
  type PackageManager,
  packageManagerOf,
  startedBy,
  versionOf,
} from "./package-manager.ts";
import { makeRepository } from "./repository.ts";
import { ScaffoldError } from "./scaffold-error.ts";
import { TEMPLATES, problemOfDirectory, scaffold } from "./scaffold.ts";

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** As shells have it of a program that SIGINT has ended. */
const EXIT_INTERRUPTED = 130;

const DEFAULT_DIRECTORY = "my-radical-app";
const DEFAULT_TEMPLATE = "social";

const HELP = `Usage: create-radical-app [dir] [options]

Make a new Radical application. [dir] is its folder, whose name becomes the application's (default: ${DEFAULT_DIRECTORY}).

Options:
  -t, --template <name>  ${TEMPLATES.map(({ name }) => name).join(" or ")} (default: ${DEFAULT_TEMPLATE})
  --pm <name>            package manager: ${PACKAGE_MANAGERS.join(", ")} (default: the one that runs this command)
  -y, --yes              ask no questions
  --no-install           don't install the dependencies
  --no-git               don't make a git repository
  --packages <folder>    take the @radical packages from the tarballs in this folder
  -V, --version          print the version
  -h, --help             show help

Templates:
${TEMPLATES.map(({ name, description }) => `  ${name.padEnd(8)} ${description}`).join("\n")}

On a terminal it asks for missing values; elsewhere, and with -y, it takes the defaults. The application has a git repository
with a first commit (not inside another repository), and a workflow of GitHub Actions that runs its tests. Ctrl-C takes back
all that was made.

Exit codes:
  0    the application is there
  1    something failed on the way, for example npm install
  2    nothing was done: the usage is wrong, or the folder can't be used
  130  Ctrl-C: nothing was made

Examples:
  $ npm create radical-app
  $ npm create radical-app my-app -- --template social -y
  $ pnpm create radical-app my-app --template minimal
  $ create-radical-app my-app --pm bun --no-git
  $ create-radical-app my-app --packages ../radical/packed
`;

const SEE_HELP = "create-radical-app --help shows the usage.";

type Options = ReturnType<typeof parse>["values"];

interface Choice {
  readonly directory: string;
  readonly template: string;
  readonly install: boolean;
}

/** Aborted by Ctrl-C, and by other signals that end this command. */
const interruption = new AbortController();
const INTERRUPTED = new Error("interrupted");
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => interruption.abort(INTERRUPTED));

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (error === INTERRUPTED) {
    process.stderr.write("Interrupted: nothing was made.\n");
    process.exitCode = EXIT_INTERRUPTED;
  } else if (error instanceof ScaffoldError) {
    process.stderr.write(`error ${error.message}\n  ${error.hint}\n`);
    process.exitCode ??= EXIT_USAGE;
  } else throw error;
}

async function main(args: readonly string[]): Promise<void> {
  const { values, positionals } = parse(args);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  if (values.version === true) {
    const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
    process.stdout.write(`${(JSON.parse(manifest) as { readonly version: string }).version}\n`);
    return;
  }
  if (positionals.length > 1)
    throw new ScaffoldError(`The command takes one folder, and got ${positionals.length}.`, SEE_HELP);
  await run(positionals[0], values);
}

/** Throws a ScaffoldError for wrong usage. Node reads the options: commander needs a later one than this command runs on. */
function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        template: { type: "string", short: "t" },
        yes: { type: "boolean", short: "y" },
        pm: { type: "string" },
        "no-install": { type: "boolean" },
        "no-git": { type: "boolean" },
        packages: { type: "string" },
        version: { type: "boolean", short: "V" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new ScaffoldError(error instanceof Error ? error.message : String(error), SEE_HELP);
  }
}

async function run(directory: string | undefined, options: Options): Promise<void> {
  const { signal } = interruption;
  const manager =
    options.pm === undefined ? startedBy(process.env["npm_config_user_agent"]) : packageManagerOf(options.pm);
  checkNode(manager, process.versions.node);
  const interactive = process.stdin.isTTY && process.stdout.isTTY && options.yes !== true;
  const choice = interactive ? await ask(directory, manager, options) : choose(directory, options);
  if (choice === null) {
    cancel("Nothing was made.");
    process.exitCode = EXIT_INTERRUPTED;
    return;
  }
  const localPackages = options.packages === undefined ? null : await findLocalPackages(options.packages);
  // Without it nothing can be installed; for its files alone it need not be there.
  const managerVersion = await versionOf(manager, { signal }).catch((error: unknown) => {
    if (choice.install || !(error instanceof ScaffoldError)) throw error;
    return null;
  });
  const nodeVersion = process.versions.node;
  const { path, undo } = await scaffold({ ...choice, manager, managerVersion, nodeVersion, localPackages, signal });
  try {
    // A failure from here on is not wrong usage.
    process.exitCode = EXIT_FAILED;
    if (choice.install) await installWithProgress(manager, path, interactive);
    if (options["no-git"] !== true) await commit(path, choice.template, interactive);
    process.exitCode = 0;
  } catch (error) {
    if (error === INTERRUPTED) await undo();
    throw error;
  }
  const steps = nextSteps(manager, path, choice.install);
  if (interactive) outro(steps);
  else process.stdout.write(`${steps}\n`);
}

async function commit(path: string, template: string, interactive: boolean): Promise<void> {
  const message = `Make a Radical application from the template ${template}`;
  const repository = await makeRepository(path, message, interruption);
  const note = (words: string): void => {
    if (interactive) log.warn(words);
    else process.stderr.write(`${words}\n`);
  };
  switch (repository.kind) {
    case "made":
      return;
    case "uncommitted":
      return note(`The git repository has no commit yet, because git refused it:\n${repository.reason}`);
    case "none":
      if (repository.reason === "no-git") note("There is no git repository, because git is not installed.");
  }
}

function choose(directory: string | undefined, options: Options): Choice {
  return {
    directory: directory ?? DEFAULT_DIRECTORY,
    template: options.template ?? DEFAULT_TEMPLATE,
    install: options["no-install"] !== true,
  };
}

/** Null if it is called off. */
async function ask(directory: string | undefined, manager: PackageManager, options: Options): Promise<Choice | null> {
  const { signal } = interruption;
  intro("A new Radical application");
  const chosenDirectory =
    directory ??
    (await text({
      message: "In which folder?",
      placeholder: DEFAULT_DIRECTORY,
      defaultValue: DEFAULT_DIRECTORY,
      signal,
    }));
  if (isCancel(chosenDirectory)) return null;
  const problem = await problemOfDirectory(chosenDirectory);
  if (problem !== null) throw new ScaffoldError(problem, "Choose another folder.");
  const template =
    options.template ??
    (await select({
      message: "Which template?",
      options: TEMPLATES.map(({ name, description }) => ({
        value: name,
        label: `${name.padEnd(8)} ${description}`,
      })),
      initialValue: DEFAULT_TEMPLATE,
      signal,
    }));
  if (isCancel(template)) return null;
  const installed =
    options["no-install"] === true
      ? false
      : await confirm({ message: `Install the dependencies with ${manager}?`, signal });
  if (isCancel(installed)) return null;
  return { directory: chosenDirectory, template, install: installed };
}

/** Clack's spinner would take Ctrl-C for itself, and end the process while the package manager goes on. */
async function installWithProgress(manager: PackageManager, path: string, interactive: boolean): Promise<void> {
  const words = `Installing dependencies with ${manager} …`;
  if (!interactive) {
    process.stderr.write(`${words}\n`);
    await install(manager, path, interruption);
    return;
  }
  const startMs = Date.now();
  const show = (): void =>
    void process.stdout.write(`\r${S_BAR}  ${words} ${Math.round((Date.now() - startMs) / 1_000)} s`);
  show();
  const timer = setInterval(show, 1_000);
  try {
    await install(manager, path, interruption);
  } finally {
    clearInterval(timer);
    process.stdout.write("\n");
  }
  log.success("Dependencies installed");
}

function nextSteps(manager: PackageManager, path: string, installed: boolean): string {
  const folder = relative(process.cwd(), path);
  const inWords = (command: string): string => inWordsOf(manager, command);
  const steps = [
    ...(folder === "" ? [] : [`cd ${folder}`]),
    ...(installed ? [] : [inWords("npm install")]),
    `${inWords("npm run dev").padEnd(18)} # runs it here, at five simulated locations`,
    inWords("npm test"),
  ];
  return `Made ${path}. Next:\n\n${steps.map((step) => `  ${step}`).join("\n")}\n`;
}
