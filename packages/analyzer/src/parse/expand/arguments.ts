/**
 * `f(...values)`, where the values are for a rest parameter, and `Math.max(...values)`. The compiler gives a rest parameter its
 * arguments as an array literal, in which they may be spread.
 */
import { as, CommonFlags, ElementKind, ParameterKind, ReportMode, Token } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { BlockExpression } from "../forms-nodes.ts";
import type { Expansion } from "./expander.ts";
import { access, again, assigned, declared, hasSpread, hidden, identifier, run, spreadIn, variable } from "./syntax.ts";
import { written } from "../written.ts";

/** The literals of the arguments of calls for rest parameters: one for each call, however often it is compiled. */
const LITERALS = new WeakMap<readonly as.Expression[], as.ArrayLiteralExpression>();

/** The arguments from an index on as an array literal; null: none of them is spread. */
export function restLiteral(args: readonly as.Expression[], from: number): as.ArrayLiteralExpression | null {
  const rest = args.slice(from);
  if (!hasSpread(rest)) return null;
  let literal = LITERALS.get(args);
  if (literal === undefined) {
    const [first] = rest as [as.Expression, ...as.Expression[]];
    const range = new as.Range(first.range.start, rest.at(-1)?.range.end ?? first.range.end);
    range.source = first.range.source;
    LITERALS.set(args, (literal = as.Node.createArrayLiteralExpression(rest, range)));
  }
  return literal;
}

/** Whether a call spreads arguments, or is one of `Math.max` and `Math.min` with other than two. */
export function mayPack(node: as.CallExpression): boolean {
  const { args, range } = node;
  if (range.source.isLibrary) return false;
  return hasSpread(args) || (args.length !== 2 && args.length > 0 && extremeOf(node) !== null);
}

/** Null: the compiler can compile the call. */
export function expandArguments(expansion: Expansion, node: as.CallExpression): as.Expression | null {
  if (!mayPack(node)) return null;
  const extreme = extremeOf(node);
  if (extreme !== null && expansion.flow.lookupLocal("Math") === null) return expandExtreme(node, extreme);
  const spread = node.args.findIndex((argument) => spreadIn(argument) !== null);
  const rest = restOf(expansion, withoutParentheses(node.expression));
  return spread < 0 || (rest !== null && spread >= rest)
    ? null
    : expansion.tell("spread_argument", node.args[spread]!.range);
}

/** The index of the rest parameter of a callee; null: it has none. */
function restOf({ typing, flow }: Expansion, callee: as.Expression): number | null {
  const { diagnostics, resolver } = typing.program;
  const told = diagnostics.length;
  const element = resolver.lookupExpression(callee, flow, as.Type.auto, ReportMode.Swallow);
  diagnostics.length = told;
  if (element?.kind === ElementKind.FunctionPrototype) {
    const { parameters } = (element as as.FunctionPrototype).functionTypeNode;
    const index = parameters.findIndex(({ parameterKind }) => parameterKind === ParameterKind.Rest);
    return index < 0 ? null : index;
  }
  const signature = typing.of(callee, flow)?.getSignature() ?? null;
  return signature?.hasRest === true ? signature.parameterTypes.length - 1 : null;
}

// ── Math.max ─────────────────────────────────────────────────────────────────────────────────────────────────────────

type Extreme = "max" | "min";

/** Whether a callee is `Math.max` or `Math.min`. */
function extremeOf({ expression }: as.CallExpression): Extreme | null {
  const callee = withoutParentheses(expression);
  if (!(callee instanceof as.PropertyAccessExpression)) return null;
  const { expression: owner, property } = callee;
  if (!(owner instanceof as.IdentifierExpression) || owner.text !== "Math") return null;
  return property.text === "max" || property.text === "min" ? property.text : null;
}

/** Undefined: the call is another. */
export function typeOfExtreme(node: as.CallExpression): as.Type | undefined {
  return mayPack(node) && extremeOf(node) !== null ? as.Type.f64 : undefined;
}

/** The compiler's library has it for two numbers. */
function expandExtreme(node: as.CallExpression, extreme: Extreme): as.Expression {
  const { args, range } = node;
  const { property } = withoutParentheses(node.expression) as as.PropertyAccessExpression;
  const of = (left: as.Expression, right: as.Expression): as.Expression =>
    as.Node.createCallExpression(
      access(identifier("Math", property.range), extreme, property.range),
      null,
      [left, right],
      range,
    );
  // The greatest number of none.
  const start = written(identifier("Infinity", property.range), "Infinity");
  const none = extreme === "min" ? start : as.Node.createUnaryPrefixExpression(Token.Minus, start, property.range);
  if (!hasSpread(args)) return args.length === 1 ? of(none, args[0]!) : args.reduce(of);
  const result = hidden("result", property.range.start, property.range);
  const take = (value: as.Expression): as.Statement =>
    run(assigned(again(result), of(again(result), value), value.range));
  const taken = args.map((argument) => {
    const spread = spreadIn(argument);
    if (spread === null) return take(argument);
    const each = hidden("each", argument.range.start, argument.range);
    const variableOfRound = declared(each, null, CommonFlags.Const, null);
    return as.Node.createForOfStatement(variableOfRound, spread, take(again(each)), argument.range);
  });
  return new BlockExpression([variable(result, none, as.Type.f64), ...taken], again(result), range);
}
