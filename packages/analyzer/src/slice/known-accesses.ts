/**
 * The known accesses of a function that has no slice: a handler in record mode or near storage, or a given set. Developers
 * see them. Its tables become a part of the module, and count on the compiler alone: every call that the function may reach
 * must name its table.
 *
 * The function is lowered as far as there are rules. Code without a rule becomes *unknown*, `{?}` in a key. Accesses that
 * are lost on the way are found among the calls that the compiler resolved, in all code that the function may reach. Only
 * the table of such an access is known, if the call names it.
 */
import type { TaskRules } from "@radical/protocol";
import { diagnostic } from "../diagnostics/catalogue.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import type { AccessPattern, FrontEnd } from "../front.ts";
import { CostModel } from "../infer/cost.ts";
import { PointsTo } from "../infer/points-to.ts";
import { COUNTER_ACCESSES } from "../lower/body/counters.ts";
import { isAccess, tableOf, walkFunction, type Access, type Expression, type Program, type Scan } from "../lower/ir.ts";
import { lowerAsKnown } from "../lower/lower-program.ts";
import { isApplication, sourcePath, spanOf } from "../lower/nodes.ts";
import { type as, CommonFlags, ElementKind, NodeKind, OperatorKind } from "../parse/assemblyscript.ts";
import { type CompiledProgram, SDK_LIBRARY } from "../parse/compile.ts";
import { withoutParentheses } from "../parse/children.ts";
import type { FactsCompiler, NodeFacts } from "../parse/facts.ts";
import { INDEXES_LIBRARY, indexClass } from "../parse/indexes.ts";
import { WORKFLOWS_LIBRARY } from "../parse/signals.ts";
import { textOf } from "../parse/span.ts";
import type { Schema } from "../schema/schema.ts";
import {
  accessPatterns,
  isRead,
  sortedPatterns,
  tablesNamed,
  UNKNOWN_TABLE,
  type AccessPatterns,
} from "./access-patterns.ts";
import { KeyPatterns } from "./key-patterns.ts";

type Known = Pick<FrontEnd, "program" | "facts" | "sources" | "tables" | "indexes">;

/** `isGivenSet`: the values of its `get` and `has` are what it needs to go on. */
export function knownAccesses(
  front: Known,
  declaration: as.FunctionDeclaration,
  { isGivenSet = false } = {},
): KnownAccesses {
  const instance = instanceOf(front.program, declaration);
  if (instance === null) return { ...sortedPatterns([], []), tables: null, steps: null };
  const lowered = loweredAccesses(front, instance, isGivenSet);
  const reads = [...lowered.patterns.reads];
  const writes = [...lowered.patterns.writes];
  const tables = { read: new Set<string>(), written: new Set<string>() };
  for (const { operation, node } of Reached.by(front, instance).accesses()) {
    const table = tableCalled(front, withoutParentheses(node.expression));
    (isRead({ operation }) ? tables.read : tables.written).add(table);
    for (const [other, touched] of touchedBeside(front, table, operation))
      (isRead({ operation: touched }) ? tables.read : tables.written).add(other);
    const span = spanOf(node);
    if (lowered.places.has(`${span.file}:${span.start}`)) continue;
    const key = node.args[0];
    const source = key === undefined ? "" : textOf(key).replaceAll(/\s+/g, " ");
    const pattern: AccessPattern = { table, pattern: `${table}/{?}`, source, dependent: false, span };
    (isRead({ operation }) ? reads : writes).push(pattern);
  }
  const known = tablesNamed([...tables.read], [...tables.written]);
  return { ...sortedPatterns(reads, writes), tables: known, steps: lowered.steps };
}

/** The function of a declaration; null: it is not one of the program. */
export function instanceOf(program: as.Program, declaration: as.FunctionDeclaration): as.Function | null {
  const element = program.elementsByDeclaration.get(declaration);
  return element?.kind === ElementKind.FunctionPrototype
    ? program.resolver.resolveFunction(element as as.FunctionPrototype, null)
    : null;
}

export interface KnownAccesses extends AccessPatterns {
  /** Estimated, of the function itself; null: not known. */
  readonly steps: number | null;
}

export const NOT_KNOWN: KnownAccesses = { readOnly: false, reads: [], writes: [], tables: null, steps: null };

interface LoweredAccesses {
  readonly steps: number | null;
  readonly patterns: AccessPatterns;
  /** Where accesses were lowered, in code that is reached or not. */
  readonly places: ReadonlySet<string>;
}

