/**
 * What a machine runs: the LVI server bundled into two files, with its dependencies. A machine of EC2 gets it with the files around it
 * (`node-files.ts`) as one tar file that is named by its SHA-256. Nothing is installed from a package registry on a machine.
 *
 * The same sources give the same bytes, on whatever machine: a deployment is replaced only if its server is another one. So
 * the tar has no times and no owners, and is not compressed, since compressors differ between versions of Node.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { componentsOf, licenceTexts, softwareBill } from "./bill-of-materials.ts";
import { type FileTexts, nodeFiles } from "./node-files.ts";
import { tarOf } from "./tar.ts";

export interface ServerArtefact {
  /** Of the tar file, in hexadecimal. */
  readonly sha256: string;
  readonly tar: Uint8Array;
}

/** Bundles the server of this version of Radical. */
export async function buildServerArtefact(): Promise<ServerArtefact> {
  const tar = tarOf({ ...(await serverFiles()), ...nodeFiles() });
  return { sha256: createHash("sha256").update(tar).digest("hex"), tar };
}

/** The server by itself, by paths: `node dist/main.js` runs it. With it, what it is made of. */
export async function serverFiles(): Promise<FileTexts> {
  const entry = fileURLToPath(import.meta.resolve("@radical/lvi-server"));
  const fromSource = entry.endsWith(".ts");
  const extension = fromSource ? "ts" : "js";
  const inPackage = (path: string): string => fileURLToPath(new URL(path, import.meta.resolve("@radical/lvi-server")));
  const { version } = JSON.parse(await readFile(inPackage("../package.json"), "utf8")) as { version: string };
  const { outputFiles, metafile } = await build({
    entryPoints: {
      main: inPackage(`./main.${extension}`),
      // Started by its place beside the main file.
      worker: inPackage(`./execution/worker.${extension}`),
    },
    outdir: "dist",
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    target: "node24",
    format: "esm",
    minify: true,
    // Names stand in logs and stack traces.
    keepNames: true,
    legalComments: "inline",
    conditions: fromSource ? ["source"] : [],
    logLevel: "silent",
    // Dependencies that are CommonJS require Node's own modules.
    banner: {
      js: 'import { createRequire as radicalCreateRequire } from "node:module"; const require = radicalCreateRequire(import.meta.url);',
    },
  });
  const files: Record<string, string> = {
    // The server tells its version from it.
    "package.json": `${JSON.stringify({ name: "@radical/lvi-server", version, private: true, type: "module", engines: { node: ">=24" } }, null, 2)}\n`,
  };
  for (const { path, text } of outputFiles) files[`dist/${path.slice(path.lastIndexOf("/") + 1)}`] = text;
  const components = await componentsOf(Object.keys(metafile.inputs));
  files["bill-of-materials.cdx.json"] = softwareBill(version, components);
  files["LICENSES.txt"] = licenceTexts(components);
  return files;
}
