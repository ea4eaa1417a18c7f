/** Servers that start at one moment on one SQLite file: each comes up, one of them serves, and the schema is made once. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface, type Interface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newestOf } from "../src/storage/schema.ts";
import { SQLITE_SCHEMAS } from "../src/storage/schemas.ts";
import { sqliteStorage } from "./storage-under-test.ts";
import { spawnServer } from "./test-process.ts";

const OPENING = fileURLToPath(new URL("opening-process.ts", import.meta.url));
const SCHEMA_4 = new URL("../src/storage/fixtures/schema-4.sql", import.meta.url);

let folder: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "radical-together-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  await rm(folder, { recursive: true, force: true });
});

test("a new file, and one of an older schema, are opened by several processes at once, which leave the older schema to the one that leads", async () => {
  const processes = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ["--conditions=source", OPENING], { stdio: ["pipe", "pipe", "inherit"] }),
  );
  children.push(...processes);
  const lines = processes.map((child) => createInterface(child.stdout));
  for (let round = 0; round < 60; round++) {
    const file = path.join(folder, `${round}.sqlite`);
    const isOld = round % 2 === 1;
    if (isOld) {
      const old = new DatabaseSync(file);
      old.exec(await readFile(SCHEMA_4, "utf8"));
      old.close();
    }
    const said = lines.map((line) => once(line, "line") as Promise<[string]>);
    for (const child of processes) child.stdin.write(`${file}\n`);
    expect((await Promise.all(said)).map(([line]) => JSON.parse(line) as string)).toEqual(Array(4).fill("opened"));
    const database = new DatabaseSync(file, { readOnly: true, timeout: 60_000 });
    expect(database.prepare("SELECT number FROM meta WHERE name = 'schema'").all()).toEqual([
      { number: isOld ? 4 : newestOf(SQLITE_SCHEMAS).readableFrom },
    ]);
    database.close();
  }
});

test("of two servers that start together one serves, and the other one waits for its leadership", async () => {
  for (let round = 0; round < 3; round++) {
    const { args } = sqliteStorage(path.join(folder, `${round}.sqlite`));
    const servers = [0, 1].map(() => spawnServer([...args, "--workers", "1"]));
    children.push(...servers);
    const states = servers.map((child) =>
      Promise.race([
        firstOf(createInterface(child.stdout!), ["listening"]),
        firstOf(createInterface(child.stderr!), ["waiting_for_leadership"]),
        once(child, "exit").then(([code]) => `ended with ${String(code)}`),
      ]),
    );
    expect((await Promise.all(states)).toSorted()).toEqual(["listening", "waiting_for_leadership"]);
    for (const server of servers) {
      server.kill("SIGKILL");
      await once(server, "exit");
    }
  }
});

/** The first of these events that a line tells. */
async function firstOf(lines: Interface, events: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    lines.on("line", (line) => {
      const event = eventOf(line);
      if (events.includes(event)) resolve(event);
    });
  });
}

function eventOf(line: string): string {
  try {
    return (JSON.parse(line) as { readonly event: string }).event;
  } catch {
    return "";
  }
}
