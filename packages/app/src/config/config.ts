/**
 * `radical.config.ts`, checked and with its defaults. The first location of `dev.locations` is the one that serves
 * requests that name none.
 */
import type { z } from "zod";
import { CommandError, EXIT_USAGE } from "../command-error.ts";
import { described, problemsOf } from "./fields.ts";
import { configSchema } from "./schema.ts";

export type RadicalConfig = z.input<typeof configSchema>;

/** A config that was checked, with its defaults. */
export type ResolvedConfig = z.output<typeof configSchema>;

/** Types the config file; returns it unchanged. */
export function defineConfig(config: RadicalConfig): RadicalConfig {
  return config;
}

/** Throws a CommandError that names every wrong field of `config`, which came from `file`. */
export function resolveConfig(config: unknown, file: string): ResolvedConfig {
  if (typeof config !== "object" || config === null || Array.isArray(config)) {
    throw new CommandError(
      "config_invalid",
      `${file} must export an object by default, and exports ${described(config)}.`,
      'Write `export default defineConfig({ name: "my-app" })`.',
      { exitCode: EXIT_USAGE },
    );
  }
  const { data, error } = configSchema.safeParse(config);
  if (data !== undefined) return data;
  throw new CommandError(
    "config_invalid",
    problemsOf(config, error.issues)
      .map((problem) => `${file}: ${problem}`)
      .join("\n"),
    "Correct the fields that the message names.",
    { exitCode: EXIT_USAGE },
  );
}
