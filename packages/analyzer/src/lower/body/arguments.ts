/** Arguments of calls: rest parameters and default values. */
import { type as, ParameterKind } from "../../parse/assemblyscript.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import { withoutParentheses } from "../../parse/children.ts";
import { restLiteral } from "../../parse/expand/arguments.ts";
import { walkExpression, type Expression, type Local, type Statement, type Type } from "../ir.ts";
import { spanOf } from "../nodes.ts";
import { Refusal } from "../refusal.ts";
import { lowerInitial } from "./forms.ts";
import type { BodyLowering } from "./lower-body.ts";
import { elementType } from "./library-members.ts";

/** The arguments as written, those of a rest parameter as one array. */
export function packedArguments(
  lowering: BodyLowering,
  signature: as.Signature,
  nodes: readonly as.Expression[],
): Expression[] {
  const count = signature.parameterTypes.length;
  const restType = signature.parameterTypes.at(-1);
  if (!signature.hasRest || nodes.length < count || restType === undefined)
    return nodes.map((node) => lowering.expression(node));
  const before = nodes.slice(0, count - 1).map((node) => lowering.expression(node));
  const rest = nodes.slice(count - 1);
  const span = spanOf(rest[0]!);
  const type = lowering.declarations.type(restType, span);
  const literal = restLiteral(nodes, count - 1);
  if (literal !== null) return [...before, lowering.expression(literal, type)];
  const element = elementType(type) ?? undefined;
  const elements = rest.map((node) => lowering.expression(node, element));
  return [...before, { kind: "array", elements, type, span }];
}

/** The value of a parameter that a call leaves out. It sees the parameters before it, and `this`. */
export function lowerDefault(
  lowering: BodyLowering,
  callee: as.Function,
  node: as.ParameterNode,
  type: Type,
  scope: ReadonlyMap<string, Local>,
  self: Local | null,
): Expression | null {
  if (node.parameterKind === ParameterKind.Rest) return { kind: "array", elements: [], type, span: spanOf(node) };
  if (node.initializer === null) return null;
  // The compiler compiles it for each instance of the function: in a function that fills in what a call leaves out, or inlined.
  const { facts } = lowering.declarations;
  const value = withoutParentheses(node.initializer);
  const instances = [callee.varargsStub, callee].filter((instance) => instance !== null);
  const source = instances.find((instance) => facts.wasCompiled(instance, value)) ?? null;
  return lowerInitial(lowering.initializer(source, self, scope), node.initializer, type);
}

/** All arguments of a call whose defaults hang on nothing but the module. */
export function allArguments(
  lowering: BodyLowering,
  callee: as.Function,
  nodes: readonly as.Expression[],
  span: Span,
): Expression[] {
  const given = packedArguments(lowering, callee.signature, nodes);
  const { defaults, inputs } = omittedArguments(lowering, callee, given.length, null);
  const own = new Set(inputs);
  for (const { value } of defaults) {
    walkExpression(value, (expression) => {
      if (expression.kind === "local" && own.has(expression.local))
        throw new Refusal("not_sliced_syntax", {
          message:
            "The analyzer can't follow this call of the base constructor, because a default value depends on another argument.",
          primary: span,
          related: [{ span: value.span, label: "the default value" }],
          help: "Pass all arguments.",
        });
    });
  }
  return [...given, ...defaults.map(({ value }) => value)];
}

/** The parameters that a call leaves out, with their defaults over variables for those before them. */
function omittedArguments(
  lowering: BodyLowering,
  callee: as.Function,
  given: number,
  self: Local | null,
): { readonly inputs: Local[]; readonly defaults: { readonly local: Local; readonly value: Expression }[] } {
  const nodes = callee.prototype.functionTypeNode.parameters;
  const scope = new Map<string, Local>();
  const inputs: Local[] = [];
  const defaults: { local: Local; value: Expression }[] = [];
  for (const [index, source] of callee.signature.parameterTypes.entries()) {
    const node = nodes[index];
    if (node === undefined) throw new Error(`argument ${index} of ${callee.internalName} is missing`);
    const local: Local = {
      name: node.name.text,
      type: lowering.declarations.type(source, spanOf(node)),
      span: spanOf(node),
    };
    if (index >= given) {
      const value = lowerDefault(lowering, callee, node, local.type, scope, self);
      if (value === null) throw new Error(`argument ${index} of ${callee.internalName} is missing`);
      defaults.push({ local, value });
    }
    inputs.push(local);
    scope.set(local.name, local);
  }
  return { inputs, defaults };
}

/**
 * A call with the defaults of the arguments that are left out. If they hang on other arguments or the receiver, a
 * function is made that has these as parameters.
 */
export function withArguments(
  lowering: BodyLowering,
  callee: as.Function,
  receiver: Expression | null,
  nodes: readonly as.Expression[],
  span: Span,
  call: (receiver: Expression | null, args: readonly Expression[]) => Expression,
): Expression {
  const given = packedArguments(lowering, callee.signature, nodes);
  if (given.length >= callee.signature.parameterTypes.length) return call(receiver, given);
  const self: Local | null = receiver === null ? null : { name: "self", type: receiver.type, span: receiver.span };
  const { inputs, defaults } = omittedArguments(lowering, callee, given.length, self);
  const own = new Set<Local>(self === null ? inputs : [self, ...inputs]);
  const hangs = (value: Expression): boolean => {
    let found = false;
    walkExpression(value, (part) => (found ||= part.kind === "local" && own.has(part.local)));
    return found;
  };
  if (!defaults.some(({ value }) => hangs(value)))
    return call(receiver, [...given, ...defaults.map(({ value }) => value)]);
  const read = (local: Local): Expression => ({ kind: "local", local, type: local.type, span: local.span });
  const parameters = [...(self === null ? [] : [self]), ...inputs.slice(0, given.length)];
  const expression = call(self === null ? null : read(self), inputs.map(read));
  const body: Statement[] = [
    ...defaults.map(({ local, value }): Statement => {
      const annotated = true;
      return { kind: "variable", local, initializer: value, annotated, constant: true, span: value.span };
    }),
    expression.type.kind === "void"
      ? { kind: "expression", expression, span }
      : { kind: "return", value: expression, span },
  ];
  const name = `${callee.prototype.name.replace(/[^A-Za-z0-9_$]+/g, "_")}_with_defaults`;
  const made = lowering.declarations.synthetic(name, parameters, expression.type, body, span);
  return {
    kind: "call",
    callees: [made],
    receiver: null,
    arguments: [...(receiver === null ? [] : [receiver]), ...given],
    isSuper: false,
    type: expression.type,
    span,
  };
}
