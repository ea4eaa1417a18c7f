/**
 * Nodes of the everyday forms of TypeScript that AssemblyScript's parser lacks. `FormsParser` makes them; the compiler never
 * sees them, as `expand/` gives it a tree of AssemblyScript for each. A node keeps the range of the developer's text.
 */
import { as, type NodeKind } from "./assemblyscript.ts";

/** Above all kinds of the compiler. */
const KINDS = { block: 1000, chain: 1001, nullish: 1002, assignIf: 1003, resolved: 1004, recordSpread: 1005 } as const;

function kind(name: keyof typeof KINDS): NodeKind {
  return KINDS[name] as unknown as NodeKind;
}

/** Statements that run before an expression, which has the value; without one there is no value. */
export class BlockExpression extends as.Expression {
  readonly statements: as.Statement[];
  readonly result: as.Expression | null;

  constructor(statements: as.Statement[], result: as.Expression | null, range: as.Range) {
    super(kind("block"), range);
    this.statements = statements;
    this.result = result;
  }
}

/** `object?.rest`: `rest` is the whole chain behind, and names the object by `held`. */
export class ChainExpression extends as.Expression {
  readonly object: as.Expression;
  readonly held: as.IdentifierExpression;
  readonly rest: as.Expression;

  constructor(object: as.Expression, held: as.IdentifierExpression, rest: as.Expression, range: as.Range) {
    super(kind("chain"), range);
    this.object = object;
    this.held = held;
    this.rest = rest;
  }
}

/** `left ?? right`. */
export class NullishExpression extends as.Expression {
  readonly left: as.Expression;
  readonly right: as.Expression;
  /** Where the operator stands. */
  readonly at: number;

  /** Of a pattern: a left side that is never null is not a mistake. */
  readonly isDefault: boolean;

  constructor(left: as.Expression, right: as.Expression, at: number, range: as.Range, isDefault = false) {
    super(kind("nullish"), range);
    this.left = left;
    this.right = right;
    this.at = at;
    this.isDefault = isDefault;
  }
}

export type AssignIfOperator = "??" | "||" | "&&";

/** `target ??= value`, `target ||= value`, `target &&= value`. */
export class AssignIfExpression extends as.Expression {
  readonly operator: AssignIfOperator;
  readonly target: as.Expression;
  readonly value: as.Expression;
  /** Where the operator stands. */
  readonly at: number;

  constructor(operator: AssignIfOperator, target: as.Expression, value: as.Expression, at: number, range: as.Range) {
    super(kind("assignIf"), range);
    this.operator = operator;
    this.target = target;
    this.value = value;
    this.at = at;
  }
}

/** A part of a literal. An entry has a key that is computed: it is one of a `Record`. */
export type RecordPart =
  | { readonly kind: "field"; readonly name: as.IdentifierExpression; readonly value: as.Expression }
  | { readonly kind: "entry"; readonly key: as.Expression; readonly value: as.Expression }
  | { readonly kind: "spread"; readonly value: as.Expression };

/** `{ ...record, field: value, [key]: value }`. */
export class RecordSpreadExpression extends as.Expression {
  readonly parts: readonly RecordPart[];
  /** The nodes of the parts, for those who walk over all nodes. */
  readonly values: as.Expression[];

  constructor(parts: readonly RecordPart[], range: as.Range) {
    super(kind("recordSpread"), range);
    this.parts = parts;
    this.values = parts.flatMap((part) => (part.kind === "entry" ? [part.key, part.value] : [part.value]));
  }
}

/** A type that is known, where the compiler wants one that is written. A function gives it when it is asked for. */
export class ResolvedTypeNode extends as.TypeNode {
  readonly #type: as.Type | (() => as.Type);

  constructor(type: as.Type | (() => as.Type), range: as.Range) {
    super(kind("resolved"), false, range);
    this.#type = type;
  }

  get type(): as.Type {
    return typeof this.#type === "function" ? this.#type() : this.#type;
  }
}
