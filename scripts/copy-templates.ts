/**
 * Copies the templates into create-radical-app before it is packed (its `prepack`), as the scaffolder reads them. They
 * have versions in place of the workspace's links, and names that a package can hold.
 */
import { cpSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

interface PackageJson {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const SCAFFOLDER = join(ROOT, "packages/create-radical-app");
const FROM = join(ROOT, "templates");
const TO = join(SCAFFOLDER, "templates");

/** Names that tools leave in a template's folder. */
const LEFT_OUT = new Set(["node_modules", "dist", ".radical", "client.js"]);

const { version = "" } = readPackage(SCAFFOLDER);

rmSync(TO, { recursive: true, force: true });
for (const name of readdirSync(FROM)) {
  const folder = join(TO, name);
  // Templates share files by links; an application of one's own has them. Two kinds of files stay copies. Git reads no
  // `.gitignore` through a link. Radical serves no file that is a link out of `public`, so `_headers` would be missing.
  cpSync(join(FROM, name), folder, {
    recursive: true,
    dereference: true,
    filter: (source) => !LEFT_OUT.has(basename(source)),
  });
  renameSync(join(folder, ".gitignore"), join(folder, "gitignore"));
  const template = readPackage(folder);
  const written: PackageJson = {
    ...template,
    dependencies: withVersions(template.dependencies),
    devDependencies: withVersions(template.devDependencies),
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(written, null, 2)}\n`);
}

function readPackage(folder: string): PackageJson {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as PackageJson;
}

/** All packages of the workspace have one version. */
function withVersions(dependencies: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(dependencies).map(([name, wanted]) => [name, wanted === "workspace:*" ? version : wanted]),
  );
}
