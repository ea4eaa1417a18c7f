/** Items in files: the seed file, with which an application begins, and files of lines. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { terminalText, type UnitId, unitId } from "@radical/protocol";
import { CommandError, EXIT_USAGE } from "../command-error.ts";
import {
  type DataItem,
  isObject,
  itemOf,
  itemOfJson,
  ItemProblem,
  type Json,
  parseJson,
  type TableTypes,
} from "./item-json.ts";

/** Most problems that are shown. */
export const MAX_PROBLEMS = 20;

/** The names of a seed file, in the order in which it is looked for. */
const SEED_FILES = ["seed.ndjson", "seed.json"] as const;

/** The items of the seed file, by unit. Throws a CommandError. */
export async function seedItems(
  root: string,
  types: TableTypes,
): Promise<readonly { readonly unit: UnitId; readonly value: Uint8Array }[]> {
  const file = seedFileOf(root);
  return itemsOfFile(await readText(file), types, file).map(({ table, key, value }) => ({
    unit: unitId(table, key),
    value,
  }));
}

/** Null: the project has none. */
export function findSeedFile(root: string): string | null {
  return SEED_FILES.map((name) => join(root, name)).find((path) => existsSync(path)) ?? null;
}

/** Throws a CommandError if the project has none. */
export function seedFileOf(root: string): string {
  const file = findSeedFile(root);
  if (file !== null) return file;
  throw new CommandError(
    "no_seed",
    `The folder ${root} has no ${SEED_FILES.join(" and no ")}.`,
    'Write {"users": {"ann": {"name": "Ann"}}} to seed.json, or name another file: radical data seed <file>',
    { exitCode: EXIT_USAGE },
  );
}

export function itemsOfFile(text: string, types: TableTypes, file: string): readonly DataItem[] {
  return file.endsWith(".json") ? itemsOfTree(text, types, file) : itemsOfLines(text, types, file);
}

export function itemsOfLines(text: string, types: TableTypes, file: string): readonly DataItem[] {
  const found = text.split("\n").map((line, index) => ({ line, place: `${file}:${index + 1}` }));
  return collected(
    found.filter(({ line }) => line.trim() !== ""),
    ({ line, place }) => itemOfJson(readJson(line, place), types),
    ({ place }) => place,
  );
}

/** `{table: {key: value}}`. */
function itemsOfTree(text: string, types: TableTypes, file: string): readonly DataItem[] {
  const entries = (json: Json, what: string): [string, Json][] => {
    if (isObject(json)) return Object.entries(json);
    throw new CommandError(
      "invalid_items",
      `${what} is not a JSON object.`,
      'Write for example {"users": {"ann": {"name": "Ann"}}}',
    );
  };
  const found = entries(readJson(text, file), file).flatMap(([table, items]) =>
    entries(items, `${file}: ${table}`).map(([key, value]) => ({ table, key, value })),
  );
  return collected(
    found,
    ({ table, key, value }) => itemOf(table, key, value, types),
    ({ table, key }) => `${file}: ${table}/${key}`,
  );
}

/** Throws a CommandError that names all that is wrong, or the first of it. */
function collected<T>(
  all: readonly T[],
  read: (one: T) => DataItem,
  placeOfOne: (one: T) => string,
): readonly DataItem[] {
  const problems: string[] = [];
  const items = all.flatMap((one) => {
    try {
      return [read(one)];
    } catch (error) {
      if (!(error instanceof ItemProblem) && !(error instanceof CommandError)) throw error;
      problems.push(
        terminalText(error instanceof CommandError ? error.message : `${placeOfOne(one)} ${error.message}`),
      );
      return [];
    }
  });
  if (problems.length === 0) return items;
  const more = problems.length > MAX_PROBLEMS ? [`and ${problems.length - MAX_PROBLEMS} more`] : [];
  throw new CommandError(
    "invalid_items",
    [...problems.slice(0, MAX_PROBLEMS), ...more].join("\n"),
    "Correct them: nothing was written.",
  );
}

export function readJson(text: string, what: string): Json {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new CommandError(
      "invalid_json",
      `${what} is not JSON: ${error.message}`,
      "Correct it: nothing was written.",
      {
        exitCode: EXIT_USAGE,
      },
    );
  }
}

export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new CommandError("no_such_file", `${file} can't be read: ${String(error)}`, "Name a file that exists.", {
      exitCode: EXIT_USAGE,
      cause: error,
    });
  }
}
