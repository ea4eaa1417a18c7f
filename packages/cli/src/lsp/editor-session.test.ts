/** The session of an editor with the real analyzer, on files of the disk; only time is handed in. */
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Diagnostic } from "@radical/analyzer";
import { edited } from "@radical/analyzer/testing/random-edit";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { CodeAction, Diagnostic as ToldDiagnostic, TextEdit } from "vscode-languageserver";
import { TextDocument } from "vscode-languageserver-textdocument";
import { type Compiler, startCompiler, discoverSources } from "@radical/app";
import { EditorSession } from "./editor-session.ts";

type Files = Readonly<Record<string, string>>;

const CONFIG = 'export default { name: "shop" };\n';
const SHOP = `import { Table } from "@radical/sdk";

export class Item {
  count: i32 = 0;
}
const items = new Table<Item>("items");

export function take(id: string): i32 {
  const item = items.get(id);
  if (item == null) return -1;
  item.count -= 1;
  items.put(id, item);
  return item.count;
}

export function look(id: string): bool {
  return items.has(id);
}
`;

/** Shared by all tests but those in which it ends. */
let compiler: Compiler;
let root: string;

beforeAll(async () => {
  compiler = await startCompiler({ colours: false, isKept: true });
});
afterAll(() => compiler.close());
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "radical-lsp-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function write(files: Files): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

function uriOf(path: string): string {
  return pathToFileURL(join(root, path)).href;
}

/** An editor that speaks to a session. */
class Editor {
  /** The diagnostics that are shown now, by URI. */
  readonly shown = new Map<string, readonly ToldDiagnostic[]>();
  /** How often anything was shown. */
  publications = 0;
  readonly told: string[] = [];
  losePatience: () => void = () => undefined;
  readonly session: EditorSession;
  readonly #versions = new Map<string, number>();

  constructor(start: () => Promise<Compiler> = () => Promise.resolve({ ...compiler, close: async () => {} })) {
    this.session = new EditorSession(
      {
        startCompiler: start,
        publish: (uri, _version, diagnostics) => {
          this.publications++;
          this.shown.set(uri, diagnostics);
        },
        tell: (message) => this.told.push(message),
        after: (ms, run) => {
          // The patience of the session ends when a test says so.
          if (ms > 10_000) {
            this.losePatience = run;
            return () => undefined;
          }
          const timer = setTimeout(run, 0);
          return () => clearTimeout(timer);
        },
      },
      { versionedEdits: true },
    );
  }

  open(path: string, text: string): void {
    this.#versions.set(path, 1);
    this.session.opened(uriOf(path), 1, text);
  }

