/** Tar files (ustar) that depend on nothing but what is in them: no times, no names of owners, in order. */
import type { FileTexts } from "./node-files.ts";

const BLOCK = 512;

export interface TarFolder {
  /** Ends with a slash. */
  readonly path: string;
  readonly mode: number;
  /** Id of its user and of its group. */
  readonly owner: number;
}

/** These folders, then these files, sorted. Scripts can be run; nothing else differs between files, which are root's. */
export function tarOf(files: FileTexts, folders: readonly TarFolder[] = []): Uint8Array {
  const blocks: Uint8Array[] = folders.map(({ path, mode, owner }) => headerOf(path, 0, mode, owner, "5"));
  for (const path of Object.keys(files).toSorted()) {
    const content = Buffer.from(files[path]!, "utf8");
    const mode = path.endsWith(".sh") ? 0o755 : 0o644;
    blocks.push(headerOf(path, content.length, mode, 0, "0"), content, Buffer.alloc(-content.length & (BLOCK - 1)));
  }
  blocks.push(Buffer.alloc(2 * BLOCK));
  return Buffer.concat(blocks);
}

/** `kind`: "0" is a file, "5" a folder. */
function headerOf(path: string, size: number, mode: number, owner: number, kind: "0" | "5"): Uint8Array {
  if (Buffer.byteLength(path) > 100) throw new Error(`${path} is too long for the header of a tar file`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(path, 0);
  header.write(octal(mode, 7), 100);
  header.write(octal(owner, 7), 108);
  header.write(octal(owner, 7), 116);
  header.write(octal(size, 11), 124);
  header.write(octal(0, 11), 136);
  // The checksum is of the header with spaces in its place.
  header.write(" ".repeat(8), 148);
  header.write(kind, 156);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
