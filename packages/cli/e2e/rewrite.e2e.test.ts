/** `radical data rewrite` beside a build that serves: killed again and again, it loses nothing, and goes on. */
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readRunning } from "@radical/local";
import { loadDeploymentKeys, privateKeyText } from "@radical/admin";
import {
  createProject,
  radical,
  type RadicalDev,
  radicalDev,
  spawnRadical,
  type TemporaryProject,
} from "./radical-process.ts";

const ITEMS = 2_000;
const KILLS = 10;
/** Behind so many pages, the next one is under way. */
const PAGES_UNTIL_KILLED = 2;
const WRITERS = 2;

/** `fields`: those that the build which serves does not know. */
const handlers = (fields = ""): string => `import { Table } from "@radical/sdk";
export class Note {
  /** @was body */
  text: string = "";
  edits: i64 = 0;
  ${fields}
}
const notes = new Table<Note>("notes");
export function edit(key: string): void {
  const note = notes.get(key);
  if (note == null) return;
  note.edits += 1;
  notes.put(key, note);
}
`;

interface Line {
  readonly table: string;
  readonly read: number;
  readonly rewritten: number;
  readonly last: string | null;
  readonly done?: boolean;
}

let project: TemporaryProject;
let dev: RadicalDev;

beforeAll(async () => {
  project = await createProject({
    "radical.config.ts": 'export default { name: "notes", dev: { locations: { A: 0, B: 0 } } };\n',
    "handlers/notes.ts": handlers(),
  });
  dev = await radicalDev(project.folder, ["--no-watch"]);
});
afterAll(async () => {
  dev.child.kill("SIGTERM");
  await dev.closed;
  await project.remove();
});

const data = (...args: readonly string[]): ReturnType<typeof radical> =>
  radical(["data", ...args], { cwd: project.folder });
const keyOf = (index: number): string => `n${String(index).padStart(5, "0")}`;

async function putFormer(count: number, from = 0): Promise<void> {
  const lines = Array.from(
    { length: count },
    (_, index) => `{"table":"notes","key":"${keyOf(from + index)}","value":{"body":"words ${index}","edits":0}}`,
  );
  const { code, stderr } = await radical(["data", "import", "-", "--untyped"], {
    cwd: project.folder,
    input: lines.join("\n"),
  });
  expect(stderr).toContain(`${count} items written`);
  expect(code).toBe(0);
}

/** The values in the table by key. */
async function stored(): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>> {
  const { stdout } = await data("export", "notes");
  const items = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly key: string; readonly value: Readonly<Record<string, unknown>> });
  return new Map(items.map(({ key, value }) => [key, value]));
}

/** Kills a rewriting behind some pages. The last key that it has told. */
async function killed(args: readonly string[]): Promise<string> {
  const child = spawnRadical(["data", "rewrite", "notes", "--json", ...args], { cwd: project.folder });
  const closed = new Promise((resolve) => child.once("close", resolve));
  const lines: Line[] = [];
  for await (const line of createInterface(child.stdout!)) {
    lines.push(JSON.parse(line) as Line);
    if (lines.length === PAGES_UNTIL_KILLED) child.kill("SIGKILL");
  }
  await closed;
  const told = lines.at(-1);
  expect(told).not.toHaveProperty("done");
  return told?.last ?? "";
}

