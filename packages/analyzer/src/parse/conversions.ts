/**
 * Help for a number that does not fit its place. The compiler refuses only conversions that may lose something, so
 * the advice is a type of the place that keeps the value. Rounding is advised where the place can't have another type.
 */
import { NodeKind, type as } from "./assemblyscript.ts";
import { ASSIGNMENTS } from "./assignments.ts";
import { childrenOf } from "./children.ts";

/** Help for the value of the expression at `range`, whose type `from` does not fit the type `to` of its place. */
export function conversionHelp(range: as.Range, from: string, to: string): string {
  if (to === "bool") return "Compare the number: `value != 0`.";
  const place = placeOf(range);
  if (place.kind === "whole")
    return isFloat(from)
      ? `${place.name} is a whole number. Round the value: \`Math.floor(value) as ${to}\`.`
      : `${place.name} has the type ${to}. If the value fits into it, write \`value as ${to}\`.`;
  const type = keeping(from, to);
  const exact = to === "f64" ? " Or write `value as f64`, which is exact up to 2^53." : "";
  switch (place.kind) {
    case "variable":
      return `Declare the variable as ${type}, which keeps the value: \`let ${place.name}: ${type} = 0;\`.${exact}`;
    case "declaration":
      return `Declare it as ${type}, which keeps the value: \`${place.name}: ${type}\`.${exact}`;
    case "field":
      return `Declare the field as ${type}, which keeps the value: \`${place.name}: ${type} = 0;\`.${exact}`;
    case "parameter":
      return `Declare the parameter of \`${place.name}\` as ${type}, which keeps the value.${exact}`;
    case "elements":
      return `Declare the elements as ${type}, which keeps the value.${exact}`;
    case "result":
      return `Give the function the result type ${type}, which keeps the value.${exact}`;
    case "other":
      return `Declare the place of this value as ${type}, which keeps it.${exact}`;
  }
}

/** The name in the declaration of the variable that takes the value at `range`; null: something else takes it. */
export function declarationOf(range: as.Range): as.Range | null {
  const place = placeOf(range);
  if (place.kind !== "variable") return null;
  for (const around of pathTo(range).toReversed()) {
    const declarations = childrenOf(around).flatMap((node) =>
      node.kind === NodeKind.Variable ? childrenOf(node) : [],
    );
    const found = declarations.find((node) => (node as as.VariableDeclaration).name.text === place.name);
    if (found !== undefined) return (found as as.VariableDeclaration).name.range;
  }
  return null;
}

type Place =
  | { readonly kind: "declaration" | "variable" | "field" | "parameter" | "whole"; readonly name: string }
  | { readonly kind: "elements" | "result" | "other" };

const OTHER: Place = { kind: "other" };

/** A type that holds what both hold. */
function keeping(from: string, to: string): string {
  return to === "f32" && !/64/.test(from) ? "f64" : from;
}

function isFloat(type: string): boolean {
  return type === "f64" || type === "f32";
}

/** Methods of the library that take indexes, lengths, counts and parts of a date. */
const TAKES_INDEXES =
  /^(UTC|setTime|setUTC\w+|fromCharCode|fromCodePoint|slice|substring|substr|splice|at|charAt|charCodeAt|codePointAt|copyWithin|subarray|repeat|padStart|padEnd|toString|split|flat)$/;

/** Methods of the library that take elements. */
const TAKES_ELEMENTS = /^(push|unshift|add|set|includes|indexOf|lastIndexOf|has|fill)$/;

/** The purpose of the value at `range`. */
function placeOf(range: as.Range): Place {
  const path = pathTo(range);
  let index = path.length - 1;
  for (; index > 0; index--) {
    const kind = path[index - 1]!.kind;
    const passesOn = kind === NodeKind.Parenthesized || kind === NodeKind.Ternary;
    if (!passesOn) break;
  }
  const [node, around] = [path[index], path[index - 1]];
  if (node === undefined || around === undefined) return OTHER;
  switch (around.kind) {
    case NodeKind.VariableDeclaration:
    case NodeKind.FieldDeclaration:
    case NodeKind.Parameter:
      return { kind: "declaration", name: (around as as.VariableDeclaration | as.FieldDeclaration).name.text };
    case NodeKind.Return:
      return { kind: "result" };
    case NodeKind.Binary: {
      const { operator, left, right } = around as as.BinaryExpression;
      return right === node && ASSIGNMENTS.has(operator) ? targetOf(left) : OTHER;
    }
    case NodeKind.ElementAccess:
      return { kind: "whole", name: "An index" };
    case NodeKind.Literal:
      return literalPlace(around, node);
    case NodeKind.New:
      return /^(Date|Array|StaticArray|ArrayBuffer|DataView|[A-Z][a-z]+\d+(Clamped)?Array)$/.test(
        (around as as.NewExpression).typeName.identifier.text,
      )
        ? { kind: "whole", name: "The argument" }
        : { kind: "parameter", name: "constructor" };
    case NodeKind.Call:
      return argumentPlace((around as as.CallExpression).expression);
    default:
      return OTHER;
  }
}

function targetOf(left: as.Expression): Place {
  switch (left.kind) {
    case NodeKind.Identifier:
      return { kind: "variable", name: (left as as.IdentifierExpression).text };
    case NodeKind.PropertyAccess: {
      const name = (left as as.PropertyAccessExpression).property.text;
      return name === "length" ? { kind: "whole", name: "A length" } : { kind: "field", name };
    }
    case NodeKind.ElementAccess:
      return { kind: "elements" };
    default:
      return OTHER;
  }
}

function literalPlace(literal: as.Node, value: as.Node): Place {
  if (!("names" in literal)) return { kind: "elements" };
  const { names, values } = literal as as.ObjectLiteralExpression;
  const name = names[values.indexOf(value)];
  return name === undefined ? OTHER : { kind: "field", name: name.text };
}

function argumentPlace(callee: as.Expression): Place {
  if (callee.kind === NodeKind.Identifier) {
    const { text } = callee as as.IdentifierExpression;
    return text === "abort" ? { kind: "whole", name: "A status" } : { kind: "parameter", name: text };
  }
  if (callee.kind !== NodeKind.PropertyAccess) return OTHER;
  const name = (callee as as.PropertyAccessExpression).property.text;
  if (TAKES_INDEXES.test(name)) return { kind: "whole", name: `The argument of \`${name}\`` };
  return TAKES_ELEMENTS.test(name) ? { kind: "elements" } : { kind: "parameter", name };
}

/** The nodes around a range, from the file to the outermost expression that has exactly this range. */
export function pathTo({ source, start, end }: as.Range): as.Node[] {
  const path: as.Node[] = [source];
  for (let node: as.Node | undefined = source; node !== undefined;) {
    node = childrenOf(node).find(({ range }) => range.source === source && range.start <= start && end <= range.end);
    if (node === undefined) return path;
    path.push(node);
    if (node.range.start === start && node.range.end === end && node.kind !== NodeKind.Expression) return path;
  }
  return path;
}
