/** Modules that were deployed from this machine, as they were registered: for a rollback to one that the primary has collected. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type ModuleContent,
  type ModuleHash,
  UnknownAbiError,
  decodeModuleContent,
  encodeModuleContent,
} from "@radical/protocol";
import { CommandError } from "@radical/app/command-error";

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
  return bytes === null ? null : readModule(new Uint8Array(bytes));
}

/** A module from its bytes. Throws a CommandError for one of a release that this one does not run. */
export function readModule(bytes: Uint8Array): ModuleContent {
  try {
    return decodeModuleContent(bytes);
  } catch (error) {
    if (!(error instanceof UnknownAbiError)) throw error;
    throw new CommandError("module_refused", error.message, error.hint, { cause: error });
  }
}
