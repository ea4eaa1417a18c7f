import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { argumentsOf, serversOf } from "./installs.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "radical-installs-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text = ""): string {
  const full = join(root, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
  return full;
}

/** Gives the path of its JavaScript. */
function install(folder: string): string {
  write(`${folder}/node_modules/@radical/cli/package.json`, '{ "bin": { "radical": "./dist/main.js" } }');
  return write(`${folder}/node_modules/@radical/cli/dist/main.js`);
}

test("applications of one installation share a server, those of another have another one", () => {
  const shared = install("mono");
  const own = install("mono/apps/old");
  const applications = ["mono/apps/a", "mono/apps/b", "mono/apps/old"].map((path) => join(root, path));
  expect(serversOf(applications, null)).toEqual({
    servers: [
      { main: shared, node: "node", applications: applications.slice(0, 2) },
      { main: own, node: "node", applications: [applications[2]] },
    ],
    missing: [],
  });
});

test("the Node of the application, or that of the setting", () => {
  const main = install("app");
  write("app/node_modules/node/package.json", "{}");
  const node = write("app/node_modules/node/bin/node");
  const application = join(root, "app");
  expect(serversOf([application], null).servers).toEqual([{ main, node, applications: [application] }]);
  expect(serversOf([application], "/usr/bin/node").servers[0]?.node).toBe("/usr/bin/node");
  expect(argumentsOf({ main, node })).toEqual([main, "lsp", "--stdio"]);
});

test("without an installation, or with one that is not built, an application is missing", () => {
  write("unbuilt/node_modules/@radical/cli/package.json", '{ "bin": { "radical": "./dist/main.js" } }');
  const applications = [join(root, "bare"), join(root, "unbuilt")];
  expect(serversOf(applications, null)).toEqual({ servers: [], missing: applications });
});
