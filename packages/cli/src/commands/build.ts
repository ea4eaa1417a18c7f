/** `radical build`: the files of a deployment, in the output folder. */
import { type Command, type Options, type Subcommand, subcommand, type Values } from "@radical/command-line";
import {
  type BuildOutcome,
  buildApp,
  countDiagnostics,
  fallbackWords,
  framesOf,
  leftOutLines,
  startCompiler,
  type WrittenFile,
  writeBuild,
  loadProject,
  counted,
} from "@radical/app";
import { EXIT_FAILED } from "@radical/app/command-error";
import { type Terminal, createTerminal, print } from "../terminal/terminal.ts";
import { PROJECT, reported } from "./command.ts";
import { checkStrict, STRICT } from "./strict.ts";

const BUILD = {
  name: "build",
  words: "compile the handlers and write what is deployed",
  options: {
    project: PROJECT,
    strict: STRICT,
    json: { kind: "flag", words: "print the result as JSON" },
  },
  notes: `Writes to the output folder (dist/ unless radical.config.ts names another):
  worker.js          the location's Worker, bundled
  module.wasm        the handlers
  module.rw.wasm     their read/write-set functions
  manifest.json      handlers, types, plans, module hash
  handlers.d.ts      TypeScript types of the handlers
  client.ts          a typed client that needs only fetch
  openapi.json       the HTTP interface as an OpenAPI 3.1 document`,
  examples: [["radical build"], ["radical build --project apps/social"], ["radical build --json | jq .module"]],
} as const satisfies Command<Options>;

type BuildOptions = Values<typeof BUILD.options>;

export const buildCommand: Subcommand = subcommand(BUILD, (options) => reported(options, () => build(options)));

async function build(options: BuildOptions): Promise<void> {
  const terminal = createTerminal({ quiet: options.json });
  const project = await loadProject(options.project);
  const startedAtMs = performance.now();
  const compiler = await startCompiler({ colours: terminal.colours });
  try {
    const outcome = await terminal.during("Building", buildApp(project, compiler, { colours: terminal.colours }));
    const written = outcome.app === null ? [] : await writeBuild(project, outcome.app);
    if (outcome.app === null) process.exitCode = EXIT_FAILED;
    if (options.json) print(JSON.stringify(jsonOf(outcome, written)));
    else show(outcome, written, performance.now() - startedAtMs, terminal);
    if (options.strict) checkStrict(outcome.report.handlers, terminal);
  } finally {
    await compiler.close();
  }
}

function jsonOf({ app, report }: BuildOutcome, files: readonly WrittenFile[]): unknown {
  return {
    ok: app !== null,
    module: app?.manifest.module ?? null,
    handlers: report.handlers.map(({ name, file, line, plan, readOnly }) => ({
      name,
      file,
      line,
      plan: plan.kind,
      readOnly,
    })),
    files,
    diagnostics: report.diagnostics,
  };
}

function show({ app, report }: BuildOutcome, files: readonly WrittenFile[], ms: number, terminal: Terminal): void {
  for (const frame of framesOf(report)) terminal.note(`${frame}\n`);
  const { errors, warnings } = countDiagnostics(report.diagnostics);
  if (app === null) {
    terminal.note(`${terminal.style("red", "✗")} ${counted(errors, "error")}, nothing written`);
    return;
  }
  for (const line of leftOutLines(app.leftOutFiles)) terminal.note(`${terminal.style("yellow", "!")} ${line}`);
  const width = Math.max(...files.map(({ path }) => path.length));
  for (const { path, bytes } of files) print(`${path.padEnd(width)}  ${(bytes / 1024).toFixed(1).padStart(7)} KB`);
  terminal.note(
    `${terminal.style("green", "✓")} ${counted(report.handlers.length, "handler")} in ${(ms / 1000).toFixed(1)} s` +
      fallbackWords(report.handlers.map(({ name, plan }) => [name, plan.kind])) +
      (warnings === 0 ? "" : `; ${counted(warnings, "warning")}`),
  );
}
