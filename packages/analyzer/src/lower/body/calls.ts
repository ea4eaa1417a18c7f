/** Calls and `new`. */
import { type as, CommonFlags, ElementKind, LiteralKind, NodeKind } from "../../parse/assemblyscript.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import { SDK_LIBRARY } from "../../parse/compile.ts";
import { writtenIndexes } from "../../parse/indexes.ts";
import { textOf } from "../../parse/span.ts";
import { withoutParentheses } from "../../parse/children.ts";
import { STRING, VOID, nonNullable, type Expression, type Scan, type Type } from "../ir.ts";
import { libraryMember } from "../library.ts";
import { isApplication, sourcePath, spanOf } from "../nodes.ts";
import { Refusal } from "../refusal.ts";
import type { BodyLowering } from "./lower-body.ts";
import { allArguments, packedArguments, withArguments } from "./arguments.ts";
import { typed } from "./conversions.ts";
import { lowerCounterCall } from "./counters.ts";
import { lowerIndexCall, lowerKept } from "./indexes.ts";
import { hiddenCalls, libraryCall, libraryOwner, memberOf, unknownMember } from "./library-members.ts";
import { isQuiet } from "./quiet.ts";

export function isSuperNode(node: as.Expression | null): boolean {
  return node !== null && withoutParentheses(node).kind === NodeKind.Super;
}

export function lowerConstruction(lowering: BodyLowering, node: as.NewExpression): Expression {
  const span = spanOf(node);
  const facts = lowering.factsOf(node);
  const callee = facts.calls?.find((candidate) => candidate.is(CommonFlags.Constructor));
  const instance = callee?.getBoundClassOrInterface() ?? facts.type?.getClass() ?? null;
  if (instance === null)
    throw new Refusal("not_sliced_syntax", {
      message: "The analyzer can't follow this construction yet.",
      primary: span,
    });
  const type = lowering.declarations.type(instance.type, span);
  if (type.kind === "class" && callee !== undefined) {
    const { declaration } = type;
    if (declaration.kind === "row") throw unknownMember(declaration.name, "new", span);
    const constructor = lowering.declarations.function(callee);
    return withArguments(lowering, callee, null, node.args, span, (_self, args) => ({
      kind: "construction",
      declaration,
      callee: constructor,
      arguments: args,
      type,
      span,
    }));
  }
  if (type.kind === "table") return lowerNewTable(lowering, node, type);
  if (type.kind !== "library") throw unknownMember(instance.prototype.name, "new", span);
  const member = libraryMember(type.name, "new");
  if (member === null) throw unknownMember(type.name, "new", span);
  return {
    kind: "library",
    member,
    receiver: null,
    name: type.name,
    typeArguments: type.arguments,
    arguments: node.args.map((argument) => lowering.expression(argument)),
    calls: [],
    type,
    span,
  };
}

function lowerNewTable(lowering: BodyLowering, node: as.NewExpression, type: Type): Expression {
  const span = spanOf(node);
  const written = writtenIndexes(lowering.declarations.program).find(
    ({ declaration }) => declaration.initializer === node,
  );
  if (written !== undefined && written.index !== null)
    return { kind: "new-table", name: written.index.name, type, span };
  const [name] = node.args;
  if (
    !lowering.isInitializer ||
    name?.kind !== NodeKind.Literal ||
    (name as as.LiteralExpression).literalKind !== LiteralKind.String
  ) {
    throw new Refusal("not_sliced_table_value", {
      message: "The analyzer can't follow a table that is not a constant at the top of a file.",
      primary: span,
      help: 'Declare it outside of functions: `const users = new Table<User>("users");`.',
    });
  }
  return { kind: "new-table", name: (name as as.StringLiteralExpression).value, type, span };
}

