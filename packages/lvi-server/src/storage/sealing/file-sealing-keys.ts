/**
 * Keys as files of a folder, one for each, which only its owner can read: beside a file of SQLite. A file is written once, so that
 * servers of one storage never lose each other's keys. Its time of change says when the key was last needed.
 */
import { closeSync, fsyncSync, openSync } from "node:fs";
import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import path from "node:path";
import { StorageError } from "../storage.ts";
import { isSealingKeyId, SECRET_BYTES, type SealingKey, type SealingKeyStore } from "./sealing-key.ts";

const OWNER_ONLY = 0o600;
const OWNERS_FOLDER = 0o700;
const ENDING = ".key";

export class FileSealingKeys implements SealingKeyStore {
  readonly place: string;

  constructor(folder: string) {
    this.place = folder;
  }

  list(): Promise<readonly SealingKey[]> {
    return this.#naming("be read", async () => {
      await mkdir(this.place, { recursive: true, mode: OWNERS_FOLDER });
      const names = (await readdir(this.place)).filter((name) => name.endsWith(ENDING));
      const keys = await Promise.all(names.map((name) => this.#read(name.slice(0, -ENDING.length))));
      return keys.filter((key) => key !== null);
    });
  }

  add({ id, createdAtMs, secret, neededAtMs }: SealingKey): Promise<void> {
    return this.#naming("keep a new key", async () => {
      await mkdir(this.place, { recursive: true, mode: OWNERS_FOLDER });
      const unfinished = `${this.#file(id)}.new`;
      const file = await open(unfinished, "wx", OWNER_ONLY);
      try {
        await file.writeFile(`${createdAtMs} ${Buffer.from(secret).toString("hex")}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(unfinished, this.#file(id));
      await this.need(id, neededAtMs);
      syncFolder(this.place);
    });
  }

  need(id: string, neededAtMs: number): Promise<void> {
    return this.#naming("be changed", async () => {
      const time = neededAtMs / 1_000;
      await utimes(this.#file(id), time, time);
    });
  }

  destroy(id: string): Promise<void> {
    return this.#naming("lose an old key", async () => {
      // The bytes go even if a disk keeps those of files that were removed.
      const file = await open(this.#file(id), "r+").catch(ifAbsent);
      if (file === null) return;
      try {
        const { size } = await file.stat();
        await file.write(Buffer.alloc(size), 0, size, 0);
        await file.sync();
      } finally {
        await file.close();
      }
      await rm(this.#file(id), { force: true });
      syncFolder(this.place);
    });
  }

  close(): void {}

  #file(id: string): string {
    return path.join(this.place, `${id}${ENDING}`);
  }

  /** Null: another server has just destroyed it. */
  async #read(id: string): Promise<SealingKey | null> {
    const file = this.#file(id);
    const text = await readFile(file, "utf8").catch(ifAbsent);
    const status = await stat(file).catch(ifAbsent);
    if (text === null || status === null) return null;
    const [, created, hex] = /^(\d+) ([0-9a-f]+)\n$/.exec(text) ?? [];
    const isKey = isSealingKeyId(id) && created !== undefined && hex?.length === 2 * SECRET_BYTES;
    if (!isKey) throw new Error(`${path.basename(file)} is not a key: restore it, or move it away if nothing needs it`);
    if ((status.mode & 0o077) !== 0) await chmod(file, OWNER_ONLY).catch(() => undefined);
    return { id, createdAtMs: Number(created), secret: Buffer.from(hex, "hex"), neededAtMs: status.mtimeMs };
  }

  async #naming<T>(what: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new StorageError("none", `the folder of sealing keys ${this.place} can't ${what}: ${reason}`, error);
    }
  }
}

function ifAbsent(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}

/** The names in the folder are on disk. */
function syncFolder(folder: string): void {
  const opened = openSync(folder, "r");
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
