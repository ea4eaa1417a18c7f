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
import { spanOfRange, textOf } from "../parse/span.ts";
import { withoutParentheses } from "../parse/children.ts";
import type { Facts, NodeFacts } from "../parse/facts.ts";
import {
  BOOL,
  nonNullable,
  operands,
  STRING,
  VOID,
  walkExpression,
  zeroText,
  type AssignmentTarget,
  type ClassDeclaration,
  type DrawSite,
  type Expression,
  type FieldDeclaration,
  type FunctionDeclaration,
  type Global,
  type Local,
  type NumberName,
  type Parameter,
  type Statement,
  type Type,
} from "./ir.ts";
import { libraryMember, refusedMember, type LibraryMember } from "./library.ts";
import { isApplication, sourcePath, spanOf } from "./nodes.ts";
import { Refusal } from "./refusal.ts";

/** What a body refers to: each declaration is lowered once per program. */
export interface Declarations {
  /** What has no rule is left out instead of refused; see `lowerAsKnown`. */
  readonly asKnown: boolean;
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
  /** Makes a function that the source does not have. */
  synthetic(
    name: string,
    parameters: readonly Local[],
    result: Type,
    body: readonly Statement[],
    span: Span,
  ): FunctionDeclaration;
  /** The function that an operator on objects of the class calls; null: there is none. */
  operator(declaration: ClassDeclaration, operator: OperatorKind): as.Function | null;
  method(declaration: ClassDeclaration, name: string): as.Function | null;
}

