/**
 * Elements and entries that may be missing: `list[i]`, `list.at(i)`, `text[i]`, `map.get(key)`, `list.pop()`. Where one is missing,
 * TypeScript gives nothing. AssemblyScript ends the run, or gives another value. So `??` and `?.` behind one ask first.
 */
import { as, Token } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import type { Expansion } from "./expander.ts";
import { access, again, binary, call, constant, counting, element, hidden, integer } from "./syntax.ts";
import { isNullable } from "./typing.ts";

export interface Missing {
  /** The type of the values that are there. */
  readonly type: as.Type;
  readonly kind: "element" | "entry";
  /** The question and the value; `at` is a place that no other such expression has. */
  ask(at: number, range: as.Range): Asked;
}

export interface Asked {
  readonly statements: as.Statement[];
  readonly isKnown: as.Expression;
  readonly found: as.Expression;
}

const ARRAYS = /^(Static|(Int|Uint|Float)\d+(Clamped)?)?Array$/;
const READING: ReadonlySet<string> = new Set(["get", "at", "codePointAt"]);
const TAKING: ReadonlySet<string> = new Set(["pop", "shift"]);

/** Null: the expression always has a value, which null may be. */
export function missingIn(expansion: Expansion, node: as.Expression): Missing | null {
  const { typing, flow } = expansion;
  const inner = withoutParentheses(node);
  const owner = ownerIn(inner);
  const ownerType = owner === null ? null : typing.of(owner, flow);
  const type = ownerType === null || isNullable(ownerType) ? null : typing.of(inner, flow);
  if (owner === null || type === null || type === as.Type.void) return null;
  const name = typing.containerOf(ownerType)?.prototype.name ?? "";
  if (inner instanceof as.ElementAccessExpression)
    return name === "String" || ARRAYS.test(name)
      ? elementAt(type, owner, inner.elementExpression, (list, index) => element(list, index, node.range))
      : null;
  const { expression, args } = inner as as.CallExpression;
  const { text: method } = (withoutParentheses(expression) as as.PropertyAccessExpression).property;
  const [argument] = args;
  if (argument === undefined) return TAKING.has(method) && name === "Array" ? taken(type, owner, method, node) : null;
  if (method === "get") return name === "Map" ? entryOf(type, owner, argument, node) : null;
  const read = (list: as.Expression, index: as.Expression): as.Expression => call(list, method, [index], node.range);
  if (method === "codePointAt") return name === "String" ? elementAt(type, owner, argument, read) : null;
  const isOne = name === "String" || (ARRAYS.test(name) && !isNullable(type));
  return isOne ? elementAt(type, owner, argument, read, true) : null;
}

/** The list or map that an expression takes something of, as far as its words show it. */
function ownerIn(node: as.Expression): as.Expression | null {
  if (node instanceof as.ElementAccessExpression) return node.expression;
  if (!(node instanceof as.CallExpression)) return null;
  const callee = withoutParentheses(node.expression);
  if (!(callee instanceof as.PropertyAccessExpression)) return null;
  const { text } = callee.property;
  const wanted = READING.has(text) ? 1 : TAKING.has(text) ? 0 : -1;
  return node.args.length === wanted ? callee.expression : null;
}

/** `isAt`: an index below zero counts from the end. */
function elementAt(
  type: as.Type,
  owner: as.Expression,
  position: as.Expression,
  read: (list: as.Expression, index: as.Expression) => as.Expression,
  isAt = false,
): Missing {
  return {
    type,
    kind: "element",
    ask: (at, range) => {
      const list = hidden("list", at, owner.range);
      const index = hidden("index", at, position.range);
      const length = (): as.Expression => access(again(list), "length", range);
      const first = isAt ? counting(binary(Token.Plus, again(index), length(), range)) : again(index);
      return {
        statements: [constant(list, owner), constant(index, position, as.Type.i32)],
        isKnown: binary(
          Token.Ampersand_Ampersand,
          counting(binary(Token.GreaterThan_Equals, first, integer(0, range), range)),
          counting(binary(Token.LessThan, again(index), length(), range)),
          range,
        ),
        found: read(again(list), again(index)),
      };
    },
  };
}

function entryOf(type: as.Type, owner: as.Expression, argument: as.Expression, { range: where }: as.Node): Missing {
  return {
    type,
    kind: "entry",
    ask: (at, range) => {
      const map = hidden("map", at, owner.range);
      const key = hidden("key", at, argument.range);
      return {
        statements: [constant(map, owner), constant(key, argument)],
        isKnown: call(again(map), "has", [again(key)], range),
        found: call(again(map), "get", [again(key)], where),
      };
    },
  };
}

function taken(type: as.Type, owner: as.Expression, method: string, { range: where }: as.Node): Missing {
  return {
    type,
    kind: "element",
    ask: (at, range) => {
      const list = hidden("list", at, owner.range);
      const length = access(again(list), "length", range);
      return {
        statements: [constant(list, owner)],
        isKnown: counting(binary(Token.GreaterThan, length, integer(0, range), range)),
        found: call(again(list), method, [], where),
      };
    },
  };
}
