/** `radical backup` and `radical restore`: copies of a storage, and the way back to one. */
import { type Options, type Program, type Subcommand, subcommand } from "@radical/command-line";
import type * as BackupWork from "../data/backup-work.ts";
import { DEPLOYED } from "../operate/deployed-options.ts";
import { PROJECT, reported, YES } from "./command.ts";

const COMMON = {
  project: PROJECT,
  storage: {
    kind: "text",
    placeholder: "address",
    words: "storage: sqlite:<file> or dynamodb:<prefix>?region=…&endpoint=… (default: the storage of radical dev)",
  },
  ...DEPLOYED,
  json: { kind: "flag", words: "print JSON" },
} as const satisfies Options;

export const backupCommand: Program = {
  name: "backup",
  words: "copy the stored data, and list the copies",
  commands: [
    subcommand(
      {
        name: "create",
        words: "copy the database while its server serves; or have a deployment at AWS make a time to go back to",
        options: {
          ...COMMON,
          out: {
            kind: "text",
            placeholder: "file",
            words: "file of the copy (default: a file named by the time, in the folder <database>.backups)",
          },
          yes: YES,
        },
        notes: `With --env, DynamoDB copies the tables by itself. A copy is whole if nothing was written about its time, so the server that
leads has writes wait for seven to nine seconds. A timer may run the command in hours of little traffic, with --yes.`,
        examples: [
          ["radical backup create"],
          ["radical backup create --storage sqlite:/var/lib/radical/radical.sqlite --out /mnt/copies/monday.sqlite"],
          ["radical backup create --env production"],
        ],
      },
      (options) => run(options, (work) => work.create(options)),
    ),
    subcommand(
      {
        name: "list",
        words: "list the copies in the folder <database>.backups, or the times to which tables can be restored",
        options: COMMON,
        examples: [["radical backup list"], ["radical backup list --env production", "of a deployment at AWS"]],
      },
      (options) => run(options, (work) => work.list(options)),
    ),
  ],
  notes: `A copy of a database is of one moment and has everything that is stored, but no sealing keys: those stay in the folder
<database>.keys. DynamoDB copies its tables by itself. docs/how-to/restore.md tells what is lost by a restore, and what is not.`,
  examples: [["radical backup create"], ["radical backup list"], ["radical restore --to 2026-11-27T14:00:00Z"]],
};

export const restoreCommand: Subcommand = subcommand(
  {
    name: "restore",
    words: "set the stored data back to an earlier state; the present data is kept beside it",
    options: {
      ...COMMON,
      to: {
        kind: "text",
        placeholder: "time",
        words: "restore the last state of this time or before, as 2026-11-27T14:00:00Z",
      },
      from: {
        kind: "text",
        placeholder: "copy",
        words: "restore this file; or take over tables of this prefix that are already restored",
      },
      yes: YES,
    },
    notes: `Checks the copy first, and the hash of every item. No server may use a database meanwhile; servers of tables end by themselves.
The data of now stay beside, under another name, and nothing is deleted. Caches at locations may stay as they are. After it,
deploy once more what is to serve: a copy knows the builds of its own time. If it was interrupted, run it again: it goes on.`,
    examples: [
      ["radical restore --to 2026-11-27T14:00:00Z"],
      ["radical restore --from /mnt/copies/monday.sqlite --storage sqlite:/var/lib/radical/radical.sqlite --yes"],
      ["radical restore --to 2026-11-27T14:00:00Z --env production"],
    ],
  },
  (options) => run(options, (work) => work.restore(options)),
);

/** The server is large: only who works on data waits for it. */
function run(options: BackupWork.BackupOptions, work: (work: typeof BackupWork) => Promise<void>): Promise<void> {
  return reported(options, async () => work(await import("../data/backup-work.ts")));
}
