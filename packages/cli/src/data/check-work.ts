/** `radical data check`: compares the items of a storage with the entries of their indexes, through its LVI server. */
import {
  CborReader,
  CborWriter,
  type IndexDeclaration,
  indexOf,
  type IndexStatus,
  type Key,
  splitUnit,
  terminalText,
  type UnitId,
} from "@radical/protocol";
import { startCompiler, loadProject, counted, MAX_PROBLEMS } from "@radical/app";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { indexStatuses, untilIndexesBuilt } from "@radical/admin";
import { createTerminal, print, type Terminal } from "../terminal/terminal.ts";
import {
  type Checked,
  checkIndex,
  type CheckPorts,
  type Correction,
  type Difference,
  type Found,
} from "./check-index.ts";
import { DataModule, MAX_BATCH, MAX_BATCH_BYTES } from "./data-module.ts";
import { type DataServer, hasData, withServer } from "./data-server.ts";
import { type DataOptions, placeOf } from "./data-work.ts";

export interface CheckOptions extends Omit<DataOptions, "untyped"> {
  readonly repair: boolean;
}

/** How far a check is, is told so often. */
const TELL_MS = 2_000;

/** Throws a CommandError if items and entries differ, unless all of it was corrected. */
export async function check(tables: readonly string[], options: CheckOptions, signal: AbortSignal): Promise<void> {
  const project = await loadProject(options.project);
  const place = await placeOf(project, options);
  const terminal = createTerminal({ quiet: options.json });
  if (!hasData(place)) {
    terminal.note("There is no data yet, so there is nothing to check.");
    if (options.json) print(JSON.stringify({ indexes: 0, ...NOTHING, unbuilt: [], done: true }));
    return;
  }
  const compiler = await startCompiler({ colours: terminal.colours });
  try {
    const program = await compiler.dataProgram("check");
    await withServer(place, (server) => new IndexesCheck(server, options, signal, terminal).run(tables, program));
  } finally {
    await compiler.close();
  }
}

class IndexesCheck {
  readonly #server: DataServer;
  readonly #options: CheckOptions;
  readonly #signal: AbortSignal;
  readonly #terminal: Terminal;
  #done: Checked = NOTHING;
  #toldAtMs = performance.now();
  #told = 0;

  constructor(server: DataServer, options: CheckOptions, signal: AbortSignal, terminal: Terminal) {
    this.#server = server;
    this.#options = options;
    this.#signal = signal;
    this.#terminal = terminal;
  }

