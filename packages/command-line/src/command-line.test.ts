import { expect, test } from "vitest";
import { parseCommandLine, type Command, type Option } from "./command-line.ts";

const COMMAND = {
  name: "pnpm count",
  words: "Count.",
  options: {
    from: { kind: "number", default: 0, least: 0, words: "the first" },
    to: { kind: "number", default: 10, least: 1, words: "the last" },
    only: { kind: "text", placeholder: "text", words: "which" },
    in: { kind: "choice", of: ["tens", "dozens"], words: "in what" },
    seed: { kind: "seed", words: "of the order" },
    json: { kind: "flag", words: "as JSON" },
  },
  exitCodes: ["counted", "not counted"],
  examples: [["pnpm count --to 3", "a few"]],
} as const satisfies Command<Readonly<Record<string, Option>>>;

test("options have their values, or else their defaults", () => {
  expect(parseCommandLine(COMMAND, [])).toEqual({
    kind: "values",
    values: { from: 0, to: 10, only: null, in: "tens", seed: expect.any(Number) as unknown, json: false },
  });
  expect(parseCommandLine(COMMAND, ["--", "--to", "3", "--only=x", "--in", "dozens", "--seed=7", "--json"])).toEqual({
    kind: "values",
    values: { from: 0, to: 3, only: "x", in: "dozens", seed: 7, json: true },
  });
});

test.each([
  [["--to", "many"], "option '--to <number>' argument 'many' is invalid. It must be a whole number from 1."],
  [["--to", "0"], "argument '0' is invalid. It must be a whole number from 1."],
  [["--from", "1e3"], "argument '1e3' is invalid. It must be a whole number from 0."],
  [["--seed", "-1"], "argument '-1' is invalid. It must be a whole number from 0."],
  [["--seed", "soon"], "argument 'soon' is invalid. It must be a whole number from 0."],
  [["--in", "pairs"], "option '--in <word>' argument 'pairs' is invalid. Allowed choices are tens, dozens."],
  [["--too", "3"], "unknown option '--too'\n(Did you mean --to?)"],
  [["--json=yes"], "unknown option '--json=yes'"],
  [["3"], "too many arguments"],
])("%s is wrong", (args, message) => {
  expect(parseCommandLine(COMMAND, args)).toMatchObject({
    kind: "problem",
    message: expect.stringContaining(message) as unknown,
  });
});

test("operands are some of those there are, in their order; all by default", () => {
  const command = {
    ...COMMAND,
    options: {
      parts: { kind: "operands", of: ["a", "b", "c"], words: "which" },
      json: { kind: "flag", words: "as JSON" },
    },
  } as const satisfies Command<Readonly<Record<string, Option>>>;
  const partsOf = (...args: readonly string[]): unknown => {
    const parsed = parseCommandLine(command, args);
    return parsed.kind === "values" ? parsed.values.parts : parsed;
  };
  expect(partsOf()).toEqual(["a", "b", "c"]);
  expect(partsOf("c", "--json", "a")).toEqual(["a", "c"]);
  expect(partsOf("d")).toEqual({
    kind: "problem",
    message: "command-argument value 'd' is invalid for argument 'parts'. Allowed choices are a, b, c.",
  });
  expect(partsOf("--help")).toMatchObject({
    text: expect.stringContaining('  parts       which (choices: "a", "b", "c", default: all)\n') as unknown,
  });
});

test("a number of its own goes before what --quick makes of it", () => {
  const command = {
    ...COMMAND,
    options: {
      quick: { kind: "flag", words: "fewer" },
      turns: { kind: "number", default: 10, quick: 2, least: 1, words: "how many" },
      size: { kind: "number", default: 5, least: 1, words: "of each" },
    },
  } as const satisfies Command<Readonly<Record<string, Option>>>;
  const valuesOf = (...args: readonly string[]): unknown => {
    const parsed = parseCommandLine(command, args);
    return parsed.kind === "values" ? parsed.values : parsed;
  };
  expect(valuesOf()).toEqual({ quick: false, turns: 10, size: 5 });
  expect(valuesOf("--quick")).toEqual({ quick: true, turns: 2, size: 5 });
  expect(valuesOf("--quick", "--turns", "10")).toEqual({ quick: true, turns: 10, size: 5 });
  expect(valuesOf("--help")).toMatchObject({
    text: expect.stringContaining("  --turns <number>  how many (default: 10, with --quick 2)\n") as unknown,
  });
});

test("help tells every option, the exit codes and the examples", () => {
  const parsed = parseCommandLine(COMMAND, ["--help"]);
  expect(parsed.kind === "help" && parsed.text).toBe(`Usage: pnpm count [options]

Count.

Options:
  --from <number>  the first (default: 0)
  --to <number>    the last (default: 10)
  --only <text>    which
  --in <word>      in what (choices: "tens", "dozens", default: "tens")
  --seed <number>  of the order (default: any)
  --json           as JSON
  -h, --help       show help

Exit codes:
  0  counted
  1  not counted

Examples:
  $ pnpm count --to 3  a few
`);
});
