import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claimStateFolder } from "./process-record.ts";

let folder: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-processes-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

test("children of a run that was killed are ended at the next start", async () => {
  const { record } = await claimStateFolder(folder);
  const child = await startSleeper();
  await record.update();
  // As if this process had been killed: its record stays, its owner is gone. It has other children, which live on.
  await edit(({ children: recorded }) => ({
    owner: { pid: 0, startedAt: "never" },
    children: recorded.filter(({ pid }) => pid === child.pid),
  }));
  const ended = once(child, "exit");
  const { reaped } = await claimStateFolder(folder);
  expect(reaped).toEqual([child.pid]);
  await ended;
});

test("a process that only has the same id is left alone", async () => {
  const { record } = await claimStateFolder(folder);
  const child = await startSleeper();
  await record.update();
  await edit((recorded) => ({
    owner: { pid: 0, startedAt: "never" },
    children: recorded.children.map(({ pid }) => ({ pid, startedAt: "before" })),
  }));
  expect((await claimStateFolder(folder)).reaped).toEqual([]);
  expect(child.exitCode).toBeNull();
});

test("a folder that another process uses is refused", async () => {
  const { record } = await claimStateFolder(folder);
  const child = await startSleeper();
  await record.update();
  await edit((recorded) => {
    const owner = recorded.children.find(({ pid }) => pid === child.pid);
    return { owner: owner ?? recorded.owner, children: [] };
  });
  await expect(claimStateFolder(folder)).rejects.toThrow(new RegExp(`process ${child.pid}`));
});

test("without a record, or with a broken one, there is nothing to end", async () => {
  expect((await claimStateFolder(folder)).reaped).toEqual([]);
  await writeFile(join(folder, "processes.json"), "{");
  const { record, reaped } = await claimStateFolder(folder);
  expect(reaped).toEqual([]);
  await record.remove();
  await expect(readFile(join(folder, "processes.json"))).rejects.toThrow(/ENOENT/);
});

interface Process {
  readonly pid: number;
  readonly startedAt: string;
}
interface Recorded {
  readonly owner: Process;
  readonly children: readonly Process[];
}

async function edit(change: (recorded: Recorded) => Recorded): Promise<void> {
  const file = join(folder, "processes.json");
  await writeFile(file, JSON.stringify(change(JSON.parse(await readFile(file, "utf8")) as Recorded)));
}

async function startSleeper(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["-e", "process.stdout.write('up'); process.stdin.resume()"]);
  children.push(child);
  await once(child.stdout, "data");
  return child;
}
