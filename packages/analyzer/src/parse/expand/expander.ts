/**
 * Everyday forms as trees of AssemblyScript. An expansion hangs on types, so it is made where the compiler comes to the node.
 * It belongs to one function instance: a generic function has one for each of its instances. It is made once, as the
 * compiler compiles loops several times, and everything that reads the compiler's facts wants to see one tree.
 */
import { as, AssertionKind, Constraints, DiagnosticCode, NodeKind, ReportMode, Token } from "../assemblyscript.ts";
import { withoutParentheses } from "../children.ts";
import { partsOfTuple } from "../tuples.ts";
import {
  AssignIfExpression,
  BlockExpression,
  ChainExpression,
  NullishExpression,
  RecordSpreadExpression,
  ResolvedTypeNode,
} from "../forms-nodes.ts";
import { expandArguments, mayPack, typeOfExtreme } from "./arguments.ts";
import { expandArrayFrom, isArrayFrom, lengthIn, typeOfArrayFrom } from "./array-from.ts";
import {
  expandAssignIf,
  expandChain,
  expandComparison,
  expandNegation,
  expandNullish,
  typeOfAssignIf,
  typeOfChain,
  typeOfNullish,
  zeroOf,
} from "./chains.ts";
import { expandFilled, mayFill, typeOfFilled } from "./collections.ts";
import { expandCallback, mayLoop, typeOfCallback, unknownIn } from "./callbacks.ts";
import { Closures } from "./closures.ts";
import { expandDelete, isDelete } from "./deletes.ts";
import { expandConcatenation, mayConcatenate, typeOfConcatenation } from "./concatenations.ts";
import { expandDate, expandLibraryCall, mayBeDate, mayBeOfLibrary, typeOfLibraryCall } from "./library.ts";
import { declaresFloat, expandFloats, mayBeFloat } from "./floats.ts";
import { inferResults } from "./inferred-results.ts";
import { expandUntyped, holdsUntyped, isUntyped, tellLiteral, typeOfUntyped } from "./literals.ts";
import { expandForOf } from "./loops.ts";
import { mistakeText, type FormMistake } from "./mistakes.ts";
import { expandMembership, mayBeMembership, typeOfMembership } from "./membership.ts";
import { expandNullableUpdate, mayUpdateNullable, typeOfNullableUpdate } from "./nullable-updates.ts";
import { expandNullableReceiver, mayHaveNullableReceiver, typeOfNullableReceiver } from "./nullable-receivers.ts";
import { expandQuote, mayQuote, typeOfQuote } from "./quotes.ts";
import { expandWait, mayWait, typeOfWait } from "./waits.ts";
import { expandSearch, maySearch } from "./searches.ts";
import {
  expandArraySpread,
  expandPatternAssignment,
  expandPush,
  expandRecordSpread,
  maySpread,
  typeOfArraySpread,
  typeOfRecordSpread,
} from "./spreads.ts";
import { again, hidden, nothing, variable } from "./syntax.ts";
import { expandTested, mayBeTested, typeOfTested } from "./tested.ts";
import { expandConstant, expandPart, expandTuple, mayBePart, typeOfConstant, typeOfPart } from "./tuples.ts";
import { Typing } from "./typing.ts";
import { expandUpdate, mayUpdate } from "./updates.ts";

/** The questions that an expansion may ask. */
export interface Expansion {
  readonly typing: Typing;
  readonly closures: Closures;
  readonly flow: as.Flow;
  /** The type that is wanted; `auto`: any. */
  readonly context: as.Type;
  /** Whether only the truth of the value is wanted. */
  readonly isCondition: boolean;
  /** The type that is written; null: there is none. */
  resolve(node: as.TypeNode): as.Type | null;
  /** Whether a variable is a float, though it begins with a whole number. */
  isFloat(declaration: as.VariableDeclaration, flow: as.Flow): boolean;
  /** Tells a mistake of the developer's, and gives nothing. */
  tell(mistake: FormMistake, range: as.Range): null;
}

