/** Questions that a server of an earlier release does not know: its answer, explained. */
import { askPrimary, type PrimaryAddress, PrimaryError } from "@radical/admin";
import { CommandError } from "@radical/app/command-error";

type What = "tasks" | "schedules" | "workflows" | "caches" | "metrics" | "quiet times" | "recording keys";

/** The JSON of the primary's answer. Without a question the address is read. Throws a CommandError. */
export async function answerOf<Answer>(
  what: What,
  primary: PrimaryAddress,
  path: string,
  question?: object,
  signal?: AbortSignal,
): Promise<Answer> {
  const method = question === undefined ? "GET" : "POST";
  const answer = await explained(what, () => askPrimary(primary, method, path, question, signal));
  return (await answer.json()) as Answer;
}

/** Throws a CommandError if the server has nothing at the address that is asked. */
export async function explained<Answer>(
  what: What,
  request: () => Promise<Answer>,
  hint = "Bring it to the version of this command.",
): Promise<Answer> {
  try {
    return await request();
  } catch (error) {
    if (error instanceof PrimaryError && error.isNothingThere)
      throw new CommandError(
        `no_${what.replaceAll(" ", "_")}_there`,
        `The LVI server knows no ${what}: it is of an earlier version.`,
        hint,
      );
    throw error;
  }
}
