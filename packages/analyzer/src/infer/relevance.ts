/**
 * Backward relevance: the part of a handler that decides which items it touches.
 *
 * The roots are the storage accesses: they are kept, with their keys. Walking backward from them:
 *
 * - A definition is kept if its location is live after it.
 * - The value of an expression is needed if something kept uses it.
 * - A jump is kept if leaving it out would run something kept.
 * - A branch or loop is kept if anything inside is.
 *
 * Assignment kills a variable. It kills no cells, globals and tables, because one abstract cell stands for many.
 *
 * Calls are summarized (`Summary`). The union of the locations that are live after all calls goes in. The uses of the body
 * and the definitions that it keeps come out. All sets only grow. The functions are walked in turns until nothing changes.
 * A function's turn is left out if nothing has changed that its last walk read.
 */
import {
  decodedInitializers,
  operands,
  tableOf,
  zeroText,
  type Access,
  type AssignmentTarget,
  type Expression,
  type FieldDeclaration,
  type FunctionDeclaration,
  type Global,
  type IfStatement,
  type LibraryCall,
  type Local,
  type LoopStatement,
  type Program,
  type Lane,
  type Scan,
  type Statement,
  type SwitchStatement,
  type Type,
} from "../lower/ir.ts";
import { calleesOf } from "./definitions.ts";
import type { AbstractObject, Cell, Location, SharedLocation } from "./heap.ts";
import { isShared, LocationSet, Numbering } from "./location-set.ts";
import { endsByTrapOnly } from "./loops.ts";
import type { PointsTo } from "./points-to.ts";
import { mayTrap } from "./traps.ts";

/** The locations that matter at a place of the program, looking forward. */
export interface Point {
  readonly live: Pick<LocationSet, "has">;
  readonly accessFollows: boolean;
}

/** The findings at a place that was asked for. */
export interface Observation {
  /** Right behind it. */
  readonly behind: Point;
  /** Right before it. */
  readonly ahead: Point;
  /** For loops: where `continue` goes. */
  readonly continuing: Point;
}

/** The parts that the slice keeps. */
export interface Relevance {
  /** Expressions whose value is needed: kept whole. */
  readonly needed: ReadonlySet<Expression>;
  /** Expressions whose own effect is kept. */
  readonly kept: ReadonlySet<Expression>;
  /** Expressions that stay because it may be their trap that ends a loop. */
  readonly endings: ReadonlySet<Expression>;
  /** Puts whose value is read again. */
  readonly stored: ReadonlySet<Access>;
  /** Statements of which anything is kept. */
  readonly keptStatements: ReadonlySet<Statement>;
  /** `return`, `throw`, `break` and `continue` that leave where they stand. */
  readonly jumps: ReadonlySet<Statement>;
  /** Variables that anything kept mentions. */
  readonly variables: ReadonlySet<Local>;
  /** Parameters that callers must pass. */
  readonly parameters: ReadonlySet<Local>;
  readonly results: ReadonlySet<FunctionDeclaration>;
  readonly fields: ReadonlySet<FieldDeclaration>;
  readonly globals: ReadonlySet<Global>;
  /** For each thing that is needed what first needed it. */
  readonly causes: Causes;
  /** Null: never reached. */
  observed(place: Statement | Expression): Observation | null;
  /** The locations that matter behind the calls of a function. */
  exitOf(declaration: FunctionDeclaration): Point;
  /** The locations that a call of the function defines, as far as it is kept. */
  effectsOf(declaration: FunctionDeclaration): CalleeEffects;
}

/** The purpose of an expression, and the reader of a variable, a cell or the result of a function. */
export type Causes = ReadonlyMap<Expression | Location | FunctionDeclaration, Cause>;

/** The expression or statement around; a parameter, for its arguments. */
export type Cause = Expression | Statement | Local;

export interface CalleeEffects {
  readonly defines: Iterable<Location>;
  /** The execution may end inside. */
  readonly stops: boolean;
  readonly accesses: boolean;
}

/** The signature can't be changed: callers don't know the function, or the syntax demands it. */
export function hasFixedSignature(declaration: FunctionDeclaration): boolean {
  return (
    declaration.overridable || declaration.escapes || declaration.kind === "getter" || declaration.kind === "setter"
  );
}

interface Summary {
  /** Live after some call. */
  readonly exit: LocationSet;
  /** Some call is followed by an access. */
  accessFollows: boolean;
  /** Used by what is kept of the body and the functions it calls. */
  readonly uses: LocationSet;
  /** Definitions kept in the body and the functions it calls. */
  readonly defines: LocationSet;
  /** An access happens inside. */
  accesses: boolean;
  /** The execution may end inside. */
  stops: boolean;
  /** A trap inside may be what ends a loop. */
  traps: boolean;
  /** Those whose walk reads what the callers of this function need to know. */
  readonly callers: Set<FunctionDeclaration>;
}

