/**
 * Writes `dist/binaryen/`: Binaryen as AssemblyScript imports it, with its WebAssembly in a file of its own. As it is
 * published, the WebAssembly is one literal of 13 million characters in a module's text: reading and decoding that is
 * most of what loading the compiler takes. Part of the build.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { runInNewContext } from "node:vm";

const PUBLISHED = createRequire(createRequire(import.meta.url).resolve("assemblyscript/package.json"));
const START = "`\\0asm";

const published = PUBLISHED.resolve("binaryen");
const text = readFileSync(published, "utf8");
const start = text.indexOf(START);
const end = endOfTemplate(text, start);
// A function of a short name decodes it: the low byte of each character.
const decoding = /[\w$]+\($/.exec(text.slice(start - 10, start))?.[0];
if (start < 0 || text.includes(START, start + 1) || decoding === undefined || text[end] !== ")")
  throw new Error("binaryen no longer has its WebAssembly in one literal: adapt this script");

const wasm = Buffer.from(String(runInNewContext(text.slice(start, end))), "latin1");
if (!WebAssembly.validate(wasm)) throw new Error("binaryen encodes its WebAssembly in another way: adapt this script");

const folder = new URL("../dist/binaryen/", import.meta.url);
mkdirSync(folder, { recursive: true });
copyFileSync(join(dirname(published), "LICENSE"), new URL("LICENSE", folder));
writeFileSync(new URL("binaryen.wasm", folder), wasm);
writeFileSync(
  new URL("index.js", folder),
  `import { readFileSync } from "node:fs";\n${text.slice(0, start - decoding.length)}` +
    `readFileSync(new URL("binaryen.wasm", import.meta.url))${text.slice(end + 1)}`,
);

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
