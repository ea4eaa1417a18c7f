/**
 * Fields that a test before them shows to be there: `if (issue.dueAt != null) remind(issue.dueAt)`. The compiler learns from
 * tests of variables only. This goes over the code of a file in the order in which it runs, as TypeScript does. It finds
 * the mentions of fields that TypeScript knows not to be null.
 *
 * Such a mention is `issue.dueAt!`: the field is read there, and null ends the run. So the order of evaluation stays. Where a
 * call between the test and the mention makes the field null, which TypeScript does not see either, nothing is silently wrong.
 */
import { as, CommonFlags, NodeKind, Token } from "./assemblyscript.ts";
import { ASSIGNMENTS, COMPOUND_ASSIGNMENTS, INCREMENTS } from "./assignments.ts";
import { childrenOf, withoutParentheses } from "./children.ts";
import { AssignIfExpression, ChainExpression, NullishExpression } from "./forms-nodes.ts";
import { onAnother, pathOf } from "./expand/place.ts";

/** The mentions in a file. */
interface Mentions {
  readonly fields: ReadonlySet<as.Node>;
  readonly updated: ReadonlySet<as.Node>;
  readonly names: ReadonlySet<as.Node>;
}

const KNOWN = new WeakMap<as.Source, Mentions>();

/** Whether a mention of a field stands behind a test that shows it to be there. */
export function isTested(node: as.PropertyAccessExpression): boolean {
  return !node.range.source.isLibrary && mentionsIn(node.range.source).fields.has(node);
}

/** Whether a field that an update changes stands behind such a test: `card.votes` in `card.votes += 1`. */
export function isUpdatedBehindTest(node: as.PropertyAccessExpression): boolean {
  return !node.range.source.isLibrary && mentionsIn(node.range.source).updated.has(node);
}

/**
 * Whether an expression names a variable that was given such a field. Another test of it is not a mistake: where the compiler
 * did not know of the first one, the second one was needed.
 */
export function isNameOfTested(node: as.Expression): boolean {
  const inner = withoutParentheses(node);
  return inner.kind === NodeKind.Identifier && mentionsIn(inner.range.source).names.has(inner);
}

function mentionsIn(source: as.Source): Mentions {
  let known = KNOWN.get(source);
  if (known !== undefined) return known;
  const walk = new FieldWalk();
  for (const statement of source.statements) walk.visit(statement);
  KNOWN.set(source, (known = walk));
  return known;
}

/** The fields that are there, as paths of names: `issue.dueAt`. Null: the place is never reached. */
type There = ReadonlySet<string> | null;

/** The fields that are there if a condition holds, and those if it does not. */
interface Tested {
  readonly yes: There;
  readonly no: There;
}

/** The fields that are there on both of two ways to a place. */
function joined(one: There, other: There): There {
  if (one === null || other === null) return one ?? other;
  return new Set([...one].filter((path) => other.has(path)));
}

