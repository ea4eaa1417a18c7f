/**
 * Bundles the page of an application: a module with all that it imports, as JavaScript for browsers, and its styles. In it the
 * import `#radical` is the client of the handlers.
 */
import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { BuildOptions, Plugin } from "esbuild";
import { type Bundled, bundled, EntryError } from "./bundle-entry.ts";

const CLIENT_MODULE = "radical:client";

const PAGE_OPTIONS = {
  bundle: true,
  format: "esm",
  platform: "browser",
  target: "es2022",
  legalComments: "inline",
  logLevel: "silent",
} as const satisfies BuildOptions;

function clientOfHandlers(client: string): Plugin {
  return {
    name: CLIENT_MODULE,
    setup(bundle) {
      bundle.onResolve({ filter: /^#radical$/ }, () => ({ path: "client.ts", namespace: CLIENT_MODULE }));
      bundle.onLoad({ filter: /.*/, namespace: CLIENT_MODULE }, () => ({ contents: client, loader: "ts" }));
    },
  };
}

export interface BundledPage extends Pick<Bundled, "folders"> {
  /** `page.js`, and `page.css` if it imports styles. */
  readonly files: readonly { readonly name: string; readonly text: string }[];
}

/** `client` is the text of `client.ts`. Throws an EntryError for a page that can't be bundled. */
export async function bundlePage(root: string, entry: string, client: string, colours: boolean): Promise<BundledPage> {
  const path = join(root, entry);
  if ((await stat(path).catch(() => null)) === null)
    throw new EntryError("page_not_bundled", `There is no file ${entry}.`, entry, [], null);
  const options = {
    ...PAGE_OPTIONS,
    entryPoints: [path],
    outdir: root,
    absWorkingDir: root,
    plugins: [clientOfHandlers(client)],
  };
  const { outputFiles, folders } = await bundled(options, "page_not_bundled", entry, colours);
  return { files: outputFiles.map(({ path: file, text }) => ({ name: basename(file), text })), folders };
}