export function lowerCall(lowering: BodyLowering, node: as.CallExpression): Expression {
  const span = spanOf(node);
  const facts = lowering.factsOf(node);
  const calleeNode = withoutParentheses(node.expression);
  if (calleeNode.kind === NodeKind.Super) {
    const [base] = facts.calls ?? [];
    if (base === undefined) throw new Error("super() without a constructor");
    return {
      kind: "call",
      // Also of a class without constructor of its own: that one is made by the compiler.
      callees: [lowering.declarations.function(base)],
      receiver: lowering.thisValue(span),
      arguments: allArguments(lowering, base, node.args, span),
      isSuper: true,
      type: VOID,
      span,
    };
  }
  if (facts.builtin !== undefined) return lowerBuiltinCall(lowering, node, facts.builtin);
  if (facts.indirect !== undefined) {
    const callee = lowering.expression(calleeNode);
    const args = packedArguments(lowering, facts.indirect, node.args);
    const type = lowering.typeOf(node);
    const indirect = (called: Expression, given: readonly Expression[]): Expression => ({
      kind: "indirect-call",
      callee: called,
      arguments: given,
      type,
      span,
    });
    if (isQuiet(callee)) return indirect(callee, args);
    const { parameterTypes, returnType } = facts.indirect;
    const inputs = args.map((argument, index) =>
      typed(argument, lowering.declarations.type(parameterTypes[index]!, span)),
    );
    return lowering.made(
      "called",
      [callee, ...inputs],
      lowering.declarations.type(returnType, span),
      span,
      ([called, ...given]) => {
        const expression = indirect(called!, given);
        return [
          expression.type.kind === "void"
            ? { kind: "expression", expression, span }
            : { kind: "return", value: expression, span },
        ];
      },
    );
  }
  const callee = resolvedCallee(lowering, node, calleeNode);
  if (sourcePath(callee).startsWith(SDK_LIBRARY)) return lowerSdkCall(lowering, node, calleeNode, callee);
  const receiverNode =
    callee.is(CommonFlags.Instance) && calleeNode.kind === NodeKind.PropertyAccess
      ? (calleeNode as as.PropertyAccessExpression).expression
      : null;
  const receiver = receiverNode === null ? null : lowering.expression(receiverNode);
  if (isApplication(sourcePath(callee))) {
    const viaSuper = isSuperNode(receiverNode);
    return withArguments(lowering, callee, receiver, node.args, span, (self, args) =>
      methodCall(lowering, callee, self, args, span, viaSuper),
    );
  }
  return lowerLibraryCall(lowering, node, calleeNode, callee, receiver);
}

function resolvedCallee(lowering: BodyLowering, node: as.CallExpression, calleeNode: as.Expression): as.Function {
  const { target } = lowering.factsOf(calleeNode);
  const prototype =
    target?.kind === ElementKind.FunctionPrototype
      ? (target as as.FunctionPrototype)
      : target?.kind === ElementKind.Function
        ? (target as as.Function).prototype
        : null;
  const callee = lowering
    .factsOf(node)
    .calls?.find(
      (candidate) =>
        prototype !== null &&
        (candidate.prototype === prototype || candidate.prototype.declaration === prototype.declaration),
    );
  if (callee === undefined)
    throw new Refusal("not_sliced_syntax", {
      message: "The analyzer can't follow this call yet, because it does not know the function.",
      primary: spanOf(node),
    });
  return callee;
}

/** A call of a function of the application, as a method if there is a receiver. */
export function methodCall(
  lowering: BodyLowering,
  callee: as.Function,
  receiver: Expression | null,
  args: readonly Expression[],
  span: Span,
  viaSuper: boolean,
  type?: Type,
): Expression {
  if (!isApplication(sourcePath(callee))) {
    if (receiver === null) throw unknownMember("", callee.prototype.name, span);
    const name = callee.prototype.name;
    const member = memberOf(receiver, name, span);
    const calls = hiddenCalls(lowering, member, receiver, args.length, span);
    const result = lowering.declarations.type(callee.signature.returnType, span);
    return { kind: "library", member, receiver, name, typeArguments: [], arguments: args, calls, type: result, span };
  }
  const callees = viaSuper ? [lowering.declarations.function(callee)] : lowering.declarations.callees(callee);
  const result = callee.is(CommonFlags.Constructor) ? VOID : callees[0]!.result;
  return { kind: "call", callees, receiver, arguments: args, isSuper: viaSuper, type: type ?? result, span };
}

