/**
 * From a fresh clone to a running package script with nothing but Node ≥ 20 and npm:
 *
 *     node scripts/bootstrap.mjs [--build] [<script of package.json> [arguments…]]
 *
 * 1. installs the pinned Node and pnpm into .toolchain/ (once), 2. installs the dependencies of pnpm-lock.yaml,
 * 3. with --build builds all packages, 4. runs the script with that Node and pnpm first in PATH. Without a script it
 * prints the line that puts them into the PATH of a shell.
 *
 * Exit code: the script's; 1 if the set-up failed; 128 + number after a signal.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { run, runQuietly } from "./child.mjs";

const TOOLS = { node: "24.21.0", pnpm: "12.21.0" };
const OLDEST_NODE_MAJOR = 20;

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const TOOLCHAINS = path.join(ROOT, ".toolchain");
const TOOLCHAIN = path.join(TOOLCHAINS, `node-${TOOLS.node}-pnpm-${TOOLS.pnpm}-${process.platform}-${process.arch}`);
const TOOLS_BIN = path.join(TOOLCHAIN, "node_modules", ".bin");
const WORKSPACE_BIN = path.join(ROOT, "node_modules", ".bin");

/** A failed set-up: said in the user's terms, with what to do. */
class SetupError extends Error {}

/** Ended by a signal on the way. */
class Interrupted extends Error {
  /** @param {number} code */
  constructor(code) {
    super("interrupted");
    this.code = code;
  }
}

/**
 * Our environment without what an outer `npm run` adds: its options would be taken for options of the inner npm and
 * pnpm. Variables of the user's way to the registry stay.
 * @param {NodeJS.ProcessEnv} outer @returns {NodeJS.ProcessEnv}
 */
function cleanEnvironment(outer) {
  const kept =
    /^npm_config_(?:registry|userconfig|globalconfig|cache|cafile|ca|proxy|http_proxy|https_proxy|noproxy|strict_ssl|\/\/.*)$/i;
  return Object.fromEntries(Object.entries(outer).filter(([name]) => !/^npm_/i.test(name) || kept.test(name)));
}

/** @param {NodeJS.ProcessEnv} env @param {string[]} folders @returns {NodeJS.ProcessEnv} */
function withPath(env, folders) {
  return { ...env, PATH: [...folders, env["PATH"]].filter(Boolean).join(path.delimiter) };
}

/** Outputs of npm or pnpm, each with its most likely cause and the way out. */
const REMEDIES = /** @type {const} */ ([
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|META_FETCH_FAIL|error sending request|dns error|tcp connect/i,
    "The npm registry can't be reached. Check the network; behind a proxy, set it with `npm config set proxy <url>`; for a mirror use `npm config set registry <url>`.",
  ],
  [
    /CERT|certificate/i,
    "The registry's TLS certificate is not trusted here. Set `npm config set cafile <file>` and NODE_EXTRA_CA_CERTS.",
  ],
  [/ENOSPC|No space left/i, "The disk is full. Free about 1 GB."],
  [
    /EACCES|EPERM|EROFS|Permission denied/i,
    "Files here can't be written. Check the owner of the clone and of the npm cache.",
  ],
  [
    /OUTDATED_LOCKFILE/i,
    "pnpm-lock.yaml does not fit the package.json files. Run `pnpm install` and commit the lockfile.",
  ],
  [
    /IGNORED_BUILDS/i,
    "A dependency has an install script that nobody allowed. Decide in allowBuilds of pnpm-workspace.yaml.",
  ],
  [
    /E404|ERR_PNPM_FETCH_404|NO_MATCHING_VERSION|ETARGET/i,
    "The registry lacks a pinned version. A mirror may be behind: try `npm config delete registry`.",
  ],
]);

/**
 * @param {string} label @param {string} command @param {readonly string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv, shownLines?: number }} options
 */
async function setUp(label, command, args, { shownLines = 20, ...options }) {
  let ended;
  try {
    ended = await runQuietly(label, command, args, options);
  } catch (error) {
    throw new SetupError(`"${command}" could not be started (${String(error)}). Is npm installed and in PATH?`);
  }
  if (ended.interruptedBy !== null) throw new Interrupted(ended.code === 0 ? 130 : ended.code);
  if (ended.code === 0) return;
  console.error(ended.output.trim().split("\n").slice(-shownLines).join("\n"));
  const remedy = REMEDIES.find(([pattern]) => pattern.test(ended.output))?.[1] ?? "The lines above say why.";
  throw new SetupError(`${label} failed (exit code ${ended.code}). ${remedy} Then run the same command again.`);
}

/**
 * Installs the toolchain beside its final place, and moves it there when it has proved to work. So an interrupted
 * installation is never taken for a complete one, and two at once don't disturb each other.
 * @param {NodeJS.ProcessEnv} env
 */
