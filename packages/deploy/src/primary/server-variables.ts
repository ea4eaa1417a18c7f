/** The options of the server that `radical.config.ts` chooses, as the server reads them from its environment. */
import type { Project } from "@radical/app";

type ServerChoice = NonNullable<Project["config"]["deploy"]["aws"]["server"]>;

const VARIABLES: Readonly<Record<keyof ServerChoice, string>> = {
  auditPercent: "RADICAL_AUDIT_PERCENT",
  executionLimitMs: "RADICAL_EXECUTION_LIMIT_MS",
  giveUpUnreadable: "RADICAL_GIVE_UP_UNREADABLE",
  otlp: "RADICAL_OTLP",
  otlpRatio: "RADICAL_OTLP_RATIO",
};

/** Their names, as a machine of EC2 looks for them among its variables. */
export const SERVER_VARIABLES: readonly string[] = Object.values(VARIABLES);

/** By the names of the variables. Values have no character that a shell reads otherwise. */
export function serverVariables(choice: ServerChoice): Readonly<Record<string, string>> {
  const chosen = Object.entries(choice) as readonly (readonly [keyof ServerChoice, string | number | boolean])[];
  return Object.fromEntries(
    chosen.map(([option, value]) => [
      VARIABLES[option],
      typeof value === "boolean" ? (value ? "yes" : "no") : String(value),
    ]),
  );
}
