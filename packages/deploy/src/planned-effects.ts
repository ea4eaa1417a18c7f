/** The effects of an application in a plan: schedules that change, and workflows that stay on the code that they began with. */
import { counted, scheduleText } from "@radical/app";
import { type AdminAddress, currentSchedules, workflowsThatGoOn } from "@radical/admin";
import type { ModuleHash, Schedule, TaskRules } from "@radical/protocol";
import type { Change } from "./steps.ts";

/** Workflows of one handler that go on with the code of an earlier module. */
export interface OlderWorkflows {
  readonly handler: string;
  readonly module: ModuleHash;
  readonly workflows: number;
}

/** `admin`: null, the primary is still to be made. */
export async function scheduleChanges(
  admin: AdminAddress | null,
  rules: Readonly<Record<string, TaskRules>>,
): Promise<readonly Change[]> {
  const before = new Map(
    (admin === null ? [] : await currentSchedules(admin)).map((one) => [one.handler, scheduleText(one)]),
  );
  const built = Object.entries(rules).flatMap(([handler, { schedule }]): [string, Schedule][] =>
    schedule === undefined ? [] : [[handler, schedule]],
  );
  const changes: Change[] = [];
  for (const [handler, schedule] of built) {
    const [was, detail] = [before.get(handler), scheduleText(schedule)];
    before.delete(handler);
    const what = `schedule ${handler}`;
    if (was === undefined) changes.push({ kind: "make", what, detail });
    else if (was !== detail) changes.push({ kind: "change", what, detail: `${was} before, ${detail} from now on` });
  }
  const gone = Array.from(before, ([handler, was]): Change => ({
    kind: "remove",
    what: `schedule ${handler}`,
    detail: was,
  }));
  return [...changes, ...gone];
}

/** The workflows that have not ended and began with other code than that of the module, most of them first. */
export async function olderWorkflows(
  admin: AdminAddress | null,
  current: ModuleHash,
): Promise<readonly OlderWorkflows[]> {
  const groups = new Map<string, OlderWorkflows>();
  if (admin !== null)
    for await (const { handler, module } of workflowsThatGoOn(admin)) {
      if (module === current) continue;
      const name = `${handler} ${module}`;
      groups.set(name, { handler, module, workflows: (groups.get(name)?.workflows ?? 0) + 1 });
    }
  return [...groups.values()].toSorted((a, b) => b.workflows - a.workflows);
}

/** Null: there are none. */
export function olderWorkflowsWords(older: readonly OlderWorkflows[]): string | null {
  const number = older.reduce((sum, { workflows }) => sum + workflows, 0);
  if (number === 0) return null;
  const each = older.map(
    ({ handler, module, workflows }) => `${workflows} ${handler} of module ${module.slice(0, 12)}`,
  );
  const [go, they, their] = number === 1 ? ["goes", "it", "Its"] : ["go", "they", "Their"];
  return `${counted(number, "workflow")} ${go} on with the code that ${they} began with: ${each.join(", ")}. ${their} steps run on the new code.`;
}