async function installToolchain(env) {
  mkdirSync(TOOLCHAINS, { recursive: true });
  for (const name of readdirSync(TOOLCHAINS)) {
    const owner = /^staging-(?<pid>\d+)$/.exec(name)?.groups?.["pid"];
    if (owner !== undefined && !isAlive(Number(owner))) discard(path.join(TOOLCHAINS, name));
  }
  if (existsSync(TOOLCHAIN)) return;

  const staging = path.join(TOOLCHAINS, `staging-${process.pid}`);
  mkdirSync(staging, { recursive: true });
  try {
    const manifest = { private: true, dependencies: TOOLS, allowScripts: { node: true, pnpm: true } };
    writeFileSync(path.join(staging, "package.json"), JSON.stringify(manifest));
    const npm = npmCommand();
    await setUp(
      `Installing Node ${TOOLS.node} and pnpm ${TOOLS.pnpm} into .toolchain/`,
      npm.command,
      // Both packages fetch the binary of this platform in their install scripts.
      [
        ...npm.args,
        "install",
        "--ignore-scripts=false",
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        "--loglevel=error",
      ],
      { cwd: staging, env },
    );
    const bin = path.join(staging, "node_modules", ".bin");
    for (const [tool, version] of Object.entries(TOOLS)) {
      const ended = await run(path.join(bin, tool), ["--version"], {
        cwd: staging,
        env: withPath(env, [bin]),
        capture: () => undefined,
      }).catch((/** @type {unknown} */ error) => ({ code: 1, output: String(error) }));
      if (ended.code !== 0 || ended.output.trim().replace(/^v/, "") !== version) {
        throw new SetupError(
          `${tool} ${version} was installed but does not run on ${process.platform}-${process.arch}: ${ended.output.trim()}. ` +
            `Put Node ${TOOLS.node} and pnpm ${TOOLS.pnpm} into PATH yourself and run \`pnpm install && pnpm verify\`.`,
        );
      }
    }
    try {
      renameSync(staging, TOOLCHAIN);
    } catch (error) {
      if (!existsSync(TOOLCHAIN)) throw error;
    }
  } finally {
    discard(staging);
  }
}

/** Removes as much as can be: the npm of a killed bootstrap may still be writing there. @param {string} folder */
function discard(folder) {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // A folder that stays is in nobody's way, and the next installation tries again.
  }
}

/** The npm that runs us, else the one in PATH. @returns {{ command: string, args: string[] }} */
function npmCommand() {
  const script = process.env["npm_execpath"];
  if (script !== undefined && path.basename(script) === "npm-cli.js")
    return { command: process.execPath, args: [script] };
  return { command: "npm", args: [] };
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** @param {string[]} argv @returns {Promise<number>} exit code */
async function main(argv) {
  if (process.platform === "win32") throw new SetupError("Windows is not supported yet. Use WSL.");
  const [major = 0] = process.versions.node.split(".").map(Number);
  if (major < OLDEST_NODE_MAJOR) {
    throw new SetupError(
      `This is Node ${process.versions.node}; Node ≥ ${OLDEST_NODE_MAJOR} is needed. Install a newer one.`,
    );
  }
  const build = argv[0] === "--build";
  const [script, ...args] = build ? argv.slice(1) : argv;
  const { scripts } = /** @type {{ scripts: Record<string, string> }} */ (
    JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"))
  );
  const line = script === undefined ? undefined : scripts[script];
  if (script !== undefined && line === undefined) {
    throw new SetupError(`package.json has no script "${script}". There are: ${Object.keys(scripts).join(", ")}.`);
  }

  const outer = cleanEnvironment(process.env);
  await installToolchain(outer);
  const env = withPath(outer, [WORKSPACE_BIN, TOOLS_BIN]);
  const inRoot = { cwd: ROOT, env };
  await setUp("Installing dependencies", path.join(TOOLS_BIN, "pnpm"), ["install", "--frozen-lockfile"], inRoot);
  if (build)
    await setUp("Building all packages", path.join(TOOLS_BIN, "pnpm"), ["--silent", "run", "build"], {
      ...inRoot,
      shownLines: 200,
    });

  if (script === undefined) {
    console.log(`Ready. For this shell: export PATH="${TOOLS_BIN}:$PATH"`);
    return 0;
  }
  // As package managers do it: the script is a shell command, arguments are appended to it.
  const ended = await run("/bin/sh", ["-c", `${line} "$@"`, script, ...args], inRoot);
  return ended.code;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof Interrupted) {
    process.exitCode = error.code;
  } else if (error instanceof SetupError) {
    console.error(`\n✗ ${error.message}`);
    process.exitCode = 1;
  } else {
    throw error;
  }
}
