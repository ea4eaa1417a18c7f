/**
 * From a handler to its slice: the plain one, or one of a program that says more than the handler touches, where that
 * saves much of the work.
 *
 * Conditions that hang on something expensive are taken apart (`separate.ts`) and all given up at first. What breaks a
 * rule is taken back. Then each is tried without (*give-back*): it stays given up only if that saves an expensive
 * amount of estimated work. The plain slice stays at hand: it is used should the other not compile.
 */
import {
  statementExpressions,
  walkExpression,
  walkStatements,
  type FunctionDeclaration,
  type Program,
  type Statement,
} from "../lower/ir.ts";
import { Refusal } from "../lower/refusal.ts";
import type { Transformation, TransformationKind } from "../front.ts";
import { CostModel, EXPENSIVE_STEPS } from "../infer/cost.ts";
import { Expense } from "../infer/expense.ts";
import { KeptCode, recursiveFunctions } from "../infer/kept-code.ts";
import type { PointsTo } from "../infer/points-to.ts";
import { computeRelevance, type Relevance } from "../infer/relevance.ts";
import { abortsIn, Abandoning, stopsInside, type Abandoned, type Branch } from "./abandon.ts";
import { Copier } from "./copy.ts";
import { buildResidual, type Residual } from "./residual.ts";
import { Separation } from "./separate.ts";
import { brokenRule, makesWriter, placesOf, type Candidate } from "./unions.ts";

export interface Slice {
  readonly residual: Residual;
  readonly relevance: Relevance;
  /** Estimated work of a run. */
  readonly steps: number;
  readonly transformations: readonly Transformation[];
}

/** The plain slice, and a better one if there is any. */
export interface Slices {
  readonly plain: Slice;
  readonly transformed: Slice | null;
}

export function sliceProgram(program: Program, pointsTo: PointsTo, refused: ReadonlySet<TransformationKind>): Slices {
  return new Slicing(program, pointsTo, refused).run();
}

type Bodies = ReadonlyMap<FunctionDeclaration, readonly Statement[]>;

interface Attempt extends Omit<Slice, "transformations"> {
  readonly branches: ReadonlySet<Branch>;
  readonly bodies: Bodies;
  readonly unions: readonly Abandoned[];
  readonly candidate: Candidate;
}

class Slicing {
  private readonly program: Program;
  private readonly pointsTo: PointsTo;
  private readonly refused: ReadonlySet<TransformationKind>;
  private readonly originals: Bodies;
  /** With conditions taken apart. */
  private separated: Bodies;
  private recursive: ReadonlySet<FunctionDeclaration> = new Set();

  constructor(program: Program, pointsTo: PointsTo, refused: ReadonlySet<TransformationKind>) {
    this.program = program;
    this.pointsTo = pointsTo;
    this.refused = refused;
    this.originals = new Map(Array.from(pointsTo.reached, (declaration) => [declaration, declaration.body]));
    this.separated = this.originals;
  }

  run(): Slices {
    const relevance = computeRelevance(this.program, this.pointsTo);
    const residual = buildResidual(this.program, relevance, this.pointsTo, { exact: true });
    const plain: Slice = { residual, relevance, steps: stepsOf(residual), transformations: [] };
    if (plain.steps < EXPENSIVE_STEPS) return { plain, transformed: null };
    try {
      const transformed = this.transformed();
      return { plain, transformed };
    } finally {
      setBodies(this.originals);
    }
  }

  private transformed(): Slice | null {
    const { pointsTo } = this;
    const expense = new Expense(pointsTo, new CostModel(pointsTo.reached));
    const copied = pointsTo.copied.bind(pointsTo);
    const separation = new Separation(expense, new Copier(copied));
    this.separated = new Map(
      Array.from(this.originals, ([declaration, body]) => [declaration, separation.statements(body)]),
    );
    setBodies(this.separated);
    this.recursive = recursiveFunctions(pointsTo.reached, { pointsTo });
    const branches = this.branches(expense);
    if (branches.size === 0) return null;
    let best = this.attempt(branches);
    if (best === null) return null;
    const saved = new Map<Branch, number>();
    for (const branch of best.branches) {
      if (!best.branches.has(branch)) continue;
      const without = this.attempt(new Set([...best.branches].filter((other) => other !== branch)));
      const saves = without === null ? Number.POSITIVE_INFINITY : without.steps - best.steps;
      saved.set(branch, saves);
      if (without !== null && saves < EXPENSIVE_STEPS) best = without;
    }
    if (best.branches.size === 0) return null;
    const { residual, relevance, steps, unions, candidate } = best;
    setBodies(best.bodies);
    const transformations = unions
      .map((union) => this.describe(union, candidate, saved.get(union.branch) ?? 0))
      .toSorted((a, b) => a.span.start - b.span.start);
    return { residual, relevance, steps, transformations };
  }

