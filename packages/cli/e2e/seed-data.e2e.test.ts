/** `radical dev` writes the seed file of a project when there is no data yet, and only then. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createProject, radicalDev, startDev, type TemporaryProject } from "./radical-process.ts";

const RIGHT = '{"notes": {"first": {"text": "hello"}}}';

let project: TemporaryProject;

beforeEach(async () => {
  project = await createProject({
    "radical.config.ts": 'export default { name: "notes", dev: { locations: { A: 0 } } };\n',
    "seed.json": RIGHT,
    "handlers/notes.ts": `import { Table } from "@radical/sdk";
export class Note { text: string = ""; }
const notes = new Table<Note>("notes");
export function read(key: string): string {
  const note = notes.get(key);
  return note == null ? "" : note.text;
}
export function write(key: string, text: string): void {
  notes.put(key, { text });
}
`,
  });
});
afterEach(() => project?.remove());

interface Run {
  readonly events: readonly { readonly event: string }[];
  readonly call: (handler: string, args: object) => Promise<unknown>;
}

/** Runs `radical dev` until `use` is done. */
async function during(args: readonly string[], use: (run: Run) => Promise<void>): Promise<void> {
  const dev = await radicalDev(project.folder, args);
  const call = async (handler: string, body: object): Promise<unknown> => {
    const response = await fetch(`${dev.url}/api/${handler}`, { method: "POST", body: JSON.stringify(body) });
    return ((await response.json()) as { readonly result: unknown }).result;
  };
  try {
    await use({ events: dev.events, call });
  } finally {
    dev.child.kill("SIGTERM");
    await dev.closed;
  }
}

const seeded = ({ events }: Run) => events.filter(({ event }) => event === "seeded");
const ofSeed = { event: "seeded", file: "seed.json", items: 1 };

test("the first run writes it; later ones leave the data as it is, until --reset", async () => {
  await during([], async (run) => {
    await expect.poll(() => seeded(run), { timeout: 60_000 }).toEqual([ofSeed]);
    expect(await run.call("read", { key: "first" })).toBe("hello");
    await run.call("write", { key: "first", text: "changed" });
  });
  await during([], async (run) => {
    expect(await run.call("read", { key: "first" })).toBe("changed");
    expect(seeded(run)).toEqual([]);
  });
  await during(["--reset"], async (run) => {
    await expect.poll(() => seeded(run), { timeout: 60_000 }).toEqual([ofSeed]);
    expect(await run.call("read", { key: "first" })).toBe("hello");
  });
});

test("with --no-seed nothing is written", async () => {
  await during(["--no-seed"], async (run) => {
    expect(await run.call("read", { key: "first" })).toBe("");
    expect(seeded(run)).toEqual([]);
  });
});

test("a seed file with a mistake is told, nothing of it is written, and the application serves", async () => {
  await project.write("seed.json", '{"notes": {"first": {"text": "hello"}, "second": {"text": 2}}}');
  await during([], async (run) => {
    const failed = expect.objectContaining({
      event: "failed",
      code: "not_seeded",
      message: expect.stringContaining("notes/second") as unknown,
      hint: "Correct them: nothing was written. Then run: radical data seed",
    }) as unknown;
    await expect.poll(() => run.events, { timeout: 60_000 }).toContainEqual(failed);
    expect(await run.call("read", { key: "first" })).toBe("");
  });
});

test("a run that is killed while it writes the seed leaves it to the next one, which writes all of it", async () => {
  const last = "n".repeat(5);
  const notes = Array.from({ length: 5_000 }, (_, at) => [`n${at}`, { text: "hello" }]);
  await project.write("seed.json", JSON.stringify({ notes: Object.fromEntries([...notes, [last, { text: "last" }]]) }));
  const killed = startDev(project.folder, ["--port", "0"]);
  const data = join(project.folder, ".radical", "data.sqlite");
  await expect.poll(() => existsSync(data), { timeout: 60_000, interval: 2 }).toBe(true);
  process.kill(-killed.child.pid!, "SIGKILL");
  await killed.closed;
  expect(killed.events.filter(({ event }) => event === "seeded")).toEqual([]);
  await during([], async (run) => {
    await expect.poll(() => seeded(run), { timeout: 60_000 }).toEqual([{ ...ofSeed, items: 5_001 }]);
    expect(await run.call("read", { key: last })).toBe("last");
    await run.call("write", { key: last, text: "changed" });
  });
  await during([], async (run) => {
    expect(await run.call("read", { key: last })).toBe("changed");
    expect(seeded(run)).toEqual([]);
  });
});
