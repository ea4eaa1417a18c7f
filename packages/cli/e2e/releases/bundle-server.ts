/** The LVI server bundled as `radical deploy` bundles it, and with modules of its own in the place of some: a release to come. */
import { cp } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const PACKAGES = fileURLToPath(new URL("../../../", import.meta.url));
const SERVER = path.join(PACKAGES, "lvi-server");
/** Has what a release to come would change, by the path of what it is in the place of. */
const NEXT = path.join(import.meta.dirname, "fixtures/next");
const REPLACED: Readonly<Record<string, string>> = {
  "lvi-server/src/storage/schemas.ts": "schemas.ts",
  "protocol/src/wire-version.ts": "wire-version.ts",
};

/** Some libraries in the bundle still load others by `require`. */
const REQUIRE = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

/** Writes `server/main.js` and what belongs to it into the folder. */
export async function bundleServer(folder: string, isNext: boolean): Promise<string> {
  await build({
    entryPoints: [path.join(SERVER, "src/main.ts"), path.join(SERVER, "src/execution/worker.ts")],
    entryNames: "[name]",
    outdir: path.join(folder, "server"),
    bundle: true,
    minify: true,
    keepNames: true,
    platform: "node",
    format: "esm",
    target: "node24",
    conditions: ["source"],
    banner: { js: REQUIRE },
    plugins: isNext ? [nextRelease] : [],
    logLevel: "warning",
  });
  await cp(path.join(SERVER, "package.json"), path.join(folder, "package.json"));
  return path.join(folder, "server/main.js");
}

/** The replacements import what they replace. */
const nextRelease: Plugin = {
  name: "next-release",
  setup: (building) => {
    building.onResolve({ filter: /\/(?:schemas|wire-version)\.ts$/ }, ({ path: to, resolveDir }) => {
      const replacement = REPLACED[path.relative(PACKAGES, path.resolve(resolveDir, to))];
      return replacement === undefined || resolveDir === NEXT ? null : { path: path.join(NEXT, replacement) };
    });
  },
};
