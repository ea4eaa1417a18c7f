/** Functions as wholes: parameters, initializers of fields, and the body. */
import { type as, CommonFlags, ElementKind, NodeKind } from "../../parse/assemblyscript.ts";
import { VOID, type Expression, type FunctionDeclaration, type Parameter, type Statement } from "../ir.ts";
import { isApplication, sourcePath, spanOf } from "../nodes.ts";
import type { BodyLowering } from "./lower-body.ts";
import { lowerDefault } from "./arguments.ts";

export function lowerFunction(lowering: BodyLowering, source: as.Function, declaration: FunctionDeclaration): void {
  const { prototype, signature } = source;
  const nodes = prototype.functionTypeNode.parameters;
  const parameters: Parameter[] = [];
  for (const [index, type] of signature.parameterTypes.entries()) {
    const node = nodes[index];
    // A function expression may take fewer parameters than its context gives.
    if (node === undefined) break;
    const local = lowering.addLocal(node.name.text, lowering.declarations.type(type, spanOf(node)), node);
    // One that every call passes is never compiled, nor evaluated. (Handlers are called by clients.)
    const isEvaluated =
      source.is(CommonFlags.Export) || node.initializer === null || lowering.isKnown(node.initializer);
    const defaultValue = isEvaluated
      ? lowerDefault(lowering, source, node, local.type, lowering.outermost, lowering.self)
      : null;
    parameters.push({ local, defaultValue });
  }
  declaration.parameters = parameters;
  if (declaration.kind === "constructor") lowerConstructorParts(lowering, source, declaration);
  const body = prototype.bodyNode;
  if (body === null || declaration.implicit) return;
  if (body.kind === NodeKind.Block) {
    declaration.body = lowering.statements((body as as.BlockStatement).statements);
  } else {
    const expression = (body as as.ExpressionStatement).expression;
    const value = lowering.expression(expression, declaration.result);
    declaration.body = [
      declaration.result.kind === "void"
        ? { kind: "expression", expression: value, span: value.span }
        : { kind: "return", value, span: value.span },
    ];
  }
}

/** Field initializers run first; a constructor that is not spelled out passes its parameters on. */
function lowerConstructorParts(lowering: BodyLowering, source: as.Function, declaration: FunctionDeclaration): void {
  const owner = declaration.owner;
  const self = declaration.self;
  if (owner === null || self === null) throw new Error("a constructor has a class");
  const instance = source.getBoundClassOrInterface();
  const initializers: Statement[] = [];
  const initialize = (name: string, value: Expression): void => {
    const field = owner.fields.find((candidate) => candidate.name === name);
    if (field === undefined) return;
    const object: Expression = { kind: "local", local: self, type: self.type, span: value.span };
    initializers.push({
      kind: "expression",
      expression: {
        kind: "assignment",
        target: { kind: "field", object, field },
        operator: "",
        prefix: false,
        value,
        type: VOID,
        span: value.span,
      },
      span: value.span,
    });
  };
  for (const member of instance?.prototype.instanceMembers?.values() ?? []) {
    if (member.kind !== ElementKind.PropertyPrototype) continue;
    const index = (member as as.PropertyPrototype).parameterIndex;
    const parameter = index < 0 ? undefined : declaration.parameters[index];
    if (parameter !== undefined)
      initialize(member.name, {
        kind: "local",
        local: parameter.local,
        type: parameter.local.type,
        span: parameter.local.span,
      });
  }
  for (const field of owner.fields) if (field.initializer !== null) initialize(field.name, field.initializer);
  declaration.initializers = initializers;
  const base = instance?.base?.constructorInstance ?? null;
  if (declaration.implicit && owner.base !== null && base !== null && isApplication(sourcePath(instance!.base!))) {
    const call: Expression = {
      kind: "call",
      callees: [lowering.declarations.function(base)],
      receiver: { kind: "local", local: self, type: self.type, span: declaration.span },
      arguments: declaration.parameters.map(({ local }) => ({
        kind: "local",
        local,
        type: local.type,
        span: local.span,
      })),
      isSuper: true,
      type: VOID,
      span: declaration.span,
    };
    declaration.body = [{ kind: "expression", expression: call, span: declaration.span }];
  }
}
