import { expect, test, vi } from "vitest";
import {
  type Command,
  helpOf,
  problemText,
  type Program,
  readCommandLine,
  readProgramLine,
  subcommand,
} from "./command-line.ts";
import { type Options, type Values, WrongValue } from "./option.ts";

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
} as const satisfies Command<Options>;

test("options have their values, or else their defaults", () => {
  expect(readCommandLine(COMMAND, [])).toMatchObject({
    kind: "values",
    values: { from: 0, to: 10, only: null, in: "tens", seed: expect.any(Number) as unknown, json: false },
  });
  expect(
    readCommandLine(COMMAND, ["--", "--to", "3", "--only=x", "--in", "dozens", "--seed=7", "--json"]),
  ).toMatchObject({
    kind: "values",
    values: { from: 0, to: 3, only: "x", in: "dozens", seed: 7, json: true },
  });
});

test.each([
  [["--to", "many"], '--to must be an integer from 1, and is "many".'],
  [["--to", "0"], '--to must be an integer from 1, and is "0".'],
  [["--from", "1e3"], '--from must be an integer from 0, and is "1e3".'],
  [["--from", "99999999999999999"], "--from must be an integer from 0"],
  [["--seed", "-1"], '--seed must be an integer from 0, and is "-1".'],
  [["--seed", "soon"], '--seed must be an integer from 0, and is "soon".'],
  [["--in", "pairs"], '--in must be one of tens, dozens, and is "pairs".'],
  [["--to", "0", "--in", "pairs"], '--to must be an integer from 1, and is "0".\n--in must be one of tens, dozens'],
  [["--too", "3"], "Unknown option '--too'.\n(Did you mean --to?)"],
  [["--json=yes"], "Unknown option '--json=yes'."],
  [["3"], "Too many arguments. Expected 0 arguments but got 1: 3."],
])("%s is wrong", (args, message) => {
  const line = readCommandLine(COMMAND, args);
  expect(line).toMatchObject({ hint: "pnpm count --help shows the usage." });
  expect("hint" in line && problemText(line)).toContain(message);
});

test("operands are some of those there are, in their order; all by default", () => {
  const command = {
    ...COMMAND,
    options: {
      parts: { kind: "operands", of: ["a", "b", "c"], words: "which" },
      json: { kind: "flag", words: "as JSON" },
    },
  } as const satisfies Command<Options>;
  const partsOf = (...args: readonly string[]): unknown => {
    const parsed = readCommandLine(command, args);
    return parsed.kind === "values" ? parsed.values.parts : parsed;
  };
  expect(partsOf()).toEqual(["a", "b", "c"]);
  expect(partsOf("c", "--json", "a")).toEqual(["a", "c"]);
  expect(partsOf("a", "d")).toMatchObject({
    kind: "wrong",
    wrong: new Map([["parts", 'parts must be one of a, b, c, and is "d".']]),
  });
  expect(partsOf("--help")).toMatchObject({
    text: expect.stringContaining('  parts       which (choices: "a", "b", "c", default: all)\n') as unknown,
  });
});

