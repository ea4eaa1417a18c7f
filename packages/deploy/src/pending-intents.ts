/**
 * What a deployment must not leave behind: pending intents, tasks that wait, and workflows that have not ended. A request that
 * was answered has written once its intent is durable, but its writes are seen only when the intent is applied. At a primary
 * that nobody asks any more, or that is removed, they would never be seen. Its tasks would never run, and its workflows never
 * go on.
 */
import { CommandError, messageOf } from "@radical/app/command-error";
import { counted } from "@radical/app";
import { type AdminAddress, currentSchedules, openWorkflows, pendingIntents, waitingTasks } from "@radical/admin";

/** Lets it happen, on the commands that check it. */
const STRAND_OPTION = "--strand-pending";

/**
 * Throws a CommandError while intents are pending, tasks wait or workflows are open at a primary, and if it can't say. `addresses`: where it may be asked;
 * one that answers is enough. `leaving`: what the command is about to do to it, as `this deployment would leave`. `asked`: the options with
 * which commands ask that primary; empty, it depends.
 */
export async function checkNothingPending(
  primary: string,
  addresses: () => Promise<readonly AdminAddress[]>,
  leaving: string,
  asked = "",
): Promise<void> {
  const { pending, tasks, workflows, schedules } = await firstAnswer(primary, addresses, leaving);
  if (tasks === null)
    throw new CommandError(
      "tasks_unknown",
      `The primary (${primary}) that ${leaving} has not counted its tasks yet.`,
      `Run the same command again in a moment. Or give up the tasks that wait there with ${STRAND_OPTION}.`,
    );
  if (tasks > 0)
    throw new CommandError(
      "tasks_wait",
      `${counted(tasks, "task")} ${tasks === 1 ? "waits" : "wait"} at the primary (${primary}) that ${leaving}. ${tasks === 1 ? "It" : "They"} would never run.`,
      `See radical tasks list${asked}. Let them run, or cancel or discard them, and run the same command again.${pauseWords(schedules, asked)} Or give them up with ${STRAND_OPTION}.`,
    );
  if (workflows === null)
    throw new CommandError(
      "workflows_unknown",
      `The primary (${primary}) that ${leaving} does not know all of its workflows yet.`,
      `Run the same command again in a moment. Or give up the workflows there with ${STRAND_OPTION}.`,
    );
  if (workflows > 0)
    throw new CommandError(
      "workflows_open",
      `${counted(workflows, "workflow")} at the primary (${primary}) that ${leaving} ${workflows === 1 ? "has" : "have"} not ended. ${workflows === 1 ? "It" : "They"} would never go on.`,
      `See radical workflows list${asked}. Let them end, or cancel them, and run the same command again. Or give them up with ${STRAND_OPTION}.`,
    );
  if (pending === 0) return;
  throw new CommandError(
    "pending_intents",
    `${counted(pending, "intent")} of answered requests ${pending === 1 ? "is" : "are"} still pending at the primary (${primary}) that ${leaving}. Nobody would see their writes any more.`,
    `Wait until they are applied, seconds after the last request, and run the same command again. Or give them up with ${STRAND_OPTION}.`,
  );
}

interface Left {
  readonly pending: number;
  readonly tasks: number | null;
  readonly workflows: number | null;
  /** Handlers that are called by themselves. */
  readonly schedules: readonly string[];
}

/** A schedule makes tasks for as long as it is not paused. */
function pauseWords(schedules: readonly string[], asked: string): string {
  if (schedules.length === 0) return "";
  return ` Schedules go on to make tasks: pause ${schedules.join(", ")} with radical schedules pause <handler>${asked}.`;
}

async function firstAnswer(
  primary: string,
  addresses: () => Promise<readonly AdminAddress[]>,
  leaving: string,
): Promise<Left> {
  let failure: unknown = "nothing says where it is asked";
  const asked = await addresses().catch((error: unknown) => {
    failure = error;
    return [];
  });
  for (const address of asked) {
    try {
      const [pending, tasks, workflows, schedules] = await Promise.all([
        pendingIntents(address),
        waitingTasks(address),
        openWorkflows(address),
        currentSchedules(address),
      ]);
      const ticking = schedules.filter(({ isPaused, nextMs }) => !isPaused && nextMs !== null);
      return { pending, tasks, workflows, schedules: ticking.map(({ handler }) => handler) };
    } catch (error) {
      failure = error;
    }
  }
  throw new CommandError(
    "pending_unknown",
    `Nobody knows whether intents are pending, tasks wait or workflows are open at the primary (${primary}) that ${leaving}: ${messageOf(failure)}`,
    `See that it serves and that its key is given (RADICAL_ADMIN_KEYS may have keys of several servers). Then run the same command again. Or give up what may be pending there with ${STRAND_OPTION}.`,
    { cause: failure },
  );
}
