/**
 * What a machine runs: the LVI server bundled into two files, with its dependencies, and the files around it (`node-files.ts`), as one
 * tar file that is named by its SHA-256. Nothing is installed from a package registry on a machine.
 *
 * The same sources give the same bytes, on whatever machine: a deployment is replaced only if its server is another one. So
 * the tar has no times and no owners, and is not compressed, since compressors differ between versions of Node.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { type FileTexts, hostingFiles, nodeFiles } from "./node-files.ts";

export interface ServerArtefact {
  /** Of the tar file, in hexadecimal. */
  readonly sha256: string;
  readonly tar: Uint8Array;
}

/** Bundles the server of this version of Radical. */
export async function buildServerArtefact(): Promise<ServerArtefact> {
  const tar = tarOf({ ...(await serverFiles()), ...hostingFiles(), ...nodeFiles() });
  return { sha256: createHash("sha256").update(tar).digest("hex"), tar };
}

/** The server by itself, by paths: `node dist/main.js` runs it. */
export async function serverFiles(): Promise<FileTexts> {
  const entry = fileURLToPath(import.meta.resolve("@radical/lvi-server"));
  const fromSource = entry.endsWith(".ts");
  const extension = fromSource ? "ts" : "js";
  const inPackage = (path: string): string => fileURLToPath(new URL(path, import.meta.resolve("@radical/lvi-server")));
  const { version } = JSON.parse(await readFile(inPackage("../package.json"), "utf8")) as { version: string };
  const { outputFiles } = await build({
    entryPoints: {
      main: inPackage(`./main.${extension}`),
      // Started by its place beside the main file.
      worker: inPackage(`./execution/worker.${extension}`),
    },
    outdir: "dist",
    bundle: true,
    write: false,
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
  return files;
}

// ── Tar ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

const BLOCK = 512;

/** A tar file (ustar) of these files, sorted. Scripts can be run; nothing else differs between files. */
export function tarOf(files: FileTexts): Uint8Array {
  const blocks: Uint8Array[] = [];
  for (const path of Object.keys(files).toSorted()) {
    const content = Buffer.from(files[path]!, "utf8");
    blocks.push(headerOf(path, content.length), content, Buffer.alloc(-content.length & (BLOCK - 1)));
  }
  blocks.push(Buffer.alloc(2 * BLOCK));
  return Buffer.concat(blocks);
}

function headerOf(path: string, size: number): Uint8Array {
  if (Buffer.byteLength(path) > 100) throw new Error(`${path} is too long for the header of a tar file`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(path, 0);
  header.write(octal(path.endsWith(".sh") ? 0o755 : 0o644, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(size, 11), 124);
  header.write(octal(0, 11), 136);
  // The checksum is of the header with spaces in its place.
  header.write(" ".repeat(8), 148);
  header.write("0", 156);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