/** Members of the compiler that an expansion is compiled with. */
interface CompilerInternals {
  currentFlow: as.Flow;
  currentType: as.Type;
  compileStatements(statements: as.Statement[]): as.ExpressionRef[];
}

/** Members of the resolver that learn of forms. */
interface ResolverInternals {
  resolveExpression(node: as.Expression, flow: as.Flow, context?: as.Type, mode?: ReportMode): as.Type | null;
  lookupExpression(node: as.Expression, flow: as.Flow, context?: as.Type, mode?: ReportMode): as.Element | null;
  resolveType(node: as.TypeNode, ...rest: unknown[]): as.Type | null;
  getElementOfType(type: as.Type): as.Element | null;
  currentThisExpression: as.Expression | null;
  currentElementExpression: as.Expression | null;
}

/** Without them, a wanted bool is a condition. */
const CONVERSIONS = Constraints.ConvImplicit | Constraints.ConvExplicit;

export class Expander {
  readonly #compiler: as.Compiler;
  readonly #typing: Typing;
  readonly #closures: Closures;
  readonly #made = new Map<as.Function, Map<as.Node, as.Node>>();
  /** Mistakes of forms are told once, though the compiler may come to a node several times. */
  readonly #told = new Set<string>();

  constructor(compiler: as.Compiler) {
    this.#compiler = compiler;
    this.#typing = new Typing(compiler.program);
    this.#closures = new Closures(compiler.program);
    this.#teachResolver(compiler.resolver);
  }

  /** The tree of a form in a function instance, once it was compiled; null: there is none. */
  madeOf(owner: as.Function, node: as.Node): as.Node | null {
    return this.#made.get(owner)?.get(node) ?? null;
  }

