/**
 * From one handler of a compiled application to the IR of everything it can reach: declarations and types here,
 * function bodies in `body`.
 */
import {
  type as,
  CommonFlags,
  ElementKind,
  LiteralKind,
  NodeKind,
  type OperatorKind,
  TypeKind,
} from "../parse/assemblyscript.ts";
import { SDK_LIBRARY } from "../parse/compile.ts";
import { withoutParentheses } from "../parse/children.ts";
import type { Facts, Unit } from "../parse/facts.ts";
import { boxedType } from "../parse/nullable-numbers.ts";
import { titledShapes } from "../parse/shapes.ts";
import { indexClass, isIndexRange } from "../parse/indexes.ts";
import { isRowClass, ROWS_LIBRARY } from "../parse/rows.ts";
import { drawPlace, readableTypes } from "../parse/span.ts";
import { isTupleClass } from "../parse/tuples.ts";
import { formerNames } from "../schema/documentation.ts";
import type { Span } from "../diagnostics/diagnostic.ts";
import {
  BOOL,
  COUNTED,
  isAccess,
  STRING,
  VOID,
  walkExpression,
  walkFunction,
  type ClassDeclaration,
  type DrawSite,
  type Expression,
  type FieldDeclaration,
  type FunctionDeclaration,
  type Global,
  type Local,
  type NumberName,
  type Program,
  type Statement,
  type Type,
} from "./ir.ts";
import { CONTAINERS } from "./library.ts";
import { isMaker } from "./body/literals.ts";
import { lowerBody, lowerInitializer, lowerModuleStatement } from "./body/lower-body.ts";
import type { Declarations } from "./declarations.ts";
import { isApplication, sourcePath, spanOf } from "./nodes.ts";
import { Refusal } from "./refusal.ts";
import { SharedState } from "./shared-state.ts";

/** A type-checked application and what the compiler resolved in it. */
export interface ResolvedApplication {
  readonly program: as.Program;
  readonly facts: Facts;
}

/** Throws a `Refusal` for what has no rule. */
export function lowerHandler(application: ResolvedApplication, handler: as.Function): Program {
  return new Lowering(application).run(handler);
}

/**
 * Lowers a function whose accesses are only shown to developers. An expression without a rule is an operation `?` without
 * operands. A statement or body without a rule is empty. Functions may say which items they touch.
 */
export function lowerAsKnown(application: ResolvedApplication, start: as.Function): Program {
  return new Lowering(application, true).run(start);
}

class Lowering implements Declarations {
  readonly facts: Facts;
  readonly program: as.Program;
  readonly asKnown: boolean;
  readonly #functions = new Map<as.Function, FunctionDeclaration>();
  readonly #classes = new Map<as.Class, ClassDeclaration>();
  readonly #globals = new Map<as.Global, Global>();
  readonly #enumValues = new Map<as.EnumValue, Global>();
  /** The classes of the program that the declarations stand for. */
  readonly #sources = new Map<ClassDeclaration, as.Class>();
  /** Functions that are made for what an expression of the IR can't say. */
  readonly #made: FunctionDeclaration[] = [];
  readonly #rowConstructors = new Map<ClassDeclaration, FunctionDeclaration>();
  readonly #hiddenTables = new Map<string, Global>();
  /** Units that run before the handler and have no rule. */
  readonly #refused = new Map<Unit, Refusal>();
  #sharedState: SharedState | null = null;
  readonly #drawSites = new Map<string, DrawSite>();
  /** Declared, body not lowered yet. */
  readonly #pending: { source: as.Function; declaration: FunctionDeclaration }[] = [];

  constructor(application: ResolvedApplication, asKnown = false) {
    this.asKnown = asKnown;
    this.facts = application.facts;
    this.program = application.program;
  }

  run(handler: as.Function): Program {
    const declaration = this.function(handler);
    this.#drain();
    const globals = this.#initialization();
    if (!this.asKnown) this.#refuseEffectsOfFields();
    return {
      handler: declaration,
      globals: [...this.#enumValues.values(), ...this.#hiddenTables.values(), ...globals],
      functions: [...this.#functions.values(), ...this.#made],
    };
  }

  #drain(): void {
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop())
      lowerBody(this, next.source, next.declaration);
  }

