/**
 * The reader of options of every command. A command is a table. The table makes the values, the help, and the sentence
 * about a wrong value.
 */
import process from "node:process";
import { Argument, Command as Parser, CommanderError, Option as ParserOption } from "commander";
import {
  flagOf,
  oneOf,
  type Option,
  type Options,
  type TextOption,
  valueOfText,
  type Values,
  variableOf,
  WrongValue,
} from "./option.ts";

export interface Command<Known extends Options> {
  /** As it is typed; of a subcommand its own word. */
  readonly name: string;
  readonly words: string;
  readonly options: Known;
  /** Printed by `--version`. */
  readonly version?: string;
  /** Each option but flags and lists has a twin in the environment, which begins like this: `RADICAL`. */
  readonly environment?: string;
  /** Text of the help after the options. */
  readonly notes?: string;
  /** By their number. */
  readonly exitCodes?: readonly string[];
  readonly examples: readonly Example[];
}

export type Example = readonly [command: string, words?: string];

/** A command of which each subcommand is a command. */
export interface Program {
  readonly name: string;
  readonly words: string;
  readonly version?: string;
  readonly commands: readonly (Subcommand | Program)[];
  readonly notes?: string;
  readonly exitCodes?: readonly string[];
  readonly examples: readonly Example[];
}

export interface Subcommand {
  readonly command: Command<Options>;
  readonly run: (values: never) => Promise<void>;
}

/** A command with the function that carries it out. */
export function subcommand<const Known extends Options>(
  command: Command<Known>,
  run: (values: Values<Known>) => Promise<void>,
): Subcommand {
  return { command, run };
}

/** Where an option's text comes from. */
export type Source = "default" | "environment" | "command line";

export interface Given {
  /** As it may be shown; null if there is none. */
  readonly text: string | null;
  readonly source: Source;
}

export type GivenOptions = Readonly<Record<string, Given>>;

/** The arguments can't be read, or give values that can't be used. */
export type Problem =
  /** An unknown option, a missing operand and the like. */
  | { readonly kind: "misuse"; readonly message: string; readonly hint: string }
  /** Wrong values: a sentence about each, by the option. */
  | {
      readonly kind: "wrong";
      readonly wrong: ReadonlyMap<string, string>;
      readonly given: GivenOptions;
      /** Values of the other options. */
      readonly values: Readonly<Record<string, unknown>>;
      readonly hint: string;
    };

/** Help or version: to be printed, and nothing else to be done. */
export interface Answer {
  readonly kind: "answer";
  readonly text: string;
}

export type CommandLine<Known extends Options> =
  | { readonly kind: "values"; readonly values: Values<Known>; readonly given: GivenOptions }
  | Answer
  | Problem;

export type ProgramLine = { readonly kind: "run"; readonly run: () => Promise<void> } | Answer | Problem;

/** Reads the arguments of a command. */
export function readCommandLine<const Known extends Options>(
  command: Command<Known>,
  args: readonly string[],
): CommandLine<Known> {
  const reading = new Reading();
  const parser = reading.commandParser(command, "");
  // pnpm hands on the `--` before options.
  const problem = reading.parse(parser, args[0] === "--" ? args.slice(1) : args);
  if (problem !== null) return problem;
  const line = valuesOf(command, parser, command.name);
  return line.kind === "values" ? { ...line, values: line.values as Values<Known> } : line;
}

/** Reads the arguments of a program: which subcommand, and its options. */
export function readProgramLine(program: Program, args: readonly string[]): ProgramLine {
  const reading = new Reading();
  const problem = reading.parse(reading.programParser(program, ""), args);
  if (problem !== null) return problem;
  const { subcommand: chosen, parser, path } = reading.chosen!;
  const line = valuesOf(chosen.command, parser, path);
  if (line.kind === "wrong") return line;
  return { kind: "run", run: () => chosen.run(line.values as never) };
}

