/** The bootstrap and its signals, as real processes in a repository of their own with a toolchain that is there. */
import { type ChildProcess, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const REPOSITORY = path.resolve(import.meta.dirname, "../..");
const { platform, arch, execPath } = process;
const source = readFileSync(path.join(REPOSITORY, "scripts/bootstrap.mjs"), "utf8");
const [node, pnpm] = ["node", "pnpm"].map((tool) => new RegExp(`${tool}: "([\\d.]+)"`).exec(source)?.[1]);

/** An address at which nobody listens: no system hands this port out. */
const nowhere = "http://127.0.0.1:1/";

let root = "";
let children: ChildProcess[] = [];

/** Scripts of the fixture: what a package script may do, and what it leaves behind if nobody ends it. */
const SCRIPTS = {
  fails: "node script.mjs exit 7",
  prints: "node script.mjs print",
  waits: "node script.mjs wait",
  stubborn: "node script.mjs stubborn",
};

const SCRIPT = `
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
const [mode, ...args] = process.argv.slice(2);
const log = (line) => appendFileSync("log", line + "\\n");
if (mode === "exit") process.exitCode = Number(args[0]);
if (mode === "print") console.log(JSON.stringify({ args, env: process.env }));
if (mode === "wait" || mode === "stubborn") {
  const grandchild = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.on(signal, () => {
      log(signal);
      // A clean-up that takes a few turns of the loop must be waited for.
      if (mode === "wait") setTimeout(() => (log("cleaned up"), process.exit(0)), 100);
    });
  }
  log(process.pid + " " + grandchild.pid);
  setInterval(() => {}, 1000);
}
`;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "radical-bootstrap-"));
  for (const file of ["bootstrap.mjs", "child.mjs"]) {
    cpSync(path.join(REPOSITORY, "scripts", file), path.join(root, "scripts", file));
  }
  writeFileSync(path.join(root, "package.json"), JSON.stringify({ private: true, scripts: SCRIPTS }));
  writeFileSync(path.join(root, "script.mjs"), SCRIPT);
  const bin = path.join(root, ".toolchain", `node-${node}-pnpm-${pnpm}-${platform}-${arch}`, "node_modules/.bin");
  mkdirSync(bin, { recursive: true });
  symlinkSync(execPath, path.join(bin, "node"));
  // The fixture has no dependencies to install; the stand-in only notes the call.
  writeFileSync(path.join(bin, "pnpm"), '#!/bin/sh\necho "$@" > pnpm-called\n', { mode: 0o755 });
});

afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  children = [];
  rmSync(root, { recursive: true });
});

interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
}

