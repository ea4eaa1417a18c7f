/**
 * The rewriting behind a union: a branch whose condition is given up becomes both its sides, one after the other.
 *
 *     if (slow(x)) { A; return; } else { B }   →   { slow(x); { A } { B } }
 *
 * The effects of the condition remain. Jumps that leave a side are dropped: after it comes the other one.
 * Whether the result may stand for the original is decided by the rules in `unions.ts`.
 */
import {
  walkExpression,
  walkStatements,
  statementExpressions,
  type BlockStatement,
  type Conditional,
  type Expression,
  type FunctionDeclaration,
  type IfStatement,
  type LibraryCall,
  type Logical,
  type LoopStatement,
  type Sequence,
  type Statement,
  type SwitchStatement,
} from "../lower/ir.ts";
import { Copier } from "./copy.ts";
import { wholeLoop, type Ranking, type Widened } from "./widening.ts";

export type Branch = IfStatement | SwitchStatement | Logical | Conditional;

/** A rewriting that may be done. */
export type Option = Branch | Ranking;

/** A branch both of whose sides run. */
export interface Abandoned {
  readonly branch: Branch;
  readonly owner: FunctionDeclaration;
  /** The statement or expression in place of the branch. */
  whole: BlockStatement | Sequence;
  /** In the order in which they run. */
  sides: readonly (BlockStatement | Expression)[];
  readonly dropped: DroppedJump[];
}

/** A jump out of a side. */
export interface DroppedJump {
  /** `stop`: the end of the execution by `throw` or `abort`. */
  readonly kind: "return" | "stop" | "break" | "continue";
  /** An empty block where it stood. */
  readonly place: BlockStatement;
  /** Of `break` and `continue`: the loop, the switch, or what stands for it. */
  readonly target: { statement: LoopStatement | SwitchStatement | BlockStatement | null } | null;
}

interface Frame {
  readonly acceptsContinue: boolean;
  /** How many unions the frame itself stands in. */
  readonly depth: number;
  readonly target: { statement: LoopStatement | SwitchStatement | BlockStatement | null };
}

/** Rewrites functions; `results` are the unions made. */
export class Abandoning {
  readonly results: Abandoned[] = [];
  readonly widened: Widened[] = [];
  readonly #branches: ReadonlySet<Branch>;
  readonly #copied: (original: Expression, copy: Expression) => void;
  #owner!: FunctionDeclaration;
  /** The unions around the place that is being rewritten. */
  readonly #around: Abandoned[] = [];
  readonly #frames: Frame[] = [];

  constructor(options: Iterable<Option>, copied: (original: Expression, copy: Expression) => void) {
    this.#copied = copied;
    const branches = new Set<Branch>();
    for (const option of options) {
      if (option.kind === "ranking") this.widened.push({ ranking: option, loops: new Map() });
      else branches.add(option);
    }
    this.#branches = branches;
  }

  body(owner: FunctionDeclaration, body: readonly Statement[]): readonly Statement[] {
    this.#owner = owner;
    return this.#statements(body);
  }

  #statements(statements: readonly Statement[]): readonly Statement[] {
    const end = this.#around.length === 0 ? -1 : statements.findIndex((statement) => this.#endsInDropped(statement));
    const guard = statements[end];
    if (guard?.kind !== "if") return statements.map((statement) => this.#statement(statement));
    // The code behind `if (…) return;` is its other side, which has to be said once the jump is gone.
    const rest = statements.slice(end + 1);
    const { consequent, alternative, span } = guard;
    const after = (side: readonly Statement[]): readonly Statement[] =>
      side.length === 0 ? rest : [{ kind: "block", body: side, span }, ...rest];
    const whole: IfStatement = this.#endsDropped(consequent)
      ? { ...guard, alternative: after(alternative) }
      : { ...guard, consequent: after(consequent) };
    return [...statements.slice(0, end), whole].map((statement) => this.#statement(statement));
  }

  /** Whether one side of an `if` that stays ends in a jump that will not. */
  #endsInDropped(statement: Statement): boolean {
    if (statement.kind !== "if" || this.#branches.has(statement)) return false;
    return this.#endsDropped(statement.consequent) !== this.#endsDropped(statement.alternative);
  }

  #endsDropped(statements: readonly Statement[]): boolean {
    const last = statements.at(-1);
    switch (last?.kind) {
      case "block":
        return this.#endsDropped(last.body);
      case "expression":
        return last.expression.kind === "abort";
      case "return":
      case "throw":
        return true;
      case "break":
      case "continue":
        return this.#frameOf(last)?.depth !== this.#around.length;
      default:
        return false;
    }
  }

