/**
 * Texts where the type is a union of texts: each has to be one of them. The compiler knows such a type as `string`, so this
 * check follows the types as they are written. It checks a text that is written there. The handler checks a computed text as
 * it runs, unless the types show that it is right.
 */
import { diagnostic } from "../diagnostics/catalogue.ts";
import { closest } from "../diagnostics/closest.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { type as, AssertionKind, ElementKind, LiteralKind, NodeKind, Token } from "../parse/assemblyscript.ts";
import { childrenOf, withoutParentheses } from "../parse/children.ts";
import type { CompiledProgram } from "../parse/compile.ts";
import { isDevelopers } from "../parse/graft.ts";
import type { Facts, FactsCompiler, NodeFacts } from "../parse/facts.ts";
import { RecordSpreadExpression } from "../parse/forms-nodes.ts";
import { hasTexts } from "../parse/forms-types.ts";
import { entriesOf } from "../parse/map-entries.ts";
import { spanOfRange } from "../parse/span.ts";
import { elementOf, textsOf, withoutAliases, type WrittenType } from "../parse/written-types.ts";

export interface Texts {
  /** The mistakes. */
  readonly found: readonly Diagnostic[];
  /** The expressions whose values the handler checks, with the texts that they may have. */
  readonly computed: ReadonlyMap<as.Node, readonly string[]>;
}

/** Checks the texts of the code that was compiled. */
export function checkTexts({ program, compiler }: CompiledProgram<FactsCompiler>): Texts {
  const sources = program.sources.filter((source) => isDevelopers(source));
  if (compiler === null || !sources.some((source) => hasTexts(source))) return { found: [], computed: new Map() };
  const check = new TextCheck(program, compiler.facts);
  for (const source of sources) check.file(source);
  return check;
}

/** The types of names, as far as they are written. */
type Names = Map<string, WrittenType | null>;

class TextCheck implements Texts {
  readonly found: Diagnostic[] = [];
  readonly computed = new Map<as.Node, readonly string[]>();
  readonly #program: as.Program;
  readonly #facts: Facts;
  #names: readonly Names[] = [];
  #scope!: as.Element;
  #result: WrittenType | null = null;

  constructor(program: as.Program, facts: Facts) {
    this.#program = program;
    this.#facts = facts;
  }

  file(source: as.Source): void {
    const file = this.#program.filesByName.get(source.internalPath);
    if (file === undefined) return;
    this.#scope = file;
    this.#within(() => source.statements.forEach((statement) => this.#visit(statement)));
  }