test("a rewriting beside a build that writes is killed ten times: each item has the present fields, no edit is lost", async () => {
  await putFormer(ITEMS);
  await project.write("handlers/notes.ts", handlers('language: string = "en";'));
  const dry = await data("rewrite", "notes", "--dry-run", "--json");
  expect(JSON.parse(dry.stdout.trimEnd().split("\n").at(-1) ?? "")).toEqual({
    table: "notes",
    read: ITEMS,
    rewritten: ITEMS,
    misfits: 0,
    last: keyOf(ITEMS - 1),
    done: true,
  });

  const edits = new Map<string, number>();
  const stop = new AbortController();
  const writer = async (location: string, first: number): Promise<void> => {
    for (let at = first; !stop.signal.aborted; at += 7) {
      const key = keyOf(at % ITEMS);
      const { status } = await fetch(`${dev.url}/api/edit`, {
        method: "POST",
        body: JSON.stringify({ key }),
        headers: { "content-type": "application/json", "x-radical-location": location },
      });
      expect(status).toBe(200);
      edits.set(key, (edits.get(key) ?? 0) + 1);
    }
  };
  const writers = ["A", "B"].slice(0, WRITERS).map((location, index) => writer(location, index * 3));

  let from = "";
  for (let kill = 0; kill < KILLS; kill++) from = await killed(from === "" ? [] : ["--from", from]);
  const rest = await data("rewrite", "notes", "--from", from);
  expect(rest.stderr).toMatch(/✓ \d+ items read, \d+ rewritten\./);
  expect(rest.code).toBe(0);
  stop.abort();
  await Promise.all(writers);

  const items = await stored();
  expect(items.size).toBe(ITEMS);
  for (const [key, value] of items) {
    expect(Object.keys(value)).toEqual(["text", "edits", "language"]);
    expect(value["language"]).toBe("en");
    expect(value["edits"]).toBe(edits.get(key) ?? 0);
  }
  expect(edits.size).toBeGreaterThan(100);
  const again = await data("rewrite", "notes");
  expect(again.stderr).toContain(`✓ ${ITEMS} items read, 0 rewritten.`);
});

test("a deployment is not rewritten while a build serves that knows the earlier names only", async () => {
  const own = await createProject({
    "radical.config.ts": 'export default { name: "notes" };\n',
    "handlers/notes.ts": handlers().replace("/** @was body */", "").replaceAll("text", "body"),
  });
  const serving = await radicalDev(own.folder, ["--no-watch"]);
  try {
    const put = await radical(["data", "put", "notes", "a", '{"body": "x", "edits": 0}'], { cwd: own.folder });
    expect(put.code).toBe(0);
    await own.write("handlers/notes.ts", handlers());
    const running = await readRunning(join(own.folder, ".radical"));
    const { administration } = await loadDeploymentKeys(join(own.folder, ".radical"));
    const rewrite = (...args: readonly string[]): ReturnType<typeof radical> =>
      radical(["data", "rewrite", "notes", "--server", running?.lviServer ?? "", ...args], {
        cwd: own.folder,
        env: { RADICAL_ADMIN_KEYS: privateKeyText(administration) },
      });
    const refused = await rewrite();
    expect(refused.stderr).toContain("A build that was used in the last ten minutes reads notes[].body,");
    expect(refused.code).toBe(1);
    expect((await rewrite("--dry-run")).stderr).toContain("✓ 1 item read, 1 would be rewritten.");
  } finally {
    serving.child.kill("SIGTERM");
    await serving.closed;
    await own.remove();
  }
});

test("an item that does not fit is told, stays as it is, and stops no other; Ctrl-C says how to go on", async () => {
  await project.write("handlers/notes.ts", handlers('language: string = "en"; size: i32 = 1;'));
  const wrong = '{"text": "x", "edits": 0, "size": "big"}';
  expect((await data("put", "notes", "n00500x", wrong, "--untyped")).code).toBe(0);
  const told = await data("rewrite", "notes");
  expect(told.code).toBe(1);
  expect(told.stderr).toContain("Not rewritten: notes/n00500x, field size: expected an integer, found text\n");
  expect(told.stderr).toContain(
    `1 item of notes does not fit the types of this build. ${ITEMS + 1} items read, ${ITEMS} rewritten.`,
  );
  const items = await stored();
  expect(items.get("n00500x")).toEqual({ text: "x", edits: 0, size: "big" });
  expect(items.get("n00501")).toMatchObject({ size: 1 });

  expect((await data("rewrite", "nots")).stderr).toContain("No handler declares a table nots.");

  const slow = spawnRadical(["data", "rewrite", "notes", "--json", "--rate", "1"], { cwd: project.folder });
  const lines: string[] = [];
  for await (const line of createInterface(slow.stdout!)) {
    lines.push(line);
    if (lines.length === 1) slow.kill("SIGINT");
  }
  expect(JSON.parse(lines.at(-1) ?? "")).toEqual({
    error: {
      code: "stopped",
      message: "The rewriting of notes was told to stop. 90 items read, 0 rewritten.",
      hint: "Go on where it stopped: radical data rewrite notes --from 'n00089'",
    },
  });
});
