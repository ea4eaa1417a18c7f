/**
 * `pnpm release:keep <name>`: keeps this release as a fixture, `<name>.tgz` beside this file. Later releases are run
 * beside it, both ways round. It has:
 *
 * - `server/main.js`: the LVI server, bundled. DynamoDB's client is left out: it serves SQLite.
 * - `location/`: the application `bank` as `radical build` makes it, Worker, manifest and WebAssembly.
 * - `module.cbor`: the content of its module, as `radical deploy` registers it.
 */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { encodeModuleContent } from "@radical/protocol";
import { build } from "esbuild";
import { buildApp, startCompiler, loadProject } from "@radical/app";

const PACKAGES = fileURLToPath(new URL("../../../", import.meta.url));
const APPLICATION = fileURLToPath(new URL("../fixtures/bank", import.meta.url));

/** What the bundled server still loads by `require`, of libraries that are no modules. */
const REQUIRE = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

async function packRelease(folder: string): Promise<void> {
  const server = path.join(PACKAGES, "lvi-server");
  await build({
    entryPoints: [path.join(server, "src/main.ts"), path.join(server, "src/execution/worker.ts")],
    entryNames: "[name]",
    outdir: path.join(folder, "server"),
    bundle: true,
    platform: "node",
    format: "esm",
    // Code for DynamoDB stays apart, so that its client is not looked for.
    splitting: true,
    target: "node24",
    conditions: ["source"],
    banner: { js: REQUIRE },
    external: ["@aws-sdk/*", "@smithy/*"],
    logLevel: "warning",
  });
  await cp(path.join(server, "package.json"), path.join(folder, "package.json"));

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
