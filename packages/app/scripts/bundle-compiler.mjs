/**
 * Writes `dist/compiler/`: the analyzer, the AssemblyScript compiler and the sources of its library. The compiler's thread loads
 * them several times faster than module by module. An application installs neither AssemblyScript nor Binaryen, whose executables
 * take 80 MB. Part of the build. Two things differ from what is published:
 *
 * Binaryen has its WebAssembly in a file of its own. In the published module it is one literal of 13 million characters,
 * whose reading and decoding is most of what loading the compiler takes.
 *
 * AssemblyScript has the WebAssembly of its power function in a `data:` URL, which it fetches; Node would load an HTTP
 * client for that. Here it is decoded.
 *
 * The analyzer is one function of Binaryen, as a script: V8's code of a module can't be kept as it is after a run
 * (`src/build/kept-code.ts`).
 */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { build } from "esbuild";

const TARGET = fileURLToPath(new URL("../dist/compiler", import.meta.url));
const FOLDER = `${TARGET}-${process.pid}`;
const ANALYZER = fileURLToPath(new URL("../../analyzer/src/index.ts", import.meta.url));
const ASSEMBLYSCRIPT = createRequire(import.meta.url).resolve("assemblyscript/package.json");
const BINARYEN = createRequire(ASSEMBLYSCRIPT).resolve("binaryen");

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
writeBinaryen();
cpSync(join(dirname(ASSEMBLYSCRIPT), "std/assembly"), join(FOLDER, "std"), { recursive: true });
const { metafile } = await build({
  entryPoints: [ANALYZER],
  outfile: join(FOLDER, "analyzer.js"),
  bundle: true,
  format: "iife",
  globalName: "analyzer",
  banner: { js: '(function (binaryen) { "use strict";' },
  footer: { js: "return analyzer; })" },
  platform: "node",
  target: "node24",
  conditions: ["source"],
  logLevel: "warning",
  metafile: true,
  plugins: [
    {
      name: "compiler",
      setup: (bundler) => {
        bundler.onResolve({ filter: /^binaryen$/ }, () => ({ path: "binaryen", namespace: "parameter" }));
        bundler.onLoad({ filter: /^/, namespace: "parameter" }, () => ({ contents: "export default binaryen;" }));
        bundler.onLoad({ filter: /[\\/]assemblyscript[\\/]dist[\\/]assemblyscript\.js$/ }, ({ path }) => ({
          contents: withoutFetch(readFileSync(path, "utf8")),
        }));
      },
    },
  ],
});
const packages = Object.keys(metafile.inputs).flatMap(
  (input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(input)?.[0] ?? [],
);
for (const folder of new Set([...packages, dirname(BINARYEN)])) copyLicense(folder);
// An equal folder stays in place for programs that are reading it.
if (contentOf(TARGET) === contentOf(FOLDER)) {
  rmSync(FOLDER, { recursive: true });
} else {
  rmSync(TARGET, { recursive: true, force: true });
  renameSync(FOLDER, TARGET);
}

/** @param {string} folder @returns {string} */
function contentOf(folder) {
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted() : [];
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return JSON.stringify(files.map((name) => [name, readFileSync(join(folder, name)).toString("base64")]));
}

function writeBinaryen() {
  const text = readFileSync(BINARYEN, "utf8");
  const start = text.indexOf("`\\0asm");
  const end = endOfTemplate(text, start);
  // A function of a short name decodes it: the low byte of each character.
  const decoding = /[\w$]+\($/.exec(text.slice(start - 10, start))?.[0];
  if (start < 0 || text.includes("`\\0asm", start + 1) || decoding === undefined || text[end] !== ")")
    throw new Error("binaryen no longer has its WebAssembly in one literal: adapt this script");
  const wasm = Buffer.from(String(runInNewContext(text.slice(start, end))), "latin1");
  if (!WebAssembly.validate(wasm))
    throw new Error("binaryen encodes its WebAssembly in another way: adapt this script");
  writeFileSync(join(FOLDER, "binaryen.wasm"), wasm);
  writeFileSync(
    join(FOLDER, "binaryen.js"),
    `import { readFileSync } from "node:fs";\n${text.slice(0, start - decoding.length)}` +
      `readFileSync(new URL("binaryen.wasm", import.meta.url))${text.slice(end + 1)}`,
  );
}

/**
 * Where the template literal ends that begins at `at`.
 * @param {string} source @param {number} at @returns {number}
 */
function endOfTemplate(source, at) {
  for (let next = at + 1; next < source.length; next++) {
    if (source[next] === "\\") next++;
    else if (source[next] === "`") return next + 1;
  }
  return -1;
}

/** @param {string} text of AssemblyScript @returns {string} */
function withoutFetch(text) {
  const parts = text.split(/await WebAssembly\.instantiateStreaming\(fetch\(([\w$]+)\)\)/);
  const [before, url, after] = parts;
  if (url === undefined || parts.length !== 3 || !text.includes(`${url}="data:application/wasm;base64,`))
    throw new Error("assemblyscript no longer fetches its power function: adapt this script");
  const bytes = `Buffer.from(${url}.slice(${url}.indexOf(",")+1),"base64")`;
  return `${before}{instance:new WebAssembly.Instance(new WebAssembly.Module(${bytes}))}${after}`;
}

/** @param {string} folder of a package whose code is in the bundle */
function copyLicense(folder) {
  const { name } = /** @type {{ name: string }} */ (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
  if (!existsSync(join(folder, "LICENSE"))) throw new Error(`${name} has no LICENSE: adapt this script`);
  for (const file of ["LICENSE", "NOTICE"].filter((candidate) => existsSync(join(folder, candidate))))
    copyFileSync(join(folder, file), join(FOLDER, `${name.replace("/", "-")}.${file}`));
}
