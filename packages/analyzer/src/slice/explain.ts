/**
 * Why f^rw does what it does: from an expensive loop that it keeps, or a read whose value it needs, step by step to the
 * access that hangs on it.
 */
import {
  nestedStatements,
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
import { definedBy, isStatement, type Inferred } from "../infer/definitions.ts";
import type { Location } from "../infer/heap.ts";
import { KeptCode } from "../infer/kept-code.ts";

type Chain = Explanation["chain"][number][];
type Node = Expression | Statement | Location | FunctionDeclaration;

const LONGEST_CHAIN = 16;

/** Asked of a program whose functions have the bodies that the slice was made of. */
export function explain(functions: Iterable<FunctionDeclaration>, inferred: Inferred, costs: CostModel): Explanation[] {
  const explainer = new Explainer(functions, inferred);
  return [...explainer.loops(costs), ...explainer.reads()];
}

/** What the developer is told of the expensive parts. */
export function expenseDiagnostic(handler: string, { what, span, chain }: Explanation): Diagnostic {
  return diagnostic("expensive_read_write_set", {
    message: `the read/write-set function of ${handler} ${what}`,
    primary: span,
    related: chain.map((step) => ({ span: step.span, label: step.words })),
    help: "make keys of what is cheap to know, or let the handler run near storage: /** @nearstorage */",
  });
}

class Explainer {
  private readonly functions: readonly FunctionDeclaration[];
  private readonly inferred: Inferred;
  /** The function of each `return`. */
  private readonly owners = new Map<Statement, FunctionDeclaration>();

  constructor(functions: Iterable<FunctionDeclaration>, inferred: Inferred) {
    this.functions = [...functions];
    this.inferred = inferred;
    for (const declaration of this.functions)
      walkStatements(declaration.body, (statement) => {
        if (statement.kind === "return") this.owners.set(statement, declaration);
      });
  }

  /** The innermost loops that are expensive. */
  loops(costs: CostModel): Explanation[] {
    const { relevance } = this.inferred;
    const found: Explanation[] = [];
    for (const declaration of this.functions) {
      walkStatements(declaration.body, (statement) => {
        if (statement.kind !== "loop" || !relevance.keptStatements.has(statement)) return;
        const steps = costs.loop(statement);
        if (steps < EXPENSIVE_STEPS || this.hasExpensivePart(statement, costs)) return;
        // However often it makes accesses: they have to be said.
        if (new KeptCode(this.inferred, statement.body).accesses) return;
        const what = `keeps an expensive loop (≈ ${steps.toLocaleString("en")} steps)`;
        const start = this.resultOf(statement);
        found.push({ what, span: headOf(statement), steps, chain: start === null ? [] : this.chainFrom(start) });
      });
    }
    return found;
  }

  /** Reads whose value is needed. */
  reads(): Explanation[] {
    const { relevance } = this.inferred;
    const found: Explanation[] = [];
    for (const declaration of this.functions)
      for (const part of expressionsIn(declaration.body))
        if (part.kind === "access" && part.operation === "get" && relevance.needed.has(part))
          found.push({ what: "needs the value of this read", span: part.span, steps: 0, chain: this.chainFrom(part) });
    return found;
  }

  private hasExpensivePart(loop: LoopStatement, costs: CostModel): boolean {
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
  private resultOf(loop: LoopStatement): Node | null {
    const inside = new Set<Node>(expressionsIn(loop.body));
    walkStatements(loop.body, (statement) => inside.add(statement));
    for (const part of expressionsIn(loop.body)) {
      if (part.kind === "access") return part;
      for (const location of definedBy(part, this.inferred)) {
        const reader = this.inferred.relevance.causes.get(location);
        if (reader !== undefined && !inside.has(reader)) return location;
      }
    }
    return null;
  }

  private chainFrom(start: Node): Chain {
    const chain: Chain = [];
    const seen = new Set<Node>();
    for (let node: Node | null = start; node !== null && !seen.has(node) && chain.length < LONGEST_CHAIN;) {
      seen.add(node);
      node = this.step(node, node === start, chain);
    }
    return chain;
  }

  /** Tells of a node and goes to what it is for. */
  private step(node: Node, isStart: boolean, chain: Chain): Node | null {
    const { causes, needed } = this.inferred.relevance;
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
          return causes.get(this.owners.get(node)!) ?? null;
        case "if":
        case "loop":
        case "switch": {
          const decided = firstAccess(nestedStatements(node));
          tell("decides about what follows", node.kind === "loop" ? headOf(node) : conditionOf(node).span);
          if (decided !== null) tell("this access hangs on it", decided.span);
          return null;
        }
        default:
          return null;
      }
    }
    if (node.kind === "access" && !isStart) {
      tell("key of this access", node.span);
      return null;
    }
    if (needed.has(node)) {
      if (node.kind === "assignment") tell("flows into", node.span);
      const next = causes.get(node);
      if (next !== undefined) return next;
    }
    const [defined] = definedBy(node, this.inferred);
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
  return expressionsIn(statements).find(({ kind }) => kind === "access") ?? null;
}

function expressionsIn(statements: readonly Statement[]): Expression[] {
  const found: Expression[] = [];
  walkStatements(statements, (statement) => {
    for (const own of statementExpressions(statement)) walkExpression(own, (part) => void found.push(part));
  });
  return found;
}
