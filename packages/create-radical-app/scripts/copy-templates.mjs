/**
 * Copies the templates of the repository into this package before it is packed, as the scaffolder reads them:
 * versions in place of the workspace's links, and names that npm would not pack as they are under another name.
 */
import { cpSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const FROM = path.join(PACKAGE, "..", "..", "templates");
const TO = path.join(PACKAGE, "templates");

/** What tools leave in a template's folder. */
const LEFT_OUT = new Set(["node_modules", "dist", ".radical"]);

/** @param {string} file @returns {any} */
const readJson = (file) => JSON.parse(readFileSync(file, "utf8"));
/** @type {{version: string}} */
const { version } = readJson(path.join(PACKAGE, "package.json"));

rmSync(TO, { recursive: true, force: true });
for (const name of readdirSync(FROM)) {
  const folder = path.join(TO, name);
  cpSync(path.join(FROM, name), folder, { recursive: true, filter: (source) => !LEFT_OUT.has(path.basename(source)) });
  renameSync(path.join(folder, ".gitignore"), path.join(folder, "gitignore"));

  const file = path.join(folder, "package.json");
  const manifest = readJson(file);
  for (const group of ["dependencies", "devDependencies"]) {
    for (const [dependency, wanted] of Object.entries(manifest[group] ?? {})) {
      if (wanted === "workspace:*") manifest[group][dependency] = version;
    }
  }
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}
