/**
 * Function bodies: one rule per syntax node of AssemblyScript, and a refusal for every other. Code that the compiler
 * never compiled (behind a `return`, in a static branch of a generic function) is dead and left out.
 */
import {
  type as,
  AssertionKind,
  CommonFlags,
  ElementKind,
  LiteralKind,
  NodeKind,
  OperatorKind,
  ParameterKind,
  Token,
} from "../parse/assemblyscript.ts";
import type { Span } from "../diagnostics/diagnostic.ts";
import { SDK_LIBRARY } from "../parse/compile.ts";
import { textOf } from "../parse/span.ts";
import { withoutParentheses, type Facts, type NodeFacts } from "../parse/facts.ts";
import {
  BOOL,
  nonNullable,
  operands,
  STRING,
  VOID,
  type AssignmentTarget,
  type DrawSite,
  type Expression,
  type FieldDeclaration,
  type FunctionDeclaration,
  type Global,
  type Local,
  type Parameter,
  type Statement,
  type Type,
} from "./ir.ts";
import { libraryMember, type LibraryMember } from "./library.ts";
import { isApplication, sourcePath, spanOf } from "./nodes.ts";
import { Refusal } from "./refusal.ts";

/** What a body refers to: each declaration is lowered once per program. */
export interface Declarations {
  readonly facts: Facts;
  readonly program: as.Program;
  function(source: as.Function): FunctionDeclaration;
  /** The functions that a call of this instance may reach: itself and its overrides. */
  callees(source: as.Function): FunctionDeclaration[];
  field(property: as.Property, span: Span): FieldDeclaration;
  global(source: as.Global, span: Span): Global;
  enumValue(source: as.EnumValue): Global;
  /** The site of a call of `random` or `uuid`: one for each place, also in several instances of a generic function. */
  drawSite(span: Span): DrawSite;
  type(source: as.Type, span: Span): Type;
}

/** Fills in parameters, initializers and body of a declared function. */
export function lowerBody(lowering: Declarations, source: as.Function, declaration: FunctionDeclaration): void {
  new FunctionLowering(lowering, source, declaration.self).function(source, declaration);
}

/** An expression outside of function bodies; it sees no variables. `owner` is the function whose facts it has, if one. */
export function lowerInitializer(
  lowering: Declarations,
  node: as.Expression,
  owner: as.Function | null,
  expected: Type,
): Expression {
  return new FunctionLowering(lowering, owner, null, true).expression(node, expected);
}

class FunctionLowering {
  private readonly lowering: Declarations;
  private readonly source: as.Function | null;
  private readonly self: Local | null;
  private readonly isInitializer: boolean;
  private readonly scopes: Map<string, Local>[] = [new Map<string, Local>()];

  constructor(lowering: Declarations, source: as.Function | null, self: Local | null, isInitializer = false) {
    this.lowering = lowering;
    this.source = source;
    this.self = self;
    this.isInitializer = isInitializer;
  }

  function(source: as.Function, declaration: FunctionDeclaration): void {
    const { prototype, signature } = source;
    const nodes = prototype.functionTypeNode.parameters;
    const parameters: Parameter[] = [];
    for (const [index, type] of signature.parameterTypes.entries()) {
      const node = nodes[index];
      // A function expression may take fewer parameters than its context gives.
      if (node === undefined) break;
      if (node.parameterKind === ParameterKind.Rest) {
        throw new Refusal("not_sliced_syntax", {
          message: "Rest parameters can't be followed yet.",
          primary: spanOf(node),
          help: "Take an array.",
        });
      }
      const local = this.addLocal(node.name.text, this.lowering.type(type, spanOf(node)), node);
      parameters.push({
        local,
        defaultValue:
          node.initializer === null ? null : lowerInitializer(this.lowering, node.initializer, null, local.type),
      });
    }
    declaration.parameters = parameters;
    if (declaration.kind === "constructor") this.constructorParts(source, declaration);
    const body = prototype.bodyNode;
    if (body === null || declaration.implicit) return;
    if (body.kind === NodeKind.Block) {
      declaration.body = this.statements((body as as.BlockStatement).statements);
    } else {
      const expression = (body as as.ExpressionStatement).expression;
      const value = this.expression(expression, declaration.result);
      declaration.body = [
        declaration.result.kind === "void"
          ? { kind: "expression", expression: value, span: value.span }
          : { kind: "return", value, span: value.span },
      ];
    }
  }

