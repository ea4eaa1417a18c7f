/** Links of documents: what a link names must be there, the page and the place in it. Links to elsewhere are not followed. */
import path from "node:path";
import { anchorsOf, linksOf } from "./markdown.ts";

/** A tree of files, by paths from its root with slashes. */
export interface Tree {
  exists(file: string): boolean;
  read(file: string): string;
}

/** The broken links of these documents: `docs/cli.md:12: caches.md#prize: there is no such heading`. */
export function brokenLinks(documents: readonly string[], tree: Tree): readonly string[] {
  return documents.flatMap((document) =>
    linksOf(tree.read(document)).flatMap(({ line, target }) => {
      const problem = problemOf(document, target, tree);
      return problem === null ? [] : [`${document}:${line}: ${target}: ${problem}`];
    }),
  );
}

function problemOf(document: string, target: string, tree: Tree): string | null {
  if (/^[a-z][a-z\d+.-]*:/i.test(target)) return null;
  if (target.startsWith("/")) return "a link between documents is relative, so that it works everywhere";
  const [file = "", anchor] = target.split("#");
  const named = file === "" ? document : path.posix.join(path.posix.dirname(document), decodeURIComponent(file));
  if (!tree.exists(named)) return "there is no such file";
  // The pages of the site can't link to what is not on it; a picture comes with the page that shows it.
  if (document.startsWith("docs/") && !named.startsWith("docs/") && !named.endsWith(".svg"))
    return "it is not part of the site";
  if (anchor === undefined) return null;
  if (!named.endsWith(".md")) return "only pages have headings";
  return anchorsOf(tree.read(named)).includes(anchor) ? null : "there is no such heading";
}
