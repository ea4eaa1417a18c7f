/**
 * From a handler to its slice. That is the plain slice, or one that says more than the handler touches, where that saves
 * much of the work.
 *
 * Conditions that depend on something expensive are taken apart (`separate.ts`) and all given up at first. A condition whose
 * loss breaks a rule is taken back. Then each is tried without (*give-back*): it stays given up only if that saves an expensive
 * amount of estimated work. The plain slice stays at hand: it is used should the other not compile.
 */
import {
  isAccess,
  statementExpressions,
  walkExpression,
  walkStatements,
  type Expression,
  type FunctionDeclaration,
  type Program,
  type Statement,
} from "../lower/ir.ts";
import { Refusal } from "../lower/refusal.ts";
import type { Explanation, Transformation, TransformationKind } from "../front.ts";
import { CostModel, EXPENSIVE_STEPS } from "../infer/cost.ts";
import { Expense } from "../infer/expense.ts";
import { KeptCode, recursiveFunctions } from "../infer/kept-code.ts";
import type { PointsTo } from "../infer/points-to.ts";
import { computeRelevance, type Relevance } from "../infer/relevance.ts";
import { abortsIn, Abandoning, stopsInside, type Abandoned, type Branch, type Option } from "./abandon.ts";
import { Copier } from "./copy.ts";
import { Explainer } from "./explain.ts";
import { buildResidual, type Residual } from "./residual.ts";
import { Separation } from "./separate.ts";
import { brokenRuleOfWidening, rankingsIn, widenedWrites, type Widened } from "./widening.ts";
import { brokenRule, makesWriter, placesOf, type Candidate } from "./unions.ts";

export interface Slice {
  readonly residual: Residual;
  readonly relevance: Relevance;
  /** Estimated work of a run. */
  readonly steps: number;
  readonly transformations: readonly Transformation[];
  readonly explanations: readonly Explanation[];
}

/** The plain slice, and a better one if there is any. */
export interface Slices {
  readonly plain: Slice;
  readonly transformed: Slice | null;
}

export interface SliceOptions {
  /** Transformations that the developer does not want. */
  readonly refused: ReadonlySet<TransformationKind>;
  /** Whether all that is kept is to be explained, or only what is expensive. */
  readonly explain: boolean;
}

export function sliceProgram(program: Program, pointsTo: PointsTo, options: SliceOptions): Slices {
  return new Slicing(program, pointsTo, options).run();
}

type Bodies = ReadonlyMap<FunctionDeclaration, readonly Statement[]>;

interface Attempt extends Omit<Slice, "transformations" | "explanations"> {
  readonly options: ReadonlySet<Option>;
  readonly bodies: Bodies;
  readonly unions: readonly Abandoned[];
  readonly widened: readonly Widened[];
  readonly candidate: Candidate;
}

class Slicing {
  readonly #program: Program;
  readonly #pointsTo: PointsTo;
  readonly #options: SliceOptions;
  readonly #originals: Bodies;
  /** With conditions taken apart. */
  #separated: Bodies;
  #recursive: ReadonlySet<FunctionDeclaration> = new Set();

  constructor(program: Program, pointsTo: PointsTo, options: SliceOptions) {
    this.#program = program;
    this.#pointsTo = pointsTo;
    this.#options = options;
    this.#originals = new Map(Array.from(pointsTo.reached, (declaration) => [declaration, declaration.body]));
    this.#separated = this.#originals;
  }