  /** Field initializers run first; a constructor that is not spelled out passes its parameters on. */
  private constructorParts(source: as.Function, declaration: FunctionDeclaration): void {
    const owner = declaration.owner;
    const self = declaration.self;
    if (owner === null || self === null) throw new Error("a constructor has a class");
    const instance = source.getBoundClassOrInterface();
    const initializers: Statement[] = [];
    const assign = (name: string, value: Expression): void => {
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
        assign(member.name, {
          kind: "local",
          local: parameter.local,
          type: parameter.local.type,
          span: parameter.local.span,
        });
    }
    for (const field of owner.fields) if (field.initializer !== null) assign(field.name, field.initializer);
    declaration.initializers = initializers;
    const base = instance?.base?.constructorInstance ?? null;
    if (declaration.implicit && owner.base !== null && base !== null && isApplication(sourcePath(instance!.base!))) {
      const call: Expression = {
        kind: "call",
        callees: [this.lowering.function(base)],
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

  // -------------------------------------------------------------------------------------------------------- statements

  private statements(nodes: readonly as.Statement[]): Statement[] {
    return nodes.filter((node) => this.isLive(node)).flatMap((node) => this.statement(node));
  }

  /** A branch or loop body: its own scope, and its statements without the braces. */
  private branch(node: as.Statement | null): Statement[] {
    if (node === null) return [];
    return this.scoped(() =>
      node.kind === NodeKind.Block ? this.statements((node as as.BlockStatement).statements) : this.statements([node]),
    );
  }

  private isLive(node: as.Statement): boolean {
    if (node.kind === NodeKind.Block) return (node as as.BlockStatement).statements.some((inner) => this.isLive(inner));
    return this.source === null || this.lowering.facts.wasCompiled(this.source, node);
  }

  private scoped<T>(action: () => T): T {
    this.scopes.push(new Map());
    const result = action();
    this.scopes.pop();
    return result;
  }

  private addLocal(name: string, type: Type, node: as.Node): Local {
    const local: Local = { name, type, span: spanOf(node) };
    this.scopes.at(-1)?.set(name, local);
    return local;
  }

  private find(name: string): Local | null {
    for (const scope of this.scopes.toReversed()) {
      const local = scope.get(name);
      if (local !== undefined) return local;
    }
    return null;
  }

  private statement(node: as.Statement): Statement[] {
    const span = spanOf(node);
    switch (node.kind) {
      case NodeKind.Block:
        return [{ kind: "block", body: this.branch(node), span }];
      case NodeKind.Expression:
        return [{ kind: "expression", expression: this.expression((node as as.ExpressionStatement).expression), span }];
      case NodeKind.Void:
        return [{ kind: "expression", expression: this.expression((node as as.VoidStatement).expression), span }];
      case NodeKind.Variable:
        return (node as as.VariableStatement).declarations.map((declaration) => this.variable(declaration));
      case NodeKind.If: {
        const { condition, ifTrue, ifFalse } = node as as.IfStatement;
        return [
          {
            kind: "if",
            condition: this.expression(condition),
            consequent: this.branch(ifTrue),
            alternative: this.branch(ifFalse),
            span,
          },
        ];
      }
      case NodeKind.While: {
        const { condition, body } = node as as.WhileStatement;
        return [
          {
            kind: "loop",
            form: "while",
            initial: [],
            condition: this.expression(condition),
            update: null,
            body: this.branch(body),
            span,
          },
        ];
      }
      case NodeKind.Do: {
        const { condition, body } = node as as.DoStatement;
        // Not compiled if the body never reaches it.
        const again: Expression = this.wasCompiled(condition)
          ? this.expression(condition)
          : { kind: "constant", text: "false", type: BOOL, span };
        return [
          { kind: "loop", form: "do", initial: [], condition: again, update: null, body: this.branch(body), span },
        ];
      }
      case NodeKind.For: {
        const { initializer, condition, incrementor, body } = node as as.ForStatement;
        return this.scoped(() => [
          {
            kind: "loop",
            form: "for",
            initial: initializer === null ? [] : this.statements([initializer]),
            condition: condition === null ? null : this.expression(condition),
            update: incrementor === null || !this.wasCompiled(incrementor) ? null : this.expression(incrementor),
            body: this.branch(body),
            span,
          },
        ]);
      }
      case NodeKind.Switch: {
        const { condition, cases } = node as as.SwitchStatement;
        const discriminant = this.expression(condition);
        return this.scoped(() => [
          {
            kind: "switch",
            discriminant,
            cases: cases.map((choice) => ({
              label: choice.label === null ? null : this.label(choice.label),
              // AssemblyScript gives each case its own scope.
              body: this.scoped(() => this.statements(choice.statements)),
            })),
            span,
          },
        ]);
      }
      case NodeKind.Return: {
        const { value } = node as as.ReturnStatement;
        if (value !== null && this.source?.is(CommonFlags.Constructor) === true) {
          throw new Refusal("not_sliced_syntax", {
            message: "A constructor that returns can't be followed yet.",
            primary: span,
            help: "Put what follows into an else branch.",
          });
        }
        return [{ kind: "return", value: value === null ? null : this.expression(value), span }];
      }
      case NodeKind.Throw:
        return [{ kind: "throw", message: this.thrown((node as as.ThrowStatement).value), span }];
      case NodeKind.Break:
        return [{ kind: "break", span }];
      case NodeKind.Continue:
        return [{ kind: "continue", span }];
      case NodeKind.Empty:
      case NodeKind.TypeDeclaration:
        return [];
      default:
        throw new Refusal("not_sliced_syntax", { message: "This statement can't be followed yet.", primary: span });
    }
  }

  private variable(node: as.VariableDeclaration): Statement {
    // The initializer does not see the variable.
    const type = this.factsOf(node).writtenType;
    if (type === undefined) throw new Error(`no type for variable ${node.name.text}`);
    const lowered = this.lowering.type(type, spanOf(node));
    const initializer = node.initializer === null ? null : this.expression(node.initializer, lowered);
    const local = this.addLocal(node.name.text, lowered, node.name);
    return {
      kind: "variable",
      local,
      initializer,
      annotated: node.type !== null,
      constant: node.is(CommonFlags.Const),
      span: spanOf(node),
    };
  }

  private label(node: as.Expression): Expression {
    const label = this.expression(node);
    if (!isQuiet(label))
      throw new Refusal("not_sliced_syntax", {
        message: "A case label with an effect can't be followed yet.",
        primary: label.span,
      });
    return label;
  }

  /** `throw new Error(message)`: AssemblyScript evaluates the first argument and nothing else. */
  private thrown(node: as.Expression): Expression {
    const message = node.kind === NodeKind.New ? (node as as.NewExpression).args[0] : undefined;
    return message === undefined
      ? { kind: "constant", text: '""', type: STRING, span: spanOf(node) }
      : this.expression(message);
  }

  // ------------------------------------------------------------------------------------------------------- expressions

  private factsOf(node: as.Node): NodeFacts {
    const { facts } = this.lowering;
    return this.source === null ? facts.getAnywhere(node) : facts.get(this.source, node);
  }

  private typeOf(node: as.Expression, expected?: Type): Type {
    const type = this.factsOf(withoutParentheses(node)).type;
    if (type !== undefined) return this.lowering.type(type, spanOf(node));
    if (expected !== undefined) return expected;
    throw new Refusal("not_sliced_syntax", {
      message: "The type of this expression is not known.",
      primary: spanOf(node),
    });
  }

  /** `expected` is the type of nodes that were not compiled on their own: literals as initial values. */
  expression(node: as.Expression, expected?: Type): Expression {
    const inner = withoutParentheses(node);
    const span = spanOf(inner);
    switch (inner.kind) {
      case NodeKind.Null:
      case NodeKind.True:
      case NodeKind.False:
        return { kind: "constant", text: textOf(inner), type: this.typeOf(inner, expected), span };
      case NodeKind.This:
      case NodeKind.Super:
        return this.thisValue(span);
      case NodeKind.Identifier: {
        const local = this.find((inner as as.IdentifierExpression).text);
        if (local !== null) return { kind: "local", local, type: this.typeOf(inner, local.type), span };
        return this.reference(inner, null);
      }
      case NodeKind.PropertyAccess:
        return this.reference(inner, (inner as as.PropertyAccessExpression).expression);
      case NodeKind.Literal:
        return this.literal(inner as as.LiteralExpression, expected);
      case NodeKind.Assertion:
        return this.assertion(inner as as.AssertionExpression);
      case NodeKind.Comma:
        return {
          kind: "sequence",
          operands: (inner as as.CommaExpression).expressions.map((part) => this.expression(part)),
          type: this.typeOf(inner),
          span,
        };
      case NodeKind.Ternary:
        return this.conditional(inner as as.TernaryExpression);
      case NodeKind.InstanceOf: {
        const { expression } = inner as as.InstanceOfExpression;
        const tested = this.factsOf(inner).writtenType;
        if (tested === undefined)
          throw new Refusal("not_sliced_type", { message: "This type test can't be followed yet.", primary: span });
        return {
          kind: "instance-of",
          operand: this.expression(expression),
          tested: this.lowering.type(tested, span),
          type: BOOL,
          span,
        };
      }
      case NodeKind.Binary:
        return this.binary(inner as as.BinaryExpression);
      case NodeKind.UnaryPrefix:
      case NodeKind.UnaryPostfix:
        return this.unary(inner as as.UnaryExpression, expected);
      case NodeKind.ElementAccess:
        return this.element(inner as as.ElementAccessExpression);
      case NodeKind.New:
        return this.construction(inner as as.NewExpression);
      case NodeKind.Function: {
        const { lambda } = this.factsOf(inner);
        if (lambda === undefined)
          throw new Refusal("not_sliced_syntax", {
            message: "This function expression can't be followed yet.",
            primary: span,
          });
        return this.functionValue(lambda, span);
      }
      case NodeKind.Call:
        return this.call(inner as as.CallExpression);
      default:
        throw new Refusal("not_sliced_syntax", { message: "This expression can't be followed yet.", primary: span });
    }
  }

  private thisValue(span: Span): Expression {
    if (this.self === null)
      throw new Refusal("not_sliced_syntax", { message: "`this` can't be followed here.", primary: span });
    return { kind: "local", local: this.self, type: this.self.type, span };
  }

  private functionValue(source: as.Function, span: Span): Expression {
    const declaration = this.lowering.function(source);
    declaration.escapes = true;
    const type: Type = {
      kind: "function",
      parameters: source.signature.parameterTypes.map((parameter) => this.lowering.type(parameter, span)),
      result: declaration.result,
    };
    return { kind: "function-value", declaration, type, span };
  }

  private literal(node: as.LiteralExpression, expected: Type | undefined): Expression {
    const span = spanOf(node);
    switch (node.literalKind) {
      case LiteralKind.Integer:
      case LiteralKind.Float:
      case LiteralKind.String:
        return { kind: "constant", text: textOf(node), type: this.typeOf(node, expected), span };
      case LiteralKind.Array: {
        const type = this.typeOf(node, expected);
        const elementType = type.kind === "library" ? type.arguments[0] : undefined;
        const elements = (node as as.ArrayLiteralExpression).elementExpressions.map((element) => {
          if (element.kind === NodeKind.Omitted)
            throw new Refusal("not_sliced_syntax", {
              message: "An array with holes can't be followed.",
              primary: span,
            });
          return this.expression(element, elementType);
        });
        return { kind: "array", elements, type, span };
      }
      case LiteralKind.Template: {
        const { rawParts, expressions, tag } = node as as.TemplateLiteralExpression;
        if (tag !== null)
          throw new Refusal("not_sliced_syntax", { message: "Tagged templates can't be followed.", primary: span });
        return {
          kind: "template",
          parts: rawParts,
          operands: expressions.map((part) => this.templatePart(part)),
          type: STRING,
          span,
        };
      }
      default:
        throw new Refusal("not_sliced_syntax", {
          message: "This literal can't be followed yet.",
          primary: span,
          help: "Construct an object with `new` and assign its fields.",
        });
    }
  }

  /** A part of a template; objects are turned into text by their own `toString`. */
  private templatePart(node: as.Expression): Expression {
    const part = this.expression(node);
    const type = nonNullable(part.type);
    if (type.kind !== "class" && type.kind !== "library") return part;
    const toString = this.factsOf(withoutParentheses(node)).calls?.find(
      (callee) => callee.prototype.name === "toString",
    );
    if (toString === undefined)
      throw new Refusal("not_sliced_syntax", {
        message: "This value in a template can't be followed yet.",
        primary: part.span,
      });
    return this.methodCall(toString, part, [], part.span, false);
  }

  private assertion(node: as.AssertionExpression): Expression {
    const span = spanOf(node);
    const operand = this.expression(node.expression);
    switch (node.assertionKind) {
      case AssertionKind.NonNull:
        return { kind: "non-null", operand, type: nonNullable(operand.type), span };
      case AssertionKind.Prefix:
      case AssertionKind.As: {
        const written = this.factsOf(node).writtenType;
        if (written !== undefined) return { kind: "cast", operand, type: this.lowering.type(written, span), span };
        break;
      }
      default:
        break;
    }
    throw new Refusal("not_sliced_syntax", { message: "This assertion can't be followed yet.", primary: span });
  }

  private conditional(node: as.TernaryExpression): Expression {
    const span = spanOf(node);
    const condition = this.expression(node.condition);
    const consequentLives = this.wasCompiled(node.ifThen);
    const alternativeLives = this.wasCompiled(node.ifElse);
    if (consequentLives !== alternativeLives) {
      if (!isQuiet(condition))
        throw new Refusal("not_sliced_syntax", {
          message: "A condition that is known but has an effect can't be followed.",
          primary: span,
        });
      return this.expression(consequentLives ? node.ifThen : node.ifElse);
    }
    return {
      kind: "conditional",
      condition,
      consequent: this.expression(node.ifThen),
      alternative: this.expression(node.ifElse),
      type: this.typeOf(node),
      span,
    };
  }

  private wasCompiled(node: as.Expression): boolean {
    return this.source === null || this.lowering.facts.wasCompiled(this.source, withoutParentheses(node));
  }

  private unary(node: as.UnaryExpression, expected: Type | undefined): Expression {
    const span = spanOf(node);
    this.refuseOverload(node);
    if (node.operator === Token.Plus_Plus || node.operator === Token.Minus_Minus) {
      const operator = node.operator === Token.Plus_Plus ? "++" : "--";
      return this.assignment(node, node.operand, operator, null, node.kind === NodeKind.UnaryPrefix);
    }
    const operator = UNARY_OPERATORS.get(node.operator);
    if (operator === undefined)
      throw new Refusal("not_sliced_syntax", { message: "This operator can't be followed yet.", primary: span });
    const type = this.typeOf(node, expected);
    // The compiler takes the sign of a literal for a part of it.
    return { kind: "operation", operator, operands: [this.expression(node.operand, type)], type, span };
  }

  private binary(node: as.BinaryExpression): Expression {
    const span = spanOf(node);
    const { operator } = node;
    if (operator === Token.Equals) return this.assignment(node, node.left, "", node.right, false);
    this.refuseOverload(node);
    const compound = COMPOUND_OPERATORS.get(operator);
    if (compound !== undefined) return this.assignment(node, node.left, compound, node.right, false);
    if (operator === Token.Ampersand_Ampersand || operator === Token.Bar_Bar) {
      const left = this.expression(node.left);
      // A left side that is always decisive: the compiler dropped the right one.
      if (!this.wasCompiled(node.right)) return left;
      return {
        kind: "logical",
        operator: operator === Token.Ampersand_Ampersand ? "&&" : "||",
        left,
        right: this.expression(node.right),
        type: this.typeOf(node),
        span,
      };
    }
    const text = BINARY_OPERATORS.get(operator);
    if (text === undefined)
      throw new Refusal("not_sliced_syntax", { message: "This operator can't be followed yet.", primary: span });
    return {
      kind: "operation",
      operator: text,
      operands: [this.expression(node.left), this.expression(node.right)],
      type: this.typeOf(node),
      span,
    };
  }

  private refuseOverload(node: as.Expression): void {
    const overload = this.factsOf(node).calls?.find(
      (callee) => isApplication(sourcePath(callee)) && callee.prototype.operatorKind !== OperatorKind.Invalid,
    );
    if (overload === undefined) return;
    throw new Refusal("not_sliced_operator_overload", {
      message: "An operator of a class can't be followed yet.",
      primary: spanOf(node),
      related: [{ span: spanOf(overload.declaration.name), label: "the operator" }],
      help: "Call a method instead.",
    });
  }

  // -------------------------------------------------------------------------------------------------------- assignment

  private assignment(
    node: as.Expression,
    left: as.Expression,
    operator: string,
    right: as.Expression | null,
    prefix: boolean,
  ): Expression {
    const span = spanOf(node);
    const target = this.assignmentTarget(withoutParentheses(left), operator);
    const value = right === null ? null : this.expression(right);
    const type = this.typeOf(node);
    if ("setter" in target) {
      if (value === null) throw new Error("an update of an accessor is refused");
      return target.setter(value, span);
    }
    if (operator !== "") {
      // AssemblyScript evaluates the object of `object.field += value` twice.
      const parts =
        target.kind === "field" ? [target.object] : target.kind === "element" ? [target.container, target.index] : [];
      const loud = parts.find((part) => !isQuiet(part));
      if (loud !== undefined) {
        throw new Refusal("not_sliced_update_order", {
          message: "An update of something that is computed with an effect can't be followed.",
          primary: span,
          related: [{ span: loud.span, label: "evaluated twice" }],
          help: "Store it in a variable first.",
        });
      }
    }
    return { kind: "assignment", target, operator, prefix, value, type, span };
  }

  private assignmentTarget(
    node: as.Expression,
    operator: string,
  ): AssignmentTarget | { readonly setter: (value: Expression, span: Span) => Expression } {
    const span = spanOf(node);
    if (node.kind === NodeKind.Identifier) {
      const local = this.find((node as as.IdentifierExpression).text);
      if (local !== null) return { kind: "local", local };
    }
    if (node.kind === NodeKind.ElementAccess) {
      const { expression, elementExpression } = node as as.ElementAccessExpression;
      const container = this.expression(expression);
      return {
        kind: "element",
        member: this.elementMember(container, span),
        container,
        index: this.expression(elementExpression),
      };
    }
    const { target } = this.factsOf(node);
    if (target?.kind === ElementKind.Global && isApplication(sourcePath(target as as.Global))) {
      return { kind: "global", global: this.lowering.global(target as as.Global, span) };
    }
    if (target?.kind === ElementKind.Property) {
      const property = target as as.Property;
      const objectNode =
        node.kind === NodeKind.PropertyAccess ? (node as as.PropertyAccessExpression).expression : null;
      const object = property.is(CommonFlags.Instance) && objectNode !== null ? this.expression(objectNode) : null;
      if (property.isField && object !== null && isApplication(sourcePath(property)))
        return { kind: "field", object, field: this.lowering.field(property, span) };
      const setter = property.setterInstance;
      if (setter !== null && operator === "") {
        const owner = this.notSuper(object, objectNode);
        return { setter: (value, whole) => this.methodCall(setter, owner, [value], whole, false, value.type) };
      }
    }
    throw new Refusal("not_sliced_syntax", {
      message: "An assignment to this can't be followed yet.",
      primary: span,
      ...(operator === "" ? {} : { help: "Write the assignment without the operator." }),
    });
  }

  // -------------------------------------------------------------------------------------------------- names and members

  /** A name or property that is no local variable. */
  private reference(node: as.Expression, objectNode: as.Expression | null): Expression {
    const span = spanOf(node);
    const { target } = this.factsOf(node);
    switch (target?.kind) {
      case ElementKind.Global: {
        const global = target as as.Global;
        if (!isApplication(sourcePath(global)))
          return { kind: "constant", text: textOf(node), type: this.typeOf(node), span };
        const lowered = this.lowering.global(global, span);
        return { kind: "global", global: lowered, type: lowered.type, span };
      }
      case ElementKind.EnumValue: {
        const global = this.lowering.enumValue(target as as.EnumValue);
        return { kind: "global", global, type: global.type, span };
      }
      case ElementKind.FunctionPrototype:
      case ElementKind.Function: {
        const instance =
          target.kind === ElementKind.Function
            ? (target as as.Function)
            : this.lowering.program.resolver.resolveFunction(target as as.FunctionPrototype, null);
        if (instance !== null && isApplication(sourcePath(instance)) && !instance.is(CommonFlags.Instance))
          return this.functionValue(instance, span);
        break;
      }
      case ElementKind.Property: {
        const property = target as as.Property;
        const object = property.is(CommonFlags.Instance) && objectNode !== null ? this.expression(objectNode) : null;
        if (property.isField && object !== null && isApplication(sourcePath(property))) {
          const field = this.lowering.field(property, span);
          return { kind: "field", object, field, type: this.typeOf(node, field.type), span };
        }
        const getter = property.getterInstance;
        if (getter !== null && isApplication(sourcePath(getter)))
          return this.methodCall(getter, this.notSuper(object, objectNode), [], span, false);
        if (object !== null) return this.libraryProperty(object, property.name, this.typeOf(node), span);
        break;
      }
      default:
        break;
    }
    throw new Refusal("not_sliced_syntax", {
      message: "What this name refers to can't be followed yet.",
      primary: span,
    });
  }

  /** AssemblyScript calls an overridden setter through `super` as if it were through `this`, but a getter not. */
  private notSuper(object: Expression | null, node: as.Expression | null): Expression | null {
    if (!isSuperNode(node)) return object;
    throw new Refusal("not_sliced_syntax", {
      message: "An accessor of the base class can't be followed yet.",
      primary: spanOf(node!),
      help: "Call a method of the base class.",
    });
  }

  private libraryProperty(object: Expression, name: string, type: Type, span: Span): Expression {
    const member = this.memberOf(object, name, span);
    return { kind: "library", member, receiver: object, name, typeArguments: [], arguments: [], type, span };
  }

  private element(node: as.ElementAccessExpression): Expression {
    const span = spanOf(node);
    const container = this.expression(node.expression);
    const member = this.elementMember(container, span);
    return {
      kind: "library",
      member,
      receiver: container,
      name: "[]",
      typeArguments: [],
      arguments: [this.expression(node.elementExpression)],
      type: this.typeOf(node),
      span,
    };
  }

  private elementMember(container: Expression, span: Span): LibraryMember {
    if (nonNullable(container.type).kind === "class") {
      throw new Refusal("not_sliced_operator_overload", {
        message: "An operator of a class can't be followed yet.",
        primary: span,
        help: "Call a method instead.",
      });
    }
    return this.memberOf(container, "[]", span);
  }

  private memberOf(object: Expression, name: string, span: Span): LibraryMember {
    const owner = libraryOwner(nonNullable(object.type));
    const member = owner === null ? null : libraryMember(owner, name);
    if (member === null) throw this.unknownMember(owner === null ? name : `${owner}.${name}`, span);
    this.refuseHiddenCalls(member, object, span);
    return member;
  }

  /** Some library functions call methods of the elements: `join` their `toString`. */
  private refuseHiddenCalls(member: LibraryMember, container: Expression, span: Span): void {
    const type = nonNullable(container.type);
    if (type.kind !== "library") return;
    const element = nonNullable(type.arguments[0] ?? VOID);
    if (element.kind === "class" && element.declaration.hasComparison && comparesElements(type.name, member.name)) {
      throw new Refusal("not_sliced_operator_overload", {
        message: `An operator of ${element.declaration.name} that ${member.name} calls can't be followed yet.`,
        primary: span,
        related: [{ span: element.declaration.span, label: "has operators that compare" }],
        help: "Compare in a loop, by calling a method.",
      });
    }
    const isObject =
      element.kind === "class" || element.kind === "library" || element.kind === "function" || element.kind === "table";
    if (isObject && (member.name === "join" || member.name === "toString")) {
      throw new Refusal("not_sliced_library", {
        message: `${member.name}() on an array of objects can't be followed yet.`,
        primary: span,
        help: "Turn the elements into text first, with map().",
      });
    }
  }

  private unknownMember(name: string, span: Span): Refusal {
    return new Refusal("not_sliced_library", { message: `What ${name} does can't be followed yet.`, primary: span });
  }

  // ------------------------------------------------------------------------------------------------- calls and objects

  private construction(node: as.NewExpression): Expression {
    const span = spanOf(node);
    const facts = this.factsOf(node);
    const callee = facts.calls?.find((candidate) => candidate.is(CommonFlags.Constructor));
    const instance = callee?.getBoundClassOrInterface() ?? facts.type?.getClass() ?? null;
    if (instance === null)
      throw new Refusal("not_sliced_syntax", { message: "This construction can't be followed yet.", primary: span });
    const type = this.lowering.type(instance.type, span);
    if (type.kind === "class" && callee !== undefined) {
      return {
        kind: "construction",
        declaration: type.declaration,
        callee: this.lowering.function(callee),
        arguments: this.argumentsOf(callee, node.args),
        type,
        span,
      };
    }
    if (type.kind === "table") return this.newTable(node, type);
    if (type.kind !== "library") throw this.unknownMember(`new ${instance.prototype.name}`, span);
    const member = libraryMember(type.name, "new");
    if (member === null) throw this.unknownMember(`new ${type.name}`, span);
    return {
      kind: "library",
      member,
      receiver: null,
      name: type.name,
      typeArguments: type.arguments,
      arguments: node.args.map((argument) => this.expression(argument)),
      type,
      span,
    };
  }

  private newTable(node: as.NewExpression, type: Type): Expression {
    const span = spanOf(node);
    const [name] = node.args;
    if (
      !this.isInitializer ||
      name?.kind !== NodeKind.Literal ||
      (name as as.LiteralExpression).literalKind !== LiteralKind.String
    ) {
      throw new Refusal("not_sliced_table_value", {
        message: "A table that is not declared at module level can't be followed.",
        primary: span,
        help: 'Declare it outside of functions: `const users = new Table<User>("users");`',
      });
    }
    return { kind: "new-table", name: (name as as.StringLiteralExpression).value, type, span };
  }

  private call(node: as.CallExpression): Expression {
    const span = spanOf(node);
    const facts = this.factsOf(node);
    const calleeNode = withoutParentheses(node.expression);
    if (calleeNode.kind === NodeKind.Super) {
      const [base] = facts.calls ?? [];
      if (base === undefined) throw new Error("super() without a constructor");
      return {
        kind: "call",
        // Also of a class without constructor of its own: that one is made by the compiler.
        callees: [this.lowering.function(base)],
        receiver: this.thisValue(span),
        arguments: this.argumentsOf(base, node.args),
        isSuper: true,
        type: VOID,
        span,
      };
    }
    if (facts.builtin !== undefined) return this.builtinCall(node, facts.builtin);
    if (facts.indirect !== undefined) {
      if (node.args.length < facts.indirect.parameterTypes.length) {
        throw new Refusal("not_sliced_syntax", {
          message: "A call of a function value that leaves out arguments can't be followed yet.",
          primary: span,
          help: "Pass all arguments.",
        });
      }
      const callee = this.expression(calleeNode);
      if (!isQuiet(callee)) {
        throw new Refusal("not_sliced_update_order", {
          message: "A called function that is computed with an effect can't be followed.",
          primary: callee.span,
          help: "Store it in a variable first.",
        });
      }
      return {
        kind: "indirect-call",
        callee,
        arguments: node.args.map((argument) => this.expression(argument)),
        type: this.typeOf(node),
        span,
      };
    }
    const callee = this.resolvedCallee(node, calleeNode);
    if (sourcePath(callee).startsWith(SDK_LIBRARY)) return this.sdkCall(node, calleeNode, callee);
    const receiverNode =
      callee.is(CommonFlags.Instance) && calleeNode.kind === NodeKind.PropertyAccess
        ? (calleeNode as as.PropertyAccessExpression).expression
        : null;
    const receiver = receiverNode === null ? null : this.expression(receiverNode);
    if (isApplication(sourcePath(callee)))
      return this.methodCall(callee, receiver, this.argumentsOf(callee, node.args), span, isSuperNode(receiverNode));
    return this.libraryCall(node, calleeNode, callee, receiver);
  }

  private resolvedCallee(node: as.CallExpression, calleeNode: as.Expression): as.Function {
    const { target } = this.factsOf(calleeNode);
    const prototype =
      target?.kind === ElementKind.FunctionPrototype
        ? (target as as.FunctionPrototype)
        : target?.kind === ElementKind.Function
          ? (target as as.Function).prototype
          : null;
    const callee = this.factsOf(node).calls?.find(
      (candidate) =>
        prototype !== null &&
        (candidate.prototype === prototype || candidate.prototype.declaration === prototype.declaration),
    );
    if (callee === undefined)
      throw new Refusal("not_sliced_syntax", {
        message: "What this calls can't be followed yet.",
        primary: spanOf(node),
      });
    return callee;
  }

  /** A call of a function of the application, as a method if there is a receiver. */
  private methodCall(
    callee: as.Function,
    receiver: Expression | null,
    args: readonly Expression[],
    span: Span,
    viaSuper: boolean,
    type?: Type,
  ): Expression {
    if (!isApplication(sourcePath(callee))) {
      if (receiver === null) throw this.unknownMember(callee.prototype.name, span);
      const name = callee.prototype.name;
      return {
        kind: "library",
        member: this.memberOf(receiver, name, span),
        receiver,
        name,
        typeArguments: [],
        arguments: args,
        type: this.lowering.type(callee.signature.returnType, span),
        span,
      };
    }
    const callees = viaSuper ? [this.lowering.function(callee)] : this.lowering.callees(callee);
    const result = callee.is(CommonFlags.Constructor) ? VOID : callees[0]!.result;
    return { kind: "call", callees, receiver, arguments: args, isSuper: viaSuper, type: type ?? result, span };
  }

  /** The arguments of a call, with the defaults of those that are left out. */
  private argumentsOf(callee: as.Function, nodes: readonly as.Expression[]): Expression[] {
    const args = nodes.map((node) => this.expression(node));
    const parameters = callee.prototype.functionTypeNode.parameters;
    const { parameterTypes } = callee.signature;
    for (let index = args.length; index < parameterTypes.length; index++) {
      const initializer = parameters[index]?.initializer ?? null;
      const type = parameterTypes[index];
      if (initializer === null || type === undefined)
        throw new Error(`argument ${index} of ${callee.internalName} is missing`);
      args.push(lowerInitializer(this.lowering, initializer, null, this.lowering.type(type, spanOf(initializer))));
    }
    return args;
  }

  private sdkCall(node: as.CallExpression, calleeNode: as.Expression, callee: as.Function): Expression {
    const span = spanOf(node);
    const name = callee.prototype.name;
    const args = node.args.map((argument) => this.expression(argument));
    const [key, value] = args;
    if (callee.is(CommonFlags.Instance) && calleeNode.kind === NodeKind.PropertyAccess) {
      const table = this.expression((calleeNode as as.PropertyAccessExpression).expression);
      if (
        table.type.kind === "table" &&
        key !== undefined &&
        (name === "get" || name === "has" || name === "put" || name === "delete")
      ) {
        return {
          kind: "access",
          operation: name,
          table,
          key,
          value: value ?? null,
          type: this.lowering.type(callee.signature.returnType, span),
          span,
        };
      }
    } else if (name === "now") {
      return { kind: "now", type: { kind: "number", name: "i64" }, span };
    } else if (name === "random") {
      const site = this.lowering.drawSite(span);
      return { kind: "draw", source: "random", site, type: { kind: "number", name: "f64" }, span };
    } else if (name === "uuid") {
      return { kind: "draw", source: "uuid", site: this.lowering.drawSite(span), type: STRING, span };
    } else if (name === "abort") {
      return { kind: "abort", arguments: args, type: VOID, span };
    }
    throw this.unknownMember(name, span);
  }

  private builtinCall(node: as.CallExpression, builtin: as.FunctionPrototype): Expression {
    const span = spanOf(node);
    const [first] = node.args;
    if (builtin.name === "unchecked" && first !== undefined) return this.expression(first);
    const member = builtin.parent.kind === ElementKind.File ? libraryMember("", builtin.name) : null;
    if (member === null) throw this.unknownMember(builtin.name, span);
    return {
      kind: "library",
      member,
      receiver: null,
      name: textOf(node.expression),
      typeArguments: (this.factsOf(node).typeArguments ?? []).map((type) => this.lowering.type(type, span)),
      arguments: node.args.map((argument) => this.expression(argument)),
      type: this.typeOf(node),
      span,
    };
  }

  private libraryCall(
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
        ? this.memberOf(receiver, name, span)
        : libraryMember(owner, name);
    if (member === null) throw this.unknownMember(owner === "" ? name : `${owner}.${name}`, span);
    const args = node.args.map((argument) => this.expression(argument));
    return {
      kind: "library",
      member,
      receiver,
      name: receiver === null ? textOf(calleeNode) : name,
      typeArguments: (callee.typeArguments ?? []).map((type) => this.lowering.type(type, span)),
      arguments: args,
      type: this.typeOf(node),
      span,
    };
  }
}

function isSuperNode(node: as.Expression | null): boolean {
  return node !== null && withoutParentheses(node).kind === NodeKind.Super;
}

/** Library members that compare elements or keys with the operators of their class. */
function comparesElements(owner: string, name: string): boolean {
  return owner === "Map" || owner === "Set" || COMPARING_MEMBERS.has(name);
}

const COMPARING_MEMBERS: ReadonlySet<string> = new Set(["includes", "indexOf", "lastIndexOf", "sort"]);

/** Whether evaluating the expression changes nothing and calls nothing of the application. */
function isQuiet(expression: Expression): boolean {
  switch (expression.kind) {
    case "constant":
    case "local":
    case "global":
    case "field":
    case "operation":
    case "cast":
    case "non-null":
    case "instance-of":
    case "logical":
    case "conditional":
    case "now":
    case "template":
    case "sequence":
    case "function-value":
      return operands(expression).every(isQuiet);
    case "library":
      return (
        !expression.member.writes &&
        expression.member.callback === null &&
        expression.member.form !== "constructor" &&
        operands(expression).every(isQuiet)
      );
    case "assignment":
    case "call":
    case "indirect-call":
    case "construction":
    case "array":
    case "new-table":
    case "access":
    case "draw":
    case "abort":
      return false;
  }
}

/** The class that has the members of values of a type, as the library names it. */
function libraryOwner(type: Type): string | null {
  switch (type.kind) {
    case "string":
      return "String";
    case "bool":
      return "Bool";
    case "number":
      return type.name[0]!.toUpperCase() + type.name.slice(1);
    case "library":
      return type.name;
    case "void":
    case "class":
    case "table":
    case "function":
    case "nullable":
      return null;
  }
}

const UNARY_OPERATORS: ReadonlyMap<Token, string> = new Map([
  [Token.Exclamation, "!"],
  [Token.Minus, "-"],
  [Token.Plus, "+"],
  [Token.Tilde, "~"],
]);

const BINARY_OPERATORS: ReadonlyMap<Token, string> = new Map([
  [Token.Plus, "+"],
  [Token.Minus, "-"],
  [Token.Asterisk, "*"],
  [Token.Asterisk_Asterisk, "**"],
  [Token.Slash, "/"],
  [Token.Percent, "%"],
  [Token.LessThan_LessThan, "<<"],
  [Token.GreaterThan_GreaterThan, ">>"],
  [Token.GreaterThan_GreaterThan_GreaterThan, ">>>"],
  [Token.Ampersand, "&"],
  [Token.Bar, "|"],
  [Token.Caret, "^"],
  [Token.Equals_Equals, "=="],
  [Token.Equals_Equals_Equals, "==="],
  [Token.Exclamation_Equals, "!="],
  [Token.Exclamation_Equals_Equals, "!=="],
  [Token.LessThan, "<"],
  [Token.LessThan_Equals, "<="],
  [Token.GreaterThan, ">"],
  [Token.GreaterThan_Equals, ">="],
]);

const COMPOUND_OPERATORS: ReadonlyMap<Token, string> = new Map([
  [Token.Plus_Equals, "+"],
  [Token.Minus_Equals, "-"],
  [Token.Asterisk_Equals, "*"],
  [Token.Asterisk_Asterisk_Equals, "**"],
  [Token.Slash_Equals, "/"],
  [Token.Percent_Equals, "%"],
  [Token.LessThan_LessThan_Equals, "<<"],
  [Token.GreaterThan_GreaterThan_Equals, ">>"],
  [Token.GreaterThan_GreaterThan_GreaterThan_Equals, ">>>"],
  [Token.Ampersand_Equals, "&"],
  [Token.Bar_Equals, "|"],
  [Token.Caret_Equals, "^"],
]);
