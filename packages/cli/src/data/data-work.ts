/** What the subcommands of `radical data` do. */
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { type ItemReader, openItems, parseStorageAddress, type StorageAddress } from "@radical/lvi-server";
import { isHiddenTable, splitUnit, terminalText } from "@radical/protocol";
import { makeStateFolder } from "@radical/local";
import {
  framesOf,
  type Compilation,
  type Compiler,
  type CompileQuestion,
  startCompiler,
  discoverSources,
  loadProject,
  type Project,
  counted,
  checkPlace,
  type DataItem,
  ItemProblem,
  itemOf,
  itemToJson,
  type TableTypes,
  itemsOfFile,
  itemsOfLines,
  readJson,
  readText,
  seedFileOf,
} from "@radical/app";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { operatorKey } from "@radical/admin";
import { checkRegion } from "../operate/deployed-options.ts";
import { createTerminal, print, type Terminal } from "../terminal/terminal.ts";
import { type DataPlace, type DataServer, hasData, settled, storageOf, withServer } from "./data-server.ts";
import { findDeployedData } from "./deployed-data.ts";
import { type ItemWrite, writeItems } from "./write-items.ts";

export interface DataOptions {
  readonly project: string;
  readonly json: boolean;
  readonly storage: string | null;
  readonly server: string | null;
  /** Environment of a deployment; null: `radical dev`, or what the options above name. */
  readonly env: string | null;
  /** The region of that deployment's primary at AWS; null: the usual one. */
  readonly region: string | null;
  /** Of the commands that write. */
  readonly untyped?: boolean;
}

// ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function get(table: string, key: string, options: DataOptions): Promise<void> {
  checked(() => checkPlace(table, key, null));
  const item = await reading(options, (reader) => reader.item(table, key));
  if (item === null || item === undefined)
    throw new CommandError(
      "no_such_item",
      `The item ${terminalText(`${table}/${key}`)} does not exist.`,
      `radical data list ${table} shows the items of the table.`,
    );
  const line = itemToJson({ table, key, value: item.value });
  print(options.json ? line : valueOf(line));
}

export interface ListOptions extends DataOptions {
  /** Whether tables of index entries are listed too. */
  readonly hidden: boolean;
  /** Of the keys; null: all. */
  readonly prefix: string | null;
  /** Most items; null: all. */
  readonly limit: number | null;
}

export async function list(table: string | null, options: ListOptions): Promise<void> {
  if (table !== null) return listItems(table, options);
  const given = options.prefix !== null ? "--prefix" : options.limit !== null ? "--limit" : null;
  if (given !== null)
    throw new CommandError(
      "usage",
      `${given} is about the items of a table, and no table is named.`,
      `Name one: radical data list <table> ${given} …`,
      { exitCode: EXIT_USAGE },
    );
  await listTables(options);
}