  type(path: string, text: string): void {
    const version = (this.#versions.get(path) ?? 0) + 1;
    this.#versions.set(path, version);
    this.session.edited(uriOf(path), version, [{ text }]);
  }

  /** `handlers/a.ts:3` for each line that is marked, sorted. */
  lines(severities: readonly number[] = [1]): readonly string[] {
    return [...this.shown]
      .flatMap(([uri, found]) =>
        found
          .filter(({ severity }) => severities.includes(severity ?? 0))
          .map(({ range }) => `${fileURLToPath(uri).slice(root.length + 1)}:${range.start.line + 1}`),
      )
      .toSorted();
  }
}

/** The lines that a build of the files on the disk marks. */
async function linesOfBuild(severities: readonly Diagnostic["severity"][] = ["error"]): Promise<readonly string[]> {
  const { sources, handlerFiles } = await discoverSources(root, "handlers");
  const { diagnostics } = await compiler.compile({ sources, handlerFiles, optimize: false });
  return diagnostics
    .filter(({ severity }) => severities.includes(severity))
    .map(({ primary }) => `${primary.file}:${primary.line}`)
    .toSorted();
}

const BROKEN = SHOP.replace("item.count -= 1;", "item.count -= total;");

test("an open document counts as it is, saved or not; what it is on the disk counts when it is closed", async () => {
  await write({ "radical.config.ts": CONFIG, "handlers/shop.ts": SHOP });
  const editor = new Editor();
  editor.open("handlers/shop.ts", SHOP);
  await editor.session.settled();
  expect([...editor.shown]).toEqual([[uriOf("handlers/shop.ts"), []]]);

  editor.type("handlers/shop.ts", BROKEN);
  await editor.session.settled();
  expect(editor.lines()).toEqual(["handlers/shop.ts:11"]);
  const [found] = editor.shown.get(uriOf("handlers/shop.ts")) ?? [];
  expect(found).toMatchObject({
    severity: 1,
    source: "radical",
    code: "type_error",
    range: { start: { line: 10, character: 16 }, end: { line: 10, character: 21 } },
  });
  expect(found?.codeDescription?.href).toMatch(/^file:.*\/diagnostics\/type_error\.md$/);

  editor.session.closed(uriOf("handlers/shop.ts"));
  await editor.session.settled();
  expect(editor.lines()).toEqual([]);
  await editor.session.close();
});

test("the help stands in the message, related places beside it", async () => {
  await write({ "radical.config.ts": CONFIG, "handlers/a.ts": SHOP });
  const editor = new Editor();
  editor.open("handlers/b.ts", "export function look(id: string): bool {\n  return true;\n}\n");
  await editor.session.settled();
  const [found] = [...editor.shown.values()].flat();
  expect(found).toMatchObject({ code: "duplicate_handler", message: expect.stringMatching(/.+\n.+/) });
  expect(found?.relatedInformation?.[0]?.location.range.start).toEqual({ line: 15, character: 16 });
  await editor.session.close();
});

test("places are those of the editor: behind wide characters, tabs and line ends of Windows", async () => {
  await write({ "radical.config.ts": CONFIG, "handlers/shop.ts": SHOP });
  const editor = new Editor();
  editor.open(
    "handlers/shop.ts",
    'export function hello(): string {\r\n\tconst face = "😀"; debugger;\r\n\treturn face;\r\n}\r\n',
  );
  await editor.session.settled();
  expect([...editor.shown.values()].flat()).toMatchObject([
    { code: "old_statement", range: { start: { line: 1, character: 20 }, end: { line: 1, character: 28 } } },
  ]);
  await editor.session.close();
});

test("errors in files that are not open are shown, and gone again; a new document is a file", async () => {
  await write({
    "radical.config.ts": CONFIG,
    "handlers/shop.ts": 'import { half } from "./lib/half";\nexport function h(n: i32): i32 {\n  return half(n);\n}\n',
    "handlers/lib/half.ts": "export function half(n: i32): i32 {\n  return n.half;\n}\n",
  });
  const editor = new Editor();
  editor.session.addFolder(pathToFileURL(root).href);
  await editor.session.settled();
  expect(editor.lines()).toEqual(["handlers/lib/half.ts:2"]);

  await write({ "handlers/lib/half.ts": "export function half(n: i32): i32 {\n  return n >> 1;\n}\n" });
  editor.session.saved(uriOf("handlers/lib/half.ts"));
  await editor.session.settled();
  expect(editor.lines()).toEqual([]);

  editor.open("handlers/new.ts", "export function h(n: i32): i32 {\n  return n;\n}\n");
  await editor.session.settled();
  expect(editor.lines()).toHaveLength(1);
  await editor.session.close();
});

test("what only the compilation finds is marked", async () => {
  const given = `/** @readwrite look */\nfunction lookSet(id: string): void {\n  items.put(id, new Item());\n}\n`;
  await write({ "radical.config.ts": CONFIG, "handlers/shop.ts": `${SHOP}\n${given}` });
  const editor = new Editor();
  editor.open("handlers/shop.ts", `${SHOP}\n${given}`);
  await editor.session.settled();
  expect(editor.lines()).toEqual(["handlers/shop.ts:22"]);
  expect(editor.lines()).toEqual(await linesOfBuild());
  await editor.session.close();
});

test("an application that can't be built says so in its configuration, until it can", async () => {
  await write({ "radical.config.ts": 'export default { name: "My Shop" };\n', "handlers/shop.ts": SHOP });
  const editor = new Editor();
  editor.open("handlers/shop.ts", BROKEN);
  await editor.session.settled();
  expect(editor.lines()).toEqual(["radical.config.ts:1"]);
  expect([...editor.shown.values()].flat()[0]?.message).toMatch(/name must be/);

  await write({ "radical.config.ts": `// better\n${CONFIG}` });
  editor.session.saved(uriOf("radical.config.ts"));
  await editor.session.settled();
  expect(editor.lines()).toEqual(["handlers/shop.ts:11"]);

  await write({ "radical.config.ts": 'export default { name: "shop", handlers: "nowhere" };\n' });
  editor.session.saved(uriOf("radical.config.ts"));
  await editor.session.settled();
  expect(editor.lines()).toEqual(["radical.config.ts:1"]);
  expect([...editor.shown.values()].flat()[0]?.code).toBe("no_handlers");
  await editor.session.close();
});

test("several applications in a workspace, also one in another; files of none are nobody's", async () => {
  await write({
    "radical.config.ts": CONFIG,
    "handlers/shop.ts": SHOP,
    "apps/inner/radical.config.ts": CONFIG,
    "apps/inner/handlers/shop.ts": SHOP,
  });
  const editor = new Editor();
  editor.open("apps/inner/handlers/shop.ts", BROKEN);
  editor.open("handlers/shop.ts", BROKEN.replace("items.has(id)", "items.hasnt(id)"));
  editor.session.opened("untitled:Untitled-1", 1, "nothing");
  editor.session.opened(pathToFileURL(join(tmpdir(), "nobody.ts")).href, 1, "nothing");
  await editor.session.settled();
  expect(editor.lines()).toEqual(["apps/inner/handlers/shop.ts:11", "handlers/shop.ts:11", "handlers/shop.ts:17"]);
  await editor.session.close();
});

test("an analysis that a change has overtaken is not shown", async () => {
  await write({ "radical.config.ts": CONFIG, "handlers/shop.ts": SHOP });
  let typed = false;
  const editor: Editor = new Editor(() =>
    Promise.resolve({
      ...compiler,
      close: async () => {},
      compile: async (question) => {
        const answer = await compiler.compile(question);
        // While it was analyzed.
        if (!typed) editor.type("handlers/shop.ts", SHOP);
        typed = true;
        return answer;
      },
    }),
  );
  editor.open("handlers/shop.ts", BROKEN);
  await editor.session.settled();
  expect([...editor.shown]).toEqual([[uriOf("handlers/shop.ts"), []]]);
  expect(editor.told).toEqual([]);
  await editor.session.close();
});

describe("the thread ends", () => {
  test("what was shown stays, the developer is told, and another thread goes on", async () => {
    await write({ "radical.config.ts": CONFIG, "handlers/shop.ts": SHOP });
    const started: Compiler[] = [];
    let isEnding = false;
    const editor = new Editor(async () => {
      const real = await startCompiler({ colours: false, isKept: true });
      started.push(real);
      return {
        ...real,
        compile: (question) => {
          const answer = real.compile(question);
          // The real thread, in the middle of its work.
          if (isEnding) void real.close();
          isEnding = false;
          return answer;
        },
      };
    });
    editor.open("handlers/shop.ts", BROKEN);
    await editor.session.settled();
    expect(editor.lines()).toEqual(["handlers/shop.ts:11"]);

    isEnding = true;
    editor.type("handlers/shop.ts", `\n${BROKEN}`);
    await editor.session.settled();
    expect(editor.told).toEqual(["The analyzer has ended: the compiler's thread has ended. It starts again."]);
    expect(started).toHaveLength(2);
    expect(editor.lines()).toEqual(["handlers/shop.ts:12"]);
    await editor.session.close();
  });

  test("an analysis without an end is given up for a newer text, and without a word", async () => {
    await write({ "radical.config.ts": CONFIG, "handlers/shop.ts": SHOP });
    let started = 0;
    let isAsked = (): void => undefined;
    const asked = new Promise<void>((resolve) => (isAsked = resolve));
    const editor = new Editor(() => {
      const isFirst = ++started === 1;
      let end = (_reason: Error): void => undefined;
      return Promise.resolve({
        ...compiler,
        close: async () => end(new Error("the compiler's thread has ended")),
        compile: (question) => {
          isAsked();
          return isFirst ? new Promise((_resolve, reject) => (end = reject)) : compiler.compile(question);
        },
      });
    });
    editor.open("handlers/shop.ts", SHOP);
    await asked;
    editor.losePatience();
    // It goes on until there is something newer to do.
    expect(started).toBe(1);
    editor.type("handlers/shop.ts", BROKEN);
    await editor.session.settled();
    expect([started, editor.told]).toEqual([2, []]);
    expect(editor.lines()).toEqual(["handlers/shop.ts:11"]);
    await editor.session.close();
  });

  test("texts over which it ends twice wait for a change", async () => {
    await write({ "radical.config.ts": CONFIG, "handlers/shop.ts": SHOP });
    let starts = 0;
    const editor = new Editor(() => {
      starts++;
      return Promise.resolve({
        ...compiler,
        close: async () => {},
        compile: (question) =>
          question.sources.some(({ text }) => text.includes("total"))
            ? Promise.reject(new Error("out of memory"))
            : compiler.compile(question),
      });
    });
    editor.open("handlers/shop.ts", BROKEN);
    await editor.session.settled();
    expect([starts, editor.publications]).toEqual([2, 0]);
    expect(editor.told).toEqual([
      "The analyzer has ended: out of memory. It starts again.",
      "The analyzer has ended: out of memory. It ended twice over the same files, and starts again with the next change.",
    ]);
    editor.type("handlers/shop.ts", SHOP);
    await editor.session.settled();
    expect(editor.lines()).toEqual([]);
    expect(editor.told).toHaveLength(2);
    await editor.session.close();
  });
});

describe("hover", () => {
  async function opened(text = SHOP): Promise<Editor> {
    await write({ "radical.config.ts": CONFIG, "handlers/shop.ts": text });
    const editor = new Editor();
    editor.open("handlers/shop.ts", text);
    await editor.session.settled();
    return editor;
  }
  const hoverAt = (editor: Editor, line: number, character: number): string => {
    const hover = editor.session.hover(uriOf("handlers/shop.ts"), { line: line - 1, character });
    return hover === null ? "" : (hover.contents as { readonly value: string }).value;
  };

  test("a handler: what it reads and writes", async () => {
    const editor = await opened();
    expect(hoverAt(editor, 8, 17)).toBe(`**take** reads and writes. Its location knows the items before it runs.

\`\`\`text
reads  items/{id}  dependent
writes items/{id}
\`\`\`

*dependent*: the value decides which other items the handler touches.`);
    expect(hoverAt(editor, 16, 17)).toBe(
      "**look** reads only. Its location knows the items before it runs.\n\n```text\nreads  items/{id}\n```",
    );
    expect(hoverAt(editor, 9, 2)).toBe("");
    await editor.session.close();
  });

  test("an access, and a table", async () => {
    const editor = await opened();
    expect(hoverAt(editor, 12, 4)).toBe("```text\nwrites items/{id}\n```\n\nby take");
    expect(hoverAt(editor, 6, 8)).toBe("**items** is a table.\n\n* read by look, take\n* written by take");
    await editor.session.close();
  });

  test("while there is an error: as it was", async () => {
    const editor = await opened();
    editor.type("handlers/shop.ts", `\n${BROKEN}`);
    await editor.session.settled();
    expect(hoverAt(editor, 9, 17)).toMatch(
      /^\*\*take\*\* reads and writes\.[^]*This is from before the last changes\.$/,
    );
    await editor.session.close();
  });

  test("record mode and near storage: why", async () => {
    const editor = await opened(
      `${SHOP}\n/** @nearstorage */\nexport function near(id: string): bool {\n  return items.has(id);\n}\n`,
    );
    expect(hoverAt(editor, 21, 17)).toMatch(/^\*\*near\*\* reads only\. The primary runs it, by your choice/);
    await editor.session.close();
  });
});

describe("code actions", () => {
  const AWAITED = SHOP.replace(
    "export function look(id: string): bool {",
    "export async function look(id: string): Promise<bool> {",
  ).replace("return items.has(id)", "debugger;\n  return await items.has(id)");

  function actionsAt(editor: Editor, line: number, only: readonly string[] | null = null): readonly CodeAction[] {
    const position = { line: line - 1, character: 8 };
    return editor.session.codeActions(uriOf("handlers/shop.ts"), { start: position, end: position }, only);
  }

  /** The text of the one document that an action edits. */
  function after(text: string, action: CodeAction | undefined): string {
    const [change] = action?.edit?.documentChanges ?? [];
    if (change === undefined || !("edits" in change)) throw new Error("it edits nothing");
    return TextDocument.applyEdits(
      TextDocument.create("file:///a.ts", "typescript", 1, text),
      change.edits as TextEdit[],
    );
  }

  test("a fix at its place writes the accepted form", async () => {
    await write({ "radical.config.ts": CONFIG, "handlers/shop.ts": AWAITED });
    const editor = new Editor();
    editor.open("handlers/shop.ts", AWAITED);
    await editor.session.settled();
    const [action, ...others] = actionsAt(editor, 16);
    expect([action?.title, others]).toEqual(["Leave out async, await and Promise", []]);
    expect(action?.diagnostics).toMatchObject([{ code: "async_function" }]);
    expect(action?.edit?.documentChanges).toMatchObject([
      { textDocument: { uri: uriOf("handlers/shop.ts"), version: 1 } },
    ]);
    expect(after(AWAITED, action)).toBe(SHOP.replace("return items.has(id)", "debugger;\n  return items.has(id)"));
    expect(actionsAt(editor, 2)).toEqual([]);
    expect(actionsAt(editor, 16, ["refactor"])).toEqual([]);
    await editor.session.close();
  });

  test("all of a file at once, where they agree", async () => {
    await write({ "radical.config.ts": CONFIG, "handlers/shop.ts": AWAITED });
    const editor = new Editor();
    editor.open("handlers/shop.ts", AWAITED);
    await editor.session.settled();
    const [action] = actionsAt(editor, 1, ["source.fixAll"]);
    expect(action?.kind).toBe("source.fixAll.radical");
    editor.type("handlers/shop.ts", after(AWAITED, action));
    await editor.session.settled();
    expect(editor.lines()).toEqual([]);
    await editor.session.close();
  });

  test("a file of many habits builds after all of its rewrites", async () => {
    const habits = `import { type Table } from "@radical/sdk";

enum State {
  Open = "open",
  Done = "done",
}
interface Ages {
  [name: string]: i32;
}
class Task {
  private title: string = "";
  state: State = State.Open;
}
const tasks = new Table<Task>("tasks");

export async function add(title: string, ages: Ages): Promise<bigint> {
  class Found {
    count: i32 = 0;
  }
  const found = new Found();
  const task = await tasks.get(title);
  if (task != null && task?.state == State.Done && /^urgent/.test(title)) found.count++;
  ages[title]++;
  const names = [];
  for (const name of title.split(/, /)) names.push(name);
  if (title in ages && halves(1) !== NaN) console.log("there are ages");
  const total = 1n;
  return total + Date.now();
}

export const halves = (n: i32): f64 => n / 2;
`;
    await write({ "radical.config.ts": CONFIG, "handlers/shop.ts": habits });
    const editor = new Editor();
    editor.open("handlers/shop.ts", habits);
    await editor.session.settled();
    let text = habits;
    for (let rounds = 0; editor.lines().length > 0 && rounds < 4; rounds++) {
      const before = editor.lines();
      const [action] = actionsAt(editor, 1, ["source.fixAll"]);
      expect([before, action?.kind]).toEqual([before, "source.fixAll.radical"]);
      text = after(text, action);
      editor.type("handlers/shop.ts", text);
      await editor.session.settled();
    }
    expect([editor.lines(), text]).toEqual([[], text]);
    await editor.session.close();
  });

  test("a document that has changed since has none until it is analyzed", async () => {
    await write({ "radical.config.ts": CONFIG, "handlers/shop.ts": AWAITED });
    const editor = new Editor();
    editor.open("handlers/shop.ts", AWAITED);
    await editor.session.settled();
    editor.type("handlers/shop.ts", `\n${AWAITED}`);
    expect(actionsAt(editor, 16)).toEqual([]);
    await editor.session.settled();
    expect(actionsAt(editor, 17)).toHaveLength(1);
    await editor.session.close();
  });
});
describe("the lines that are marked are those that a build marks", () => {
  const PAGES = fileURLToPath(new URL("../../../../docs/diagnostics/", import.meta.url));
  const ALL = [1, 2, 3];
  const ALL_OF_BUILD = ["error", "warning", "info"] as const;

  /** The files of the example of a page. */
  async function exampleOf(page: string): Promise<Files> {
    const text = await readFile(join(PAGES, page), "utf8");
    const example = text.split(/^## /m).find((section) => section.startsWith("Example\n")) ?? "";
    return Object.fromEntries(
      Array.from(example.matchAll(/^```ts\n(.*?)^```/gms), ([, code = ""]) => [
        /^\/\/ (\S+\.ts)\n/.exec(code)?.[1] ?? "handlers/example.ts",
        code,
      ]),
    );
  }

  test("for each example of a diagnostic's page", async () => {
    const editor = new Editor();
    let marked = 0;
    for (const page of await readdir(PAGES)) {
      const example = await exampleOf(page);
      if (Object.keys(example).length === 0) continue;
      await rm(join(root, "handlers"), { recursive: true, force: true });
      await rm(join(root, "lib"), { recursive: true, force: true });
      await write({ "radical.config.ts": CONFIG, "handlers/example.ts": "", ...example });
      for (const [path, text] of Object.entries(example)) editor.open(path, text);
      await editor.session.settled();
      const lines = editor.lines(ALL);
      expect([page, lines]).toEqual([page, await linesOfBuild(ALL_OF_BUILD)]);
      marked += lines.length;
      for (const path of Object.keys(example)) editor.session.closed(uriOf(path));
      await editor.session.settled();
    }
    expect(marked).toBeGreaterThan(80);
    await editor.session.close();
  });

  test("over random edits of an application, good and bad ones", async () => {
    const templates = new URL("../../../../templates/", import.meta.url);
    const notes = await readFile(new URL("minimal/handlers/notes.ts", templates), "utf8");
    const files: Files = { "handlers/notes.ts": notes, "handlers/shop.ts": SHOP };
    let marked = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(), { minLength: 1, maxLength: 6 }),
        fc.array(fc.boolean()),
        async (seeds, waits) => {
          await write({ "radical.config.ts": CONFIG, ...files });
          const editor = new Editor();
          for (const [path, text] of Object.entries(files)) editor.open(path, text);
          let now: Files = files;
          for (const [at, seed] of seeds.entries()) {
            const next = edited(now, seed);
            for (const [path, text] of Object.entries(next)) if (text !== now[path]) editor.type(path, text);
            now = next;
            if (waits[at] === true) await editor.session.settled();
          }
          await editor.session.settled();
          await write(now);
          const lines = editor.lines(ALL);
          marked += lines.length;
          expect(lines).toEqual(await linesOfBuild(ALL_OF_BUILD));
          await editor.session.close();
        },
      ),
      { numRuns: 10 },
    );
    expect(marked).toBeGreaterThan(0);
  });
});
