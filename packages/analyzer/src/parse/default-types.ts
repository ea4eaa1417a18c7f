/**
 * Types that a function with a name and a field may leave out. `limit = 20`: a parameter has the type of its default
 * value, and a field that of its initial value, where the value says it by itself. A whole number is an `i32` and another
 * number an `f64`, as everywhere in handlers. A function that returns no value is `void`. The type of a value that it
 * returns is known where the function is compiled (`expand/inferred-results.ts`).
 */
import { as, CommonFlags, DiagnosticCode, LiteralKind, NodeKind, Token } from "./assemblyscript.ts";
import { childrenOf, withoutParentheses } from "./children.ts";

const TYPE_EXPECTED: number = DiagnosticCode.Type_expected;
const WITHOUT_RESULT: CommonFlags = CommonFlags.Constructor | CommonFlags.Set;

/** Gives a function with a name these types. `messages`: the parser's, which says that a result type is missing. */
export function typeDefaults(
  { signature, body, flags }: as.FunctionDeclaration,
  messages: as.DiagnosticMessage[],
): void {
  const { parameters, returnType } = signature;
  const hasValue = body !== null && returnsValue(body);
  const hasResult = hasValue ? (flags & WITHOUT_RESULT) === 0 : (flags & (WITHOUT_RESULT | CommonFlags.Get)) === 0;
  if (!isWritten(returnType) && body !== null && hasResult) {
    if (!hasValue) signature.returnType = named("void", returnType.range);
    const isMissing = ({ code, range }: as.DiagnosticMessage): boolean =>
      code === TYPE_EXPECTED && range?.start === returnType.range.start;
    const told = messages.findIndex(isMissing);
    if (told >= 0) messages.splice(told, 1);
  }
  for (const [index, parameter] of parameters.entries()) {
    const { type, initializer } = parameter;
    if (initializer === null || isWritten(type)) continue;
    const name = typeOf(withoutParentheses(initializer), parameters.slice(0, index));
    if (name !== null) parameter.type = named(name, initializer.range);
  }
}

/** Gives a field the type of its initial value. `messages`: the parser's, which says that the type is missing. */
export function typeField(field: as.FieldDeclaration, messages: as.DiagnosticMessage[]): void {
  const { type, initializer, name } = field;
  if (type !== null || initializer === null) return;
  const found = typeOfField(withoutParentheses(initializer));
  if (found === null) return;
  field.type = found;
  const told = messages.findIndex(({ code, range }) => code === TYPE_EXPECTED && range?.start === name.range.start);
  if (told >= 0) messages.splice(told, 1);
}

function typeOfField(value: as.Expression): as.TypeNode | null {
  if (value.kind === NodeKind.New) {
    const { typeName, typeArguments, range } = value as as.NewExpression;
    return as.Node.createNamedType(typeName, typeArguments ?? [], false, range);
  }
  const name = typeOf(value, []);
  return name === null ? null : named(name, value.range);
}

function isWritten({ range }: as.TypeNode): boolean {
  return range.start < range.end;
}

function returnsValue(node: as.Node): boolean {
  if (node.kind === NodeKind.Return) return (node as as.ReturnStatement).value !== null;
  return node.kind !== NodeKind.Function && childrenOf(node).some(returnsValue);
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
