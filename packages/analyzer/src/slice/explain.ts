/**
 * Explanations of f^rw. Each starts at an expensive loop or call that f^rw keeps, a recursion, a read whose value it needs,
 * or any line that it keeps. It goes step by step to the access that depends on it.
 */
import {
  isAccess,
  nestedStatements,
  operands,
  statementExpressions,
  walkExpression,
  walkStatements,
  type Expression,
  type FunctionDeclaration,
  type LoopStatement,
  type Statement,
} from "../lower/ir.ts";
import { diagnostic } from "../diagnostics/catalogue.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import type { Explanation } from "../front.ts";
import { EXPENSIVE_STEPS, type CostModel } from "../infer/cost.ts";
import { calleesOf, definedBy, isStatement, type Inferred } from "../infer/definitions.ts";
import type { Location } from "../infer/heap.ts";
import { KeptCode, recursiveFunctions } from "../infer/kept-code.ts";

type Chain = Explanation["chain"][number][];
type Node = Expression | Statement | Location | FunctionDeclaration;

const LONGEST_CHAIN = 16;

/** The diagnostic about an expensive part. */
export function expenseDiagnostic(handler: string, { what, span, chain }: Explanation): Diagnostic {
  return diagnostic("expensive_read_write_set", {
    message: `The read/write-set function of ${handler} ${what}.`,
    primary: span,
    related: chain.map((step) => ({ span: step.span, label: step.words })),
    help: "Make the keys of values that are cheap to compute, or let the handler run near storage: `/** @nearstorage */`.",
  });
}

/** Asked of a program whose functions have the bodies that the slice was made of. */
export class Explainer {
  readonly #functions: readonly FunctionDeclaration[];
  readonly #inferred: Inferred;
  /** The function of each `return`. */
  readonly #owners = new Map<Statement, FunctionDeclaration>();
  #callers: ReadonlyMap<FunctionDeclaration, Expression> | null = null;

