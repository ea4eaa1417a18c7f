/**
 * Warns of a record that was read, changed and never put. The change is lost, as a table gives a copy.
 *
 * A change may be wanted without a put: the handler returns the record, or reads what it has changed. So the warning needs
 * all of these:
 *
 * - the change is a statement of its own, and changes an object that a `get` or a scan has decoded;
 * - no put of the handler, in any order, has a value from which the object is reached, and no result of it has;
 * - nothing that may run behind the change reads what it has changed. Another change of the same place does not count;
 * - no other change of the record is wanted so: then the handler uses the record as a draft.
 *
 * Each question is answered for more than can happen: doubt means no warning.
 *
 * The object of a method `create` is lost too if no put and no result of the method has it.
 */
import { OBJECT_CREATION, objectMethod } from "@radical/protocol";
import { diagnostic } from "../diagnostics/catalogue.ts";
import type { Diagnostic, SourceFile, Span } from "../diagnostics/diagnostic.ts";
import {
  type Access,
  type Expression,
  type FieldDeclaration,
  type FunctionDeclaration,
  nonNullable,
  type Program,
  type Scan,
  type Statement,
  statementExpressions,
  walkExpression,
  walkFunction,
  walkStatements,
} from "../lower/ir.ts";
import { calleesOf } from "./definitions.ts";
import type { AbstractObject } from "./heap.ts";
import type { PointsTo } from "./points-to.ts";

export function unsavedChanges(
  handler: string,
  program: Program,
  pointsTo: PointsTo,
  sources: readonly SourceFile[],
): readonly Diagnostic[] {
  const { changes, sites } = new Places(program, pointsTo);
  const lost = new Map<Access | Scan, Change[]>();
  const drafts = new Set<Access | Scan>();
  for (const change of changes) {
    const reads = Array.from(change.objects, ({ decodedBy }) => decodedBy).filter((access) => access !== null);
    const [read] = reads;
    if (read === undefined) continue;
    if (isHandedOn(change.objects, program, pointsTo) || isReadBehind(change, sites, pointsTo))
      for (const one of reads) drafts.add(one);
    else lost.set(read, [...(lost.get(read) ?? []), change]);
  }
  for (const read of drafts) lost.delete(read);
  const texts = new Map(sources.map(({ path, text }) => [path, text]));
  return [
    ...unsavedCreation(handler, program, pointsTo),
    ...Array.from(lost, ([read, [first, ...more]]) => warning(handler, read, first!, more, texts, pointsTo)),
  ];
}

/** Of the method that makes objects: nobody has the object that it made. */
function unsavedCreation(handler: string, program: Program, pointsTo: PointsTo): readonly Diagnostic[] {
  if (objectMethod(handler)?.method !== OBJECT_CREATION) return [];
  const { body, span } = program.handler;
  const made = body.flatMap((statement) =>
    statement.kind === "variable" && statement.initializer?.kind === "construction" ? [statement.initializer] : [],
  );
  const [object] = made;
  // variant: object-creation
  if (object === undefined || isHandedOn(pointsTo.of(object), program, pointsTo)) return [];
  return [
    diagnostic("unsaved_change", {
      message: `The object that ${handler} makes is lost, because the method never saves it.`,
      primary: span,
      help: "Call `this.save()` at the end of the method.",
    }),
  ];
}

// ── Where what happens ───────────────────────────────────────────────────────────────────────────────────────────────

/** A statement, with the statements around it up to the body of its function. */
interface Place {
  readonly owner: FunctionDeclaration;
  /** The outermost first. Each list has the next one's list in the statement at its index. */
  readonly steps: readonly { readonly list: readonly Statement[]; readonly index: number }[];
}

/** A statement that changes an object and does nothing with the value. */
interface Change {
  readonly place: Place;
  readonly target: Expression;
  readonly objects: ReadonlySet<AbstractObject>;
  /** Null: the content of a container. */
  readonly field: FieldDeclaration | null;
  readonly span: Span;
}

interface CallSite {
  readonly place: Place;
  readonly call: Expression;
}

/** Null: of a function that is called where there is no statement too, as in the default of a parameter. */
type CallSites = ReadonlyMap<FunctionDeclaration, readonly CallSite[] | null>;

class Places {
  readonly changes: Change[] = [];
  readonly #sites = new Map<FunctionDeclaration, CallSite[] | null>();
  readonly #pointsTo: PointsTo;

  constructor({ globals }: Program, pointsTo: PointsTo) {
    this.#pointsTo = pointsTo;
    for (const owner of pointsTo.reached) {
      for (const { defaultValue } of owner.parameters) this.#outside(defaultValue);
      this.#visit([...owner.initializers, ...owner.body], { owner, steps: [] });
    }
    for (const { initializer } of globals) this.#outside(initializer);
    for (const initializer of pointsTo.decodedInitializers) this.#outside(initializer);
  }

  get sites(): CallSites {
    return this.#sites;
  }

