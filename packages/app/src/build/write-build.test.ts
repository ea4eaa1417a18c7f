import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Project } from "../config/load-config.ts";
import type { AppBuild } from "./build-app.ts";
import { writeBuild } from "./write-build.ts";

test("an output folder that can't be written is the user's to mend", async () => {
  const root = await mkdtemp(join(tmpdir(), "radical-output-"));
  try {
    await writeFile(join(root, "dist"), "a file");
    const project = { root, config: { outDir: "dist" } } as Project;
    const app = { content: { wasm: new Uint8Array(), rwWasm: new Uint8Array() }, worker: "" } as unknown as AppBuild;
    await expect(writeBuild(project, app)).rejects.toMatchObject({
      name: "CommandError",
      code: "output_not_written",
      message: expect.stringContaining("can't be written to dist/") as unknown,
    });
  } finally {
    await rm(root, { recursive: true });
  }
});