  async run(tables: readonly string[], program: Uint8Array): Promise<void> {
    const { json, repair } = this.#options;
    const indexes = await this.#indexesOf(tables);
    const module = await DataModule.register({
      server: this.#server,
      program,
      handlers: ["rows", "read", "correct"],
      state: () => wordsOf(this.#done, repair),
    });
    const unbuilt: string[] = [];
    let checked = 0;
    for (const index of indexes) {
      const isBuilt = await this.#isBuilt(index);
      if (this.#signal.aborted) break;
      if (!isBuilt) {
        unbuilt.push(index.name);
        continue;
      }
      const before = this.#done;
      const ports = this.#portsOf(module, index, before);
      this.#done = sumOf(before, await checkIndex(index, ports, repair, this.#signal));
      checked++;
    }
    const isDone = !this.#signal.aborted;
    if (json) print(JSON.stringify({ indexes: checked, ...this.#done, unbuilt, done: isDone }));
    const words = `${checked} ${checked === 1 ? "index" : "indexes"} checked: ${wordsOf(this.#done, repair)}.`;
    if (!isDone) throw new CommandError("stopped", `The check was told to stop. ${words}`, "Run it again.");
    this.#end(words, unbuilt);
  }

  #end(words: string, unbuilt: readonly string[]): void {
    const { differences, corrected } = this.#done;
    const left = differences - corrected;
    if (left > this.#told && !this.#options.json) this.#terminal.note(`and ${left - this.#told} more; --json has all`);
    if (left > 0)
      throw new CommandError(
        "entries_differ",
        `Items and entries of their indexes differ. ${words}`,
        this.#options.repair
          ? "Of items that share the fields of a unique index, change or delete all but one. Make fields shorter that are too long. Then run the same command again."
          : "Run the same command with --repair, which corrects the entries and no item.",
      );
    if (unbuilt.length > 0)
      throw new CommandError(
        "index_stopped",
        `Not all indexes can be checked: ${unbuilt.join(", ")} can't be built. ${words}`,
        "Correct the items that are told above, and serve or deploy the application again.",
      );
    this.#terminal.note(`${this.#terminal.style("green", "✓")} ${words}`);
  }

  async #indexesOf(tables: readonly string[]): Promise<readonly IndexDeclaration[]> {
    const known = (await this.#ask())
      .filter(({ phase }) => phase !== "dropping")
      .flatMap(({ name }) => indexOf(name) ?? []);
    for (const table of tables) {
      if (known.some((index) => index.table === table)) continue;
      throw new CommandError(
        "no_such_index",
        `The server knows no index of a table ${terminalText(table)}.`,
        known.length === 0
          ? "Serve or deploy an application that declares one."
          : `Name one of these tables: ${[...new Set(known.map((index) => index.table))].join(", ")}.`,
        { exitCode: EXIT_USAGE },
      );
    }
    return tables.length === 0 ? known : known.filter(({ table }) => tables.includes(table));
  }

  #ask(): Promise<readonly IndexStatus[]> {
    const { url, key } = this.#server;
    return indexStatuses({ urls: [url], key });
  }

  /** Waits for the build of the index. False: it has stopped, and the reasons are told. */
  async #isBuilt({ name }: IndexDeclaration): Promise<boolean> {
    try {
      await untilIndexesBuilt({
        indexes: [name],
        ask: () => this.#ask(),
        told: (words) => this.#terminal.note(words),
        signal: this.#signal,
      });
      return true;
    } catch (error) {
      if (this.#signal.aborted) return false;
      if (!(error instanceof CommandError) || error.code !== "index_stopped") throw error;
      if (this.#options.json) print(JSON.stringify({ index: name, unbuilt: error.message }));
      else this.#terminal.note(error.message);
      return false;
    }
  }

  #portsOf(module: DataModule, index: IndexDeclaration, before: Checked): CheckPorts {
    const { json, repair } = this.#options;
    return {
      ...itemPorts(module),
      told: (difference) => {
        if (json) print(JSON.stringify(jsonOf(difference)));
        else if (!difference.isCorrected && this.#told++ < MAX_PROBLEMS) this.#terminal.note(lineOf(difference));
      },
      progress: (done) => {
        this.#done = sumOf(before, done);
        if (json) print(JSON.stringify({ index: index.name, ...done }));
        else if (performance.now() - this.#toldAtMs >= TELL_MS) {
          this.#toldAtMs = performance.now();
          this.#terminal.note(`Index ${index.name}: ${wordsOf(done, repair)}`);
        }
      },
    };
  }
}

const NOTHING: Checked = { items: 0, entries: 0, differences: 0, corrected: 0 };

function sumOf(a: Checked, b: Checked): Checked {
  return {
    items: a.items + b.items,
    entries: a.entries + b.entries,
    differences: a.differences + b.differences,
    corrected: a.corrected + b.corrected,
  };
}

function wordsOf({ items, entries, differences, corrected }: Checked, repair: boolean): string {
  const [itemWords, entryWords] = [items.toLocaleString("en"), entries.toLocaleString("en")];
  const found = `${itemWords} items and ${entryWords} entries compared, ${counted(differences, "difference")}`;
  return repair ? `${found}, ${corrected} of them repaired` : found;
}

// ── Differences ──────────────────────────────────────────────────────────────────────────────────────────────────────

function jsonOf(difference: Difference): object {
  const { kind, index, key, entry, isCorrected } = difference;
  const other = difference.kind === "duplicate" ? { other: difference.other } : {};
  return { difference: kind, index: index.name, table: index.table, key, entry, ...other, repaired: isCorrected };
}

function lineOf(difference: Difference): string {
  const { index, key, entry } = difference;
  const item = terminalText(`${index.table}/${String(key)}`);
  const fields = index.fields.join(", ");
  switch (difference.kind) {
    case "missing":
      return `${item} has no entry in the index ${index.name}.`;
    case "extra":
      return key === null
        ? `The index ${index.name} has an entry that names no item: ${terminalText(entry)}.`
        : `The index ${index.name} has an entry of ${item} that the item does not have: ${terminalText(entry)}.`;
    case "duplicate":
      return `${item} has the same ${fields} as ${terminalText(`${index.table}/${difference.other}`)}, which has the entry in the unique index ${index.name}.`;
    case "too-long":
      return `${item} has a ${fields} too long for the index ${index.name}.`;
  }
}

// ── Executions ───────────────────────────────────────────────────────────────────────────────────────────────────────

function itemPorts(module: DataModule): Pick<CheckPorts, "rows" | "read" | "correct"> {
  const ended = async (handler: string, args: CborWriter): Promise<CborReader> => {
    const outcome = await module.execute(handler, args.finish());
    if (outcome.kind === "result") return new CborReader(outcome.value);
    throw module.failed(
      `The items can't be checked: ${outcome.message}`,
      "This is a fault of Radical: please report it.",
    );
  };
  return {
    rows: async (table, from) => {
      const args = new CborWriter().array(4).text(table).text(from).integer(MAX_BATCH).integer(MAX_BATCH_BYTES);
      const reader = await ended("rows", args);
      const given = (reader.array() - 1) / 2;
      const found = reader.integerIn(given, MAX_BATCH);
      const rows = Array.from({ length: given }, () => ({ key: reader.text() as Key, value: reader.copiedBytes() }));
      return { rows, isLast: given === found && found < MAX_BATCH };
    },
    read: async (units) => {
      const named = [...new Set(units)];
      const args = new CborWriter().array(named.length * 2);
      for (const unit of named) writePlace(args, unit);
      const reader = await ended("read", args);
      reader.array();
      return new Map(named.map((unit) => [unit, reader.nullIfNext() ? null : reader.copiedBytes()]));
    },
    correct: async (corrections) => {
      const args = new CborWriter().array(corrections.length);
      for (const correction of corrections) writeCorrection(args, correction);
      const reader = await ended("correct", args);
      return Array.from({ length: reader.array() }, () => reader.boolean());
    },
  };
}

function writeCorrection(args: CborWriter, { item, entry, becomes }: Correction): void {
  args.array(7);
  for (const found of [item, entry]) writeFound(args, found);
  writeValue(args, becomes);
}

function writeFound(args: CborWriter, { unit, value }: Found): void {
  writePlace(args, unit);
  writeValue(args, value);
}

function writePlace(args: CborWriter, unit: UnitId): void {
  const { table, key } = splitUnit(unit);
  args.text(table).text(key);
}

function writeValue(args: CborWriter, value: Uint8Array | null): void {
  if (value === null) args.null();
  else args.bytes(value);
}
