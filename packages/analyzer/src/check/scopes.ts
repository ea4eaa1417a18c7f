/**
 * The names that a file uses, looked up in its scopes. This check refuses names of TypeScript and of platforms that
 * handlers don't have, and names that an inner function would have to capture. It refuses what is certain without types.
 * The compiler resolves the rest.
 */
import { diagnostic } from "../diagnostics/catalogue.ts";
import type { Diagnostic, Fix } from "../diagnostics/diagnostic.ts";
import { as, CommonFlags, NodeKind } from "../parse/assemblyscript.ts";
import { childrenOf } from "../parse/children.ts";
import { lambdaOf } from "../parse/expand/lambda.ts";
import { ObjectTypeNode, PredicateNode, TextsNode, partsOf } from "../parse/forms-types.ts";
import { CLOSURE } from "../parse/messages.ts";
import { spanOfRange, textOf } from "../parse/span.ts";
import { FOREIGN_NAMES, type ForeignName } from "./foreign-names.ts";

/** Names that only have to be written in another way, wherever they stand. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ["undefined", "null"],
  ["bigint", "i64"],
  ["ReadonlyArray", "Array"],
  ["ReadonlyMap", "Map"],
  ["ReadonlySet", "Set"],
]);

/** Types that say what a handler need not say of the type in them. */
const NEEDLESS: ReadonlySet<string> = new Set(["Readonly", "Awaited"]);

/** Undefined: nothing is certain to take the place of the name. */
function renamed(text: string, range: as.Range, type: as.NamedTypeNode | null): Fix | undefined {
  const [inner, ...others] = type?.typeArguments ?? [];
  const isNeedless = NEEDLESS.has(text) && inner !== undefined && others.length === 0;
  const name = isNeedless ? textOf(inner) : RENAMED.get(text);
  if (name === undefined) return undefined;
  return { title: `Write ${name}`, edits: [{ span: spanOfRange(isNeedless ? type!.range : range), text: name }] };
}

const TEMPLATE_TAG = {
  code: "template_tag",
  message: "A template can't have a tag.",
  help: 'Call the function with the text: `label(count + " items")`.',
} as const;

/** The compiler makes such a function of the type that is expected, which has no values. */
const LOST_DEFAULT = {
  code: "lost_default",
  message:
    "The default value of this parameter is lost: a function in this place is compiled with the parameters of the expected type.",
  help: "Declare the function with a name, and pass that name.",
} as const;

/** The most diagnostics about names for one file: the first ones. */
const MOST_NAMES = 200;

interface Local {
  readonly start: number;
  /** Its value may be known to the compiler, which then puts it in place of the name, also in an inner function. */
  readonly isConstant: boolean;
}

/** The declarations of a block, or of the parameters of a function. */
interface Scope {
  readonly outer: Scope | null;
  /** The function it belongs to; null at the top of a file. */
  readonly owner: as.Node | null;
  readonly locals: Map<string, Local>;
}

/** The diagnostics about the names in a file that parses. */
export function checkScopes(source: as.Source): Diagnostic[] {
  return new ScopeCheck().check(source);
}

class ScopeCheck {
  readonly #found: Diagnostic[] = [];

  check(source: as.Source): Diagnostic[] {
    const top: Scope = { outer: null, owner: null, locals: new Map() };
    this.#declareAll(source.statements, top);
    this.#visitAll(source.statements, top);
    return this.#found;
  }

