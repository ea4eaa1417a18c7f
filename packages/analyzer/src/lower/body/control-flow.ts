/** Statements and expressions that choose or repeat. */
import { type as, OperatorKind } from "../../parse/assemblyscript.ts";
import { spanOfRange } from "../../parse/span.ts";
import { BOOL, type Expression, type Local, type Statement, type Type } from "../ir.ts";
import { spanOf } from "../nodes.ts";
import type { BodyLowering } from "./lower-body.ts";
import { comparison } from "./overloads.ts";
import { isQuiet } from "./quiet.ts";

export function lowerIf(lowering: BodyLowering, node: as.IfStatement): Statement[] {
  const condition = lowering.expression(node.condition);
  const consequent = lowering.branch(node.ifTrue);
  const alternative = lowering.branch(node.ifFalse);
  return [{ kind: "if", condition, consequent, alternative, span: spanOf(node) }];
}

export function lowerWhile(lowering: BodyLowering, node: as.WhileStatement): Statement[] {
  const condition = lowering.expression(node.condition);
  const body = lowering.branch(node.body);
  return [{ kind: "loop", form: "while", initial: [], condition, update: null, body, span: spanOf(node) }];
}

export function lowerDo(lowering: BodyLowering, node: as.DoStatement): Statement[] {
  const span = spanOf(node);
  // Not compiled if the body never reaches it.
  const condition: Expression = lowering.wasCompiled(node.condition)
    ? lowering.expression(node.condition)
    : { kind: "constant", text: "false", type: BOOL, span };
  const body = lowering.branch(node.body);
  return [{ kind: "loop", form: "do", initial: [], condition, update: null, body, span }];
}

export function lowerFor(lowering: BodyLowering, node: as.ForStatement): Statement[] {
  const { initializer, condition, incrementor } = node;
  return lowering.scoped(() => [
    {
      kind: "loop",
      form: "for",
      initial: initializer === null ? [] : lowering.statements([initializer]),
      condition: condition === null ? null : lowering.expression(condition),
      update: incrementor === null || !lowering.wasCompiled(incrementor) ? null : lowering.expression(incrementor),
      body: lowering.branch(node.body),
      span: spanOf(node),
    },
  ]);
}

/**
 * Labels are evaluated in order until one is equal. If that is more than comparing quiet values, the number of the
 * case is computed first, as `value == f() ? 0 : value == g() ? 1 : -1`.
 */
export function lowerSwitch(lowering: BodyLowering, { condition, cases, range }: as.SwitchStatement): Statement[] {
  const span = spanOfRange(range);
  const discriminant = lowering.expression(condition);
  const labels = cases.map((choice) => (choice.label === null ? null : lowering.expression(choice.label)));
  const bodies = cases.map((choice) =>
    // AssemblyScript gives each case its own scope.
    lowering.scoped(() => lowering.scoped(() => lowering.statements(choice.statements))),
  );
  const compares = labels.some(
    (label) => label !== null && comparison(lowering, discriminant, label, OperatorKind.Eq) !== null,
  );
  if (!compares && labels.every((label) => label === null || isQuiet(label))) {
    const choices = labels.map((label, index) => ({ label, body: bodies[index]! }));
    return [{ kind: "switch", discriminant, cases: choices, span }];
  }
  const local: Local = { name: "switched", type: discriminant.type, span: discriminant.span };
  const value: Expression = { kind: "local", local, type: local.type, span: local.span };
  const integer: Type = { kind: "number", name: "i32" };
  const number = (index: number): Expression => ({ kind: "constant", text: String(index), type: integer, span });
  let chosen = number(-1);
  for (const [index, label] of [...labels.entries()].toReversed()) {
    if (label === null) continue;
    const equal: Expression = comparison(lowering, value, label, OperatorKind.Eq) ?? {
      kind: "operation",
      operator: "==",
      operands: [value, label],
      type: BOOL,
      span: label.span,
    };
    chosen = {
      kind: "conditional",
      condition: equal,
      consequent: number(index),
      alternative: chosen,
      type: integer,
      span: label.span,
    };
  }
  const choices = labels.map((label, index) => ({
    label: label === null ? null : number(index),
    body: bodies[index]!,
  }));
  const body: Statement[] = [
    { kind: "variable", local, initializer: discriminant, annotated: true, constant: true, span: local.span },
    { kind: "switch", discriminant: chosen, cases: choices, span },
  ];
  return [{ kind: "block", body, span }];
}

export function lowerConditional(lowering: BodyLowering, node: as.TernaryExpression): Expression {
  const span = spanOf(node);
  const condition = lowering.expression(node.condition);
  const consequentLives = lowering.wasCompiled(node.ifThen);
  const alternativeLives = lowering.wasCompiled(node.ifElse);
  if (consequentLives !== alternativeLives) {
    const chosen = lowering.expression(consequentLives ? node.ifThen : node.ifElse);
    // The compiler knows the value of the condition. Its effects happen all the same.
    return isQuiet(condition) ? chosen : { kind: "sequence", operands: [condition, chosen], type: chosen.type, span };
  }
  return {
    kind: "conditional",
    condition,
    consequent: lowering.expression(node.ifThen),
    alternative: lowering.expression(node.ifElse),
    type: lowering.typeOf(node),
    span,
  };
}