/** The help of a program and of all of its commands, at a width. */
export function helpOf(program: Program, width: number): readonly { readonly path: string; readonly text: string }[] {
  const reading = new Reading(width);
  const textsOf = (parser: Parser, above: string): readonly { readonly path: string; readonly text: string }[] => {
    const path = joined(above, parser.name());
    reading.out = "";
    parser.outputHelp();
    return [{ path, text: reading.out.trim() }, ...parser.commands.flatMap((inner) => textsOf(inner, path))];
  };
  return textsOf(reading.programParser(program, ""), "");
}

/** One pass over arguments: the parsers, and what they say. */
class Reading {
  out = "";
  chosen: { readonly subcommand: Subcommand; readonly parser: Parser; readonly path: string } | null = null;
  readonly #width: number | null;
  #help = "";
  /** The command in which parsing ended. */
  #path = "";

  constructor(width: number | null = null) {
    this.#width = width;
  }

  parse(parser: Parser, args: readonly string[]): Answer | Extract<Problem, { readonly kind: "misuse" }> | null {
    try {
      parser.parse(args, { from: "user" });
      return null;
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error;
      if (error.exitCode === 0) return { kind: "answer", text: this.out };
      const hint = `${this.#path} --help shows the usage.`;
      if (error.code === "commander.help")
        return { kind: "misuse", message: `The command is missing.\n\n${this.#help.trim()}`, hint };
      return { kind: "misuse", message: sentenceOf(error.message), hint };
    }
  }

  programParser(program: Program, above: string): Parser {
    const parser = this.#parser(program, above);
    const path = joined(above, program.name);
    for (const inner of program.commands) {
      if (!("run" in inner)) {
        parser.addCommand(this.programParser(inner, path));
        continue;
      }
      const made = this.commandParser(inner.command, path);
      made.action(() => {
        this.chosen = { subcommand: inner, parser: made, path: joined(path, inner.command.name) };
      });
      parser.addCommand(made);
    }
    return parser;
  }

  commandParser(command: Command<Options>, above: string): Parser {
    const parser = this.#parser(command, above).action(() => {});
    for (const [name, option] of Object.entries(command.options)) {
      if (option.kind === "operand") parser.addArgument(operandArgument(name, option));
      else if (option.kind === "operands") parser.addArgument(operandsArgument(name, option));
      else parser.addOption(parserOption(name, option, command.environment));
    }
    return parser;
  }

