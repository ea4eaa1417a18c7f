/**
 * The import rules of ARCHITECTURE.md, checked on the real imports of every source file.
 *
 * A file belongs to its package (packages/<name>), and inside it to the pure core (src/core, or the whole package)
 * or not. Tests (`*.test.ts`, their support in src/testing, everything under e2e/) may import any library, and the
 * packages in `tests`.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";

/**
 * @typedef {object} Layer
 * @property {readonly string[]} workspace packages of the workspace that its sources may import
 * @property {readonly string[]} tests packages that its tests may import besides
 * @property {readonly string[] | "any"} libraries what its sources may import from outside the workspace; "any" includes Node's modules
 * @property {boolean} [pure] the whole package is a pure core
 */

/** @type {Readonly<Record<string, Layer>>} */
const LAYERS = {
  "command-line": { workspace: [], tests: [], libraries: "any" },
  variants: { workspace: [], tests: [], libraries: "any" },
  protocol: { workspace: [], tests: [], libraries: [], pure: true },
  history: { workspace: [], tests: [], libraries: [], pure: true },
  sdk: { workspace: [], tests: ["protocol", "wasm-host"], libraries: "any" },
  "wasm-host": { workspace: ["protocol"], tests: [], libraries: ["@noble/hashes"] },
  analyzer: {
    workspace: ["protocol", "wasm-host"],
    tests: ["sdk", "command-line", "history", "variants"],
    libraries: ["assemblyscript"],
  },
  runtime: { workspace: ["protocol", "wasm-host"], tests: ["analyzer", "sdk", "command-line"], libraries: "any" },
  "lvi-server": {
    workspace: ["command-line", "protocol", "wasm-host"],
    tests: ["analyzer", "sdk", "history"],
    libraries: "any",
  },
  dashboard: { workspace: ["protocol"], tests: [], libraries: ["preact", "@preact/signals"] },
  app: { workspace: ["protocol", "history", "sdk", "wasm-host", "analyzer", "runtime"], tests: [], libraries: "any" },
  admin: { workspace: ["app", "protocol"], tests: [], libraries: "any" },
  local: { workspace: ["admin", "app", "lvi-server", "protocol"], tests: [], libraries: "any" },
  deploy: { workspace: ["admin", "app", "lvi-server", "protocol"], tests: [], libraries: "any" },
  bench: {
    workspace: ["admin", "app", "history", "local", "lvi-server", "protocol", "runtime", "wasm-host"],
    tests: [],
    libraries: "any",
  },
  cli: {
    workspace: [
      "command-line",
      "protocol",
      "history",
      "wasm-host",
      "analyzer",
      "runtime",
      "lvi-server",
      "dashboard",
      "app",
      "admin",
      "local",
      "deploy",
      "bench",
    ],
    tests: [],
    libraries: "any",
  },
  "create-radical-app": { workspace: [], tests: [], libraries: "any" },
  vscode: { workspace: [], tests: [], libraries: "any" },
  simulation: {
    workspace: ["command-line", "history", "variants", "protocol", "wasm-host", "analyzer", "runtime", "lvi-server"],
    tests: [],
    libraries: "any",
  },
};

/** Libraries that only these packages' sources may import: they are large, and belong to their concern. */
const OWNERS = /** @type {Readonly<Record<string, readonly string[]>>} */ ({
  "@aws-sdk/client-cloudformation": ["deploy"],
  "@aws-sdk/client-ecr": ["deploy"],
  "@aws-sdk/client-s3": ["deploy"],
  // The server reads its keys by it, if they are a parameter.
  "@aws-sdk/client-ssm": ["deploy", "lvi-server"],
  "@aws-sdk/client-sts": ["deploy"],
  "@cyclonedx/cyclonedx-library": ["deploy"],
  miniflare: ["local"],
});

/** Packages that only the commands which need them load, and the files from which everything else is loaded. */
const LAZY = {
  starts: ["program", "index", "testing", "dev/start-dev"].map((name) => `packages/cli/src/${name}.ts`),
  packages: ["@radical/deploy", "@radical/bench"],
};

/** The package that Workers do not import, and its part for them. */
const WORKER_PART = { of: "@radical/app", part: "@radical/app/workers" };