/** Fills in parameters, initializers and body of a declared function. */
export function lowerBody(lowering: Declarations, source: as.Function, declaration: FunctionDeclaration): void {
  const body = new FunctionLowering(lowering, source, declaration.self);
  body.orElse(
    () => body.function(source, declaration),
    () => {},
  );
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

/** A statement between the declarations of a file, as the body of a function. */
export function lowerModuleStatement(lowering: Declarations, node: as.Statement, owner: as.Function): Statement[] {
  return new FunctionLowering(lowering, owner, null).moduleStatement(node);
}

/** The operator of what has no rule; see `lowerAsKnown`. */
export const UNKNOWN = "?";

/** Something that can be read and written, made of expressions that are evaluated first. */
interface Place {
  /** Of the value. */
  readonly type: Type;
  readonly parts: readonly Expression[];
  read(parts: readonly Expression[]): Expression;
  /** `used`: the value of the whole expression is. */
  write(parts: readonly Expression[], value: Expression, used: boolean): Expression;
  /** What can be updated in place. */
  readonly target: AssignmentTarget | null;
}

class FunctionLowering {
  private readonly lowering: Declarations;
  private readonly source: as.Function | null;
  private readonly self: Local | null;
  private readonly isInitializer: boolean;
  private readonly scopes: Map<string, Local>[];

  constructor(
    lowering: Declarations,
    source: as.Function | null,
    self: Local | null,
    isInitializer = false,
    scope: ReadonlyMap<string, Local> = new Map(),
  ) {
    this.lowering = lowering;
    this.source = source;
    this.self = self;
    this.isInitializer = isInitializer;
    this.scopes = [new Map(scope)];
  }

  function(source: as.Function, declaration: FunctionDeclaration): void {
    const { prototype, signature } = source;
    const nodes = prototype.functionTypeNode.parameters;
    const parameters: Parameter[] = [];
    for (const [index, type] of signature.parameterTypes.entries()) {
      const node = nodes[index];
      // A function expression may take fewer parameters than its context gives.
      if (node === undefined) break;
      const local = this.addLocal(node.name.text, this.lowering.type(type, spanOf(node)), node);
      // One that every call passes is never compiled, nor evaluated. (Handlers are called by clients.)
      const isEvaluated = source.is(CommonFlags.Export) || node.initializer === null || this.isKnown(node.initializer);
      const defaultValue = isEvaluated ? this.defaultValue(source, node, local.type, this.scopes[0]!, this.self) : null;
      parameters.push({ local, defaultValue });
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

  /** The other way if the one has no rule, where that is what is wanted. */
  orElse<T>(lower: () => T, unknown: () => T): T {
    try {
      return lower();
    } catch (thrown) {
      if (!this.lowering.asKnown || !(thrown instanceof Refusal)) throw thrown;
      return unknown();
    }
  }

  private statement(node: as.Statement): Statement[] {
    return this.orElse(
      () => this.statementByRule(node),
      () => [],
    );
  }

  private statementByRule(node: as.Statement): Statement[] {
    const span = spanOf(node);
    switch (node.kind) {
      case NodeKind.Block:
        return [{ kind: "block", body: this.branch(node), span }];
      case NodeKind.Expression:
        return [this.expressionStatement((node as as.ExpressionStatement).expression, span)];
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
        return this.switch(node as as.SwitchStatement);
      }
      case NodeKind.Return: {
        const { value } = node as as.ReturnStatement;
        if (value !== null && this.source?.is(CommonFlags.Constructor) === true) {
          if (withoutParentheses(value).kind === NodeKind.This)
            return [{ kind: "return", value: this.thisValue(span), span }];
          throw new Refusal("not_sliced_syntax", {
            message: "A constructor that returns another object can't be followed: who calls `new` gets that one.",
            primary: span,
            help: "Return `this`, or use a static method that returns the object.",
          });
        }
        return [{ kind: "return", value: value === null ? null : this.expression(value), span }];
      }
      case NodeKind.Throw:
        return this.throw(withoutParentheses((node as as.ThrowStatement).value), span);
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

  /** A function declared among statements is a constant of its name. */
  private expressionStatement(node: as.Expression, span: Span): Statement {
    const expression = this.expression(node);
    const name = node.kind === NodeKind.Function ? (node as as.FunctionExpression).declaration.name : null;
    if (name === null || name.text === "") return { kind: "expression", expression, span };
    const local = this.addLocal(name.text, expression.type, name);
    return { kind: "variable", local, initializer: expression, annotated: false, constant: true, span };
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

  /**
   * Labels are evaluated in order until one is equal. If that is more than comparing quiet values, the number of the
   * case is computed first, as `value == f() ? 0 : value == g() ? 1 : -1`.
   */
  private switch({ condition, cases, range }: as.SwitchStatement): Statement[] {
    const span = spanOfRange(range);
    const discriminant = this.expression(condition);
    const labels = cases.map((choice) => (choice.label === null ? null : this.expression(choice.label)));
    const bodies = cases.map((choice) =>
      // AssemblyScript gives each case its own scope.
      this.scoped(() => this.scoped(() => this.statements(choice.statements))),
    );
    const compares = labels.some(
      (label) => label !== null && this.comparison(discriminant, label, OperatorKind.Eq) !== null,
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
      const equal: Expression = this.comparison(value, label, OperatorKind.Eq) ?? {
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

  moduleStatement(node: as.Statement): Statement[] {
    return this.statement(node);
  }

  // ------------------------------------------------------------------------------------------- functions made on the way

  /**
   * Calls a function made for this place: `inputs` are its arguments, and `body` sees them as parameters. For what
   * needs a statement, or a value twice, inside an expression.
   */
  private made(
    name: string,
    inputs: readonly Expression[],
    result: Type,
    span: Span,
    body: (parameters: readonly Expression[]) => readonly Statement[],
  ): Expression {
    const locals = inputs.map((input, index): Local => ({ name: `p${index}`, type: input.type, span: input.span }));
    const statements = body(locals.map((local) => ({ kind: "local", local, type: local.type, span: local.span })));
    const declaration = this.lowering.synthetic(name, locals, result, statements, span);
    return {
      kind: "call",
      callees: [declaration],
      receiver: null,
      arguments: inputs,
      isSuper: false,
      type: result,
      span,
    };
  }

  /** `throw new Error(message)`: AssemblyScript evaluates the first argument and nothing else. */
  /** See `Thrown` of the compiler. The message is of no use to a set: what matters is what happens before. */
  private throw(node: as.Expression, span: Span): Statement[] {
    if (this.factsOf(node).type === undefined) {
      // An error of the library, of which nothing but the message was compiled.
      const message = node.kind === NodeKind.New ? (node as as.NewExpression).args[0] : undefined;
      return [{ kind: "throw", message: message === undefined ? noText(span) : this.expression(message), span }];
    }
    const expression = this.expression(node);
    if (expression.kind === "abort") return [{ kind: "expression", expression, span }];
    if (expression.type.kind === "string") return [{ kind: "throw", message: expression, span }];
    return [
      { kind: "expression", expression, span },
      { kind: "throw", message: noText(span), span },
    ];
  }

  // ------------------------------------------------------------------------------------------------------- expressions

  private factsOf(node: as.Node): NodeFacts {
    const { facts } = this.lowering;
    return this.source === null ? facts.getAnywhere(node) : facts.get(this.source, node);
  }

  private isKnown(node: as.Expression): boolean {
    return this.lowering.facts.getAnywhere(withoutParentheses(node)).type !== undefined;
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
    return this.orElse(
      () => this.expressionByRule(node, expected),
      () => ({ kind: "operation", operator: UNKNOWN, operands: [], type: expected ?? STRING, span: spanOf(node) }),
    );
  }

  private expressionByRule(node: as.Expression, expected: Type | undefined): Expression {
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
        const { text } = inner as as.IdentifierExpression;
        const local = this.find(text);
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
      throw new Refusal("not_sliced_syntax", {
        message: "The initial value of a field can't be followed if it uses `this`.",
        primary: span,
        help: "Give the field its value in the constructor.",
      });
    return { kind: "local", local: this.self, type: this.self.type, span };
  }

  private functionValue(source: as.Function, span: Span): Expression {
    const declaration = this.lowering.function(source);
    declaration.escapes = true;
    const type: Type = {
      kind: "function",
      parameters: source.signature.parameterTypes.map((parameter) => this.lowering.type(parameter, span)),
      required: source.signature.requiredParameters,
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
        const expectedElement = elementType(type) ?? undefined;
        const elements = (node as as.ArrayLiteralExpression).elementExpressions.map((element) => {
          if (element.kind === NodeKind.Omitted) return this.hole(expectedElement, span);
          return this.expression(element, expectedElement);
        });
        return { kind: "array", elements, type, span };
      }
      case LiteralKind.Template: {
        const { rawParts, expressions, tag } = node as as.TemplateLiteralExpression;
        return {
          kind: "template",
          // The one tag that the compiler has is String.raw.
          parts: tag === null ? rawParts : rawParts.map(escaped),
          operands: expressions.map((part) => this.templatePart(part)),
          type: STRING,
          span,
        };
      }
      case LiteralKind.Object:
        return this.objectLiteral(node as as.ObjectLiteralExpression, expected);
      default:
        throw new Refusal("not_sliced_syntax", {
          message: "This literal can't be followed yet.",
          primary: span,
          help: "Construct an object with `new` and assign its fields.",
        });
    }
  }

  /** AssemblyScript fills holes with zeroes. */
  private hole(type: Type | undefined, span: Span): Expression {
    const text = type === undefined || type.kind === "string" ? null : zeroText(type);
    if (type === undefined || text === null)
      throw new Refusal("not_sliced_syntax", {
        message: "A hole in an array of objects can't be followed: there is no value for it.",
        primary: span,
        help: "Write out all elements.",
      });
    return { kind: "constant", text, type, span };
  }

  /** `{ a: x }` is an object of the expected class: constructed without arguments, then assigned field by field. */
  private objectLiteral(node: as.ObjectLiteralExpression, expected: Type | undefined): Expression {
    const span = spanOf(node);
    const instance = this.factsOf(node).type?.getClass() ?? null;
    const type = instance === null ? expected : this.lowering.type(instance.type, span);
    const constructor = instance?.constructorInstance ?? null;
    if (type?.kind !== "class" || instance === null || constructor === null)
      throw new Refusal("not_sliced_syntax", {
        message: "The class of this object literal is not known.",
        primary: span,
        help: "Construct an object with `new` and assign its fields.",
      });
    const created: Expression = {
      kind: "construction",
      declaration: type.declaration,
      callee: this.lowering.function(constructor),
      arguments: [],
      type,
      span,
    };
    const fields = node.names.map((name) => {
      const member = instance.getMember(name.text);
      const property =
        member?.kind === ElementKind.PropertyPrototype ? (member as as.PropertyPrototype).instance : null;
      if (property?.isField !== true)
        throw new Refusal("not_sliced_syntax", {
          message: `An object literal that sets ${name.text} through an accessor can't be followed.`,
          primary: spanOf(name),
          help: "Set it in a statement of its own.",
        });
      return this.lowering.field(property, spanOf(name));
    });
    const values = node.values.map((value, index) => this.expression(value, fields[index]?.type));
    if (fields.length === 0) return created;
    // A value's own type may be narrower than the field's, as that of `null` is.
    const inputs = values.map((value, index) => typed(value, fields[index]!.type));
    return this.made(`${type.declaration.name}_of`, [created, ...inputs], type, span, ([object, ...rest]) => [
      ...fields.map((field, index): Statement => {
        const value = rest[index]!;
        const target: AssignmentTarget = { kind: "field", object: object!, field };
        const expression: Expression = {
          kind: "assignment",
          target,
          operator: "",
          prefix: false,
          value,
          type: VOID,
          span: value.span,
        };
        return { kind: "expression", expression, span: value.span };
      }),
      { kind: "return", value: object!, span },
    ]);
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
      const chosen = this.expression(consequentLives ? node.ifThen : node.ifElse);
      // What is known of the condition is its value; what it does is done.
      return isQuiet(condition) ? chosen : { kind: "sequence", operands: [condition, chosen], type: chosen.type, span };
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
    if (node.operator === Token.Plus_Plus || node.operator === Token.Minus_Minus) return this.update(node);
    if (node.operator === Token.TypeOf) return this.typeOfText(node.operand, span);
    const operator = UNARY_OPERATORS.get(node.operator);
    if (operator === undefined)
      throw new Refusal("not_sliced_syntax", { message: "This operator can't be followed yet.", primary: span });
    const type = this.typeOf(node, expected);
    // The compiler takes the sign of a literal for a part of it.
    const operand = this.expression(node.operand, type);
    return (
      this.overloadCall(operand, UNARY_OVERLOADS.get(node.operator)!, [operand], span) ?? {
        kind: "operation",
        operator,
        operands: [operand],
        type,
        span,
      }
    );
  }

  private binary(node: as.BinaryExpression): Expression {
    const span = spanOf(node);
    const { operator } = node;
    if (operator === Token.Equals) return this.assignment(node);
    const compound = COMPOUND_OPERATORS.get(operator);
    if (compound !== undefined) return this.compoundAssignment(node, compound);
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
    const left = this.expression(node.left);
    const right = this.expression(node.right);
    const overloaded = this.binaryOverload(node, left, right, text);
    if (overloaded !== null) return overloaded;
    return { kind: "operation", operator: text, operands: [left, right], type: this.typeOf(node), span };
  }

  // --------------------------------------------------------------------------------------------------------- overloads

  /** The call that an operator on objects of the application makes; null: it is one of the language. */
  private binaryOverload(node: as.Node, left: Expression, right: Expression, operator: string): Expression | null {
    const kind = BINARY_OVERLOADS.get(operator);
    if (kind === undefined) return null;
    const noted = this.factsOf(node).calls?.some(
      (callee) => isApplication(sourcePath(callee)) && callee.prototype.operatorKind === kind,
    );
    if (noted !== true) return null;
    if (kind === OperatorKind.Eq || kind === OperatorKind.Ne) return this.comparison(left, right, kind);
    return this.overloadCall(left, kind, [left, right], spanOf(node));
  }

  /** An equality that an operator of either side decides; that side is evaluated first. */
  private comparison(left: Expression, right: Expression, kind: OperatorKind): Expression | null {
    return (
      this.overloadCall(left, kind, [left, right], left.span) ??
      this.overloadCall(right, kind, [right, left], left.span)
    );
  }

  private overload(type: Type, kind: OperatorKind): as.Function | null {
    const inner = nonNullable(type);
    return inner.kind === "class" ? this.lowering.operator(inner.declaration, kind) : null;
  }

  private overloadCall(
    owner: Expression,
    kind: OperatorKind,
    args: readonly Expression[],
    span: Span,
  ): Expression | null {
    const callee = this.overload(owner.type, kind);
    if (callee === null) return null;
    const [first, ...rest] = args;
    return callee.is(CommonFlags.Instance)
      ? this.methodCall(callee, first!, rest, span, false)
      : this.methodCall(callee, null, args, span, false);
  }

  /** The compiler knows `typeof` from the type; the operand is evaluated for its effects. */
  private typeOfText(node: as.Expression, span: Span): Expression {
    const inner = withoutParentheses(node);
    const constant = (text: string): Expression => ({
      kind: "constant",
      text: JSON.stringify(text),
      type: STRING,
      span,
    });
    const kind = this.factsOf(inner).target?.kind;
    if (kind === ElementKind.ClassPrototype || kind === ElementKind.Namespace || kind === ElementKind.Enum)
      return constant("object");
    if (kind === ElementKind.FunctionPrototype) return constant("function");
    const isNamed =
      inner.kind === NodeKind.This || inner.kind === NodeKind.Identifier || inner.kind === NodeKind.PropertyAccess;
    if (!isNamed)
      throw new Refusal("not_sliced_syntax", {
        message: "`typeof` of a computed value can't be followed.",
        primary: span,
        help: "Store it in a variable first.",
      });
    const operand = this.expression(inner);
    const text = constant(typeName(operand.type));
    return isQuiet(operand) ? text : { kind: "sequence", operands: [operand, text], type: STRING, span };
  }

  // -------------------------------------------------------------------------------------------------------- assignment

  private assignment(node: as.BinaryExpression): Expression {
    const place = this.place(node.left);
    const value = this.expression(node.right, place.type);
    return place.write(place.parts, value, this.isUsed(node));
  }

  /** Whether anyone gets the value of an assignment: the compiler gives those that are statements no type. */
  private isUsed(node: as.Expression): boolean {
    return this.typeOf(node).kind !== "void";
  }

  /**
   * AssemblyScript takes `place op= value` for `place = place op value`: what the place is made of is evaluated twice,
   * and the old value is read before the right side runs.
   */
  private compoundAssignment(node: as.BinaryExpression, operator: string): Expression {
    const span = spanOf(node);
    const place = this.place(node.left);
    const kind = BINARY_OVERLOADS.get(operator);
    const isOverloaded = kind !== undefined && this.overload(place.type, kind) !== null;
    if (!isOverloaded && place.target !== null && place.parts.every(isQuiet)) {
      const value = this.expression(node.right);
      return {
        kind: "assignment",
        target: place.target,
        operator,
        prefix: false,
        value,
        type: this.typeOf(node),
        span,
      };
    }
    const old = place.read(this.place(node.left).parts);
    const right = this.expression(node.right);
    const value: Expression = (kind === undefined ? null : this.overloadCall(old, kind, [old, right], span)) ?? {
      kind: "operation",
      operator,
      operands: [old, typed(right, place.type.kind === "number" ? place.type : right.type)],
      type: place.type,
      span,
    };
    return place.write(place.parts, value, this.isUsed(node));
  }

  /** `++` and `--`. */
  private update(node: as.UnaryExpression): Expression {
    const span = spanOf(node);
    const isIncrement = node.operator === Token.Plus_Plus;
    const isPrefix = node.kind === NodeKind.UnaryPrefix;
    const place = this.place(node.operand);
    const kind = isIncrement
      ? isPrefix
        ? OperatorKind.PrefixInc
        : OperatorKind.PostfixInc
      : isPrefix
        ? OperatorKind.PrefixDec
        : OperatorKind.PostfixDec;
    const overload = this.overload(place.type, kind);
    if (overload !== null && !overload.is(CommonFlags.Instance)) {
      // A static operator's result is that of the expression; nothing is assigned.
      return this.overloadCall(place.read(place.parts), kind, [place.read(place.parts)], span)!;
    }
    if (overload === null && place.target !== null && place.parts.every(isQuiet)) {
      const operator = isIncrement ? "++" : "--";
      const type = this.typeOf(node);
      return { kind: "assignment", target: place.target, operator, prefix: isPrefix, value: null, type, span };
    }
    const changed = (old: Expression): Expression =>
      this.overloadCall(old, kind, [old], span) ?? {
        kind: "operation",
        operator: isIncrement ? "+" : "-",
        operands: [old, { kind: "constant", text: "1", type: place.type, span }],
        type: place.type,
        span,
      };
    if (isPrefix || !this.isUsed(node)) {
      const old = place.read(this.place(node.operand).parts);
      return place.write(place.parts, changed(old), this.isUsed(node));
    }
    if (place.parts.length === 0) {
      const old = place.read([]);
      const written = place.write([], changed(place.read([])), true);
      return this.made("before", [old, written], old.type, span, ([value]) => [
        { kind: "return", value: value!, span },
      ]);
    }
    const { parts } = place;
    const inputs = [...parts, ...this.place(node.operand).parts];
    return this.made("postfix", inputs, place.type, span, (given) => {
      const local: Local = { name: "old", type: place.type, span };
      const old: Expression = { kind: "local", local, type: place.type, span };
      const initializer = place.read(given.slice(parts.length));
      const expression = place.write(given.slice(0, parts.length), changed(old), false);
      return [
        { kind: "variable", local, initializer, annotated: true, constant: true, span },
        { kind: "expression", expression, span },
        { kind: "return", value: old, span },
      ];
    });
  }

  /** What stands on the left of an assignment. */
  private place(node: as.Expression): Place {
    const inner = withoutParentheses(node);
    const span = spanOf(inner);
    if (inner.kind === NodeKind.Identifier) {
      const local = this.find((inner as as.IdentifierExpression).text);
      if (local !== null) return this.simplePlace({ kind: "local", local }, local.type, span);
    }
    if (inner.kind === NodeKind.ElementAccess) return this.elementPlace(inner as as.ElementAccessExpression);
    const { target } = this.factsOf(inner);
    if (target?.kind === ElementKind.Global && isApplication(sourcePath(target as as.Global))) {
      const global = this.lowering.global(target as as.Global, span);
      return this.simplePlace({ kind: "global", global }, global.type, span);
    }
    if (target?.kind === ElementKind.Property) {
      const property = target as as.Property;
      const objectNode =
        inner.kind === NodeKind.PropertyAccess ? (inner as as.PropertyAccessExpression).expression : null;
      if (property.is(CommonFlags.Instance) && objectNode !== null) {
        const object = this.expression(objectNode);
        if (isOwnField(property)) return this.fieldPlace(object, this.lowering.field(property, span), span);
        if (isApplication(sourcePath(property)))
          return this.accessorPlace(property, object, isSuperNode(objectNode), span);
        if (objectNode.kind === NodeKind.This && sourcePath(property) === ERRORS)
          return this.errorPropertyPlace(property, object, span);
        return this.libraryPropertyPlace(property, object, span);
      }
      return this.accessorPlace(property, null, false, span);
    }
    throw new Refusal("not_sliced_syntax", { message: "An assignment to this can't be followed yet.", primary: span });
  }

  private simplePlace(target: Extract<AssignmentTarget, { kind: "local" | "global" }>, type: Type, span: Span): Place {
    return {
      type,
      parts: [],
      target,
      read: () =>
        target.kind === "local"
          ? { kind: "local", local: target.local, type, span }
          : { kind: "global", global: target.global, type, span },
      write: (_parts, value, used) => assign(target, value, used ? type : VOID),
    };
  }

  private fieldPlace(object: Expression, field: FieldDeclaration, span: Span): Place {
    return {
      type: field.type,
      parts: [object],
      target: { kind: "field", object, field },
      read: ([given]) => ({ kind: "field", object: given!, field, type: field.type, span }),
      write: ([given], value, used) =>
        assign({ kind: "field", object: given!, field }, value, used ? field.type : VOID),
    };
  }

  private elementPlace(node: as.ElementAccessExpression): Place {
    const span = spanOf(node);
    const container = this.expression(node.expression);
    const index = this.expression(node.elementExpression);
    const getter = this.overload(container.type, OperatorKind.IndexedGet);
    const setter = this.overload(container.type, OperatorKind.IndexedSet);
    if (getter !== null && setter !== null) {
      const type = this.lowering.type(getter.signature.returnType, span);
      const set = (object: Expression, at: Expression, value: Expression): Expression =>
        this.methodCall(setter, object, [at, value], span, false);
      return {
        type,
        parts: [container, index],
        target: null,
        read: ([object, at]) => this.methodCall(getter, object!, [at!], span, false),
        // The value of `object[index] = value` is read from the object again.
        write: ([object, at], value, used) =>
          used
            ? this.made("assigned", [object!, at!, value], type, span, ([o, i, v]) => [
                { kind: "expression", expression: set(o!, i!, v!), span },
                { kind: "return", value: this.methodCall(getter, o!, [i!], span, false), span },
              ])
            : set(object!, at!, value),
      };
    }
    const member = this.memberOf(container, "[]", span);
    const containerType = nonNullable(container.type);
    const type = this.factsOf(node).type === undefined ? elementType(containerType) : this.typeOf(node);
    if (type === null) throw this.unknownMember("", "this element", span);
    return {
      type,
      parts: [container, index],
      target: { kind: "element", member, container, index },
      read: ([object, at]) => libraryCall(member, object!, [at!], type, span),
      write: ([object, at], value, used) =>
        assign({ kind: "element", member, container: object!, index: at! }, value, used ? type : VOID),
    };
  }

  private accessorPlace(property: as.Property, object: Expression | null, viaSuper: boolean, span: Span): Place {
    const { getterInstance: getter, setterInstance: setter } = property;
    if (setter === null)
      throw new Refusal("not_sliced_syntax", {
        message: "An assignment to this can't be followed yet.",
        primary: span,
      });
    const type = this.lowering.type(setter.signature.parameterTypes[0]!, span);
    return {
      type,
      parts: object === null ? [] : [object],
      target: null,
      read: ([given]) => {
        if (getter === null)
          throw new Refusal("not_sliced_syntax", { message: "What this reads can't be followed yet.", primary: span });
        return this.methodCall(getter, given ?? null, [], span, viaSuper);
      },
      write: ([given], value, used) => {
        // AssemblyScript calls an overridden setter through `super` as if it were through `this`, but a getter not.
        const owner = viaSuper && given !== undefined ? this.asOwner(given, setter, span) : (given ?? null);
        if (owner !== null) return this.methodCall(setter, owner, [value], span, false, used ? type : VOID);
        if (!used) return this.methodCall(setter, null, [value], span, false);
        return this.made("assigned", [typed(value, type)], type, span, ([written]) => [
          { kind: "expression", expression: this.methodCall(setter, null, [written!], span, false), span },
          { kind: "return", value: written!, span },
        ]);
      },
    };
  }

  /** `this.name` and `this.message` of the application's own errors. Nothing that is followed reads them: nothing is written. */
  private errorPropertyPlace(property: as.Property, object: Expression, span: Span): Place {
    const type = this.lowering.type(property.type, span);
    return {
      type,
      parts: [],
      target: null,
      read: () => this.libraryProperty(object, property.name, type, span),
      write: (_parts, value) => value,
    };
  }

  /** `length` of an array, the only property of the library that can be assigned. */
  private libraryPropertyPlace(property: as.Property, object: Expression, span: Span): Place {
    const member = this.memberOf(object, `${property.name}=`, span);
    const type: Type = { kind: "number", name: "i32" };
    return {
      type,
      parts: [object],
      target: null,
      read: ([given]) => this.libraryProperty(given!, property.name, type, span),
      write: ([given], value, used) => libraryCall(member, given!, [value], used ? type : VOID, span),
    };
  }

  private asOwner(object: Expression, callee: as.Function, span: Span): Expression {
    const owner = callee.getBoundClassOrInterface();
    if (owner === null) throw new Error("an accessor has a class");
    return { kind: "cast", operand: object, type: this.lowering.type(owner.type, span), span };
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
        if (object !== null && isOwnField(property)) {
          const field = this.lowering.field(property, span);
          return { kind: "field", object, field, type: this.typeOf(node, field.type), span };
        }
        const getter = property.getterInstance;
        if (getter !== null && isApplication(sourcePath(getter)))
          return this.methodCall(getter, object, [], span, isSuperNode(objectNode));
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

  private libraryProperty(object: Expression, name: string, type: Type, span: Span): Expression {
    return libraryCall(this.memberOf(object, name, span), object, [], type, span);
  }

  private element(node: as.ElementAccessExpression): Expression {
    const span = spanOf(node);
    const enumeration = this.factsOf(withoutParentheses(node.expression)).target;
    if (enumeration?.kind === ElementKind.Enum)
      return this.enumText(enumeration as as.Enum, this.expression(node.elementExpression), span);
    const container = this.expression(node.expression);
    const index = this.expression(node.elementExpression);
    const overloaded = this.overloadCall(container, OperatorKind.IndexedGet, [container, index], span);
    if (overloaded !== null) return overloaded;
    return libraryCall(this.memberOf(container, "[]", span), container, [index], this.typeOf(node), span);
  }

  /** `Kind[value]`: of several names with the value the last. */
  private enumText(source: as.Enum, value: Expression, span: Span): Expression {
    const values = [...(source.members?.values() ?? [])].filter((member) => member.kind === ElementKind.EnumValue);
    return this.made(`${source.name}_text`, [value], STRING, span, ([given]) => [
      ...values.toReversed().map((member): Statement => {
        const global = this.lowering.enumValue(member as as.EnumValue);
        const compared: Expression[] = [given!, { kind: "global", global, type: global.type, span }];
        const text: Expression = { kind: "constant", text: JSON.stringify(member.name), type: STRING, span };
        return {
          kind: "if",
          condition: { kind: "operation", operator: "==", operands: compared, type: BOOL, span },
          consequent: [{ kind: "return", value: text, span }],
          alternative: [],
          span,
        };
      }),
      { kind: "throw", message: { kind: "constant", text: '""', type: STRING, span }, span },
    ]);
  }

  private memberOf(object: Expression, name: string, span: Span): LibraryMember {
    const owner = libraryOwner(nonNullable(object.type));
    const member = owner === null ? null : libraryMember(owner, name);
    if (member === null) throw this.unknownMember(owner ?? "", name, span);
    return member;
  }

  /** What a member of the library calls by itself on elements and arguments: operators that compare, `toString`. */
  private hiddenCalls(member: LibraryMember, container: Expression, args: number, span: Span): FunctionDeclaration[] {
    const type = nonNullable(container.type);
    if (type.kind !== "library") return [];
    const element = nonNullable(type.arguments[0] ?? VOID);
    if (member.name === "join" || member.name === "toString") {
      if (element.kind === "class") {
        const toString = this.lowering.method(element.declaration, "toString");
        if (toString !== null) return this.lowering.callees(toString);
      }
      if (
        element.kind === "class" ||
        element.kind === "library" ||
        element.kind === "function" ||
        element.kind === "table"
      )
        throw new Refusal("not_sliced_library", {
          message: `${member.name}() on an array of objects can't be followed yet.`,
          primary: span,
          help: "Turn the elements into text first, with map().",
        });
      return [];
    }
    if (element.kind !== "class") return [];
    const called = (operators: readonly (readonly [OperatorKind, string])[]): FunctionDeclaration[] =>
      operators.flatMap(([kind, text]) => this.hiddenOperator(element.declaration, kind, text, member.name, span));
    if ((type.name === "Map" || type.name === "Set") && KEYED_MEMBERS.has(member.name)) {
      const equal = this.lowering.operator(element.declaration, OperatorKind.Eq);
      if (equal === null) return [];
      throw new Refusal("not_sliced_operator_overload", {
        message: `Objects of ${element.declaration.name} as keys can't be followed: which of several equal ones is found hangs on their addresses.`,
        primary: span,
        related: [{ span: spanOf(equal.declaration.name), label: "makes different objects equal" }],
        help: "Use a text or a number made of the object as the key.",
      });
    }
    if (COMPARING_MEMBERS.has(member.name)) return called([[OperatorKind.Eq, "=="]]);
    if (member.name === "sort" && args === 0)
      return called([
        [OperatorKind.Gt, ">"],
        [OperatorKind.Lt, "<"],
      ]);
    return [];
  }

  private hiddenOperator(
    owner: ClassDeclaration,
    kind: OperatorKind,
    text: string,
    member: string,
    span: Span,
  ): FunctionDeclaration[] {
    const source = this.lowering.operator(owner, kind);
    if (source === null) return [];
    if (!source.is(CommonFlags.Instance))
      throw new Refusal("not_sliced_operator_overload", {
        message: `The static operator of ${owner.name} that ${member} calls can't be followed yet.`,
        primary: span,
        related: [{ span: spanOf(source.declaration.name), label: "the operator" }],
        help: "Declare the operator as a method, without `static`.",
      });
    const callees = this.lowering.callees(source);
    for (const callee of callees) callee.overridable = true;
    callees[0]!.operator = text;
    return callees;
  }

  private unknownMember(owner: string, name: string, span: Span): Refusal {
    const shown = name === "new" ? `new ${owner}` : owner === "" ? name : `${owner}.${name}`;
    const reason = refusedMember(owner, name);
    const why = reason === null ? " yet" : `: ${reason}`;
    return new Refusal("not_sliced_library", {
      message: `What ${shown} does can't be followed${why}.`,
      primary: span,
      help: "Use other members of the library, or a function of your own.",
    });
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
      const { declaration } = type;
      const constructor = this.lowering.function(callee);
      return this.withArguments(callee, null, node.args, span, (_self, args) => ({
        kind: "construction",
        declaration,
        callee: constructor,
        arguments: args,
        type,
        span,
      }));
    }
    if (type.kind === "table") return this.newTable(node, type);
    if (type.kind !== "library") throw this.unknownMember(instance.prototype.name, "new", span);
    const member = libraryMember(type.name, "new");
    if (member === null) throw this.unknownMember(type.name, "new", span);
    return {
      kind: "library",
      member,
      receiver: null,
      name: type.name,
      typeArguments: type.arguments,
      arguments: node.args.map((argument) => this.expression(argument)),
      calls: [],
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
        arguments: this.allArguments(base, node.args, span),
        isSuper: true,
        type: VOID,
        span,
      };
    }
    if (facts.builtin !== undefined) return this.builtinCall(node, facts.builtin);
    if (facts.indirect !== undefined) {
      const callee = this.expression(calleeNode);
      const args = this.packed(facts.indirect, node.args);
      const type = this.typeOf(node);
      const indirect = (called: Expression, given: readonly Expression[]): Expression => ({
        kind: "indirect-call",
        callee: called,
        arguments: given,
        type,
        span,
      });
      if (isQuiet(callee)) return indirect(callee, args);
      const { parameterTypes, returnType } = facts.indirect;
      const inputs = args.map((argument, index) => typed(argument, this.lowering.type(parameterTypes[index]!, span)));
      return this.made(
        "called",
        [callee, ...inputs],
        this.lowering.type(returnType, span),
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
    const callee = this.resolvedCallee(node, calleeNode);
    if (sourcePath(callee).startsWith(SDK_LIBRARY)) return this.sdkCall(node, calleeNode, callee);
    const receiverNode =
      callee.is(CommonFlags.Instance) && calleeNode.kind === NodeKind.PropertyAccess
        ? (calleeNode as as.PropertyAccessExpression).expression
        : null;
    const receiver = receiverNode === null ? null : this.expression(receiverNode);
    if (isApplication(sourcePath(callee))) {
      const viaSuper = isSuperNode(receiverNode);
      return this.withArguments(callee, receiver, node.args, span, (self, args) =>
        this.methodCall(callee, self, args, span, viaSuper),
      );
    }
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
      if (receiver === null) throw this.unknownMember("", callee.prototype.name, span);
      const name = callee.prototype.name;
      const member = this.memberOf(receiver, name, span);
      const calls = this.hiddenCalls(member, receiver, args.length, span);
      const result = this.lowering.type(callee.signature.returnType, span);
      return { kind: "library", member, receiver, name, typeArguments: [], arguments: args, calls, type: result, span };
    }
    const callees = viaSuper ? [this.lowering.function(callee)] : this.lowering.callees(callee);
    const result = callee.is(CommonFlags.Constructor) ? VOID : callees[0]!.result;
    return { kind: "call", callees, receiver, arguments: args, isSuper: viaSuper, type: type ?? result, span };
  }

  /** The arguments as written, those of a rest parameter as one array. */
  private packed(signature: as.Signature, nodes: readonly as.Expression[]): Expression[] {
    const count = signature.parameterTypes.length;
    const restType = signature.parameterTypes.at(-1);
    if (!signature.hasRest || nodes.length < count || restType === undefined)
      return nodes.map((node) => this.expression(node));
    const rest = nodes.slice(count - 1);
    const span = spanOf(rest[0]!);
    const type = this.lowering.type(restType, span);
    const element = elementType(type) ?? undefined;
    const elements = rest.map((node) => this.expression(node, element));
    return [...nodes.slice(0, count - 1).map((node) => this.expression(node)), { kind: "array", elements, type, span }];
  }

  /** What a parameter has if the call leaves it out; it sees the parameters before it, and `this`. */
  private defaultValue(
    callee: as.Function,
    node: as.ParameterNode,
    type: Type,
    scope: ReadonlyMap<string, Local>,
    self: Local | null,
  ): Expression | null {
    if (node.parameterKind === ParameterKind.Rest) return { kind: "array", elements: [], type, span: spanOf(node) };
    if (node.initializer === null) return null;
    // The compiler compiles it for each instance of the function: in a function that fills in what a call leaves out, or inlined.
    const { facts } = this.lowering;
    const value = withoutParentheses(node.initializer);
    const instances = [callee.varargsStub, callee].filter((instance) => instance !== null);
    const source = instances.find((instance) => facts.wasCompiled(instance, value)) ?? null;
    return new FunctionLowering(this.lowering, source, self, true, scope).expression(node.initializer, type);
  }

  /** All arguments of a call whose defaults hang on nothing but the module. */
  private allArguments(callee: as.Function, nodes: readonly as.Expression[], span: Span): Expression[] {
    const given = this.packed(callee.signature, nodes);
    const { defaults, inputs } = this.omitted(callee, given.length, null);
    const own = new Set(inputs);
    for (const { value } of defaults) {
      walkExpression(value, (expression) => {
        if (expression.kind === "local" && own.has(expression.local))
          throw new Refusal("not_sliced_syntax", {
            message: "A call of the base constructor whose default values hang on other arguments can't be followed.",
            primary: span,
            related: [{ span: value.span, label: "the default value" }],
            help: "Pass all arguments.",
          });
      });
    }
    return [...given, ...defaults.map(({ value }) => value)];
  }

  /** The parameters that a call leaves out, with their defaults over variables for those before them. */
  private omitted(
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
      const local: Local = { name: node.name.text, type: this.lowering.type(source, spanOf(node)), span: spanOf(node) };
      if (index >= given) {
        const value = this.defaultValue(callee, node, local.type, scope, self);
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
  private withArguments(
    callee: as.Function,
    receiver: Expression | null,
    nodes: readonly as.Expression[],
    span: Span,
    call: (receiver: Expression | null, args: readonly Expression[]) => Expression,
  ): Expression {
    const given = this.packed(callee.signature, nodes);
    if (given.length >= callee.signature.parameterTypes.length) return call(receiver, given);
    const self: Local | null = receiver === null ? null : { name: "self", type: receiver.type, span: receiver.span };
    const { inputs, defaults } = this.omitted(callee, given.length, self);
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
    const made = this.lowering.synthetic(name, parameters, expression.type, body, span);
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
        (name === "get" ||
          name === "has" ||
          name === "put" ||
          name === "delete" ||
          (this.lowering.asKnown && (name === "touch" || name === "willPut" || name === "willDelete")))
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
    } else if (name === "caller") {
      return { kind: "caller", type: this.lowering.type(callee.signature.returnType, span), span };
    } else if (name === "random") {
      const site = this.lowering.drawSite(span);
      return { kind: "draw", source: "random", site, type: { kind: "number", name: "f64" }, span };
    } else if (name === "uuid") {
      return { kind: "draw", source: "uuid", site: this.lowering.drawSite(span), type: STRING, span };
    } else if (name === "abort") {
      return { kind: "abort", arguments: args, type: VOID, span };
    }
    throw this.unknownMember("", name, span);
  }

  private builtinCall(node: as.CallExpression, builtin: as.FunctionPrototype): Expression {
    const span = spanOf(node);
    const [first] = node.args;
    if (builtin.name === "unchecked" && first !== undefined) return this.expression(first);
    const owner = builtin.parent.kind === ElementKind.File ? "" : builtin.parent.name;
    const member = libraryMember(owner, builtin.name);
    if (member === null) throw this.unknownMember(owner, builtin.name, span);
    // The message of an assertion that always holds is not compiled.
    const args = builtin.name === "assert" ? node.args.filter((argument) => this.wasCompiled(argument)) : node.args;
    return {
      kind: "library",
      member,
      receiver: null,
      name: textOf(node.expression),
      typeArguments: (this.factsOf(node).typeArguments ?? []).map((type) => this.lowering.type(type, span)),
      arguments: args.map((argument) => this.expression(argument)),
      calls: [],
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
    if (member === null) throw this.unknownMember(owner, name, span);
    const args = node.args.map((argument) => this.expression(argument));
    return {
      kind: "library",
      member,
      receiver,
      name: receiver === null ? textOf(calleeNode) : name,
      typeArguments: (callee.typeArguments ?? []).map((type) => this.lowering.type(type, span)),
      arguments: args,
      calls: receiver === null ? [] : this.hiddenCalls(member, receiver, args.length, span),
      type: this.typeOf(node),
      span,
    };
  }
}

/** The library's file of errors. */
const ERRORS = "~lib/error";

function noText(span: Span): Expression {
  return { kind: "constant", text: '""', type: STRING, span };
}

function isSuperNode(node: as.Expression | null): boolean {
  return node !== null && withoutParentheses(node).kind === NodeKind.Super;
}

/** Library members that compare elements with the `==` of their class. */
const COMPARING_MEMBERS: ReadonlySet<string> = new Set(["includes", "indexOf", "lastIndexOf"]);

/** Members of maps and sets that look for a key. */
const KEYED_MEMBERS: ReadonlySet<string> = new Set(["get", "set", "has", "delete", "add"]);

/** Raw text of a template as text of one without a tag. */
function escaped(raw: string): string {
  return raw.replaceAll("\\", "\\\\").replaceAll("`", "\\`").replaceAll("${", "\\${");
}

/** A field of a class; what an interface declares as a field is a pair of accessors. */
function isOwnField(property: as.Property): boolean {
  return property.isField && property.parent.kind === ElementKind.Class && isApplication(sourcePath(property));
}

function assign(target: AssignmentTarget, value: Expression, type: Type): Expression {
  return { kind: "assignment", target, operator: "", prefix: false, value, type, span: value.span };
}

function libraryCall(
  member: LibraryMember,
  receiver: Expression,
  args: readonly Expression[],
  type: Type,
  span: Span,
): Expression {
  const name = member.name;
  return { kind: "library", member, receiver, name, typeArguments: [], arguments: args, calls: [], type, span };
}

/** The expression as a value of the type; where its own is known to be the same it stays as it is. */
function typed(expression: Expression, type: Type): Expression {
  if (expression.kind === "constant") return { ...expression, type };
  if (type.kind === "number") {
    if (expression.type.kind === "number" && expression.type.name === type.name) return expression;
    return { kind: "cast", operand: expression, type, span: expression.span };
  }
  return { ...expression, type };
}

/** What `typeof` says. */
function typeName(type: Type): string {
  switch (type.kind) {
    case "void":
      return "undefined";
    case "bool":
      return "boolean";
    case "number":
    case "string":
    case "function":
      return type.kind;
    case "class":
    case "library":
    case "table":
      return "object";
    case "nullable":
      return typeName(type.inner);
  }
}

/** Of the elements of a container of the library. */
function elementType(type: Type): Type | null {
  if (type.kind !== "library") return null;
  const name = TYPED_ARRAY_ELEMENTS.get(type.name);
  if (name !== undefined) return { kind: "number", name };
  return type.arguments[type.name === "Map" ? 1 : 0] ?? null;
}

const TYPED_ARRAY_ELEMENTS: ReadonlyMap<string, NumberName> = new Map([
  ["Int8Array", "i8"],
  ["Uint8Array", "u8"],
  ["Uint8ClampedArray", "u8"],
  ["Int16Array", "i16"],
  ["Uint16Array", "u16"],
  ["Int32Array", "i32"],
  ["Uint32Array", "u32"],
  ["Int64Array", "i64"],
  ["Uint64Array", "u64"],
  ["Float32Array", "f32"],
  ["Float64Array", "f64"],
]);

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
    case "caller":
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

const UNARY_OVERLOADS: ReadonlyMap<Token, OperatorKind> = new Map([
  [Token.Exclamation, OperatorKind.Not],
  [Token.Minus, OperatorKind.Minus],
  [Token.Plus, OperatorKind.Plus],
  [Token.Tilde, OperatorKind.BitwiseNot],
]);

const BINARY_OVERLOADS: ReadonlyMap<string, OperatorKind> = new Map([
  ["+", OperatorKind.Add],
  ["-", OperatorKind.Sub],
  ["*", OperatorKind.Mul],
  ["**", OperatorKind.Pow],
  ["/", OperatorKind.Div],
  ["%", OperatorKind.Rem],
  ["<<", OperatorKind.BitwiseShl],
  [">>", OperatorKind.BitwiseShr],
  [">>>", OperatorKind.BitwiseShrU],
  ["&", OperatorKind.BitwiseAnd],
  ["|", OperatorKind.BitwiseOr],
  ["^", OperatorKind.BitwiseXor],
  ["==", OperatorKind.Eq],
  ["===", OperatorKind.Eq],
  ["!=", OperatorKind.Ne],
  ["!==", OperatorKind.Ne],
  ["<", OperatorKind.Lt],
  ["<=", OperatorKind.Le],
  [">", OperatorKind.Gt],
  [">=", OperatorKind.Ge],
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
