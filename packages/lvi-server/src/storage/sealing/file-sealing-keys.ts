/**
 * Keys as files of a folder, one for each, which only its owner can read: beside a file of SQLite. A file is written once, so that
 * servers of one storage never lose each other's keys. Its time of change says when the key was last needed.
 */
import { closeSync, fsyncSync, openSync } from "node:fs";
import { chmod, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { StorageError } from "../storage.ts";
import { isSealingKeyId, SECRET_BYTES, type SealingKey, type SealingKeyStore } from "./sealing-key.ts";

const OWNER_ONLY = 0o600;
const OWNERS_FOLDER = 0o700;
const FOR_OTHERS = 0o077;
const ENDING = ".key";
/** Of a file whose key is not durable yet, and of one that is being destroyed. */
const UNFINISHED = ".new";
const GONE = ".gone";
/** A file that is not finished by then was left by a crash. */
const LONGEST_ADDING_MS = 3_600_000;

export class FileSealingKeys implements SealingKeyStore {
  readonly place: string;
  #notice: string | null = null;

  constructor(folder: string) {
    this.place = folder;
  }

  get notice(): string | null {
    return this.#notice;
  }

  list(): Promise<readonly SealingKey[]> {
    return this.#naming("be read", async () => {
      const names = await readdir(this.place).catch(ifAbsent);
      if (names === null) return [];
      const mode = (await stat(this.place)).mode & 0o777;
      this.#notice =
        (mode & FOR_OTHERS) === 0
          ? null
          : `The folder of sealing keys ${this.place} has the mode 0${mode.toString(8)}, so others may list or change it. Give it the mode 0700.`;
      await this.#removeLeftovers(names);
      const ids = names.filter((name) => name.endsWith(ENDING)).map((name) => name.slice(0, -ENDING.length));
      const keys = await Promise.all(ids.map((id) => this.#read(id)));
      return keys.filter((key) => key !== null);
    });
  }

  add({ id, createdAtMs, secret, neededAtMs }: SealingKey): Promise<void> {
    return this.#naming("keep a new key", async () => {
      await this.#makeFolder();
      const unfinished = this.#file(id, UNFINISHED);
      const file = await open(unfinished, "wx", OWNER_ONLY);
      try {
        await file.writeFile(`${createdAtMs} ${Buffer.from(secret).toString("hex")}\n`);
        await file.utimes(neededAtMs / 1_000, neededAtMs / 1_000);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(unfinished, this.#file(id));
      syncFolder(this.place);
    });
  }

  need(id: string, neededAtMs: number): Promise<void> {
    return this.#naming("be changed", async () => {
      const file = await open(this.#file(id), "r+");
      try {
        await file.utimes(neededAtMs / 1_000, neededAtMs / 1_000);
        await file.sync();
      } finally {
        await file.close();
      }
    });
  }

  /** A crash in the middle leaves a file that {@link list} removes. */
  destroy(id: string): Promise<void> {
    return this.#naming("lose an old key", async () => {
      const isThere = await rename(this.#file(id), this.#file(id, GONE)).then(() => true, ifAbsent);
      if (isThere === null) return;
      syncFolder(this.place);
      await this.#erase(this.#file(id, GONE));
    });
  }

  close(): void {}

  #file(id: string, ending = ENDING): string {
    return path.join(this.place, `${id}${ending}`);
  }

  /** The folder, and its name in the folders above it, are on disk. */
  async #makeFolder(): Promise<void> {
    const first = await mkdir(this.place, { recursive: true, mode: OWNERS_FOLDER });
    if (first === undefined) return;
    const highest = path.dirname(path.resolve(first));
    for (let folder = path.dirname(path.resolve(this.place)); ; folder = path.dirname(folder)) {
      syncFolder(folder);
      if (folder === highest || folder === path.dirname(folder)) return;
    }
  }

  async #removeLeftovers(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const file = path.join(this.place, name);
      // oxlint-disable-next-line no-await-in-loop -- crashes have left them
      if (name.endsWith(GONE) || (name.endsWith(UNFINISHED) && (await isOld(file)))) await this.#erase(file);
    }
  }

  /**
   * The bytes are overwritten first. A disk that writes in place keeps nothing of them. One that does not, as a solid-state disk or a
   * file system that copies on write, may keep them until it uses their place again.
   */
  async #erase(name: string): Promise<void> {
    const file = await open(name, "r+").catch(ifAbsent);
    if (file === null) return;
    try {
      const { size } = await file.stat();
      await file.write(Buffer.alloc(size), 0, size, 0);
      await file.sync();
    } finally {
      await file.close();
    }
    await rm(name, { force: true });
    syncFolder(this.place);
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
    if ((status.mode & FOR_OTHERS) !== 0) await chmod(file, OWNER_ONLY).catch(() => undefined);
    return { id, createdAtMs: Number(created), secret: Buffer.from(hex, "hex"), neededAtMs: status.mtimeMs };
  }

  async #naming<T>(what: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new StorageError("none", `The folder of sealing keys ${this.place} can't ${what}: ${reason}`, error);
    }
  }
}

function ifAbsent(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}

/** Whether it stands there for so long that nobody is about to finish it. */
async function isOld(file: string): Promise<boolean> {
  const status = await stat(file).catch(ifAbsent);
  return status !== null && Date.now() - status.ctimeMs > LONGEST_ADDING_MS;
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