  constructor(functions: Iterable<FunctionDeclaration>, inferred: Inferred) {
    this.#functions = [...functions];
    this.#inferred = inferred;
    for (const declaration of this.#functions)
      walkStatements(declaration.body, (statement) => {
        if (statement.kind === "return") this.#owners.set(statement, declaration);
      });
  }

  everything(costs: CostModel): Explanation[] {
    return [...this.expenses(costs), ...this.recursions(costs), ...this.reads(), ...this.lines()];
  }

  /** The innermost loops, and calls of the library with callbacks, that are expensive. */
  expenses(costs: CostModel): Explanation[] {
    const { relevance } = this.#inferred;
    const found: Explanation[] = [];
    for (const declaration of this.#functions) {
      walkStatements(declaration.body, (statement) => {
        if (statement.kind !== "loop" || !relevance.keptStatements.has(statement)) return;
        const steps = costs.loop(statement);
        if (steps < EXPENSIVE_STEPS || this.#hasExpensivePart(statement, costs)) return;
        // However often it makes accesses: they have to be said.
        if (new KeptCode(this.#inferred, statement.body).accesses) return;
        const what = `keeps an expensive loop (≈ ${steps.toLocaleString("en")} steps)`;
        const start = this.#resultOf(statement);
        const chain = start === null ? [] : this.#chainFrom(start);
        found.push({ kind: "expense", what, span: headOf(statement), steps, chain });
      });
      for (const part of expressionsIn(declaration.body)) {
        if (part.kind !== "library" || !this.#isKept(part)) continue;
        const callbacks = calleesOf(part, this.#inferred.pointsTo);
        const steps = costs.expression(part) - sum(operands(part).map((operand) => costs.expression(operand)));
        if (steps < EXPENSIVE_STEPS || callbacks.some((callee) => costs.function(callee) >= EXPENSIVE_STEPS)) continue;
        if (callbacks.some((callee) => this.#makesAccesses(callee))) continue;
        const what = `keeps an expensive call of ${part.name} (≈ ${steps.toLocaleString("en")} steps)`;
        found.push({ kind: "expense", what, span: part.span, steps, chain: this.#chainFrom(part) });
      }
    }
    return found;
  }

  /** Calls that begin a recursion; where it makes accesses, these have to be said. */
  recursions(costs: CostModel): Explanation[] {
    const recursive = recursiveFunctions(this.#functions, this.#inferred);
    if (recursive.size === 0) return [];
    const found: Explanation[] = [];
    for (const declaration of this.#functions) {
      for (const part of recursive.has(declaration) ? [] : expressionsIn(declaration.body)) {
        if (!this.#isKept(part)) continue;
        const callee = calleesOf(part, this.#inferred.pointsTo).find((called) => recursive.has(called));
        if (callee === undefined || this.#makesAccesses(callee)) continue;
        const steps = costs.function(callee);
        const what = `keeps a recursion, of ${callee.name} (counted as ${steps.toLocaleString("en")} steps; how deep it goes is not known)`;
        found.push({ kind: "recursion", what, span: part.span, steps, chain: this.#chainFrom(part) });
      }
    }
    return found;
  }

  /** The call of the library that a callback is passed to. */
  #callerOf(callback: FunctionDeclaration): Expression | null {
    this.#callers ??= this.#libraryCallers();
    return this.#callers.get(callback) ?? null;
  }

  #libraryCallers(): ReadonlyMap<FunctionDeclaration, Expression> {
    const callers = new Map<FunctionDeclaration, Expression>();
    for (const declaration of this.#functions)
      for (const part of expressionsIn(declaration.body)) {
        if (part.kind !== "library" || !this.#isKept(part)) continue;
        for (const called of calleesOf(part, this.#inferred.pointsTo))
          if (!callers.has(called)) callers.set(called, part);
      }
    return callers;
  }

  #isKept(part: Expression): boolean {
    const { needed, kept } = this.#inferred.relevance;
    return needed.has(part) || kept.has(part);
  }

  #makesAccesses(callee: FunctionDeclaration): boolean {
    return new KeptCode(this.#inferred, [...callee.initializers, ...callee.body]).accesses;
  }

  /** The kept lines: each with the first part that something else depends on, or else with its own effect. */
  lines(): Explanation[] {
    const lines = new Map<string, Explanation>();
    const note = (span: Statement["span"], what: string, chain: Chain): void => {
      const place = `${span.file}:${span.line}`;
      const known = lines.get(place);
      if (known === undefined || (known.chain.length === 0 && chain.length > 0))
        lines.set(place, { kind: "line", what, span, steps: 0, chain });
    };
    const { relevance } = this.#inferred;
    for (const declaration of this.#functions) {
      walkStatements(declaration.body, (statement) => {
        switch (statement.kind) {
          case "variable":
            if (statement.initializer !== null && relevance.needed.has(statement.initializer))
              note(statement.span, "computes what is needed", this.#chainFrom(statement));
            break;
          case "if":
          case "switch":
            if (relevance.keptStatements.has(statement))
              note(conditionOf(statement).span, "decides", this.#chainFrom(statement));
            break;
          case "loop":
            if (relevance.keptStatements.has(statement)) note(headOf(statement), "repeats", this.#chainFrom(statement));
            break;
          case "return":
          case "break":
          case "continue":
          case "throw":
            if (relevance.jumps.has(statement)) note(statement.span, "ends before what comes behind it", []);
            break;
          case "block":
          case "expression":
            break;
        }
      });
      for (const part of expressionsIn(declaration.body)) {
        if (isAccess(part)) note(part.span, "says an access", []);
        else if (!relevance.kept.has(part)) continue;
        else if (part.kind === "assignment") note(part.span, "computes what is needed", this.#chainFrom(part));
        else if (part.kind === "lane") note(part.span, "says the key of a task", []);
        else if (part.kind === "abort") note(part.span, "ends before what comes behind it", []);
        else note(part.span, "is needed for what it does", this.#chainFrom(part));
      }
    }
    return [...lines.values()].toSorted(({ span: a }, { span: b }) =>
      a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line,
    );
  }

  /** Reads whose value is needed. */
  reads(): Explanation[] {
    const { relevance } = this.#inferred;
    const found: Explanation[] = [];
    for (const declaration of this.#functions)
      for (const part of expressionsIn(declaration.body))
        if (
          (part.kind === "scan" || (part.kind === "access" && part.operation === "get")) &&
          relevance.needed.has(part)
        )
          found.push({
            kind: "read",
            what: "needs the value of this read",
            span: part.span,
            steps: 0,
            chain: this.#chainFrom(part),
          });
    return found;
  }

  #hasExpensivePart(loop: LoopStatement, costs: CostModel): boolean {
    let found = false;
    walkStatements(loop.body, (inner) => {
      if (inner.kind === "loop" && costs.loop(inner) >= EXPENSIVE_STEPS) found = true;
    });
    return (
      found ||
      expressionsIn(loop.body).some((part) => part.kind === "call" && costs.expression(part) >= EXPENSIVE_STEPS)
    );
  }

  /** The first thing that the loop defines for code outside of it, or what it does itself. */
  #resultOf(loop: LoopStatement): Node | null {
    const inside = new Set<Node>(expressionsIn(loop.body));
    walkStatements(loop.body, (statement) => inside.add(statement));
    for (const part of expressionsIn(loop.body)) {
      if (isAccess(part)) return part;
      for (const location of definedBy(part, this.#inferred)) {
        const reader = this.#inferred.relevance.causes.get(location);
        if (reader !== undefined && !inside.has(reader)) return location;
      }
    }
    return null;
  }

  #chainFrom(start: Node): Chain {
    const chain: Chain = [];
    const seen = new Set<Node>();
    for (let node: Node | null = start; node !== null && !seen.has(node) && chain.length < LONGEST_CHAIN;) {
      seen.add(node);
      node = this.#step(node, node === start, chain);
    }
    return chain;
  }

  /** Tells of a node and goes to what it is for. */
  #step(node: Node, isStart: boolean, chain: Chain): Node | null {
    const { causes, needed } = this.#inferred.relevance;
    const tell = (words: string, span: Statement["span"]): void => {
      if (chain.at(-1)?.span.start !== span.start || chain.at(-1)?.words !== words) chain.push({ words, span });
    };
    if (!("kind" in node) || !("span" in node) || isDeclaration(node)) return causes.get(node) ?? null;
    if (isStatement(node)) {
      switch (node.kind) {
        case "variable":
          tell("flows into", node.span);
          return causes.get(node.local) ?? null;
        case "return":
          tell("flows into", node.span);
          return causes.get(this.#owners.get(node)!) ?? this.#callerOf(this.#owners.get(node)!);
        case "if":
        case "loop":
        case "switch": {
          const decided = firstAccess(nestedStatements(node));
          tell("decides about what follows", node.kind === "loop" ? headOf(node) : conditionOf(node).span);
          if (decided !== null) tell("this access depends on it", decided.span);
          return null;
        }
        default:
          return null;
      }
    }
    if ((node.kind === "access" || node.kind === "scan") && !isStart) {
      tell(node.kind === "access" ? "key of this access" : "range of this access", node.span);
      return null;
    }
    if (needed.has(node)) {
      if (node.kind === "assignment") tell("flows into", node.span);
      const next = causes.get(node);
      if (next !== undefined) return next;
    }
    const [defined] = definedBy(node, this.#inferred);
    if (defined === undefined) return null;
    tell("flows into", node.span);
    return causes.get(defined) ?? null;
  }
}

function isDeclaration(node: Node): node is FunctionDeclaration {
  return "body" in node && "parameters" in node;
}

function headOf(loop: LoopStatement): Statement["span"] {
  return loop.condition?.span ?? loop.span;
}

function conditionOf(statement: Extract<Statement, { kind: "if" | "switch" }>): Expression {
  return statement.kind === "if" ? statement.condition : statement.discriminant;
}

function firstAccess(statements: readonly Statement[]): Expression | null {
  return expressionsIn(statements).find(isAccess) ?? null;
}

function expressionsIn(statements: readonly Statement[]): Expression[] {
  const found: Expression[] = [];
  walkStatements(statements, (statement) => {
    for (const own of statementExpressions(statement)) walkExpression(own, (part) => void found.push(part));
  });
  return found;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