  /** The tree for an expression; null: it is not a form. */
  expression(node: as.Expression, context: as.Type, constraints: Constraints): as.Expression | null {
    const flow = this.#compiler.currentFlow;
    const isCondition = context === as.Type.bool && (constraints & CONVERSIONS) === 0;
    this.#closures.scope.acceptTest(node, flow, isCondition);
    if (!this.#mayBeForm(node, context)) return null;
    const known = this.madeOf(flow.sourceFunction, node);
    if (known !== null) return known;
    const before = this.#errors();
    const made = this.#expand(node, { ...this.#asking(flow, context), isCondition });
    if (made !== null) return this.#keep(flow.sourceFunction, node, made);
    const isUnknown = node instanceof as.CallExpression && this.#typeOf(node, flow, context) === null;
    if (!isForm(node) && !isUnknown && !isUntyped(node, context)) {
      if (this.#errors() === before) return null;
      const type = this.#typeOf(node, flow, context) ?? as.Type.void;
      return this.#keep(flow.sourceFunction, node, standIn(type, node.range));
    }
    // The mistake is in a part of it, which nobody has compiled.
    if (this.#errors() === before) this.#report(node, flow, context);
    return this.#keep(flow.sourceFunction, node, new BlockExpression([], null, node.range));
  }

  statement(node: as.Statement): as.Statement | null {
    if (node instanceof as.VariableStatement) return this.#declarations(node);
    if (node.kind !== NodeKind.ForOf) return null;
    const flow = this.#compiler.currentFlow;
    const known = this.madeOf(flow.sourceFunction, node);
    if (known !== null) return known;
    const { iterable } = node as as.ForOfStatement;
    const before = this.#errors();
    const made = expandForOf(this.#asking(flow, as.Type.auto), node as as.ForOfStatement);
    if (made !== null) return this.#keep(flow.sourceFunction, node, made);
    if (this.#errors() === before && this.#typing.of(iterable, flow) !== null)
      this.#tell("not_iterable", iterable.range);
    if (this.#errors() === before)
      this.#compiler.resolver.resolveExpression(iterable, flow, as.Type.auto, ReportMode.Report);
    if (this.#errors() === before) this.#tell("unknown_form", iterable.range);
    return this.#keep(flow.sourceFunction, node, as.Node.createEmptyStatement(node.range));
  }

  #declarations(node: as.VariableStatement): as.Statement | null {
    const hasFunction = node.declarations.some(({ initializer }) => initializer instanceof as.FunctionExpression);
    if (!hasFunction && !mayBeFloat(node)) return null;
    const flow = this.#compiler.currentFlow;
    const expansion = this.#asking(flow, as.Type.auto);
    const known = this.madeOf(flow.sourceFunction, node);
    if (known !== null) {
      if (hasFunction) this.#closures.declareAgain(expansion, node);
      return known;
    }
    const floats = expandFloats(expansion, node);
    const made = hasFunction ? (this.#closures.expandDeclarations(expansion, floats ?? node) ?? floats) : floats;
    return made === null ? null : this.#keep(flow.sourceFunction, node, made);
  }

  /** Compiles statements with the value of an expression behind them, in a scope of their own. */
  block({ statements, result }: BlockExpression, context: as.Type, constraints: Constraints): as.ExpressionRef {
    const compiler = this.#compiler;
    const internals = compiler as unknown as CompilerInternals;
    if (statements.length === 0 && result === null) {
      // A mistake was told here: no other follows from it.
      internals.currentType = context === as.Type.auto ? as.Type.i32 : context;
      return compiler.module.unreachable();
    }
    const outer = internals.currentFlow;
    const inner = outer.fork();
    internals.currentFlow = inner;
    const parts = internals.compileStatements(statements);
    let type = as.Type.void;
    if (result !== null) {
      parts.push(compiler.compileExpression(result, context, constraints));
      type = internals.currentType;
    }
    outer.inherit(inner);
    internals.currentFlow = outer;
    internals.currentType = type;
    return compiler.module.block(null, parts, type.toRef());
  }

  #expand(node: as.Expression, expansion: Expansion): as.Expression | null {
    if (node instanceof ChainExpression) return expandChain(expansion, node);
    if (node instanceof NullishExpression) return expandNullish(expansion, node);
    if (node instanceof AssignIfExpression) return expandAssignIf(expansion, node);
    if (node instanceof RecordSpreadExpression) return expandRecordSpread(expansion, node);
    if (holdsUntyped(node, expansion.context)) return expandUntyped(expansion, node);
    if (node instanceof as.ArrayLiteralExpression)
      return isTuple(expansion.context) ? expandTuple(expansion, node) : expandArraySpread(expansion, node);
    if (mayBePart(node)) {
      const part = expandPart(expansion, node);
      if (part !== null) return part;
    }
    if (mayFill(node)) return expandFilled(expansion, node);
    if (node instanceof as.CallExpression)
      return (
        expandQuote(expansion, node) ??
        expandWait(expansion, node) ??
        expandPush(expansion, node) ??
        expandNullableReceiver(expansion, node) ??
        expandLibraryCall(expansion, node) ??
        expandCallback(expansion, node) ??
        expandArrayFrom(expansion, node) ??
        expandArguments(expansion, node) ??
        expandSearch(expansion, node) ??
        this.#closures.expand(expansion, node)
      );
    if (node instanceof as.IdentifierExpression) {
      if (this.#closures.scope.isKept(node, expansion.flow)) {
        expansion.tell("closure_kept", node.range);
        return this.#closures.scope.mention(node);
      }
      return this.#closures.scope.selfAt(node, expansion.flow);
    }
    if (mayBeTested(node)) return expandTested(expansion, node);
    if (mayUpdateNullable(node)) {
      const update = expandNullableUpdate(expansion, node);
      if (update !== null) return update;
    }
    if (node instanceof as.BinaryExpression)
      return (
        expandPatternAssignment(expansion, node) ??
        expandMembership(expansion, node) ??
        expandConcatenation(expansion, node) ??
        expandComparison(expansion, node) ??
        expandUpdate(expansion, node)
      );
    if (node instanceof as.UnaryPrefixExpression)
      return isDelete(node)
        ? expandDelete(expansion, node)
        : (expandNegation(expansion, node) ?? expandUpdate(expansion, node));
    if (node instanceof as.UnaryPostfixExpression) return expandUpdate(expansion, node);
    if (mayBeDate(node)) return expandDate(expansion, node);
    // The value of `value as const` is the value; types say nothing of constants.
    return isConstAssertion(node) ? (expandConstant(expansion, node) ?? node.expression) : null;
  }

  /** The type of a form; undefined: it is none. */
  #typeOf(node: as.Expression, flow: as.Flow, context: as.Type): as.Type | null | undefined {
    const expansion = this.#asking(flow, context);
    if (node instanceof ChainExpression) return typeOfChain(expansion, node);
    if (node instanceof NullishExpression) return typeOfNullish(expansion, node);
    if (node instanceof AssignIfExpression) return typeOfAssignIf(expansion, node);
    if (node instanceof BlockExpression) return this.#typeOfBlock(node, flow, context);
    if (node instanceof RecordSpreadExpression) return typeOfRecordSpread(expansion, node);
    if (holdsUntyped(node, context)) return typeOfUntyped(expansion, node);
    if (node instanceof as.ArrayLiteralExpression)
      return isTuple(context) ? context.nonNullableType : typeOfArraySpread(expansion, node);
    if (node instanceof as.ElementAccessExpression) return typeOfPart(expansion, node);
    if (isDelete(node)) return as.Type.bool;
    if (mayBeTested(node)) return typeOfTested(expansion, node);
    if (mayUpdateNullable(node)) {
      const updated = typeOfNullableUpdate(expansion, node);
      if (updated !== undefined) return updated;
    }
    if (mayBeMembership(node)) return typeOfMembership(expansion, node);
    if (mayFill(node)) return typeOfFilled(expansion, node) ?? undefined;
    if (node instanceof as.CallExpression) {
      const quote = typeOfQuote(expansion, node);
      if (quote !== undefined) return quote;
      const waited = typeOfWait(expansion, node);
      if (waited !== undefined) return waited;
      if (isArrayFrom(node) && lengthIn(node) === null) return typeOfArrayFrom(expansion, node);
      if (mayHaveNullableReceiver(node)) {
        const called = typeOfNullableReceiver(expansion, node);
        if (called !== undefined) return called;
      }
      const type = typeOfLibraryCall(expansion, node);
      if (type !== undefined) return type;
      const looped = typeOfExtreme(node) ?? typeOfCallback(expansion, node);
      return looped === undefined ? this.#closures.typeOf(expansion, node) : looped;
    }
    if (node instanceof as.IdentifierExpression) {
      const self = this.#closures.scope.selfAt(node, flow);
      return self === null ? undefined : this.#typing.of(self, flow);
    }
    if (isConstAssertion(node))
      return typeOfConstant(expansion, node.expression) ?? this.#typing.of(node.expression, flow, context);
    if (mayConcatenate(node)) return typeOfConcatenation(expansion, node);
    // A comparison or negation is one, whatever it is expanded to.
    return undefined;
  }

  #typeOfBlock({ statements, result }: BlockExpression, flow: as.Flow, context: as.Type): as.Type | null {
    if (result === null) return as.Type.void;
    const inner = flow.fork();
    for (const statement of statements) {
      if (!(statement instanceof as.VariableStatement)) continue;
      for (const { name, type: typeNode, initializer } of statement.declarations) {
        const type =
          typeNode instanceof ResolvedTypeNode
            ? typeNode.type
            : typeNode !== null
              ? this.#resolveType(typeNode, inner)
              : initializer === null
                ? null
                : this.#typing.of(initializer, inner);
        if (type === null) return null;
        inner.addScopedDummyLocal(name.text, type, name);
      }
    }
    return this.#typing.of(result, inner, context);
  }

  #resolveType(node: as.TypeNode, flow: as.Flow): as.Type | null {
    const known = flow.contextualTypeArguments;
    return this.#compiler.resolver.resolveType(
      node,
      flow,
      flow.sourceFunction,
      known === null ? null : new Map(known),
      ReportMode.Swallow,
    );
  }

  #teachResolver(resolver: ResolverInternals): void {
    const resolveExpression = resolver.resolveExpression.bind(resolver);
    resolver.resolveExpression = (node, flow, context = as.Type.auto, mode = ReportMode.Report) => {
      const inner = withoutParentheses(node);
      const type = isForm(inner) || this.#mayBeForm(inner, context) ? this.#typeOf(inner, flow, context) : undefined;
      if (type === undefined) return resolveExpression(node, flow, context, mode);
      if (type === null && mode === ReportMode.Report) this.#report(inner, flow, context);
      return type;
    };
    const lookupExpression = resolver.lookupExpression.bind(resolver);
    resolver.lookupExpression = (node, flow, context = as.Type.auto, mode = ReportMode.Report) => {
      const inner = withoutParentheses(node);
      // A field stays the field that it is.
      const isOwn = mayBeTested(inner) || !this.#mayBeForm(inner, context);
      if (!isForm(inner) && (isOwn || this.#typeOf(inner, flow, context) === undefined))
        return lookupExpression(node, flow, context, mode);
      const type = resolver.resolveExpression(inner, flow, context, mode);
      resolver.currentThisExpression = null;
      resolver.currentElementExpression = null;
      return type === null ? null : resolver.getElementOfType(type);
    };
    const resolveType = resolver.resolveType.bind(resolver);
    resolver.resolveType = (node, ...rest) =>
      node instanceof ResolvedTypeNode ? node.type : resolveType(node, ...rest);
    inferResults(this.#compiler.resolver, {
      program: this.#compiler.program,
      at: (flow) => this.#asking(flow, as.Type.auto),
      report: (node, flow) => {
        const before = this.#errors();
        resolver.resolveExpression(node, flow, as.Type.auto, ReportMode.Report);
        return this.#errors() > before;
      },
    });
  }

  /** Tells the mistake in a part of a form whose type is not known. */
  #report(node: as.Expression, flow: as.Flow, context: as.Type): void {
    const resolver = this.#compiler.resolver;
    const before = this.#errors();
    const ask = (part: as.Expression, within: as.Flow): as.Type | null =>
      this.#errors() > before ? null : resolver.resolveExpression(part, within, context, ReportMode.Report);
    if (node instanceof ChainExpression) {
      const type = ask(node.object, flow);
      if (type === null) return;
      const inner = flow.fork();
      inner.addScopedDummyLocal(node.held.text, type.nonNullableType, node.held);
      ask(node.rest, inner);
    } else if (node instanceof NullishExpression) {
      ask(node.left, flow);
      ask(node.right, flow);
    } else if (node instanceof AssignIfExpression) {
      ask(node.target, flow);
    } else if (isUntyped(node, context)) {
      for (const value of node.values) if (this.#typing.of(value, flow) === null) ask(value, flow);
      if (this.#errors() === before) tellLiteral(this.#asking(flow, context), node);
    } else if (node instanceof as.CallExpression && expandLibraryCall(this.#asking(flow, context), node) === null) {
      const unknown = unknownIn(this.#asking(flow, context), node);
      const inner = flow.fork();
      for (const [name, type] of unknown?.names ?? []) inner.addScopedDummyLocal(name.text, type, name);
      if (unknown !== null) ask(unknown.value, inner);
    }
    // Without any message, the compiler would take the mistake for told.
    if (this.#errors() === before) this.#tell("unknown_form", node.range);
  }

  #keep<N extends as.Node>(owner: as.Function, node: as.Node, made: N): N {
    let known = this.#made.get(owner);
    if (known === undefined) this.#made.set(owner, (known = new Map<as.Node, as.Node>()));
    known.set(node, made);
    return made;
  }

  #asking(flow: as.Flow, context: as.Type): Expansion {
    return {
      typing: this.#typing,
      closures: this.#closures,
      flow,
      context,
      isCondition: false,
      resolve: (node) => this.#resolveType(node, flow),
      isFloat: (declaration, at) => declaresFloat(this.#asking(at, as.Type.auto), declaration),
      tell: (mistake, range) => this.#tell(mistake, range),
    };
  }

  #tell(mistake: FormMistake, range: as.Range): null {
    const key = `${mistake}@${range.source.normalizedPath}@${range.start}`;
    if (!this.#told.has(key)) {
      this.#told.add(key);
      this.#compiler.error(DiagnosticCode.Not_implemented_0, range, mistakeText(mistake));
    }
    return null;
  }

  #mayBeForm(node: as.Expression, context: as.Type): boolean {
    if (mayBeForm(node, context) || this.#closures.scope.mayMention(node)) return true;
    return node instanceof as.CallExpression && this.#closures.mayCarry(node);
  }

  #errors(): number {
    return this.#compiler.program.diagnostics.length;
  }
}

/** A value of the type, where a mistake is told: nothing follows from it. */
function standIn(type: as.Type, range: as.Range): BlockExpression {
  if (type === as.Type.void) return new BlockExpression([], null, range);
  const name = hidden("missing", range.start, range);
  const value = again(name);
  if (!type.isReference) return new BlockExpression([variable(name, zeroOf(type, range), type)], value, range);
  const isThere = !type.isNullableReference;
  return new BlockExpression(
    [variable(name, nothing(range), type.asNullable())],
    isThere ? as.Node.createAssertionExpression(AssertionKind.NonNull, value, null, range) : value,
    range,
  );
}

/** A form that the compiler has nothing for. */
function isForm(node: as.Expression): boolean {
  return (
    node instanceof ChainExpression ||
    node instanceof NullishExpression ||
    node instanceof AssignIfExpression ||
    node instanceof RecordSpreadExpression ||
    node instanceof BlockExpression ||
    isConstAssertion(node)
  );
}

/** `value as const`. */
function isConstAssertion(node: as.Expression): node is as.AssertionExpression {
  return node instanceof as.AssertionExpression && node.assertionKind === AssertionKind.Const;
}

function isTuple(type: as.Type): boolean {
  return partsOfTuple(type) !== null;
}

/** Expressions without parts, of which most code is made. */
const WITHOUT_PARTS: ReadonlySet<NodeKind> = new Set([
  NodeKind.Identifier,
  NodeKind.This,
  NodeKind.Null,
  NodeKind.True,
  NodeKind.False,
]);

const CALLS = [mayQuote, mayWait, mayLoop, isArrayFrom, mayPack, maySearch, mayBeOfLibrary, mayHaveNullableReceiver];

/** Asked of every expression that is compiled. */
function mayBeForm(node: as.Expression, context: as.Type): boolean {
  if (WITHOUT_PARTS.has(node.kind) || node instanceof BlockExpression) return false;
  if (isForm(node)) return true;
  if (node.range.source.isLibrary) return false;
  if (mayBePart(node) || (node instanceof as.ArrayLiteralExpression && isTuple(context))) return true;
  if (maySpread(node) || isDelete(node) || holdsUntyped(node, context)) return true;
  if (mayUpdate(node) || mayUpdateNullable(node) || mayFill(node) || mayConcatenate(node) || mayBeDate(node))
    return true;
  if (mayBeTested(node) || mayBeMembership(node)) return true;
  if (node instanceof as.CallExpression) return CALLS.some((may) => may(node));
  if (node.kind === NodeKind.Binary)
    return withoutParentheses((node as as.BinaryExpression).left) instanceof ChainExpression;
  if (node.kind !== NodeKind.UnaryPrefix) return false;
  const { operator, operand } = node as as.UnaryPrefixExpression;
  return operator === Token.Exclamation && withoutParentheses(operand) instanceof ChainExpression;
}