function loweredAccesses(front: Known, instance: as.Function, isGivenSet: boolean): LoweredAccesses {
  try {
    const program = lowerAsKnown(front, instance);
    const pointsTo = new PointsTo(program);
    const keys = new KeyPatterns(program, pointsTo.reached, front.sources);
    const places = new Set<string>();
    for (const { span } of placesOf(program)) places.add(`${span.file}:${span.start}`);
    const reached: [Access | Scan, { readonly dependent: boolean }][] = [];
    for (const declaration of pointsTo.reached)
      walkFunction(declaration, (part) => {
        if (!isAccess(part)) return;
        // Of a table that is not known, it counts as lost.
        if (pointsTo.tablesOf(tableOf(part)).length === 0) places.delete(`${part.span.file}:${part.span.start}`);
        const dependent = isGivenSet && VALUES.has(part.operation);
        reached.push([part, { dependent }]);
      });
    const steps = new CostModel(pointsTo.reached).function(program.handler);
    return { patterns: accessPatterns(reached, pointsTo, keys), places, steps };
  } catch {
    // Code that is not understood may be more than a phase can bear: then only its calls are known.
    return { patterns: sortedPatterns([], []), places: new Set(), steps: null };
  }
}

/** The accesses, and the ranges that are made. */
function placesOf({ functions }: Program): Expression[] {
  const found: Expression[] = [];
  for (const declaration of functions)
    walkFunction(declaration, (part) => {
      if (isAccess(part) || (part.kind === "library" && part.member.owner === "Table")) found.push(part);
    });
  return found;
}

function tableCalled({ facts, tables, indexes }: Known, callee: as.Expression): string {
  if (callee.kind !== NodeKind.PropertyAccess) return UNKNOWN_TABLE;
  const object = withoutParentheses((callee as as.PropertyAccessExpression).expression);
  const { target } = facts.getAnywhere(object);
  const declared = target?.kind === ElementKind.Global ? (target as as.Global).declaration : null;
  return [...tables, ...indexes].find(({ declaration }) => declaration === declared)?.name ?? UNKNOWN_TABLE;
}

/** The other tables that an access touches: with the items that an index finds, or the entries that a table keeps. */
function touchedBeside(
  { indexes }: Known,
  table: string,
  operation: Access["operation"],
): readonly (readonly [table: string, operation: Access["operation"]])[] {
  const found = indexes.flatMap((index) => (index.name === table ? [[index.table, "get"] as const] : []));
  if (operation !== "put" && operation !== "delete") return found;
  return indexes.flatMap(({ name, table: of, unique }) =>
    of === table ? [[table, "get"] as const, [name, "put"] as const, ...(unique ? [[name, "get"] as const] : [])] : [],
  );
}

/** The accesses of the methods of tables. One that makes a range counts as a read: its rows are seen later. */
const OPERATIONS: ReadonlyMap<string, readonly Access["operation"][]> = new Map<string, readonly Access["operation"][]>(
  [
    ...(["get", "has", "put", "delete", "touch", "willPut", "willDelete"] as const).map(
      (name) => [name, [name]] as const,
    ),
    ...["all", "prefix", "range", "equal", "find"].map((name) => [name, ["get"]] as const),
    ...COUNTER_ACCESSES,
  ],
);

/** The operations that a given set has for their values. */
const VALUES: ReadonlySet<string> = new Set<(Access | Scan)["operation"]>(["get", "has", "first", "last", "count"]);

interface SdkCall {
  readonly called: as.Function;
  readonly node: as.Node;
}

interface AccessCall {
  readonly operation: Access["operation"];
  readonly node: as.CallExpression;
}

/** The functions of the SDK by which code asks for a task, or gives one up. */
const TASK_FUNCTIONS: ReadonlySet<string> = new Set([
  `${SDK_LIBRARY}/tasks/enqueueTask`,
  `${SDK_LIBRARY}/tasks/cancelTask`,
  `${SDK_LIBRARY}/index/cancel`,
  `${SDK_LIBRARY}/workflows/sendSignal`,
]);

/** The handlers that may ask for tasks: more rather than fewer. */
export function handlersWithTasks(
  { program, compiler }: CompiledProgram<FactsCompiler>,
  { handlers }: Pick<Schema, "handlers">,
): ReadonlySet<string> {
  if (compiler === null) return new Set();
  const front = { program, facts: compiler.facts };
  return new Set(handlers.filter(({ instance }) => Reached.by(front, instance).asksForTasks).map(({ name }) => name));
}

const CALLER = `${SDK_LIBRARY}/index/caller`;

/** Warns of `caller()!` in code that a handler with a schedule may reach: a tick has no caller. */
export function ticksWithCaller(
  { program, compiler }: CompiledProgram<FactsCompiler>,
  { handlers }: Pick<Schema, "handlers">,
  rules: ReadonlyMap<string, TaskRules>,
): readonly Diagnostic[] {
  if (compiler === null || !program.instancesByName.has(CALLER)) return [];
  const front = { program, facts: compiler.facts };
  const found = new Map<as.CallExpression, Diagnostic>();
  for (const { name, instance } of handlers) {
    if (rules.get(name)?.schedule === undefined) continue;
    for (const { called, node } of Reached.by(front, instance).sdkCalls()) {
      if (called.internalName !== CALLER || node.kind !== NodeKind.Call) continue;
      const call = node as as.CallExpression;
      const { source, end } = call.range;
      if (found.has(call) || !/^\s*!(?!=)/.test(source.text.slice(end))) continue;
      found.set(
        call,
        diagnostic("schedule_caller", {
          message: `The handler ${name} has a schedule, and \`caller()\` is null in the call of a tick, so that \`!\` ends it.`,
          primary: spanOf(call),
          help: "Test the caller: `const who = caller(); if (who == null) { … }`. Or give the schedule a handler of its own.",
        }),
      );
    }
  }
  return [...found.values()];
}