/** The knowledge at one point of a function, looking forward. */
class State {
  readonly live: LocationSet;
  accessFollows: boolean;
  /** The kept statement that runs next; null: the function's end. */
  next: Statement | null;

  constructor(live: LocationSet, accessFollows: boolean, next: Statement | null) {
    this.live = live;
    this.accessFollows = accessFollows;
    this.next = next;
  }

  copy(): State {
    return new State(this.live.copy(), this.accessFollows, this.next);
  }

  /** Whether the other state added anything. */
  join(other: State): boolean {
    const grew = this.live.addAll(other.live) || (other.accessFollows && !this.accessFollows);
    this.accessFollows ||= other.accessFollows;
    return grew;
  }

  become(other: State): void {
    this.live.become(other.live);
    this.accessFollows = other.accessFollows;
    this.next = other.next;
  }
}

/** `watched`: the places that `observed` is asked about. */
export function computeRelevance(
  program: Program,
  pointsTo: PointsTo,
  watched: Iterable<Statement | Expression> = [],
): Relevance {
  const analysis = new Analysis(program, pointsTo, watched);
  analysis.run();
  return analysis;
}

class Analysis implements Relevance {
  readonly needed = new Set<Expression>();
  readonly kept = new Set<Expression>();
  readonly endings = new Set<Expression>();
  readonly stored = new Set<Access>();
  readonly keptStatements = new Set<Statement>();
  readonly jumps = new Set<Statement>();
  readonly variables = new Set<Local>();
  readonly parameters = new Set<Local>();
  readonly results = new Set<FunctionDeclaration>();
  readonly fields = new Set<FieldDeclaration>();
  readonly globals = new Set<Global>();

  readonly #program: Program;
  readonly #pointsTo: PointsTo;
  readonly #observations: Map<Statement | Expression, { behind: State; ahead: State; continuing: State } | null>;
  readonly #numbering = new Numbering();
  readonly #summaries = new Map<FunctionDeclaration, Summary>();
  /** The functions that a walk may find something else in than their last one. */
  readonly #pending: Set<FunctionDeclaration>;
  #changed = false;
  readonly #firstCauses = new Map<Expression | Location | FunctionDeclaration, Cause>();
  readonly causes: Causes = this.#firstCauses;
  /** The node that is being visited. */
  #cause: Cause | null = null;

  /** The function being walked and its state after return. */
  #current!: FunctionDeclaration;
  #summary!: Summary;
  #exit!: State;
  /** How many loops that only a trap ends are around; also those around all of a function. */
  #endless = 0;
  /** Functions that are called in such loops. */
  readonly #inEndless = new Set<FunctionDeclaration>();
  readonly #breakTargets: State[] = [];
  readonly #continueTargets: State[] = [];

  constructor(program: Program, pointsTo: PointsTo, watched: Iterable<Statement | Expression>) {
    this.#program = program;
    this.#pointsTo = pointsTo;
    this.#observations = new Map(Array.from(watched, (place) => [place, null]));
    this.#pending = new Set(pointsTo.reached);
  }

