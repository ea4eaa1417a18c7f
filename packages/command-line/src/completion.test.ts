import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { type Program, subcommand } from "./command-line.ts";
import { completionScript, SHELLS } from "./completion.ts";

const run = async (): Promise<void> => {};
const PROGRAM: Program = {
  name: "tool",
  words: "Works.",
  version: "1.2.3",
  commands: [
    subcommand(
      {
        name: "make",
        words: 'make what\'s \\ asked: `all`, "none" or $some',
        options: {
          target: { kind: "operand", of: ["house", "boat"], words: "its kind" },
          project: { kind: "text", short: "p", placeholder: "folder", words: "where" },
          noPaint: { kind: "flag", words: "leave it bare" },
          size: { kind: "choice", of: ["small", "large"], words: "how large" },
          warm: { kind: "switch", words: "heat it" },
        },
        examples: [["tool make"]],
      },
      run,
    ),
    {
      name: "store",
      words: "look at the store",
      commands: [
        subcommand({ name: "get", words: "get one", options: {}, examples: [["tool store get"]] }, run),
        subcommand({ name: "make", words: "make one", options: {}, examples: [["tool store make"]] }, run),
      ],
      examples: [["tool store get"]],
    },
  ],
  examples: [["tool make"]],
};

/** The words that bash offers after these, the last of which is begun. */
function completedInBash(...words: readonly string[]): readonly string[] {
  const script = `${completionScript(PROGRAM, "bash")}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_tool
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { status, stdout, stderr } = spawnSync("bash", ["-c", script, "bash", ...words], { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout.split("\n").filter((word) => word !== "");
}

test.each([
  [[""], ["make", "store"]],
  [["m"], ["make"]],
  [["-"], ["--help", "--version"]],
  [
    ["make", ""],
    ["house", "boat"],
  ],
  [
    ["make", "--"],
    ["--project", "--no-paint", "--size", "--warm", "--help"],
  ],
  [["make", "house", "--no"], ["--no-paint"]],
  [
    ["make", "--size", ""],
    ["small", "large"],
  ],
  [
    ["make", "--size", "="],
    ["small", "large"],
  ],
  [["make", "--size", "=", "l"], ["large"]],
  [
    ["make", "--warm", ""],
    ["yes", "no"],
  ],
  [
    ["store", ""],
    ["get", "make"],
  ],
  [["store", "make", "--"], ["--help"]],
])("bash completes %j", (words, expected) => {
  expect(completedInBash("./bin/tool", ...words)).toEqual(expected);
});

test.each([
  ["the value of an option that may be any text", ["make", "--project", ""]],
  ["a command that does not exist", ["mend", ""]],
  ["an operand of a command without a list of them", ["store", "get", ""]],
])("bash completes names of files in place of %s", (_, words) => {
  expect(completedInBash("tool", ...words)).toEqual([]);
  expect(completionScript(PROGRAM, "bash")).toContain("complete -o default -F _tool tool\n");
});

const isHere = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).error === undefined;

for (const shell of SHELLS)
  test.runIf(shell === "bash" || isHere(shell))(`${shell} can read its script`, () => {
    // Standard input of Node's children is a socket, which fish does not read a script from.
    const { status, stderr } = spawnSync("bash", ["-c", 'cat | "$0" -n', shell], {
      input: completionScript(PROGRAM, shell),
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([0, ""]);
  });

test("descriptions stand in scripts as they are, whatever characters they have", () => {
  expect(completionScript(PROGRAM, "zsh")).toContain(
    `'tool tool') found=('make:make what'\\''s \\ asked: \`all\`, "none" or $some' 'store:look at the store') ;;`,
  );
  expect(completionScript(PROGRAM, "fish")).toContain(
    `case 'tool tool'\n            printf '%s\\n' 'make\tmake what\\'s \\\\ asked: \`all\`, "none" or $some'`,
  );
});
