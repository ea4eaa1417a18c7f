/**
 * The application's own wrangler configuration, if it has one, as wrangler itself reads it: with its comments, its
 * environments and its defaults.
 */
import { stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { CommandError, EXIT_USAGE, messageOf } from "../../command-error.ts";
import { DEFAULT_ENVIRONMENT } from "../target.ts";

/** In the order in which wrangler looks for them. */
const FILES = ["wrangler.json", "wrangler.jsonc", "wrangler.toml"] as const;

export interface UserConfig {
  /** Its file, for messages. */
  readonly file: string;
  /** For the environment that is deployed; what the file does not say is empty or undefined. */
  readonly config: WranglerConfig;
}

/** A wrangler configuration, as far as it is looked at here. */
export interface WranglerConfig extends Readonly<Record<string, unknown>> {
  readonly name?: string | undefined;
  readonly main?: string;
  readonly account_id?: string;
  readonly compatibility_date?: string;
  readonly workers_dev?: boolean;
  readonly route?: Route | undefined;
  readonly routes?: readonly Route[] | undefined;
  readonly vars?: Readonly<Record<string, unknown>>;
  readonly triggers?: { readonly crons?: readonly string[] };
  readonly assets?: { readonly directory?: string; readonly binding?: string };
  readonly durable_objects?: { readonly bindings: readonly ClassBinding[] };
  readonly migrations?: readonly Migration[];
  readonly exports?: Readonly<Record<string, unknown>>;
}

export type Route =
  | string
  | {
      readonly pattern: string;
      readonly custom_domain?: boolean;
      readonly zone_id?: string;
      readonly zone_name?: string;
    };

export interface ClassBinding {
  readonly name: string;
  readonly class_name: string;
  readonly script_name?: string;
}

export interface Migration {
  readonly tag: string;
  readonly new_sqlite_classes?: readonly string[];
}

/** What is used of the package `wrangler`, whose own types need packages that it does not bring. */
interface WranglerModule {
  experimental_readRawConfig(args: { readonly config: string }): {
    readonly rawConfig: WranglerConfig & { readonly env?: Readonly<Record<string, WranglerConfig | undefined>> };
  };
  unstable_readConfig(
    args: { readonly config: string; readonly env?: string },
    options: { readonly hideWarnings: boolean },
  ): WranglerConfig;
}

/** Null: there is none. Throws a CommandError for one that wrangler can't read. */
export async function readUserConfig(project: string, environment: string): Promise<UserConfig | null> {
  const path = await firstOf(FILES.map((file) => join(project, file)));
  if (path === null) return null;
  // It is large: only who has such a file waits for it.
  const wrangler = (await import(
    pathToFileURL(createRequire(import.meta.url).resolve("wrangler")).href
  )) as WranglerModule;
  try {
    const { rawConfig: raw } = wrangler.experimental_readRawConfig({ config: path });
    const section = raw.env?.[environment];
    const read = wrangler.unstable_readConfig(
      { config: path, ...(section === undefined ? {} : { env: environment }) },
      { hideWarnings: true },
    );
    // Another environment must not take over the routes of production.
    const hasRoutes =
      environment === DEFAULT_ENVIRONMENT || section?.routes !== undefined || section?.route !== undefined;
    const name = raw.name === undefined ? undefined : nameIn(raw.name, environment, section?.name);
    const config = { ...read, name, ...(hasRoutes ? {} : { routes: undefined, route: undefined }) };
    return { file: basename(path), config };
  } catch (error) {
    throw new CommandError(
      "wrangler_config_invalid",
      `${basename(path)} can't be read: ${messageOf(error)}`,
      "correct it: `npx wrangler deploy --dry-run` shows the same",
      { exitCode: EXIT_USAGE, cause: error },
    );
  }
}

/** As wrangler names the Worker of an environment; production is the one without an ending. */
function nameIn(name: string, environment: string, given: string | undefined): string {
  return given ?? (environment === DEFAULT_ENVIRONMENT ? name : `${name}-${environment}`);
}

async function firstOf(paths: readonly string[]): Promise<string | null> {
  for (const path of paths) if ((await stat(path).catch(() => null)) !== null) return path;
  return null;
}
