/**
 * Generated code enters as *grafts*. It is parsed from a text of its own. A copy of the developer's syntax tree gets its
 * statements and class members. So every node of the developer's keeps its exact line and column, in diagnostics, in
 * run-time assertions and for the slicer.
 */
import { type as, NodeKind } from "./assemblyscript.ts";
import type { SyntaxTrees } from "./syntax-trees.ts";

/** Code added to a file that the developer wrote. */
export interface Graft {
  /** Path of the developer's file, with extension. */
  readonly file: string;
  /**
   * Source text: imports and functions are added to the file; the members of a class declaration are added to the
   * file's class of that name.
   */
  readonly text: string;
}

/** How the paths of generated files end: the entry file and the grafts. */
export const GENERATED_SUFFIX = "~generated.ts";

/** Path under which the grafts of a file appear: in the same folder, so that relative imports are the same. */
function generatedPath(file: string): string {
  return file.replace(/\.ts$/, GENERATED_SUFFIX);
}

export function isGenerated(source: as.Source): boolean {
  return source.normalizedPath.endsWith(GENERATED_SUFFIX);
}

/** Whether the developer wrote it. */
export function isDevelopers(source: as.Source): boolean {
  return !source.isLibrary && !source.isNative && !isGenerated(source);
}

/** A copy of the file's tree with the graft. Only the file and its classes are copied: all other nodes are the same. */
export function grafted(original: as.Source, graft: Graft, trees: SyntaxTrees): as.Source {
  const { source, messages } = trees.get(generatedPath(graft.file), graft.text);
  const problem = messages[0];
  if (problem !== undefined)
    throw new Error(`generated code for ${graft.file} does not parse: ${problem.message}\n${graft.text}`);
  // The compiler looks up the file of a declaration by its source's path.
  source.internalPath = original.internalPath;
  const statements = [...original.statements];
  for (const addition of source.statements) {
    if (addition.kind !== NodeKind.ClassDeclaration) {
      statements.push(addition);
      continue;
    }
    const { name, members } = addition as as.ClassDeclaration;
    const index = statements.findIndex((statement) => classOf(statement)?.name.text === name.text);
    const declared = statements[index];
    if (declared === undefined)
      throw new Error(`generated code for ${graft.file} extends a class ${name.text} that it lacks`);
    statements[index] = withMembers(declared, members);
  }
  return copyOf(original, { statements });
}

/** The class that a statement declares; null if it declares none. */
function classOf(statement: as.Statement): as.ClassDeclaration | null {
  switch (statement.kind) {
    case NodeKind.ClassDeclaration:
      return statement as as.ClassDeclaration;
    case NodeKind.ExportDefault:
      return classOf((statement as as.ExportDefaultStatement).declaration);
    default:
      return null;
  }
}

function withMembers(statement: as.Statement, members: readonly as.DeclarationStatement[]): as.Statement {
  if (statement.kind === NodeKind.ExportDefault) {
    const exported = statement as as.ExportDefaultStatement;
    return copyOf(exported, { declaration: withMembers(exported.declaration, members) as as.DeclarationStatement });
  }
  const declaration = statement as as.ClassDeclaration;
  return copyOf(declaration, { members: [...declaration.members, ...members] });
}

function copyOf<N extends as.Node>(node: N, changes: Partial<N>): N {
  return Object.assign(Object.create(Object.getPrototypeOf(node) as object) as N, node, changes);
}
