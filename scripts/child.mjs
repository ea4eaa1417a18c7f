/**
 * Runs a command so that nothing outlives us. Each child leads its own process group, which gets every signal that we get
 * exactly once. We end only after the whole group has. If we are killed, the group is ended too.
 *
 * Plain JavaScript for Node 20: bootstrap.mjs runs on whatever Node is there.
 */
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import os from "node:os";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

/** How long a group may take to clean up after a signal before it is killed. */
const GRACE_MS = 15_000;
/** Where lines can't be rewritten, a silent step says after 1 s that it runs, and then each 5 s that it still does. */
const FIRST_LINE_TICK = 1;
const NEXT_LINE_TICKS = 5;

/** @type {readonly NodeJS.Signals[]} */
const PASSED_ON = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * @typedef {object} Ended
 * @property {number} code exit code; 128 + the signal's number if a signal ended it, as shells have it
 * @property {string} output what it wrote, when captured
 * @property {NodeJS.Signals | null} interruptedBy the signal that we passed on, if any
 */

/**
 * @param {string} command @param {readonly string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv, capture?: (chunk: string) => void, stdout?: "stderr" }} options
 *   without `capture` the child writes to our own streams, with `stdout: "stderr"` to that one only
 * @returns {Promise<Ended>}
 */
export async function run(command, args, { cwd, env, capture, stdout }) {
  const stream = capture === undefined ? "inherit" : "pipe";
  // A leader of its own session can't read our terminal: it gets no input.
  const out = stream === "inherit" && stdout === "stderr" ? 2 : stream;
  /** @type {import("node:child_process").ChildProcess | undefined} */
  let child;
  /** @type {NodeJS.Signals[]} */
  const passedOn = [];
  /** @type {NodeJS.Timeout | undefined} */
  let killer;
  /** @param {NodeJS.Signals} signal */
  const passOn = (signal) => {
    // Asked a second time, we do not wait for a clean end any more.
    signalGroup(child?.pid, passedOn.length === 0 ? signal : "SIGKILL");
    passedOn.push(signal);
    killer ??= setTimeout(() => signalGroup(child?.pid, "SIGKILL"), GRACE_MS);
  };
  // The handlers come first: on a busy machine the child may be seen at work before `spawn` returns.
  for (const signal of PASSED_ON) process.on(signal, passOn);
  try {
    child = spawn(command, args, { cwd, env, stdio: ["ignore", out, stream], detached: true });
    return await endOf(child, capture, passedOn);
  } finally {
    clearTimeout(killer);
    for (const signal of PASSED_ON) process.off(signal, passOn);
  }
}

/**
 * Waits for the child and, once a signal was passed on, for its whole group.
 * @param {import("node:child_process").ChildProcess} child
 * @param {((chunk: string) => void) | undefined} capture
 * @param {readonly NodeJS.Signals[]} passedOn the signals that the group got so far
 * @returns {Promise<Ended>}
 */
async function endOf(child, capture, passedOn) {
  let output = "";
  /** @param {unknown} chunk */
  const take = (chunk) => {
    output += String(chunk);
    capture?.(String(chunk));
  };
  child.stdout?.on("data", take);
  child.stderr?.on("data", take);
  const closed = new Promise((resolve) => child.once("close", resolve));

  const guard = guardGroup(child.pid);
  try {
    const code = await new Promise((/** @type {(code: number) => void} */ resolve, reject) => {
      child.on("error", reject);
      child.on("exit", (exitCode, signal) => resolve(exitCode ?? 128 + os.constants.signals[signal ?? "SIGKILL"]));
    });
    if (passedOn.length > 0) await groupEnded(child.pid);
    signalGroup(child.pid, "SIGKILL");
    // The last output may still be in the pipe; a process that left the group may hold the pipe forever.
    if (capture !== undefined) await Promise.race([closed, sleep(1000, undefined, { ref: false })]);
    return { code, output, interruptedBy: passedOn[0] ?? null };
  } finally {
    guard.release();
  }
}

/**
 * Runs a command in silence behind one line that says what happens and how long it takes; what it wrote is returned.
 * @param {string} label @param {string} command @param {readonly string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv, stdout?: "stderr" }} options
 * @returns {Promise<Ended>}
 */
export async function runQuietly(label, command, args, options) {
  const startedMs = performance.now();
  const seconds = () => `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;
  const output = options.stdout === "stderr" ? process.stderr : process.stdout;
  const terminal = output.isTTY;
  let last = "";
  let ticks = 0;
  const heartbeat = setInterval(
    () => {
      ticks += 1;
      const line = `· ${label} … ${seconds()}  ${last}`;
      if (terminal) output.write(`\r\x1b[K${line.slice(0, output.columns - 1)}`);
      else if (ticks % NEXT_LINE_TICKS === FIRST_LINE_TICK) output.write(`${line.trimEnd()}\n`);
    },
    terminal ? 200 : 1000,
  );
  try {
    const ended = await run(command, args, {
      ...options,
      capture: (chunk) => {
        last = chunk.trim().split("\n").at(-1) ?? "";
      },
    });
    const mark = ended.code === 0 ? "✓" : "✗";
    output.write(`${terminal ? "\r\x1b[K" : ""}${mark} ${label} (${seconds()})\n`);
    return ended;
  } finally {
    clearInterval(heartbeat);
  }
}

/** @param {number | undefined} leader @param {NodeJS.Signals | 0} signal @returns {boolean} whether anybody was there to get it */
function signalGroup(leader, signal) {
  if (leader === undefined) return false;
  try {
    process.kill(-leader, signal);
    return true;
  } catch {
    return false;
  }
}

/**
 * Ends the group if we die without a chance to (SIGKILL): a shell outside of it waits for the pipe from us to break.
 * @param {number | undefined} leader
 */
function guardGroup(leader) {
  if (leader === undefined) return { release: () => undefined };
  const group = `-- -${leader}`;
  const wait = `n=0; while [ $n -lt ${GRACE_MS / 1000} ] && kill -s 0 ${group}; do sleep 1; n=$((n + 1)); done`;
  const end = `kill -s TERM ${group}; ${wait}; kill -s KILL ${group}`;
  const guard = spawn("/bin/sh", ["-c", `read -r released || { ${end}; }`], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  // Without a guard (no /bin/sh, no free process) we still do what signals allow.
  guard.on("error", () => undefined);
  guard.stdin.on("error", () => undefined);
  guard.unref();
  return { release: () => void guard.stdin.end("released\n") };
}

/** Waits until no process of the group is left, at most the time of grace. @param {number | undefined} leader */
async function groupEnded(leader) {
  const deadlineMs = performance.now() + GRACE_MS;
  while (signalGroup(leader, 0) && !onlyZombies(leader) && performance.now() < deadlineMs) await sleep(20);
}

/**
 * In a container whose first process collects no orphans, the dead of a group stay in the process table and take
 * signals. Only Linux shows them, in /proc.
 * @param {number | undefined} leader
 */
function onlyZombies(leader) {
  if (process.platform !== "linux") return false;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      // `pid (command) state parent group …`; the command may contain anything, even brackets.
      const [state, , group] = readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ");
      if (Number(group) === leader && state !== "Z") return false;
    } catch {
      // Gone in the meantime.
    }
  }
  return true;
}
