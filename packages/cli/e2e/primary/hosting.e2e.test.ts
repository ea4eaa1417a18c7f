/** A server that the developer hosts: the files that `radical primary` writes, started as the Dockerfile and the unit say. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { radical } from "../radical-process.ts";
import { valueOf } from "./alarm-values.ts";
import { fieldsOf } from "./metric-filter.ts";

const KEYS = `main:${"ab".repeat(32)}`;
let folder: string;
let written: readonly string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "radical-hosting-"));
  const { code, stdout, stderr } = await radical(["primary", "--out", join(folder, "primary"), "--json"]);
  if (code !== 0) throw new Error(stderr);
  written = (JSON.parse(stdout) as { files: string[] }).files;
});
afterAll(() => rmSync(folder, { recursive: true }));

test("radical primary writes the server and what hosts it", () => {
  expect(written.toSorted()).toEqual([
    "Dockerfile",
    "LICENSES.txt",
    "bill-of-materials.cdx.json",
    "dist/main.js",
    "dist/worker.js",
    "healthy.mjs",
    "package.json",
    "radical-lvi-server.service",
  ]);
});

test("the image of the Dockerfile: what it copies is there, and its command serves", async () => {
  const instructions = readFileSync(join(folder, "primary/Dockerfile"), "utf8")
    .replaceAll("\\\n", "")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line): [string, string] => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)]);
  expect(instructions[0]).toEqual(["FROM", expect.stringMatching(/^node:24\.\d+\.\d+-slim@sha256:[0-9a-f]{64}$/)]);
  const image = join(folder, "image");
  // The folder itself belongs to who runs the test; what lies in it is root's, as in an image.
  mkdirSync(image);
  chmodSync(folder, 0o755);
  const inImage = (path: string): string => join(image, path);
  let [workdir, user] = ["/", "root"];
  let command: string[] = [];
  let health: string[] = [];
  const [environment, volumes]: [Record<string, string>, string[]] = [{}, []];
  for (const [name, rest] of instructions) {
    switch (name) {
      case "WORKDIR":
        workdir = rest;
        // As docker makes it: root's, if it is not there.
        mkdirSync(inImage(rest), { recursive: true });
        break;
      case "COPY": {
        const named = rest.split(" ");
        const to = named.pop()!;
        for (const from of named) {
          const placed = inImage(to.endsWith("/") ? join(to, from) : to);
          mkdirSync(dirname(placed), { recursive: true });
          cpSync(join(folder, "primary", from), placed, { recursive: true });
        }
        break;
      }
      case "RUN": {
        const [, owner, group, mode, path] = /^install -d -o (\w+) -g (\w+) -m (\d+) (\S+)$/.exec(rest) ?? [];
        expect({ owner, group }).toEqual({ owner: "node", group: "node" });
        mkdirSync(inImage(path!), { recursive: true });
        chmodSync(inImage(path!), Number.parseInt(mode!, 8));
        if (AS_NODE.uid !== undefined) chownSync(inImage(path!), AS_NODE.uid, AS_NODE.gid!);
        break;
      }
      case "ENV":
        for (const pair of rest.split(/ +/)) Object.assign(environment, Object.fromEntries([pair.split("=")]));
        break;
      case "USER":
        user = rest;
        break;
      case "VOLUME":
        volumes.push(rest);
        break;
      case "HEALTHCHECK":
        health = JSON.parse(rest.slice(rest.indexOf("CMD ") + 4)) as string[];
        break;
      case "ENTRYPOINT":
        command = JSON.parse(rest) as string[];
        break;
      default:
        expect(["FROM", "LABEL", "EXPOSE", "STOPSIGNAL"]).toContain(name);
    }
  }
  expect(user).toBe("node");
  expect(volumes).toContain(workdir);
  expect(environment).toMatchObject({ RADICAL_HOST: "0.0.0.0", RADICAL_PORT: "8788" });
  const inHere = (part: string): string => part.replace(/\/(?:opt|var\/lib)\/radical/, inImage);
  const placed = command.map(inHere);
  // Only the loopback interface here, and any port. Its storage is the default.
  const given = { ...environment, RADICAL_STORAGE: inHere(environment["RADICAL_STORAGE"]!) };
  const settings = { ...given, RADICAL_HOST: "127.0.0.1", RADICAL_PORT: "0", RADICAL_KEYS: KEYS };
  health = health.map(inHere);
  const { url, stop } = await serving(placed, inImage(workdir), settings, AS_NODE);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  const healthOf = (port: string): number | null =>
    spawnSync(process.execPath, health.slice(1), { env: { RADICAL_PORT: port }, ...AS_NODE }).status;
  expect(health[0]).toBe("node");
  // Its first write, the leadership, is in the database; the next is a module.
  expect(statSync(join(inImage(workdir), "radical.sqlite")).size).toBeGreaterThan(0);
  if (AS_NODE.uid !== undefined) expect(statSync(join(inImage(workdir), "radical.sqlite")).uid).toBe(AS_NODE.uid);
  expect(await exitOf(process.execPath, health.slice(1), { RADICAL_PORT: new URL(url).port })).toBe(0);
  expect(await stop()).toBe(0);
  expect(healthOf(new URL(url).port)).toBe(1);
});

test("a server that can't start, or fails, says so in a line that the alarm of a deployment counts", async () => {
  const counted = (log: string): readonly unknown[] => {
    const lines = log.split("\n").filter((line) => line !== "");
    // Nothing of it is plain text.
    expect(valueOf("PlainLines", lines)).toBe(null);
    const errors = lines.filter((line) => valueOf("Errors", [line]) !== null);
    return errors.map((line) => fieldsOf(line));
  };
  // A handler may log what it likes.
  expect(counted('{"level":"error","event":"handler_log","message":"no such user"}')).toEqual([]);

  const program = [process.execPath, join(folder, "primary/dist/main.js")];
  const later = new DatabaseSync(join(folder, "other.sqlite"));
  later.exec(
    "CREATE TABLE meta (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT; INSERT INTO meta VALUES ('schema', 99)",
  );
  later.close();
  const settings = { RADICAL_KEYS: KEYS, RADICAL_PORT: "0", RADICAL_STORAGE: "sqlite:app.sqlite" };
  for (const [code, args, environment, words] of [
    [2, [], { RADICAL_STORAGE: "sqlite:other.sqlite" }, /other\.sqlite has schema 99, .* and this one knows up to 8/],
    [2, [], { RADICAL_LEASE_MS: "soon" }, /RADICAL_LEASE_MS/],
    [2, ["--no-such-option"], {}, /no-such-option/],
    [2, [], { RADICAL_KEYS: "" }, /RADICAL_KEYS/],
  ] as const) {
    const ended = spawnSync(program[0]!, [program[1]!, ...args], {
      cwd: folder,
      env: { ...settings, ...environment },
      encoding: "utf8",
    });
    expect({ code: ended.status, words: words.source }).toEqual({ code, words: words.source });
    expect(counted(ended.stderr)).toEqual([
      expect.objectContaining({
        event: "not_started",
        exitCode: code,
        reason: expect.stringMatching(words) as unknown,
      }),
    ]);
  }
  for (const [event, planted] of [
    ["uncaught_exception", "throw new Error('planted')"],
    ["unhandled_rejection", "void Promise.reject(new Error('planted'))"],
  ] as const) {
    const preload = `--import=data:text/javascript,process.on("SIGUSR2",()=>{${encodeURIComponent(planted)}})`;
    const { child, log, ended } = await serving([program[0]!, preload, program[1]!], folder, settings);
    child.kill("SIGUSR2");
    expect(await ended).toEqual([1, null]);
    expect(counted(log())).toEqual([
      expect.objectContaining({ event, exitCode: 1, reason: expect.stringContaining("planted") as unknown }),
    ]);
  }
});

test("the unit: its command serves with the settings of its file, and systemd has nothing to say against it", async () => {
  const text = readFileSync(join(folder, "primary/radical-lvi-server.service"), "utf8");
  const [, command = ""] = /^ExecStart=(.*)$/m.exec(text) ?? [];
  const settings = { RADICAL_KEYS: KEYS, RADICAL_STORAGE: "sqlite:app.sqlite", RADICAL_PORT: "0" };
  const state = join(folder, "state");
  mkdirSync(state);
  const placed = command.replace("/opt/radical", join(folder, "primary")).replace("/usr/bin/node", process.execPath);
  const { url, stop } = await serving(placed.split(" "), state, settings);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect(await stop()).toBe(0);

  // Where there is systemd, it reads the unit; the places are those of this test.
  if (spawnSync("systemd-analyze", ["--version"]).status !== 0) return;
  const unit = join(folder, "radical-lvi-server.service");
  writeFileSync(unit, text.replace(/^ExecStart=.*$/m, `ExecStart=${placed}`));
  expect(execFileSync("systemd-analyze", ["verify", "--man=no", unit], { encoding: "utf8", stdio: "pipe" })).toBe("");
});

/** As root, an unprivileged user; else whoever runs the test. */
const AS_NODE: { readonly uid?: number; readonly gid?: number } =
  process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {};

