import { chmod, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeStateFolder } from "./state-folder.ts";

test("the state folder is its owner's alone, also one that was made for all", async () => {
  const root = await mkdtemp(join(tmpdir(), "radical-state-"));
  try {
    const folder = join(root, "app", ".radical");
    const mode = async (): Promise<number> => (await stat(folder)).mode & 0o777;
    await makeStateFolder(folder);
    expect(await mode()).toBe(0o700);
    await chmod(folder, 0o755);
    await makeStateFolder(folder);
    expect(await mode()).toBe(0o700);
  } finally {
    await rm(root, { recursive: true });
  }
});
