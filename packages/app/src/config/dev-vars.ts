/** Variables and secrets of the application's own Worker on this machine, from the files that wrangler reads for `wrangler dev`. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";

/** The files from which variables of the Worker come, for an environment of the wrangler configuration. */
export const DEV_VARS_FILE = ".dev.vars";

/**
 * `.dev.vars.<environment>`, else `.dev.vars`. A project without either has `.env` files, where a later one goes first: `.env`,
 * `.env.local`, `.env.<environment>`, `.env.<environment>.local`.
 */
export async function readDevVars(
  project: string,
  environment: string | null,
): Promise<Readonly<Record<string, string>>> {
  const own = environment === null ? null : await varsIn(join(project, `${DEV_VARS_FILE}.${environment}`));
  const vars = own ?? (await varsIn(join(project, DEV_VARS_FILE)));
  if (vars !== null) return vars;
  const endings = ["", ".local", ...(environment === null ? [] : [`.${environment}`, `.${environment}.local`])];
  const files = await Promise.all(endings.map((ending) => varsIn(join(project, `.env${ending}`))));
  return Object.assign({}, ...files) as Readonly<Record<string, string>>;
}

/** `NAME=value` lines. Null: there is no such file. */
async function varsIn(path: string): Promise<Readonly<Record<string, string>> | null> {
  const text = await readFile(path, "utf8").catch(() => null);
  if (text === null) return null;
  return Object.fromEntries(Object.entries(parseEnv(text)).map(([name, value]) => [name, value ?? ""]));
}
