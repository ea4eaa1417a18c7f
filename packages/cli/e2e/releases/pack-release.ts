/**
 * `pnpm release:keep <name>`: keeps this release as a fixture, `<name>.tgz` beside this file. Later releases are run
 * beside it, both ways round. It has:
 *
 * - `server/main.js`: the LVI server, bundled with all that it needs.
 * - `location/`: the application `bank` as `radical build` makes it, Worker, manifest and WebAssembly.
 * - `module.cbor`: the content of its module, as `radical deploy` registers it.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { encodeModuleContent } from "@radical/protocol";
import { buildApp, startCompiler, loadProject } from "@radical/app";
import { bundleServer } from "./bundle-server.ts";

const APPLICATION = fileURLToPath(new URL("../fixtures/bank", import.meta.url));

async function packRelease(folder: string): Promise<void> {
  await bundleServer(folder, false);
  const compiler = await startCompiler({ colours: false });
  const { app, report } = await buildApp(await loadProject(APPLICATION), compiler, { optimize: true });
  await compiler.close();
  if (app === null) throw new Error(JSON.stringify(report.diagnostics));
  const location = path.join(folder, "location");
  await mkdir(location);
  await writeFile(path.join(location, "worker.js"), app.worker);
  await writeFile(path.join(location, "module.wasm"), app.content.wasm);
  await writeFile(path.join(location, "module.rw.wasm"), app.content.rwWasm);
  await writeFile(path.join(location, "manifest.json"), JSON.stringify(app.manifest));
  await writeFile(path.join(folder, "module.cbor"), encodeModuleContent(app.content));
}

const [name] = process.argv.slice(2);
if (name === undefined || !/^[a-z0-9-]+$/.test(name)) {
  console.error("Give the fixture a name, in small letters, digits and hyphens: pnpm release:keep abi-5");
  process.exitCode = 2;
} else {
  const folder = await mkdtemp(path.join(tmpdir(), "radical-release-"));
  try {
    await packRelease(folder);
    const file = path.join(import.meta.dirname, `${name}.tgz`);
    await promisify(execFile)("tar", ["-czf", file, "-C", folder, "."]);
    console.log(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
