import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { findStaticFiles, type AppBuild } from "@radical/app";
import { randomBytes } from "node:crypto";
import { checkedFiles, checkedSize } from "./checks.ts";

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
    message: "static files may have 25.0 MB each at Cloudflare: videos/long.mp4 (26.0 MB)",
  });
  await writeFile(join(folder, ".assetsignore"), "videos/\n");
  await check();
});

test("a Worker may have what Cloudflare takes, however badly it can be compressed, and no more", () => {
  const wasm = new Uint8Array(63 * 1024 * 1024);
  // More than the old limit of compressed bytes.
  wasm.set(randomBytes(12 * 1024 * 1024));
  const build = { worker: "", content: { wasm, rwWasm: new Uint8Array(0) }, manifest: {} } as unknown as AppBuild;
  expect(checkedSize(build)).toBe(wasm.length + 2);
  const larger = { ...build, worker: " ".repeat(1024 * 1024) };
  expect(() => checkedSize(larger)).toThrow("The Worker has 64.0 MB, and Cloudflare takes 64.0 MB.");
});
