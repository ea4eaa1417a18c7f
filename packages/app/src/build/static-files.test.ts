import { mkdir, mkdtemp, readFile, readdir, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findStaticFiles, linkStaticFiles } from "./static-files.ts";

let folder: string;
let root: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "radical-static-")));
  root = join(folder, "public");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(name: string, text = name): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), text);
}

test("files are found with the folders they lie in; hidden ones and links out of the folder are left out, with the reason", async () => {
  for (const name of ["index.html", "deep/a.txt", ".well-known/security.txt", ".assetsignore"])
    await write(`public/${name}`);
  for (const name of [".env", ".git/config", "deep/.hidden", "deep/.well-known"]) await write(`public/${name}`);
  await write("secret.txt");
  const links = {
    inside: join(root, "deep", "a.txt"),
    relative: "deep/a.txt",
    nowhere: "nothing",
    loop: "loop",
    outside: join(folder, "secret.txt"),
    "outside-by-dots": "../secret.txt",
    hidden: ".env",
    "a-folder": "deep",
  };
  for (const [name, target] of Object.entries(links)) await symlink(target, join(root, name));
  await symlink("outside", join(root, "twice"));
  const found = await findStaticFiles(root);
  expect(found?.files.map(({ name }) => name)).toEqual([
    ".assetsignore",
    ".well-known/security.txt",
    "deep/a.txt",
    "index.html",
    "inside",
    "relative",
  ]);
  expect(found?.files.at(-1)?.path).toBe(join(root, "deep", "a.txt"));
  expect(found?.folders).toEqual([".well-known", "deep"]);
  const out = "it is a link that leads out of the folder";
  expect(Object.fromEntries(found!.leftOut.map(({ name, reason }) => [name, reason]))).toEqual({
    ".env": "its name begins with a dot",
    ".git": "its name begins with a dot",
    "deep/.hidden": "its name begins with a dot",
    "deep/.well-known": "its name begins with a dot",
    nowhere: "it is a link that leads nowhere",
    loop: "it is a link that leads nowhere",
    outside: out,
    "outside-by-dots": out,
    twice: out,
    hidden: "it is a link to a file whose name begins with a dot",
    "a-folder": "it is a link to something that is not a file",
  });
  expect(await findStaticFiles(join(folder, "none"))).toBeNull();
});

test("the folder of links follows the files: a file becomes a folder, and the reverse; what is else in it goes", async () => {
  const links = join(folder, "links");
  const shown = async (): Promise<readonly string[]> => {
    await linkStaticFiles((await findStaticFiles(root))!.files, links);
    const entries = await readdir(links, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory())
      .map(({ parentPath, name }) => join(parentPath, name).slice(links.length + 1))
      .toSorted();
  };
  await write("public/a");
  await write("public/b/c");
  await write("links/old/file");
  expect(await shown()).toEqual(["a", "b/c"]);
  await rm(join(root, "a"));
  await rm(join(root, "b"), { recursive: true });
  await write("public/a/x", "deep");
  await write("public/b");
  expect(await shown()).toEqual(["a/x", "b"]);
  expect(await readFile(join(links, "a/x"), "utf8")).toBe("deep");
  await write("public/a/x", "changed");
  expect(await readFile(join(links, "a/x"), "utf8")).toBe("changed");
});
