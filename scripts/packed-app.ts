/** A new application as a user gets it: packages from tarballs, the scaffolder's own command, npm's installation. */
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { packAll } from "./pack.ts";

const run = promisify(execFile);

/** The environment of a user's shell: nothing of the workspace, of pnpm or of the condition that our sources need. */
export function userEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_|pnpm_|NODE_OPTIONS$|VITEST|TEST$|NODE_ENV$|INIT_CWD$)/i.test(name),
    ),
  );
}

export interface Cancellable {
  /** Ends the processes that were started, with SIGTERM. */
  readonly signal?: AbortSignal;
}

function withSignal(signal: AbortSignal | undefined): Cancellable {
  return signal === undefined ? {} : { signal };
}

export interface Scaffolder {
  /** The command `create-radical-app`, installed from its tarball. */
  readonly command: string;
  /** The folder with the tarballs. */
  readonly packages: string;
}

/** Packs the workspace and installs the scaffolder, all below `folder`. */
export async function packScaffolder(folder: string, { signal }: Cancellable = {}): Promise<Scaffolder> {
  const packages = join(folder, "packed");
  const tarball = (await packAll(packages)).find((path) => path.includes("create-radical-app"));
  if (tarball === undefined) throw new Error("create-radical-app was not packed");
  const tool = join(folder, "scaffolder");
  await mkdir(tool, { recursive: true });
  await writeFile(join(tool, "package.json"), '{ "private": true }');
  await run("npm", ["install", "--no-audit", "--no-fund", tarball], {
    cwd: tool,
    env: userEnvironment(),
    ...withSignal(signal),
  });
  return { command: join(tool, "node_modules/.bin/create-radical-app"), packages };
}

export interface ScaffoldOptions extends Cancellable {
  /** Default: true. */
  readonly install?: boolean;
}

/** Runs the scaffolder in `folder`; gives the application's path. */
export async function scaffoldApp(
  scaffolder: Scaffolder,
  folder: string,
  name: string,
  template: string,
  { signal, install = true }: ScaffoldOptions = {},
): Promise<string> {
  const args = [name, "--template", template, "-y", "--packages", scaffolder.packages];
  if (!install) args.push("--no-install");
  await run(scaffolder.command, args, { cwd: folder, env: userEnvironment(), ...withSignal(signal) });
  return join(folder, name);
}
