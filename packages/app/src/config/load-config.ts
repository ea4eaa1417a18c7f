/** Finds and loads the project's `radical.config.ts`; Node runs it directly, its types stripped. */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CommandError, EXIT_USAGE, messageOf } from "../command-error.ts";
import { type ResolvedConfig, resolveConfig } from "./config.ts";

export const CONFIG_FILE = "radical.config.ts";

export interface Project {
  /** Absolute path of the folder that holds the config file. */
  readonly root: string;
  readonly config: ResolvedConfig;
}

/** Loads the project in `directory`. Throws a CommandError about a config that it can't use. */
export async function loadProject(directory: string): Promise<Project> {
  const root = resolve(directory);
  const file = join(root, CONFIG_FILE);
  const found = await stat(file).catch(() => null);
  if (found === null) {
    throw new CommandError(
      "config_not_found",
      `The folder ${root} has no ${CONFIG_FILE}.`,
      "Run this in the folder of a Radical application, name it with --project, or make one with `npm create radical-app`.",
      { exitCode: EXIT_USAGE },
    );
  }
  let module: { readonly default?: unknown };
  try {
    // The time in the address makes Node load a changed file again in a process that runs on.
    module = (await import(`${pathToFileURL(file).href}?t=${found.mtimeMs}`)) as typeof module;
  } catch (error) {
    throw new CommandError(
      "config_invalid",
      `${CONFIG_FILE} can't be loaded: ${messageOf(error)}`,
      isMissingPackage(error)
        ? "Install the dependencies of the application, in its folder: `npm install`."
        : "Correct the file that the message names.",
      {
        exitCode: EXIT_USAGE,
        cause: error,
      },
    );
  }
  return { root, config: resolveConfig(module.default, CONFIG_FILE) };
}

/** A package that the file imports is not installed. */
function isMissingPackage(error: unknown): boolean {
  const isMissing = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
  return isMissing && error.message.startsWith("Cannot find package ");
}