interface Serving {
  readonly child: ChildProcess;
  readonly url: string;
  /** Its standard error so far. */
  readonly log: () => string;
  readonly ended: Promise<readonly [code: number | null, signal: NodeJS.Signals | null]>;
  readonly stop: () => Promise<number | null>;
}

async function exitOf(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number | null> {
  const [code] = (await once(spawn(program, args, { env, ...AS_NODE, stdio: "ignore" }), "exit")) as [number | null];
  return code;
}

async function serving(
  [program, ...args]: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>>,
  user: { readonly uid?: number; readonly gid?: number } = {},
): Promise<Serving> {
  const child: ChildProcess = spawn(program === "node" ? process.execPath : program!, args, {
    cwd,
    env: { PATH: process.env["PATH"], ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    ...user,
  });
  let errors = "";
  child.stderr!.on("data", (data: Buffer) => (errors += data.toString()));
  const ended = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  const [line] = await Promise.race([
    once(createInterface(child.stdout!), "line") as Promise<[string]>,
    ended.then(() => {
      throw new Error(`the server ended: ${errors}`);
    }),
  ]);
  return {
    child,
    url: `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`,
    log: () => errors,
    ended,
    stop: async () => {
      child.kill("SIGTERM");
      return (await ended)[0];
    },
  };
}
