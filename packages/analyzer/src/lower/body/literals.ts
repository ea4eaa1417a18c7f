/** Literals: numbers, texts, arrays, templates and objects. */
import { type as, ElementKind, LiteralKind, NodeKind } from "../../parse/assemblyscript.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import { entriesOf } from "../../parse/map-entries.ts";
import { textOf } from "../../parse/span.ts";
import { withoutParentheses } from "../../parse/children.ts";
import {
  STRING,
  VOID,
  nonNullable,
  zeroText,
  type AssignmentTarget,
  type Expression,
  type FunctionDeclaration,
  type Statement,
  type Type,
} from "../ir.ts";
import { spanOf } from "../nodes.ts";
import { Refusal } from "../refusal.ts";
import type { BodyLowering } from "./lower-body.ts";
import { methodCall } from "./calls.ts";
import { typed } from "./conversions.ts";
import { lowerEntries } from "./entries.ts";
import { elementType } from "./library-members.ts";

export function lowerLiteral(
  lowering: BodyLowering,
  node: as.LiteralExpression,
  expected: Type | undefined,
): Expression {
  const span = spanOf(node);
  switch (node.literalKind) {
    case LiteralKind.Integer:
    case LiteralKind.Float:
    case LiteralKind.String:
      return { kind: "constant", text: textOf(node), type: lowering.typeOf(node, expected), span };
    case LiteralKind.Array: {
      const type = lowering.typeOf(node, expected);
      const expectedElement = elementType(type) ?? undefined;
      const elements = (node as as.ArrayLiteralExpression).elementExpressions.map((element) => {
        if (element.kind === NodeKind.Omitted) return lowerHole(expectedElement, span);
        return lowering.expression(element, expectedElement);
      });
      return { kind: "array", elements, type, span };
    }
    case LiteralKind.Template: {
      const { rawParts, expressions, tag } = node as as.TemplateLiteralExpression;
      return {
        kind: "template",
        // The one tag that the compiler has is String.raw.
        parts: tag === null ? rawParts : rawParts.map(escaped),
        operands: expressions.map((part) => lowerTemplatePart(lowering, part)),
        type: STRING,
        span,
      };
    }
    case LiteralKind.Object:
      return lowerObjectLiteral(lowering, node as as.ObjectLiteralExpression, expected);
    default:
      throw new Refusal("not_sliced_syntax", {
        message: "The analyzer can't follow this literal yet.",
        primary: span,
        help: "Construct an object with `new`, and assign its fields.",
      });
  }
}

/** AssemblyScript fills holes with zeroes. */
function lowerHole(type: Type | undefined, span: Span): Expression {
  const text = type === undefined || type.kind === "string" ? null : zeroText(type);
  if (type === undefined || text === null)
    throw new Refusal("not_sliced_syntax", {
      message: "The analyzer can't follow a hole in an array of objects, because there is no value for it.",
      primary: span,
      help: "Write out all elements.",
    });
  return { kind: "constant", text, type, span };
}

/** `{ a: x }` is an object of the expected class: constructed without arguments, then assigned field by field. */
function lowerObjectLiteral(
  lowering: BodyLowering,
  node: as.ObjectLiteralExpression,
  expected: Type | undefined,
): Expression {
  const span = spanOf(node);
  const instance = lowering.factsOf(node).type?.getClass() ?? null;
  const type = instance === null ? expected : lowering.declarations.type(instance.type, span);
  if (instance !== null && type !== undefined && entriesOf(instance.type) !== null)
    return lowerEntries(lowering, node, type);
  const constructor = instance?.constructorInstance ?? null;
  if (type?.kind !== "class" || instance === null || constructor === null)
    throw new Refusal("not_sliced_syntax", {
      message: "The analyzer does not know the class of this object literal.",
      primary: span,
      help: "Construct an object with `new`, and assign its fields.",
    });
  const created: Expression = {
    kind: "construction",
    declaration: type.declaration,
    callee: lowering.declarations.function(constructor),
    arguments: [],
    type,
    span,
  };
  const fields = node.names.map((name) => {
    const member = instance.getMember(name.text);
    const property = member?.kind === ElementKind.PropertyPrototype ? (member as as.PropertyPrototype).instance : null;
    if (property?.isField !== true)
      throw new Refusal("not_sliced_syntax", {
        message: `The analyzer can't follow an object literal that sets ${name.text} through an accessor.`,
        primary: spanOf(name),
        help: "Set it in a statement of its own.",
      });
    return lowering.declarations.field(property, spanOf(name));
  });
  const values = node.values.map((value, index) => lowering.expression(value, fields[index]?.type));
  if (fields.length === 0) return created;
  const name = `${type.declaration.name}_of`;
  // A value's own type may be narrower than the field's, as that of `null` is.
  const inputs = values.map((value, index) => typed(value, fields[index]!.type));
  const literal = lowering.made(name, [created, ...inputs], type, span, ([object, ...rest]) => [
    ...fields.map((field, index): Statement => {
      const value = rest[index]!;
      const target: AssignmentTarget = { kind: "field", object: object!, field };
      const expression: Expression = {
        kind: "assignment",
        target,
        operator: "",
        prefix: false,
        value,
        type: VOID,
        span: value.span,
      };
      return { kind: "expression", expression, span: value.span };
    }),
    { kind: "return", value: object!, span },
  ]);
  if (literal.kind === "call") for (const callee of literal.callees) MAKERS.add(callee);
  return literal;
}

/** The functions that give new objects their fields. */
const MAKERS = new WeakSet<FunctionDeclaration>();

/** Whether a function gives a new object, its first argument, the fields of a literal. */
export function isMaker(declaration: FunctionDeclaration): boolean {
  return MAKERS.has(declaration);
}

/** A part of a template; objects are turned into text by their own `toString`. */
function lowerTemplatePart(lowering: BodyLowering, node: as.Expression): Expression {
  const part = lowering.expression(node);
  const type = nonNullable(part.type);
  if (type.kind !== "class" && type.kind !== "library") return part;
  const toString = lowering
    .factsOf(withoutParentheses(node))
    .calls?.find((callee) => callee.prototype.name === "toString");
  if (toString === undefined)
    throw new Refusal("not_sliced_syntax", {
      message: "The analyzer can't follow this value in a template yet.",
      primary: part.span,
    });
  return methodCall(lowering, toString, part, [], part.span, false);
}

/** Raw text of a template as text of one without a tag. */
function escaped(raw: string): string {
  return raw.replaceAll("\\", "\\\\").replaceAll("`", "\\`").replaceAll("${", "\\${");
}
