/** `Record<string, T>`: to the IR it is a map, and what is special about it is said with the members of maps. */
import type { as } from "../../parse/assemblyscript.ts";
import { withoutParentheses } from "../../parse/children.ts";
import { entriesOf } from "../../parse/map-entries.ts";
import { BOOL, STRING, type Expression, type Type } from "../ir.ts";
import { libraryMember } from "../library.ts";
import { spanOf } from "../nodes.ts";
import type { BodyLowering } from "./lower-body.ts";
import { typed } from "./conversions.ts";
import { libraryCall, memberOf } from "./library-members.ts";

/** Whether the access is one to an entry. */
export function isEntry(lowering: BodyLowering, { expression }: as.ElementAccessExpression): boolean {
  const { type } = lowering.factsOf(withoutParentheses(expression));
  return type !== undefined && entriesOf(type) !== null;
}

/** `map[key]`, which is null for a key that is absent. */
export function lowerEntry(lowering: BodyLowering, node: as.ElementAccessExpression): Expression {
  const span = spanOf(node);
  const container = lowering.expression(node.expression);
  const index = lowering.expression(node.elementExpression);
  const type = lowering.typeOf(node);
  const value = type.kind === "nullable" ? type.inner : type;
  const has = memberOf(container, "has", span);
  const get = memberOf(container, "get", span);
  return lowering.made("entry", [container, index], type, span, ([map, key]) => [
    {
      kind: "return",
      value: {
        kind: "conditional",
        condition: libraryCall(has, map!, [key!], BOOL, span),
        consequent: libraryCall(get, map!, [key!], value, span),
        alternative: { kind: "constant", text: "null", type, span },
        type,
        span,
      },
      span,
    },
  ]);
}

/** `{ a: 1 }`. */
export function lowerEntries(lowering: BodyLowering, node: as.ObjectLiteralExpression, type: Type): Expression {
  const span = spanOf(node);
  if (type.kind !== "library") throw new Error("a map is a container of the library");
  const value = type.arguments[1]!;
  let map: Expression = {
    kind: "library",
    member: libraryMember("Map", "new")!,
    receiver: null,
    name: type.name,
    typeArguments: type.arguments,
    arguments: [],
    calls: [],
    type,
    span,
  };
  const set = libraryMember("Map", "set")!;
  node.names.forEach((name, index) => {
    const at = spanOf(name);
    const key: Expression = { kind: "constant", text: JSON.stringify(name.text), type: STRING, span: at };
    const given = typed(lowering.expression(node.values[index]!, value), value);
    map = libraryCall(set, map, [key, given], type, at);
  });
  return map;
}
