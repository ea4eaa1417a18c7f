/** The command `radical` with its subcommands. `pnpm docs:reference` writes their help into docs/command-line.md. */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { analyzeCommand } from "./commands/analyze.ts";
import { benchCommand } from "./commands/bench.ts";
import { buildCommand } from "./commands/build.ts";
import { dataCommand } from "./commands/data.ts";
import { deployCommand } from "./commands/deploy.ts";
import { deploymentsCommand } from "./commands/deployments.ts";
import { destroyCommand } from "./commands/destroy.ts";
import { devCommand } from "./commands/dev.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { explainCommand } from "./commands/explain.ts";
import { primaryCommand } from "./commands/primary.ts";
import { recordCommand } from "./commands/record.ts";
import { replayCommand } from "./commands/replay.ts";
import { rollbackCommand } from "./commands/rollback.ts";
import { secretsCommand } from "./commands/secrets.ts";
import { tailCommand } from "./commands/tail.ts";
import { laidOut } from "./terminal/terminal.ts";

const HELP = `
Exit codes:
  0  it worked
  1  it did not: the handlers have errors, or the application could not start
  2  nothing was done: wrong usage, or a configuration that can't be used
  3  it worked, but --strict was given and the set of some handler is neither sliced nor given

Examples:
  $ radical dev                    run the application here, with simulated locations
  $ radical build                  write the files that are deployed to dist/
  $ radical analyze follow         show what the handler "follow" reads and writes
  $ radical data get users ann     show an item of a table
  $ radical deploy                 take it to Cloudflare and its primary
  $ radical doctor                 say what is wrong, if anything is

Colours are left out when the output is no terminal or NO_COLOR is set.`;

export function createProgram(): Command {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    readonly version: string;
  };
  const program = new Command("radical")
    .description("Build, analyze and run handlers that are strictly serializable and run close to users")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .addHelpText("after", HELP)
    .showHelpAfterError("(radical --help shows how it is used)");
  for (const command of [
    devCommand(),
    buildCommand(),
    analyzeCommand(),
    explainCommand(),
    benchCommand(),
    dataCommand(),
    deployCommand(),
    deploymentsCommand(),
    rollbackCommand(),
    destroyCommand(),
    secretsCommand(),
    primaryCommand(),
    doctorCommand(),
    recordCommand(),
    replayCommand(),
    tailCommand(),
  ]) {
    program.addCommand(
      command.exitOverride().showHelpAfterError(`(radical ${command.name()} --help shows how it is used)`),
    );
  }
  escapeErrors(program);
  return program;
}

/** What commander says of wrong usage repeats what was typed. */
function escapeErrors(command: Command): void {
  command.configureOutput({ writeErr: (text) => process.stderr.write(laidOut(text, false)) });
  command.commands.forEach(escapeErrors);
}
