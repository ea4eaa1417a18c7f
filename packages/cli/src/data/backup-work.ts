/** The work of `radical backup` and `radical restore`. */
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { loadProject, counted } from "@radical/app";
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import {
  backUpSqlite,
  type BackupContent,
  checkBackup,
  parseStorageAddress,
  putBackSqlite,
  type StorageAddress,
} from "@radical/lvi-server";
import { checkRegion } from "../operate/deployed-options.ts";
import { confirmed } from "../terminal/confirm-changes.ts";
import { createTerminal, print, type Terminal } from "../terminal/terminal.ts";
import { asked, contentWords, timeOf } from "./backup-words.ts";
import { findDeployedData } from "./deployed-data.ts";
import { makeQuietTime } from "./quiet-time.ts";
import { checkTablesChoice, listTables, restoreTables } from "./restore-tables.ts";

export interface BackupOptions {
  readonly project: string;
  readonly storage: string | null;
  /** Environment of a deployment; null: `radical dev`, or what `storage` names. */
  readonly env: string | null;
  /** The region of that deployment's primary at AWS; null: the usual one. */
  readonly region: string | null;
  readonly json: boolean;
}

interface Backup {
  readonly file: string;
  readonly atMs: number;
  readonly bytes: number;
}

const NAME = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)Z\.sqlite$/;

export async function create(
  options: BackupOptions & { readonly out: string | null; readonly yes: boolean },
): Promise<void> {
  const { env, region, out } = options;
  checkChoice(options);
  if (env !== null) {
    if (out !== null) throw usage("--out is the file of a copy, and tables at AWS are copied by DynamoDB.");
    return makeQuietTime(await findDeployedData(await loadProject(options.project), env, region), env, options);
  }
  const terminal = createTerminal({ quiet: options.json });
  const address = await addressOf(options);
  if (address.kind === "dynamodb")
    throw new CommandError(
      "copied_already",
      "DynamoDB copies its tables by itself, all the time, where point-in-time recovery is on.",
      "radical backup list shows the times to which they can be restored. Name a deployment with --env, and its server makes one.",
      { exitCode: EXIT_USAGE },
    );
  const file = resolve(address.file);
  const to = options.out === null ? join(folderOf(file), `${stampOf(Date.now())}.sqlite`) : resolve(options.out);
  const content = await terminal.during("Copying", asked(backUpSqlite(file, to)));
  if (options.json) return print(JSON.stringify({ backup: to, ...content }));
  done(terminal, `${to}: ${contentWords(content)}`);
}

export async function list(options: BackupOptions): Promise<void> {
  const address = await addressOf(options);
  if (address.kind === "dynamodb") return listTables(address, options.json);
  const file = resolve(address.file);
  const backups = await backupsOf(file);
  if (options.json)
    return print(
      JSON.stringify(backups.map(({ atMs, bytes, file: backup }) => ({ time: timeOf(atMs), bytes, file: backup }))),
    );
  if (backups.length === 0) {
    createTerminal().note(`There are no copies in ${folderOf(file)}. radical backup create makes one.`);
    return;
  }
  for (const { atMs, bytes, file: backup } of backups)
    print(`${timeOf(atMs)}  ${String(Math.ceil(bytes / 1_024)).padStart(10)} KiB  ${backup}`);
}

export async function restore(
  options: BackupOptions & { readonly to: string | null; readonly from: string | null; readonly yes: boolean },
): Promise<void> {
  const terminal = createTerminal({ quiet: options.json });
  const address = await addressOf(options);
  const { to, from: named } = options;
  if ((to === null) === (named === null))
    throw usage("radical restore needs --to <time> or --from <copy>, and not both.");
  const toMs = to === null ? null : timeIn(to);
  if (address.kind === "dynamodb") {
    checkTablesChoice(options);
    return restoreTables(address, { ...options, toMs });
  }
  const file = resolve(address.file);
  const from = named === null ? await lastBackup(file, toMs ?? 0) : resolve(named);
  const content = await terminal.during("Checking the copy", asked(checkBackup(from)));
  terminal.note(`${from} is whole: ${contentWords(content)}.`);
  const question = `Set ${file} back to this copy?`;
  if (!(await confirmed(question, options, terminal))) return terminal.note("Nothing was changed.");
  const now = new Date();
  // To the millisecond: a database may be set back twice in a second.
  const keptAs = `${file}.before-${now.toISOString().replaceAll(":", "-")}`;
  const putBack = await terminal.during("Restoring", asked(putBackSqlite(file, from, keptAs, now.getTime())));
  if (options.json) return print(JSON.stringify({ restored: file, from, ...putBack }));
  done(terminal, `${file} is set back.`);
  if (putBack.kept !== null) terminal.note(`  The database of before is ${putBack.kept}.`);
  for (const line of afterwards(putBack)) terminal.note(`  ${line}`);
}

