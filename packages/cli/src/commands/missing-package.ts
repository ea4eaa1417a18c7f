/** The package with the commands for deployments, which applications install when they need it: it has the clients of AWS. */
import { CommandError, EXIT_USAGE } from "@radical/app/command-error";
import { radicalVersion } from "../version.ts";

const DEPLOY = "@radical/deploy";

/** Null: the error has another cause. */
export function missingPackage(error: unknown): CommandError | null {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  if (code !== "ERR_MODULE_NOT_FOUND" || !String(message).includes(`'${DEPLOY}'`)) return null;
  return new CommandError(
    "not_installed",
    `This command needs ${DEPLOY}, which is not installed: applications that are not deployed do without it.`,
    `Install it: npm install --save-dev ${DEPLOY}@${radicalVersion()}`,
    { exitCode: EXIT_USAGE, cause: error },
  );
}
