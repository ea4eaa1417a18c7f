/**
 * `limit = 20`: a parameter whose type is not written has that of its default value, where the value says it by itself.
 * A whole number is an `i32` and another number an `f64`, as everywhere in handlers.
 */
import { as, LiteralKind, NodeKind, Token } from "./assemblyscript.ts";
import { withoutParentheses } from "./children.ts";

/** Gives the parameters of a function with a name their types. */
export function typeDefaults({ signature: { parameters } }: as.FunctionDeclaration): void {
  for (const [index, parameter] of parameters.entries()) {
    const { type, initializer } = parameter;
    if (initializer === null || type.range.start < type.range.end) continue;
    const name = typeOf(withoutParentheses(initializer), parameters.slice(0, index));
    if (name !== null) parameter.type = named(name, initializer.range);
  }
}

/** The name of a value's type; null: the value does not say it. */
function typeOf(value: as.Expression, before: readonly as.ParameterNode[]): string | null {
  switch (value.kind) {
    case NodeKind.True:
    case NodeKind.False:
      return "bool";
    case NodeKind.Literal:
      switch ((value as as.LiteralExpression).literalKind) {
        case LiteralKind.Integer:
          return isI32(value) ? "i32" : null;
        case LiteralKind.Float:
          return "f64";
        case LiteralKind.String:
        case LiteralKind.Template:
          return "string";
        default:
          return null;
      }
    case NodeKind.UnaryPrefix: {
      const { operator, operand } = value as as.UnaryPrefixExpression;
      return operator === Token.Minus && operand.isNumericLiteral ? typeOf(operand, before) : null;
    }
    case NodeKind.Identifier: {
      const parameter = before.find(({ name }) => name.text === (value as as.IdentifierExpression).text);
      return parameter === undefined ? null : nameOf(parameter.type);
    }
    default:
      return null;
  }
}

function isI32({ range }: as.Expression): boolean {
  return Number(range.source.text.slice(range.start, range.end).replaceAll("_", "")) < 2 ** 31;
}

/** Null: more than a name is written. */
function nameOf(type: as.TypeNode): string | null {
  if (Object.getPrototypeOf(type) !== as.NamedTypeNode.prototype || type.isNullable) return null;
  const { name, typeArguments } = type as as.NamedTypeNode;
  return name.next === null && (typeArguments ?? []).length === 0 ? name.identifier.text : null;
}

function named(name: string, range: as.Range): as.TypeNode {
  return as.Node.createNamedType(as.Node.createSimpleTypeName(name, range), [], false, range);
}
