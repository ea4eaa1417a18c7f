/**
 * The files of a workspace as an editor has them: its open documents, saved or not, are laid over the disk. A document
 * that was never saved is a file where its path says, since that is where it will be.
 */
import { basename, dirname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { TextDocument, type TextDocumentContentChangeEvent } from "vscode-languageserver-textdocument";
import { FILES_ON_DISK, type ProjectFiles } from "@radical/app";

/** Null: it is not a file of this machine. */
export function pathOf(uri: string): string | null {
  if (!uri.startsWith("file:")) return null;
  try {
    return fileURLToPath(uri);
  } catch {
    return null;
  }
}

export class OpenFiles implements ProjectFiles {
  readonly #documents = new Map<string, TextDocument>();

  /** Gives the path of the document; null: it is not a file. */
  open(uri: string, version: number, text: string): string | null {
    const path = pathOf(uri);
    if (path !== null) this.#documents.set(path, TextDocument.create(uri, "typescript", version, text));
    return path;
  }

  /** Gives the path of the document; null: it is not open. */
  change(uri: string, version: number, changes: TextDocumentContentChangeEvent[]): string | null {
    const path = pathOf(uri);
    const document = path === null ? undefined : this.#documents.get(path);
    if (path === null || document === undefined) return null;
    TextDocument.update(document, changes, version);
    return path;
  }

  /** Gives the path of the document; null: it was not open. */
  close(uri: string): string | null {
    const path = pathOf(uri);
    return path !== null && this.#documents.delete(path) ? path : null;
  }

  /** Null: it is not open. */
  document(path: string): TextDocument | null {
    return this.#documents.get(path) ?? null;
  }

  /** As the editor knows the file, or would. */
  uriOf(path: string): string {
    return this.#documents.get(path)?.uri ?? pathToFileURL(path).href;
  }

  async list(folder: string): Promise<readonly string[] | null> {
    const saved = await FILES_ON_DISK.list(folder);
    const open = [...this.#documents.keys()].filter((path) => dirname(path) === folder).map((path) => basename(path));
    return saved === null && open.length === 0 ? null : [...new Set([...(saved ?? []), ...open])];
  }

  async read(path: string): Promise<string | null> {
    return this.#documents.get(path)?.getText() ?? FILES_ON_DISK.read(path);
  }
}
