/** `radical backup` and `radical restore` for tables of DynamoDB. */
import { counted } from "@radical/app";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { type DynamoBackups, openBackups, type StorageAddress, wholeSecond } from "@radical/lvi-server";
import { confirmed } from "../terminal/confirm-changes.ts";
import { createTerminal, print, type Terminal } from "../terminal/terminal.ts";
import { asked, contentWords, timeOf } from "./backup-words.ts";

type TablesAddress = StorageAddress & { kind: "dynamodb" };

/** Of the quiet times that are listed for people. */
const LISTED = 20;

export async function listTables(address: TablesAddress, json: boolean): Promise<void> {
  await withBackups(address, async (backups) => {
    const [window, quiet] = [await asked(backups.window()), await asked(backups.quietTimes())];
    const times = quiet.map(({ fromMs, untilMs }) => ({ from: timeOf(fromMs), until: timeOf(untilMs) }));
    if (json) {
      const restorable = window === null ? null : { from: timeOf(window.fromMs), until: timeOf(window.untilMs) };
      return print(JSON.stringify({ restorable, quiet: times }));
    }
    const terminal = createTerminal();
    if (window === null) terminal.note(`The tables ${address.prefix}-* have no point-in-time recovery.`);
    else print(`restorable  ${timeOf(window.fromMs)}  ${timeOf(window.untilMs)}`);
    if (times.length === 0)
      terminal.note("No quiet time is known: without one no copy of these tables is sure to be whole.");
    for (const { from, until } of times.slice(-LISTED)) print(`quiet       ${from}  ${until}`);
  });
}

interface TablesChoice {
  readonly to: string | null;
  readonly toMs: number | null;
  /** Tables that are there, restored before. */
  readonly from: string | null;
  readonly yes: boolean;
  readonly json: boolean;
}

export async function restoreTables(address: TablesAddress, options: TablesChoice): Promise<void> {
  if (options.from === address.prefix)
    throw usage(`The tables ${options.from}-* are those that are to be replaced.`, "Name restored ones with --from.");
  const terminal = createTerminal({ quiet: options.json });
  await withBackups(address, async (backups) => {
    const prefix = options.from ?? (await restored(backups, address, options, terminal));
    let looked = 0;
    const checking = backups.check(prefix, (items) => (looked = items));
    const content = await terminal.during(() => `Checking the tables, ${looked} items`, asked(checking));
    terminal.note(`The tables ${prefix}-* are whole: ${contentWords(content)}.`);
    terminal.note(
      `From the next question on ${address.prefix}-* are served by no server any more. Nothing in them is deleted.`,
    );
    if (!(await confirmed(`Let ${prefix}-* take their place?`, options, terminal)))
      return terminal.note(
        `The restored tables stay beside. The same command with --from ${prefix} goes on from here.`,
      );
    const { epoch, termMs, readLeaseMs } = await terminal.during(
      "Taking over",
      asked(backups.takeOver(prefix, Date.now())),
    );
    if (options.json) return print(JSON.stringify({ tables: prefix, epoch, readLeaseMs, ...content }));
    terminal.note(`${terminal.style("green", "✓")} ${prefix}-* are the tables now.`);
    for (const line of afterwards(address, prefix, 1.05 * termMs)) terminal.note(`  ${line}`);
  });
}

/** The prefix of the tables as they were at a whole second. Throws a CommandError. */
async function restored(
  backups: DynamoBackups,
  { prefix }: TablesAddress,
  { to, toMs }: TablesChoice,
  terminal: Terminal,
): Promise<string> {
  const [window, quiet] = [await asked(backups.window()), await asked(backups.quietTimes())];
  if (window === null)
    throw new CommandError(
      "not_recoverable",
      `The tables ${prefix}-* have no point-in-time recovery, so DynamoDB keeps no past of them.`,
      "Only what was exported with radical data export can be put back. A deployment in production has recovery.",
    );
  const atMs = wholeSecond(quiet, Math.min(toMs ?? 0, window.untilMs));
  if (atMs === null || atMs < window.fromMs)
    throw new CommandError(
      "no_whole_second",
      `Until ${to} there is no second of which a copy of the tables is sure to be whole.`,
      "radical backup list shows the quiet times. Choose a later time, or tables that were restored otherwise with --from.",
    );
  terminal.note(`The last whole second until ${to} is ${timeOf(atMs)}. After a break go on with --to ${timeOf(atMs)}.`);
  let left = 5;
  const restoring = backups.restoreTo(atMs, (tables) => (left = tables.length));
  return terminal.during(
    () => `Restoring ${counted(left, "table")}, which takes DynamoDB minutes to hours`,
    asked(restoring),
  );
}

function afterwards({ prefix, region }: TablesAddress, restoredPrefix: string, waitMs: number): readonly string[] {
  const named = region === undefined ? "" : `?region=${region}`;
  return [
    `A primary at AWS: write deploy: { primary: { tables: { <environment>: "${restoredPrefix}" } } } into radical.config.ts, and run radical deploy.`,
    `A server of your own: start it with --storage 'dynamodb:${restoredPrefix}${named}', and deploy once more what is to serve.`,
    `It leads after at most ${Math.ceil(waitMs / 1_000)} s: so long may the servers before have promised something.`,
    `The tables ${prefix}-* cost storage until you delete them. Back to them leads radical restore --storage 'dynamodb:${restoredPrefix}${named}' --from ${prefix}.`,
  ];
}

async function withBackups(address: TablesAddress, run: (backups: DynamoBackups) => Promise<void>): Promise<void> {
  const backups = await asked(openBackups(address));
  try {
    await run(backups);
  } finally {
    backups.close();
  }
}

/** Throws a CommandError for options that don't go together. */
export function checkTablesChoice({ to, from }: Pick<TablesChoice, "to" | "from">): void {
  if (from === null || /^[A-Za-z0-9_.-]{1,200}$/.test(from)) return;
  throw usage(
    `--from must be a prefix of tables, and is "${from}"${to === null ? "" : ", beside --to"}.`,
    "radical restore --help shows the usage.",
  );
}

function usage(message: string, hint: string): CommandError {
  return new CommandError("usage", message, hint, { exitCode: EXIT_USAGE });
}
