/** `radical lsp` as a process that speaks to a real client of the protocol, beside `radical build` on the same files. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type CodeAction,
  CodeActionRequest,
  createProtocolConnection,
  type Diagnostic,
  DidChangeTextDocumentNotification,
  DidOpenTextDocumentNotification,
  ExitNotification,
  type Hover,
  HoverRequest,
  InitializedNotification,
  InitializeRequest,
  type InitializeResult,
  type ProtocolConnection,
  PublishDiagnosticsNotification,
  type PublishDiagnosticsParams,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
  type TextEdit,
} from "vscode-languageserver/node";
import { TextDocument } from "vscode-languageserver-textdocument";
import { createProject, MAIN, radical, type TemporaryProject } from "./radical-process.ts";

const FIXTURES = fileURLToPath(new URL("../../analyzer/fixtures/naive/", import.meta.url));
const CONFIG = 'console.log("a configuration may print something");\nexport default { name: "notes" };\n';
const NOTES = `import { Table } from "@radical/sdk";
const notes = new Table<string>("notes");
export async function read(id: string): Promise<string | null> {
  return await notes.get(id);
}
`;

/** A client of the protocol with a server process of its own. */
class Client {
  readonly connection: ProtocolConnection;
  readonly closed: Promise<number | null>;
  readonly #child: ChildProcess;
  readonly #published: PublishDiagnosticsParams[] = [];
  readonly #listeners: (() => void)[] = [];

  constructor(folder: string) {
    const child = spawn(process.execPath, ["--conditions=source", MAIN, "lsp", "--stdio"], { cwd: folder });
    this.#child = child;
    this.closed = new Promise((resolve) => child.once("close", resolve));
    const { stdout, stdin } = child;
    this.connection = createProtocolConnection(new StreamMessageReader(stdout), new StreamMessageWriter(stdin));
    this.connection.onNotification(PublishDiagnosticsNotification.type, (published) => {
      this.#published.push(published);
      for (const tell of this.#listeners.splice(0)) tell();
    });
    this.connection.listen();
  }

  async initialize(folder: string): Promise<InitializeResult> {
    const uri = pathToFileURL(folder).href;
    const result = await this.connection.sendRequest(InitializeRequest.type, {
      processId: process.pid,
      // oxlint-disable-next-line typescript/no-deprecated -- the protocol requires it
      rootUri: null,
      capabilities: { workspace: { workspaceEdit: { documentChanges: true } } },
      workspaceFolders: [{ uri, name: "notes" }],
    });
    await this.connection.sendNotification(InitializedNotification.type, {});
    return result;
  }

  /** The last diagnostics of a document's version, when they are as wanted. */
  async shown(
    uri: string,
    version: number,
    wanted: (diagnostics: readonly Diagnostic[]) => boolean,
  ): Promise<readonly Diagnostic[]> {
    for (;;) {
      const found = this.#published.findLast((published) => published.uri === uri && published.version === version);
      if (found !== undefined && wanted(found.diagnostics)) return found.diagnostics;
      await new Promise<void>((resolve) => this.#listeners.push(resolve));
    }
  }

  async end(): Promise<number | null> {
    await this.connection.sendRequest(ShutdownRequest.type);
    await this.connection.sendNotification(ExitNotification.type);
    return this.closed;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

let project: TemporaryProject;
let client: Client;

beforeEach(async () => {
  project = await createProject({ "radical.config.ts": CONFIG, "handlers/notes.ts": NOTES });
  client = new Client(project.folder);
});
afterEach(async () => {
  client.kill();
  await client.closed;
  await project.remove();
});

const isAny = (diagnostics: readonly Diagnostic[]): boolean => diagnostics.length > 0;
const isNone = (diagnostics: readonly Diagnostic[]): boolean => diagnostics.length === 0;

test("open, see what is wrong, write the accepted form, hover, end", async () => {
  const { serverInfo, capabilities } = await client.initialize(project.folder);
  expect(serverInfo?.name).toBe("radical");
  expect(capabilities).toMatchObject({ hoverProvider: true });

  const uri = pathToFileURL(join(project.folder, "handlers/notes.ts")).href;
  await client.connection.sendNotification(DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId: "typescript", version: 1, text: NOTES },
  });
  const diagnostics = await client.shown(uri, 1, isAny);
  expect(new Set(diagnostics.map(({ code }) => code))).toEqual(new Set(["async_function"]));
  const first = diagnostics[0]!;
  expect(await readFile(fileURLToPath(first.codeDescription!.href), "utf8")).toMatch(/^# async_function\n/);

  const actions = (await client.connection.sendRequest(CodeActionRequest.type, {
    textDocument: { uri },
    range: first.range,
    context: { diagnostics: [first] },
  })) as readonly CodeAction[];
  expect(actions.map(({ title }) => title)).toEqual(["Leave out async, await and Promise"]);
  const [change] = actions[0]?.edit?.documentChanges ?? [];
  if (change === undefined || !("edits" in change)) throw new Error("it edits nothing");
  const text = TextDocument.applyEdits(TextDocument.create(uri, "typescript", 1, NOTES), change.edits as TextEdit[]);

  await client.connection.sendNotification(DidChangeTextDocumentNotification.type, {
    textDocument: { uri, version: 2 },
    contentChanges: [{ text }],
  });
  expect(await client.shown(uri, 2, isNone)).toEqual([]);
  const hover = await client.connection.sendRequest(HoverRequest.type, {
    textDocument: { uri },
    position: { line: 2, character: 18 },
  });
  expect((hover as Hover).contents).toEqual({
    kind: "markdown",
    value: "**read** reads only. Its location knows the items before it runs.\n\n```text\nreads  notes/{id}\n```",
  });
  expect(await client.end()).toBe(0);
});

test.each(["tickets", "issues"])(
  "it marks what `radical build` refuses in an ordinary file, and nothing else: %s",
  async (name) => {
    const text = await readFile(join(FIXTURES, `${name}.naive.ts`), "utf8");
    const file = `handlers/${name}.ts`;
    await project.write(file, text);
    await client.initialize(project.folder);
    const uri = pathToFileURL(join(project.folder, file)).href;
    await client.connection.sendNotification(DidOpenTextDocumentNotification.type, {
      textDocument: { uri, languageId: "typescript", version: 1, text },
    });
    const shown = await client.shown(uri, 1, isAny);
    const { stdout } = await radical(["build", "--json", "--project", project.folder]);
    const built = JSON.parse(stdout.slice(stdout.indexOf("{"))) as {
      readonly diagnostics: readonly {
        readonly code: string;
        readonly primary: { readonly file: string; readonly line: number };
      }[];
    };
    const ofFile = built.diagnostics.filter(({ primary }) => primary.file === file);
    expect(ofFile.length).toBeGreaterThan(0);
    expect(shown.map(({ code, range }) => `${String(code)} ${range.start.line + 1}`)).toEqual(
      ofFile.map(({ code, primary }) => `${code} ${primary.line}`),
    );
  },
);

test("it ends when its editor is gone", async () => {
  await client.initialize(project.folder);
  client.connection.end();
  expect(await client.closed).not.toBeNull();
});
