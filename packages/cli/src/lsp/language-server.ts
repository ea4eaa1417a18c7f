/** `radical lsp`: the session of an editor over standard input and output, by the Language Server Protocol. */
import process from "node:process";
import { Writable } from "node:stream";
import {
  CodeActionKind,
  createConnection,
  DidChangeWatchedFilesNotification,
  type InitializeParams,
  type InitializeResult,
  ProposedFeatures,
  StreamMessageReader,
  StreamMessageWriter,
  TextDocumentSyncKind,
} from "vscode-languageserver/node";
import { startCompiler } from "@radical/app";
import { EditorSession } from "./editor-session.ts";

/** A client may say this of itself beyond the protocol. */
interface Options {
  /** URIs of the folders that it has this server for. Default: those of the workspace that are applications. */
  readonly applications?: readonly string[];
}

/** Serves until its editor ends it, or is gone. */
export function serveEditor(version: string): void {
  const connection = createConnection(
    ProposedFeatures.all,
    new StreamMessageReader(process.stdin),
    new StreamMessageWriter(claimOutput()),
  );
  let session: EditorSession | null = null;
  let isWatching = false;
  let folders: readonly string[] = [];
  let isGivenFolders = false;

  connection.onInitialize((params: InitializeParams): InitializeResult => {
    const { workspace } = params.capabilities;
    isWatching = workspace?.didChangeWatchedFiles?.dynamicRegistration === true;
    const { applications } = (params.initializationOptions ?? {}) as Options;
    isGivenFolders = applications !== undefined;
    folders = applications ?? params.workspaceFolders?.map(({ uri }) => uri) ?? [];
    session = new EditorSession(
      {
        startCompiler: () => startCompiler({ colours: false, isKept: true }),
        publish: (uri, fileVersion, diagnostics) =>
          void connection.sendDiagnostics({
            uri,
            ...(fileVersion === null ? {} : { version: fileVersion }),
            diagnostics: [...diagnostics],
          }),
        tell: (message) => connection.window.showErrorMessage(message),
        after: (ms, run) => {
          const timer = setTimeout(run, ms);
          return () => clearTimeout(timer);
        },
      },
      { versionedEdits: workspace?.workspaceEdit?.documentChanges === true },
    );
    return {
      serverInfo: { name: "radical", version },
      capabilities: {
        textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
        hoverProvider: true,
        codeActionProvider: { codeActionKinds: [CodeActionKind.QuickFix, CodeActionKind.SourceFixAll] },
        workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
      },
    };
  });
  connection.onInitialized(async () => {
    for (const folder of folders) session?.addFolder(folder);
    if (!isGivenFolders)
      connection.workspace.onDidChangeWorkspaceFolders(({ added }) => {
        for (const { uri } of added) session?.addFolder(uri);
      });
    // Also what git or another program changes.
    if (isWatching)
      await connection.client.register(DidChangeWatchedFilesNotification.type, {
        watchers: [{ globPattern: "**/*.ts" }],
      });
  });

  connection.onDidOpenTextDocument(({ textDocument: { uri, version: opened, text } }) =>
    session?.opened(uri, opened, text),
  );
  connection.onDidChangeTextDocument(({ textDocument: { uri, version: changed }, contentChanges }) =>
    session?.edited(uri, changed, contentChanges),
  );
  connection.onDidCloseTextDocument(({ textDocument: { uri } }) => session?.closed(uri));
  connection.onDidSaveTextDocument(({ textDocument: { uri } }) => session?.saved(uri));
  connection.onDidChangeWatchedFiles(({ changes }) => {
    for (const { uri } of changes) session?.saved(uri);
  });
  connection.onHover(({ textDocument: { uri }, position }) => session?.hover(uri, position) ?? null);
  connection.onCodeAction(({ textDocument: { uri }, range, context: { only } }) => [
    ...(session?.codeActions(uri, range, only ?? null) ?? []),
  ]);
  connection.onShutdown(() => session?.close());
  connection.listen();
}

/** Only the protocol is written to standard output; a configuration that prints something prints it to the other one. */
function claimOutput(): Writable {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      write(chunk, (error) => done(error));
    },
  });
}
