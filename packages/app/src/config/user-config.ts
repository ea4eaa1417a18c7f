/**
 * The application's own wrangler configuration, if it has one, as wrangler itself reads it: with its comments, its
 * environments and its defaults. `radical deploy` and `radical dev` read it here.
 */
import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { BLOB_CRON, type CacheChoice } from "@radical/protocol";
import { CommandError, EXIT_USAGE } from "../command-error.ts";
import { CACHE_CLASS } from "../workers.ts";

/** In the order in which wrangler looks for them. */
export const USER_CONFIG_FILES = ["wrangler.json", "wrangler.jsonc", "wrangler.toml"] as const;

export interface UserConfig {
  /** Its file, for messages. */
  readonly file: string;
  /** For one environment. A field that the file lacks is empty or undefined. */
  readonly config: WranglerConfig;
}

/** One with the names of all environments that the file has. */
export interface ReadConfig extends UserConfig {
  readonly environments: readonly string[];
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
  /** Where the Worker runs, if not where its requests arrive. */
  readonly placement?: Readonly<Record<string, unknown>> | undefined;
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
  readonly new_classes?: readonly string[];
}

/** A question to the process that reads. */
export interface ConfigQuestion {
  /** Absolute. */
  readonly path: string;
  /** Null: the top level of the file. */
  readonly environment: string | null;
}

export type ConfigAnswer =
  | { readonly kind: "read"; readonly config: WranglerConfig; readonly environments: readonly string[] }
  | { readonly kind: "invalid"; readonly words: string };

/**
 * Null: the project has no such file. `environment` null: the top level of the file, as `wrangler dev` takes it. Throws a
 * CommandError for a file that wrangler can't read.
 */
export async function readUserConfig(project: string, environment: string | null): Promise<ReadConfig | null> {
  const path = await firstOf(USER_CONFIG_FILES.map((file) => join(project, file)));
  if (path === null) return null;
  const file = basename(path);
  const answer = await askProcess({ path, environment });
  switch (answer.kind) {
    case "read":
      return { file, config: answer.config, environments: answer.environments };
    case "invalid":
      throw new CommandError(
        "wrangler_config_invalid",
        `${file} can't be read: ${answer.words}`,
        "Correct it: `npx wrangler deploy --dry-run` shows the same.",
        { exitCode: EXIT_USAGE },
      );
  }
}

/** The module of the process that reads. */
const MAIN = fileURLToPath(
  new URL(`user-config-process${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url),
);
/** A configuration has some kilobytes. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

async function askProcess(question: ConfigQuestion): Promise<ConfigAnswer> {
  const args = [...process.execArgv, MAIN, JSON.stringify(question)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: MAX_ANSWER_BYTES });
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as ConfigAnswer;
}

async function firstOf(paths: readonly string[]): Promise<string | null> {
  for (const path of paths) if ((await stat(path).catch(() => null)) !== null) return path;
  return null;
}

/** An application, as its wrangler configuration has to fit it. */
export interface ApplicationShape {
  /** Absolute. */
  readonly project: string;
  /** The Worker's entry of the application's own, relative to the project; it may not exist. */
  readonly entry: string;
  readonly cache: CacheChoice;
  /** Its deployment collects blobs by a cron of its own. */
  readonly hasBlobs: boolean;
}

const RESERVED_PREFIX = "RADICAL_";

/** Throws a CommandError that names every contradiction between the file and what Radical needs. */
export function checkUserConfig({ file, config }: UserConfig, application: ApplicationShape): void {
  const problems = problemsOf(application, config);
  if (problems.length === 0) return;
  throw new CommandError(
    "wrangler_config_conflict",
    `${file} contradicts what Radical needs:\n${problems.map((problem) => `  ${problem}`).join("\n")}`,
    `Correct ${file}: docs/deploy.md describes the parts that Radical adds.`,
    { exitCode: EXIT_USAGE },
  );
}

function problemsOf({ project, entry, cache, hasBlobs }: ApplicationShape, theirs: WranglerConfig): readonly string[] {
  const problems: string[] = [];
  if (theirs.main !== undefined && resolve(project, theirs.main) !== join(project, entry))
    problems.push(
      `main is ${relative(project, resolve(project, theirs.main))}, but the application's own Worker is ${entry}: leave main out, or name its file as worker in radical.config.ts`,
    );
  if (theirs.assets?.directory !== undefined)
    problems.push("assets.directory: name the folder of static files as assets in radical.config.ts");
  for (const binding of bindingNames(theirs).filter((name) => name.startsWith(RESERVED_PREFIX)))
    problems.push(`${binding}: names that begin with ${RESERVED_PREFIX} are Radical's; call it something else`);
  const placement = placementOf(theirs.placement);
  if (placement !== null)
    problems.push(
      `placement: ${placement} moves every location away from its users, and with it what Radical is for. Leave placement out; a Worker of its own can have it, and call this one`,
    );
  if (hasBlobs && theirs.triggers?.crons?.includes(BLOB_CRON) === true)
    problems.push(`triggers.crons: ${BLOB_CRON} is when Radical collects blobs; choose another minute`);
  if (cache.kind === "durable-object" && lacksCacheClass(theirs.migrations ?? []))
    problems.push(
      `migrations: add { "tag": "…", "new_sqlite_classes": ["${CACHE_CLASS}"] } behind those that are deployed already`,
    );
  return problems;
}

/** A placement that moves a Worker away from where its requests arrive, in words; null: it stays. */
export function placementOf(placement: Readonly<Record<string, unknown>> | null | undefined): string | null {
  if (placement === null || placement === undefined || placement["mode"] === "off") return null;
  const target = PLACES.find((name) => placement[name] !== undefined);
  return target === undefined ? null : `${target} ${String(placement[target])}`;
}

const PLACES = ["region", "host", "hostname", "mode"] as const;

function lacksCacheClass(migrations: readonly Migration[]): boolean {
  return migrations.length > 0 && !migrations.some(({ new_sqlite_classes: classes }) => classes?.includes(CACHE_CLASS));
}

/** Names of all bindings, whatever their kind. */
function bindingNames(config: WranglerConfig): readonly string[] {
  const named = (value: unknown): readonly string[] => {
    if (Array.isArray(value)) return value.flatMap(named);
    if (typeof value !== "object" || value === null) return [];
    const { binding, name, bindings, producers } = value as Readonly<Record<string, unknown>>;
    const own = [binding, name].filter((one): one is string => typeof one === "string");
    return [...own, ...named(bindings), ...named(producers)];
  };
  const { vars, name: _name, ...others } = config;
  return [...Object.keys(vars ?? {}), ...Object.values(others).flatMap(named)];
}
