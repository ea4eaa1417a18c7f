/**
 * Syntax trees, parsed once for each text: most of what a build reads is AssemblyScript's library and the SDK, and of
 * the application only what was edited differs from the build before.
 *
 * The compiler reads trees and changes nothing in them, so that any number of programs, one after the other, share
 * them (`syntax-trees.test.ts` holds it to that). Whoever wants to add to a tree copies it (`graft.ts`).
 */
import { as } from "./assemblyscript.ts";

export interface SyntaxTree {
  readonly source: as.Source;
  /** The parser's. */
  readonly messages: readonly as.DiagnosticMessage[];
  /** What the file imports or re-exports, in order of first mention. */
  readonly imports: readonly TreeImport[];
}

export interface TreeImport {
  /** The compiler's name of the file: its path without extension. */
  readonly internalPath: string;
  /** The path as it is written. */
  readonly node: as.Node;
}

export type TreeKind = "entry" | "module";

/** Holds the tree of the last text of each path. */
export class SyntaxTrees {
  readonly #trees = new Map<string, SyntaxTree & { readonly kind: TreeKind }>();

  /** The tree of a file with this text; an `entry`'s exports are those of the program. */
  get(path: string, text: string, kind: TreeKind = "module"): SyntaxTree {
    const known = this.#trees.get(path);
    if (known !== undefined && known.source.text === text && known.kind === kind) return known;
    const tree = { ...parse(path, text, kind), kind };
    this.#trees.set(path, tree);
    return tree;
  }

  /** Forgets all: for a compiler that crashed, and may have left marks. */
  clear(): void {
    this.#trees.clear();
  }
}

function parse(path: string, text: string, kind: TreeKind): SyntaxTree {
  const parser = new as.Parser();
  parser.parseFile(text, path, kind === "entry");
  const dependees = parser.dependees as ReadonlyMap<string, { readonly reportNode: as.Node }>;
  return {
    source: parser.sources[0]!,
    messages: parser.diagnostics,
    imports: [...new Set(parser.backlog)].map((internalPath) => ({
      internalPath,
      node: dependees.get(internalPath)!.reportNode,
    })),
  };
}
