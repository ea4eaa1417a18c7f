/** The declarations behind a value, which know more than its type: the texts of a union, and whether null counts as absent. */
import { as, AssertionKind, ElementKind, NodeKind, ReportMode } from "../assemblyscript.ts";
import { childrenOf, withoutParentheses } from "../children.ts";
import { ChainExpression, NullishExpression } from "../forms-nodes.ts";
import { isOptionalMember, isOptionalParameter } from "../forms-types.ts";
import { entriesOf } from "../map-entries.ts";
import { textsOf, withoutAliases, type WrittenType } from "../written-types.ts";
import type { Expansion } from "./expander.ts";
import { assignedIn, isOmitted } from "./lambda.ts";
import type { Value } from "./values.ts";

// ── Null ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Whether the null of a value is TypeScript's null, or its undefined, which JSON leaves out. A value that is never null is
 * neither.
 */
export type Absence = "never" | "null" | "absent" | "unknown";

export function absenceOf(expansion: Expansion, value: as.Expression): Absence {
  const node = withoutParentheses(value);
  if (node.kind === NodeKind.Null) return sourceOf(node) === "undefined" ? "absent" : "null";
  if (node instanceof as.TernaryExpression)
    return both(absenceOf(expansion, node.ifThen), absenceOf(expansion, node.ifElse));
  const type = expansion.typing.of(node, expansion.flow);
  if (type !== null && !type.isNullableReference) return "never";
  if (node instanceof ChainExpression) return both("absent", absenceOfRest(expansion, node));
  if (node instanceof NullishExpression) return absenceOf(expansion, node.right);
  if (node instanceof as.PropertyAccessExpression) return absenceOfField(expansion, node);
  if (node instanceof as.ElementAccessExpression) {
    const entries = entriesOf(expansion.typing.of(node.expression, expansion.flow));
    return entries === null || entries.value.isNullableReference ? "unknown" : "absent";
  }
  if (node instanceof as.CallExpression) return absenceOfCall(expansion, node);
  if (!(node instanceof as.IdentifierExpression)) return "unknown";
  const declared = declarationOf(expansion, node.text);
  if (declared instanceof as.ParameterNode) {
    if (isOptionalParameter(declared)) return "absent";
    return isOmitted(declared.type) ? "unknown" : absenceIn(declared.type);
  }
  if (declared === null) return "unknown";
  if (declared.type !== null) return absenceIn(declared.type);
  return isSet(declared, expansion) ? absenceOf(expansion, declared.initializer!) : "unknown";
}

function both(one: Absence, other: Absence): Absence {
  if (one === "never" || one === other) return other;
  return other === "never" ? one : "unknown";
}

/** Whether the null of what follows `?.` is one or the other, where the object is there. */
function absenceOfRest({ typing, flow, ...expansion }: Expansion, { object, held, rest }: ChainExpression): Absence {
  const type = typing.of(object, flow);
  if (type === null) return "unknown";
  const inner = flow.fork();
  inner.addScopedDummyLocal(held.text, type.nonNullableType, held);
  return absenceOf({ ...expansion, typing, flow: inner }, rest);
}

function absenceOfField({ typing, flow }: Expansion, node: as.PropertyAccessExpression): Absence {
  const field = typing.fieldOf(node, flow);
  if (field === null) return "unknown";
  if (isOptionalMember(field)) return "absent";
  // The fields of an inferred record stand at its literal.
  if (field.type?.range === field.range) return "null";
  return field.type === null ? "unknown" : absenceIn(field.type);
}

/** Methods of the library whose null is JavaScript's undefined. */
const ABSENT_RESULTS: ReadonlySet<string> = new Set(["at", "find", "findLast", "get", "pop", "shift"]);

function absenceOfCall(expansion: Expansion, node: as.CallExpression): Absence {
  const { typing, flow } = expansion;
  const callee = withoutParentheses(node.expression);
  if (callee instanceof as.PropertyAccessExpression) {
    const container = typing.containerOf(typing.of(callee.expression, flow));
    if (container !== null) {
      if (container.prototype.name === "Table") return "null";
      // One that is there may be null.
      if (container.typeArguments?.at(-1)?.isNullableReference === true) return "unknown";
      return ABSENT_RESULTS.has(callee.property.text) ? "absent" : "unknown";
    }
  }
  const called = calledBy(expansion, callee);
  return called === null || isOmitted(called.functionTypeNode.returnType)
    ? "unknown"
    : absenceIn(called.functionTypeNode.returnType);
}

