/** One rule for each statement. Those that choose or repeat are in `control-flow.ts`. */
import { type as, CommonFlags, NodeKind } from "../../parse/assemblyscript.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import { withoutParentheses } from "../../parse/children.ts";
import { STRING, type Expression, type Statement } from "../ir.ts";
import { spanOf } from "../nodes.ts";
import { Refusal } from "../refusal.ts";
import type { BodyLowering } from "./lower-body.ts";
import { lowerDo, lowerFor, lowerIf, lowerSwitch, lowerWhile } from "./control-flow.ts";

export function lowerStatement(lowering: BodyLowering, node: as.Statement): Statement[] {
  const span = spanOf(node);
  const { expansion } = lowering.factsOf(node);
  if (expansion !== undefined) return lowerStatement(lowering, expansion);
  switch (node.kind) {
    case NodeKind.Block:
      return [{ kind: "block", body: lowering.branch(node), span }];
    case NodeKind.Expression:
      return [lowerExpressionStatement(lowering, (node as as.ExpressionStatement).expression, span)];
    case NodeKind.Void:
      return [{ kind: "expression", expression: lowering.expression((node as as.VoidStatement).expression), span }];
    case NodeKind.Variable:
      return (node as as.VariableStatement).declarations.map((declaration) => lowerVariable(lowering, declaration));
    case NodeKind.If:
      return lowerIf(lowering, node as as.IfStatement);
    case NodeKind.While:
      return lowerWhile(lowering, node as as.WhileStatement);
    case NodeKind.Do:
      return lowerDo(lowering, node as as.DoStatement);
    case NodeKind.For:
      return lowerFor(lowering, node as as.ForStatement);
    case NodeKind.Switch:
      return lowerSwitch(lowering, node as as.SwitchStatement);
    case NodeKind.Return:
      return lowerReturn(lowering, node as as.ReturnStatement);
    case NodeKind.Throw:
      return lowerThrow(lowering, withoutParentheses((node as as.ThrowStatement).value), span);
    case NodeKind.Break:
      return [{ kind: "break", span }];
    case NodeKind.Continue:
      return [{ kind: "continue", span }];
    case NodeKind.Empty:
    case NodeKind.TypeDeclaration:
      return [];
    default:
      throw new Refusal("not_sliced_syntax", {
        message: "The analyzer can't follow this statement yet.",
        primary: span,
      });
  }
}

function lowerReturn(lowering: BodyLowering, node: as.ReturnStatement): Statement[] {
  const span = spanOf(node);
  const { value } = node;
  if (value !== null && lowering.source?.is(CommonFlags.Constructor) === true) {
    if (withoutParentheses(value).kind === NodeKind.This)
      return [{ kind: "return", value: lowering.thisValue(span), span }];
    throw new Refusal("not_sliced_syntax", {
      message: "The analyzer can't follow a constructor that returns another object.",
      primary: span,
      help: "Return `this`, or use a static method that returns the object.",
    });
  }
  return [{ kind: "return", value: value === null ? null : lowering.expression(value), span }];
}

/** A function declared among statements is a constant of its name. */
function lowerExpressionStatement(lowering: BodyLowering, node: as.Expression, span: Span): Statement {
  const expression = lowering.expression(node);
  const name = node.kind === NodeKind.Function ? (node as as.FunctionExpression).declaration.name : null;
  if (name === null || name.text === "") return { kind: "expression", expression, span };
  const local = lowering.addLocal(name.text, expression.type, name);
  return { kind: "variable", local, initializer: expression, annotated: false, constant: true, span };
}

function lowerVariable(lowering: BodyLowering, node: as.VariableDeclaration): Statement {
  // The initializer does not see the variable.
  const type = lowering.factsOf(node).writtenType;
  if (type === undefined) throw new Error(`no type for variable ${node.name.text}`);
  const lowered = lowering.declarations.type(type, spanOf(node));
  const initializer = node.initializer === null ? null : lowering.expression(node.initializer, lowered);
  const local = lowering.addLocal(node.name.text, lowered, node.name, node.initializer);
  return {
    kind: "variable",
    local,
    initializer,
    annotated: node.type !== null,
    constant: node.is(CommonFlags.Const),
    span: spanOf(node),
  };
}

/**
 * AssemblyScript evaluates the first argument of `throw new Error(message)` and nothing else; see `Thrown` of the
 * compiler. A set has no use for the message. It needs the accesses before it.
 */
function lowerThrow(lowering: BodyLowering, node: as.Expression, span: Span): Statement[] {
  if (lowering.factsOf(node).type === undefined) {
    // An error of the library, of which nothing but the message was compiled.
    const message = node.kind === NodeKind.New ? (node as as.NewExpression).args[0] : undefined;
    return [{ kind: "throw", message: message === undefined ? noText(span) : lowering.expression(message), span }];
  }
  const expression = lowering.expression(node);
  if (expression.kind === "abort") return [{ kind: "expression", expression, span }];
  if (expression.type.kind === "string") return [{ kind: "throw", message: expression, span }];
  return [
    { kind: "expression", expression, span },
    { kind: "throw", message: noText(span), span },
  ];
}

function noText(span: Span): Expression {
  return { kind: "constant", text: '""', type: STRING, span };
}
