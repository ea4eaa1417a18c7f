/** Members of the library, and the functions of the application that they call by themselves. */
import { CommonFlags, OperatorKind } from "../../parse/assemblyscript.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import {
  VOID,
  nonNullable,
  type ClassDeclaration,
  type Expression,
  type FunctionDeclaration,
  type NumberName,
  type Type,
} from "../ir.ts";
import { libraryMember, refusedMember, type LibraryMember } from "../library.ts";
import { spanOf } from "../nodes.ts";
import { Refusal } from "../refusal.ts";
import type { BodyLowering } from "./lower-body.ts";

export function memberOf(object: Expression, name: string, span: Span): LibraryMember {
  const owner = libraryOwner(nonNullable(object.type));
  const member = owner === null ? null : libraryMember(owner, name);
  if (member === null) throw unknownMember(owner ?? "", name, span);
  return member;
}

/** The functions that a member of the library calls by itself on elements and arguments: comparisons, `toString`. */
export function hiddenCalls(
  lowering: BodyLowering,
  member: LibraryMember,
  container: Expression,
  args: number,
  span: Span,
): FunctionDeclaration[] {
  const type = nonNullable(container.type);
  if (type.kind !== "library") return [];
  const element = nonNullable(type.arguments[0] ?? VOID);
  if (member.name === "join" || member.name === "toString") {
    if (element.kind === "class") {
      const toString = lowering.declarations.method(element.declaration, "toString");
      if (toString !== null) return lowering.declarations.callees(toString);
    }
    if (
      element.kind === "class" ||
      element.kind === "library" ||
      element.kind === "function" ||
      element.kind === "table"
    )
      throw new Refusal("not_sliced_library", {
        message: `The analyzer can't follow ${member.name}() on an array of objects yet.`,
        primary: span,
        help: "Make texts of the elements first: `.map<string>((each) => each.name)`.",
      });
    return [];
  }
  if (element.kind !== "class") return [];
  const called = (operators: readonly (readonly [OperatorKind, string])[]): FunctionDeclaration[] =>
    operators.flatMap(([kind, text]) => hiddenOperator(lowering, element.declaration, kind, text, member.name, span));
  if ((type.name === "Map" || type.name === "Set") && KEYED_MEMBERS.has(member.name)) {
    const equal = lowering.declarations.operator(element.declaration, OperatorKind.Eq);
    if (equal === null) return [];
    throw new Refusal("not_sliced_operator_overload", {
      message: `The analyzer can't follow objects of ${element.declaration.name} as keys, because their addresses decide which of several equal keys is found.`,
      primary: span,
      related: [{ span: spanOf(equal.declaration.name), label: "makes different objects equal" }],
      help: "Use a text or a number made of the object as the key.",
    });
  }
  if (COMPARING_MEMBERS.has(member.name)) return called([[OperatorKind.Eq, "=="]]);
  if (member.name === "sort" && args === 0)
    return called([
      [OperatorKind.Gt, ">"],
      [OperatorKind.Lt, "<"],
    ]);
  return [];
}

function hiddenOperator(
  lowering: BodyLowering,
  owner: ClassDeclaration,
  kind: OperatorKind,
  text: string,
  member: string,
  span: Span,
): FunctionDeclaration[] {
  const source = lowering.declarations.operator(owner, kind);
  if (source === null) return [];
  if (!source.is(CommonFlags.Instance))
    throw new Refusal("not_sliced_operator_overload", {
      message: `The analyzer can't follow the static operator of ${owner.name} that ${member} calls.`,
      primary: span,
      related: [{ span: spanOf(source.declaration.name), label: "the operator" }],
      help: "Declare the operator as a method, without `static`.",
    });
  const callees = lowering.declarations.callees(source);
  for (const callee of callees) callee.overridable = true;
  callees[0]!.operator = text;
  return callees;
}

export function unknownMember(owner: string, name: string, span: Span): Refusal {
  const shown = name === "new" ? `new ${owner}` : owner === "" ? name : `${owner}.${name}`;
  const reason = refusedMember(owner, name);
  const why = reason === null ? " yet" : `: ${reason}`;
  return new Refusal("not_sliced_library", {
    message: `The analyzer can't follow ${shown}${why}.`,
    primary: span,
    help: "Use other members of the library, or a function of your own.",
  });
}

export function libraryCall(
  member: LibraryMember,
  receiver: Expression,
  args: readonly Expression[],
  type: Type,
  span: Span,
): Expression {
  const name = member.name;
  return { kind: "library", member, receiver, name, typeArguments: [], arguments: args, calls: [], type, span };
}

/** The class that has the members of values of a type, as the library names it. */
export function libraryOwner(type: Type): string | null {
  switch (type.kind) {
    case "string":
      return "String";
    case "bool":
      return "Bool";
    case "number":
      return type.name[0]!.toUpperCase() + type.name.slice(1);
    case "library":
      return type.name;
    case "table":
      return "Table";
    case "void":
    case "class":
    case "function":
    case "nullable":
      return null;
  }
}

/** Of the elements of a container of the library. */
export function elementType(type: Type): Type | null {
  if (type.kind !== "library") return null;
  const name = TYPED_ARRAY_ELEMENTS.get(type.name);
  if (name !== undefined) return { kind: "number", name };
  return type.arguments[type.name === "Map" ? 1 : 0] ?? null;
}

/** Library members that compare elements with the `==` of their class. */
const COMPARING_MEMBERS: ReadonlySet<string> = new Set(["includes", "indexOf", "lastIndexOf"]);

/** Members of maps and sets that look for a key. */
const KEYED_MEMBERS: ReadonlySet<string> = new Set(["get", "set", "has", "delete", "add"]);

const TYPED_ARRAY_ELEMENTS: ReadonlyMap<string, NumberName> = new Map([
  ["Int8Array", "i8"],
  ["Uint8Array", "u8"],
  ["Uint8ClampedArray", "u8"],
  ["Int16Array", "i16"],
  ["Uint16Array", "u16"],
  ["Int32Array", "i32"],
  ["Uint32Array", "u32"],
  ["Int64Array", "i64"],
  ["Uint64Array", "u64"],
  ["Float32Array", "f32"],
  ["Float64Array", "f64"],
]);
