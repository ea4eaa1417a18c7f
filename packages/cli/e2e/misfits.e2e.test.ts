/** Stored items that do not fit the types of a build: `radical dev` does not serve it; accepted, its handlers tell the item. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RadicalDev, type TemporaryProject, createProject, radicalDev } from "./radical-process.ts";

const SOON = { timeout: 100_000, interval: 30 };

const notes = (field: string): string => `import { Table } from "@radical/sdk";
export class Line { ${field}; }
export class Note { lines: Line[] = [new Line(), new Line()]; }
const notes = new Table<Note>("notes");
export function keep(key: string): void { notes.put(key, new Note()); }
export function count(key: string): i32 {
  const note = notes.get(key);
  return note == null ? 0 : note.lines.length;
}
`;

let project: TemporaryProject;
const running: RadicalDev[] = [];

beforeAll(async () => {
  project = await createProject({
    "radical.config.ts": 'export default { name: "notes", dev: { locations: { A: 0, B: 0 } } };\n',
    "handlers/notes.ts": notes('words: string = "x"'),
  });
});
afterAll(async () => {
  for (const dev of running) await stop(dev);
  await project.remove();
});

async function start(...args: readonly string[]): Promise<RadicalDev> {
  const dev = await radicalDev(project.folder, args);
  running.push(dev);
  return dev;
}

async function stop({ child, closed }: RadicalDev): Promise<void> {
  child.kill("SIGTERM");
  await closed;
}

/** Status, path, and the result or the message. */
async function call(url: string, handler: string, location = "A"): Promise<readonly unknown[]> {
  const response = await fetch(`${url}/api/${handler}`, {
    method: "POST",
    body: '{"key": "5c67"}',
    headers: { "content-type": "application/json", "x-radical-location": location },
  });
  const body = (await response.json()) as { readonly result?: unknown; readonly error?: { readonly message: string } };
  return [response.status, response.headers.get("x-radical-path"), body.error?.message ?? body.result];
}

const REFUSED = {
  event: "failed",
  code: "data_does_not_fit",
  message:
    "The stored data does not fit the types of this build:\n  notes[].lines[].words: string → i32\n    1 of 1 item; the first is notes/5c67, field lines[0].words: expected an integer, found text",
  hint: expect.stringContaining("radical dev --accept-misfits") as unknown,
};

test("a save whose types stored items do not fit is refused, and so is the next start; the last good build serves on", async () => {
  const dev = await start();
  expect((await call(dev.url, "keep"))[0]).toBe(200);
  await project.write("handlers/notes.ts", notes("words: i32 = 1"));
  await expect.poll(() => dev.events.find(({ event }) => event === "failed"), SOON).toEqual(REFUSED);
  expect(await call(dev.url, "count")).toMatchObject([200, expect.anything(), 2]);
  // Another name for it, and the old one dropped.
  await project.write("handlers/notes.ts", notes("size: i32 = 1"));
  await expect.poll(() => dev.events.filter(({ event }) => event === "serving").length, SOON).toBe(1);
  expect(await call(dev.url, "count")).toMatchObject([200, expect.anything(), 2]);
  await stop(dev);

  await project.write("handlers/notes.ts", notes("words: i32 = 1"));
  const next = await start("--accept-misfits");
  const words = "The handler failed: notes/5c67, field lines[0].words: expected an integer, found text";
  // The cache has the item; another one has not, and asks the primary.
  expect(await call(next.url, "count", "A")).toEqual([500, expect.stringMatching(/^(speculative|leased)$/), words]);
  expect(await call(next.url, "count", "B")).toEqual([500, "near-storage", words]);
  await stop(next);
});
