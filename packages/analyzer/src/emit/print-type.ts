/** Types as AssemblyScript writes them. */
import { tableClassOf, type ClassDeclaration, type FieldDeclaration, type Type } from "../lower/ir.ts";

export function printType(type: Type, className: (declaration: ClassDeclaration) => string): string {
  const print = (inner: Type): string => printType(inner, className);
  switch (type.kind) {
    case "void":
    case "bool":
    case "string":
      return type.kind;
    case "number":
      return type.name;
    case "class": {
      const { declaration } = type;
      if (declaration.kind === "row") return `${className(declaration)}<${print(valueOfRow(declaration).type)}>`;
      if (declaration.kind !== "tuple") return className(declaration);
      return `[${declaration.fields.map((field) => print(field.type)).join(", ")}]`;
    }
    case "library": {
      const [element] = type.arguments;
      // The compiler can't parse `((…) | null)[]` of functions.
      const isNullableFunction = element?.kind === "nullable" && element.inner.kind === "function";
      if (type.name === "Array" && element !== undefined && !isNullableFunction) {
        return element.kind === "nullable" || element.kind === "function"
          ? `(${print(element)})[]`
          : `${print(element)}[]`;
      }
      return type.arguments.length === 0 ? type.name : `${type.name}<${type.arguments.map(print).join(", ")}>`;
    }
    case "table":
      return tableClassOf(type) === "Table" ? `Table<${print(type.record)}>` : tableClassOf(type);
    case "function":
      return `(${type.parameters.map((parameter, index) => `p${index}${index < type.required ? "" : "?"}: ${print(parameter)}`).join(", ")}) => ${print(type.result)}`;
    case "nullable":
      return type.inner.kind === "function" ? `(${print(type.inner)}) | null` : `${print(type.inner)} | null`;
  }
}

/** The field of a row that has the item. */
function valueOfRow({ fields }: ClassDeclaration): FieldDeclaration {
  const field = fields.find(({ name }) => name === "value");
  if (field === undefined) throw new Error("a row has a value");
  return field;
}
