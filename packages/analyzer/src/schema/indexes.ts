/** The indexes of an application, and the mistakes in their declarations. */
import { isIndexedName, MAX_INDEX_NAME_LENGTH, type IndexDeclaration, type ValueType } from "@radical/protocol";
import { diagnostic } from "../diagnostics/catalogue.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { closest } from "../diagnostics/closest.ts";
import type { as } from "../parse/assemblyscript.ts";
import { writtenIndexes, type WrittenIndex } from "../parse/indexes.ts";
import { readableTypes, spanOfRange } from "../parse/span.ts";
import type { RecordSchema, TableSchema } from "./schema.ts";

export interface IndexSchema extends IndexDeclaration {
  readonly variable: string;
  readonly declaration: as.VariableDeclaration;
  /** The types of the fields, in their order, without `| null`. */
  readonly types: readonly ValueType[];
}

/** Those without mistakes, in the order of their names. `broken`: the declarations of tables with a mistake. */
export function indexesIn(
  program: as.Program,
  tables: readonly TableSchema[],
  broken: ReadonlySet<as.Node>,
  records: readonly RecordSchema[],
  report: (problem: Diagnostic) => void,
): readonly IndexSchema[] {
  const found = new Map<string, IndexSchema>();
  for (const written of writtenIndexes(program)) {
    // The mistake in its table is told.
    if (written.table !== null && broken.has(written.table.declaration)) continue;
    const table = tables.find(({ declaration }) => declaration === written.table?.declaration);
    const index = checked(written, table, records, report);
    if (index === null) continue;
    const other = found.get(index.name);
    if (other === undefined) found.set(index.name, index);
    else
      report(
        diagnostic("duplicate_index", {
          message: `The index ${index.variable} has the table and the fields of ${other.variable}.`,
          primary: spanOfRange(index.declaration.name.range),
          related: [{ span: spanOfRange(other.declaration.name.range), label: "declared here" }],
          help: "Export one index from a file, and import it in the others.",
        }),
      );
  }
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function checked(
  { declaration, tableNode, fields, fieldsNode, index }: WrittenIndex,
  table: TableSchema | undefined,
  records: readonly RecordSchema[],
  report: (problem: Diagnostic) => void,
): IndexSchema | null {
  const variable = declaration.name.text;
  const refuse = (node: as.Node | null, message: string, help: string): null => {
    report(diagnostic("invalid_index", { message, primary: spanOfRange((node ?? declaration.name).range), help }));
    return null;
  };
  if (table === undefined)
    return refuse(
      tableNode,
      `The index ${variable} is not one of a table.`,
      'Name the constant of a table with records: `new Index<Post>(posts, "author, at")`.',
    );
  const record = table.type.kind === "record" ? records.find(({ name }) => isNamed(table.type, name)) : undefined;
  if (record === undefined)
    return refuse(
      tableNode,
      `The table ${table.name} can't have an index, because its items are not records.`,
      "Store a record with the value in a field of it.",
    );
  if (fields === null || fields.every((name) => name === ""))
    return refuse(
      fieldsNode,
      `The index ${variable} does not say its fields as a literal text.`,
      'Write the names of fields, with commas between them: `"author, at"`.',
    );
  const types: ValueType[] = [];
  for (const [at, name] of fields.entries()) {
    const field = record.fields.find((one) => one.name === name);
    if (field === undefined) {
      const near = closest(
        name,
        record.fields.map((one) => one.name),
      );
      return refuse(
        fieldsNode,
        `The class ${record.name} has no field ${JSON.stringify(name)} for the index ${variable}.`,
        near === null ? `Name a field of ${record.name}.` : `Write \`${near}\`.`,
      );
    }
    const type = field.type.kind === "nullable" ? field.type.inner : field.type;
    if (!isIndexable(type))
      return refuse(
        fieldsNode,
        `The field ${name} can't be in an index, because it is of type ${readableTypes(field.resolved.toString())}.`,
        "Name fields that are texts, integers, booleans or enums. For a time or a price, store an integer.",
      );
    if (fields.indexOf(name) !== at)
      return refuse(fieldsNode, `The index ${variable} names the field ${name} twice.`, "Name it once.");
    if (!isIndexedName(name))
      return refuse(
        fieldsNode,
        `The field ${name} can't be in an index, because its name has other characters than ASCII letters, digits, \`_\` and \`$\`.`,
        "Give the field another name.",
      );
    types.push(type);
  }
  if (index === null || index.name.length > MAX_INDEX_NAME_LENGTH)
    return refuse(
      fieldsNode,
      `The names of the table and the fields of ${variable} have more than ${MAX_INDEX_NAME_LENGTH} characters.`,
      "Shorten the name of a field.",
    );
  return { ...index, variable, declaration, types };
}

function isNamed(type: ValueType, name: string): boolean {
  return type.kind === "record" && type.name === name;
}

function isIndexable({ kind }: ValueType): boolean {
  return kind === "string" || kind === "bool" || /^[iu](8|16|32|64)$/.test(kind);
}
