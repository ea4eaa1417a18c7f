/** `radical explain`: the page about a diagnostic, as it lies in `docs/diagnostics` and in the published package. */
import { readFileSync, readdirSync } from "node:fs";
import { type Subcommand, subcommand } from "@radical/command-line";
import { diagnosticPages } from "../diagnostic-pages.ts";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { reported } from "./command.ts";
import { print } from "../terminal/terminal.ts";

const INDEX = "README";

export const explainCommand: Subcommand = subcommand(
  {
    name: "explain",
    words: "tell what a diagnostic means, with an example and the accepted form",
    options: {
      code: { kind: "operand", optional: true, words: "code of a diagnostic, as in error[code]" },
    },
    examples: [["radical explain", "every diagnostic, with a sentence each"], ["radical explain dead_code"]],
  },
  ({ code }) => reported({ json: false }, async () => print(pageOf(code ?? INDEX))),
);

function pageOf(code: string): string {
  const folder = diagnosticPages();
  const names = readdirSync(folder).map((name) => name.replace(/\.md$/, ""));
  if (!names.includes(code)) {
    throw new CommandError(
      "unknown_diagnostic",
      `The diagnostic "${code}" does not exist.`,
      "Run radical explain for a list of them.",
      {
        exitCode: EXIT_USAGE,
      },
    );
  }
  return readFileSync(new URL(`${code}.md`, folder), "utf8").trimEnd();
}
