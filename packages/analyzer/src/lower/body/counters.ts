/** Calls of counters that are more than one access. */
import type { Span } from "../../diagnostics/diagnostic.ts";
import { BOOL, COUNTED, tableClassOf, VOID, type Access, type Expression } from "../ir.ts";
import { typed } from "./conversions.ts";
import type { BodyLowering } from "./lower-body.ts";
import { isQuiet } from "./quiet.ts";

/** The accesses of the methods of a counter, in their order, that no other table has. */
export const COUNTER_ACCESSES: ReadonlyMap<string, readonly Access["operation"][]> = new Map([
  ["add", ["get", "put"] as const],
  ["atLeast", ["get"] as const],
]);

/** The accesses that a method makes and its operation on the number; null: it is one access, or the table is not a counter. */
export function lowerCounterCall(
  lowering: BodyLowering,
  name: string,
  counter: Expression,
  [key, number]: readonly Expression[],
  span: Span,
): Expression | null {
  if (counter.type.kind !== "table" || tableClassOf(counter.type) !== "Counter") return null;
  if (key === undefined || number === undefined || !COUNTER_ACCESSES.has(name)) return null;
  const n = typed(number, COUNTED);
  const accesses = name === "add" ? adding : comparing;
  // An access and the operation want the counter and the key twice.
  if (isName(counter) && isName(key) && isQuiet(n)) return accesses(counter, key, n, span);
  const type = name === "add" ? VOID : BOOL;
  return lowering.made(name, [counter, key, n], type, span, ([table, of, given]) => {
    const made = accesses(table!, of!, given!, span);
    return [name === "add" ? { kind: "expression", expression: made, span } : { kind: "return", value: made, span }];
  });
}

function adding(table: Expression, key: Expression, n: Expression, span: Span): Expression {
  // variant: counter-sum
  const value: Expression = {
    kind: "operation",
    operator: "+",
    operands: [got({ ...table }, { ...key }, span), n],
    type: COUNTED,
    span,
  };
  return { kind: "access", operation: "put", table, key, value, type: VOID, span };
}

function comparing(table: Expression, key: Expression, least: Expression, span: Span): Expression {
  // variant: counter-compared
  return { kind: "operation", operator: ">=", operands: [got(table, key, span), least], type: BOOL, span };
}

function got(table: Expression, key: Expression, span: Span): Expression {
  return { kind: "access", operation: "get", table, key, value: null, type: COUNTED, span };
}

function isName(expression: Expression): boolean {
  return (
    expression.kind === "local" ||
    expression.kind === "constant" ||
    (expression.kind === "global" && !expression.global.mutable)
  );
}