  #outside(expression: Expression | null): void {
    if (expression === null) return;
    walkExpression(expression, (part) => {
      for (const callee of calleesOf(part, this.#pointsTo)) this.#sites.set(callee, null);
    });
  }

  #visit(list: readonly Statement[], around: Place): void {
    list.forEach((statement, index) => {
      const place = { owner: around.owner, steps: [...around.steps, { list, index }] };
      for (const expression of statementExpressions(statement))
        walkExpression(expression, (call) => {
          for (const callee of calleesOf(call, this.#pointsTo)) {
            const known = this.#sites.get(callee);
            if (known === undefined) this.#sites.set(callee, [{ place, call }]);
            else known?.push({ place, call });
          }
        });
      const change = statement.kind === "expression" ? this.#change(statement.expression, place, statement.span) : null;
      if (change !== null) this.changes.push(change);
      for (const inner of listsOf(statement)) this.#visit(inner, place);
    });
  }

  #change(expression: Expression, place: Place, span: Span): Change | null {
    const of = (target: Expression, field: FieldDeclaration | null): Change => ({
      place,
      target,
      objects: this.#pointsTo.of(target),
      field,
      span,
    });
    if (expression.kind === "assignment") {
      const { target } = expression;
      if (target.kind === "field") return of(target.object, target.field);
      return target.kind === "element" ? of(target.container, null) : null;
    }
    const changes = expression.kind === "library" && expression.member.writes && expression.receiver !== null;
    return changes ? of(expression.receiver, null) : null;
  }
}

/** The lists of statements directly inside a statement. */
function listsOf(statement: Statement): readonly (readonly Statement[])[] {
  switch (statement.kind) {
    case "block":
      return [statement.body];
    case "if":
      return [statement.consequent, statement.alternative];
    case "loop":
      return [statement.initial, statement.body];
    case "switch":
      return statement.cases.map(({ body }) => body);
    default:
      return [];
  }
}

// ── Who may want a change ────────────────────────────────────────────────────────────────────────────────────────────

/** Whether a put or the handler's result has one of the objects, or reaches it. */
function isHandedOn(objects: ReadonlySet<AbstractObject>, { handler }: Program, pointsTo: PointsTo): boolean {
  let isHanded = false;
  const check = (value: Expression): void => {
    isHanded ||= reaches(pointsTo.of(value), objects);
  };
  for (const declaration of pointsTo.reached)
    walkFunction(declaration, (part) => {
      if (part.kind === "access" && part.value !== null) check(part.value);
    });
  walkStatements(handler.body, (statement) => {
    if (statement.kind === "return" && statement.value !== null) check(statement.value);
  });
  return isHanded;
}

function reaches(start: Iterable<AbstractObject>, wanted: ReadonlySet<AbstractObject>): boolean {
  const seen = new Set(start);
  // The set grows as it is read.
  for (const object of seen) {
    if (wanted.has(object)) return true;
    for (const { targets } of object.cells()) for (const target of targets) seen.add(target);
  }
  return false;
}

function isReadBehind(change: Change, sites: CallSites, pointsTo: PointsTo): boolean {
  const behind = new Behind(sites, pointsTo);
  behind.add(change.place);
  return behind.isUnknown || behind.reads.some((part) => isRead(part, change, pointsTo));
}

/** All that may run behind a statement. */
class Behind {
  readonly reads: Expression[] = [];
  isUnknown = false;
  readonly #sites: CallSites;
  readonly #pointsTo: PointsTo;
  readonly #functions = new Set<FunctionDeclaration>();
  readonly #callers = new Set<FunctionDeclaration>();

  constructor(sites: CallSites, pointsTo: PointsTo) {
    this.#sites = sites;
    this.#pointsTo = pointsTo;
  }

  add({ owner, steps }: Place): void {
    for (const [depth, { list, index }] of steps.entries()) {
      for (const statement of list.slice(index + 1)) this.#statement(statement);
      const around = depth === steps.length - 1 ? null : list[index]!;
      // A round comes after a round, and a case after a case.
      if (around?.kind === "loop" || around?.kind === "switch") this.#statement(around);
    }
    this.#callersOf(owner);
  }

  #callersOf(owner: FunctionDeclaration): void {
    if (this.#callers.has(owner)) return;
    this.#callers.add(owner);
    const sites = this.#sites.get(owner);
    if (sites === null) this.isUnknown = true;
    for (const { place, call } of sites ?? []) {
      const { list, index } = place.steps.at(-1)!;
      const statement = list[index]!;
      for (const expression of statementExpressions(statement)) this.#expression(expression, call);
      for (const inner of listsOf(statement)) for (const one of inner) this.#statement(one);
      // A function of the library calls it again, a loop evaluates its condition again.
      if (call.kind === "library" || statement.kind === "loop") this.#function(owner);
      this.add(place);
    }
  }

