/** Watches the folders that hold sources; several changes at once, as editors and checkouts make them, are one. */
import { type FSWatcher, type WatchEventType, watch } from "node:fs";
import { join, posix } from "node:path";

export interface SourceWatcher {
  /** Watches these folders and no others from now on. */
  setFolders(folders: readonly string[]): void;
  close(): void;
}

/** Changes that come within this time are one: an editor empties a file and writes it, or renames another one to it. */
const SETTLE_MS = 15;

export function watchSources(
  root: string,
  wanted: (path: string, change: WatchEventType) => boolean,
  onChange: (paths: readonly string[]) => void,
): SourceWatcher {
  const watchers = new Map<string, FSWatcher>();
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const note = (folder: string, name: string | null, change: WatchEventType): void => {
    const path = name === null ? folder : folder === "." ? name : `${folder}/${name}`;
    if (name !== null && !wanted(path, change)) return;
    changed.add(path);
    clearTimeout(timer);
    timer = setTimeout(() => {
      const paths = [...changed].toSorted();
      changed.clear();
      onChange(paths);
    }, SETTLE_MS);
  };

  return {
    setFolders: (folders) => {
      // A build may end after the watcher.
      if (isClosed) return;
      for (const [folder, watcher] of watchers) {
        if (folders.includes(folder)) continue;
        watcher.close();
        watchers.delete(folder);
      }
      for (const folder of folders) {
        if (watchers.has(folder)) continue;
        try {
          const watcher = watch(join(root, folder), (change, name) => {
            // It is gone itself. Another one may be there under its name, which is to be watched anew.
            if (change === "rename" && name === posix.basename(folder)) forget();
            note(folder, name, change);
          });
          const forget = (): void => {
            watcher.close();
            if (watchers.get(folder) === watcher) watchers.delete(folder);
          };
          watcher.on("error", forget);
          watchers.set(folder, watcher);
        } catch {
          // The folder is gone; the build that misses its files says so.
        }
      }
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
    },
  };
}
