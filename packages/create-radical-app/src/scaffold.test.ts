import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { problemOfName } from "./app-name.ts";
import { findLocalPackages, overriding, withLocalPackages } from "./local-packages.ts";
import { checkNode, inWordsOf, PACKAGE_MANAGERS, packageManagerOf, startedBy } from "./package-manager.ts";
import { problemOfDirectory, scaffold, type ScaffoldOptions } from "./scaffold.ts";
import { workflowFor } from "./workflow.ts";

let folder: string;
let templates: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-scaffold-"));
  templates = join(folder, "templates");
  await mkdir(join(templates, "minimal/handlers"), { recursive: true });
  await writeFile(join(templates, "minimal/gitignore"), "dist/\n");
  await writeFile(join(templates, "minimal/README.md"), "# minimal\n\nminimal\n");
  await writeFile(join(templates, "minimal/radical.config.ts"), 'export default { name: "minimal" };\n');
  await writeFile(
    join(templates, "minimal/package.json"),
    JSON.stringify({
      name: "radical-template-minimal",
      dependencies: { "@radical/sdk": "0.1.0" },
      devDependencies: { "@radical/cli": "0.1.0", node: "24.21.0", vitest: "5.1.1" },
    }),
  );
  await writeFile(join(templates, "minimal/handlers/notes.ts"), "");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function options(directory: string, changed: Partial<ScaffoldOptions> = {}): ScaffoldOptions {
  const { signal } = new AbortController();
  const npm = { manager: "npm", managerVersion: "11.0.0" } as const;
  return {
    directory,
    template: "minimal",
    nodeVersion: "24.0.0",
    ...npm,
    localPackages: null,
    templates,
    signal,
    ...changed,
  };
}

test("the application has the name of its folder everywhere", async () => {
  const { path } = await scaffold(options(join(folder, "my-notes")));
  expect((await readdir(path)).toSorted()).toEqual([
    ".github",
    ".gitignore",
    "README.md",
    "handlers",
    "package.json",
    "radical.config.ts",
  ]);
  expect(JSON.parse(await readFile(join(path, "package.json"), "utf8"))).toMatchObject({
    name: "my-notes",
    dependencies: { "@radical/sdk": "0.1.0" },
  });
  expect(await readFile(join(path, "radical.config.ts"), "utf8")).toContain('name: "my-notes"');
  expect(await readFile(join(path, "README.md"), "utf8")).toBe("# my-notes\n\nminimal\n");
});

test("a folder that holds something is refused and left as it is; an empty one and one with .git are not", async () => {
  const full = join(folder, "full");
  await mkdir(full);
  await writeFile(join(full, "thesis.txt"), "x");
  await expect(scaffold(options(full))).rejects.toThrow(/not empty \(it holds thesis\.txt\)/);
  expect(await readdir(full)).toEqual(["thesis.txt"]);
  // The current folder, here that of the tests.
  expect(await problemOfDirectory("")).toMatch(/not empty/);

  await mkdir(join(folder, "empty/.git"), { recursive: true });
  expect(await problemOfDirectory(join(folder, "empty"))).toBeNull();
  expect(await problemOfDirectory(join(full, "thesis"))).toBeNull();
  await writeFile(join(folder, "file"), "x");
  expect(await problemOfDirectory(join(folder, "file"))).toMatch(/is a file/);
});

test("names that no package or application may have are refused", () => {
  for (const name of ["a", "my-app", "a1"]) expect(problemOfName(name)).toBeNull();
  for (const name of ["", "My-App", "1a", "-a", "a b", "ä", "a".repeat(64), "..", "a_b"])
    expect(problemOfName(name)).toMatch(/is not a valid application name/);
});

test("an unknown template is refused with those that there are", async () => {
  await expect(scaffold(options(join(folder, "x"), { template: "blog" }))).rejects.toThrow(
    /template "blog" does not exist/,
  );
});

test("packages from a folder of tarballs: direct dependencies are files, the others are overridden", async () => {
  const packed = join(folder, "packed");
  await mkdir(packed);
  for (const file of [
    "radical-cli-0.1.0.tgz",
    "radical-sdk-0.1.0.tgz",
    "radical-lvi-server-0.1.0.tgz",
    "create-radical-app-0.1.0.tgz",
  ])
    await writeFile(join(packed, file), "");
  const packages = await findLocalPackages(packed);
  expect([...packages.keys()].toSorted()).toEqual(["@radical/cli", "@radical/lvi-server", "@radical/sdk"]);
  const manifest = withLocalPackages(
    { dependencies: { "@radical/sdk": "0.1.0" }, devDependencies: { "@radical/cli": "0.1.0", vitest: "5.1.1" } },
    packages,
  );
  expect(manifest).toEqual({
    dependencies: { "@radical/sdk": `file:${packed}/radical-sdk-0.1.0.tgz` },
    devDependencies: { "@radical/cli": `file:${packed}/radical-cli-0.1.0.tgz`, vitest: "5.1.1" },
  });
  expect(overriding("npm", manifest, packages).fields).toEqual({
    overrides: {
      "@radical/cli": "$@radical/cli",
      "@radical/sdk": "$@radical/sdk",
      "@radical/lvi-server": `file:${packed}/radical-lvi-server-0.1.0.tgz`,
    },
  });
  expect(overriding("yarn", manifest, packages).fields["resolutions"]).toMatchObject({
    "@radical/cli": `file:${packed}/radical-cli-0.1.0.tgz`,
  });
  expect(overriding("pnpm", manifest, packages).workspace).toContain(
    `  "@radical/cli": "file:${packed}/radical-cli-0.1.0.tgz"`,
  );
  await expect(findLocalPackages(join(folder, "nowhere"))).rejects.toThrow(/no packed/);
});

