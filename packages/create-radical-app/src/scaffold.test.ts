import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { problemOfName } from "./app-name.ts";
import { findLocalPackages, withLocalPackages } from "./local-packages.ts";
import { problemOfDirectory, scaffold } from "./scaffold.ts";

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
      devDependencies: { "@radical/cli": "0.1.0", vitest: "5.1.1" },
    }),
  );
  await writeFile(join(templates, "minimal/handlers/notes.ts"), "");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("the application has the name of its folder everywhere", async () => {
  const path = await scaffold({
    directory: join(folder, "my-notes"),
    template: "minimal",
    localPackages: null,
    templates,
  });
  expect((await readdir(path)).toSorted()).toEqual([
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
  await expect(scaffold({ directory: full, template: "minimal", localPackages: null, templates })).rejects.toThrow(
    /not empty \(it holds thesis\.txt\)/,
  );
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
  await expect(
    scaffold({ directory: join(folder, "x"), template: "blog", localPackages: null, templates }),
  ).rejects.toThrow(/no template "blog"/);
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
    overrides: {
      "@radical/cli": "$@radical/cli",
      "@radical/sdk": "$@radical/sdk",
      "@radical/lvi-server": `file:${packed}/radical-lvi-server-0.1.0.tgz`,
    },
  });
  await expect(findLocalPackages(join(folder, "nowhere"))).rejects.toThrow(/no packed/);
});