async function listTables({ hidden, json, ...options }: ListOptions): Promise<void> {
  const counts = new Map<string, number>();
  await reading({ ...options, json }, async (reader) => {
    for await (const { unit } of reader.items(null)) {
      const place = splitUnit(unit);
      if (hidden || !isHiddenTable(place.table)) counts.set(place.table, (counts.get(place.table) ?? 0) + 1);
    }
  });
  const width = Math.max(0, ...[...counts.keys()].map((name) => terminalText(name).length));
  for (const [name, items] of [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    print(
      json ? JSON.stringify({ table: name, items }) : `${terminalText(name).padEnd(width)}  ${counted(items, "item")}`,
    );
}

async function listItems(table: string, options: ListOptions): Promise<void> {
  const { json, prefix, limit } = options;
  // Without a terminal there is none.
  const { columns } = process.stdout as { readonly columns?: number };
  let left = limit ?? Number.POSITIVE_INFINITY;
  await reading(options, async (reader) => {
    // One more tells whether there are more.
    for await (const { unit, value } of reader.itemsWith(table, prefix ?? "", limit === null ? null : limit + 1)) {
      if (left-- === 0) {
        createTerminal({ quiet: json }).note(
          `There are more than ${counted(limit ?? 0, "item")}: see --limit and --prefix.`,
        );
        return;
      }
      const place = splitUnit(unit);
      const line = itemToJson({ ...place, value });
      print(json ? line : shortenedTo(columns, `${terminalText(place.key)}  ${valueOf(line)}`));
    }
  });
}

/** `columns`: of the terminal; undefined: there is none, and the whole line is printed. */
export function shortenedTo(columns: number | undefined, line: string): string {
  const characters = columns === undefined ? [] : Array.from(line);
  return columns === undefined || characters.length <= columns ? line : `${characters.slice(0, columns - 1).join("")}…`;
}

export async function exportItems(tables: readonly string[], options: DataOptions): Promise<void> {
  await reading(options, async (reader) => {
    const only = tables.length === 1 ? tables[0]! : null;
    for await (const { unit, value } of reader.items(only)) {
      const place = splitUnit(unit);
      // Entries of indexes come with their items.
      if (tables.length === 0 ? !isHiddenTable(place.table) : tables.includes(place.table))
        print(itemToJson({ ...place, value }));
    }
  });
}

/** The value of a line: the rest of it, as it is written. */
export function valueOf(line: string): string {
  const parsed = JSON.parse(line) as { readonly table: string; readonly key: string; readonly value?: unknown };
  const head = `{"table":${JSON.stringify(parsed.table)},"key":${JSON.stringify(parsed.key)},"value":`;
  return line.startsWith(head) ? line.slice(head.length, -1) : line;
}

/** Undefined: there is no data. */
async function reading<T>(options: DataOptions, work: (reader: ItemReader) => Promise<T>): Promise<T | undefined> {
  const place = await placeOf(await loadProject(options.project), options);
  if (!hasData(place)) return undefined;
  const storage = storageOf(place);
  const terminal = createTerminal();
  const note = (words: string): void => terminal.note(words);
  const read = async (): Promise<T> => {
    const reader = await openItems(storage);
    try {
      return await work(reader);
    } finally {
      await reader.close();
    }
  };
  return withServer(
    place,
    async (server) => {
      if (!(await settled(server)))
        note("executions that were answered are not applied yet: what they have written is missing");
      return read();
    },
    (standing) => {
      note(
        standing === "restored"
          ? "no LVI server has led since this storage was restored: calls that were answered and not applied then are missing"
          : "an LVI server has this storage: what it has answered in the last seconds may be missing (--server or --env names it)",
      );
      return read();
    },
  );
}

// ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function put(table: string, key: string, json: string, options: DataOptions): Promise<void> {
  const text = json === "-" ? await textOf(process.stdin) : json;
  await writing(options, (types) => {
    const value = readJson(text, "the value");
    return [checked(() => itemOf(table, key, value, types))];
  });
}

export async function remove(table: string, key: string, options: DataOptions): Promise<void> {
  checked(() => checkPlace(table, key, null));
  const project = await loadProject(options.project);
  const terminal = createTerminal({ quiet: options.json });
  const { done: deleted } = await writeAll(
    project,
    await placeOf(project, options),
    () => [{ table, key, value: null }],
    {
      untyped: true,
      terminal,
    },
  );
  if (options.json) print(JSON.stringify({ written: deleted, tables: deleted === 0 ? [] : [table] }));
  else if (deleted === 0) terminal.note(`there was no ${terminalText(`${table}/${key}`)}`);
  else terminal.note(`${terminal.style("green", "✓")} ${terminalText(`${table}/${key}`)} deleted`);
}

export async function importItems(file: string, options: DataOptions): Promise<void> {
  const text = file === "-" ? await textOf(process.stdin) : await readText(file);
  await writing(options, (types) => itemsOfLines(text, types, file));
}

export async function seed(named: string | null, options: DataOptions): Promise<void> {
  const { root } = await loadProject(options.project);
  const file = named ?? seedFileOf(root);
  const text = await readText(file);
  await writing(options, (types) => itemsOfFile(text, types, file));
}

async function writing(options: DataOptions, itemsOf: ItemsOf): Promise<void> {
  const terminal = createTerminal({ quiet: options.json });
  const project = await loadProject(options.project);
  const { items } = await writeAll(project, await placeOf(project, options), itemsOf, {
    untyped: options.untyped === true,
    terminal,
  });
  tell(items, terminal, options);
}

type ItemsOf = (types: TableTypes) => readonly (DataItem | ItemWrite)[];

/** Nothing is written unless all of it is right. `done`: how many items were written or deleted. */
async function writeAll(
  project: Project,
  place: DataPlace,
  itemsOf: ItemsOf,
  { untyped, terminal }: { readonly untyped: boolean; readonly terminal: Terminal },
): Promise<{ readonly items: readonly ItemWrite[]; readonly done: number }> {
  const compiler = await startCompiler({ colours: terminal.colours });
  try {
    const types = untyped ? null : await terminal.during("Reading types", typesOf(project, compiler));
    const items = itemsOf(types);
    const program = await compiler.dataProgram("data");
    if (place.isDev) await makeStateFolder(place.stateFolder);
    let stored = 0;
    const write = (server: DataServer): Promise<number> =>
      writeItems(server, program, items, (some) => (stored += some));
    const label = (): string => `Writing: ${stored} of ${counted(items.length, "item")}`;
    return { items, done: await terminal.during(label, withServer(place, write)) };
  } finally {
    await compiler.close();
  }
}

function tell(items: readonly ItemWrite[], terminal: Terminal, options: DataOptions): void {
  const tables = [...new Set(items.map(({ table }) => table))].toSorted();
  if (options.json) print(JSON.stringify({ written: items.length, tables }));
  else terminal.note(`${terminal.style("green", "✓")} ${counted(items.length, "item")} written: ${tables.join(", ")}`);
}

/** What the handlers' tables hold. Throws a CommandError if they have errors. */
async function typesOf(project: Project, compiler: Compiler): Promise<NonNullable<TableTypes>> {
  return tableTypes(await compiled(project, compiler, "Correct them, or write values as they are with --untyped."));
}

export function tableTypes({ tables, records }: Compilation): NonNullable<TableTypes> {
  return { tables: Object.fromEntries(tables.map(({ name, type }) => [name, type])), records };
}

/** Throws a CommandError if the handlers have errors. */
export async function compiled(
  { root, config }: Project,
  compiler: Compiler,
  hint: string,
  question: Pick<CompileQuestion, "rewritten"> = {},
): Promise<Compilation> {
  const { handlerFiles, sources } = await discoverSources(root, config.handlers);
  const report = await compiler.compile({ sources, handlerFiles, optimize: false, ...question });
  if (report.ok) return report;
  throw new CommandError(
    "build_failed",
    `${framesOf(report, "error").join("\n\n")}\n\nThe handlers have errors, so the types of the tables are not known.`,
    hint,
  );
}

/** Of one item. */
function checked<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ItemProblem)) throw error;
    throw new CommandError("invalid_items", `The item ${error.message}.`, "Correct it: nothing was written.", {
      exitCode: EXIT_USAGE,
    });
  }
}