  #statement(statement: Statement): void {
    walkStatements([statement], (inner) => {
      for (const expression of statementExpressions(inner)) {
        if (inner.kind === "expression" && isUpdate(expression)) this.#operands(expression);
        else this.#expression(expression, null);
      }
    });
  }

  /** An update reads the place that it changes for itself only. */
  #operands(update: Expression): void {
    walkExpression(update, (part) => this.#part(part, part === update));
  }

  #expression(expression: Expression, left: Expression | null): void {
    walkExpression(expression, (part) => {
      if (part !== left) this.#part(part, false);
    });
  }

  #part(part: Expression, isUpdated: boolean): void {
    if (!isUpdated) this.reads.push(part);
    for (const callee of calleesOf(part, this.#pointsTo)) this.#function(callee);
  }

  #function(declaration: FunctionDeclaration): void {
    if (this.#functions.has(declaration)) return;
    this.#functions.add(declaration);
    for (const { defaultValue } of declaration.parameters)
      if (defaultValue !== null) this.#expression(defaultValue, null);
    for (const statement of [...declaration.initializers, ...declaration.body]) this.#statement(statement);
  }
}

/** Whether what a statement of this expression reads of the place that it changes has no other use. */
function isUpdate(expression: Expression): boolean {
  if (expression.kind === "assignment")
    return expression.target.kind === "field" || expression.target.kind === "element";
  return expression.kind === "library" && expression.member.writes && expression.receiver !== null;
}

function isRead(part: Expression, { objects, field }: Change, pointsTo: PointsTo): boolean {
  const isOne = (expression: Expression): boolean => {
    for (const object of pointsTo.of(expression)) if (objects.has(object)) return true;
    return false;
  };
  switch (part.kind) {
    case "field":
      return part.field === field && isOne(part.object);
    case "assignment":
      if (part.operator === "") return false;
      if (part.target.kind === "field") return part.target.field === field && isOne(part.target.object);
      return part.target.kind === "element" && field === null && isOne(part.target.container);
    case "library": {
      const { member, receiver } = part;
      if (field === null && receiver !== null && isOne(receiver)) return true;
      return !member.storesArguments && part.arguments.some((argument) => reaches(pointsTo.of(argument), objects));
    }
    case "abort":
      return part.arguments.some((argument) => reaches(pointsTo.of(argument), objects));
    default:
      return false;
  }
}

// ── Words ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Longest source text in a message. */
const LONGEST = 48;
const MOST_RELATED = 3;

function warning(
  handler: string,
  read: Access | Scan,
  change: Change,
  more: readonly Change[],
  texts: ReadonlyMap<string, string>,
  pointsTo: PointsTo,
): Diagnostic {
  const textOf = ({ file, start, end }: Span): string =>
    (texts.get(file) ?? "").slice(start, end).replaceAll(/\s+/g, " ").trim();
  const target = textOf(change.target.span);
  const what = change.field === null ? target : `${target}.${change.field.name}`;
  // A row has its own key, and perhaps the source has no name for the row.
  const [table, key] = read.kind === "scan" ? ["", ""] : [textOf(read.table.span), textOf(read.key.span)];
  const record = variableOf(change.target, read, pointsTo);
  const isSayable = record !== null && [table, key].every((text) => text !== "" && text.length <= LONGEST);
  // A method of objects does not name the table that its object is of.
  const isOfObject = read.kind === "access" && table === "" && key === "";
  return diagnostic("unsaved_change", {
    message: `The change of ${what !== "" && what.length <= LONGEST ? what : "the record"} is lost, because ${handler} never ${isOfObject ? "saves its object" : "puts that record"}.`,
    primary: change.span,
    related: [
      { span: read.span, label: "the record is read here" },
      ...more.slice(0, MOST_RELATED).map(({ span }) => ({ span, label: "this change is lost too" })),
    ],
    help: isOfObject
      ? "Call `this.save()` after the changes. Or leave the change out."
      : isSayable
        ? `Store the record after its changes: \`${table}.put(${key}, ${record});\`. Or leave the change out.`
        : "Store the record after its changes with `put`, or leave the change out.",
  });
}

/** The name of the variable that has the item which was read, and a part of which is changed; null: there is none. */
function variableOf(target: Expression, read: Access | Scan, pointsTo: PointsTo): string | null {
  let at = target;
  for (;;) {
    if (at.kind === "field") at = at.object;
    else if (at.kind === "cast" || at.kind === "non-null") at = at.operand;
    else if (at.kind === "library" && at.receiver !== null && at.member.form === "element") at = at.receiver;
    else break;
  }
  if (at.kind !== "local") return null;
  const item = nonNullable(read.type);
  const holds = [...pointsTo.of(at)].some(({ decodedBy, type }) => {
    const held = nonNullable(type);
    const isItem = held.kind === "class" && item.kind === "class" && held.declaration === item.declaration;
    return decodedBy === read && (isItem || held === item);
  });
  return holds ? at.local.name : null;
}
