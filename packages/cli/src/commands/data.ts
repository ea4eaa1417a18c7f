/** `radical data`: the items of an application's tables, looked at, written, taken out and put back. */
import { type Option, type Options, type Program, subcommand } from "@radical/command-line";
import type * as DataWork from "../data/data-work.ts";
import { untilSignal } from "../operate/until-signal.ts";
import { DEPLOYED } from "../operate/deployed-options.ts";
import { PROJECT, reported } from "./command.ts";

const COMMON = {
  project: PROJECT,
  storage: {
    kind: "text",
    placeholder: "address",
    words: "storage: sqlite:<file> or dynamodb:<prefix>?region=…&endpoint=… (default: the storage of radical dev)",
  },
  server: {
    kind: "text",
    placeholder: "url",
    words: "LVI server of the storage; RADICAL_ADMIN_KEYS has its administration key",
  },
  ...DEPLOYED,
  json: { kind: "flag", words: "print JSON" },
} as const satisfies Options;

const UNTYPED = {
  kind: "flag",
  words: "take values as they are written, without the tables' types: 2 is an integer, 2.0 a float",
} as const satisfies Option;

export const dataCommand: Program = {
  name: "data",
  words: "look at, write, export and import the items of tables",
  commands: [
    subcommand(
      {
        name: "get",
        words: "print an item's value",
        options: {
          table: { kind: "operand", words: "name of the table" },
          key: { kind: "operand", words: "key of the item" },
          ...COMMON,
        },
        examples: [["radical data get users ann"]],
      },
      (options) => run(options, (work) => work.get(options.table, options.key, options)),
    ),
    subcommand(
      {
        name: "list",
        words: "print the tables, or the items of one",
        options: {
          table: { kind: "operand", optional: true, words: "name of the table" },
          prefix: { kind: "text", placeholder: "text", words: "only items whose keys begin with this text" },
          limit: { kind: "number", least: 1, unit: "items", words: "print at most this number of items" },
          hidden: { kind: "flag", words: "also the tables of index entries" },
          ...COMMON,
        },
        examples: [
          ["radical data list"],
          ["radical data list --hidden", "with the entries of indexes"],
          ["radical data list posts --prefix room1/ --limit 20"],
          ["radical data list users --json", "whole lines; those for a terminal are as long as it is wide"],
        ],
      },
      (options) => run(options, (work) => work.list(options.table, options)),
    ),
    subcommand(
      {
        name: "put",
        words: "write an item",
        options: {
          table: { kind: "operand", words: "name of the table" },
          key: { kind: "operand", words: "key of the item" },
          value: { kind: "operand", optional: true, words: "value as JSON; - or no value reads standard input" },
          ...COMMON,
          untyped: UNTYPED,
        },
        examples: [['radical data put users ann \'{"name": "Ann"}\'']],
      },
      (options) => run(options, (work) => work.put(options.table, options.key, options.value ?? "-", options)),
    ),
    subcommand(
      {
        name: "delete",
        words: "delete an item",
        options: {
          table: { kind: "operand", words: "name of the table" },
          key: { kind: "operand", words: "key of the item" },
          ...COMMON,
        },
        examples: [["radical data delete users ann"]],
      },
      (options) => run(options, (work) => work.remove(options.table, options.key, options)),
    ),
    subcommand(
      {
        name: "export",
        words: "print items, one a line",
        options: {
          tables: { kind: "operands", words: "only items of these tables" },
          ...COMMON,
        },
        examples: [["radical data export > all.ndjson"], ["radical data export users"]],
      },
      (options) => run(options, (work) => work.exportItems(options.tables, options)),
    ),
    subcommand(
      {
        name: "import",
        words: "write the items of a file, and leave all others",
        options: {
          file: { kind: "operand", words: "file with lines as export prints them; - reads standard input" },
          ...COMMON,
          untyped: UNTYPED,
        },
        examples: [["radical data import all.ndjson"]],
      },
      (options) => run(options, (work) => work.importItems(options.file, options)),
    ),
    subcommand(
      {
        name: "seed",
        words: "write the items that an application begins with",
        options: {
          file: {
            kind: "operand",
            optional: true,
            words: "file of NDJSON, or of JSON like {table: {key: value}} (default: seed.ndjson or seed.json)",
          },
          ...COMMON,
          untyped: UNTYPED,
        },
        examples: [["radical data seed"], ["radical data seed seeds/many-users.ndjson"]],
      },
      (options) => run(options, (work) => work.seed(options.file, options)),
    ),
    subcommand(
      {
        name: "rewrite",
        words: "store each item of a table again, in the form of its class in these sources",
        options: {
          table: { kind: "operand", words: "name of the table" },
          ...COMMON,
          from: {
            kind: "text",
            placeholder: "key",
            words: "begin with this key, at which an earlier rewriting stopped",
          },
          rate: { kind: "number", least: 1, unit: "items", words: "read at most this number of items a second" },
          dryRun: { kind: "flag", words: "store nothing, and count the items that would change" },
        },
        examples: [
          ["radical data rewrite posts --dry-run"],
          ["radical data rewrite posts --from room1/9d2f --rate 500"],
        ],
      },
      (options) =>
        untilStopped(options, async (signal) => {
          await (await import("../data/rewrite-work.ts")).rewrite(options.table, options, signal);
        }),
    ),
    subcommand(
      {
        name: "check",
        words: "compare items with the entries of their indexes",
        options: {
          tables: { kind: "operands", words: "only the indexes of these tables" },
          ...COMMON,
          repair: { kind: "flag", words: "correct the entries, so that they fit their items" },
        },
        exitCodes: [
          "each item has its entries, and each entry has its item, perhaps after the repair",
          "there are differences, or an index can't be checked",
          "wrong options",
        ],
        examples: [["radical data check"], ["radical data check posts --repair"]],
      },
      (options) =>
        untilStopped(options, async (signal) => {
          await (await import("../data/check-work.ts")).check(options.tables, options, signal);
        }),
    ),
  ],
  notes: `Works on the data of radical dev, whether that runs or not. --env names a deployment instead, and --storage another storage. All
writes go through the LVI server, at AWS by its relay. If no server runs, the command starts one and stops it afterwards. A
write is an execution like any other, so caches learn of it.

The command reads items from the storage itself, so it needs access to it: at AWS the permission to read the tables.

An item is a line of JSON: {"table": "users", "key": "ann", "value": {"name": "Ann"}}. Values are checked against the types
of the handlers' tables.`,
  examples: [
    ["radical data list", "tables, and how many items each has"],
    ["radical data list users"],
    ["radical data get users ann | jq .name"],
    ['radical data put users ann \'{"name": "Ann"}\''],
    ["radical data export users posts > some.ndjson"],
    ["radical data import some.ndjson"],
    ["radical data import some.ndjson --env production", "into a deployment"],
    ["radical data seed", "seed.ndjson or seed.json of the project"],
    [
      "RADICAL_ADMIN_KEYS=admin:… radical data put users ann - --storage 'dynamodb:my-app' --server http://10.0.0.5:8788 < ann.json",
    ],
  ],
};

type Work = typeof DataWork;

/** The server is large: only who works on data waits for it. */
function run(options: DataWork.DataOptions, work: (work: Work) => Promise<void>): Promise<void> {
  return reported(options, async () => work(await import("../data/data-work.ts")));
}

/** Of a command that takes long: Ctrl-C ends it between two executions. */
function untilStopped(
  options: Pick<DataWork.DataOptions, "json">,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { signal, stopListening } = untilSignal();
  return reported(options, () => work(signal)).finally(stopListening);
}
