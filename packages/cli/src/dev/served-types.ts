/**
 * The types of the builds that have served on the data of a `radical dev`. A build whose types the data does not fit must not
 * serve: its handlers would fail at each such item. Where types have changed, the items themselves decide.
 */
import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ItemReader, openItems, StorageError } from "@radical/lvi-server";
import { compareStoredTypes, type Misfit, problemOfStored, type StoredTypes, terminalText } from "@radical/protocol";
import { ACCEPT_OPTION, MisfitError, misfitLine, NEW_FIELD, counted } from "@radical/app";

const FILE = "stored-types.json";
const DATA_FILE = "data.sqlite";

export interface ServedTypesOptions {
  readonly stateFolder: string;
  /** Whether a build may serve whose types the data does not fit. */
  readonly acceptMisfits: boolean;
}

export class ServedTypes {
  readonly #options: ServedTypesOptions;
  /**
   * The latest last. An earlier entry says what a later one does not: fields that were dropped, which items still have. Null:
   * it is not known who has stored what is there.
   */
  #served: readonly StoredTypes[] | null | undefined;

  constructor(options: ServedTypesOptions) {
    this.#options = options;
  }

  /** Throws a MisfitError if items do not fit the types of a build. */
  async check(types: StoredTypes): Promise<void> {
    if (this.#options.acceptMisfits) return;
    const served = await this.#read();
    const misfits = served?.flatMap((before) => compareStoredTypes(before, types).misfits) ?? [];
    const tables = served === null ? Object.keys(types.tables) : [...new Set(misfits.map(({ table }) => table))];
    if (tables.length === 0) return;
    const lines = await this.#misfitLines(tables, misfits, types);
    if (lines.length > 0) throw new MisfitError(lines, HINT);
    // All that is there fits now, whatever once was stored.
    await this.#write((served ?? []).map((before) => without(before, tables)));
  }

  /** A build of these types may store items from now on. */
  async serves({ tables, records }: StoredTypes): Promise<void> {
    const types = { tables, records };
    const served = (await this.#read()) ?? (this.#options.acceptMisfits ? null : []);
    // With misfits that were accepted, unknown data stays unknown.
    if (served !== null) await this.#write([...served.filter((before) => !isCovered(before, types)), types]);
  }

  async #misfitLines(
    tables: readonly string[],
    misfits: readonly Misfit[],
    types: StoredTypes,
  ): Promise<readonly string[]> {
    const file = join(this.#options.stateFolder, DATA_FILE);
    if (!existsSync(file)) return [];
    const lines: string[] = [];
    let reader: ItemReader | null = null;
    try {
      reader = await openItems({ kind: "sqlite", file });
      for (const table of tables) {
        const items = await itemsThatMisfit(reader, table, types);
        if (items === null) continue;
        const changes = new Set(misfits.filter((misfit) => misfit.table === table).map(misfitLine));
        lines.push(...(changes.size === 0 ? [`${table}[]`] : changes), `  ${items}`);
      }
    } catch (error) {
      // Storage that can't be read is the server's to tell of.
      if (!(error instanceof StorageError)) throw error;
    } finally {
      await reader?.close();
    }
    return lines;
  }

  async #read(): Promise<readonly StoredTypes[] | null> {
    if (this.#served === undefined) {
      const { stateFolder } = this.#options;
      const text = await readFile(join(stateFolder, FILE), "utf8").catch(() => null);
      this.#served = text === null ? (existsSync(join(stateFolder, DATA_FILE)) ? null : []) : parsed(text);
    }
    return this.#served;
  }

  async #write(served: readonly StoredTypes[]): Promise<void> {
    const file = join(this.#options.stateFolder, FILE);
    await writeFile(`${file}.part`, `${JSON.stringify(served)}\n`);
    await rename(`${file}.part`, file);
    this.#served = served;
  }
}

const HINT = `${NEW_FIELD}. Or take the data along: radical data export > items.ndjson, change the values there, then radical dev --reset and radical data import items.ndjson. Or begin without data: radical dev --reset. Or serve it all the same: radical dev ${ACCEPT_OPTION}; a handler that reads such an item then fails`;

/** In words; null: all of the table fit. */
async function itemsThatMisfit(reader: ItemReader, table: string, types: StoredTypes): Promise<string | null> {
  let [all, wrong, first] = [0, 0, ""];
  for await (const { unit, value } of reader.items(table)) {
    all++;
    const problem = problemOfStored(unit, value, types);
    if (problem !== null && wrong++ === 0) first = problem;
  }
  return wrong === 0 ? null : `${wrong} of ${counted(all, "item")}; the first is ${terminalText(first)}`;
}

/** Whether the later types say all that the earlier ones do: then whatever reads all of theirs reads the earlier values too. */
function isCovered(before: StoredTypes, after: StoredTypes): boolean {
  const { misfits, dropped } = compareStoredTypes(before, after);
  return misfits.length === 0 && dropped.length === 0;
}

function without({ tables, records }: StoredTypes, left: readonly string[]): StoredTypes {
  return { tables: Object.fromEntries(Object.entries(tables).filter(([table]) => !left.includes(table))), records };
}

/** Null: it is damaged. */
function parsed(text: string): readonly StoredTypes[] | null {
  try {
    return JSON.parse(text) as readonly StoredTypes[];
  } catch {
    return null;
  }
}