/** The packages that a src/core folder may import, and those of which it may import only the types. */
const CORE = { workspace: ["protocol", "wasm-host"], typesOnly: ["wasm-host"] };

/** The folder of the analyzer in which one single file may import the AssemblyScript compiler. */
const COMPILER_FOLDER = "packages/analyzer/src/parse/";
const COMPILER = "assemblyscript";

/** The package that alone may instantiate WebAssembly, so that both sides run handlers under the same rules. */
const INSTANTIATING_PACKAGE = "wasm-host";

/**
 * @typedef {object} Import
 * @property {string} specifier
 * @property {boolean} typeOnly
 * @property {boolean} dynamic by an expression, when it is reached
 * @property {number} line 1-based
 */

/**
 * Every import, re-export and literal dynamic import of a source file.
 * @param {string} file @param {string} text @returns {Import[]}
 */
function importsOf(file, text) {
  const { module, errors } = parseSync(file, text, { sourceType: "module" });
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`);
  /** @param {number} offset */
  const lineAt = (offset) => text.slice(0, offset).split("\n").length;
  const found = module.staticImports.map(({ moduleRequest, entries, start, end }) => ({
    specifier: moduleRequest.value,
    typeOnly: /^import\s+type\b/.test(text.slice(start, end)) || (entries.length > 0 && entries.every((e) => e.isType)),
    dynamic: false,
    line: lineAt(start),
  }));
  for (const { entries, start } of module.staticExports) {
    for (const { moduleRequest, isType } of entries) {
      if (moduleRequest)
        found.push({ specifier: moduleRequest.value, typeOnly: isType, dynamic: false, line: lineAt(start) });
    }
  }
  for (const { moduleRequest, start } of module.dynamicImports) {
    const literal = /^["'](?<specifier>.*)["']$/.exec(text.slice(moduleRequest.start, moduleRequest.end));
    if (literal?.groups?.["specifier"]) {
      found.push({ specifier: literal.groups["specifier"], typeOnly: false, dynamic: true, line: lineAt(start) });
    }
  }
  return found;
}

/** @param {string} specifier `@scope/name/inner` → [`@scope/name`, `./inner`]; the package itself has subpath `.` */
function splitSpecifier(specifier) {
  const parts = specifier.split("/");
  const length = specifier.startsWith("@") ? 2 : 1;
  const inner = parts.slice(length).join("/");
  return { name: parts.slice(0, length).join("/"), subpath: inner === "" ? "." : `./${inner}` };
}

/** @param {string} folder @returns {string[]} source files below it, absolute, without what is built or installed */
function sourceFiles(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory())
      return ["node_modules", "dist", "golden", "fixtures"].includes(entry.name) ? [] : sourceFiles(full);
    return /\.(?:ts|tsx|mts|js|mjs)$/.test(entry.name) && !entry.name.endsWith(".d.ts") ? [full] : [];
  });
}

/**
 * A tsconfig without its comments. Strings are matched first, so that `//` inside one stays.
 * @param {string} file
 * @returns {{ extends?: string, compilerOptions?: Record<string, unknown>, references?: { path: string }[] }}
 */
function readTsconfig(file) {
  const text = readFileSync(file, "utf8").replace(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[^]*?\*\//g, "$1");
  return /** @type {ReturnType<typeof readTsconfig>} */ (JSON.parse(text));
}

/**
 * Checks a repository and returns what breaks the rules, as `file:line: what and what to do`; empty when all is well.
 * @param {string} root @returns {string[]}
 */
export function checkLayers(root) {
  /** @type {string[]} */
  const problems = [];
  const folder = path.join(root, "packages");
  const packages = readdirSync(folder).filter((name) => existsSync(path.join(folder, name, "package.json")));

  /** @type {Map<string, { layer: string, isPrivate: boolean, exports: Record<string, unknown> }>} by the name under which they are imported */
  const published = new Map();
  for (const layer of packages) {
    const manifest = /** @type {{ name: string, private?: boolean, exports?: Record<string, unknown> }} */ (
      JSON.parse(readFileSync(path.join(folder, layer, "package.json"), "utf8"))
    );
    published.set(manifest.name, {
      layer,
      isPrivate: manifest.private === true,
      exports: manifest.exports ?? {},
    });
    if (!Object.hasOwn(LAYERS, layer)) {
      problems.push(`packages/${layer}: no rule says what it may import; add it to LAYERS in scripts/check-layers.mjs`);
    }
  }

  problems.push(...checkLazy(root), ...checkWorkers(root));
  const privateLayers = new Set(Array.from(published.values(), (one) => (one.isPrivate ? one.layer : "")));
  for (const layer of packages) {
    const rule = LAYERS[layer];
    if (rule === undefined) continue;
    const base = path.join(folder, layer);
    /** @type {string[]} */
    const compilerImporters = [];
    for (const file of [...sourceFiles(path.join(base, "src")), ...sourceFiles(path.join(base, "e2e"))]) {
      const shown = path.relative(root, file).replaceAll(path.sep, "/");
      const isTest = /\.test\.ts$|^packages\/[^/]+\/(?:e2e|src\/testing)\//.test(shown);
      const inCore = !isTest && shown.startsWith(`packages/${layer}/src/core/`);
      const text = readFileSync(file, "utf8");
      for (const { specifier, typeOnly, line } of importsOf(file, text)) {
        /** @param {string} what */
        const report = (what) => void problems.push(`${shown}:${line}: ${what}`);
        if (specifier.startsWith(".")) {
          const target = path.resolve(path.dirname(file), specifier);
          if (path.relative(base, target).startsWith("..")) {
            report(`imports "${specifier}" outside its package; import the package by its name`);
          } else if (inCore && path.relative(path.join(base, "src/core"), target).startsWith("..")) {
            report(`a core imports "${specifier}" from outside src/core; hand it in as an event or an argument`);
          }
          continue;
        }
        const { name, subpath } = splitSpecifier(specifier);
        const target = published.get(name);
        if (target !== undefined) {
          if (!Object.hasOwn(target.exports, subpath) && target.layer !== layer) {
            report(`imports the inner file "${specifier}"; only what ${name} exports may be imported`);
          } else if (!isTest && !privateLayers.has(layer) && isOnlyInWorkspace(target.exports[subpath])) {
            report(`imports "${specifier}", which ${name} does not publish; a published package can't import it`);
          }
          const allowed = isTest ? [...rule.workspace, ...rule.tests] : inCore ? CORE.workspace : rule.workspace;
          if (!allowed.includes(target.layer) && target.layer !== layer) {
            report(`${inCore ? `the core of ${layer}` : layer} may not import ${name}`);
          } else if (inCore && CORE.typesOnly.includes(target.layer) && !typeOnly) {
            report(`a core may import only types from ${name}; write "import type"`);
          }
          continue;
        }
        const owners = OWNERS[name]?.filter((owner) => Object.hasOwn(LAYERS, owner)) ?? [];
        if (!isTest && !typeOnly && owners.length > 0 && !owners.includes(layer))
          report(`only ${owners.join(" and ")} may import ${name}`);
        if (name === COMPILER && layer === "analyzer" && !isTest) {
          if (!shown.startsWith(COMPILER_FOLDER)) report(`only a file under ${COMPILER_FOLDER} may import ${COMPILER}`);
          else if (!compilerImporters.includes(shown)) compilerImporters.push(shown);
        }
        if (isTest) continue;
        if (inCore) report(`a core imports "${specifier}"; it may import only the protocol and itself`);
        else if (rule.libraries !== "any" && !rule.libraries.includes(name))
          report(`${layer} may not import "${specifier}"`);
      }
      if (!isTest && layer !== INSTANTIATING_PACKAGE && instantiates(file, text)) {
        problems.push(
          `${shown}: instantiates WebAssembly; only ${INSTANTIATING_PACKAGE} may, so that both sides agree`,
        );
      }
    }
    if (compilerImporters.length > 1) {
      problems.push(`${compilerImporters.join(" and ")}: one single file may import ${COMPILER}`);
    }
    problems.push(...checkProjects(root, layer, rule));
  }
  return problems;
}

/**
 * Whether the packages of `LAZY` stay unloaded until a command asks for them.
 * @param {string} root @returns {string[]}
 */
function checkLazy(root) {
  const starts = LAZY.starts.filter((file) => existsSync(path.join(root, file)));
  return loadedWith(root, starts)
    .filter(({ specifier }) => LAZY.packages.includes(specifier))
    .map(
      ({ file, line, specifier }) =>
        `${file}:${line}: every command would load ${specifier}; import it where it is used: await import`,
    );
}

/**
 * Whether Workers leave the package of the build alone: it needs Node, and would be bundled into them.
 * @param {string} root @returns {string[]}
 */
function checkWorkers(root) {
  const workers = sourceFiles(path.join(root, "packages"))
    .map((file) => path.relative(root, file).replaceAll(path.sep, "/"))
    .filter((file) => file.endsWith(".worker.ts"));
  return loadedWith(root, workers)
    .filter(({ specifier }) => specifier === WORKER_PART.of)
    .map(
      ({ file, line }) =>
        `${file}:${line}: a Worker would have all of ${WORKER_PART.of}, which needs Node; import ${WORKER_PART.part}`,
    );
}

/**
 * The imports of other packages by these files, and by the files of their own package that they load.
 * @param {string} root @param {readonly string[]} starts @returns {(Import & { file: string })[]}
 */
function loadedWith(root, starts) {
  const open = [...starts];
  const seen = new Set();
  /** @type {(Import & { file: string })[]} */
  const loaded = [];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    for (const found of importsOf(file, readFileSync(path.join(root, file), "utf8"))) {
      if (found.typeOnly || found.dynamic) continue;
      if (found.specifier.startsWith(".")) open.push(path.posix.join(path.posix.dirname(file), found.specifier));
      else loaded.push({ ...found, file });
    }
  }
  return loaded;
}

/** Whether an export has its source alone: nothing of it is built for others. @param {unknown} target */
function isOnlyInWorkspace(target) {
  return (
    typeof target === "object" && target !== null && Object.keys(target).every((condition) => condition === "source")
  );
}

/** @param {string} file @param {string} text */
function instantiates(file, text) {
  let code = text;
  for (const { start, end } of parseSync(file, text, { sourceType: "module" }).comments) {
    code = code.slice(0, start) + " ".repeat(end - start) + code.slice(end);
  }
  return /\bWebAssembly\s*\.\s*(?:Instance\s*\(|instantiate)/.test(code);
}

/**
 * The TypeScript projects of a package: pure ones see only the ES library, and the root builds each.
 * @param {string} root @param {string} layer @param {Layer} rule @returns {string[]}
 */
function checkProjects(root, layer, rule) {
  /** @type {string[]} */
  const problems = [];
  const own = `packages/${layer}/tsconfig.json`;
  const core = `packages/${layer}/src/core`;
  /** @param {string} file */
  const checkPure = (file) => {
    const { extends: base = "", compilerOptions = {} } = readTsconfig(path.join(root, file));
    if (path.resolve(path.dirname(path.join(root, file)), base) !== path.join(root, "tsconfig.pure.json")) {
      problems.push(`${file}: a pure project extends tsconfig.pure.json`);
    }
    for (const option of ["lib", "types", "typeRoots"].filter((name) => name in compilerOptions)) {
      problems.push(`${file}: a pure project may not set "${option}"`);
    }
  };
  if (!existsSync(path.join(root, own))) return problems;
  if (rule.pure) checkPure(own);
  if (existsSync(path.join(root, core))) {
    if (existsSync(path.join(root, core, "tsconfig.json"))) checkPure(`${core}/tsconfig.json`);
    else problems.push(`${core}: has no tsconfig.json that extends tsconfig.pure.json`);
    const references = readTsconfig(path.join(root, own)).references ?? [];
    if (!references.some((reference) => path.join(reference.path) === path.join("src/core"))) {
      problems.push(`${own}: does not reference its core; add { "path": "src/core" } to "references"`);
    }
  }
  for (const file of ["tsconfig.json", "tsconfig.tests.json"]) {
    const references = readTsconfig(path.join(root, file)).references ?? [];
    if (!references.some((reference) => path.join(reference.path) === path.join("packages", layer))) {
      problems.push(`${file}: does not build packages/${layer}; add { "path": "packages/${layer}" } to "references"`);
    }
  }
  return problems;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = checkLayers(path.dirname(path.dirname(fileURLToPath(import.meta.url))));
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
