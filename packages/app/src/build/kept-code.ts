/**
 * The code that V8 made of a script, kept for the next process. Node's own cache keeps the code as it is when the file
 * was read. Nearly no function is compiled then: V8 compiles a function when it is first called. Here it is kept after a
 * run, so that the next process need not parse the functions that the run called.
 *
 * It is kept where Node keeps its own, for one version of Node and V8. Without such a folder, or if it can't be written,
 * nothing is kept.
 */
import { createHash } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";

export interface LoadedScript {
  /** Of the script's last statement. */
  readonly value: unknown;
  /** Keeps what is compiled by now, unless the script was loaded with code that was kept. */
  readonly keepCode: () => void;
}

/** Runs a script in this context. */
export function scriptOf(file: URL, folder = getCompileCacheDir()): LoadedScript {
  const source = readFileSync(file);
  // V8 only compares the length of the text.
  const kept = folder === undefined ? null : join(folder, `radical-${digest(source).toString("hex", 0, 16)}`);
  const cachedData = kept === null ? undefined : readCode(kept);
  const script = new Script(source.toString(), { filename: fileURLToPath(file), cachedData });
  let isKept = cachedData !== undefined && script.cachedDataRejected === false;
  return {
    value: script.runInThisContext(),
    keepCode: () => {
      if (isKept || kept === null) return;
      isKept = true;
      writeCode(kept, script.createCachedData());
    },
  };
}

const DIGEST_BYTES = 32;

function digest(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

/** Undefined if there is none, or not all of it: V8 trusts what it is given. */
function readCode(path: string): Buffer | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    return undefined;
  }
  const code = bytes.subarray(DIGEST_BYTES);
  return digest(code).equals(bytes.subarray(0, DIGEST_BYTES)) ? code : undefined;
}

function writeCode(path: string, code: Buffer): void {
  const unfinished = `${path}.${process.pid}`;
  try {
    writeFileSync(unfinished, Buffer.concat([digest(code), code]), { mode: 0o600 });
    renameSync(unfinished, path);
  } catch {
    // The next process tries again.
    rmSync(unfinished, { force: true });
  }
}
