/** The answer of a server of an earlier release, explained. */
import { PrimaryError } from "@radical/admin";
import { CommandError } from "@radical/app/command-error";

/** Throws a CommandError if the server has nothing at the address that is asked. */
export async function explained<Answer>(
  what: "tasks" | "schedules" | "workflows" | "metrics",
  request: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await request();
  } catch (error) {
    if (error instanceof PrimaryError && error.answered === "not_found")
      throw new CommandError(
        `no_${what}_there`,
        `The LVI server knows no ${what}: it is of an earlier version.`,
        "Bring it to the version of this command.",
      );
    throw error;
  }
}