  /** Declares the names that hold in a whole block: all but variables, which are declared where they stand. */
  #declareAll(statements: readonly as.Statement[], scope: Scope): void {
    const declare = ({ text, range }: as.IdentifierExpression): void => {
      scope.locals.set(text, { start: scope.owner === null ? 0 : range.start, isConstant: true });
    };
    for (const statement of statements) {
      if (statement.kind === NodeKind.Import) {
        const { declarations, namespaceName } = statement as as.ImportStatement;
        for (const { name } of declarations ?? []) declare(name);
        if (namespaceName !== null) declare(namespaceName);
      } else if (statement.kind === NodeKind.ExportDefault) {
        declare((statement as as.ExportDefaultStatement).declaration.name);
      } else if (statement.kind === NodeKind.Variable) {
        if (scope.owner === null)
          for (const { name } of (statement as as.VariableStatement).declarations) declare(name);
      } else if (statement instanceof as.DeclarationStatement) {
        declare(statement.name);
      }
    }
  }

  #visitAll(nodes: readonly as.Node[], scope: Scope): void {
    for (const node of nodes) this.#visit(node, scope);
  }

  #visit(node: as.Node, scope: Scope): void {
    if (this.#found.length >= MOST_NAMES) return;
    switch (node.kind) {
      case NodeKind.Import:
      case NodeKind.Export:
      case NodeKind.Break:
      case NodeKind.Continue:
        return;
      case NodeKind.Identifier:
        return this.#use(node as as.IdentifierExpression, scope);
      case NodeKind.NamedType: {
        if (node instanceof ObjectTypeNode || node instanceof TextsNode || node instanceof PredicateNode)
          return this.#visitAll(partsOf(node), scope);
        const { name, typeArguments } = node as as.NamedTypeNode;
        this.#use(name.identifier, scope, node as as.NamedTypeNode);
        return this.#visitAll(typeArguments ?? [], scope);
      }
      case NodeKind.PropertyAccess:
        return this.#visit((node as as.PropertyAccessExpression).expression, scope);
      case NodeKind.Literal:
        if (node instanceof as.ObjectLiteralExpression) return this.#visitAll(node.values, scope);
        if (node instanceof as.TemplateLiteralExpression && node.tag !== null) this.#tell(TEMPLATE_TAG, node.tag.range);
        return this.#visitAll(usesIn(node), scope);
      case NodeKind.FunctionDeclaration:
      case NodeKind.MethodDeclaration:
        return this.#function(node as as.FunctionDeclaration, scope);
      case NodeKind.ClassDeclaration:
      case NodeKind.InterfaceDeclaration: {
        const { typeParameters, extendsType, implementsTypes, members } = node as as.ClassDeclaration;
        const inner = this.#types(typeParameters, scope);
        this.#visitAll([...(extendsType === null ? [] : [extendsType]), ...(implementsTypes ?? []), ...members], inner);
        return;
      }
      case NodeKind.NamespaceDeclaration: {
        const { members } = node as as.NamespaceDeclaration;
        const inner: Scope = { outer: scope, owner: scope.owner, locals: new Map() };
        this.#declareAll(members, inner);
        return this.#visitAll(members, inner);
      }
      case NodeKind.TypeDeclaration: {
        const { typeParameters, type } = node as as.TypeDeclaration;
        return this.#visit(type, this.#types(typeParameters, scope));
      }
      case NodeKind.Block: {
        const { statements } = node as as.BlockStatement;
        const inner: Scope = { outer: scope, owner: scope.owner, locals: new Map() };
        this.#declareAll(statements, inner);
        return this.#visitAll(statements, inner);
      }
      case NodeKind.For:
      case NodeKind.ForOf:
      case NodeKind.Switch:
        return this.#visitAll(usesIn(node), { outer: scope, owner: scope.owner, locals: new Map() });
      case NodeKind.VariableDeclaration:
        return this.#variable(node as as.VariableDeclaration, scope);
      case NodeKind.Call: {
        const { expression, typeArguments, args } = node as as.CallExpression;
        if (!isStringify(expression)) this.#own(expression, scope);
        this.#visitAll(typeArguments ?? [], scope);
        for (const argument of args) {
          const lambda = lambdaOf(argument);
          // It may be compiled where the call stands, or with the variables that it uses; else the compiler refuses it.
          if (lambda === null) this.#visit(argument, scope);
          else this.#function(lambda.node.declaration, scope, scope.owner);
        }
        return;
      }
      case NodeKind.Function: {
        const { declaration } = node as as.FunctionExpression;
        const lost = declaration.signature.parameters.find(({ initializer }) => initializer !== null);
        if (lost !== undefined) this.#tell(LOST_DEFAULT, lost.range);
        return this.#function(declaration, scope);
      }
      default:
        return this.#visitAll(usesIn(node), scope);
    }
  }

  #function(
    { name, typeParameters, signature, body }: as.FunctionDeclaration,
    outer: Scope,
    owner: as.Node | null = signature,
  ): void {
    const scope: Scope = { outer: this.#types(typeParameters, outer), owner, locals: new Map() };
    // A function that is an expression has its name in itself only.
    scope.locals.set(name.text, { start: 0, isConstant: true });
    for (const parameter of signature.parameters) {
      this.#visit(parameter.type, scope);
      if (parameter.initializer !== null) this.#visit(parameter.initializer, scope);
      scope.locals.set(parameter.name.text, { start: parameter.range.start, isConstant: false });
    }
    this.#visit(signature.returnType, scope);
    if (body !== null) this.#visit(body, scope);
  }

  /** Visits an expression from which no type is expected, so that a function in it has its own types. */
  #own(expression: as.Expression, scope: Scope): void {
    const inner = expression instanceof as.ParenthesizedExpression ? expression.expression : expression;
    if (inner.kind === NodeKind.Function) this.#function((inner as as.FunctionExpression).declaration, scope);
    else this.#visit(expression, scope);
  }

  /** The scope of type parameters. */
  #types(parameters: readonly as.TypeParameterNode[] | null, outer: Scope): Scope {
    const scope: Scope = { outer, owner: outer.owner, locals: new Map() };
    for (const parameter of parameters ?? []) {
      scope.locals.set(parameter.name.text, { start: 0, isConstant: true });
      this.#visitAll(usesIn(parameter), scope);
    }
    return scope;
  }

  #variable({ name, type, initializer, flags }: as.VariableDeclaration, scope: Scope): void {
    if (type !== null) this.#visit(type, scope);
    const lambda =
      scope.owner !== null && (flags & CommonFlags.Const) !== 0 ? lambdaOf(initializer ?? undefined) : null;
    // A constant may be called, and passed on: the compiler refuses all else.
    if (lambda !== null) this.#function(lambda.node.declaration, scope, scope.owner);
    else if (initializer !== null && type === null) this.#own(initializer, scope);
    else if (initializer !== null) this.#visit(initializer, scope);
    if (scope.owner === null) return;
    const isConstant = (flags & CommonFlags.Const) !== 0 && (initializer === null || mayBeKnown(initializer));
    scope.locals.set(name.text, { start: name.range.start, isConstant });
  }

  /** `type`: the type that the name begins. */
  #use({ text, range }: as.IdentifierExpression, from: Scope, type: as.NamedTypeNode | null = null): void {
    for (let scope: Scope | null = from; scope !== null; scope = scope.outer) {
      const local = scope.locals.get(text);
      if (local === undefined || local.start > range.start) continue;
      const isCaptured = scope.owner !== null && scope.owner !== from.owner && !local.isConstant;
      if (isCaptured) this.#tell(CLOSURE, range);
      return;
    }
    const foreign = FOREIGN_NAMES.get(text);
    if (foreign === undefined) return;
    this.#tell(foreign, range, renamed(text, range, type));
  }

  #tell({ code, message, help }: ForeignName, range: as.Range, fix?: Fix): void {
    this.#found.push(diagnostic(code, { message, primary: spanOfRange(range), help, fix }));
  }
}

/** `JSON.stringify`, which is all of `JSON` that there is. */
function isStringify(callee: as.Expression): boolean {
  if (!(callee instanceof as.PropertyAccessExpression) || callee.property.text !== "stringify") return false;
  return callee.expression instanceof as.IdentifierExpression && callee.expression.text === "JSON";
}

/** Whether the compiler may know the value of an expression: there is nothing in it that only a run tells. */
function mayBeKnown(expression: as.Expression): boolean {
  switch (expression.kind) {
    case NodeKind.Call:
    case NodeKind.New:
    case NodeKind.ElementAccess:
    case NodeKind.Function:
    case NodeKind.Assertion:
      return false;
    default:
      return usesIn(expression).every((child) => !(child instanceof as.Expression) || mayBeKnown(child));
  }
}

/** The nodes in a node that use names: not the name that it declares, nor decorators. */
function usesIn(node: as.Node): as.Node[] {
  const declared = "name" in node ? node.name : null;
  return childrenOf(node).filter((child) => child !== declared && child.kind !== NodeKind.Decorator);
}
