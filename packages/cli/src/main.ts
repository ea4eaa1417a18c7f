#!/usr/bin/env node
/** The command `radical`: its subcommands, its exit codes. */
import { readFileSync } from "node:fs";
import { EXIT_USAGE } from "./command-error.ts";

const MIN_NODE_MAJOR = 24;

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

Colours are left out when the output is no terminal or NO_COLOR is set.`;

if (Number(process.versions.node.split(".")[0]) < MIN_NODE_MAJOR) {
  process.stderr.write(
    `error radical needs Node ${MIN_NODE_MAJOR}, this is ${process.version}\n` +
      "  add the development dependency node@24 and use the scripts of package.json, which then run with it\n",
  );
  process.exit(EXIT_USAGE);
}

// A reader that has seen enough, as in `radical analyze | head`, is no error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
}

// After the check above: they use what older versions lack.
const { Command, CommanderError } = await import("commander");
const { analyzeCommand } = await import("./commands/analyze.ts");
const { buildCommand } = await import("./commands/build.ts");
const { dataCommand } = await import("./commands/data.ts");
const { deploymentsCommand } = await import("./commands/deployments.ts");
const { rollbackCommand } = await import("./commands/rollback.ts");
const { deployCommand } = await import("./commands/deploy.ts");
const { devCommand } = await import("./commands/dev.ts");
const { explainCommand } = await import("./commands/explain.ts");
const { recordCommand } = await import("./commands/record.ts");
const { replayCommand } = await import("./commands/replay.ts");
const { tailCommand } = await import("./commands/tail.ts");
const { primaryCommand } = await import("./commands/primary.ts");

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
  dataCommand(),
  deployCommand(),
  deploymentsCommand(),
  rollbackCommand(),
  primaryCommand(),
  recordCommand(),
  replayCommand(),
  tailCommand(),
]) {
  program.addCommand(
    command.exitOverride().showHelpAfterError(`(radical ${command.name()} --help shows how it is used)`),
  );
}

try {
  await program.exitOverride().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Help that was asked for is no error; everything else that commander throws is wrong usage.
  process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
}
