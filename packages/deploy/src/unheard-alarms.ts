/** Alarms of a primary at AWS that reach nobody. */
import type { Project, Target } from "@radical/app";
import { PROTECTED_ENVIRONMENT } from "./primary/names.ts";

/** Null: somebody is told, or it is an environment in which nobody has to be. */
export function unheardAlarms(
  { environment }: Pick<Target, "environment">,
  { aws }: Pick<Project["config"]["deploy"], "aws">,
): { readonly message: string; readonly hint: string } | null {
  const isHeard = aws.alarmEmail !== undefined || aws.alarmTopic !== undefined;
  if (isHeard || environment !== PROTECTED_ENVIRONMENT) return null;
  return {
    message: `Nobody is told when an alarm of ${environment} goes off.`,
    hint: "Set deploy.primary.alarmEmail or deploy.primary.alarmTopic in radical.config.ts, and run `radical deploy`.",
  };
}
