/** The left sides of assignments. */
import { type as, CommonFlags, ElementKind, NodeKind, OperatorKind } from "../../parse/assemblyscript.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import { withoutParentheses } from "../../parse/children.ts";
import { VOID, nonNullable, type AssignmentTarget, type Expression, type FieldDeclaration, type Type } from "../ir.ts";
import { isApplication, sourcePath, spanOf } from "../nodes.ts";
import { Refusal } from "../refusal.ts";
import type { BodyLowering } from "./lower-body.ts";
import { isSuperNode, methodCall } from "./calls.ts";
import { typed } from "./conversions.ts";
import { elementType, libraryCall, memberOf, unknownMember } from "./library-members.ts";
import { isOwnField, libraryProperty } from "./members.ts";
import { overloadOf } from "./overloads.ts";

/** Something that can be read and written, made of expressions that are evaluated first. */
export interface Place {
  /** Of the value. */
  readonly type: Type;
  readonly parts: readonly Expression[];
  read(parts: readonly Expression[]): Expression;
  /** `used`: the value of the whole expression is. */
  write(parts: readonly Expression[], value: Expression, used: boolean): Expression;
  /** The target of an update in place; null: there is none. */
  readonly target: AssignmentTarget | null;
}

/** The left side of an assignment. */
export function lowerPlace(lowering: BodyLowering, node: as.Expression): Place {
  const inner = withoutParentheses(node);
  const span = spanOf(inner);
  if (inner.kind === NodeKind.Identifier) {
    const local = lowering.find((inner as as.IdentifierExpression).text);
    if (local !== null) return simplePlace({ kind: "local", local }, local.type, span);
  }
  if (inner.kind === NodeKind.ElementAccess) return elementPlace(lowering, inner as as.ElementAccessExpression);
  const { target } = lowering.factsOf(inner);
  if (target?.kind === ElementKind.Global && isApplication(sourcePath(target as as.Global))) {
    const global = lowering.declarations.global(target as as.Global, span);
    return simplePlace({ kind: "global", global }, global.type, span);
  }
  if (target?.kind === ElementKind.Property) {
    const property = target as as.Property;
    const objectNode =
      inner.kind === NodeKind.PropertyAccess ? (inner as as.PropertyAccessExpression).expression : null;
    if (property.is(CommonFlags.Instance) && objectNode !== null) {
      const object = lowering.expression(objectNode);
      if (isOwnField(property)) return fieldPlace(object, lowering.declarations.field(property, span), span);
      if (isApplication(sourcePath(property)))
        return accessorPlace(lowering, property, object, isSuperNode(objectNode), span);
      if (objectNode.kind === NodeKind.This && sourcePath(property) === ERRORS)
        return errorPropertyPlace(lowering, property, object, span);
      return libraryPropertyPlace(property, object, span);
    }
    return accessorPlace(lowering, property, null, false, span);
  }
  throw new Refusal("not_sliced_syntax", {
    message: "The analyzer can't follow an assignment to this yet.",
    primary: span,
  });
}

function simplePlace(target: Extract<AssignmentTarget, { kind: "local" | "global" }>, type: Type, span: Span): Place {
  return {
    type,
    parts: [],
    target,
    read: () =>
      target.kind === "local"
        ? { kind: "local", local: target.local, type, span }
        : { kind: "global", global: target.global, type, span },
    write: (_parts, value, used) => assign(target, value, used ? type : VOID),
  };
}

function fieldPlace(object: Expression, field: FieldDeclaration, span: Span): Place {
  return {
    type: field.type,
    parts: [object],
    target: { kind: "field", object, field },
    read: ([given]) => ({ kind: "field", object: given!, field, type: field.type, span }),
    write: ([given], value, used) => assign({ kind: "field", object: given!, field }, value, used ? field.type : VOID),
  };
}

