/**
 * moto's server as a child process on the loopback interface: it answers as AWS does, as far as it goes, and keeps everything in memory. It and the
 * AWS command line are Python; they are installed from PyPI once, pinned by hash, into the cache of this clone. A machine without
 * Python skips these tests with a line that says so, but CI may not.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const REQUIREMENTS = fileURLToPath(new URL("requirements.txt", import.meta.url));
const CACHE = fileURLToPath(new URL("../../../../node_modules/.cache", import.meta.url));

export interface Moto {
  readonly endpoint: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** What the SDK and the command line ask for; moto takes any. */
export const CREDENTIALS = {
  AWS_ACCESS_KEY_ID: "local",
  AWS_SECRET_ACCESS_KEY: "local",
  AWS_REGION: "us-east-1",
  AWS_DEFAULT_REGION: "us-east-1",
  AWS_EC2_METADATA_DISABLED: "true",
} as const;

/** Whether these tests run; throws in CI if they can't. */
export function hasPython(): boolean {
  const { status } = spawnSync("python3", ["-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))"]);
  if (status === 0) return true;
  const line = "moto needs Python 3.9 or later with venv, and `python3` is none";
  if (process.env["CI"] !== undefined && process.env["CI"] !== "")
    throw new Error(`${line}; CI may not skip its tests`);
  process.stderr.write(`skipped: ${line}\n`);
  return false;
}

/** The folder with `bin/python` and `bin/aws`. */
export function installMoto(): string {
  const digest = createHash("sha256").update(readFileSync(REQUIREMENTS)).digest("hex").slice(0, 16);
  const folder = join(CACHE, `moto-${digest}`);
  if (existsSync(folder)) return folder;
  process.stderr.write("installing moto from PyPI, once: about a minute\n");
  const half = `${folder}.${process.pid}`;
  mkdirSync(CACHE, { recursive: true });
  const run = (file: string, ...args: readonly string[]): void => {
    execFileSync(file, args, { stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, PIP_NO_INPUT: "1" } });
  };
  run("python3", "-m", "venv", half);
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps"];
  run(join(half, "bin/python"), ...pip, "--require-hashes", "--only-binary", ":all:", "--requirement", REQUIREMENTS);
  // The scripts of a virtual environment name the folder that it was made in.
  const aws = join(half, "bin/aws");
  writeFileSync(aws, `#!/bin/sh\nexec "${join(folder, "bin/python")}" -m awscli "$@"\n`);
  chmodSync(aws, 0o755);
  try {
    renameSync(half, folder);
  } catch (error) {
    // Another process may have been faster.
    if (!existsSync(folder)) throw error;
    rmSync(half, { recursive: true });
  }
  return folder;
}

const SERVER = `
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("port", server.get_host_and_port()[1], flush=True)
sys.stdin.read()
`;

export async function startMoto(): Promise<Moto> {
  const folder = installMoto();
  const child: ChildProcess = spawn(join(folder, "bin/python"), ["-c", SERVER], {
    env: { ...process.env, ...CREDENTIALS },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr!.on("data", (data: Buffer) => (errors = `${errors}${data.toString()}`.slice(-4_000)));
  const ended = once(child, "exit");
  const port = await new Promise<number>((resolve, reject) => {
    createInterface(child.stdout!).on("line", (line) => {
      const [, digits] = /^port (\d+)$/.exec(line) ?? [];
      if (digits !== undefined) resolve(Number(digits));
    });
    child.once("error", reject);
    void ended.then(() => reject(new Error(`moto ended: ${errors}`)));
  });
  return {
    endpoint: `http://127.0.0.1:${port}`,
    port,
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