  run(): void {
    do {
      this.#changed = false;
      for (const declaration of this.#pointsTo.reached)
        if (this.#pending.delete(declaration)) this.#function(declaration);
      this.#initialization();
    } while (this.#changed);
  }

  // ── Observations ───────────────────────────────────────────────────────────────────────────────────────────────────

  observed(place: Statement | Expression): Observation | null {
    return this.#observations.get(place) ?? null;
  }

  exitOf(declaration: FunctionDeclaration): Point {
    const { exit, accessFollows } = this.#summaryOf(declaration);
    return { live: exit, accessFollows };
  }

  effectsOf(declaration: FunctionDeclaration): CalleeEffects {
    return this.#summaryOf(declaration);
  }

  #observe(place: Statement | Expression, side: "behind" | "ahead" | "continuing", state: State): void {
    if (this.#observations.size === 0 || !this.#observations.has(place)) return;
    let observation = this.#observations.get(place);
    if (!observation) {
      const nothing = (): State => new State(new LocationSet(this.#numbering), false, null);
      observation = { behind: nothing(), ahead: nothing(), continuing: nothing() };
      this.#observations.set(place, observation);
    }
    // No variant: it tells the rules of transformations, and decides nothing.
    observation[side].join(state);
  }

  // ── Bookkeeping ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Adds to a set that only the walked function reads, or that nothing reads. */
  #add<T extends Expression | Statement | Local | Global>(set: Set<T>, item: T): void {
    if (set.has(item)) return;
    set.add(item);
    this.#pend(this.#current);
  }

  #pend(declaration: FunctionDeclaration): void {
    this.#changed = true;
    this.#pending.add(declaration);
  }

  /** Walks the function and its callers again, which read a set that has grown. */
  #pendCallers(declaration: FunctionDeclaration): void {
    this.#pend(declaration);
    for (const caller of this.#summaryOf(declaration).callers) this.#pend(caller);
  }

  #addField(field: FieldDeclaration): void {
    if (this.fields.has(field)) return;
    this.fields.add(field);
    // Any function may construct, encode or decode it.
    for (const declaration of this.#pointsTo.reached) this.#pend(declaration);
  }

  #addParameter(callee: FunctionDeclaration, parameter: Local): void {
    if (this.parameters.has(parameter)) return;
    this.parameters.add(parameter);
    this.#pendCallers(callee);
  }

  #addResult(callee: FunctionDeclaration): void {
    if (this.results.has(callee)) return;
    this.results.add(callee);
    this.#pend(callee);
  }

  #summaryOf(declaration: FunctionDeclaration): Summary {
    let summary = this.#summaries.get(declaration);
    if (summary === undefined)
      this.#summaries.set(
        declaration,
        (summary = {
          exit: new LocationSet(this.#numbering),
          accessFollows: false,
          uses: new LocationSet(this.#numbering),
          defines: new LocationSet(this.#numbering),
          accesses: false,
          stops: false,
          traps: false,
          callers: new Set(),
        }),
      );
    return summary;
  }

  #because(what: Expression | Location | FunctionDeclaration): void {
    if (this.#cause !== null && this.#cause !== what && !this.#firstCauses.has(what))
      this.#firstCauses.set(what, this.#cause);
  }

  #need(location: Location, state: State): void {
    state.live.add(location);
    this.#because(location);
    if (!isShared(location)) return this.#add(this.variables, location);
    if (this.#summary.uses.add(location)) this.#pendCallers(this.#current);
    if ("mutable" in location) this.#add(this.globals, location);
    else if (location.kind === "cell" && location.field !== null) this.#addField(location.field);
  }

  #needTables(expression: Access | Scan, state: State): void {
    // No variant: its calls are cut out.
    for (const table of this.#pointsTo.tablesOf(tableOf(expression))) this.#need(table, state);
  }

  /** A kept access: from here backward, one follows. */
  #access(expression: Access | Scan | Lane, state: State): void {
    this.#add(this.kept, expression);
    // variant: access-effect
    this.#addEffect("accesses");
    // variant: access-follows
    state.accessFollows = true;
  }

  #addEffect(effect: "accesses" | "stops" | "traps"): void {
    if (this.#summary[effect]) return;
    this.#summary[effect] = true;
    this.#pendCallers(this.#current);
  }

  /** A kept definition of a location that is not a variable. */
  #addDefinition(location: SharedLocation): void {
    if (this.#summary.defines.add(location)) this.#pendCallers(this.#current);
  }

  // ── Functions ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #function(declaration: FunctionDeclaration): void {
    this.#enter(declaration);
    const state = this.#exit.copy();
    if (declaration.implicit) {
      this.#fieldInitializers(declaration, state);
      this.#statements(declaration.body, state);
    } else {
      this.#statements(declaration.body, state);
      this.#fieldInitializers(declaration, state);
    }
    for (const { local, defaultValue } of declaration.parameters.toReversed()) {
      // It is evaluated before the body, so an effect of it stays only with the parameter; arguments that are given skip it.
      if (defaultValue !== null && (declaration === this.#program.handler || declaration.escapes)) {
        const given = state.copy();
        const isKept = state.live.has(local) || this.parameters.has(local);
        // variant: default-value
        if (this.#visit(defaultValue, isKept, state) && !isKept) this.#addParameter(declaration, local);
        // No variant: a default value ends nothing and kills no variable, so what is live behind it is live before.
        state.join(given);
      }
      // No variant: whoever encodes arguments demands all of their fields.
      if (declaration === this.#program.handler && state.live.has(local)) this.#decoding(local.type, state);
      // variant: parameter-passed
      if (state.live.has(local) || this.variables.has(local)) this.#addParameter(declaration, local);
    }
  }

  #enter(declaration: FunctionDeclaration): void {
    this.#current = declaration;
    this.#summary = this.#summaryOf(declaration);
    this.#exit = new State(this.#summary.exit.copy(), this.#summary.accessFollows, null);
    this.#endless = this.#inEndless.has(declaration) ? 1 : 0;
    this.#breakTargets.length = 0;
    this.#continueTargets.length = 0;
  }

  /** Initializers of fields of the slice are part of the class, so they always run. */
  #fieldInitializers(declaration: FunctionDeclaration, state: State): void {
    for (const statement of declaration.initializers.toReversed()) {
      if (statement.kind !== "expression" || statement.expression.kind !== "assignment")
        throw new Error("a field initializer is an assignment");
      const { target, value } = statement.expression;
      if (target.kind === "field" && value !== null && value.kind !== "local" && this.fields.has(target.field)) {
        // variant: initializer-defines
        for (const object of this.#pointsTo.of(target.object)) this.#define(object.cell(target.field), state);
        // variant: initializer-needed
        this.#visit(value, true, state);
      } else {
        this.#visit(statement.expression, false, state);
      }
    }
  }

  /** Global initializers run before the handler; those of live globals are kept. */
  #initialization(): void {
    const { handler, globals } = this.#program;
    const uses = this.#summaryOf(handler).uses;
    // Facts about the code before the handler are written into the handler's own summary.
    this.#enter(handler);
    const state = new State(uses.copy(), true, null);
    // Printed with their classes, even if nothing constructs those.
    // variant: field-initializers-printed
    for (const { initializer } of this.fields) if (initializer !== null) this.#visit(initializer, true, state);
    for (const global of globals.toReversed()) {
      if (global.initializer === null) continue;
      // variant: global-effects
      if (state.live.has(global) || this.globals.has(global)) {
        this.#add(this.globals, global);
        // variant: global-initializer
        this.#visit(global.initializer, true, state);
      } else if (this.#visit(global.initializer, false, state)) {
        this.#add(this.globals, global);
      }
    }
  }

  /** A record that is decoded may lack keys: the initializers of its fields supply them. */
  #decoding(type: Type, state: State): void {
    // variant: decoded-initializers
    for (const initializer of decodedInitializers(type, (field) => this.fields.has(field)))
      this.#visit(initializer, true, state);
  }

