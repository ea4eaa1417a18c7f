/** `radical data rewrite`: the program that the build makes for a table, run page by page at the LVI server. */
import { setTimeout } from "node:timers/promises";
import { CborReader, CborWriter, type StoredTypes, terminalText } from "@radical/protocol";
import { startCompiler, withStoredTypes, loadProject, type Project, counted, MAX_PROBLEMS } from "@radical/app";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { makeStateFolder } from "@radical/local";
import { createTerminal, print, type Terminal } from "../terminal/terminal.ts";
import { DataModule } from "./data-module.ts";
import { type DataServer, withServer } from "./data-server.ts";
import { compiled, type DataOptions, placeOf, tableTypes } from "./data-work.ts";
import { checkEarlierNames } from "./earlier-names.ts";
import { pauseMs, type RewritingProgress, rewriteItems, type StoredKey } from "./rewrite-items.ts";

export interface RewriteOptions extends Omit<DataOptions, "untyped"> {
  /** Null: from the first key on. */
  readonly from: string | null;
  /** Most items a second; null: as many as there are. */
  readonly rate: number | null;
  readonly dryRun: boolean;
}

/** A note of progress stands behind so many pages. */
const NOTED_PAGES = 10;

/** Stores each item of a table as the classes of the present build do. Throws a CommandError if one does not fit them. */
export async function rewrite(table: string, options: RewriteOptions, signal: AbortSignal): Promise<void> {
  const project = await loadProject(options.project);
  const place = await placeOf(project, options);
  const terminal = createTerminal({ quiet: options.json });
  const { program, types } = await terminal.during("Building", rewritingProgram(project, table, terminal));
  if (place.isDev) await makeStateFolder(place.stateFolder);
  const done = await withServer(place, async (server) => {
    // One build serves in `radical dev`.
    const isDeployed = !place.isDev || place.server !== null;
    if (isDeployed && !options.dryRun) await checkEarlierNames(server, table, types);
    return rewriteAt(server, program, table, options, signal, terminal);
  });
  if (options.json) print(JSON.stringify({ table, ...countsOf(done), done: done.isDone }));
  const words = wordsOf(done, options.dryRun);
  if (!done.isDone)
    throw new CommandError(
      "stopped",
      `The rewriting of ${table} was told to stop. ${words}`,
      done.last === null ? "Run the same command again." : goOnWith(table, done.last),
    );
  if (done.misfits > 0)
    throw new CommandError(
      "data_does_not_fit",
      `${counted(done.misfits, "item")} of ${table} ${done.misfits === 1 ? "does" : "do"} not fit the types of this build. ${words}`,
      `Correct them with radical data put, or give the class of ${table} types that read them. Then run the same command again.`,
    );
  terminal.note(`${terminal.style("green", "✓")} ${words}`);
}

/** The program for a table. Throws a CommandError if the handlers have errors, or no such table. */
async function rewritingProgram(
  project: Project,
  table: string,
  { colours }: Terminal,
): Promise<{ readonly program: Uint8Array; readonly types: StoredTypes }> {
  const compiler = await startCompiler({ colours });
  try {
    const build = await compiled(project, compiler, "Correct them.", { rewritten: table });
    const types = tableTypes(build);
    if (Object.hasOwn(types.tables, table)) return { program: withStoredTypes(build.wasm, types), types };
    const names = Object.keys(types.tables).toSorted().join(", ");
    throw new CommandError(
      "no_such_table",
      `No handler declares a table ${terminalText(table)}.`,
      names === "" ? "Declare it in a handler file." : `Name one that handlers declare: ${names}.`,
      { exitCode: EXIT_USAGE },
    );
  } finally {
    await compiler.close();
  }
}

async function rewriteAt(
  server: DataServer,
  program: Uint8Array,
  table: string,
  { from, rate, dryRun, json }: RewriteOptions,
  signal: AbortSignal,
  terminal: Terminal,
): Promise<RewritingProgress> {
  let last = from;
  let told = 0;
  let pages = 0;
  const state = (): string => (last === null ? "nothing was rewritten" : `all items up to ${last} were rewritten`);
  const module = await DataModule.register({ server, program, handlers: ["keys", "rewrite"], state });
  const began = performance.now();
  const keys = async (start: string, most: number): Promise<readonly StoredKey[]> => {
    const ended = await module.execute("keys", new CborWriter().array(2).text(start).integer(most).finish());
    if (ended.kind !== "result") throw module.failed(`The items of ${table} can't be read: ${ended.message}`, REPORT);
    const reader = new CborReader(ended.value);
    return Array.from({ length: reader.array() / 2 }, () => ({
      key: reader.text(),
      bytes: reader.integerIn(0, Number.MAX_SAFE_INTEGER),
    }));
  };
  const rewriteKeys = async (some: readonly string[]): Promise<number | string> => {
    const args = new CborWriter().array(2).boolean(dryRun).array(some.length);
    for (const key of some) args.text(key);
    const ended = await module.execute("rewrite", args.finish());
    return ended.kind === "result" ? new CborReader(ended.value).integerIn(0, some.length) : ended.message;
  };
  const misfit = (key: string, problem: string): void => {
    if (json) print(JSON.stringify({ table, key, problem }));
    else if (told++ < MAX_PROBLEMS) terminal.note(terminalText(`Not rewritten: ${problemOf(table, key, problem)}`));
  };
  const progress = async (done: RewritingProgress): Promise<void> => {
    last = done.last;
    if (json) print(JSON.stringify({ table, ...countsOf(done) }));
    else if (++pages % NOTED_PAGES === 0) terminal.note(terminalText(`${wordsOf(done, dryRun)} Last: ${last}`));
    if (rate !== null && !done.isDone) await sleep(pauseMs(done.read, rate, performance.now() - began), signal);
  };
  return rewriteItems({ keys, rewrite: rewriteKeys, misfit, progress }, from ?? "", signal);
}

/** The words of a trap name the item, unless it has run out of something. */
function problemOf(table: string, key: string, words: string): string {
  return words.startsWith(`${table}/${key}`) ? words : `${table}/${key}: ${words}`;
}

const REPORT = "This is a fault of Radical: please report it.";

function countsOf({ read, rewritten, misfits, last }: RewritingProgress): object {
  return { read, rewritten, misfits, last };
}

function wordsOf({ read, rewritten }: RewritingProgress, dryRun: boolean): string {
  return `${counted(read, "item")} read, ${rewritten} ${dryRun ? "would be rewritten" : "rewritten"}.`;
}

function goOnWith(table: string, key: string): string {
  return `Go on where it stopped: radical data rewrite ${table} --from '${terminalText(key.replaceAll("'", "'\\''"))}'`;
}

/** Ends early when it is told to. */
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined);
}
