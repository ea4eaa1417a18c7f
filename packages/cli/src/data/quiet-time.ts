/** `radical backup create` for a deployment at AWS: a second to which its tables can be restored. */
import { type PrimaryAddress, PrimaryError } from "@radical/admin";
import { CommandError } from "@radical/app/command-error";
import { openBackups, parseStorageAddress } from "@radical/lvi-server";
import { QUIET_PATH, type QuietOrder, type QuietSecond } from "@radical/protocol";
import { answerOf } from "../operate/older-server.ts";
import { confirmed } from "../terminal/confirm-changes.ts";
import { createTerminal, print } from "../terminal/terminal.ts";
import { asked, timeOf } from "./backup-words.ts";
import type { DeployedData } from "./deployed-data.ts";

interface QuietOptions {
  readonly json: boolean;
  readonly yes: boolean;
}

/** Throws a CommandError. */
export async function makeQuietTime(
  { servers, storage }: DeployedData,
  env: string,
  options: QuietOptions,
): Promise<void> {
  const terminal = createTerminal({ quiet: options.json });
  if (storage !== null) await terminal.during("Looking at the tables", checkRecovery(storage, env));
  const { leaderOf } = await import("@radical/deploy");
  const leader = await leaderOf(servers);
  terminal.note("Calls that write, or have an Idempotency-Key, wait for seven to nine seconds. Other reads go on.");
  if (!(await confirmed(`Have ${env} pause its writes?`, options, terminal)))
    return terminal.note("Nothing was changed.");
  const second = timeOf(await terminal.during("Waiting for a quiet time", secondOf(leader)));
  if (options.json) return print(JSON.stringify({ restorable: second }));
  const done = terminal.style("green", "✓");
  if (storage !== null) {
    terminal.note(`${done} ${env} can be restored to ${second}, in some five minutes.`);
    return terminal.note(`  radical restore --to ${second} --env ${env}`);
  }
  terminal.note(`${done} A copy of ${second} is whole. DynamoDB has it if the tables have point-in-time recovery.`);
  terminal.note(`  radical restore --to ${second} --storage 'dynamodb:<prefix>?region=<region>'`);
}

async function checkRecovery(storage: string, env: string): Promise<void> {
  const address = parseStorageAddress(storage);
  if (typeof address === "string" || address.kind !== "dynamodb") return;
  const backups = await asked(openBackups(address));
  try {
    if ((await asked(backups.window())) !== null) return;
  } finally {
    backups.close();
  }
  throw new CommandError(
    "not_recoverable",
    `The tables of ${env} have no point-in-time recovery, so DynamoDB keeps no past of them.`,
    "radical data export makes a copy of the items. A deployment in production has recovery.",
  );
}

/** In milliseconds since the epoch. Throws a CommandError. */
async function secondOf(leader: PrimaryAddress): Promise<number> {
  const order: QuietOrder = { pauseWrites: true };
  const { timeMs } = await answerOf<QuietSecond>("quiet times", leader, QUIET_PATH, order).catch((error: unknown) => {
    if (!(error instanceof PrimaryError) || error.answered !== "primary_busy") throw error;
    throw new CommandError("not_paused", error.message, "Run the same command again. Writes have gone on.");
  });
  if (timeMs !== null) return timeMs;
  throw new CommandError(
    "not_needed",
    "The primary keeps its data in a database of SQLite, of which a copy is whole at any time.",
    "Run radical backup create on its machine, with --storage sqlite:<file>.",
  );
}
