/**
 * Syntax trees, parsed once for each text: most of what a build reads is AssemblyScript's library and the SDK, and of
 * the application only what was edited differs from the build before. Of the library most functions are never called, so
 * the body of one is parsed when somebody looks at it.
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
  const parser = path.startsWith("~lib/") ? new LibraryParser() : new as.Parser();
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

/** Skips the bodies of functions, which it leaves to be parsed on demand: for files that are known to have no mistakes. */
class LibraryParser extends as.Parser {
  override parseBlockStatement(tokenizer: as.Tokenizer): as.BlockStatement {
    const { source, tokenPos: start } = tokenizer;
    tokenizer.pos = closingBrace(source.text, start);
    tokenizer.next();
    const block = as.Node.createBlockStatement([], tokenizer.range(start, tokenizer.pos));
    let statements: as.Statement[] | null = null;
    return Object.defineProperty(block, "statements", {
      enumerable: true,
      get: () => (statements ??= statementsOf(source, start)),
    });
  }
}

/** The statements of the block that begins at `start`. */
function statementsOf(source: as.Source, start: number): as.Statement[] {
  const parser = new as.Parser();
  parser.currentSource = source;
  const tokenizer = new as.Tokenizer(source);
  tokenizer.pos = start;
  tokenizer.next();
  const block = parser.parseBlockStatement(tokenizer, false);
  if (block === null || parser.diagnostics.length > 0)
    throw new Error(`a function of ${source.normalizedPath} does not parse`);
  return block.statements;
}

/** Braces, and what may contain some that are none. The library has no regular expressions. */
const BRACES = /[{}]|\/\/.*|\/\*[^]*?\*\/|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\[^])*`/g;

/** Where the block that begins at `start` ends. */
function closingBrace(text: string, start: number): number {
  BRACES.lastIndex = start;
  let depth = 0;
  for (let found = BRACES.exec(text); found !== null; found = BRACES.exec(text)) {
    if (found[0] === "{") depth++;
    else if (found[0] === "}" && --depth === 0) return found.index;
  }
  throw new Error("a block of the library does not end");
}
