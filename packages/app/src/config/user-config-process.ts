/**
 * The process in which wrangler reads an application's configuration. Wrangler is large, and a process gives its memory back. Its
 * one argument is the question of `user-config.ts`, as JSON. The last line of standard output is the answer.
 */
import { createRequire } from "node:module";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { messageOf } from "../command-error.ts";
import { DEFAULT_ENVIRONMENT } from "./target.ts";
import type { ConfigAnswer, ConfigQuestion, WranglerConfig } from "./user-config.ts";

/** The used part of the package `wrangler`, whose own types need packages that it does not bring. */
interface WranglerModule {
  experimental_readRawConfig(args: { readonly config: string }): {
    readonly rawConfig: WranglerConfig & { readonly env?: Readonly<Record<string, WranglerConfig | undefined>> };
  };
  unstable_readConfig(
    args: { readonly config: string; readonly env?: string },
    options: { readonly hideWarnings: boolean },
  ): WranglerConfig;
}

async function answerTo({ path, environment }: ConfigQuestion): Promise<ConfigAnswer> {
  const file = pathToFileURL(createRequire(import.meta.url).resolve("wrangler")).href;
  const wrangler = (await import(file)) as WranglerModule;
  try {
    const { rawConfig: raw } = wrangler.experimental_readRawConfig({ config: path });
    const section = environment === null ? undefined : raw.env?.[environment];
    const read = wrangler.unstable_readConfig(
      { config: path, ...(section === undefined || environment === null ? {} : { env: environment }) },
      { hideWarnings: true },
    );
    const environments = Object.keys(raw.env ?? {});
    if (environment === null) return { kind: "read", config: read, environments };
    // Another environment must not take over the routes of production.
    const hasRoutes =
      environment === DEFAULT_ENVIRONMENT || section?.routes !== undefined || section?.route !== undefined;
    const name = raw.name === undefined ? undefined : nameIn(raw.name, environment, section?.name);
    const config = { ...read, name, ...(hasRoutes ? {} : { routes: undefined, route: undefined }) };
    return { kind: "read", config, environments };
  } catch (error) {
    return { kind: "invalid", words: messageOf(error) };
  }
}

/** As wrangler names the Worker of an environment; production is the one without an ending. */
function nameIn(name: string, environment: string, given: string | undefined): string {
  return given ?? (environment === DEFAULT_ENVIRONMENT ? name : `${name}-${environment}`);
}

// Without an argument it has only been compiled.
if (process.argv[2] !== undefined) {
  const answer = await answerTo(JSON.parse(process.argv[2]) as ConfigQuestion);
  process.stdout.write(`\n${JSON.stringify(answer)}\n`, () => process.exit());
}
