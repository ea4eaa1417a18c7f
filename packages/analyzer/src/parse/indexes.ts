/**
 * Indexes: constants of files, `new Index<Post>(posts, "author, at")`. They are found in a program whose elements are declared.
 * `schema/indexes.ts` tells the mistakes in them.
 */
import { indexName, isTableName, type IndexDeclaration } from "@radical/protocol";
import { as, CommonFlags, ElementKind, LiteralKind, NodeKind, ReportMode } from "./assemblyscript.ts";
import { tableClass } from "./table-classes.ts";

/** The file of the SDK with the classes of indexes. */
export const INDEXES_LIBRARY = "~lib/@radical/sdk/indexes";

export type IndexClass = "Index" | "Unique";

/** The class of indexes that has the internal name; null: another one. */
export function indexClass(internalName: string): IndexClass | null {
  if (internalName === `${INDEXES_LIBRARY}/Index`) return "Index";
  return internalName === `${INDEXES_LIBRARY}/Unique` ? "Unique" : null;
}

/** Views of an index that have its ranges. */
const RANGES: ReadonlySet<string> = new Set(
  ["IndexRange", "IndexPart", "UniquePart"].map((name) => `${INDEXES_LIBRARY}/${name}`),
);

export function isIndexRange(internalName: string): boolean {
  return RANGES.has(internalName);
}

/** An index as it is written. */
export interface WrittenIndex {
  readonly declaration: as.VariableDeclaration;
  readonly global: as.Global;
  readonly unique: boolean;
  /** `posts`; null: the argument is another, or there is none. */
  readonly table: as.Global | null;
  readonly tableNode: as.Expression | null;
  /** Null: they are not a literal. */
  readonly fields: readonly string[] | null;
  readonly fieldsNode: as.Expression | null;
  /** Null: there is a mistake in it. Fields that are not those of a record are none. */
  readonly index: IndexDeclaration | null;
  readonly file: as.File;
}

const WRITTEN = new WeakMap<as.Program, readonly WrittenIndex[]>();

/** Those of a program whose elements are declared, in the order of its files. */
export function writtenIndexes(program: as.Program): readonly WrittenIndex[] {
  let found = WRITTEN.get(program);
  if (found === undefined) {
    found = [...program.filesByName.values()].flatMap((file) => indexesOf(file));
    WRITTEN.set(program, found);
  }
  return found;
}

/** The indexes of a table without mistakes, in the order of their names. */
export function indexesOfTable(program: as.Program, table: as.Global): readonly IndexDeclaration[] {
  return writtenIndexes(program)
    .flatMap((written) => (written.table === table && written.index !== null ? [written.index] : []))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function indexesOf(file: as.File): readonly WrittenIndex[] {
  const { source, program } = file;
  if (source.isLibrary) return [];
  const found: WrittenIndex[] = [];
  for (const statement of source.statements) {
    if (statement.kind !== NodeKind.Variable) continue;
    for (const declaration of (statement as as.VariableStatement).declarations) {
      const { initializer, name, flags } = declaration;
      if (initializer?.kind !== NodeKind.New || (flags & CommonFlags.Const) === 0) continue;
      const { typeName, args } = initializer as as.NewExpression;
      const made = program.resolver.resolveTypeName(typeName, null, file, ReportMode.Swallow);
      const kind = made === null ? null : indexClass(made.internalName);
      const global = file.members?.get(name.text);
      if (kind === null || global?.kind !== ElementKind.Global) continue;
      const [tableNode = null, fieldsNode = null] = args;
      const table = tableNode === null ? null : tableIn(tableNode, file);
      const fields = fieldsNode === null ? null : fieldsIn(fieldsNode);
      const unique = kind === "Unique";
      const written = { declaration, global: global as as.Global, unique, table, tableNode, fields, fieldsNode, file };
      found.push({ ...written, index: declared(table, fields, unique) });
    }
  }
  return found;
}

function declared(table: as.Global | null, fields: readonly string[] | null, unique: boolean): IndexDeclaration | null {
  const name = table === null ? null : nameOfTable(table);
  if (name === null || fields === null || !isTableName(name)) return null;
  const index = { table: name, fields, unique };
  return { name: indexName(index), ...index };
}

/** The constant with a table that an expression names. */
function tableIn(node: as.Expression, file: as.File): as.Global | null {
  let found: as.Element | null = null;
  if (node instanceof as.IdentifierExpression) found = file.lookup(node.text);
  else if (node instanceof as.PropertyAccessExpression && node.expression instanceof as.IdentifierExpression)
    found = file.lookup(node.expression.text)?.getMember(node.property.text) ?? null;
  return found?.kind === ElementKind.Global && nameOfTable(found as as.Global) !== null ? (found as as.Global) : null;
}

/** The name of the table that a constant is; null: it is none, or a counter. */
function nameOfTable({ declaration, parent, program }: as.Global): string | null {
  const { initializer } = declaration as as.VariableDeclaration;
  if (initializer?.kind !== NodeKind.New) return null;
  const { typeName, args } = initializer as as.NewExpression;
  const made = program.resolver.resolveTypeName(typeName, null, parent, ReportMode.Swallow);
  const kind = made === null ? null : tableClass(made.internalName);
  const [name] = args;
  return (kind === "Table" || kind === "Objects") && name !== undefined ? literalText(name) : null;
}

function fieldsIn(node: as.Expression): readonly string[] | null {
  const text = literalText(node);
  return text === null ? null : text.split(",").map((name) => name.trim());
}

function literalText(node: as.Expression): string | null {
  if (node.kind !== NodeKind.Literal || (node as as.LiteralExpression).literalKind !== LiteralKind.String) return null;
  return (node as as.StringLiteralExpression).value;
}
