/** A task that was enqueued by one build, and whose handler takes other arguments in the next one. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { ListedTask } from "@radical/protocol";
import { createProject, radical, type RadicalDev, radicalDev, type TemporaryProject } from "./radical-process.ts";

const handlers = (parameters: string): string => `import { Table, enqueue } from "@radical/sdk";

const notes = new Table<string>("notes");

/** @internal */
export function note(${parameters}): void {
  notes.put("last", what.toString());
}

export function later(${parameters}): string {
  return enqueue(note(${parameters.includes("other") ? "what, other" : "what"}), { delay: 86_400_000 });
}

export function last(): string {
  return notes.get("last") ?? "none";
}
`;

const SOON = { timeout: 100_000, interval: 30 };

let project: TemporaryProject;
let dev: RadicalDev;

beforeAll(async () => {
  project = await createProject({
    "radical.config.ts": 'export default { name: "misfits" };\n',
    "handlers/note.ts": handlers("what: string"),
  });
  dev = await radicalDev(project.folder);
});

afterAll(async () => {
  process.kill(dev.child.pid!, "SIGINT");
  await dev.closed;
  await project.remove();
});

async function tasks(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await radical(["tasks", ...args, "--project", project.folder]);
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

async function shown(id: string): Promise<ListedTask | undefined> {
  const { tasks: found } = JSON.parse(await tasks("list", "--json")) as { readonly tasks: readonly ListedTask[] };
  return found.find((task) => task.id === id);
}

async function build(parameters: string): Promise<void> {
  const from = dev.events.length;
  await project.write("handlers/note.ts", handlers(parameters));
  await vi.waitUntil(() => dev.events.slice(from).some(({ event }) => event === "serving"), SOON);
}

async function call(handler: string, args: unknown): Promise<unknown> {
  const answer = await fetch(`${dev.url}/api/${handler}`, {
    method: "POST",
    body: JSON.stringify(args),
    headers: { "content-type": "application/json" },
  });
  return ((await answer.json()) as { readonly result: unknown }).result;
}

test.each([
  ["of another type", "what: i32", /^the arguments, field what: expected an integer, found text/],
  ["that is missing", "what: string, other: i32", /^missing argument other/],
])(
  "a task for a handler with a parameter %s is dead at once, and runs when a build fits",
  async (_, parameters, words) => {
    const id = (await call("later", { what: `before ${parameters}` })) as string;
    await build(parameters);
    await tasks("run", id);
    const dead = await vi.waitUntil(async () => {
      const task = await shown(id);
      return task?.state === "dead" ? task : null;
    }, SOON);
    expect(dead).toMatchObject({ handler: "note", failures: 1, error: { code: "arguments" } });
    expect(dead.error?.message).toMatch(words);
    await build("what: string");
    await vi.waitUntil(async () => (await shown(id)) === undefined, SOON);
    expect(await call("last", {})).toBe(`before ${parameters}`);
  },
);
