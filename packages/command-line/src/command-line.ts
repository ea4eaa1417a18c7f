/**
 * The options of the commands that developers of the framework run. `--help` explains them, and what is wrong is said
 * with the option at fault.
 */
import { parseArgs } from "node:util";

export type Option =
  | {
      readonly kind: "number";
      readonly default: number;
      /** The default beside the flag `--quick`, if it is another. */
      readonly quick?: number;
      readonly least: number;
      readonly words: string;
    }
  /** A whole number; by default any, which the command is to tell. */
  | { readonly kind: "seed"; readonly words: string }
  | { readonly kind: "text"; readonly placeholder: string; readonly words: string }
  /** One of these; by default the first. */
  | { readonly kind: "choice"; readonly of: readonly string[]; readonly words: string }
  | { readonly kind: "flag"; readonly words: string }
  /** Some of these, in order and without an option; by default all. */
  | { readonly kind: "operands"; readonly of: readonly string[]; readonly words: string };

export interface Command<Options extends Readonly<Record<string, Option>>> {
  /** As it is typed. */
  readonly name: string;
  readonly words: string;
  readonly options: Options;
  readonly examples: readonly (readonly [command: string, words: string])[];
  readonly exitCodes: readonly string[];
}

export type Values<Options extends Readonly<Record<string, Option>>> = {
  readonly [Name in keyof Options]: Options[Name]["kind"] extends "number" | "seed"
    ? number
    : Options[Name]["kind"] extends "flag"
      ? boolean
      : Options[Name] extends { readonly kind: infer Kind; readonly of: readonly (infer Word)[] }
        ? Kind extends "operands"
          ? readonly Word[]
          : Word
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
  const all = Object.entries(command.options);
  const definitions = Object.fromEntries(
    all
      .filter(([, { kind }]) => kind !== "operands")
      .map(([name, { kind }]) => [name, { type: kind === "flag" ? ("boolean" as const) : ("string" as const) }]),
  );
  const allowPositionals = all.some(([, { kind }]) => kind === "operands");
  let given: Readonly<Record<string, unknown>>;
  let operands: readonly string[];
  try {
    // pnpm hands on the `--` before options.
    const own = args[0] === "--" ? args.slice(1) : [...args];
    const parsed = parseArgs({ args: own, options: { ...definitions, help: HELP }, strict: true, allowPositionals });
    [given, operands] = [parsed.values, parsed.positionals];
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { kind: "problem", message: error.message };
  }
  if (given["help"] === true) return { kind: "help", text: helpOf(command) };
  const values: Record<string, number | boolean | string | readonly string[] | null> = {};
  for (const [name, option] of all) {
    const value = given[name];
    const text = typeof value === "string" ? value : null;
    switch (option.kind) {
      case "flag":
        values[name] = value === true;
        break;
      case "text":
        values[name] = text;
        break;
      case "operands": {
        const unknown = operands.find((operand) => !option.of.includes(operand));
        if (unknown !== undefined)
          return { kind: "problem", message: `'${unknown}' is none of ${option.of.join(", ")}` };
        values[name] = option.of.filter((one) => operands.length === 0 || operands.includes(one));
        break;
      }
      case "choice":
        values[name] = text ?? option.of[0]!;
        if (text !== null && !option.of.includes(text))
          return { kind: "problem", message: `--${name} is one of ${option.of.join(", ")}, not '${text}'` };
        break;
      case "number":
      case "seed": {
        const least = option.kind === "seed" ? 0 : option.least;
        const number = text === null ? fallbackOf(option, given["quick"] === true) : wholeNumber(text);
        if (number < least || Number.isNaN(number))
          return { kind: "problem", message: `--${name} is a whole number from ${least}, not '${text}'` };
        values[name] = number;
      }
    }
  }
  return { kind: "values", values: values as Values<Options> };
}

function fallbackOf(option: Extract<Option, { readonly kind: "number" | "seed" }>, isQuick: boolean): number {
  if (option.kind === "seed") return Math.trunc(Math.random() * 2 ** 31);
  return isQuick ? (option.quick ?? option.default) : option.default;
}

function wholeNumber(text: string): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(number) ? number : Number.NaN;
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
      return wrongOption(command, parsed.message);
  }
}

/** What a command finds wrong by itself: it is said, and the process ends with exit code 2. */
export function wrongOption({ name }: Pick<Command<Readonly<Record<string, Option>>>, "name">, message: string): never {
  process.stderr.write(`error ${message}\n  ${name} --help shows how it is used\n`);
  process.exit(2);
}

function helpOf({ name, words, options, examples, exitCodes }: Command<Readonly<Record<string, Option>>>): string {
  const rows = Object.entries(options).map(([option, { ...definition }]): [string, string] => {
    switch (definition.kind) {
      case "number": {
        const quick = definition.quick === undefined ? "" : `, with --quick ${definition.quick}`;
        return [`--${option} <number>`, `${definition.words} (default: ${definition.default}${quick})`];
      }
      case "seed":
        return [`--${option} <number>`, `${definition.words} (default: any)`];
      case "text":
        return [`--${option} <${definition.placeholder}>`, definition.words];
      case "choice":
        return [
          `--${option} <word>`,
          `${definition.words}: ${definition.of.join(", ")} (default: ${definition.of[0] ?? ""})`,
        ];
      case "flag":
        return [`--${option}`, definition.words];
      case "operands":
        return [`[${option} …]`, `${definition.words}: ${definition.of.join(", ")} (default: all)`];
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