/** The functions that one may reach, or that run before it: more rather than fewer. */
export class Reached {
  readonly #front: Pick<Known, "program" | "facts">;
  #asksForTasks = false;
  readonly #functions = new Set<as.Function>();
  readonly #calls: AccessCall[] = [];
  readonly #sdkCalls: SdkCall[] = [];

  private constructor(front: Pick<Known, "program" | "facts">, start: as.Function) {
    this.#front = front;
    const { facts } = front;
    this.#reach(start);
    const { nodes, functions } = alwaysRun(facts);
    for (const [inner, known] of nodes) this.#add(inner, known);
    for (const called of functions) this.#reach(called);
    // The set grows as it is read.
    for (const reached of this.#functions) for (const [node, known] of facts.entriesOf(reached)) this.#add(node, known);
  }

  /** The functions of a compiled program do not change, so they are looked for once. */
  static by(front: Pick<Known, "program" | "facts">, start: as.Function): Reached {
    let reached = REACHED.get(start);
    if (reached === undefined) REACHED.set(start, (reached = new Reached(front, start)));
    return reached;
  }

  accesses(): readonly AccessCall[] {
    return this.#calls;
  }

  /** The calls of functions of the SDK in the application's code. */
  sdkCalls(): readonly SdkCall[] {
    return this.#sdkCalls;
  }

  /** Whether some code asks for a task, or gives one up. */
  get asksForTasks(): boolean {
    return this.#asksForTasks;
  }

  #reach(called: as.Function): void {
    if (TASK_FUNCTIONS.has(called.prototype.internalName)) this.#asksForTasks = true;
    if (!isApplication(sourcePath(called))) return;
    this.#functions.add(called);
    if (called.varargsStub !== null) this.#functions.add(called.varargsStub);
    const overrides = called.is(CommonFlags.Overridden) ? this.#front.program.resolver.resolveOverrides(called) : null;
    for (const override of overrides ?? []) this.#functions.add(override);
  }

  #add(node: as.Node, { calls = [], lambda, target }: NodeFacts): void {
    for (const called of calls) {
      const { name } = called.prototype;
      const isTable =
        sourcePath(called).startsWith(SDK_LIBRARY) &&
        sourcePath(called) !== WORKFLOWS_LIBRARY &&
        called.is(CommonFlags.Instance) &&
        !isPartOfIndex(called);
      if (isTable && node.kind === NodeKind.Call)
        for (const operation of OPERATIONS.get(name) ?? [])
          this.#calls.push({ operation, node: node as as.CallExpression });
      if (sourcePath(called).startsWith(SDK_LIBRARY)) this.#sdkCalls.push({ called, node });
      this.#reach(called);
    }
    if (lambda !== undefined) this.#reach(lambda);
    // A function that is mentioned may be called as a value.
    if (target?.kind === ElementKind.FunctionPrototype && !target.isAny(CommonFlags.Generic | CommonFlags.Instance)) {
      const mentioned = this.#front.program.resolver.resolveFunction(target as as.FunctionPrototype, null);
      if (mentioned !== null) this.#reach(mentioned);
    }
  }
}

const REACHED = new WeakMap<as.Function, Reached>();

/** The code that runs, or may run, whatever calls a handler has. */
interface AlwaysRun {
  readonly nodes: readonly (readonly [as.Node, NodeFacts])[];
  readonly functions: readonly as.Function[];
}

const ALWAYS_RUN = new WeakMap<Known["facts"], AlwaysRun>();

function alwaysRun(facts: Known["facts"]): AlwaysRun {
  let always = ALWAYS_RUN.get(facts);
  if (always !== undefined) return always;
  const ranges = Array.from(facts.units, ({ node }) => node.range);
  const nodes = Array.from(facts.nodes()).filter(([{ range: inner }]) =>
    ranges.some(({ source, start, end }) => inner.source === source && inner.start >= start && inner.end <= end),
  );
  // Called by the library, which is not looked into.
  const functions = Array.from(facts.functions()).filter(
    ({ prototype }) => prototype.name === "toString" || prototype.operatorKind !== OperatorKind.Invalid,
  );
  ALWAYS_RUN.set(facts, (always = { nodes, functions }));
  return always;
}

/** A method of a range of an index: the call that has made the range counts. */
function isPartOfIndex(called: as.Function): boolean {
  if (sourcePath(called) !== INDEXES_LIBRARY || called.parent.kind !== ElementKind.Class) return false;
  return indexClass((called.parent as as.Class).prototype.internalName) === null;
}
