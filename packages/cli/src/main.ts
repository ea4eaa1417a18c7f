#!/usr/bin/env node
/** The command `radical`, as a process: what it needs of Node, and how it ends. */
import { EXIT_USAGE } from "./command-error.ts";

const MIN_NODE_MAJOR = 24;

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
const { CommanderError } = await import("commander");
const { createProgram } = await import("./program.ts");

try {
  await createProgram().exitOverride().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Help that was asked for is no error; everything else that commander throws is wrong usage.
  process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
}
