#!/usr/bin/env node
/** The command `radical`, as a process: what it needs of Node, and how it ends. */
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";

const MIN_NODE_MAJOR = 24;

if (Number(process.versions.node.split(".")[0]) < MIN_NODE_MAJOR) {
  process.stderr.write(
    `error Radical needs Node ${MIN_NODE_MAJOR}, and this is ${process.version}.\n` +
      "  Add the development dependency node@24, and use the scripts of package.json, which then run with it.\n",
  );
  process.exit(EXIT_USAGE);
}

// A reader that has seen enough, as in `radical analyze | head`, is not an error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
}

// After the check above: they use what older versions lack.
const { problemText, readProgramLine } = await import("@radical/command-line");
const { reportError } = await import("./commands/command.ts");
const { radicalProgram } = await import("./program.ts");

const line = readProgramLine(radicalProgram(), process.argv.slice(2));
switch (line.kind) {
  case "run":
    await line.run();
    break;
  case "answer":
    process.stdout.write(line.text);
    break;
  case "misuse":
  case "wrong": {
    const isJson = line.kind === "wrong" && line.values["json"] === true;
    reportError(new CommandError("usage", problemText(line), line.hint, { exitCode: EXIT_USAGE }), isJson);
  }
}
