/** Names, properties and elements that are read. */
import { as, CommonFlags, ElementKind, OperatorKind } from "../../parse/assemblyscript.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import { textOf } from "../../parse/span.ts";
import { withoutParentheses } from "../../parse/children.ts";
import { BOOL, STRING, type Expression, type Statement, type Type } from "../ir.ts";
import { isApplication, sourcePath, spanOf } from "../nodes.ts";
import { Refusal } from "../refusal.ts";
import type { BodyLowering } from "./lower-body.ts";
import { isSuperNode, methodCall } from "./calls.ts";
import { isEntry, lowerEntry } from "./entries.ts";
import { libraryCall, memberOf } from "./library-members.ts";
import { overloadCall } from "./overloads.ts";

/** A name or property that is not a local variable. */
export function lowerReference(
  lowering: BodyLowering,
  node: as.Expression,
  objectNode: as.Expression | null,
): Expression {
  const span = spanOf(node);
  const { target } = lowering.factsOf(node);
  switch (target?.kind) {
    case ElementKind.Global: {
      const global = target as as.Global;
      if (!isApplication(sourcePath(global)))
        return { kind: "constant", text: textOf(node), type: lowering.typeOf(node), span };
      const lowered = lowering.declarations.global(global, span);
      return { kind: "global", global: lowered, type: lowered.type, span };
    }
    case ElementKind.Local: {
      const constant = inlinedConstant(target as as.Local);
      if (constant !== null) return { kind: "constant", text: constant, type: lowering.typeOf(node), span };
      break;
    }
    case ElementKind.EnumValue: {
      const global = lowering.declarations.enumValue(target as as.EnumValue);
      return { kind: "global", global, type: global.type, span };
    }
    case ElementKind.FunctionPrototype:
    case ElementKind.Function: {
      const instance =
        target.kind === ElementKind.Function
          ? (target as as.Function)
          : lowering.declarations.program.resolver.resolveFunction(target as as.FunctionPrototype, null);
      if (instance !== null && isApplication(sourcePath(instance)) && !instance.is(CommonFlags.Instance))
        return lowering.functionValue(lowering.declarations.function(instance), instance, span);
      const ofSdk = instance === null ? null : lowering.declarations.sdkFunction(instance, span);
      if (ofSdk !== null) return lowering.functionValue(ofSdk, instance!, span);
      break;
    }
    case ElementKind.Property: {
      const property = target as as.Property;
      const object = property.is(CommonFlags.Instance) && objectNode !== null ? lowering.expression(objectNode) : null;
      if (object !== null && isOwnField(property)) {
        const field = lowering.declarations.field(property, span);
        return { kind: "field", object, field, type: lowering.typeOf(node, field.type), span };
      }
      const getter = property.getterInstance;
      if (getter !== null && isApplication(sourcePath(getter)))
        return methodCall(lowering, getter, object, [], span, isSuperNode(objectNode));
      if (object !== null) return libraryProperty(object, property.name, lowering.typeOf(node), span);
      break;
    }
    default:
      break;
  }
  throw new Refusal("not_sliced_syntax", {
    message: "The analyzer can't follow this name yet.",
    primary: span,
  });
}

export function libraryProperty(object: Expression, name: string, type: Type, span: Span): Expression {
  return libraryCall(memberOf(object, name, span), object, [], type, span);
}

export function lowerElement(lowering: BodyLowering, node: as.ElementAccessExpression): Expression {
  const span = spanOf(node);
  const enumeration = lowering.factsOf(withoutParentheses(node.expression)).target;
  if (enumeration?.kind === ElementKind.Enum)
    return enumText(lowering, enumeration as as.Enum, lowering.expression(node.elementExpression), span);
  if (isEntry(lowering, node)) return lowerEntry(lowering, node);
  const container = lowering.expression(node.expression);
  const index = lowering.expression(node.elementExpression);
  const overloaded = overloadCall(lowering, container, OperatorKind.IndexedGet, [container, index], span);
  if (overloaded !== null) return overloaded;
  return libraryCall(memberOf(container, "[]", span), container, [index], lowering.typeOf(node), span);
}

/** `Kind[value]`: of several names with the value the last. */
function enumText(lowering: BodyLowering, source: as.Enum, value: Expression, span: Span): Expression {
  const values = [...(source.members?.values() ?? [])].filter((member) => member.kind === ElementKind.EnumValue);
  return lowering.made(`${source.name}_text`, [value], STRING, span, ([given]) => [
    ...values.toReversed().map((member): Statement => {
      const global = lowering.declarations.enumValue(member as as.EnumValue);
      const compared: Expression[] = [given!, { kind: "global", global, type: global.type, span }];
      const text: Expression = { kind: "constant", text: JSON.stringify(member.name), type: STRING, span };
      return {
        kind: "if",
        condition: { kind: "operation", operator: "==", operands: compared, type: BOOL, span },
        consequent: [{ kind: "return", value: text, span }],
        alternative: [],
        span,
      };
    }),
    { kind: "throw", message: { kind: "constant", text: '""', type: STRING, span }, span },
  ]);
}

/** A field of a class; what an interface declares as a field is a pair of accessors. */
export function isOwnField(property: as.Property): boolean {
  return property.isField && property.parent.kind === ElementKind.Class && isApplication(sourcePath(property));
}

/** The value of a constant around a function, which the compiler puts in the place of its name. Null: the compiler does not. */
function inlinedConstant(local: as.Local): string | null {
  if (!local.is(CommonFlags.Inlined)) return null;
  const { constantFloatValue: value, type } = local;
  if (!type.isFloatValue) {
    const text = String(local.constantIntegerValue);
    return type === as.Type.i32 && !text.startsWith("-") ? text : `(<${type.toString()}>${text})`;
  }
  if (!Number.isFinite(value)) return null;
  const text = Object.is(value, -0) ? "-0" : String(value);
  return `(<${type.toString()}>${Number.isInteger(value) && !text.includes("e") ? `${text}.0` : text})`;
}