/** Lines about the consequences of a copy's content. */
function afterwards({
  pendingIntents,
  tasks,
  workflows,
  readLeaseMs,
}: BackupContent & { readonly readLeaseMs: number }): readonly string[] {
  const owed = tasks + workflows;
  return [
    ...(pendingIntents === 0
      ? []
      : [`The server that starts runs ${counted(pendingIntents, "execution")} to the end.`]),
    ...(owed === 0
      ? []
      : [
          `${counted(tasks, "task")} and ${counted(workflows, "workflow")} go on. Services may be called again for what they did since the copy.`,
        ]),
    ...(readLeaseMs === 0
      ? []
      : [
          `The server waits up to ${Math.ceil((1.05 * readLeaseMs) / 1_000)} s before it leads: so long read leases of before may last.`,
        ]),
    "Start the server, and deploy once more what is to serve.",
  ];
}

/** Throws a CommandError. */
function timeIn(text: string): number {
  const atMs = Date.parse(text);
  // Without a zone it would be the time of this machine.
  if (Number.isNaN(atMs) || !/(Z|[+-]\d\d:?\d\d)$/.test(text))
    throw usage(`--to must be a time with its zone, like 2026-11-27T14:00:00Z, and is "${text}".`);
  return atMs;
}

/** The last copy of that time or before. Throws a CommandError. */
async function lastBackup(file: string, atMs: number): Promise<string> {
  const backups = await backupsOf(file);
  const backup = backups.findLast((each) => each.atMs <= atMs);
  if (backup !== undefined) return backup.file;
  const oldest = backups[0];
  throw new CommandError(
    "no_backup",
    oldest === undefined
      ? `There are no copies in ${folderOf(file)}.`
      : `The oldest copy is of ${timeOf(oldest.atMs)}, after ${timeOf(atMs)}.`,
    "radical backup list shows the copies. Name one elsewhere with --from <file>.",
  );
}

/** The oldest first. */
async function backupsOf(file: string): Promise<readonly Backup[]> {
  const folder = folderOf(file);
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const backups = names.flatMap((name) => {
    const [, day, hours, minutes, seconds] = NAME.exec(name) ?? [];
    return day === undefined
      ? []
      : [{ file: join(folder, name), atMs: Date.parse(`${day}T${hours}:${minutes}:${seconds}Z`) }];
  });
  const found = backups.map(async ({ file: backup, atMs }) => ({
    file: backup,
    atMs,
    bytes: (await stat(backup)).size,
  }));
  return (await Promise.all(found)).toSorted((a, b) => a.atMs - b.atMs);
}

/** Throws a CommandError. */
function checkChoice({ storage, env, region }: Pick<BackupOptions, "storage" | "env" | "region">): void {
  checkRegion({ env, region });
  if (env !== null && storage !== null) throw usage("--env and --storage both name a storage.");
}

/** Throws a CommandError. */
async function addressOf(options: BackupOptions): Promise<StorageAddress> {
  checkChoice(options);
  const { project, storage: named, env, region } = options;
  const storage = env === null ? named : await deployedStorage(project, env, region);
  if (storage === null)
    return { kind: "sqlite", file: join((await loadProject(project)).root, ".radical", "data.sqlite") };
  const address = parseStorageAddress(storage);
  if (typeof address === "string") throw usage(`--storage "${storage}" ${address}.`);
  return address;
}

function folderOf(file: string): string {
  return `${file}.backups`;
}

/** A time that a file may be named by, to the second. */
function stampOf(atMs: number): string {
  return timeOf(atMs).replaceAll(":", "-");
}

function done(terminal: Terminal, words: string): void {
  terminal.note(`${terminal.style("green", "✓")} ${words}`);
}

function usage(message: string): CommandError {
  return new CommandError(
    "usage",
    message,
    "radical backup --help and radical restore --help show how they are used.",
    { exitCode: EXIT_USAGE },
  );
}

async function deployedStorage(project: string, env: string, region: string | null): Promise<string> {
  const { storage } = await findDeployedData(await loadProject(project), env, region);
  if (storage !== null) return storage;
  throw usage(
    "A primary of your own does not say where its storage is. Name it with --storage in place of --env, on its machine.",
  );
}
