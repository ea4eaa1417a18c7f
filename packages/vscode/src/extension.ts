/** The extension: starts the language servers of the applications in the workspace. All else is in the servers. */
import { basename } from "node:path";
import { commands, type ExtensionContext, Uri, window, workspace } from "vscode";
import { LanguageClient } from "vscode-languageclient/node";
import { argumentsOf, type Server, serversOf } from "./installs.ts";
import { type Runtime, runtimeOf } from "./runtime.ts";

const CONFIG_FILES = "**/radical.config.ts";
const INSTALLED = "**/node_modules/**";

/** Of all that starts and stops: one at a time. */
let turn: Promise<void> = Promise.resolve();
let clients: readonly LanguageClient[] = [];

export function activate(context: ExtensionContext): Promise<void> {
  const watcher = workspace.createFileSystemWatcher(CONFIG_FILES, false, true, false);
  context.subscriptions.push(
    watcher,
    watcher.onDidCreate(() => void restart()),
    watcher.onDidDelete(() => void restart()),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("radical.node")) void restart();
    }),
    commands.registerCommand("radical.restart", restart),
  );
  return restart();
}

export function deactivate(): Promise<void> {
  return inTurn(stop);
}

function restart(): Promise<void> {
  return inTurn(async () => {
    await stop();
    const configs = await workspace.findFiles(CONFIG_FILES, INSTALLED);
    const applications = configs.map((config) => Uri.joinPath(config, "..").fsPath).toSorted();
    const node = workspace.getConfiguration("radical").get<string>("node") ?? "";
    const { servers, missing } = serversOf(applications, node === "" ? null : node);
    if (missing.length > 0)
      void window.showWarningMessage(
        `Radical is not installed in ${missing.map((folder) => basename(folder)).join(", ")}. Run \`npm install\` there, then "Radical: Restart the language server".`,
      );
    const started: LanguageClient[] = [];
    clients = started;
    for (const server of servers) {
      const runtime = await runtimeOf(server.node);
      if (runtime.kind === "missing") void window.showErrorMessage(runtime.words);
      else started.push(clientOf(server, runtime));
    }
    await Promise.all(started.map((client) => client.start()));
  });
}

async function stop(): Promise<void> {
  const stopped = clients;
  clients = [];
  await Promise.all(stopped.map((client) => client.dispose()));
}

/** A failure is the failure of its own turn only. */
function inTurn(run: () => Promise<void>): Promise<void> {
  turn = turn.catch(() => undefined).then(run);
  return turn;
}

function clientOf(server: Server, { command, env }: Extract<Runtime, { readonly kind: "found" }>): LanguageClient {
  const [first = "."] = server.applications;
  const folders = server.applications.map((folder) => Uri.file(folder));
  return new LanguageClient(
    "radical",
    "Radical",
    { command, args: [...argumentsOf(server)], options: { cwd: first, env } },
    {
      documentSelector: folders.map((folder) => ({
        scheme: "file",
        language: "typescript",
        pattern: { baseUri: folder.toString(), pattern: "**/*.ts" },
      })),
      initializationOptions: { applications: folders.map(String) },
    },
  );
}
