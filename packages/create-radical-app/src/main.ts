#!/usr/bin/env node
/** The command `create-radical-app`: asks what it was not told on a terminal, and never anywhere else. */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { parseArgs } from "node:util";
import { cancel, confirm, intro, isCancel, outro, select, spinner, text } from "@clack/prompts";
import { install } from "./install.ts";
import { findLocalPackages } from "./local-packages.ts";
import { ScaffoldError } from "./scaffold-error.ts";
import { TEMPLATES, problemOfDirectory, scaffold } from "./scaffold.ts";

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

const DEFAULT_DIRECTORY = "my-radical-app";
const DEFAULT_TEMPLATE = "social";

const HELP = `Usage: create-radical-app [dir] [options]

Make a new Radical application. [dir] is its folder, whose name becomes the application's (default: ${DEFAULT_DIRECTORY}).

Options:
  -t, --template <name>  ${TEMPLATES.map(({ name }) => name).join(" or ")} (default: ${DEFAULT_TEMPLATE})
  -y, --yes              ask nothing
  --no-install           don't run npm install
  --packages <folder>    take the @radical packages from the tarballs in this folder
  -V, --version          print the version
  -h, --help             show help

Templates:
${TEMPLATES.map(({ name, description }) => `  ${name.padEnd(8)} ${description}`).join("\n")}

On a terminal it asks for what is not given; elsewhere, and with -y, it takes the defaults.

Exit codes:
  0  the application is there
  1  something failed on the way, for example npm install
  2  nothing was done: wrong usage, or a folder that can't be used

Examples:
  $ npm create radical-app
  $ npm create radical-app my-app -- --template social -y
  $ create-radical-app my-app --packages ../radical/packed
`;

const SEE_HELP = "create-radical-app --help shows how it is used";

type Options = ReturnType<typeof parse>["values"];

interface Choice {
  readonly directory: string;
  readonly template: string;
  readonly install: boolean;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof ScaffoldError)) throw error;
  process.stderr.write(`error ${error.message}\n  ${error.hint}\n`);
  process.exitCode ??= EXIT_USAGE;
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
  if (positionals.length > 1) throw new ScaffoldError(`one folder, not ${positionals.length}`, SEE_HELP);
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
        "no-install": { type: "boolean" },
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
  const interactive = process.stdin.isTTY && process.stdout.isTTY && options.yes !== true;
  const choice = interactive ? await ask(directory, options) : choose(directory, options);
  if (choice === null) {
    cancel("Nothing was made.");
    process.exitCode = EXIT_FAILED;
    return;
  }
  const localPackages = options.packages === undefined ? null : await findLocalPackages(options.packages);
  const path = await scaffold({ ...choice, localPackages });
  if (choice.install) {
    // What fails from here on is no wrong usage.
    process.exitCode = EXIT_FAILED;
    await installWithProgress(path, interactive);
    process.exitCode = 0;
  }
  const steps = nextSteps(path, choice.install);
  if (interactive) outro(steps);
  else process.stdout.write(`${steps}\n`);
}

function choose(directory: string | undefined, options: Options): Choice {
  return {
    directory: directory ?? DEFAULT_DIRECTORY,
    template: options.template ?? DEFAULT_TEMPLATE,
    install: options["no-install"] !== true,
  };
}

/** Null if it is called off. */
async function ask(directory: string | undefined, options: Options): Promise<Choice | null> {
  intro("A new Radical application");
  const chosenDirectory =
    directory ??
    (await text({
      message: "In which folder?",
      placeholder: DEFAULT_DIRECTORY,
      defaultValue: DEFAULT_DIRECTORY,
    }));
  if (isCancel(chosenDirectory)) return null;
  const problem = await problemOfDirectory(chosenDirectory);
  if (problem !== null) throw new ScaffoldError(problem, "choose another folder");
  const template =
    options.template ??
    (await select({
      message: "Which template?",
      options: TEMPLATES.map(({ name, description }) => ({ value: name, label: name, hint: description })),
      initialValue: DEFAULT_TEMPLATE,
    }));
  if (isCancel(template)) return null;
  const installed =
    options["no-install"] === true ? false : await confirm({ message: "Install the dependencies with npm?" });
  if (isCancel(installed)) return null;
  return { directory: chosenDirectory, template, install: installed };
}

async function installWithProgress(path: string, interactive: boolean): Promise<void> {
  if (!interactive) {
    process.stderr.write("Installing dependencies …\n");
    await install(path);
    return;
  }
  const progress = spinner();
  progress.start("Installing dependencies");
  try {
    await install(path);
    progress.stop("Dependencies installed");
  } catch (error) {
    progress.error("npm install failed");
    throw error;
  }
}

function nextSteps(path: string, installed: boolean): string {
  const folder = relative(process.cwd(), path);
  const steps = [
    ...(folder === "" ? [] : [`cd ${folder}`]),
    ...(installed ? [] : ["npm install"]),
    "npm run dev        # runs it here, at five simulated locations",
    "npm test",
  ];
  return `Made ${path}. Next:\n\n${steps.map((step) => `  ${step}`).join("\n")}\n`;
}