  #frameOf({ kind }: Statement): Frame | undefined {
    return this.#frames.findLast(({ acceptsContinue }) => acceptsContinue || kind === "break");
  }

  #block(statements: readonly Statement[], span: Statement["span"]): BlockStatement {
    return { kind: "block", body: this.#statements(statements), span };
  }

  #statement(statement: Statement): Statement {
    switch (statement.kind) {
      case "block":
        return { ...statement, body: this.#statements(statement.body) };
      case "expression": {
        const { expression } = statement;
        if (expression.kind !== "abort" || this.#around.length === 0)
          return { ...statement, expression: this.#expression(expression) };
        return this.#drop("stop", statement, expression.arguments, null);
      }
      case "variable":
        return { ...statement, initializer: this.#optional(statement.initializer) };
      case "if":
        return this.#if(statement);
      case "loop":
        return this.#loop(statement);
      case "switch":
        return this.#switch(statement);
      case "return":
        return this.#around.length === 0
          ? { ...statement, value: this.#optional(statement.value) }
          : this.#drop("return", statement, statement.value === null ? [] : [statement.value], null);
      case "throw":
        return this.#around.length === 0
          ? { ...statement, message: this.#expression(statement.message) }
          : this.#drop("stop", statement, [statement.message], null);
      case "break":
      case "continue": {
        const frame = this.#frameOf(statement);
        if (frame === undefined) throw new Error(`${statement.kind} outside of a loop`);
        return frame.depth === this.#around.length
          ? { ...statement }
          : this.#drop(statement.kind, statement, [], frame);
      }
    }
  }

  #if(statement: IfStatement): Statement {
    if (!this.#branches.has(statement)) {
      return {
        ...statement,
        condition: this.#expression(statement.condition),
        consequent: this.#statements(statement.consequent),
        alternative: this.#statements(statement.alternative),
      };
    }
    const condition = this.#expression(statement.condition);
    return this.#abandon(statement, condition, () => [
      this.#block(statement.consequent, statement.span),
      this.#block(statement.alternative, statement.span),
    ]);
  }

  #switch(statement: SwitchStatement): Statement {
    const target: Frame["target"] = { statement: null };
    this.#frames.push({ acceptsContinue: false, depth: this.#around.length, target });
    const discriminant = this.#expression(statement.discriminant);
    let result: SwitchStatement | BlockStatement;
    if (this.#branches.has(statement)) {
      const whole = this.#abandon(statement, discriminant, () =>
        statement.cases.map(({ body }) => this.#block(body, statement.span)),
      );
      result = whole;
    } else {
      const cases = statement.cases.map(({ label, body }) => ({
        label: this.#optional(label),
        body: this.#statements(body),
      }));
      result = { ...statement, discriminant, cases };
    }
    target.statement = result;
    this.#frames.pop();
    return result;
  }

  #loop(statement: LoopStatement): LoopStatement {
    const target: Frame["target"] = { statement: null };
    const widened = this.widened.find(({ ranking }) => ranking.loops.has(statement));
    const element = widened?.ranking.loops.get(statement);
    const { initial, condition } =
      element === undefined
        ? { initial: this.#statements(statement.initial), condition: this.#optional(statement.condition) }
        : wholeLoop(statement, element, this.#copied);
    this.#frames.push({ acceptsContinue: true, depth: this.#around.length, target });
    const loop: LoopStatement = {
      ...statement,
      initial,
      condition,
      update: this.#optional(statement.update),
      body: this.#statements(statement.body),
    };
    this.#frames.pop();
    target.statement = loop;
    if (element !== undefined) widened?.loops.set(loop, element.receiver.local);
    return loop;
  }

  #abandon(
    branch: IfStatement | SwitchStatement,
    condition: Expression,
    makeSides: () => readonly BlockStatement[],
  ): BlockStatement {
    const { span } = branch;
    const whole: BlockStatement = { kind: "block", body: [], span };
    const made: Abandoned = { branch, owner: this.#owner, whole, sides: [], dropped: [] };
    this.results.push(made);
    this.#around.push(made);
    made.sides = makeSides();
    this.#around.pop();
    const body: Statement[] = [
      { kind: "expression", expression: condition, span: condition.span },
      ...made.sides.filter((side) => side.kind === "block"),
    ];
    return (made.whole = { ...whole, body });
  }

  /** Its place, with what it evaluates. */
  #drop(kind: DroppedJump["kind"], jump: Statement, evaluated: readonly Expression[], frame: Frame | null): Statement {
    const place: BlockStatement = { kind: "block", body: [], span: jump.span };
    const dropped: DroppedJump = { kind, place, target: frame?.target ?? null };
    for (const left of this.#around.slice(frame?.depth ?? 0)) left.dropped.push(dropped);
    const effects = evaluated.map((expression): Statement => ({
      kind: "expression",
      expression: this.#expression(expression),
      span: expression.span,
    }));
    return { kind: "block", body: [...effects, place], span: jump.span };
  }

  // ── Expressions ────────────────────────────────────────────────────────────────────────────────────────────────────

  #optional(expression: Expression | null): Expression | null {
    return expression === null ? null : this.#expression(expression);
  }

  /** The expression itself if nothing inside is concerned. */
  #expression(expression: Expression): Expression {
    let concerned = false;
    walkExpression(expression, (inner) => {
      if (this.#isGivenUp(inner) || this.#isRanking(inner)) concerned = true;
    });
    if (!concerned) return expression;
    const copier = new Copier(this.#copied, (inner) => {
      if (this.#isGivenUp(inner)) return this.#sequence(inner, copier);
      return this.#isRanking(inner) ? unranked(inner, copier) : null;
    });
    return copier.expression(expression);
  }

  #isGivenUp(expression: Expression): expression is Logical | Conditional {
    return (expression.kind === "logical" || expression.kind === "conditional") && this.#branches.has(expression);
  }

  #isRanking(expression: Expression): expression is LibraryCall {
    return this.widened.some(({ ranking }) => ranking.sorts.has(expression) || ranking.slices.has(expression));
  }

  #sequence(branch: Logical | Conditional, copier: Copier): Sequence {
    const originals =
      branch.kind === "logical"
        ? [branch.left, branch.right]
        : [branch.condition, branch.consequent, branch.alternative];
    const parts = originals.map((part) => copier.expression(part));
    const whole: Sequence = { kind: "sequence", operands: parts, type: branch.type, span: branch.span };
    this.results.push({ branch, owner: this.#owner, whole, sides: parts.slice(1), dropped: [] });
    return whole;
  }
}

/** The list itself for `list.sort(…)`, a copy of all of it for `list.slice(…)`. */
function unranked(call: LibraryCall, copier: Copier): Expression {
  if (call.receiver === null) throw new Error(`${call.name} is a method`);
  const receiver = copier.expression(call.receiver);
  return call.member.name === "slice" ? { ...call, receiver, arguments: [] } : receiver;
}

/** Whether a side ends the execution in the middle of an expression, where that can't be dropped. */
export function stopsInside(statements: readonly Statement[]): boolean {
  let found = false;
  walkStatements(statements, (statement) => {
    const dropped = statement.kind === "expression" && statement.expression.kind === "abort";
    if (!dropped && statementExpressions(statement).some((own) => abortsIn(own))) found = true;
  });
  return found;
}

export function abortsIn(expression: Expression): boolean {
  let found = false;
  walkExpression(expression, (inner) => {
    if (inner.kind === "abort") found = true;
  });
  return found;
}
