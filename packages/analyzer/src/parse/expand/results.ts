/**
 * The type of what a function returns, where none is written. Each returned value counts with what the conditions before it
 * say of the variables in it: behind `if (user == null) return null;` the user is there.
 */
import { as, CommonFlags, ReportMode } from "../assemblyscript.ts";
import { ResolvedTypeNode } from "../forms-nodes.ts";
import { patternOf } from "../forms-parser.ts";
import { declarationsOf } from "../forms-patterns.ts";
import type { Expansion } from "./expander.ts";
import { alwaysReturns, assignedIn, type Lambda, type Names } from "./lambda.ts";
import { commonTypeOf } from "./literals.ts";
import { iteratedType } from "./loops.ts";
import { inside, knowing, sidesOf, thereIf, typeOf, type Value } from "./values.ts";

/** The type of a function's results; null: nothing says it. `names` are the parameters. */
export function resultOf(expansion: Expansion, lambda: Lambda, names: Names, context: as.Type): as.Type | null {
  const flow = expansion.flow.fork();
  for (const [name, type] of names) flow.addScopedDummyLocal(name.text, type, name);
  const inner = { ...expansion, flow };
  if (lambda.result !== null) return written(inner, lambda.result);
  const { body } = lambda;
  return returnedType(inner, body.kind === "value" ? body.value : body.statements, context);
}

/** The type of what statements return, or of a value; null: nothing says it. Without any it is `void`. */
export function returnedType(
  expansion: Expansion,
  body: as.Expression | readonly as.Statement[],
  context: as.Type,
): as.Type | null {
  const returns = returnsOf(expansion, body);
  const values = returns.filter((returned): returned is Value => returned.node !== null);
  if (values.length === 0) return as.Type.void;
  if (values.length < returns.length) return null;
  const type = commonTypeOf(values, context);
  return type === null || mentionsUnknown(type) ? null : type;
}

/** A value that a function returns, with what is known there; null: it returns without one. */
interface Returned {
  readonly node: as.Expression | null;
  readonly expansion: Expansion;
}

/** In the order in which they are written. */
export function returnsOf(expansion: Expansion, body: as.Expression | readonly as.Statement[]): readonly Returned[] {
  const nodes = body instanceof as.Expression ? [body] : body;
  const changing = new Set(nodes.flatMap((node) => [...assignedIn(node)]));
  const found: Returned[] = [];
  if (body instanceof as.Expression) found.push(...sidesOf({ node: body, expansion }, changing));
  else new Returns(changing, found).visitAll(body, expansion);
  return found;
}

class Returns {
  readonly #changing: ReadonlySet<string>;
  readonly #found: Returned[];

  constructor(changing: ReadonlySet<string>, found: Returned[]) {
    this.#changing = changing;
    this.#found = found;
  }

  visitAll(statements: readonly as.Statement[], expansion: Expansion): void {
    let known = inside(expansion);
    for (const statement of statements) known = this.#visit(statement, known);
  }

  /** Gives what is known behind the statement. */
  #visit(statement: as.Statement, expansion: Expansion): Expansion {
    if (statement instanceof as.ReturnStatement) {
      const { value } = statement;
      if (value === null) this.#found.push({ node: null, expansion });
      else this.#found.push(...sidesOf({ node: value, expansion }, this.#changing));
    } else if (statement instanceof as.VariableStatement) {
      declare(statement.declarations, expansion);
    } else if (statement instanceof as.IfStatement) {
      return this.#if(statement, expansion);
    } else if (statement instanceof as.ForStatement) {
      const inner = inside(expansion);
      if (statement.initializer instanceof as.VariableStatement) declare(statement.initializer.declarations, inner);
      this.#inner(statement.body, inner);
    } else if (statement instanceof as.ForOfStatement) {
      const inner = inside(expansion);
      const { variable, iterable } = statement;
      if (variable instanceof as.VariableStatement) {
        const [declaration] = variable.declarations as [as.VariableDeclaration];
        add(declaration.name, iteratedType(expansion, iterable), inner);
        const pattern = patternOf(declaration);
        if (pattern !== null) declare(declarationsOf(pattern, declaration.name, CommonFlags.Const), inner);
      }
      this.#inner(statement.body, inner);
    } else if (statement instanceof as.SwitchStatement) {
      for (const choice of statement.cases) this.visitAll(choice.statements, expansion);
    } else if (statement instanceof as.BlockStatement) {
      this.visitAll(statement.statements, expansion);
    } else if (statement instanceof as.WhileStatement) {
      this.#inner(statement.body, knowing(expansion, thereIf(statement.condition, true), this.#changing));
    } else if (statement instanceof as.DoStatement) {
      this.#inner(statement.body, expansion);
    }
    return expansion;
  }

  #if({ condition, ifTrue, ifFalse }: as.IfStatement, expansion: Expansion): Expansion {
    const yes = knowing(expansion, thereIf(condition, true), this.#changing);
    const no = knowing(expansion, thereIf(condition, false), this.#changing);
    this.#inner(ifTrue, yes);
    if (ifFalse !== null) this.#inner(ifFalse, no);
    if (leaves(ifTrue)) return no;
    return ifFalse !== null && leaves(ifFalse) ? yes : expansion;
  }

  #inner(statement: as.Statement, expansion: Expansion): void {
    this.visitAll(statement instanceof as.BlockStatement ? statement.statements : [statement], expansion);
  }
}

/** Whether the statements behind it never run after it. */
function leaves(statement: as.Statement): boolean {
  if (statement instanceof as.BlockStatement) return statement.statements.some(leaves);
  return (
    statement instanceof as.BreakStatement || statement instanceof as.ContinueStatement || alwaysReturns([statement])
  );
}

// ── Names ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * The type of a variable whose type is not known, as nothing of the developer's has it. Without it, another variable of the
 * name would be taken.
 */
const UNKNOWN = as.Type.v128;

function mentionsUnknown(type: as.Type): boolean {
  return type === UNKNOWN || (type.getClass()?.typeArguments ?? []).some(mentionsUnknown);
}

function add(name: as.IdentifierExpression, type: as.Type | null, { flow }: Expansion): void {
  if (flow.getScopedLocal(name.text) !== null) return;
  flow.addScopedDummyLocal(name.text, type === null || type === as.Type.void ? UNKNOWN : type, name);
}

function declare(declarations: readonly as.VariableDeclaration[], expansion: Expansion): void {
  for (const declaration of declarations) {
    const { name, type: node, initializer } = declaration;
    let type = node === null ? null : written(expansion, node);
    if (node === null && initializer !== null)
      type = expansion.isFloat(declaration, expansion.flow) ? as.Type.f64 : typeOf(expansion, initializer);
    add(name, type, expansion);
  }
}

function written({ typing, flow }: Expansion, node: as.TypeNode): as.Type | null {
  if (node instanceof ResolvedTypeNode) return node.type;
  const known = flow.contextualTypeArguments;
  return typing.program.resolver.resolveType(
    node,
    flow,
    flow.sourceFunction,
    known === null ? null : new Map(known),
    ReportMode.Swallow,
  );
}
