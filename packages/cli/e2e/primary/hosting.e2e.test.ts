/** A server that the developer hosts: the files that `radical primary` writes, started as the Dockerfile and the unit say. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { radical } from "../radical-process.ts";

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
    "dist/main.js",
    "dist/worker.js",
    "package.json",
    "radical-lvi-server.service",
  ]);
});

test("the image of the Dockerfile: what it copies is there, and its command serves", async () => {
  const instructions = readFileSync(join(folder, "primary/Dockerfile"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line): [string, string] => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)]);
  expect(instructions[0]).toEqual(["FROM", "node:24-slim"]);
  const image = join(folder, "image");
  let workdir = image;
  let command: string[] = [];
  const environment: Record<string, string> = {};
  for (const [name, rest] of instructions) {
    switch (name) {
      case "WORKDIR":
        workdir = join(image, rest);
        mkdirSync(workdir, { recursive: true });
        break;
      case "COPY": {
        const [from, to] = rest.split(" ") as [string, string];
        const source = join(folder, "primary", from);
        cpSync(source, to.endsWith("/") ? join(workdir, to, from) : join(workdir, to), { recursive: true });
        break;
      }
      case "ENV":
        for (const pair of rest.split(" ")) Object.assign(environment, Object.fromEntries([pair.split("=")]));
        break;
      case "CMD":
        command = JSON.parse(rest) as string[];
        break;
      default:
        expect(["FROM", "USER", "EXPOSE", "STOPSIGNAL"]).toContain(name);
    }
  }
  // Only the loopback interface here, and any port.
  expect(environment).toMatchObject({ RADICAL_HOST: "0.0.0.0", RADICAL_PORT: "8788" });
  const { url, stop } = await serving(command, workdir, {
    ...environment,
    RADICAL_HOST: "127.0.0.1",
    RADICAL_PORT: "0",
    RADICAL_KEYS: KEYS,
    RADICAL_STORAGE: `sqlite:${join(folder, "image.sqlite")}`,
  });
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect(await stop()).toBe(0);
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

async function serving(
  [program, ...args]: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly url: string; readonly stop: () => Promise<number | null> }> {
  const child: ChildProcess = spawn(program === "node" ? process.execPath : program!, args, {
    cwd,
    env: { PATH: process.env["PATH"], ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr!.on("data", (data: Buffer) => (errors += data.toString()));
  const ended = once(child, "exit") as Promise<[number | null]>;
  const [line] = await Promise.race([
    once(createInterface(child.stdout!), "line") as Promise<[string]>,
    ended.then(() => {
      throw new Error(`the server ended: ${errors}`);
    }),
  ]);
  return {
    url: `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`,
    stop: async () => {
      child.kill("SIGTERM");
      return (await ended)[0];
    },
  };
}