function lowerSdkCall(
  lowering: BodyLowering,
  node: as.CallExpression,
  calleeNode: as.Expression,
  callee: as.Function,
): Expression {
  const span = spanOf(node);
  const name = callee.prototype.name;
  const property =
    callee.is(CommonFlags.Instance) && calleeNode.kind === NodeKind.PropertyAccess
      ? (calleeNode as as.PropertyAccessExpression)
      : null;
  const ofIndex = property === null ? null : lowerIndexCall(lowering, node, property, callee, span);
  if (ofIndex !== null) return ofIndex;
  const args = node.args.map((argument) => lowering.expression(argument));
  const [key, value] = args;
  if (property !== null) {
    const table = lowering.expression(property.expression);
    const ofRange = lowerRangeCall(lowering, table, name, args, callee, span);
    if (ofRange !== null) return ofRange;
    const ofCounter = lowerCounterCall(lowering, name, table, args, span);
    if (ofCounter !== null) return ofCounter;
    if (name === "put" || name === "delete") {
      const kept = lowerKept(lowering, name, property.expression, table, args, callee, span);
      if (kept !== null) return kept;
    }
    if (
      table.type.kind === "table" &&
      key !== undefined &&
      (name === "get" ||
        name === "has" ||
        name === "put" ||
        name === "delete" ||
        (lowering.declarations.asKnown && (name === "touch" || name === "willPut" || name === "willDelete")))
    ) {
      return {
        kind: "access",
        operation: name,
        table,
        key,
        value: value ?? null,
        type: lowering.declarations.type(callee.signature.returnType, span),
        span,
      };
    }
  } else if (name === "now") {
    return { kind: "now", type: { kind: "number", name: "i64" }, span };
  } else if (name === "caller") {
    return { kind: "caller", type: lowering.declarations.type(callee.signature.returnType, span), span };
  } else if (name === "random") {
    const site = lowering.declarations.drawSite(span);
    return { kind: "draw", source: "random", site, type: { kind: "number", name: "f64" }, span };
  } else if (name === "uuid") {
    return { kind: "draw", source: "uuid", site: lowering.declarations.drawSite(span), type: STRING, span };
  } else if (name === "nameLane" && key !== undefined) {
    return { kind: "lane", key, type: VOID, span };
  } else if (name === "abort") {
    return { kind: "abort", arguments: args, type: VOID, span };
  } else {
    const owner = callee.parent.kind === ElementKind.File ? "" : callee.parent.name;
    const member = libraryMember(owner, name);
    if (member !== null && member.module !== null) {
      const called = owner === "" ? name : `${owner}.${name}`;
      const call = { receiver: null, name: called, typeArguments: [], arguments: args, calls: [] };
      return { kind: "library", member, ...call, type: lowering.typeOf(node), span };
    }
  }
  throw unknownMember("", name, span);
}

const SCANS: ReadonlySet<string> = new Set<Scan["operation"]>(["first", "last", "count"]);
const TOUCHING_SCANS: ReadonlySet<string> = new Set<Scan["operation"]>(["touchFirst", "touchLast", "touchCount"]);

/** A call of a method of a table or a range, if that makes or reads a range. */
function lowerRangeCall(
  lowering: BodyLowering,
  object: Expression,
  name: string,
  args: readonly Expression[],
  callee: as.Function,
  span: Span,
): Expression | null {
  const { declarations } = lowering;
  const type = declarations.type(callee.signature.returnType, span);
  const owner = libraryOwner(nonNullable(object.type));
  if (owner === "Range" && (SCANS.has(name) || (declarations.asKnown && TOUCHING_SCANS.has(name))))
    return { kind: "scan", operation: name as Scan["operation"], range: object, limit: args[0] ?? null, type, span };
  const member = owner === "Range" || owner === "Table" ? libraryMember(owner, name) : null;
  return member === null ? null : libraryCall(member, object, args, type, span);
}

function lowerBuiltinCall(lowering: BodyLowering, node: as.CallExpression, builtin: as.FunctionPrototype): Expression {
  const span = spanOf(node);
  const [first] = node.args;
  if (builtin.name === "unchecked" && first !== undefined) return lowering.expression(first);
  const owner = builtin.parent.kind === ElementKind.File ? "" : builtin.parent.name;
  const member = libraryMember(owner, builtin.name);
  if (member === null) throw unknownMember(owner, builtin.name, span);
  // The message of an assertion that always holds is not compiled.
  const args = builtin.name === "assert" ? node.args.filter((argument) => lowering.wasCompiled(argument)) : node.args;
  return {
    kind: "library",
    member,
    receiver: null,
    name: textOf(node.expression),
    typeArguments: (lowering.factsOf(node).typeArguments ?? []).map((type) => lowering.declarations.type(type, span)),
    arguments: args.map((argument) => lowering.expression(argument)),
    calls: [],
    type: lowering.typeOf(node),
    span,
  };
}

function lowerLibraryCall(
  lowering: BodyLowering,
  node: as.CallExpression,
  calleeNode: as.Expression,
  callee: as.Function,
  receiver: Expression | null,
): Expression {
  const span = spanOf(node);
  const name = callee.prototype.name;
  const owner =
    callee.parent.kind === ElementKind.File
      ? ""
      : callee.parent.kind === ElementKind.Class
        ? (callee.parent as as.Class).prototype.name
        : callee.parent.name;
  const member =
    receiver !== null && libraryOwner(nonNullable(receiver.type)) !== null
      ? memberOf(receiver, name, span)
      : libraryMember(owner, name);
  if (member === null) throw unknownMember(owner, name, span);
  const args = node.args.map((argument) => lowering.expression(argument));
  return {
    kind: "library",
    member,
    receiver,
    name: receiver === null ? textOf(calleeNode) : name,
    typeArguments: (callee.typeArguments ?? []).map((type) => lowering.declarations.type(type, span)),
    arguments: args,
    calls: receiver === null ? [] : hiddenCalls(lowering, member, receiver, args.length, span),
    type: lowering.typeOf(node),
    span,
  };
}