function bootstrap(args: string[], env: NodeJS.ProcessEnv = process.env): Run {
  const child = spawn(execPath, ["scripts/bootstrap.mjs", ...args], { cwd: root, env });
  children.push(child);
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk) => (stdout += String(chunk)));
  child.stderr.on("data", (chunk) => (stderr += String(chunk)));
  const ended = new Promise<Awaited<Run["ended"]>>((resolve) => {
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
  return { child, ended };
}

const log = (): string[] =>
  existsSync(path.join(root, "log")) ? readFileSync(path.join(root, "log"), "utf8").trim().split("\n") : [];

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // Where nothing reaps orphans, a dead one stays as a zombie.
    return platform !== "linux" || !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

test("the exit code of the script is carried", async () => {
  expect((await bootstrap(["fails"]).ended).code).toBe(7);
  expect(readFileSync(path.join(root, "pnpm-called"), "utf8").trim()).toBe("install --frozen-lockfile");
});

test("arguments arrive as they were given, and the toolchain is first in PATH", async () => {
  const { stdout, code } = await bootstrap(["prints", "--once", "two words", "$HOME", ""]).ended;
  expect(code).toBe(0);
  const { args, env } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as { args: string[]; env: { PATH: string } };
  expect(args).toEqual(["--once", "two words", "$HOME", ""]);
  expect(env.PATH.split(":").slice(0, 2)).toEqual([
    path.join(root, "node_modules/.bin"),
    expect.stringContaining(path.join(root, ".toolchain/node-")),
  ]);
});

test("options of an outer npm do not reach the script, the way to the registry does", async () => {
  const outer = {
    npm_config_prefix: "/nowhere",
    npm_command: "run-script",
    npm_config_registry: nowhere,
  };
  const { stdout } = await bootstrap(["prints"], { ...process.env, ...outer }).ended;
  const { env } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as { env: Record<string, string> };
  expect(env["npm_config_registry"]).toBe(nowhere);
  expect(Object.keys(env).filter((name) => name.startsWith("npm_"))).not.toContain("npm_config_prefix");
  expect(env["npm_command"]).toBeUndefined();
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s reaches the script once, is waited for, and leaves no process", async (signal, code) => {
  const { child, ended } = bootstrap(["waits"]);
  await vi.waitFor(() => expect(log()[0]).toMatch(/^\d+ \d+$/), { timeout: 100_000 });
  const pids = log()[0]?.split(" ").map(Number) ?? [];
  expect(pids.map(isAlive)).toEqual([true, true]);
  child.kill(signal);
  const result = await ended;
  // The script itself ended well (0) after its clean-up; a shell that stood between reports the signal.
  expect([0, code]).toContain(result.code);
  expect(log().slice(1)).toEqual([signal, "cleaned up"]);
  await vi.waitFor(() => expect(pids.map(isAlive)).toEqual([false, false]), { timeout: 100_000 });
});

test("when the bootstrap itself is killed, the script is ended", async () => {
  const { child } = bootstrap(["waits"]);
  await vi.waitFor(() => expect(log()[0]).toMatch(/^\d+ \d+$/), { timeout: 100_000 });
  child.kill("SIGKILL");
  const pids = log()[0]?.split(" ").map(Number) ?? [];
  await vi.waitFor(() => expect(pids.map(isAlive)).toEqual([false, false]), { timeout: 100_000 });
  expect(log().slice(1)).toEqual(["SIGTERM", "cleaned up"]);
});

test("a second signal ends a script that ignores the first", async () => {
  const { child, ended } = bootstrap(["stubborn"]);
  await vi.waitFor(() => expect(log()[0]).toMatch(/^\d+ \d+$/), { timeout: 100_000 });
  child.kill("SIGINT");
  await vi.waitFor(() => expect(log()).toHaveLength(2), { timeout: 100_000 });
  child.kill("SIGINT");
  expect((await ended).code).not.toBe(0);
  const pids = log()[0]?.split(" ").map(Number) ?? [];
  await vi.waitFor(() => expect(pids.map(isAlive)).toEqual([false, false]), { timeout: 100_000 });
});

test("an unknown script is named, with those that exist", async () => {
  const { code, stderr } = await bootstrap(["prnts"]).ended;
  expect(code).toBe(1);
  expect(stderr).toContain('has no script "prnts". There are: fails, prints, waits, stubborn.');
});

test("without a network the set-up says so, and leaves nothing that looks installed", async () => {
  rmSync(path.join(root, ".toolchain"), { recursive: true });
  // An npm that does not try again.
  const offline = { npm_config_registry: nowhere, npm_config_cache: path.join(root, "cache") };
  writeFileSync(path.join(root, "npmrc"), "fetch-retries=0\n");
  const env = { ...process.env, ...offline, npm_config_userconfig: path.join(root, "npmrc") };
  const { code, stderr } = await bootstrap(["prints"], env).ended;
  expect(code).toBe(1);
  expect(stderr).toContain("The npm registry can't be reached.");
  expect(readdirSync(path.join(root, ".toolchain"))).toEqual([]);
});

test("what an interrupted installation left is removed", async () => {
  const stale = path.join(root, ".toolchain", "staging-999999999");
  mkdirSync(stale);
  expect((await bootstrap(["fails"]).ended).code).toBe(7);
  rmSync(path.join(root, ".toolchain", `node-${node}-pnpm-${pnpm}-${platform}-${arch}`), { recursive: true });
  const env = {
    ...process.env,
    npm_config_registry: nowhere,
    npm_config_userconfig: path.join(root, "npmrc"),
  };
  writeFileSync(path.join(root, "npmrc"), "fetch-retries=0\n");
  await bootstrap(["fails"], { ...env, npm_config_cache: path.join(root, "cache") }).ended;
  expect(existsSync(stale)).toBe(false);
});
