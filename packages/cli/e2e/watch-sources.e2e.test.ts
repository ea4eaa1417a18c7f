import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { watchSources } from "../src/dev/watch-sources.ts";

test("a folder that is deleted and made again is watched again", async () => {
  const root = await mkdtemp(join(tmpdir(), "radical-watch-"));
  const folders = [".", "public"];
  await mkdir(join(root, "public"));
  const seen = new Set<string>();
  const changes = new EventTarget();
  const watcher = watchSources(
    root,
    () => true,
    (paths) => {
      for (const path of paths) seen.add(path);
      watcher.setFolders(folders);
      changes.dispatchEvent(new Event("change"));
    },
  );
  const change = (path: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!seen.has(path)) return;
        changes.removeEventListener("change", look);
        resolve();
      };
      changes.addEventListener("change", look);
      look();
    });
  try {
    watcher.setFolders(folders);
    // Both within the time in which changes count as one.
    await rm(join(root, "public"), { recursive: true });
    await mkdir(join(root, "public"));
    await change("public");
    await writeFile(join(root, "public/page.html"), "hello");
    await change("public/page.html");
    expect([...seen]).toContain("public/page.html");
  } finally {
    watcher.close();
    await rm(root, { recursive: true, force: true });
  }
});
