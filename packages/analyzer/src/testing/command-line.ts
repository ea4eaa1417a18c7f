/**
 * For tests: the options of the commands that run for long. `--help` explains them, and what is wrong is said with the
 * option at fault.
 */
import { parseArgs } from "node:util";

export type Option =
  | { readonly kind: "number"; readonly default: number; readonly least: number; readonly words: string }
  | { readonly kind: "text"; readonly placeholder: string; readonly words: string }
  | { readonly kind: "flag"; readonly words: string };

export interface Command<Options extends Readonly<Record<string, Option>>> {
  /** As it is typed. */
  readonly name: string;
  readonly words: string;
  readonly options: Options;
  readonly examples: readonly (readonly [command: string, words: string])[];
  readonly exitCodes: readonly string[];
}

export type Values<Options extends Readonly<Record<string, Option>>> = {
  readonly [Name in keyof Options]: Options[Name]["kind"] extends "number"
    ? number
    : Options[Name]["kind"] extends "flag"
      ? boolean
      : string | null;
};

export type CommandLine<Options extends Readonly<Record<string, Option>>> =
  | { readonly kind: "values"; readonly values: Values<Options> }
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "problem"; readonly message: string };

const HELP = { type: "boolean", short: "h" } as const;

/** What a command is told. */
export function parseCommandLine<const Options extends Readonly<Record<string, Option>>>(
  command: Command<Options>,
  args: readonly string[],
): CommandLine<Options> {
  const definitions = Object.fromEntries(
    Object.entries(command.options).map(([name, { kind }]) => [
      name,
      { type: kind === "flag" ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  let given: Readonly<Record<string, unknown>>;
  try {
    // pnpm hands on the `--` before options.
    const own = args[0] === "--" ? args.slice(1) : [...args];
    given = parseArgs({ args: own, options: { ...definitions, help: HELP }, strict: true }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { kind: "problem", message: error.message };
  }
  if (given["help"] === true) return { kind: "help", text: helpOf(command) };
  const values: Record<string, number | boolean | string | null> = {};
  for (const [name, option] of Object.entries(command.options)) {
    const value = given[name];
    if (option.kind === "flag") values[name] = value === true;
    else if (option.kind === "text") values[name] = typeof value === "string" ? value : null;
    else {
      const text = typeof value === "string" ? value : String(option.default);
      const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
      if (!Number.isSafeInteger(number) || number < option.least)
        return { kind: "problem", message: `--${name} is a whole number from ${option.least}, not '${text}'` };
      values[name] = number;
    }
  }
  return { kind: "values", values: values as Values<Options> };
}

/** The same for the process: it ends with what there is to say. Exit code 2 for wrong options. */
export function commandLine<const Options extends Readonly<Record<string, Option>>>(
  command: Command<Options>,
): Values<Options> {
  const parsed = parseCommandLine(command, process.argv.slice(2));
  switch (parsed.kind) {
    case "values":
      return parsed.values;
    case "help":
      process.stdout.write(parsed.text);
      process.exit(0);
    // oxlint-disable-next-line no-fallthrough -- it has ended
    case "problem":
      process.stderr.write(`error ${parsed.message}\n  ${command.name} --help shows how it is used\n`);
      process.exit(2);
  }
}

function helpOf({ name, words, options, examples, exitCodes }: Command<Readonly<Record<string, Option>>>): string {
  const rows = Object.entries(options).map(([option, { ...definition }]): [string, string] => {
    switch (definition.kind) {
      case "number":
        return [`--${option} <number>`, `${definition.words} (default: ${definition.default})`];
      case "text":
        return [`--${option} <${definition.placeholder}>`, definition.words];
      case "flag":
        return [`--${option}`, definition.words];
    }
  });
  rows.push(["-h, --help", "show help"]);
  return [
    `Usage: ${name} [options]`,
    "",
    words,
    "",
    "Options:",
    table(rows),
    "",
    "Exit codes:",
    table(exitCodes.map((meaning, code) => [String(code), meaning])),
    "",
    "Examples:",
    table(examples.map(([text, meaning]) => [`$ ${text}`, meaning])),
    "",
  ].join("\n");
}

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([first]) => first.length));
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`).join("\n");
}