// ── Where ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Throws a CommandError if options do not go together, or there is no such deployment. */
export async function placeOf(project: Project, options: DataOptions): Promise<DataPlace> {
  const { storage, server, env, region } = options;
  const place = devPlace(join(project.root, ".radical"));
  checkRegion(options);
  if (env !== null && server !== null)
    throw wrongOption("--env names a deployment with its server, and --server another server.");
  if (env === null) {
    const named = namedServer(server);
    if (storage === null) return { ...place, server: named };
    return { ...place, storage: storageAt(storage), server: named, isDev: false };
  }
  const { leaderOf } = await import("@radical/deploy");
  const found = await findDeployedData(project, env, region);
  if (storage !== null && found.storage !== null) throw wrongOption("--env and --storage both name a storage.");
  const leader = await leaderOf(found.servers);
  return { ...place, storage: storageAt(storage ?? found.storage), server: leader, isDev: false };
}

/** Throws a CommandError if it is malformed. */
function storageAt(storage: string | null): StorageAddress | null {
  const address = storage === null ? null : parseStorageAddress(storage);
  if (typeof address === "string") throw wrongOption(`--storage "${storage}" ${address}`);
  return address;
}

function devPlace(stateFolder: string): Omit<DataPlace, "server"> {
  return { stateFolder, storage: { kind: "sqlite", file: join(stateFolder, "data.sqlite") }, isDev: true };
}

function namedServer(url: string | null): DataServer | null {
  if (url === null) return null;
  if (!URL.canParse(url)) throw wrongOption(`--server must be a URL, and is "${url}".`);
  const deployment = process.env["RADICAL_DEPLOYMENT"];
  const server = { url: url.replace(/\/+$/, ""), key: operatorKey(process.env) };
  return deployment === undefined ? server : { ...server, deployment };
}

function wrongOption(message: string): CommandError {
  return new CommandError("usage", message, "radical data --help shows the usage.", { exitCode: EXIT_USAGE });
}
