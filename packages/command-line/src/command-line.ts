/**
 * The options of the commands that developers of the framework run. `--help` explains them, and what is wrong is said
 * with the option at fault.
 */
import { Argument, Command as Parser, CommanderError, InvalidArgumentError, Option as ParserOption } from "commander";

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

/** Lines are not broken: words of options are short. */
const HELP_WIDTH = 1_000;

type Value = number | boolean | string | readonly string[] | null;

/** Reads the arguments of a command. */
export function parseCommandLine<const Options extends Readonly<Record<string, Option>>>(
  command: Command<Options>,
  args: readonly string[],
): CommandLine<Options> {
  const { parser, valueOf } = parserOf(command);
  try {
    // pnpm hands on the `--` before options.
    parser.parse(args[0] === "--" ? args.slice(1) : args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === "commander.helpDisplayed") return { kind: "help", text: helpOf(command, parser) };
    return { kind: "problem", message: error.message.replace(/^error: /, "") };
  }
  const values = Object.fromEntries(
    Object.entries(command.options).map(([name, option]) => [name, valueOf(name, option)]),
  );
  return { kind: "values", values: values as Values<Options> };
}

interface Reader {
  readonly parser: Parser;
  /** The value of an option, once the parser has read the arguments. */
  readonly valueOf: (name: string, option: Option) => Value;
}

function parserOf({ name, words, options }: Command<Readonly<Record<string, Option>>>): Reader {
  const parser = new Parser(name)
    .description(words)
    .helpOption("-h, --help", "show help")
    .configureHelp({ helpWidth: HELP_WIDTH })
    .configureOutput({ writeOut: () => {}, writeErr: () => {} })
    .allowExcessArguments(false)
    .exitOverride();
  const given = new Map<string, ParserOption>();
  for (const [option, definition] of Object.entries(options)) {
    if (definition.kind === "operands") {
      parser.addArgument(
        new Argument(`[${option}...]`, definition.words).choices(definition.of).default(definition.of, "all"),
      );
      continue;
    }
    const made = parserOptionOf(option, definition);
    given.set(option, made);
    parser.addOption(made);
  }
  const textOf = (option: string): unknown => parser.getOptionValue(given.get(option)!.attributeName());
  return {
    parser,
    valueOf: (option, definition) => {
      switch (definition.kind) {
        case "operands": {
          const named = parser.args;
          return definition.of.filter((one) => named.length === 0 || named.includes(one));
        }
        case "flag":
          return textOf(option) === true;
        case "text":
        case "choice":
          return (textOf(option) as string | undefined) ?? null;
        case "number":
        case "seed":
          return (textOf(option) as number | null) ?? fallbackOf(definition, parser.getOptionValue("quick") === true);
      }
    },
  };
}

function parserOptionOf(name: string, option: Exclude<Option, { readonly kind: "operands" }>): ParserOption {
  switch (option.kind) {
    case "number": {
      const quick = option.quick === undefined ? "" : `, with --quick ${option.quick}`;
      return new ParserOption(`--${name} <number>`, option.words)
        .argParser((text) => wholeNumber(text, option.least))
        .default(null, `${option.default}${quick}`);
    }
    case "seed":
      return new ParserOption(`--${name} <number>`, option.words)
        .argParser((text) => wholeNumber(text, 0))
        .default(null, "any");
    case "text":
      return new ParserOption(`--${name} <${option.placeholder}>`, option.words);
    case "choice":
      return new ParserOption(`--${name} <word>`, option.words).choices(option.of).default(option.of[0]);
    case "flag":
      return new ParserOption(`--${name}`, option.words);
  }
}

function fallbackOf(option: Extract<Option, { readonly kind: "number" | "seed" }>, isQuick: boolean): number {
  if (option.kind === "seed") return Math.trunc(Math.random() * 2 ** 31);
  return isQuick ? (option.quick ?? option.default) : option.default;
}

function wholeNumber(text: string, least: number): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number) || number < least)
    throw new InvalidArgumentError(`It must be a whole number from ${least}.`);
  return number;
}

/** Reads the arguments of this process. With wrong options it ends with exit code 2, with --help it ends with 0. */
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

function helpOf({ examples, exitCodes }: Command<Readonly<Record<string, Option>>>, parser: Parser): string {
  return [
    parser.helpInformation(),
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