test("an operand with a list of words is one of these", () => {
  const command = {
    ...COMMAND,
    options: { part: { kind: "operand", of: ["a", "b"], words: "which" } },
  } as const satisfies Command<Options>;
  expect(readCommandLine(command, ["b"])).toMatchObject({ kind: "values", values: { part: "b" } });
  expect(readCommandLine(command, ["c"])).toMatchObject({
    kind: "wrong",
    wrong: new Map([["part", 'part must be one of a, b, and is "c".']]),
  });
  expect(readCommandLine(command, [])).toMatchObject({ kind: "misuse", message: "Missing required argument 'part'." });
  expect(readCommandLine(command, ["--help"])).toMatchObject({
    text: expect.stringContaining('  part        which (choices: "a", "b")\n') as unknown,
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
  } as const satisfies Command<Options>;
  const valuesOf = (...args: readonly string[]): unknown => {
    const parsed = readCommandLine(command, args);
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
  const parsed = readCommandLine(COMMAND, ["--help"]);
  expect(parsed.kind === "answer" && parsed.text).toBe(`Usage: pnpm count [options]

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
  $ pnpm count --to 3  # a few
`);
});

const SERVER = {
  name: "serve",
  words: "Serve.",
  version: "1.2.3",
  environment: "SERVE",
  options: {
    leaseMs: { kind: "number", unit: "ms", default: 5_000, least: 100, most: 600_000, words: "how long" },
    share: { kind: "number", least: 0, most: 1, fraction: true, percent: true, words: "how much" },
    storage: {
      kind: "text",
      placeholder: "address",
      default: "file:here",
      words: "where",
      parse: (text: string): URL => {
        if (URL.canParse(text)) return new URL(text);
        throw new WrongValue("be an address", "names no place");
      },
      shown: (text: string): string => text.replace("secret", "…"),
    },
    level: { kind: "choice", of: ["low", "high"], default: null, words: "how" },
    exitWithParent: { kind: "switch", words: "stop with it" },
    noWatch: { kind: "flag", words: "once" },
    only: { kind: "list", short: "o", placeholder: "name", words: "of these" },
    place: { kind: "operand", words: "of all" },
    more: { kind: "operand", optional: true, words: "of all" },
  },
  examples: [["serve here"]],
} as const satisfies Command<Options>;

function served(...args: readonly string[]): Values<typeof SERVER.options> {
  const line = readCommandLine(SERVER, args);
  if (line.kind !== "values") throw new Error(line.kind);
  return line.values;
}

test("each kind of option has its value, and null for one that nobody gives", () => {
  expect(served("here")).toEqual({
    leaseMs: 5_000,
    share: null,
    storage: new URL("file:here"),
    level: null,
    exitWithParent: false,
    noWatch: false,
    only: [],
    place: "here",
    more: null,
  });
  const args = "--lease-ms 100 --share 0.25% --storage file:b --level high --exit-with-parent --no-watch";
  expect(served(...args.split(" "), "-o", "x", "--only", "y", "a", "b")).toEqual({
    leaseMs: 100,
    share: 0.25,
    storage: new URL("file:b"),
    level: "high",
    exitWithParent: true,
    noWatch: true,
    only: ["x", "y"],
    place: "a",
    more: "b",
  });
});

test("an option has a twin in the environment, which is told by its name and counts less", () => {
  vi.stubEnv("SERVE_LEASE_MS", "200");
  vi.stubEnv("SERVE_EXIT_WITH_PARENT", "yes");
  expect(served("here")).toMatchObject({ leaseMs: 200, exitWithParent: true });
  expect(served("here", "--lease-ms", "300")).toMatchObject({ leaseMs: 300 });
  vi.stubEnv("SERVE_LEASE_MS", "99");
  expect(readCommandLine(SERVER, ["here", "--storage", "secret"])).toMatchObject({
    kind: "wrong",
    wrong: new Map([
      ["leaseMs", 'SERVE_LEASE_MS must be an integer from 100 to 600000, and is "99".'],
      ["storage", '--storage must be an address, and "…" names no place.'],
    ]),
    given: {
      leaseMs: { text: "99", source: "environment" },
      storage: { text: "…", source: "command line" },
      level: { text: null, source: "default" },
    },
  });
  vi.unstubAllEnvs();
});

const PROGRAM: Program = {
  name: "tool",
  words: "Do it.",
  version: "1.2.3",
  commands: [
    subcommand(
      { name: "count", words: "count", options: { to: { kind: "number", least: 1, words: "last" } }, examples: [] },
      async ({ to }) => void counted.push(to),
    ),
    {
      name: "data",
      words: "data",
      commands: [
        subcommand(
          { name: "get", words: "get", options: { key: { kind: "operand", words: "which" } }, examples: [] },
          async ({ key }) => void counted.push(key),
        ),
      ],
      examples: [["tool data get a"]],
    },
  ],
  examples: [["tool count"]],
};
const counted: unknown[] = [];

test("a program carries out the subcommand that is named, with its values", async () => {
  for (const args of [["count", "--to", "3"], ["count"], ["data", "get", "a"]]) {
    const line = readProgramLine(PROGRAM, args);
    if (line.kind !== "run") throw new Error(line.kind);
    await line.run();
  }
  expect(counted).toEqual([3, null, "a"]);
});

test.each([
  [["cuont"], "Unknown command 'cuont'.\n(Did you mean count?)", "tool"],
  [["count", "--two", "3"], "Unknown option '--two'.", "tool count"],
  [["count", "--to", "0"], '--to must be an integer from 1, and is "0".', "tool count"],
  [["data", "get"], "Missing required argument 'key'.", "tool data get"],
  [["data"], "Usage: tool data", "tool data"],
  [[], "Usage: tool", "tool"],
])("%s is wrong usage of the command that is told", (args, message, path) => {
  const line = readProgramLine(PROGRAM, args);
  expect("hint" in line && [problemText(line), line.hint]).toEqual([
    expect.stringContaining(message),
    `${path} --help shows the usage.`,
  ]);
});

test("a program and its subcommands explain themselves, and tell the version", () => {
  const textOf = (...args: readonly string[]): string => {
    const line = readProgramLine(PROGRAM, args);
    return line.kind === "answer" ? line.text : line.kind;
  };
  expect(textOf("--version")).toBe("1.2.3\n");
  expect(textOf("data", "--help")).toContain("Usage: tool data [options] [command]");
  expect(textOf("data", "--help")).toContain("Examples:\n  $ tool data get a\n");
  expect(helpOf(PROGRAM, 110).map(({ path }) => path)).toEqual(["tool", "tool count", "tool data", "tool data get"]);
});

test("a choice may stand alone", () => {
  const command = {
    ...COMMAND,
    options: {
      emitIr: { kind: "choice", of: ["all", "a"], default: null, alone: "all", placeholder: "phase", words: "which" },
    },
  } as const satisfies Command<Options>;
  const valuesOf = (...args: readonly string[]): unknown => {
    const parsed = readCommandLine(command, args);
    return parsed.kind === "values" ? parsed.values : parsed;
  };
  expect(valuesOf()).toEqual({ emitIr: null });
  expect(valuesOf("--emit-ir")).toEqual({ emitIr: "all" });
  expect(valuesOf("--emit-ir=a")).toEqual({ emitIr: "a" });
  expect(valuesOf("--emit-ir=b")).toMatchObject({
    wrong: new Map([["emitIr", '--emit-ir must be one of all, a, and is "b".']]),
  });
  expect(valuesOf("--help")).toMatchObject({
    text: expect.stringContaining("  --emit-ir [phase]  which (") as unknown,
  });
});