function elementPlace(lowering: BodyLowering, node: as.ElementAccessExpression): Place {
  const span = spanOf(node);
  const container = lowering.expression(node.expression);
  const index = lowering.expression(node.elementExpression);
  const getter = overloadOf(lowering, container.type, OperatorKind.IndexedGet);
  const setter = overloadOf(lowering, container.type, OperatorKind.IndexedSet);
  if (getter !== null && setter !== null) {
    const type = lowering.declarations.type(getter.signature.returnType, span);
    const set = (object: Expression, at: Expression, value: Expression): Expression =>
      methodCall(lowering, setter, object, [at, value], span, false);
    return {
      type,
      parts: [container, index],
      target: null,
      read: ([object, at]) => methodCall(lowering, getter, object!, [at!], span, false),
      // The value of `object[index] = value` is read from the object again.
      write: ([object, at], value, used) =>
        used
          ? lowering.made("assigned", [object!, at!, value], type, span, ([o, i, v]) => [
              { kind: "expression", expression: set(o!, i!, v!), span },
              { kind: "return", value: methodCall(lowering, getter, o!, [i!], span, false), span },
            ])
          : set(object!, at!, value),
    };
  }
  const member = memberOf(container, "[]", span);
  const containerType = nonNullable(container.type);
  const type = lowering.factsOf(node).type === undefined ? elementType(containerType) : lowering.typeOf(node);
  if (type === null) throw unknownMember("", "this element", span);
  return {
    type,
    parts: [container, index],
    target: { kind: "element", member, container, index },
    read: ([object, at]) => libraryCall(member, object!, [at!], type, span),
    write: ([object, at], value, used) =>
      assign({ kind: "element", member, container: object!, index: at! }, value, used ? type : VOID),
  };
}

function accessorPlace(
  lowering: BodyLowering,
  property: as.Property,
  object: Expression | null,
  viaSuper: boolean,
  span: Span,
): Place {
  const { getterInstance: getter, setterInstance: setter } = property;
  if (setter === null)
    throw new Refusal("not_sliced_syntax", {
      message: "The analyzer can't follow an assignment to this yet.",
      primary: span,
    });
  const type = lowering.declarations.type(setter.signature.parameterTypes[0]!, span);
  return {
    type,
    parts: object === null ? [] : [object],
    target: null,
    read: ([given]) => {
      if (getter === null)
        throw new Refusal("not_sliced_syntax", { message: "The analyzer can't follow this read yet.", primary: span });
      return methodCall(lowering, getter, given ?? null, [], span, viaSuper);
    },
    write: ([given], value, used) => {
      // AssemblyScript calls an overridden setter through `super` as if it were through `this`, but a getter not.
      const owner = viaSuper && given !== undefined ? asOwner(lowering, given, setter, span) : (given ?? null);
      if (owner !== null) return methodCall(lowering, setter, owner, [value], span, false, used ? type : VOID);
      if (!used) return methodCall(lowering, setter, null, [value], span, false);
      return lowering.made("assigned", [typed(value, type)], type, span, ([written]) => [
        { kind: "expression", expression: methodCall(lowering, setter, null, [written!], span, false), span },
        { kind: "return", value: written!, span },
      ]);
    },
  };
}

/** `this.name` and `this.message` of the application's own errors. Nothing that is followed reads them: nothing is written. */
function errorPropertyPlace(lowering: BodyLowering, property: as.Property, object: Expression, span: Span): Place {
  const type = lowering.declarations.type(property.type, span);
  return {
    type,
    parts: [],
    target: null,
    read: () => libraryProperty(object, property.name, type, span),
    write: (_parts, value) => value,
  };
}

/** `length` of an array, the only property of the library that can be assigned. */
function libraryPropertyPlace(property: as.Property, object: Expression, span: Span): Place {
  const member = memberOf(object, `${property.name}=`, span);
  const type: Type = { kind: "number", name: "i32" };
  return {
    type,
    parts: [object],
    target: null,
    read: ([given]) => libraryProperty(given!, property.name, type, span),
    write: ([given], value, used) => libraryCall(member, given!, [value], used ? type : VOID, span),
  };
}

function asOwner(lowering: BodyLowering, object: Expression, callee: as.Function, span: Span): Expression {
  const owner = callee.getBoundClassOrInterface();
  if (owner === null) throw new Error("an accessor has a class");
  return { kind: "cast", operand: object, type: lowering.declarations.type(owner.type, span), span };
}

function assign(target: AssignmentTarget, value: Expression, type: Type): Expression {
  return { kind: "assignment", target, operator: "", prefix: false, value, type, span: value.span };
}

/** The library's file of errors. */
const ERRORS = "~lib/error";
