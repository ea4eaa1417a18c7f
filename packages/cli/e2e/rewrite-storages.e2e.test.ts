/**
 * `radical data rewrite` on both storages, beside an older build that writes. The command is killed again and again, and so is
 * the server. Nothing is lost, and each item has the present fields at the end.
 */
import { createInterface } from "node:readline";
import { hasDynamoDbLocal } from "@radical/lvi-server/e2e/dynamodb-local";
import { CborWriter } from "@radical/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DataModule } from "../src/data/data-module.ts";
import { built, DataPlace } from "./data-place.ts";
import { createProject, type TemporaryProject } from "./radical-process.ts";

const ITEMS = 600;
const KILLS = 5;
const STORAGES = hasDynamoDbLocal() ? (["sqlite", "dynamodb"] as const) : (["sqlite"] as const);

/** `fields`: those that the older build does not know. */
const handlers = (fields = ""): string => `import { Table } from "@radical/sdk";
export class Note {
  /** @was body */
  text: string = "";
  edits: i64 = 0;
  ${fields}
}
const notes = new Table<Note>("notes");
/** @nearstorage */
export function edit(key: string): void {
  const note = notes.get(key);
  if (note == null) return;
  note.edits += 1;
  notes.put(key, note);
}
`;

interface Line {
  readonly last: string | null;
  readonly done?: boolean;
}

const keyOf = (n: number): string => `n${String(n).padStart(5, "0")}`;

let older: TemporaryProject;
let present: TemporaryProject;
let place: DataPlace | null = null;

beforeAll(async () => {
  const config = { "radical.config.ts": 'export default { name: "notes" };\n' };
  older = await createProject({ ...config, "handlers/notes.ts": handlers() });
  present = await createProject({ ...config, "handlers/notes.ts": handlers('language: string = "en";') });
});
afterAll(async () => {
  await place?.close();
  await older.remove();
  await present.remove();
});

/** Kills a rewriting behind its first page. The last key that it has told. */
async function killed(at: DataPlace, from: string): Promise<string> {
  const child = at.spawn(present.folder, ["rewrite", "notes", "--json", ...(from === "" ? [] : ["--from", from])]);
  const closed = new Promise((resolve) => child.once("close", resolve));
  const lines: Line[] = [];
  for await (const line of createInterface(child.stdout!)) {
    lines.push(JSON.parse(line) as Line);
    if (lines.length === 1) child.kill("SIGKILL");
  }
  await closed;
  const told = lines.at(-1);
  expect(told).not.toHaveProperty("error");
  return told?.last ?? from;
}

test.each(STORAGES)("%s: an older build writes, and command and server are killed", async (kind) => {
  place = await DataPlace.open(kind);
  await place.start();
  const lines = Array.from(
    { length: ITEMS },
    (_, n) => `{"table":"notes","key":"${keyOf(n)}","value":{"body":"words ${n}","edits":0}}`,
  );
  const imported = await place.data(older.folder, ["import", "-", "--untyped"], lines.join("\n"));
  expect(imported.code).toBe(0);
  const { content } = await built(older.folder);

  const edits = new Map<string, number>();
  /** Edits some items one after another, by the older build. */
  const write = async (isOver: () => boolean): Promise<void> => {
    const module = await DataModule.register({
      server: place!.server,
      program: content.wasm,
      handlers: ["edit"],
      state: () => "",
    });
    for (let n = edits.size; !isOver(); n += 7) {
      const key = keyOf(n % ITEMS);
      const ended = await module.execute("edit", new CborWriter().map(1).text("key").text(key).finish());
      expect(ended.kind).toBe("result");
      edits.set(key, (edits.get(key) ?? 0) + 1);
    }
  };
  let from = "";
  for (let kill = 0; kill < KILLS; kill++) {
    let isOver = false;
    const writing = write(() => isOver);
    from = await killed(place, from);
    isOver = true;
    await writing;
    await place.stop("SIGKILL");
    await place.start();
  }
  let isOver = false;
  const writing = write(() => isOver);
  const rest = await place.data(present.folder, ["rewrite", "notes", "--from", from]);
  expect([rest.code, rest.stderr]).toEqual([0, expect.stringMatching(/✓ \d+ items read, \d+ rewritten\./)]);
  isOver = true;
  await writing;

  const { stdout } = await place.data(present.folder, ["export", "notes"]);
  const items = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly key: string; readonly value: Readonly<Record<string, unknown>> });
  expect(items.map(({ key }) => key)).toEqual(Array.from({ length: ITEMS }, (_, n) => keyOf(n)));
  for (const { key, value } of items)
    expect([key, value]).toEqual([
      key,
      { text: expect.stringMatching(/^words /) as unknown, edits: edits.get(key) ?? 0, language: "en" },
    ]);
  expect(edits.size).toBeGreaterThan(20);
  const again = await place.data(present.folder, ["rewrite", "notes"]);
  expect(again.stderr).toContain(`✓ ${ITEMS} items read, 0 rewritten.`);
  await place.close();
  place = null;
});