  #parser(made: Omit<Command<Options>, "options"> | Program, above: string): Parser {
    const { name, words, version, notes, exitCodes, examples } = made;
    const parser = new Parser(name)
      .description(words)
      .helpOption("-h, --help", "show help")
      .addHelpText("after", `\n${helpAfter({ notes, exitCodes, examples })}`)
      .configureOutput({
        writeOut: (text) => (this.out += text),
        writeErr: (text) => (this.#help += text),
        ...(this.#width === null ? {} : { getOutHelpWidth: () => this.#width! }),
      })
      .allowExcessArguments(false)
      .exitOverride((error) => {
        this.#path = joined(above, name);
        throw error;
      });
    return version === undefined ? parser : parser.version(version, "-V, --version", "print the version");
  }
}

function joined(above: string, name: string): string {
  return above === "" ? name : `${above} ${name}`;
}

function operandArgument(
  name: string,
  { of, optional, words }: Extract<Option, { readonly kind: "operand" }>,
): Argument {
  const argument = new Argument(optional === true ? `[${name}]` : `<${name}>`, words);
  // For the help alone: all wrong values are found together.
  if (of !== undefined) argument.argChoices = [...of];
  return argument;
}

function operandsArgument(name: string, { of, words }: Extract<Option, { readonly kind: "operands" }>): Argument {
  const argument = new Argument(`[${name}...]`, words);
  if (of === undefined) return argument;
  // For the help alone: all wrong values are found together.
  argument.argChoices = [...of];
  return argument.default(of, "all");
}

function parserOption(
  name: string,
  option: Exclude<Option, { readonly kind: "operand" | "operands" }>,
  environment: string | undefined,
): ParserOption {
  const flags = `${option.short === undefined ? "" : `-${option.short}, `}${flagOf(name)}`;
  const made = new ParserOption(`${flags}${placeholderOf(option)}`, option.words);
  if (option.kind === "flag") return made;
  if (option.kind === "list")
    return made.argParser((text, before: readonly string[] | undefined) => [...(before ?? []), text]);
  if (environment !== undefined) made.env(variableOf(environment, name));
  if (option.kind === "choice") made.argChoices = [...option.of];
  // Without its word.
  if (option.kind === "switch") made.preset("yes");
  if (option.kind === "choice" && option.alone !== undefined) made.preset(option.alone);
  const fallback = defaultWords(option);
  return fallback === null ? made : made.default(null, fallback);
}

function placeholderOf(option: Exclude<Option, { readonly kind: "operand" | "operands" }>): string {
  switch (option.kind) {
    case "flag":
      return "";
    case "switch":
      return " [yes|no]";
    case "number":
      return ` <${option.unit ?? "number"}>`;
    case "seed":
      return " <number>";
    case "choice": {
      const placeholder = option.placeholder ?? "word";
      return option.alone === undefined ? ` <${placeholder}>` : ` [${placeholder}]`;
    }
    case "text":
    case "list":
      return ` <${option.placeholder}>`;
  }
}

function defaultWords(option: TextOption): string | null {
  const text = defaultText(option);
  switch (option.kind) {
    case "number":
      return text === null || option.quick === undefined ? text : `${text}, with --quick ${option.quick}`;
    case "seed":
      return "any";
    case "switch":
    case "text":
    case "choice":
      return text === null ? null : JSON.stringify(text);
  }
}

/** The text that says the same as if nobody gives the option. */
function defaultText(option: TextOption): string | null {
  switch (option.kind) {
    case "number":
      return option.default === undefined ? null : String(option.default);
    case "seed":
      return null;
    case "switch":
      return "no";
    case "text":
      return option.default ?? null;
    case "choice":
      return option.default === undefined ? option.of[0]! : option.default;
  }
}

type Read =
  | { readonly kind: "values"; readonly values: Readonly<Record<string, unknown>>; readonly given: GivenOptions }
  | Extract<Problem, { readonly kind: "wrong" }>;

/** The values of the options, once the parser has read the arguments. */
function valuesOf({ options, environment }: Command<Options>, parser: Parser, path: string): Read {
  const values: Record<string, unknown> = {};
  const given: Record<string, Given> = {};
  const wrong = new Map<string, string>();
  const read = (name: string, called: string, text: string, value: () => unknown): void => {
    try {
      values[name] = value();
    } catch (error) {
      if (!(error instanceof WrongValue)) throw error;
      wrong.set(
        name,
        `${called} must ${error.message}, and ${error.found === null ? `is "${text}"` : `"${text}" ${error.found}`}.`,
      );
    }
  };
  const keyOf = (name: string): string => parser.options.find(({ long }) => long === flagOf(name))!.attributeName();
  const isQuick = "quick" in options && parser.getOptionValue(keyOf("quick")) === true;
  let operands = parser.args;
  for (const [name, option] of Object.entries(options)) {
    switch (option.kind) {
      case "operand": {
        const { of } = option;
        const [word = null, ...others] = operands;
        read(name, name, word ?? "", () => (of === undefined || word === null ? word : oneOf(of, word)));
        operands = others;
        break;
      }
      case "operands": {
        const { of } = option;
        const named = operands;
        read(name, name, named.find((word) => of?.includes(word) === false) ?? "", () => {
          if (of === undefined) return named;
          for (const word of named) oneOf(of, word);
          return named.length === 0 ? of : of.filter((word) => named.includes(word));
        });
        break;
      }
      case "flag":
        values[name] = parser.getOptionValue(keyOf(name)) === !flagOf(name).startsWith("--no-");
        break;
      case "list":
        values[name] = parser.getOptionValue(keyOf(name)) ?? [];
        break;
      case "switch":
      case "number":
      case "seed":
      case "text":
      case "choice": {
        const found = (parser.getOptionValue(keyOf(name)) as string | null | undefined) ?? null;
        const isFromEnvironment = parser.getOptionValueSource(keyOf(name)) === "env";
        const text = found ?? (isQuick && option.kind === "number" ? quickText(option) : defaultText(option));
        const shown = text !== null && option.kind === "text" && option.shown !== undefined ? option.shown(text) : text;
        const source = found === null ? "default" : isFromEnvironment ? "environment" : "command line";
        given[name] = { text: shown, source };
        const called = source === "environment" ? variableOf(environment ?? "", name) : flagOf(name);
        if (text !== null) read(name, called, shown ?? "", () => valueOfText(option, text));
        else values[name] = option.kind === "seed" ? anySeed() : null;
      }
    }
  }
  if (wrong.size > 0) return { kind: "wrong", wrong, given, values, hint: `${path} --help shows the usage.` };
  return { kind: "values", values, given };
}

function quickText(option: Extract<Option, { readonly kind: "number" }>): string | null {
  return option.quick === undefined ? defaultText(option) : String(option.quick);
}

function anySeed(): number {
  return Math.trunc(Math.random() * 2 ** 31);
}

/** `error: unknown option '--too'` as a sentence. */
function sentenceOf(message: string): string {
  const [first = "", ...more] = message.replace(/^error: /, "").split("\n");
  const sentence = `${first.slice(0, 1).toUpperCase()}${first.slice(1)}`;
  return [/[.?!]$/.test(sentence) ? sentence : `${sentence}.`, ...more].join("\n");
}

function helpAfter({
  notes,
  exitCodes,
  examples,
}: {
  readonly notes: string | undefined;
  readonly exitCodes: readonly string[] | undefined;
  readonly examples: readonly Example[];
}): string {
  const codes = exitCodes?.map((meaning, code) => `  ${code}  ${meaning}`);
  return [
    ...(notes === undefined ? [] : [notes.trim()]),
    ...(codes === undefined ? [] : [["Exit codes:", ...codes].join("\n")]),
    ["Examples:", ...exampleLines(examples)].join("\n"),
  ].join("\n\n");
}

/** Words are a comment, so that the line can be typed as it is. */
function exampleLines(examples: readonly Example[]): readonly string[] {
  const width = Math.max(0, ...examples.map(([command, words]) => (words === undefined ? 0 : command.length)));
  return examples.map(([command, words]) =>
    words === undefined ? `  $ ${command}` : `  $ ${command.padEnd(width)}  # ${words}`,
  );
}

/** Reads the arguments of this process. With wrong options it ends with exit code 2, with --help it ends with 0. */
export function commandLine<const Known extends Options>(command: Command<Known>): Values<Known> {
  const line = readCommandLine(command, process.argv.slice(2));
  switch (line.kind) {
    case "values":
      return line.values;
    case "answer":
      process.stdout.write(line.text);
      process.exit(0);
    // oxlint-disable-next-line no-fallthrough -- it has ended
    case "misuse":
    case "wrong":
      return wrongOption(command, problemText(line));
  }
}

/** The sentences about the problem, without the hint. */
export function problemText(problem: Problem): string {
  return problem.kind === "misuse" ? problem.message : [...problem.wrong.values()].join("\n");
}

/** Tells a problem that the command found by itself, and ends the process with exit code 2. */
export function wrongOption({ name }: Pick<Command<Options>, "name">, message: string): never {
  process.stderr.write(`error ${message}\n  ${name} --help shows the usage.\n`);
  process.exit(2);
}