/** Of a type that is written and may be null. */
function absenceIn(type: as.TypeNode): Absence {
  if (type.range.source.isLibrary) return "null";
  const words = sourceOf(type);
  const isAbsent = /\bundefined\b/.test(words);
  // A name may stand for a type of either kind.
  if (!isAbsent) return /\bnull\b/.test(words) ? "null" : "unknown";
  return /\bnull\b/.test(words) ? "unknown" : "absent";
}

// ── Texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The texts that values may be, by the types that are written for them; null: any text, or a value is not a text. */
export function textsOfAll(values: readonly Value[]): readonly string[] | null {
  const all = new Set<string>();
  for (const { node, expansion } of values) {
    const texts = textsOfValue(expansion, node);
    if (texts === null) return null;
    for (const text of texts) all.add(text);
  }
  return [...all];
}

function textsOfValue(expansion: Expansion, value: as.Expression): readonly string[] | null {
  const node = withoutParentheses(value);
  const alternatives =
    node instanceof as.TernaryExpression
      ? [node.ifThen, node.ifElse]
      : node instanceof NullishExpression
        ? [node.left, node.right]
        : [];
  if (alternatives.length > 0) return textsOfAll(alternatives.map((part) => ({ node: part, expansion })));
  const written = writtenTypeOf(expansion, node);
  if (written === null) return null;
  const { program } = expansion.typing;
  const texts = textsOf(program, withoutAliases(program, written));
  return texts.kind === "texts" ? texts.texts : null;
}

/** The type that is written for a value; null: none is. */
function writtenTypeOf(expansion: Expansion, node: as.Expression): WrittenType | null {
  const { typing, flow } = expansion;
  const scope = flow.sourceFunction;
  if (node instanceof as.IdentifierExpression) {
    const declared = declarationOf(expansion, node.text);
    if (declared === null) return null;
    if (declared.type !== null && !isOmitted(declared.type)) return { node: declared.type, scope };
    return isSet(declared, expansion) ? writtenTypeOf(expansion, withoutParentheses(declared.initializer!)) : null;
  }
  if (node instanceof as.PropertyAccessExpression) {
    const field = typing.fieldOf(node, flow);
    const owner = typing.of(node.expression, flow)?.getClass() ?? null;
    return field === null || field.type === null || owner === null ? null : { node: field.type, scope: owner };
  }
  if (node instanceof as.AssertionExpression) {
    if (node.assertionKind === AssertionKind.NonNull)
      return writtenTypeOf(expansion, withoutParentheses(node.expression));
    return node.toType === null ? null : { node: node.toType, scope };
  }
  if (!(node instanceof as.CallExpression)) return null;
  const called = calledBy(expansion, withoutParentheses(node.expression));
  return called === null ? null : { node: called.functionTypeNode.returnType, scope: called };
}

// ── Declarations ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** The function of the sources that a callee names; null: it is another one, or a value. */
function calledBy({ typing, flow }: Expansion, callee: as.Expression): as.FunctionPrototype | null {
  return typing.quietly(() => {
    const found = typing.program.resolver.lookupExpression(callee, flow, as.Type.auto, ReportMode.Swallow);
    return found?.kind === ElementKind.FunctionPrototype ? (found as as.FunctionPrototype) : null;
  });
}

/** The one declaration of a name in the function; null: there is none or another. */
function declarationOf({ flow }: Expansion, name: string): as.VariableDeclaration | as.ParameterNode | null {
  const found: (as.VariableDeclaration | as.ParameterNode)[] = [];
  const visit = (node: as.Node): void => {
    if (node instanceof as.VariableDeclaration || node instanceof as.ParameterNode)
      if (node.name.text === name) found.push(node);
    childrenOf(node).forEach(visit);
  };
  const { declaration } = flow.sourceFunction;
  visit(declaration);
  const [only, ...others] = found;
  return only === undefined || others.length > 0 ? null : only;
}

/** Whether a variable has no value but its initial one. */
function isSet({ name, initializer }: as.VariableDeclaration | as.ParameterNode, { flow }: Expansion): boolean {
  return initializer !== null && !assignedIn(flow.sourceFunction.declaration).has(name.text);
}

function sourceOf({ range }: as.Node): string {
  return range.source.text.slice(range.start, range.end);
}