  /** The units that run before the handler, in order: the globals that it mentions and all units that may change something. */
  #initialization(): Global[] {
    const { units } = this.facts;
    const done = new Map<Unit, Global>();
    const given = new Set<Unit>();
    for (let size = -1; size !== done.size + given.size;) {
      size = done.size + given.size;
      for (const unit of units) {
        if (done.has(unit) || given.has(unit) || !this.#matters(unit)) continue;
        const before = this.#declared();
        try {
          done.set(unit, this.#unit(unit));
          this.#drain();
        } catch (thrown) {
          if (!(thrown instanceof Refusal)) throw thrown;
          // Nothing that was lowered before refers to what the failed unit declared.
          done.delete(unit);
          this.#restore(before);
          given.add(unit);
          this.#refused.set(unit, thrown);
        }
      }
    }
    if (!this.asKnown) for (const [unit, refusal] of this.#refused) this.#markUnknown(unit, refusal);
    return units.flatMap(
      (unit) => done.get(unit) ?? (unit.kind === "global" ? (this.#globals.get(unit.global) ?? []) : []),
    );
  }

  #matters(unit: Unit): boolean {
    if (!isApplication(unit.node.range.source.internalPath)) return false;
    if (unit.kind !== "global" || this.#globals.has(unit.global)) return true;
    return unit.global.initializerNode !== null && !this.#isHarmless(unit.global.initializerNode);
  }

  #unit(unit: Unit): Global {
    const span = spanOf(unit.node);
    switch (unit.kind) {
      case "global": {
        const global = this.global(unit.global, span);
        const node = unit.global.initializerNode;
        if (node !== null) global.initializer = lowerInitializer(this, node, null, global.type);
        return global;
      }
      case "statement": {
        const type: Type = { kind: "number", name: "i32" };
        const done: Expression = { kind: "constant", text: "0", type, span };
        const body = lowerModuleStatement(this, unit.node, unit.owner);
        const run = this.synthetic("start", [], type, [...body, { kind: "return", value: done, span }], span);
        const initializer: Expression = {
          kind: "call",
          callees: [run],
          receiver: null,
          arguments: [],
          isSuper: false,
          type,
          span,
        };
        return { name: "started", type, mutable: false, initializer, unknown: null, span };
      }
      case "enum":
        throw new Refusal("not_sliced_module_code", {
          message: `The analyzer can't follow a value of the enum ${unit.enumeration.name} that is computed when the module starts.`,
          primary: span,
          help: "Give it a number, or use a constant.",
        });
    }
  }

  /** Everything declared so far, to go back to. */
  #declared(): Declared {
    return {
      functions: new Map(this.#functions),
      classes: new Map(this.#classes),
      sources: new Map(this.#sources),
      globals: new Map(this.#globals),
      enumValues: new Map(this.#enumValues),
      made: this.#made.length,
    };
  }

  #restore(before: Declared): void {
    this.#pending.length = 0;
    this.#made.length = before.made;
    replace(this.#functions, before.functions);
    replace(this.#classes, before.classes);
    replace(this.#sources, before.sources);
    replace(this.#globals, before.globals);
    replace(this.#enumValues, before.enumValues);
  }

  /** The handler can't be followed if it hangs on what the unit may change. */
  #markUnknown(unit: Unit, refusal: Refusal): void {
    this.#sharedState ??= new SharedState(this.facts, this.program);
    const connected = this.#sharedState.connected(unit);
    if (connected === null) throw refusal;
    for (const [source, global] of this.#globals) if (connected.has(source)) global.unknown ??= refusal;
    for (const [source, global] of this.#enumValues) if (connected.has(source)) global.unknown ??= refusal;
  }

  // ── Declarations ───────────────────────────────────────────────────────────────────────────────────────────────────

  function(source: as.Function): FunctionDeclaration {
    const known = this.#functions.get(source);
    if (known !== undefined) return known;
    const field = implicitAccessor(source);
    if (field !== null) return this.#fieldAccessor(source, field);
    const span = spanOf(source.declaration.name);
    const owner = source.is(CommonFlags.Instance) ? this.#classOf(source, span) : null;
    const declaration: FunctionDeclaration = {
      name: this.#functionName(source),
      kind: functionKind(source),
      owner,
      self: owner === null ? null : { name: "this", type: { kind: "class", declaration: owner }, span },
      parameters: [],
      result: VOID,
      initializers: [],
      body: [],
      // A class without constructor gets a copy of its base's declaration, body included.
      implicit:
        source.is(CommonFlags.Constructor) &&
        source.getBoundClassOrInterface()?.prototype.constructorPrototype === null,
      operator: null,
      overridable: false,
      escapes: false,
      isAbstract: source.is(CommonFlags.Abstract) || owner?.kind === "interface",
      span,
    };
    this.#functions.set(source, declaration);
    if (!source.is(CommonFlags.Constructor)) declaration.result = this.type(source.signature.returnType, span);
    this.#pending.push({ source, declaration });
    return declaration;
  }

  sdkFunction(source: as.Function, span: Span): FunctionDeclaration | null {
    const known = this.#functions.get(source);
    if (known !== undefined) return known;
    const result = this.type(source.signature.returnType, span);
    const parameters = source.signature.parameterTypes.map((type, index): Local => ({
      name: source.getParameterName(index),
      type: this.type(type, span),
      span,
    }));
    const value = this.#sdkCall(source.prototype.internalName, parameters, result, span);
    if (value === null) return null;
    const body: Statement =
      result.kind === "void" ? { kind: "expression", expression: value, span } : { kind: "return", value, span };
    const made = plainFunction(source.prototype.name, parameters, result, [body], span);
    this.#functions.set(source, made);
    return made;
  }

  /** A function value draws what no call has drawn: its site has no place. */
  #sdkCall(name: string, parameters: readonly Local[], type: Type, span: Span): Expression | null {
    switch (name) {
      case `${SDK_LIBRARY}/index/random`:
        return { kind: "draw", source: "random", site: this.#drawSiteAt(""), type, span };
      case `${SDK_LIBRARY}/index/uuid`:
        return { kind: "draw", source: "uuid", site: this.#drawSiteAt(""), type, span };
      case `${SDK_LIBRARY}/index/now`:
        return { kind: "now", type, span };
      case `${SDK_LIBRARY}/index/caller`:
        return { kind: "caller", type, span };
      case `${SDK_LIBRARY}/index/abort`:
        return {
          kind: "abort",
          arguments: parameters.map((local) => ({ kind: "local", local, type: local.type, span })),
          type,
          span,
        };
      default:
        return null;
    }
  }

  drawSite(span: Span): DrawSite {
    return this.#drawSiteAt(drawPlace(span));
  }

  #drawSiteAt(place: string): DrawSite {
    let site = this.#drawSites.get(place);
    if (site === undefined) this.#drawSites.set(place, (site = { kind: "draw-site", place }));
    return site;
  }

  /** The functions that a call of this instance may reach: itself and its overrides. */
  callees(source: as.Function): FunctionDeclaration[] {
    const overrides = source.is(CommonFlags.Overridden) ? (this.program.resolver.resolveOverrides(source) ?? []) : [];
    // variant: overrides-called
    const callees = [source, ...overrides.filter((override) => override !== source)].map((callee) =>
      this.function(callee),
    );
    if (callees.length > 1 || callees[0]?.isAbstract === true || source.is(CommonFlags.Override)) {
      for (const callee of callees) callee.overridable = true;
    }
    return callees;
  }

  /** The accessors of a field, as methods: an interface or an abstract class reaches fields through them. */
  #fieldAccessor(source: as.Function, property: as.Property): FunctionDeclaration {
    const span = spanOf(property.declaration.name);
    const owner = this.#classOf(source, span);
    const self: Local = { name: "this", type: { kind: "class", declaration: owner }, span };
    const isGetter = source.is(CommonFlags.Get);
    const type = this.type(property.type, span);
    const value: Local = { name: "value", type, span };
    const declaration: FunctionDeclaration = {
      name: property.name,
      kind: isGetter ? "getter" : "setter",
      owner,
      self,
      parameters: isGetter ? [] : [{ local: value, defaultValue: null }],
      result: isGetter ? type : VOID,
      initializers: [],
      body: [],
      implicit: owner.kind === "class",
      operator: null,
      overridable: true,
      escapes: false,
      isAbstract: owner.kind === "interface",
      span,
    };
    this.#functions.set(source, declaration);
    if (owner.kind === "interface") return declaration;
    const object: Expression = { kind: "local", local: self, type: self.type, span };
    const field = this.field(property, span);
    if (isGetter) {
      declaration.body = [{ kind: "return", value: { kind: "field", object, field, type, span }, span }];
    } else {
      const expression: Expression = {
        kind: "assignment",
        target: { kind: "field", object, field },
        operator: "",
        prefix: false,
        value: { kind: "local", local: value, type, span },
        type: VOID,
        span,
      };
      declaration.body = [{ kind: "expression", expression, span }];
    }
    return declaration;
  }

  synthetic(
    name: string,
    parameters: readonly Local[],
    result: Type,
    body: readonly Statement[],
    span: Span,
  ): FunctionDeclaration {
    const declaration = plainFunction(name, parameters, result, body, span);
    this.#made.push(declaration);
    return declaration;
  }

  rowOfText(span: Span): Type {
    const { elementsByName, resolver, stringInstance } = this.program;
    const prototype = elementsByName.get(`${ROWS_LIBRARY}/Row`);
    if (prototype?.kind !== ElementKind.ClassPrototype) throw new Error("the SDK has no class Row");
    const row = resolver.resolveClass(prototype as as.ClassPrototype, [stringInstance.type]);
    if (row === null) throw new Error("there are rows of texts");
    return this.type(row.type, span);
  }

  rowConstructor(row: ClassDeclaration, span: Span): FunctionDeclaration {
    const known = this.#rowConstructors.get(row);
    if (known !== undefined) return known;
    const self: Local = { name: "this", type: { kind: "class", declaration: row }, span };
    const parameters = row.fields.map(({ name, type }): Local => ({ name, type, span }));
    const body = row.fields.map((field, index): Statement => {
      const value: Expression = { kind: "local", local: parameters[index]!, type: field.type, span };
      const object: Expression = { kind: "local", local: self, type: self.type, span };
      const target = { kind: "field", object, field } as const;
      const expression: Expression = {
        kind: "assignment",
        target,
        operator: "",
        prefix: false,
        value,
        type: VOID,
        span,
      };
      return { kind: "expression", expression, span };
    });
    const plain = plainFunction("constructor", parameters, VOID, body, span);
    // The SDK's takes all of its arguments.
    const made: FunctionDeclaration = { ...plain, kind: "constructor", owner: row, self, escapes: true };
    this.#rowConstructors.set(row, made);
    this.#made.push(made);
    return made;
  }

  hiddenTable(purpose: string, table: string, type: Type, span: Span): Global {
    const place = `${purpose} ${table} ${type.kind === "table" ? (type.entriesOf ?? "") : ""}`;
    let global = this.#hiddenTables.get(place);
    if (global === undefined) {
      const initializer: Expression = { kind: "new-table", name: table, type, span };
      global = { name: purpose, type, mutable: false, initializer, unknown: null, span };
      this.#hiddenTables.set(place, global);
    }
    return global;
  }

  /** The operator of a class that an expression on its objects calls; null: it has none. */
  operator(declaration: ClassDeclaration, operator: OperatorKind): as.Function | null {
    return this.#sources.get(declaration)?.lookupOverload(operator) ?? null;
  }

  method(declaration: ClassDeclaration, name: string): as.Function | null {
    const member = this.#sources.get(declaration)?.getMember(name) ?? null;
    return member?.kind === ElementKind.FunctionPrototype
      ? this.program.resolver.resolveFunction(member as as.FunctionPrototype, null)
      : null;
  }

  class(source: as.Class, span: Span): ClassDeclaration {
    const known = this.#classes.get(source);
    if (known !== undefined) return known;
    const base =
      source.base !== null && !source.prototype.implicitlyExtendsObject ? this.class(source.base, span) : null;
    const fields: FieldDeclaration[] = [];
    const isInterface = source.kind === ElementKind.Interface;
    const isTuple = isTupleClass(source);
    const isRow = isRowClass(source);
    const declaration: ClassDeclaration = {
      name: isRow ? "Row" : printableName(isTuple ? "Tuple" : source.prototype.name, source.typeArguments),
      kind: isInterface ? "interface" : isTuple ? "tuple" : isRow ? "row" : "class",
      base,
      interfaces: [...(source.interfaces ?? [])].map((implemented) => this.class(implemented, span)),
      fields,
      isAbstract: source.is(CommonFlags.Abstract),
      span: spanOf(source.declaration.name),
    };
    // Before its fields, as they may refer to it.
    this.#classes.set(source, declaration);
    this.#sources.set(declaration, source);
    // A field of an interface is a pair of accessors.
    if (isInterface) return declaration;
    for (const field of ownFields(source)) {
      fields.push({
        name: field.name,
        was: formerNames(field.declaration.name.range),
        type: this.type(field.type, spanOf(field.declaration.name)),
        initializer: null,
        owner: declaration,
      });
    }
    for (const field of ownFields(source)) {
      // A class that is neither constructed nor decoded: nothing compiled its initializers.
      if (
        field.initializerNode === null ||
        this.facts.getAnywhere(withoutParentheses(field.initializerNode)).type === undefined
      )
        continue;
      const lowered = fields.find((candidate) => candidate.name === field.name);
      if (lowered !== undefined)
        lowered.initializer = lowerInitializer(this, field.initializerNode, source.constructorInstance, lowered.type);
    }
    return declaration;
  }

  field(property: as.Property, span: Span): FieldDeclaration {
    const owner = this.class(property.parent as as.Class, span);
    for (let declaration: ClassDeclaration | null = owner; declaration !== null; declaration = declaration.base) {
      const field = declaration.fields.find((candidate) => candidate.name === property.name);
      if (field !== undefined) return field;
    }
    throw new Error(`class ${owner.name} has no field ${property.name}`);
  }

  /** Its initial value is lowered with all that runs before the handler. */
  global(source: as.Global, span: Span): Global {
    const known = this.#globals.get(source);
    if (known !== undefined) return known;
    const global: Global = {
      name: source.parent.kind === ElementKind.File ? source.name : `${source.parent.name}_${source.name}`,
      type: this.type(source.type, span),
      mutable: !source.isAny(CommonFlags.Const | CommonFlags.Readonly),
      initializer: null,
      unknown: null,
      span: spanOf(source.declaration.name),
    };
    this.#globals.set(source, global);
    return global;
  }

  /** Enum values are constants of their own; one without initializer follows the one before it. */
  enumValue(source: as.EnumValue): Global {
    const known = this.#enumValues.get(source);
    if (known !== undefined) return known;
    const span = spanOf(source.declaration.name);
    const type: Type = { kind: "number", name: "i32" };
    const node = source.valueNode;
    let initializer: Expression = { kind: "constant", text: "0", type, span };
    if (node !== null) {
      initializer = lowerInitializer(this, node, null, type);
    } else {
      const siblings = [...(source.parent.members?.values() ?? [])].filter(
        (member) => member.kind === ElementKind.EnumValue,
      ) as as.EnumValue[];
      const previous = siblings[siblings.indexOf(source) - 1];
      if (previous !== undefined) {
        const global = this.enumValue(previous);
        initializer = {
          kind: "operation",
          operator: "+",
          operands: [
            { kind: "global", global, type, span },
            { kind: "constant", text: "1", type, span },
          ],
          type,
          span,
        };
      }
    }
    const global: Global = {
      name: `${source.parent.name}_${source.name}`,
      type,
      mutable: false,
      initializer,
      unknown: null,
      span,
    };
    this.#enumValues.set(source, global);
    return global;
  }

  /** Whether evaluating an initial value surely changes nothing else. */
  #isHarmless(node: as.Expression): boolean {
    const inner = withoutParentheses(node);
    switch (inner.kind) {
      case NodeKind.Null:
      case NodeKind.True:
      case NodeKind.False:
      case NodeKind.Identifier:
      case NodeKind.Function:
        return true;
      case NodeKind.Literal:
        return (
          (inner as as.LiteralExpression).literalKind !== LiteralKind.Array ||
          (inner as as.ArrayLiteralExpression).elementExpressions.every((element) => this.#isHarmless(element))
        );
      case NodeKind.New: {
        const created = this.facts.getAnywhere(inner).type?.getClass() ?? null;
        return (
          created !== null &&
          !isApplication(sourcePath(created)) &&
          (inner as as.NewExpression).args.every((argument) => this.#isHarmless(argument))
        );
      }
      default:
        return false;
    }
  }

  // ── Types ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  type(source: as.Type, span: Span): Type {
    const type = this.#typeWithoutNull(source, span);
    return source.isNullableReference ? { kind: "nullable", inner: type } : type;
  }

  #typeWithoutNull(source: as.Type, span: Span): Type {
    const instance = source.getClass();
    // A nullable number is one here, not an object.
    const boxed = boxedType(source);
    if (boxed !== null) return this.#typeWithoutNull(boxed, span);
    if (instance !== null) return this.#classType(instance, span);
    const signature = source.getSignature();
    if (signature !== null) {
      if (signature.thisType !== null) {
        throw new Refusal("not_sliced_method_value", {
          message: "The analyzer can't follow a method that is used as a value.",
          primary: span,
          help: "Declare a function at the top of the file, and use that.",
        });
      }
      return {
        kind: "function",
        parameters: signature.parameterTypes.map((parameter) => this.type(parameter, span)),
        required: signature.requiredParameters,
        result: this.type(signature.returnType, span),
      };
    }
    const name = NUMBERS.get(source.kind);
    if (name !== undefined) return { kind: "number", name };
    if (source.kind === TypeKind.Void) return VOID;
    if (source.kind === TypeKind.Bool) return BOOL;
    throw new Refusal("not_sliced_type", {
      message: `The analyzer can't follow values of type ${source.toString()} yet.`,
      primary: span,
      help: "Use numbers, booleans, strings, arrays, maps and classes.",
    });
  }

  #classType(instance: as.Class, span: Span): Type {
    const path = sourcePath(instance);
    const name = instance.prototype.name;
    if (isApplication(path)) return { kind: "class", declaration: this.class(instance, span) };
    const typeArguments = (instance.typeArguments ?? []).map((argument) => this.type(argument, span));
    if (path.startsWith(SDK_LIBRARY)) {
      const [record] = typeArguments;
      if ((name === "Table" || name === "Objects") && record !== undefined) return { kind: "table", record };
      if (name === "Counter") return { kind: "table", record: COUNTED };
      if (indexClass(instance.prototype.internalName) !== null) return { kind: "table", record: STRING };
      if (isIndexRange(instance.prototype.internalName)) return { kind: "library", name: "Range", arguments: [STRING] };
      if (name === "Range") return { kind: "library", name, arguments: typeArguments };
      // It is a map; what is special about it is in the expressions.
      if (name === "Record") return { kind: "library", name: "Map", arguments: typeArguments };
    } else if (name === "String") {
      return STRING;
    } else if (CONTAINERS.has(name)) {
      return { kind: "library", name, arguments: typeArguments };
    }
    throw new Refusal("not_sliced_library", {
      message: `The analyzer can't follow the class ${name} yet.`,
      primary: span,
      help: "Use arrays, `Map`, `Set`, typed arrays and your own classes.",
    });
  }

  // ── Private ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #classOf(source: as.Function, span: Span): ClassDeclaration {
    const owner = source.getBoundClassOrInterface();
    if (owner === null) throw new Error(`${source.internalName} has no class`);
    return this.class(owner, span);
  }

  #functionName(source: as.Function): string {
    const name = printableName(source.prototype.name, source.typeArguments);
    if (source.is(CommonFlags.Instance)) return name;
    const parent = source.parent;
    const qualified =
      parent.kind === ElementKind.File || parent.kind === ElementKind.Function
        ? name
        : `${printableName(parent.name, null)}_${name}`;
    return qualified === "default" ? "main" : qualified;
  }

  /**
   * Initial values of fields run whenever a record lacks the key. They may not touch storage or draw, and change nothing
   * that outlives them.
   */
  #refuseEffectsOfFields(): void {
    for (const { fields, span } of this.#classes.values()) {
      for (const { name, initializer } of fields)
        if (initializer !== null) this.#refuseEffects(name, span, initializer);
    }
  }

  #refuseEffects(name: string, span: Span, initializer: Expression): void {
    const seen = new Set<FunctionDeclaration>();
    const check = (expression: Expression, self: FunctionDeclaration | null): void => {
      if (
        changesSomething(expression, self) ||
        expression.kind === "draw" ||
        isAccess(expression) ||
        expression.kind === "abort" ||
        expression.kind === "lane" ||
        expression.kind === "indirect-call"
      ) {
        throw new Refusal("not_sliced_module_code", {
          message: `The analyzer can't follow the initial value of ${name}, because computing it has an effect.`,
          primary: span,
          related: [{ span: expression.span, label: "the effect" }],
          help: "Do this inside the handler.",
        });
      }
      const callees =
        expression.kind === "call"
          ? expression.callees
          : expression.kind === "construction"
            ? [expression.callee]
            : expression.kind === "library"
              ? expression.calls
              : [];
      for (const callee of callees) {
        if (seen.has(callee)) continue;
        seen.add(callee);
        walkFunction(callee, (inner) => check(inner, callee));
      }
    };
    walkExpression(initializer, (expression) => check(expression, null));
  }
}

/** The declarations of a lowering at one moment. */
interface Declared {
  readonly functions: ReadonlyMap<as.Function, FunctionDeclaration>;
  readonly classes: ReadonlyMap<as.Class, ClassDeclaration>;
  readonly sources: ReadonlyMap<ClassDeclaration, as.Class>;
  readonly globals: ReadonlyMap<as.Global, Global>;
  readonly enumValues: ReadonlyMap<as.EnumValue, Global>;
  readonly made: number;
}

function replace<Key, Value>(map: Map<Key, Value>, content: ReadonlyMap<Key, Value>): void {
  map.clear();
  for (const [key, value] of content) map.set(key, value);
}

/** Whether an expression assigns to anything but variables and the object under construction. */
function changesSomething(expression: Expression, owner: FunctionDeclaration | null): boolean {
  if (expression.kind === "library") return expression.member.writes;
  if (expression.kind !== "assignment") return false;
  const { target } = expression;
  if (target.kind === "local") return false;
  const object = target.kind === "field" ? target.object : null;
  if (owner === null || object?.kind !== "local") return true;
  const made = isMaker(owner) ? owner.parameters[0]?.local : owner.kind === "constructor" ? owner.self : null;
  return object.local !== made;
}

// ── Names ────────────────────────────────────────────────────────────────────────────────────────────────────────────

function printableName(name: string, typeArguments: readonly as.Type[] | null): string {
  // The compiler calls accessors `get:name` and `set:name`. Of a name that the developer did not write, the purpose stands before an `@`.
  const base = titledShapes(name)
    .replace(/^[gs]et:/, "")
    .replace(/@.*/, "")
    .replace(/[^A-Za-z0-9_$]+/g, "_");
  if (typeArguments === null || typeArguments.length === 0) return base;
  const suffix = typeArguments.map((argument) =>
    readableTypes(titledShapes(argument.toString())).replace(/[^A-Za-z0-9]+/g, "_"),
  );
  return `${base}_${suffix.join("_")}`.replace(/_+$/, "");
}

/** The field whose accessor the compiler made. */
function implicitAccessor(source: as.Function): as.Property | null {
  if (!source.isAny(CommonFlags.Get | CommonFlags.Set) || source.prototype.bodyNode !== null) return null;
  const member = source.getBoundClassOrInterface()?.getMember(source.declaration.name.text);
  if (member?.kind !== ElementKind.PropertyPrototype) return null;
  const property = (member as as.PropertyPrototype).instance;
  return property?.isField === true ? property : null;
}

function functionKind(source: as.Function): FunctionDeclaration["kind"] {
  if (source.is(CommonFlags.Constructor)) return "constructor";
  if (source.parent.kind === ElementKind.Function) return "lambda";
  if (!source.is(CommonFlags.Instance)) return "function";
  if (source.is(CommonFlags.Get)) return "getter";
  return source.is(CommonFlags.Set) ? "setter" : "method";
}

function ownFields(source: as.Class): as.Property[] {
  const fields: as.Property[] = [];
  for (const member of source.members?.values() ?? []) {
    if (member.kind !== ElementKind.PropertyPrototype) continue;
    const property = (member as as.PropertyPrototype).instance;
    if (
      property !== null &&
      property.isField &&
      property.is(CommonFlags.Instance) &&
      property.getBoundClassOrInterface() === source
    )
      fields.push(property);
  }
  return fields;
}

const NUMBERS: ReadonlyMap<TypeKind, NumberName> = new Map([
  [TypeKind.I8, "i8"],
  [TypeKind.U8, "u8"],
  [TypeKind.I16, "i16"],
  [TypeKind.U16, "u16"],
  [TypeKind.I32, "i32"],
  [TypeKind.U32, "u32"],
  [TypeKind.I64, "i64"],
  [TypeKind.U64, "u64"],
  [TypeKind.Isize, "isize"],
  [TypeKind.Usize, "usize"],
  [TypeKind.F32, "f32"],
  [TypeKind.F64, "f64"],
] as const);

function plainFunction(
  name: string,
  parameters: readonly Local[],
  result: Type,
  body: readonly Statement[],
  span: Span,
): FunctionDeclaration {
  return {
    name,
    kind: "function",
    owner: null,
    self: null,
    parameters: parameters.map((local) => ({ local, defaultValue: null })),
    result,
    initializers: [],
    body,
    implicit: false,
    operator: null,
    overridable: false,
    escapes: false,
    isAbstract: false,
    span,
  };
}
