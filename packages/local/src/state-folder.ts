/** The folder in which a development deployment keeps its data, caches and key: only its owner may look into it. */
import { chmod, mkdir } from "node:fs/promises";

const OWNER_ONLY = 0o700;

/** Makes the folder; one that an older version has made loses the rights of others. */
export async function makeStateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: OWNER_ONLY });
  await chmod(folder, OWNER_ONLY).catch((error: NodeJS.ErrnoException) => {
    // It belongs to somebody else, who has decided on its mode.
    if (error.code !== "EPERM") throw error;
  });
}