  run(): Slices {
    const relevance = computeRelevance(this.#program, this.#pointsTo);
    const residual = buildResidual(this.#program, relevance, this.#pointsTo, { exact: true });
    const plain: Slice = {
      residual,
      relevance,
      steps: stepsOf(residual),
      transformations: [],
      explanations: this.#explained(relevance),
    };
    if (stepsOf(residual, COMPUTED) < EXPENSIVE_STEPS) return { plain, transformed: null };
    try {
      const transformed = this.#transformed(relevance);
      return { plain, transformed };
    } finally {
      setBodies(this.#originals);
    }
  }

  #transformed(plain: Relevance): Slice | null {
    const pointsTo = this.#pointsTo;
    const expense = new Expense(pointsTo, new CostModel(pointsTo.reached, COMPUTED));
    const copied = pointsTo.copied.bind(pointsTo);
    const separation = new Separation(expense, new Copier(copied));
    this.#separated = new Map(
      Array.from(this.#originals, ([declaration, body]) => [declaration, separation.statements(body)]),
    );
    setBodies(this.#separated);
    this.#recursive = recursiveFunctions(pointsTo.reached, { pointsTo });
    const rankings = rankingsIn(pointsTo.reached, plain, pointsTo);
    const options = new Set<Option>([...this.#branches(expense), ...rankings]);
    if (options.size === 0) return null;
    let best = this.#attempt(options);
    if (best === null) return null;
    const saved = new Map<Option, number>();
    for (const option of best.options) {
      if (!best.options.has(option)) continue;
      const without = this.#attempt(new Set([...best.options].filter((other) => other !== option)));
      const saves = without === null ? EXPENSIVE_STEPS : without.steps - best.steps;
      saved.set(option, saves);
      if (without !== null && !pays(saves, without.steps)) best = without;
    }
    if (best.options.size === 0) return null;
    const { residual, relevance, steps, unions, widened, candidate } = best;
    setBodies(best.bodies);
    const transformations = [
      ...unions.map((union) => describe(union, candidate, saved.get(union.branch) ?? 0, expense)),
      ...widened.map((widening) => describeWidening(widening, candidate, saved.get(widening.ranking) ?? 0)),
    ].toSorted((a, b) => a.span.start - b.span.start);
    return { residual, relevance, steps, transformations, explanations: this.#explained(relevance) };
  }

  /** Of the program as it stands. */
  #explained(relevance: Relevance): Explanation[] {
    const pointsTo = this.#pointsTo;
    const explainer = new Explainer(pointsTo.reached, { relevance, pointsTo });
    const costs = new CostModel(pointsTo.reached, COMPUTED);
    return this.#options.explain ? explainer.everything(costs) : explainer.expenses(costs);
  }

  /** The branches that may be given up, judged by their looks. */
  #branches(expense: Expense): Set<Branch> {
    const branches = new Set<Branch>();
    for (const declaration of this.#pointsTo.reached) {
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

  /** The slice that takes those of the options that are right. Null: it can't be built. */
  #attempt(options: ReadonlySet<Option>): Attempt | null {
    const program = this.#program;
    const pointsTo = this.#pointsTo;
    const recursive = this.#recursive;
    const { refused } = this.#options;
    for (let remaining = options; ;) {
      const rewriting = new Abandoning(remaining, pointsTo.copied.bind(pointsTo));
      const bodies = new Map(
        Array.from(this.#separated, ([declaration, body]) => [declaration, rewriting.body(declaration, body)]),
      );
      setBodies(bodies);
      const { results: unions, widened } = rewriting;
      const places = [...unions.flatMap(placesOf), ...widened.flatMap(({ loops }) => [...loops.keys()])];
      const relevance = computeRelevance(program, pointsTo, places);
      const candidate: Candidate = { program, pointsTo, relevance, recursive };
      const wrong = new Set<Option>();
      for (const union of unions)
        if (brokenRule(union, candidate) !== null || refused.has(kindOf(union, candidate))) wrong.add(union.branch);
      for (const widening of widened)
        if (brokenRuleOfWidening(widening, candidate) !== null || refused.has("widening")) wrong.add(widening.ranking);
      if (wrong.size === 0) {
        const residual = residualOf(program, relevance, pointsTo);
        if (residual === null) return null;
        const steps = stepsOf(residual);
        return { residual, relevance, steps, options: remaining, bodies, unions, widened, candidate };
      }
      remaining = new Set([...remaining].filter((option) => !wrong.has(option)));
    }
  }
}

function describe(union: Abandoned, candidate: Candidate, steps: number, expense: Expense): Transformation {
  const kind = kindOf(union, candidate);
  const { branch } = union;
  const condition =
    branch.kind === "switch" ? branch.discriminant : branch.kind === "logical" ? branch.left : branch.condition;
  const { span } = condition;
  const origin = expense.originOf(condition);
  const related = [
    ...(origin === null
      ? []
      : [{ span: origin.span, label: `expensive: about ${origin.steps.toLocaleString("en")} steps` }]),
    ...(kind === "dropped-guard"
      ? union.dropped.map((jump) => ({ span: jump.place.span, label: "this end is left out" }))
      : accessesOf(union.sides).map((access) => ({ span: access.span, label: "in the set in either case" }))),
  ];
  const words =
    kind === "dropped-guard"
      ? "An early end is left out, because its condition is expensive."
      : "The set has the accesses of both sides, because the condition is expensive.";
  return { kind, span, words, related, steps, makesWriter: makesWriter(union, candidate) };
}

function accessesOf(sides: Abandoned["sides"]): Expression[] {
  const found: Expression[] = [];
  const note = (part: Expression): void => {
    if (isAccess(part)) found.push(part);
  };
  for (const side of sides) {
    if (side.kind !== "block") walkExpression(side, note);
    else
      walkStatements(side.body, (statement) => {
        for (const own of statementExpressions(statement)) walkExpression(own, note);
      });
  }
  return found;
}

function describeWidening(widened: Widened, candidate: Candidate, steps: number): Transformation {
  return {
    kind: "widening",
    span: widened.ranking.span,
    words: "The set has the accesses of all candidates, not only of the best, because ranking them is expensive.",
    related: Array.from(widened.loops.keys(), (loop) => ({
      span: loop.condition?.span ?? loop.span,
      label: "visits all elements",
    })),
    steps,
    makesWriter: widenedWrites(widened, candidate),
  };
}

/** A union of whose sides nothing is kept only leaves out where the execution may have ended. */
function kindOf(union: Abandoned, candidate: Candidate): "union" | "dropped-guard" {
  return new KeptCode(candidate, union.sides).accesses ? "union" : "dropped-guard";
}

/** Whether it is worth saying too much: it saves much, also beside the work that remains. */
function pays(saved: number, without: number): boolean {
  return saved >= EXPENSIVE_STEPS && saved >= without / 4;
}

/** Accesses are made either way. */
const COMPUTED = { accessSteps: 0 };

function stepsOf({ program }: Residual, counted: { readonly accessSteps?: number } = {}): number {
  return new CostModel(program.functions, counted).function(program.handler);
}

/** An early end that is left out may be that of a function only: what follows in its callers is not certain either. */
function residualOf(program: Program, relevance: Relevance, pointsTo: PointsTo): Residual | null {
  try {
    // variant: union-writes
    return buildResidual(program, relevance, pointsTo, { exact: false });
  } catch (thrown) {
    if (thrown instanceof Refusal) return null;
    throw thrown;
  }
}

function setBodies(bodies: Bodies): void {
  for (const [declaration, body] of bodies) declaration.body = body;
}
