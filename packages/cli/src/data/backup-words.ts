/** Words of `radical backup` and `radical restore`. */
import { counted } from "@radical/app";
import { CommandError } from "@radical/app/command-error";
import { type BackupContent, StorageError } from "@radical/lvi-server";

/** To the second. */
export function timeOf(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
}

export function contentWords({ items, pendingIntents, tasks, workflows }: BackupContent): string {
  const parts = [
    counted(items, "item"),
    ...(pendingIntents === 0 ? [] : [`${counted(pendingIntents, "execution")} under way`]),
    ...(tasks === 0 ? [] : [counted(tasks, "task")]),
    ...(workflows === 0 ? [] : [counted(workflows, "open workflow")]),
  ];
  return parts.join(", ");
}

/** Throws a CommandError with the words of the storage. */
export async function asked<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const hint = "The stored data are as they were. Run the same command again once that is mended.";
    throw new CommandError("storage_failed", error.message, hint, { cause: error });
  }
}