test("the package manager is the one that runs the command", () => {
  expect(startedBy("npm/11.19.1 node/v20.20.2 linux x64 workspaces/false")).toBe("npm");
  expect(startedBy("pnpm/12.21.0 npm/? node/v24.21.0 linux x64")).toBe("pnpm");
  expect(startedBy("yarn/1.22.22 npm/? node/v24.21.0 linux x64")).toBe("yarn");
  expect(startedBy("bun/1.3.1 npm/? node/v24.3.0 linux x64")).toBe("bun");
  for (const unknown of [undefined, "", "cnpm/9.0.0"]) expect(startedBy(unknown)).toBe("npm");
  expect(() => packageManagerOf("cargo")).toThrow(/The package manager "cargo" is not supported/);
});

test("an application brings Node only where the developer's is too old for it", async () => {
  for (const [nodeVersion, expected] of [
    ["20.20.2", { node: "24.21.0", engines: undefined }],
    ["24.0.0", { node: undefined, engines: { node: ">=24" } }],
    ["25.1.0", { node: undefined, engines: { node: ">=24" } }],
  ] as const) {
    const { path } = await scaffold(options(join(folder, `app-${nodeVersion.replaceAll(".", "-")}`), { nodeVersion }));
    const { engines, devDependencies } = JSON.parse(await readFile(join(path, "package.json"), "utf8")) as {
      readonly engines?: object;
      readonly devDependencies: Readonly<Record<string, string>>;
    };
    expect({ node: devDependencies["node"], engines }).toEqual(expected);
  }
});

test("Yarn runs scripts with its own Node, so that must be a late one", () => {
  for (const manager of PACKAGE_MANAGERS) expect(() => checkNode(manager, "24.0.0")).not.toThrow();
  expect(() => checkNode("npm", "20.20.2")).not.toThrow();
  expect(() => checkNode("yarn", "20.20.2")).toThrow(/its own Node, which is 20\.20\.2 here/);
});

test("texts of the templates name the commands of the package manager", () => {
  const text = "| `npm run dev` | `npx radical data list`; `npm test`, `npm install`; https://npm.im, npm itself |";
  expect(inWordsOf("npm", text)).toBe(text);
  expect(inWordsOf("pnpm", text)).toBe(
    "| `pnpm run dev` | `pnpm exec radical data list`; `pnpm test`, `pnpm install`; https://npm.im, pnpm itself |",
  );
  expect(inWordsOf("yarn", text)).toContain("`yarn run radical data list`; `yarn test`");
  expect(inWordsOf("bun", text)).toContain("`bun run radical data list`; `bun run test`, `bun install`");
});

test("each package manager gets the files and fields that it reads, and a workflow", async () => {
  for (const manager of PACKAGE_MANAGERS) {
    const { path } = await scaffold(options(join(folder, `for-${manager}`), { manager, managerVersion: "4.9.1" }));
    const files = (await readdir(path)).filter((file) => /^(pnpm|\.yarnrc)/.test(file));
    expect(files.toSorted()).toEqual(
      { npm: [], pnpm: ["pnpm-workspace.yaml"], yarn: [".yarnrc.yml"], bun: [] }[manager],
    );
    const manifest = JSON.parse(await readFile(join(path, "package.json"), "utf8")) as Record<string, unknown>;
    expect(manifest["packageManager"]).toBe(manager === "yarn" ? "yarn@4.9.1" : undefined);
    expect(manifest["trustedDependencies"]).toEqual(manager === "bun" ? ["esbuild", "node", "workerd"] : undefined);
    expect(await readFile(join(path, ".github/workflows/ci.yml"), "utf8")).toBe(workflowFor(manager, "4.9.1"));
  }
  expect(workflowFor("npm", "11.0.0")).toMatch(
    /cache: npm\n +- run: npm ci\n +- run: npm run check\n +- run: npm test\n$/,
  );
  expect(workflowFor("pnpm", "12.21.0")).toMatch(/version: 12\n[^]*pnpm install --frozen-lockfile\n/);
  expect(workflowFor("yarn", "1.22.22")).toMatch(/yarn install --frozen-lockfile\n/);
  expect(workflowFor("yarn", "4.9.1")).toMatch(/corepack enable\n[^]*yarn install --immutable\n/);
  expect(workflowFor("bun", null)).toMatch(/bun-version: latest\n[^]*bun run test\n$/);
});

test("what was made is taken back: when it is interrupted, and by undo", async () => {
  const interrupted = AbortSignal.abort(new Error("interrupted"));
  const target = join(folder, "not/there/yet");
  await expect(scaffold(options(target, { signal: interrupted }))).rejects.toThrow("interrupted");
  expect(await readdir(folder)).toEqual(["templates"]);

  const before = join(folder, "cloned");
  await mkdir(join(before, ".git"), { recursive: true });
  const { path, undo } = await scaffold(options(before));
  await mkdir(join(path, "node_modules"));
  await undo();
  expect(await readdir(before)).toEqual([".git"]);

  await (await scaffold(options(target))).undo();
  expect((await readdir(folder)).toSorted()).toEqual(["cloned", "templates"]);
});
