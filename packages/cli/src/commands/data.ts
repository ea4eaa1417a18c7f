/** `radical data`: the items of an application's tables, looked at, written, taken out and put back. */
import { Argument, Command } from "commander";
import type * as DataWork from "../data/data-work.ts";
import { PROJECT_OPTION, reported } from "./command.ts";

const HELP = `
Works on the data of radical dev, whether that runs or not, or on the storage that --storage names. All that is written goes
through the LVI server: the one that runs, or one that is started for as long as it takes. So a write is an execution like
any other, and caches find out.

An item is a line of JSON: {"table": "users", "key": "ann", "value": {"name": "Ann"}}. Values are checked against the types
of the handlers' tables.

Examples:
  $ radical data list                                    # tables, and how many items each has
  $ radical data list users
  $ radical data get users ann | jq .name
  $ radical data put users ann '{"name": "Ann"}'
  $ radical data export users posts > some.ndjson
  $ radical data import some.ndjson
  $ radical data seed                                    # seed.ndjson or seed.json of the project
  $ RADICAL_KEYS=main:… radical data put users ann - --storage 'dynamodb:my-app' --server http://10.0.0.5:8788 < ann.json`;

const STORAGE_OPTION = [
  "--storage <address>",
  "sqlite:<file> or dynamodb:<prefix>?region=…&endpoint=… (default: that of radical dev)",
] as const;
const SERVER_OPTION = ["--server <url>", "the LVI server of that storage; RADICAL_KEYS has a key of it"] as const;
const UNTYPED_OPTION = [
  "--untyped",
  "take values as they are written, without the tables' types: 2 is an integer, 2.0 a float",
] as const;
const JSON_OPTION = ["--json", "print JSON"] as const;

export function dataCommand(): Command {
  const data = new Command("data").description("look at, write, export and import the items of tables");
  data.exitOverride().showHelpAfterError("(radical data --help shows how it is used)").addHelpText("after", HELP);
  const add = (name: string, description: string): Command =>
    data
      .command(name)
      .description(description)
      .option(...PROJECT_OPTION)
      .option(...STORAGE_OPTION)
      .option(...SERVER_OPTION)
      .option(...JSON_OPTION);
  const table = (): Argument => new Argument("<table>", "name of the table");
  const key = (): Argument => new Argument("<key>", "key of the item");

  add("get", "print an item's value")
    .addArgument(table())
    .addArgument(key())
    .addHelpText("after", "\nExamples:\n  $ radical data get users ann")
    .action((name: string, id: string, options: DataWork.DataOptions) =>
      run(options, (work) => work.get(name, id, options)),
    );
  add("list", "print the tables, or the items of one")
    .addArgument(new Argument("[table]", "name of the table"))
    .addHelpText("after", "\nExamples:\n  $ radical data list\n  $ radical data list users --json")
    .action((name: string | undefined, options: DataWork.DataOptions) =>
      run(options, (work) => work.list(name ?? null, options)),
    );
  add("put", "write an item")
    .addArgument(table())
    .addArgument(key())
    .addArgument(new Argument("[json]", "the value; - or nothing: standard input"))
    .option(...UNTYPED_OPTION)
    .addHelpText("after", '\nExamples:\n  $ radical data put users ann \'{"name": "Ann"}\'')
    .action((name: string, id: string, json: string | undefined, options: DataWork.DataOptions) =>
      run(options, (work) => work.put(name, id, json ?? "-", options)),
    );
  add("delete", "delete an item")
    .addArgument(table())
    .addArgument(key())
    .addHelpText("after", "\nExamples:\n  $ radical data delete users ann")
    .action((name: string, id: string, options: DataWork.DataOptions) =>
      run(options, (work) => work.remove(name, id, options)),
    );
  add("export", "print items, one a line")
    .addArgument(new Argument("[tables...]", "only of these tables"))
    .addHelpText("after", "\nExamples:\n  $ radical data export > all.ndjson\n  $ radical data export users")
    .action((names: string[], options: DataWork.DataOptions) =>
      run(options, (work) => work.exportItems(names, options)),
    );
  add("import", "write the items of a file; what it does not name stays")
    .addArgument(new Argument("<file>", "lines as export prints them; -: standard input"))
    .option(...UNTYPED_OPTION)
    .addHelpText("after", "\nExamples:\n  $ radical data import all.ndjson")
    .action((file: string, options: DataWork.DataOptions) => run(options, (work) => work.importItems(file, options)));
  add("seed", "write the items that an application begins with")
    .addArgument(
      new Argument("[file]", "NDJSON, or JSON like {table: {key: value}} (default: seed.ndjson or seed.json)"),
    )
    .option(...UNTYPED_OPTION)
    .addHelpText("after", "\nExamples:\n  $ radical data seed\n  $ radical data seed seeds/many-users.ndjson")
    .action((file: string | undefined, options: DataWork.DataOptions) =>
      run(options, (work) => work.seed(file ?? null, options)),
    );
  return data;
}

type Work = typeof DataWork;

/** The server is large: only who works on data waits for it. */
function run(options: DataWork.DataOptions, work: (work: Work) => Promise<void>): Promise<void> {
  return reported(options, async () => work(await import("../data/data-work.ts")));
}
