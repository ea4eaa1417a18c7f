/** The names that the source gives to enums and to unions of texts. Clients have types of these names. */
import type { NamedTypes } from "@radical/protocol";
import { type as, ElementKind, LiteralKind, NodeKind, ReportMode, Token } from "../parse/assemblyscript.ts";
import { withoutParentheses } from "../parse/children.ts";
import { TextsNode } from "../parse/forms-types.ts";
import { textOf } from "../parse/span.ts";
import { descriptionBefore } from "./documentation.ts";
import { withoutAliases, type WrittenType } from "../parse/written-types.ts";

export class TypeNames {
  readonly #program: as.Program;
  readonly #owners = new Map<string, as.Element>();
  readonly #named: Record<string, NamedTypes[string]> = {};

  constructor(program: as.Program) {
    this.#program = program;
  }

  /** Those that were asked for. */
  get named(): NamedTypes {
    return this.#named;
  }

  /** The name of an enum as it is written; undefined: another type is written, or a value of the enum is computed. */
  enumNamed(written: WrittenType): string | undefined {
    const { node, scope } = withoutAliases(this.#program, written);
    const found = node === null ? null : this.#elementOf(node, scope);
    if (found?.kind !== ElementKind.Enum) return undefined;
    const values = valuesOf(found as as.Enum);
    return values === null ? undefined : this.#take(found, { kind: "enum", values });
  }

  /** The name of a union of texts as it is written; undefined: it stands there without one. */
  textsNamed(written: WrittenType, texts: readonly string[]): string | undefined {
    const { node, scope, given } = written;
    const bound =
      node?.kind === NodeKind.NamedType ? given?.get((node as as.NamedTypeNode).name.identifier.text) : null;
    if (bound) return this.textsNamed(bound, texts);
    const found = node === null || node instanceof TextsNode ? null : this.#elementOf(node, scope);
    if (found?.kind !== ElementKind.TypeDefinition) return undefined;
    const { typeNode, typeParameterNodes } = found as as.TypeDefinition;
    const isWhole = typeParameterNodes === null && !typeNode.isNullable;
    return isWhole ? this.#take(found, { kind: "texts", texts }) : undefined;
  }

  #elementOf(node: as.TypeNode, scope: as.Element): as.Element | null {
    if (node.kind !== NodeKind.NamedType) return null;
    return this.#program.resolver.resolveTypeName((node as as.NamedTypeNode).name, null, scope, ReportMode.Swallow);
  }

  /** Of two types of one name, the one that comes first has it. */
  #take(element: as.Element, type: NamedTypes[string]): string | undefined {
    const { name } = element;
    const owner = this.#owners.get(name);
    if (owner !== undefined) return owner === element ? name : undefined;
    this.#owners.set(name, element);
    const description = descriptionBefore((element as as.DeclaredElement).declaration.name.range);
    this.#named[name] = { ...type, ...(description === null ? {} : { description }) };
    return name;
  }
}

/** The values by their names; null: one of them is computed. */
function valuesOf(source: as.Enum): Readonly<Record<string, number>> | null {
  const values: Record<string, number> = {};
  let next: number | null = 0;
  for (const member of source.members?.values() ?? []) {
    if (member.kind !== ElementKind.EnumValue) continue;
    const { valueNode } = member as as.EnumValue;
    const value: number | null = valueNode === null ? next : constantOf(valueNode, values);
    if (value === null) return null;
    values[member.name] = value;
    next = value + 1;
  }
  return values;
}

/** Of a number that is written there, or a value before it. Values that are computed are flags, which are combined. */
function constantOf(written: as.Expression, known: Readonly<Record<string, number>>): number | null {
  const node = withoutParentheses(written);
  switch (node.kind) {
    case NodeKind.Identifier:
      return known[(node as as.IdentifierExpression).text] ?? null;
    case NodeKind.Literal: {
      if ((node as as.LiteralExpression).literalKind !== LiteralKind.Integer) return null;
      return Number(textOf(node).replaceAll("_", ""));
    }
    case NodeKind.UnaryPrefix: {
      const { operator, operand } = node as as.UnaryPrefixExpression;
      const value = constantOf(operand, known);
      return value === null || operator !== Token.Minus ? null : -value;
    }
    default:
      return null;
  }
}
