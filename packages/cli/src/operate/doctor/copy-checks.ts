/** The copies that DynamoDB keeps of a deployment's tables, as far as one is sure to be whole. */
import { openBackups, type QuietTime, type RestorableWindow, wholeSecond } from "@radical/lvi-server";
import type { Problem } from "./finding.ts";

const DAY_MS = 86_400_000;

/** Asks AWS. Rejects with a StorageError. */
export async function lookAtCopies(prefix: string, region: string, environment: string): Promise<readonly Problem[]> {
  const backups = await openBackups({ kind: "dynamodb", prefix, region });
  try {
    const window = await backups.window();
    // Tables without recovery are told apart.
    return window === null ? [] : copyProblems(window, await backups.quietTimes(), environment);
  } finally {
    backups.close();
  }
}

export function copyProblems(
  { fromMs, untilMs }: RestorableWindow,
  quiet: readonly QuietTime[],
  environment: string,
): readonly Problem[] {
  if (untilMs - fromMs < DAY_MS) return [];
  const last = wholeSecond(quiet, untilMs);
  if (last !== null && last >= Math.max(fromMs, untilMs - DAY_MS)) return [];
  const told =
    last === null || last < fromMs
      ? `There is no second to which the tables of ${environment} can be restored.`
      : `The last second to which the tables of ${environment} can be restored is ${new Date(last).toISOString().slice(0, 19)}Z.`;
  return [
    {
      message: `${told} A copy is whole only in a quiet time, and none was noted in the last day.`,
      hint: `Run \`radical backup create --env ${environment}\`, best by a timer. Writes wait for seven to nine seconds.`,
    },
  ];
}
