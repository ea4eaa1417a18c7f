import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { findStaticFiles } from "@radical/app";
import { checkedFiles, sizeHints } from "./checks.ts";

let folder: string;
afterEach(() => rm(folder, { recursive: true, force: true }));

test("a static file that Cloudflare would refuse ends it before anything is changed, unless it is not uploaded", async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-files-"));
  await mkdir(join(folder, "videos"));
  const large = join(folder, "videos", "long.mp4");
  await writeFile(join(folder, "index.html"), "<p>shop</p>");
  await writeFile(large, "");
  // A hole: it takes no room.
  await truncate(large, 25 * 1024 * 1024);
  const check = async (): Promise<number> => checkedFiles((await findStaticFiles(folder))!.files);
  expect(await check()).toBe(2);
  await truncate(large, 26 * 1024 * 1024);
  await expect(check()).rejects.toMatchObject({
    code: "static_files_too_large",
    message: "Cloudflare takes static files of at most 25.0 MB each. These are larger: videos/long.mp4 (26.0 MB).",
  });
  await writeFile(join(folder, ".assetsignore"), "videos/\n");
  await check();
});

test("a Worker larger than Cloudflare says it takes is a hint with a date, and is not refused", () => {
  const stated = 64 * 1024 * 1024;
  expect(sizeHints(stated)).toEqual([]);
  expect(sizeHints(stated + 1024 * 1024)).toEqual([
    expect.stringMatching(/^the Worker has 65\.0 MB, and by Cloudflare's pages of November 2026 it takes 64\.0 MB: /),
  ]);
});