  #within(action: () => void): void {
    const outer = this.#names;
    this.#names = [...outer, new Map()];
    action();
    this.#names = outer;
  }

  #factsOf(node: as.Node): NodeFacts {
    return this.#facts.getAnywhere(node);
  }

  #written(node: as.TypeNode | null): WrittenType | null {
    return node === null ? null : { node, scope: this.#scope };
  }

  #visit(node: as.Node): void {
    switch (node.kind) {
      case NodeKind.FunctionDeclaration:
      case NodeKind.MethodDeclaration:
        return this.#function(node as as.FunctionDeclaration);
      case NodeKind.Function:
        return this.#function((node as as.FunctionExpression).declaration);
      case NodeKind.Block:
      case NodeKind.For:
        return this.#within(() => childrenOf(node).forEach((child) => this.#visit(child)));
      case NodeKind.VariableDeclaration: {
        const { name, type, initializer } = node as as.VariableDeclaration;
        const written = type === null ? (initializer === null ? null : this.#typeOf(initializer)) : this.#written(type);
        this.#names.at(-1)!.set(name.text, written);
        if (initializer !== null && type !== null) this.#become(initializer, written);
        break;
      }
      case NodeKind.FieldDeclaration: {
        const { type, initializer } = node as as.FieldDeclaration;
        if (initializer !== null) this.#become(initializer, this.#written(type));
        break;
      }
      case NodeKind.Return: {
        const { value } = node as as.ReturnStatement;
        if (value !== null) this.#become(value, this.#result);
        break;
      }
      case NodeKind.Switch: {
        const { condition, cases } = node as as.SwitchStatement;
        const written = this.#typeOf(condition);
        for (const { label } of cases) if (label !== null) this.#expect(label, written);
        break;
      }
      case NodeKind.Binary: {
        const { operator, left, right } = node as as.BinaryExpression;
        if (operator === Token.Equals) this.#become(right, this.#typeOf(left));
        else if (operator === Token.Plus_Equals) this.#compute(node, this.#typeOf(left));
        else if (COMPARISONS.has(operator)) {
          this.#expect(right, this.#typeOf(left));
          this.#expect(left, this.#typeOf(right));
        }
        break;
      }
      case NodeKind.Assertion: {
        const { expression, toType } = node as as.AssertionExpression;
        this.#become(expression, this.#written(toType));
        break;
      }
      case NodeKind.Call:
        this.#call(node as as.CallExpression);
        break;
      case NodeKind.New: {
        const created = this.#factsOf(node).type?.getClass();
        const constructor = created?.constructorInstance?.prototype;
        if (constructor !== undefined) this.#given((node as as.NewExpression).args, constructor, constructor.parent);
        break;
      }
      default:
        if (isObjectLiteral(node)) this.#fields(node);
        break;
    }
    for (const child of childrenOf(node)) this.#visit(child);
  }

  #function({ signature, body }: as.FunctionDeclaration): void {
    const outer = this.#result;
    this.#result = this.#written(signature.returnType);
    this.#within(() => {
      for (const parameter of signature.parameters) {
        const written = this.#written(parameter.type);
        this.#names.at(-1)!.set(parameter.name.text, written);
        if (parameter.initializer === null) continue;
        this.#become(parameter.initializer, written);
        this.#visit(parameter.initializer);
      }
      if (body?.kind === NodeKind.Expression) this.#become((body as as.ExpressionStatement).expression, this.#result);
      if (body !== null) this.#visit(body);
    });
    this.#result = outer;
  }

  #call({ expression, args }: as.CallExpression): void {
    const callee = this.#callee(expression);
    if (callee === null) return;
    this.#given(args, callee, callee);
    const inner = withoutParentheses(expression);
    const argument = STORING.get(callee.internalName);
    if (argument === undefined || inner.kind !== NodeKind.PropertyAccess) return;
    const container = this.#typeOf((inner as as.PropertyAccessExpression).expression);
    if (container === null) return;
    const element = elementOf(this.#program, container, argument);
    for (const stored of args.slice(argument)) this.#become(stored, element);
  }

  #callee(expression: as.Expression): as.FunctionPrototype | null {
    const { target } = this.#factsOf(withoutParentheses(expression));
    if (target?.kind === ElementKind.FunctionPrototype) return target as as.FunctionPrototype;
    return target?.kind === ElementKind.Function ? (target as as.Function).prototype : null;
  }

  #given(args: readonly as.Expression[], callee: as.FunctionPrototype, scope: as.Element): void {
    const { parameters } = callee.functionTypeNode;
    args.forEach((argument, index) => {
      const parameter = parameters[index];
      if (parameter !== undefined) this.#become(argument, { node: parameter.type, scope });
    });
  }

  #fields(node: ObjectLiteral): void {
    const made = this.#factsOf(node).type?.getClass() ?? null;
    for (const { name, value } of givenIn(node)) {
      const member = name === null ? null : made?.getMember(name.text);
      if (member?.kind === ElementKind.PropertyPrototype) this.#become(value, declared(member as as.PropertyPrototype));
    }
  }

  /** Checks an expression whose value becomes one of the type. */
  #become(expression: as.Expression, wanted: WrittenType | null): void {
    this.#expect(expression, wanted);
    this.#compute(expression, wanted);
    const node = withoutParentheses(expression);
    if (wanted === null || !isObjectLiteral(node) || entriesOf(this.#factsOf(node).type ?? null) === null) return;
    const entry = elementOf(this.#program, wanted, 1);
    // variant: entry-text-checked
    for (const { value } of givenIn(node)) this.#become(value, entry);
  }

  /** Has the handler check the value of an expression, unless it is surely one of the texts. */
  #compute(expression: as.Expression, wanted: WrittenType | null): void {
    if (wanted === null) return;
    const known = textsOf(this.#program, withoutAliases(this.#program, wanted));
    if (known.kind !== "texts") return;
    const node = withoutParentheses(expression);
    if (node.kind === NodeKind.Ternary) {
      const { ifThen, ifElse } = node as as.TernaryExpression;
      this.#compute(ifThen, wanted);
      return this.#compute(ifElse, wanted);
    }
    // One that is written was checked.
    if (node.kind === NodeKind.Null || isWrittenText(node)) return;
    const own = this.#typeOf(node);
    const texts = own === null ? null : textsOf(this.#program, withoutAliases(this.#program, own));
    if (texts?.kind === "texts" && texts.texts.every((text) => known.texts.includes(text))) return;
    // variant: computed-text-checked
    this.computed.set(node, known.texts);
  }

  /** Checks the texts that are written in an expression, where those of the type are wanted. */
  #expect(expression: as.Expression, wanted: WrittenType | null): void {
    if (wanted === null) return;
    const node = withoutParentheses(expression);
    if (node.kind === NodeKind.Ternary) {
      const { ifThen, ifElse } = node as as.TernaryExpression;
      this.#expect(ifThen, wanted);
      return this.#expect(ifElse, wanted);
    }
    if (node.kind !== NodeKind.Literal) return;
    const { literalKind } = node as as.LiteralExpression;
    if (literalKind === LiteralKind.Array) {
      const element = elementOf(this.#program, wanted, 0);
      for (const part of (node as as.ArrayLiteralExpression).elementExpressions) this.#expect(part, element);
    }
    if (literalKind !== LiteralKind.String) return;
    const known = textsOf(this.#program, withoutAliases(this.#program, wanted));
    const { value } = node as as.StringLiteralExpression;
    if (known.kind !== "texts" || known.texts.includes(value)) return;
    const listed = known.texts.map((text) => JSON.stringify(text)).join(", ");
    const meant = closest(value, known.texts);
    const primary = spanOfRange(node.range);
    // variant: written-text-told
    this.found.push(
      diagnostic("unknown_text", {
        message: `The text ${JSON.stringify(value)} is not one of the type's texts: ${listed}.`,
        primary,
        help: "Write one of them, or add this text to the type.",
        fix:
          meant === null
            ? undefined
            : { title: `Write ${JSON.stringify(meant)}`, edits: [{ span: primary, text: JSON.stringify(meant) }] },
      }),
    );
  }

  /** The type of an expression, as far as it is written. */
  #typeOf(expression: as.Expression): WrittenType | null {
    const node = withoutParentheses(expression);
    switch (node.kind) {
      case NodeKind.Identifier: {
        const { text } = node as as.IdentifierExpression;
        const names = this.#names.findLast((scope) => scope.has(text));
        if (names !== undefined) return names.get(text) ?? null;
        const { target } = this.#factsOf(node);
        if (target?.kind !== ElementKind.Global) return null;
        const { type } = (target as as.Global).declaration as as.VariableDeclaration;
        return type === null ? null : { node: type, scope: (target as as.Global).parent };
      }
      case NodeKind.PropertyAccess: {
        const { target } = this.#factsOf(node);
        if (target?.kind === ElementKind.PropertyPrototype) return declared(target as as.PropertyPrototype);
        return target?.kind === ElementKind.Property ? declared((target as as.Property).prototype) : null;
      }
      case NodeKind.ElementAccess: {
        const { expression: container } = node as as.ElementAccessExpression;
        const written = this.#typeOf(container);
        const isMap = entriesOf(this.#factsOf(container).type ?? null) !== null;
        return written === null ? null : elementOf(this.#program, written, isMap ? 1 : 0);
      }
      case NodeKind.Call: {
        const callee = this.#callee((node as as.CallExpression).expression);
        return callee === null ? null : { node: callee.functionTypeNode.returnType, scope: callee };
      }
      case NodeKind.Assertion: {
        const { assertionKind, expression: inner, toType } = node as as.AssertionExpression;
        return assertionKind === AssertionKind.NonNull ? this.#typeOf(inner) : this.#written(toType);
      }
      default:
        return null;
    }
  }
}

type ObjectLiteral = as.ObjectLiteralExpression | RecordSpreadExpression;

function isObjectLiteral(node: as.Node): node is ObjectLiteral {
  if (node instanceof RecordSpreadExpression) return true;
  return node.kind === NodeKind.Literal && (node as as.LiteralExpression).literalKind === LiteralKind.Object;
}

/** The values that a literal gives, without those that it spreads; null: the name is computed. */
function givenIn(
  node: ObjectLiteral,
): readonly { readonly name: as.IdentifierExpression | null; readonly value: as.Expression }[] {
  if (!(node instanceof RecordSpreadExpression))
    return node.names.map((name, index) => ({ name, value: node.values[index]! }));
  return node.parts.flatMap((part) =>
    part.kind === "spread" ? [] : [{ name: part.kind === "field" ? part.name : null, value: part.value }],
  );
}

function isWrittenText(node: as.Expression): boolean {
  return node.kind === NodeKind.Literal && (node as as.LiteralExpression).literalKind === LiteralKind.String;
}

/** Methods that store what they are given, with the first argument that they store. It has the type argument of that index. */
const STORING: ReadonlyMap<string, number> = new Map([
  ["~lib/array/Array#push", 0],
  ["~lib/array/Array#unshift", 0],
  ["~lib/set/Set#add", 0],
  ["~lib/map/Map#set", 1],
]);

/** The type that a field, or what an accessor reads, is declared with. */
function declared({ fieldDeclaration, getterPrototype, parent }: as.PropertyPrototype): WrittenType | null {
  const node = fieldDeclaration?.type ?? getterPrototype?.functionTypeNode.returnType ?? null;
  return node === null ? null : { node, scope: parent };
}

const COMPARISONS: ReadonlySet<Token> = new Set([
  Token.Equals_Equals,
  Token.Equals_Equals_Equals,
  Token.Exclamation_Equals,
  Token.Exclamation_Equals_Equals,
]);
