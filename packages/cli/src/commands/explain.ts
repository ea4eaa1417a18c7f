/** `radical explain`: the page about a diagnostic, as it lies in `docs/diagnostics` and in the published package. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { Argument, Command } from "commander";
import { CommandError, EXIT_USAGE } from "../command-error.ts";
import { reportError } from "./command.ts";
import { print } from "../terminal/terminal.ts";

const HELP = `
Examples:
  $ radical explain                   # all of them, with a sentence each
  $ radical explain optional_chaining`;

const INDEX = "README";

export function explainCommand(): Command {
  return new Command("explain")
    .description("tell what a diagnostic means, with an example and the accepted form")
    .addArgument(new Argument("[code]", "as in error[code]"))
    .addHelpText("after", HELP)
    .action((code: string | undefined) => {
      try {
        print(pageOf(code ?? INDEX));
      } catch (error) {
        reportError(error, false);
      }
    });
}

function pageOf(code: string): string {
  const folder = pagesFolder();
  const names = readdirSync(folder).map((name) => name.replace(/\.md$/, ""));
  if (!names.includes(code)) {
    throw new CommandError("unknown_diagnostic", `there is no diagnostic "${code}"`, "radical explain lists them all", {
      exitCode: EXIT_USAGE,
    });
  }
  return readFileSync(new URL(`${code}.md`, folder), "utf8").trimEnd();
}

/** In the published package beside `dist`, in the workspace among its documents. */
function pagesFolder(): URL {
  const published = new URL("../../diagnostics/", import.meta.url);
  return existsSync(published) ? published : new URL("../../../../docs/diagnostics/", import.meta.url);
}