  // ── Statements ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #statements(statements: readonly Statement[], state: State): boolean {
    let kept = false;
    for (const statement of statements.toReversed()) kept = this.#statement(statement, state) || kept;
    return kept;
  }

  /** Whether anything of the statement is kept. */
  #statement(statement: Statement, state: State): boolean {
    this.#observe(statement, "behind", state);
    const outer = this.#cause;
    this.#cause = statement;
    const kept =
      statement.kind === "block" ? this.#statements(statement.body, state) : this.#ownStatement(statement, state);
    this.#cause = outer;
    this.#observe(statement, "ahead", state);
    if (kept && statement.kind !== "block") {
      this.#add(this.keptStatements, statement);
      state.next = statement;
    }
    return kept;
  }

  #ownStatement(statement: Exclude<Statement, { kind: "block" }>, state: State): boolean {
    switch (statement.kind) {
      case "expression":
        return this.#visit(statement.expression, false, state);
      case "variable":
        return this.#variable(statement, state);
      case "if":
        return this.#if(statement, state);
      case "loop":
        return this.#loop(statement, state);
      case "switch":
        return this.#switch(statement, state);
      case "return": {
        const valueNeeded = statement.value !== null && this.results.has(this.#current);
        // variant: return-kept
        const keepsJump = valueNeeded || state.next !== null;
        if (!keepsJump) {
          // No variant: a dropped jump has the same next kept statement as its target, and so what is live there.
          state.join(this.#exit);
          return statement.value === null ? false : this.#visit(statement.value, false, state);
        }
        // variant: return-stays
        this.#add(this.jumps, statement);
        // variant: return-target
        state.become(this.#exit);
        // variant: returned-value
        if (statement.value !== null) this.#visit(statement.value, valueNeeded, state);
        return true;
      }
      case "throw": {
        // variant: throw-kept
        const keepsJump = this.#stops(state) || this.jumps.has(statement);
        // variant: throw-stops
        if (keepsJump) {
          this.#add(this.jumps, statement);
          this.#stop(state);
        }
        return this.#visit(statement.message, false, state) || keepsJump;
      }
      case "break":
      case "continue": {
        const target = (statement.kind === "break" ? this.#breakTargets : this.#continueTargets).at(-1);
        if (target === undefined) throw new Error(`${statement.kind} outside of a loop`);
        // variant: jump-dropped
        if (state.next === target.next) {
          // No variant: a dropped jump has the same next kept statement as its target, and so what is live there.
          state.join(target);
          return false;
        }
        // variant: jump-stays
        this.#add(this.jumps, statement);
        // variant: jump-target
        state.become(target);
        return true;
      }
    }
  }

  /** Whether a statement or call that ends the execution is kept. */
  #stops(state: State): boolean {
    // Where the result is needed, the compiler must see that this path has none.
    return state.accessFollows || this.results.has(this.#current);
  }

  #stop(state: State): void {
    // variant: stop-effect
    this.#addEffect("stops");
    state.live.clear();
    // No variant: it spares what comes before the end of the execution; the set is the same with it.
    state.accessFollows = false;
  }

  #variable(statement: Extract<Statement, { kind: "variable" }>, state: State): boolean {
    const { local, initializer } = statement;
    // A variable without initializer keeps the value of the previous iteration.
    if (initializer === null) return this.variables.has(local);
    const live = state.live.has(local);
    if (!live) {
      // Mentioned in the slice, so it must be declared; not every type has a value to declare it with.
      // No variant: the value is for the compiler, nobody reads it.
      if (this.variables.has(local) && zeroText(local.type) === null)
        return this.#visit(initializer, true, state) || true;
      return this.#visit(initializer, false, state) || this.variables.has(local);
    }
    state.live.delete(local);
    // variant: variable-initializer
    this.#visit(initializer, true, state);
    return true;
  }

  #if(statement: IfStatement, state: State): boolean {
    const alternative = state.copy();
    const keepsConsequent = this.#statements(statement.consequent, state);
    const keepsAlternative = this.#statements(statement.alternative, alternative);
    const after = keepsConsequent || keepsAlternative;
    // variant: branches-joined
    state.join(alternative);
    // variant: branch-condition
    return this.#visit(statement.condition, after, state) || after;
  }

  #loop(statement: LoopStatement, state: State): boolean {
    const after = state.copy();
    let kept = this.keptStatements.has(statement);
    const endless = kept && endsByTrapOnly(statement);
    if (endless) this.#endless++;
    /** State at the head: before the condition, for `do` before the body. */
    const head = state.copy();
    let grew = true;
    while (grew) {
      const point = head.copy();
      point.next = kept ? statement : after.next;
      const keptBefore = kept;
      if (statement.form === "do") {
        if (statement.condition !== null) {
          // No variant: what is live behind a loop is live at its head from the start.
          point.join(after);
          // variant: do-condition
          kept = this.#visit(statement.condition, kept, point) || kept;
          point.next = kept ? statement : after.next;
        }
        kept = this.#loopBody(statement, point, after) || kept;
      } else {
        // variant: loop-update
        if (statement.update !== null) kept = this.#visit(statement.update, false, point) || kept;
        kept = this.#loopBody(statement, point, after) || kept;
        if (statement.condition !== null) {
          // No variant: what is live behind a loop is live at its head from the start.
          point.join(after);
          // variant: loop-condition
          kept = this.#visit(statement.condition, kept, point) || kept;
        }
      }
      // variant: loop-head-grows
      grew = head.join(point) || kept !== keptBefore;
    }
    if (endless) this.#endless--;
    // variant: loop-head-before
    state.join(head);
    if (kept) {
      this.#add(this.keptStatements, statement);
      state.next = statement;
    }
    // variant: loop-initial
    return this.#statements(statement.initial, state) || kept;
  }

  #loopBody(statement: LoopStatement, point: State, after: State): boolean {
    this.#breakTargets.push(after);
    this.#continueTargets.push(point.copy());
    this.#observe(statement, "continuing", point);
    const kept = this.#statements(statement.body, point);
    this.#breakTargets.pop();
    this.#continueTargets.pop();
    return kept;
  }

  #switch(statement: SwitchStatement, state: State): boolean {
    const after = state.copy();
    this.#breakTargets.push(after);
    // Backward, each case falls into the one handled before it.
    const fallen = state.copy();
    let kept = false;
    for (const choice of statement.cases.toReversed()) {
      // variant: case-body
      kept = this.#statements(choice.body, fallen) || kept;
      // variant: case-falls
      state.join(fallen);
    }
    this.#breakTargets.pop();
    // variant: case-labels
    for (const choice of statement.cases.toReversed())
      if (choice.label !== null) this.#visit(choice.label, kept, state);
    // variant: switch-discriminant
    return this.#visit(statement.discriminant, kept, state) || kept;
  }

  // ── Expressions ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Walks an expression backward. Whether an effect inside is kept. */
  #visit(expression: Expression, needed: boolean, state: State): boolean {
    this.#observe(expression, "behind", state);
    const outer = this.#cause;
    // variant: trap-kept
    const ends = this.#endless > 0 && expression.kind !== "call" && mayTrap(expression);
    if (ends) {
      this.#add(this.endings, expression);
      // variant: trap-effect
      this.#addEffect("traps");
    }
    if (needed || ends) this.#because(expression);
    this.#cause = expression;
    const kept = this.#visitOwn(expression, needed || ends, state);
    this.#cause = outer;
    this.#observe(expression, "ahead", state);
    return kept || ends;
  }

  #visitOwn(expression: Expression, needed: boolean, state: State): boolean {
    if (needed) this.#add(this.needed, expression);
    switch (expression.kind) {
      case "constant":
      case "now":
      case "caller":
      case "new-table":
        return false;
      case "function-value":
        // Somebody may call it, or only pass it on: either way it is a whole function.
        // variant: function-passed-on
        if (needed && expression.declaration.result.kind !== "void") this.#addResult(expression.declaration);
        return false;
      case "local":
        // variant: local-needed
        if (needed) this.#need(expression.local, state);
        return false;
      case "global":
        // variant: global-needed
        if (needed) this.#need(expression.global, state);
        return false;
      case "field":
        if (needed) {
          this.#addField(expression.field);
          // variant: field-cells
          for (const object of this.#pointsTo.of(expression.object)) this.#need(object.cell(expression.field), state);
        }
        // variant: field-object
        return this.#visit(expression.object, needed, state);
      case "operation":
      case "template":
      case "cast":
      case "non-null":
      case "instance-of":
      case "sequence":
      case "array":
        // variant: operands-needed
        return this.#visitAll(operands(expression), needed, state);
      case "logical": {
        const skipped = state.copy();
        // variant: logical-right
        const keepsRight = this.#visit(expression.right, needed, state);
        // variant: logical-skipped
        state.join(skipped);
        // variant: logical-left
        return this.#visit(expression.left, needed || keepsRight, state) || keepsRight;
      }
      case "conditional": {
        const alternative = state.copy();
        // variant: choice-first
        const keepsConsequent = this.#visit(expression.consequent, needed, state);
        // variant: choice-second
        const keepsAlternative = this.#visit(expression.alternative, needed, alternative);
        const kept = keepsConsequent || keepsAlternative;
        // variant: choices-joined
        state.join(alternative);
        // variant: choice-condition
        return this.#visit(expression.condition, needed || kept, state) || kept;
      }
      case "assignment":
        return this.#assignment(expression, needed, state);
      case "call":
        return this.#call(expression, expression.callees, expression.receiver, needed, state);
      case "construction":
        return this.#call(expression, [expression.callee], null, needed, state);
      case "indirect-call":
        return this.#call(expression, this.#pointsTo.functionsOf(expression.callee), expression.callee, needed, state);
      case "library":
        return this.#library(expression, needed, state);
      case "access":
        return this.#tableAccess(expression, needed, state);
      case "scan":
        return this.#scan(expression, needed, state);
      case "draw": {
        const { site } = expression;
        if (!needed && !state.live.has(site)) return false;
        this.#add(this.kept, expression);
        // variant: draw-effect
        this.#addDefinition(site);
        // variant: draw-order
        this.#need(site, state);
        return true;
      }
      case "lane":
        this.#access(expression, state);
        // variant: lane-key
        this.#visit(expression.key, true, state);
        return true;
      case "abort": {
        // variant: abort-kept
        const keeps = this.#stops(state) || this.kept.has(expression);
        // variant: abort-stops
        if (keeps) {
          this.#add(this.kept, expression);
          this.#stop(state);
        }
        return this.#visitAll(expression.arguments, false, state) || keeps;
      }
    }
  }

  #visitAll(expressions: readonly Expression[], needed: boolean, state: State): boolean {
    let kept = false;
    // No variant: each of its calls is a place of its own.
    for (const expression of expressions.toReversed()) kept = this.#visit(expression, needed, state) || kept;
    return kept;
  }

  /** Notes a kept definition of a location that is not a variable. */
  #define(location: SharedLocation, state: State): void {
    // variant: shared-definition
    if (state.live.has(location)) this.#addDefinition(location);
  }

  #assignment(expression: Extract<Expression, { kind: "assignment" }>, needed: boolean, state: State): boolean {
    const { target, value } = expression;
    const locations = this.#targetLocations(target);
    // variant: assignment-live
    if (!needed && !locations.some((location) => state.live.has(location)))
      return this.#visitAll(operands(expression), false, state);
    this.#add(this.kept, expression);
    const isUpdate = expression.operator !== "";
    for (const location of locations) {
      // variant: assigned-location
      if (isShared(location)) this.#define(location, state);
      else {
        state.live.delete(location);
        this.#add(this.variables, location);
      }
    }
    if (target.kind === "global") this.#add(this.globals, target.global);
    if (target.kind === "field") this.#addField(target.field);
    const needOld = (): void => {
      // variant: old-value
      if (isUpdate) for (const location of locations) this.#need(location, state);
    };
    // The old value is read before the right side runs, the object and index before that.
    // variant: assigned-value
    if (value !== null) this.#visit(value, true, state);
    // variant: old-value-first
    needOld();
    // variant: assigned-object
    if (target.kind === "field") this.#visit(target.object, true, state);
    // variant: assigned-container
    if (target.kind === "element") this.#visitAll([target.container, target.index], true, state);
    return true;
  }

  #targetLocations(target: AssignmentTarget): Location[] {
    switch (target.kind) {
      case "local":
        return [target.local];
      case "global":
        return [target.global];
      case "field":
        return [...this.#pointsTo.of(target.object)].map((object) => object.cell(target.field));
      case "element":
        return [...this.#pointsTo.of(target.container)].map((container) => container.content);
    }
  }

  /** Hands the state after a call to the callees; whether what they keep matters here. */
  #enterCallees(callees: readonly FunctionDeclaration[], resultNeeded: boolean, state: State): boolean {
    let matters = false;
    for (const callee of callees) {
      const summary = this.#summaryOf(callee);
      summary.callers.add(this.#current);
      // variant: callee-endless
      if (this.#endless > 0 && !this.#inEndless.has(callee)) {
        this.#inEndless.add(callee);
        this.#pend(callee);
      }
      // variant: callee-exit
      if (summary.exit.addAll(state.live, this.#numbering.shared)) this.#pend(callee);
      // variant: callee-access-follows
      if (state.accessFollows && !summary.accessFollows) {
        summary.accessFollows = true;
        this.#pend(callee);
      }
      if (resultNeeded) {
        this.#because(callee);
        // variant: callee-result
        this.#addResult(callee);
      }
      // variant: call-matters
      if (summary.accesses || (summary.stops && state.accessFollows) || summary.defines.intersects(state.live))
        matters = true;
      // variant: callee-trap-matters
      if (this.#endless > 0 && summary.traps) matters = true;
    }
    return matters;
  }

  /** The state before a call of which something is kept. */
  #leaveCallees(callees: readonly FunctionDeclaration[], state: State): void {
    const { live } = state;
    for (const { defines, accesses, stops, traps } of callees.map((callee) => this.#summaryOf(callee))) {
      // variant: callee-defines
      if (this.#summary.defines.addAll(defines, live)) this.#pendCallers(this.#current);
      // variant: callee-accesses
      if (accesses) this.#addEffect("accesses");
      // variant: callee-stops
      if (stops) this.#addEffect("stops");
      // variant: callee-traps
      if (traps) this.#addEffect("traps");
      // variant: access-before-call
      if (accesses) state.accessFollows = true;
    }
    for (const callee of callees) {
      const { uses } = this.#summaryOf(callee);
      // variant: callee-uses
      live.addAll(uses);
      // variant: caller-uses
      if (this.#summary.uses.addAll(uses)) this.#pendCallers(this.#current);
    }
  }

  #call(
    expression: Extract<Expression, { kind: "call" | "construction" | "indirect-call" }>,
    callees: readonly FunctionDeclaration[],
    receiver: Expression | null,
    needed: boolean,
    state: State,
  ): boolean {
    const isConstructor = expression.kind === "construction" || callees[0]?.kind === "constructor";
    const isFixed = expression.kind === "indirect-call" || callees.some(hasFixedSignature);
    // A constructor must call the one of its base class.
    const isSuperConstructor = expression.kind === "call" && isConstructor;
    // variant: super-constructor
    const matters = this.#enterCallees(callees, needed && !isConstructor, state) || isSuperConstructor;
    if (!matters && !needed) {
      const kept = this.#visitAll(expression.arguments, false, state);
      // variant: dropped-receiver
      return receiver === null ? kept : this.#visit(receiver, false, state) || kept;
    }
    // variant: fixed-results
    if (isFixed && !isConstructor)
      for (const callee of callees) if (callee.result.kind !== "void") this.#addResult(callee);
    // variant: setter-field
    for (const callee of callees) this.#fieldBehind(callee);
    if (matters) this.#add(this.kept, expression);
    this.#leaveCallees(callees, state);
    for (const [index, argument] of [...expression.arguments.entries()].toReversed()) {
      const parameters = callees.flatMap((callee) => {
        const local = callee.parameters[index]?.local;
        return local === undefined ? [] : [{ callee, local }];
      });
      // variant: argument-needed
      const argumentNeeded = isFixed || parameters.some(({ local }) => this.parameters.has(local));
      const outer = this.#cause;
      this.#cause = parameters[0]?.local ?? outer;
      // An effect inside an argument stays at its place, so the argument does too.
      // variant: argument-effect
      if (this.#visit(argument, argumentNeeded, state) && !argumentNeeded)
        for (const { callee, local } of parameters) this.#addParameter(callee, local);
      this.#cause = outer;
    }
    // No variant: functions with fixed signatures are printed with all of their parameters.
    if (isFixed)
      for (const callee of callees) for (const { local } of callee.parameters) this.#addParameter(callee, local);
    // variant: receiver-needed
    if (receiver !== null) this.#visit(receiver, true, state);
    return matters;
  }

  /** A field that satisfies the setter of an interface is there even if nobody reads it. */
  #fieldBehind({ kind, implicit, body }: FunctionDeclaration): void {
    const [only] = body;
    if (kind !== "setter" || !implicit || only?.kind !== "expression") return;
    if (only.expression.kind === "assignment" && only.expression.target.kind === "field")
      this.#addField(only.expression.target.field);
  }

  #library(expression: LibraryCall, needed: boolean, state: State): boolean {
    const { member, receiver } = expression;
    const contents = receiver === null ? [] : [...this.#pointsTo.of(receiver)].map((container) => container.content);
    // variant: member-writes
    const writes = member.writes && contents.some((content) => state.live.has(content));
    const callees = calleesOf(expression, this.#pointsTo);
    // variant: callbacks-called
    const callbackMatters = this.#enterCallees(callees, false, state);
    if (!needed && !writes && !callbackMatters) return this.#visitAll(operands(expression), false, state);
    if (writes || callbackMatters) this.#add(this.kept, expression);
    // variant: content-defined
    if (member.writes) for (const content of contents) this.#define(content, state);
    // A callback runs any number of times: what it needs is live after it too, and what it changes its next round is given.
    // variant: content-read
    if (member.reads || member.writes) for (const content of contents) this.#need(content, state);
    for (let grew = callees.length > 0; grew;) {
      const before = state.live.copy();
      // variant: callback-results
      for (const callee of callees) if (callee.result.kind !== "void") this.#addResult(callee);
      // No variant: functions with fixed signatures are printed with all of their parameters.
      for (const callee of callees) for (const { local } of callee.parameters) this.#addParameter(callee, local);
      this.#leaveCallees(callees, state);
      // variant: callback-rounds
      this.#enterCallees(callees, false, state);
      grew = before.addAll(state.live);
    }
    // variant: flattened-content
    if (member.result === "flattened")
      for (const content of contents) for (const inner of content.targets) this.#need(inner.content, state);
    if (member.readsArguments || member.result === "copy") {
      // variant: arguments-read
      for (const argument of expression.arguments)
        for (const object of this.#pointsTo.of(argument)) this.#need(object.content, state);
    }
    // variant: member-operands
    this.#visitAll(operands(expression), true, state);
    return writes || callbackMatters;
  }

  #tableAccess(expression: Access, needed: boolean, state: State): boolean {
    const { operation, table, key, value } = expression;
    const readAgain = this.#pointsTo.tablesOf(table).some((location) => state.live.has(location));
    switch (operation) {
      case "get":
      case "has":
        if (needed) {
          // variant: read-needs-table
          this.#needTables(expression, state);
          // variant: missing-fields
          if (operation === "get") this.#decoding(expression.type, state);
        }
        break;
      case "put":
      case "delete":
        if (readAgain) {
          // variant: put-stored
          this.#add(this.stored, expression);
          // variant: put-defines-table
          for (const location of this.#pointsTo.tablesOf(table)) this.#define(location, state);
        }
        break;
      case "touch":
      case "touchUnwritten":
      case "willPut":
      case "willDelete":
        break;
    }
    this.#access(expression, state);
    if (value !== null) {
      // variant: put-encodes
      if (readAgain) for (const cell of this.#encoded(value)) this.#need(cell, state);
      // No variant: no fixture shows it: what the value refers to is needed, as encoding reads it.
      this.#visit(value, readAgain, state);
    }
    // variant: access-key
    this.#visit(key, true, state);
    // variant: access-table
    this.#visit(table, true, state);
    return true;
  }

  #scan(expression: Scan, needed: boolean, state: State): boolean {
    // Own writes decide how far the walk goes, whether its rows are needed or not.
    // variant: scan-needs-table
    this.#needTables(expression, state);
    // variant: missing-fields-of-rows
    if (needed) this.#decoding(expression.type, state);
    this.#access(expression, state);
    // variant: scan-limit
    if (expression.limit !== null) this.#visit(expression.limit, true, state);
    // variant: scan-range
    this.#visit(expression.range, true, state);
    return true;
  }

  /** The cells that encoding a value reads: what the slice keeps of its records. */
  #encoded(value: Expression): Set<Cell> {
    const cells = new Set<Cell>();
    const seen = new Set<AbstractObject>();
    const add = (object: AbstractObject): void => {
      if (seen.has(object)) return;
      seen.add(object);
      for (const cell of object.cells()) {
        if (cell.field !== null && !this.fields.has(cell.field)) continue;
        cells.add(cell);
        // variant: encoded-targets
        for (const target of cell.targets) add(target);
      }
    };
    for (const object of this.#pointsTo.of(value)) add(object);
    return cells;
  }
}