  /** The branches that may be given up, judged by their looks. */
  private branches(expense: Expense): Set<Branch> {
    const branches = new Set<Branch>();
    for (const declaration of this.pointsTo.reached) {
      walkStatements(declaration.body, (statement) => {
        for (const own of statementExpressions(statement))
          walkExpression(own, (inner) => {
            if (inner.kind !== "logical" && inner.kind !== "conditional") return;
            if (expense.of(inner.kind === "logical" ? inner.left : inner.condition) && !abortsIn(inner))
              branches.add(inner);
          });
        if (statement.kind === "if" && expense.of(statement.condition)) {
          if (!stopsInside([...statement.consequent, ...statement.alternative])) branches.add(statement);
        }
        if (statement.kind === "switch" && expense.of(statement.discriminant)) {
          if (!stopsInside(statement.cases.flatMap(({ body }) => body))) branches.add(statement);
        }
      });
    }
    return branches;
  }

  private rewritten(branches: ReadonlySet<Branch>): { bodies: Bodies; unions: Abandoned[] } {
    const rewriting = new Abandoning(branches, this.pointsTo.copied.bind(this.pointsTo));
    const bodies = new Map(
      Array.from(this.separated, ([declaration, body]) => [declaration, rewriting.body(declaration, body)]),
    );
    return { bodies, unions: rewriting.results };
  }

  /** The slice that gives up those of the branches that may be. Null: it can't be built. */
  private attempt(branches: ReadonlySet<Branch>): Attempt | null {
    const { program, pointsTo, recursive } = this;
    for (let remaining = branches; ;) {
      const { bodies, unions } = this.rewritten(remaining);
      setBodies(bodies);
      const relevance = computeRelevance(program, pointsTo, unions.flatMap(placesOf));
      const candidate: Candidate = { program, pointsTo, relevance, recursive };
      const wrong = unions.filter(
        (union) => brokenRule(union, candidate) !== null || this.refused.has(kindOf(union, candidate)),
      );
      if (wrong.length === 0) {
        const residual = residualOf(program, relevance, pointsTo);
        if (residual === null) return null;
        return { residual, relevance, steps: stepsOf(residual), branches: remaining, bodies, unions, candidate };
      }
      const dropped = new Set(wrong.map(({ branch }) => branch));
      remaining = new Set([...remaining].filter((branch) => !dropped.has(branch)));
    }
  }

  private describe(union: Abandoned, candidate: Candidate, steps: number): Transformation {
    const kind = kindOf(union, candidate);
    const { branch } = union;
    const { span } =
      branch.kind === "switch" ? branch.discriminant : branch.kind === "logical" ? branch.left : branch.condition;
    const what =
      kind === "dropped-guard"
        ? "an early end is left out: its condition is expensive"
        : "the accesses of both sides are made: the condition is expensive";
    return { kind, span, words: what, steps, makesWriter: makesWriter(union, candidate) };
  }
}

/** A union of whose sides nothing is kept only leaves out where the execution may have ended. */
function kindOf(union: Abandoned, candidate: Candidate): "union" | "dropped-guard" {
  return new KeptCode(candidate, union.sides).accesses ? "union" : "dropped-guard";
}

function stepsOf({ program }: Residual): number {
  return new CostModel(program.functions).function(program.handler);
}

/** An early end that is left out may be that of a function only: what follows in its callers is not certain either. */
function residualOf(program: Program, relevance: Relevance, pointsTo: PointsTo): Residual | null {
  try {
    return buildResidual(program, relevance, pointsTo, { exact: false });
  } catch (thrown) {
    if (thrown instanceof Refusal) return null;
    throw thrown;
  }
}

function setBodies(bodies: Bodies): void {
  for (const [declaration, body] of bodies) declaration.body = body;
}
