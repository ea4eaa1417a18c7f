/**
 * Syntax trees, parsed once for each text. Most texts of a build are AssemblyScript's library and the SDK, and only the
 * edited texts of the application differ from the build before. Most functions of the library are never called, and most of
 * its tables of numbers never used. So the body of a function and the elements of a long array are parsed when somebody
 * looks at them.
 *
 * The compiler reads trees and changes nothing in them (`syntax-trees.test.ts` holds it to that). So any number of
 * programs, one after the other, share them. Code that adds to a tree copies it first (`graft.ts`).
 */
import { as } from "./assemblyscript.ts";
import { BLOB_PATH } from "./blobs.ts";
import { FormsParser } from "./forms-parser.ts";
import { TypesParser } from "./forms-types.ts";
import { nameShapes, NO_SHAPES, type FileShapes } from "./shapes.ts";

export interface SyntaxTree {
  readonly source: as.Source;
  /** The parser's. */
  readonly messages: readonly as.DiagnosticMessage[];
  /** The imports and re-exports of the file, in order of first mention. */
  readonly imports: readonly TreeImport[];
  readonly shapes: FileShapes;
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
  const parser = path.startsWith("~lib/") ? new LibraryParser() : new FormsParser();
  parser.parseFile(text, path, kind === "entry");
  const source = parser.sources[0]!;
  // Its one class is a record, like those of developers.
  if (path === BLOB_PATH) Object.defineProperty(source, "isLibrary", { value: false });
  const shapes = parser instanceof TypesParser ? nameShapes(source, parser) : NO_SHAPES;
  const dependees = parser.dependees as ReadonlyMap<string, { readonly reportNode: as.Node }>;
  return {
    source,
    shapes,
    messages: parser.diagnostics,
    imports: [...new Set(parser.backlog)].map((internalPath) => ({
      internalPath,
      node: dependees.get(internalPath)!.reportNode,
    })),
  };
}

/** Skips what is parsed on demand: for files that are known to have no mistakes. */
class LibraryParser extends as.Parser {
  override parseBlockStatement(tokenizer: as.Tokenizer): as.BlockStatement {
    const { source, tokenPos: start } = tokenizer;
    const block = as.Node.createBlockStatement(
      [],
      rangeSkipped(tokenizer, start, closing(source.text, start, "{", "}")),
    );
    return onDemand(block, "statements", () => {
      const [parser, there] = parserAt(source, start);
      there.next();
      return sound(parser, parser.parseBlockStatement(there, false)).statements;
    });
  }

  override parseExpressionStart(tokenizer: as.Tokenizer): as.Expression | null {
    const { source, pos } = tokenizer;
    ARRAY.lastIndex = pos;
    if (!ARRAY.test(source.text)) return super.parseExpressionStart(tokenizer);
    const start = ARRAY.lastIndex - 1;
    const end = closing(source.text, start, "[", "]");
    if (end - start < LONG) return super.parseExpressionStart(tokenizer);
    const array = as.Node.createArrayLiteralExpression([], rangeSkipped(tokenizer, start, end));
    return onDemand(array, "elementExpressions", () => {
      const [parser, there] = parserAt(source, start);
      return (sound(parser, parser.parseExpressionStart(there)) as as.ArrayLiteralExpression).elementExpressions;
    });
  }
}

/** From how many characters on the elements of an array are not parsed at once. */
const LONG = 200;

/** At the end of the last token, where an array literal follows. */
const ARRAY = /\s*\[/y;

/** Goes on behind the character at `end`. */
function rangeSkipped(tokenizer: as.Tokenizer, start: number, end: number): as.Range {
  tokenizer.pos = end;
  tokenizer.next();
  return tokenizer.range(start, tokenizer.pos);
}

/** The node, with a list that is made when somebody looks at it. */
function onDemand<N extends as.Node, Name extends keyof N>(node: N, name: Name, make: () => N[Name]): N {
  let list: N[Name] | null = null;
  return Object.defineProperty(node, name, { enumerable: true, get: () => (list ??= make()) });
}

/** A parser, and where it is to go on. */
function parserAt(source: as.Source, start: number): [as.Parser, as.Tokenizer] {
  const parser = new as.Parser();
  parser.currentSource = source;
  const tokenizer = new as.Tokenizer(source);
  tokenizer.pos = start;
  return [parser, tokenizer];
}

function sound<N extends as.Node>({ diagnostics, currentSource }: as.Parser, parsed: N | null): N {
  if (parsed === null || diagnostics.length > 0)
    throw new Error(`a part of ${currentSource?.normalizedPath} does not parse`);
  return parsed;
}

/** Brackets, and what may contain some that are none. The library has no regular expressions. */
const BRACKETS = /[{}[\]]|\/\/.*|\/\*[^]*?\*\/|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\[^])*`/g;

/** Where that ends which begins with the bracket at `start`. */
function closing(text: string, start: number, open: "{" | "[", close: "}" | "]"): number {
  BRACKETS.lastIndex = start;
  let depth = 0;
  for (let found = BRACKETS.exec(text); found !== null; found = BRACKETS.exec(text)) {
    if (found[0] === open) depth++;
    else if (found[0] === close && --depth === 0) return found.index;
  }
  throw new Error(`a ${open} of the library has no end`);
}
