/** The file that VS Code installs, and the server that the extension starts. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { strFromU8, unzipSync } from "fflate";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createProtocolConnection,
  InitializedNotification,
  InitializeRequest,
  PublishDiagnosticsNotification,
  type PublishDiagnosticsParams,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";
import { packExtension } from "../scripts/vsix.ts";
import { argumentsOf, serversOf } from "../src/installs.ts";
import { runtimeOf } from "../src/runtime.ts";

const CLI = fileURLToPath(new URL("../../cli/src/main.ts", import.meta.url));

let folder: string;
let files: Readonly<Record<string, Uint8Array>>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "radical-vscode-"));
  files = unzipSync(readFileSync(await packExtension(join(folder, "packed"))));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function textOf(name: string): string {
  const file = files[name];
  if (file === undefined) throw new Error(`there is no ${name}`);
  return strFromU8(file);
}

test("the file holds what its manifests name, and a type for each", () => {
  expect(Object.keys(files).toSorted()).toEqual([
    "[Content_Types].xml",
    "extension.vsixmanifest",
    "extension/LICENSE.txt",
    "extension/extension.cjs",
    "extension/package.json",
    "extension/readme.md",
  ]);
  const manifest = JSON.parse(textOf("extension/package.json")) as Readonly<Record<string, unknown>>;
  expect(manifest).toMatchObject({ name: "radical-vscode", publisher: "radical", main: "./extension.cjs" });
  // The code is CommonJS, and has all that it imports in it.
  expect(Object.keys(manifest)).not.toEqual(expect.arrayContaining(["type"]));
  expect(manifest["dependencies"]).toBeUndefined();
  const vsix = textOf("extension.vsixmanifest");
  expect(vsix).toContain(`Id="radical-vscode" Version="${String(manifest["version"])}" Publisher="radical"`);
  const assets = Array.from(vsix.matchAll(/Path="([^"]+)"/g), ([, path]) => path ?? "");
  expect(assets).toHaveLength(3);
  for (const path of assets) expect(files).toHaveProperty([path]);
  const types = Array.from(
    textOf("[Content_Types].xml").matchAll(/Extension="([^"]+)"/g),
    ([, extension]) => extension,
  );
  for (const name of Object.keys(files).filter((one) => !one.startsWith("[")))
    expect(types).toContain(/\.[a-z]+$/.exec(name)?.[0]);
});

test("the code is whole: it asks for the editor and Node's modules only", () => {
  const asked = Array.from(
    textOf("extension/extension.cjs").matchAll(/\brequire\("([^"]+)"\)/g),
    ([, name]) => name ?? "",
  );
  expect(asked).toContain("vscode");
  expect(asked.filter((name) => name !== "vscode" && !isBuiltin(name))).toEqual([]);
});

test("the same sources make the same file", async () => {
  const again = await packExtension(join(folder, "again"));
  const first = join(folder, "packed", "radical-vscode-0.1.0.vsix");
  expect(readFileSync(again).equals(readFileSync(first))).toBe(true);
});

test("an old Node, or none, gives way to that of the editor; without one the developer is told", async () => {
  const old = join(folder, "old-node");
  writeFileSync(old, "#!/bin/sh\necho v20.1.0\n", { mode: 0o755 });
  const none = join(folder, "nowhere");
  const own = { version: "v24.3.0", path: "/opt/editor" };
  const before = { version: "v22.1.0", path: "/opt/editor" };
  const found = { kind: "found", command: "/opt/editor", env: { ELECTRON_RUN_AS_NODE: "1" } };
  expect(await runtimeOf(process.execPath, own)).toEqual({ kind: "found", command: process.execPath, env: {} });
  expect(await runtimeOf(old, own)).toEqual(found);
  expect(await runtimeOf(none, own)).toEqual(found);
  expect(await runtimeOf(old, before)).toMatchObject({
    kind: "missing",
    words: expect.stringMatching(/is v20\.1\.0\. Add/),
  });
  expect(await runtimeOf(none, before)).toMatchObject({
    kind: "missing",
    words: expect.stringMatching(/does not start/),
  });
});

test("the server of an application's installation speaks to the client that the extension has", async () => {
  const application = join(folder, "app");
  const cli = join(application, "node_modules/@radical/cli");
  mkdirSync(join(application, "handlers"), { recursive: true });
  mkdirSync(cli, { recursive: true });
  // The command as the workspace has it.
  writeFileSync(join(cli, "package.json"), '{ "type": "module", "bin": { "radical": "main.js" } }');
  writeFileSync(join(cli, "main.js"), `import ${JSON.stringify(pathToFileURL(CLI).href)};\n`);
  writeFileSync(join(application, "radical.config.ts"), 'export default { name: "app" };\n');
  writeFileSync(join(application, "handlers/a.ts"), "export function a(n: i32): i32 {\n  debugger;\n  return n;\n}\n");

  const [server] = serversOf([application], process.execPath).servers;
  if (server === undefined) throw new Error("there is no server");
  const runtime = await runtimeOf(server.node);
  if (runtime.kind === "missing") throw new Error(runtime.words);
  const child = spawn(runtime.command, [...argumentsOf(server)], {
    cwd: application,
    env: { ...process.env, ...runtime.env, NODE_OPTIONS: "--conditions=source" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  try {
    const connection = createProtocolConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    );
    const published = new Promise<PublishDiagnosticsParams>((resolve) =>
      connection.onNotification(PublishDiagnosticsNotification.type, resolve),
    );
    connection.listen();
    await connection.sendRequest(InitializeRequest.type, {
      processId: process.pid,
      // oxlint-disable-next-line typescript/no-deprecated -- the protocol requires it
      rootUri: null,
      capabilities: {},
      workspaceFolders: null,
      // As the extension says it.
      initializationOptions: { applications: [pathToFileURL(application).href] },
    });
    await connection.sendNotification(InitializedNotification.type, {});
    const { uri, diagnostics } = await published;
    expect(uri).toBe(pathToFileURL(join(application, "handlers/a.ts")).href);
    expect(diagnostics).toMatchObject([{ code: "old_statement", range: { start: { line: 1, character: 2 } } }]);
  } finally {
    child.kill("SIGKILL");
    await closed;
  }
});
