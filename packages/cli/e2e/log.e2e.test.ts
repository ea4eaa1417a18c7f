/** Lines that handlers log, through `radical dev` and `radical tail`: each once, and none of a run that was thrown away. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { ChildProcess } from "node:child_process";
import { LOG_PATH } from "@radical/protocol";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { loadProject } from "@radical/app";
import type { HandlerLine } from "../src/dev/dev-events.ts";
import { handlerLine } from "../src/dev/location-line.ts";
import { askPrimary, linesOf } from "@radical/admin";
import { primaryAddress } from "../src/operate/primary-address.ts";
import type { TailLine } from "../src/operate/tail/tail-line.ts";
import { eventsOf } from "./event-stream.ts";
import {
  createProject,
  radical,
  type RadicalDev,
  radicalDev,
  spawnRadical,
  type TemporaryProject,
} from "./radical-process.ts";

const CONFIG = (more = ""): string =>
  `export default { name: "notes", dev: { locations: { near: 0, far: 40, remote: 400 } }${more} };\n`;
const HANDLERS = (word: string): string => `import { abort, log, Table } from "@radical/sdk";

export class Note {
  text: string = "";
}
const notes = new Table<Note>("notes");

export function write(key: string, text: string): i32 {
  const before = notes.get(key);
  log(\`\${text} ${word} \${before == null ? "nothing" : before.text}\`);
  notes.put(key, { text });
  log.debug(\`\${text} done\`);
  return 1;
}

export function read(key: string, call: string): string {
  const note = notes.get(key);
  log(\`\${call} reads\`);
  return note == null ? "" : note.text;
}

/** @speculative */
export function add(key: string, call: string): string {
  const note = notes.get(key);
  const before = note == null ? "" : note.text;
  log(\`\${call} finds [\${before}]\`);
  notes.put(key, { text: before + "+" });
  return before + "+";
}

export function refuse(call: string): void {
  log.warn(\`\${call} is refused\`);
  abort(409, "refused", "It is refused.");
}

export function trap(call: string): void {
  log.error(\`\${call} traps\`);
  throw new Error("It is a fault.");
}

/** @nearstorage */
export function central(call: string): void {
  log(\`\${call} is at the primary\`);
}
`;

const SOON = { timeout: 100_000, interval: 30 };

let project: TemporaryProject;
let dev: RadicalDev;
let tail: ChildProcess;
const tailed: TailLine[] = [];

beforeAll(async () => {
  project = await createProject({ "radical.config.ts": CONFIG(), "handlers/notes.ts": HANDLERS("replaces") });
  dev = await radicalDev(project.folder, ["--no-watch"]);
  tail = spawnRadical(["tail", "--json", "--lines", "0"], { cwd: project.folder });
  createInterface(tail.stdout!).on("line", (line) => tailed.push(JSON.parse(line) as TailLine));
  const notices: string[] = [];
  createInterface(tail.stderr!).on("line", (line) => notices.push(line));
  await vi.waitUntil(() => notices.includes("edge: connected") && notices.includes("primary: connected"), SOON);
});
afterAll(async () => {
  const closed = new Promise((resolve) => tail.once("close", resolve));
  tail.kill("SIGINT");
  await closed;
  dev.child.kill("SIGTERM");
  await dev.closed;
  await project.remove();
});

interface Answer {
  readonly status: number;
  readonly path: string | null;
  readonly timing: string;
}

async function call(handler: string, args: unknown, location = "near"): Promise<Answer> {
  const headers = { "content-type": "application/json", "x-radical-location": location };
  const response = await fetch(`${dev.url}/api/${handler}`, { method: "POST", headers, body: JSON.stringify(args) });
  await response.text();
  const { headers: told } = response;
  return { status: response.status, path: told.get("x-radical-path"), timing: told.get("server-timing") ?? "" };
}

const shownByDev = (): readonly HandlerLine[] => dev.events.filter((event) => event.event === "handler_log");
const shownByTail = (): readonly HandlerLine[] =>
  tailed.map(({ line }) => handlerLine(line)).filter((line) => line !== null);

/** The messages about a call that both have shown, in their order. */
async function lines(about: string, expected: readonly string[]): Promise<void> {
  const of = (shown: readonly HandlerLine[]): readonly string[] =>
    shown
      .filter(({ message }) => message.startsWith(`${about} `))
      .map(({ level, location, message }) => `${location} ${level}: ${message}`);
  const [byDev, byTail] = [() => of(shownByDev()), () => of(shownByTail())];
  await expect.poll(byDev, SOON).toEqual(expected);
  await expect.poll(byTail, SOON).toEqual(expected);
}

/** The lines of handlers in the log of the primary, as it has written them. */
async function ofPrimary(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const primary = await primaryAddress(await loadProject(project.folder), null);
  const response = await askPrimary(primary, "POST", LOG_PATH, { lines: 1_000, follow: false, level: "debug" });
  const found: Readonly<Record<string, unknown>>[] = [];
  for await (const text of linesOf(response)) found.push(JSON.parse(text) as Readonly<Record<string, unknown>>);
  return found.filter(({ event }) => event === "handler_log");
}

async function fault(change: unknown): Promise<void> {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify(change);
  expect((await fetch(`${dev.url}/__radical/faults`, { method: "POST", headers, body })).status).toBe(200);
}

test("a run that the primary has confirmed: told by its location", async () => {
  expect((await call("write", { key: "a", text: "a1" })).path).toBe("speculative");
  await lines("a1", ["near info: a1 replaces nothing", "near debug: a1 done"]);
  expect((await call("write", { key: "a", text: "a2" })).path).toBe("speculative");
  await lines("a2", ["near info: a2 replaces a1", "near debug: a2 done"]);
  expect((await ofPrimary()).filter(({ message }) => String(message).startsWith("a1"))).toEqual([]);
});

test("a run on a stale cache is thrown away with its lines; told are those of the primary's", async () => {
  const { path, timing } = await call("write", { key: "a", text: "a3" }, "far");
  expect(path).toBe("near-storage");
  // The handler has run there, as if there were no note.
  expect(timing).toMatch(/\bf;dur=/);
  await lines("a3", ["far info: a3 replaces a2", "far debug: a3 done"]);
  expect((await ofPrimary()).filter(({ message }) => String(message).startsWith("a3"))).toMatchObject([
    { handler: "write", location: "far", path: "near-storage", line: 1, lines: 2, level: "info" },
    { line: 2, lines: 2, level: "debug" },
  ]);
});

test("a handler that runs near storage: told by the primary", async () => {
  expect((await call("central", { call: "c1" }, "far")).path).toBe("near-storage");
  await lines("c1", ["far info: c1 is at the primary"]);
});

test("a read that a lease answers: told by its location", async () => {
  const asked: string[] = [];
  const isLeased = async (): Promise<boolean> => {
    const id = `r${asked.length}`;
    asked.push(id);
    return (await call("read", { key: "a", call: id })).path === "leased";
  };
  await expect.poll(isLeased, SOON).toBe(true);
  for (const id of asked) await lines(id, [`near info: ${id} reads`]);
});

/** The last line of a reply. A result may stand before it: at a remote location there is time for one. */
async function early(args: unknown, location: string): Promise<unknown> {
  const headers = { "content-type": "application/json", "x-radical-location": location, prefer: "speculative" };
  const response = await fetch(`${dev.url}/api/add`, { method: "POST", headers, body: JSON.stringify(args) });
  return JSON.parse((await response.text()).trimEnd().split("\n").at(-1) ?? "");
}

test("a result that is shown before its confirmation: its lines are told after it, and only if it was right", async () => {
  await call("write", { key: "s", text: "s0" });
  await early({ key: "s", call: "s1" }, "near");
  await lines("s1", ["near info: s1 finds [s0]"]);
  // The location has seen no item there.
  expect(await early({ key: "s", call: "s2" }, "remote")).toMatchObject({ corrected: { result: "s0++" } });
  await lines("s2", ["remote info: s2 finds [s0+]"]);
});

test("a live query: told once for each run that gave a result", async () => {
  await call("write", { key: "l", text: "l0" });
  const live = eventsOf(`${dev.url}/api/read?key=l&call=q1`, { "x-radical-location": "far" });
  const next = async (): Promise<unknown> => (await live.next()).value?.data;
  expect(await next()).toEqual({ result: "l0" });
  await lines("q1", ["far info: q1 reads"]);
  await call("write", { key: "l", text: "l1" });
  expect(await next()).toEqual({ result: "l1" });
  await lines("q1", ["far info: q1 reads", "far info: q1 reads"]);
  await live.return();
  // Nobody listens anymore.
  await call("write", { key: "l", text: "l2" });
  await lines("l2", ["near info: l2 replaces l1", "near debug: l2 done"]);
  await lines("q1", ["far info: q1 reads", "far info: q1 reads"]);
});

test("executions that abort or trap are told of, too", async () => {
  expect((await call("refuse", { call: "x1" })).status).toBe(409);
  expect((await call("trap", { call: "x2" }, "far")).status).toBe(500);
  await lines("x1", ["near warn: x1 is refused"]);
  await lines("x2", ["far error: x2 traps"]);
});

test("a followup that gets lost: both halves have run the handler, and it is shown once", async () => {
  await fault({ dropFollowups: true });
  try {
    expect((await call("write", { key: "b", text: "b1" })).path).toBe("speculative");
    await lines("b1", ["near info: b1 replaces nothing", "near debug: b1 done"]);
    // It wants the unit, so the primary runs the first one again.
    await call("write", { key: "b", text: "b2" }, "far");
  } finally {
    await fault({ dropFollowups: false });
  }
  await lines("b2", ["far info: b2 replaces b1", "far debug: b2 done"]);
  const again = async (): Promise<unknown> =>
    (await ofPrimary()).filter(({ message }) => String(message).startsWith("b1 ")).map(({ path }) => path);
  await expect.poll(again, SOON).toEqual(["re-execution", "re-execution"]);
  // Both have shown later lines by then, and the first ones no second time.
  await call("central", { call: "fence" });
  await lines("fence", ["near info: fence is at the primary"]);
  await lines("b1", ["near info: b1 replaces nothing", "near debug: b1 done"]);
});

test("text that a terminal obeys is shown as what it is", async () => {
  await call("write", { key: "c", text: "c1\u001b[2J" });
  await expect.poll(() => shownByDev().some(({ message }) => message.startsWith("c1\u001b[2J")), SOON).toBe(true);
  const child = spawnRadical(["tail", "--lines", "100"], { cwd: project.folder });
  const closed = new Promise((resolve) => child.once("close", resolve));
  let shown = "";
  child.stdout!.on("data", (chunk: Buffer) => (shown += chunk.toString()));
  let notices = "";
  child.stderr!.on("data", (chunk: Buffer) => (notices += chunk.toString()));
  await expect.poll(() => notices.includes("edge: connected"), SOON).toBe(true);
  await call("write", { key: "c", text: "c2\u001b[2J" });
  await expect.poll(() => shown, SOON).toMatch(/edge {5}write +near +info +c2\\u001b\[2J replaces c1\\u001b\[2J\n/);
  child.kill("SIGINT");
  await closed;
  expect(shown).not.toContain("\u001b");
});

test("a recorded execution has its lines, and replay shows them beside those of other sources", async () => {
  const child = spawnRadical(["record", "--count", "1", "--handler", "write"], { cwd: project.folder });
  const closed = new Promise((resolve) => child.once("close", resolve));
  let told = "";
  child.stderr!.on("data", (chunk: Buffer) => (told += chunk.toString()));
  await expect.poll(() => told.includes("recording "), SOON).toBe(true);
  await call("write", { key: "d", text: "d1" });
  expect(await closed).toBe(0);
  const records = join(project.folder, "records.jsonl");
  expect(JSON.parse(await readFile(records, "utf8"))).toMatchObject({
    logged: [
      { level: "info", text: "d1 replaces nothing" },
      { level: "debug", text: "d1 done" },
    ],
  });
  const replayed = (...args: readonly string[]) =>
    radical(["replay", "records.jsonl", ...args], { cwd: project.folder });
  expect(await replayed()).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(await replayed("--log")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^write [0-9a-f]{32}\n {2}info {3}d1 replaces nothing\n {2}debug {2}d1 done\n$/,
    ) as string,
  });
  // Other lines fail nothing.
  await writeFile(join(project.folder, "handlers/notes.ts"), HANDLERS("overwrites"));
  expect(await replayed()).toMatchObject({
    code: 0,
    stdout: "",
    stderr: expect.stringContaining("1 execution logs other lines than when recorded") as string,
  });
  const { code, stdout } = await replayed("--log");
  expect([code, stdout.split("\n").slice(1)]).toEqual([
    0,
    ["- info   d1 replaces nothing", "+ info   d1 overwrites nothing", "  debug  d1 done", ""],
  ]);
});

test("the record of a call whose first result was wrong has the lines of the run that counted", async () => {
  await call("write", { key: "w", text: "w0" });
  const folder = await mkdtemp(join(tmpdir(), "radical-records-"));
  try {
    const records = join(folder, "records.jsonl");
    const child = spawnRadical(["record", "--output", records, "--count", "1", "--handler", "add"], {
      cwd: project.folder,
    });
    const closed = new Promise((resolve) => child.once("close", resolve));
    let told = "";
    child.stderr!.on("data", (chunk: Buffer) => (told += chunk.toString()));
    await expect.poll(() => told.includes("recording "), SOON).toBe(true);
    expect(await early({ key: "w", call: "w1" }, "remote")).toMatchObject({ corrected: { result: "w0+" } });
    expect(await closed).toBe(0);
    const { stdout } = await radical(["replay", records, "--log"], { cwd: project.folder });
    expect(stdout.split("\n").slice(1)).toEqual(["  info   w1 finds [w0]", ""]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("an application that is silent logs nothing", async () => {
  const silent = await createProject({
    "radical.config.ts": CONFIG(', log: "silent"'),
    "handlers/notes.ts": HANDLERS("replaces"),
  });
  const records = join(project.folder, "records.jsonl");
  try {
    const { code, stdout } = await radical(["replay", records, "--log"], { cwd: silent.folder });
    expect([code, stdout.split("\n").slice(1)]).toEqual([0, ["- info   d1 replaces nothing", "- debug  d1 done", ""]]);
  } finally {
    await silent.remove();
  }
});
