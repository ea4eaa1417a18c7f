/** Options of the commands that find a deployment by its environment, or the LVI server that they ask. */
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import type { Option, Options } from "@radical/command-line";

export const DEPLOYED = {
  env: {
    kind: "text",
    placeholder: "name",
    words: "deployed environment: its Worker, and its primary with the key",
  },
  region: {
    kind: "text",
    placeholder: "name",
    words: "AWS region of the primary (default: AWS_REGION, or the region of the profile)",
  },
} as const satisfies Options;

export const PRIMARY = {
  kind: "text",
  placeholder: "url",
  words: "LVI server to ask; RADICAL_ADMIN_KEYS has its administration key (default: the server of radical dev)",
} as const satisfies Option;

/** Throws a CommandError for a region of no deployment: the command would work on something else than its user thinks. */
export function checkRegion({ env, region }: { readonly env: string | null; readonly region: string | null }): void {
  if (env !== null || region === null) return;
  throw new CommandError(
    "usage",
    "--region is that of a deployment, and no environment is named.",
    `Name it too: --env production --region ${region}`,
    { exitCode: EXIT_USAGE },
  );
}
