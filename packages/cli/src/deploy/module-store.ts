/** Modules that were deployed from this machine, as they were registered: for a rollback to one that the primary has collected. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ModuleContent, type ModuleHash, decodeModuleContent, encodeModuleContent } from "@radical/protocol";

function fileOf(project: string, module: ModuleHash): string {
  return join(project, ".radical", "deploy", "modules", module);
}

export async function storeModule(project: string, module: ModuleHash, content: ModuleContent): Promise<void> {
  const file = fileOf(project, module);
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, encodeModuleContent(content));
}

/** Null: it was not deployed from here. */
export async function storedModule(project: string, module: ModuleHash): Promise<ModuleContent | null> {
  const bytes = await readFile(fileOf(project, module)).catch(() => null);
  return bytes === null ? null : decodeModuleContent(new Uint8Array(bytes));
}