function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}.`);
}

const EQUAL: ReadonlySet<Token> = new Set([Token.Equals_Equals, Token.Equals_Equals_Equals]);
const UNEQUAL: ReadonlySet<Token> = new Set([Token.Exclamation_Equals, Token.Exclamation_Equals_Equals]);

class FieldWalk implements Mentions {
  readonly fields = new Set<as.Node>();
  readonly updated = new Set<as.Node>();
  readonly names = new Set<as.Node>();
  /** Variables that were given a tested field. */
  readonly #given = new Set<string>();
  #there: There = new Set();

  visit(node: as.Node): void {
    if (node instanceof as.TypeNode) return;
    if (node instanceof as.Statement) return this.#statement(node);
    this.#expression(node);
  }

  #visitAll(nodes: readonly as.Node[]): void {
    for (const node of nodes) this.visit(node);
  }

  // ── Statements ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #statement(node: as.Statement): void {
    if (node instanceof as.BlockStatement) return this.#scope(node.statements, () => this.#visitAll(node.statements));
    if (node instanceof as.IfStatement) {
      const { yes, no } = this.#condition(node.condition);
      this.#there = yes;
      this.visit(node.ifTrue);
      const behind = this.#there;
      this.#there = no;
      if (node.ifFalse !== null) this.visit(node.ifFalse);
      this.#there = joined(behind, this.#there);
    } else if (node instanceof as.WhileStatement) this.#loop(node, null, node.condition, null, node.body);
    else if (node instanceof as.ForStatement) {
      const { initializer, condition, incrementor, body } = node;
      const declared = initializer === null ? [] : [initializer];
      this.#scope(declared, () => this.#loop(node, initializer, condition, incrementor, body));
    } else if (node instanceof as.DoStatement) {
      this.#forgetAssigned(node);
      const before = this.#there;
      this.visit(node.body);
      // A `continue` leads to the condition, from wherever it stands.
      this.#there = before;
      this.visit(node.condition);
      this.#there = before;
    } else if (node instanceof as.ForOfStatement) {
      this.visit(node.iterable);
      this.#forgetAssigned(node);
      const before = this.#there;
      const { variable } = node;
      if (variable instanceof as.VariableStatement)
        this.#scope([variable], () => this.#visitAll([variable, node.body]));
      else this.visit(node.body);
      this.#there = before;
    } else if (node instanceof as.SwitchStatement) {
      this.visit(node.condition);
      this.#forgetAssigned(node);
      const before = this.#there;
      for (const { label, statements } of node.cases) {
        this.#there = before;
        if (label !== null) this.visit(label);
        this.#scope(statements, () => this.#visitAll(statements));
      }
      this.#there = before;
    } else if (node instanceof as.VariableStatement) {
      for (const { name, type, initializer } of node.declarations) {
        if (initializer !== null) this.visit(initializer);
        this.#forget(name.text);
        if (type === null && initializer !== null && this.fields.has(withoutParentheses(initializer)))
          this.#given.add(name.text);
        else this.#given.delete(name.text);
      }
    } else if (node instanceof as.ExpressionStatement) {
      this.visit(node.expression);
      if (isAbort(node.expression)) this.#there = null;
    } else if (node instanceof as.ReturnStatement || node instanceof as.ThrowStatement) {
      if (node.value !== null) this.visit(node.value);
      this.#there = null;
    } else if (node.kind === NodeKind.Break || node.kind === NodeKind.Continue) this.#there = null;
    else if (node instanceof as.FunctionDeclaration) this.#function(node);
    else this.#visitAll(childrenOf(node));
  }

  #loop(
    node: as.Statement,
    initializer: as.Node | null,
    condition: as.Expression | null,
    incrementor: as.Expression | null,
    body: as.Statement,
  ): void {
    if (initializer !== null) this.visit(initializer);
    // variant: loop-forgets
    this.#forgetAssigned(node);
    const before = this.#there;
    const tested = condition === null ? { yes: before, no: null } : this.#condition(condition);
    this.#there = tested.yes;
    this.visit(body);
    // A `continue` leads to the update.
    this.#there = before;
    if (incrementor !== null) this.visit(incrementor);
    this.#there = hasBreak(body) ? before : tested.no;
  }

  /** Statements with variables of their own: behind them, such a name means another variable. */
  #scope(statements: readonly as.Node[], act: () => void): void {
    act();
    for (const statement of statements)
      if (statement instanceof as.VariableStatement)
        for (const { name } of statement.declarations) this.#forget(name.text);
  }

  /** A test outside of a function shows nothing in it: the field may be another one when the function is called. */
  #function({ signature, body }: as.FunctionDeclaration): void {
    const outer = this.#there;
    // variant: function-forgets
    this.#there = new Set();
    for (const { initializer } of signature.parameters) if (initializer !== null) this.visit(initializer);
    if (body !== null) this.visit(body);
    this.#there = outer;
  }

  // ── Expressions ────────────────────────────────────────────────────────────────────────────────────────────────────

  #expression(node: as.Node): void {
    if (node instanceof as.FunctionExpression) return this.#function(node.declaration);
    if (node instanceof as.IdentifierExpression) {
      if (this.#given.has(node.text)) this.names.add(node);
      return;
    }
    if (node instanceof as.PropertyAccessExpression) {
      const path = pathOf(node);
      // variant: tested-field
      if (path !== null && this.#there?.has(path) === true) this.fields.add(node);
      return this.visit(node.expression);
    }
    if (node instanceof as.CallExpression) {
      // The member that is called is not a value.
      this.#asIs(node.expression);
      return this.#visitAll(node.args);
    }
    if (node instanceof as.AssertionExpression) return this.#asIs(node.expression);
    if (node instanceof as.TernaryExpression) {
      const { yes, no } = this.#condition(node.condition);
      this.#there = yes;
      this.visit(node.ifThen);
      const behind = this.#there;
      this.#there = no;
      this.visit(node.ifElse);
      this.#there = joined(behind, this.#there);
    } else if (node instanceof ChainExpression) {
      this.#asIs(node.object);
      this.#perhaps(() => this.visit(node.rest));
    } else if (node instanceof NullishExpression) {
      this.#asIs(node.left);
      this.#perhaps(() => this.visit(node.right));
    } else if (node instanceof AssignIfExpression) {
      this.#asIs(node.target);
      this.#perhaps(() => this.visit(node.value));
      this.#assign(node.target, node.operator === "??" ? node.value : null);
    } else if (node instanceof as.BinaryExpression && ASSIGNMENTS.has(node.operator)) {
      // The result of `+=` is there if the value before was.
      if (COMPOUND_ASSIGNMENTS.has(node.operator)) this.#update(node.left);
      else this.#asIs(node.left);
      this.visit(node.right);
      if (node.operator === Token.Equals) this.#assign(node.left, node.right);
    } else if (node instanceof as.UnaryPrefixExpression && node.operator !== Token.Exclamation) {
      if (INCREMENTS.has(node.operator)) this.#update(node.operand);
      else this.#asIs(node.operand);
      if (node.operator === Token.Delete) this.#assign(node.operand, null);
    } else if (node instanceof as.UnaryPostfixExpression) this.#update(node.operand);
    else if (isTest(node)) {
      const { yes, no } = this.#condition(node);
      this.#there = joined(yes, no);
    } else this.#visitAll(childrenOf(node));
  }

  /** A place where null is a value as any other, or where something else than a value is wanted. */
  #asIs(node: as.Expression): void {
    const inner = withoutParentheses(node);
    this.visit(inner instanceof as.PropertyAccessExpression ? inner.expression : inner);
  }

  /** A place whose value is read and changed. */
  #update(node: as.Expression): void {
    const place = withoutParentheses(node);
    const path = pathOf(place);
    // variant: updated-field
    if (path !== null && this.#there?.has(path) === true) this.updated.add(place);
    this.#asIs(place);
  }

  /** Goes over code that need not run. */
  #perhaps(act: () => void): void {
    const before = this.#there;
    act();
    this.#there = joined(before, this.#there);
  }

  /** Goes over a condition, and tells what it shows. */
  #condition(node: as.Expression): Tested {
    const test = withoutParentheses(node);
    if (test instanceof as.UnaryPrefixExpression && test.operator === Token.Exclamation) {
      const { yes, no } = this.#condition(test.operand);
      return { yes: no, no: yes };
    }
    if (test instanceof as.BinaryExpression) {
      const { operator, left, right } = test;
      if (operator === Token.Ampersand_Ampersand || operator === Token.Bar_Bar) {
        const isAnd = operator === Token.Ampersand_Ampersand;
        const first = this.#condition(left);
        this.#there = isAnd ? first.yes : first.no;
        const second = this.#condition(right);
        return isAnd
          ? { yes: second.yes, no: joined(first.no, second.no) }
          : { yes: joined(first.yes, second.yes), no: second.no };
      }
      if (EQUAL.has(operator) || UNEQUAL.has(operator)) return this.#comparison(test);
    }
    this.#asIs(test);
    return { yes: this.#with(pathsIn(test)), no: this.#there };
  }

  #comparison({ operator, left, right }: as.BinaryExpression): Tested {
    this.#asIs(left);
    this.#asIs(right);
    const [one, other] = [withoutParentheses(left), withoutParentheses(right)];
    const compared = one.kind === NodeKind.Null ? other : one;
    const isToNull = one.kind === NodeKind.Null || other.kind === NodeKind.Null;
    // A field that is equal to a written text or number is not null.
    const isToValue = one instanceof as.LiteralExpression || other instanceof as.LiteralExpression;
    if (!isToNull && !isToValue) return { yes: this.#there, no: this.#there };
    const there = this.#with(pathsIn(one instanceof as.LiteralExpression ? other : compared));
    return UNEQUAL.has(operator) === isToNull ? { yes: there, no: this.#there } : { yes: this.#there, no: there };
  }

  #with(paths: readonly string[]): There {
    return this.#there === null || paths.length === 0 ? this.#there : new Set([...this.#there, ...paths]);
  }

  // ── Assignments ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** `value`: what the place has then; null: that is not known. */
  #assign(target: as.Expression, value: as.Expression | null): void {
    const place = withoutParentheses(target);
    if (place instanceof as.LiteralExpression) {
      // A pattern, each part of which is a target, or one with a default.
      for (const part of childrenOf(place)) if (part instanceof as.Expression) this.#assign(part, null);
      return;
    }
    if (place instanceof as.BinaryExpression) return this.#assign(place.left, null);
    if (place instanceof as.UnaryPrefixExpression && place.operator === Token.Dot_Dot_Dot)
      return this.#assign(place.operand, null);
    const path = pathOf(place);
    if (path === null) return;
    const isThere = value !== null && this.#isThere(value);
    this.#forget(path);
    if (isThere && place instanceof as.PropertyAccessExpression) this.#there = this.#with([path]);
  }

  /** Whether a value is certainly not null, as far as its words show it. */
  #isThere(node: as.Expression): boolean {
    const value = withoutParentheses(node);
    if (value instanceof as.LiteralExpression || value instanceof as.NewExpression) return true;
    if (value instanceof as.PropertyAccessExpression) return this.#there?.has(pathOf(value) ?? "") === true;
    return value instanceof as.BinaryExpression && !ASSIGNMENTS.has(value.operator) && !isTest(value);
  }

  #forget(root: string): void {
    if (this.#there === null) return;
    // variant: forgotten-field
    this.#there = new Set([...this.#there].filter((path) => !isWithin(path, root)));
  }

  /** Forgets what is assigned somewhere in a loop or switch: another round may have come by there. */
  #forgetAssigned(node: as.Node): void {
    if (node instanceof as.TypeNode || node instanceof as.FunctionExpression) return;
    const there = this.#there;
    if (there === null || there.size === 0) return;
    if (node instanceof as.BinaryExpression && node.operator === Token.Equals) this.#assign(node.left, null);
    else if (node instanceof AssignIfExpression) this.#assign(node.target, null);
    else if (node instanceof as.UnaryPrefixExpression && node.operator === Token.Delete)
      this.#assign(node.operand, null);
    else if (node instanceof as.VariableDeclaration && !node.is(CommonFlags.Const)) this.#forget(node.name.text);
    childrenOf(node).forEach((child) => this.#forgetAssigned(child));
  }
}

/** Whether an expression is a condition that shows something to its own parts. */
function isTest(node: as.Node): node is as.BinaryExpression | as.UnaryPrefixExpression {
  if (node instanceof as.UnaryPrefixExpression) return node.operator === Token.Exclamation;
  if (!(node instanceof as.BinaryExpression)) return false;
  const { operator } = node;
  return (
    operator === Token.Ampersand_Ampersand || operator === Token.Bar_Bar || EQUAL.has(operator) || UNEQUAL.has(operator)
  );
}

/** The fields that are there where an expression is not null: itself, and those that it goes through by `?.`. */
function pathsIn(node: as.Expression): readonly string[] {
  const inner = withoutParentheses(node);
  if (inner instanceof as.PropertyAccessExpression) {
    const path = pathOf(inner);
    return path === null ? [] : [path];
  }
  if (!(inner instanceof ChainExpression)) return [];
  const object = withoutParentheses(inner.object);
  const whole = pathOf(onAnother(inner.rest, inner.held.text, object));
  return [...pathsIn(object), ...(whole === null ? [] : [whole])];
}

/** Whether a statement leaves the loop that it is the body of. */
function hasBreak(node: as.Node): boolean {
  if (node.kind === NodeKind.Break) return true;
  if (node instanceof as.Expression || isLoop(node) || node instanceof as.SwitchStatement) return false;
  return childrenOf(node).some((child) => hasBreak(child));
}

function isLoop({ kind }: as.Node): boolean {
  return kind === NodeKind.While || kind === NodeKind.Do || kind === NodeKind.For || kind === NodeKind.ForOf;
}

/** `abort(…)`, which does not come back. */
function isAbort(node: as.Expression): boolean {
  const call = withoutParentheses(node);
  if (!(call instanceof as.CallExpression)) return false;
  const callee = withoutParentheses(call.expression);
  return callee instanceof as.IdentifierExpression && callee.text === "abort";
}
