/**
 * Which objects each expression may refer to: inclusion-based, by allocation site, fields apart, statements in any
 * order, calls without context. Also finds what the handler reaches and who is called through function values.
 */
import {
  nestedStatements,
  nonNullable,
  operands,
  statementExpressions,
  type Access,
  type Call,
  type ClassDeclaration,
  type Construction,
  type Expression,
  type FunctionDeclaration,
  type Global,
  type IndirectCall,
  type LibraryCall,
  type Local,
  type Program,
  type Scan,
  type Statement,
  type Type,
} from "../lower/ir.ts";
import { AbstractObject, type TableLocation } from "./heap.ts";

const NONE: ReadonlySet<AbstractObject> = new Set();

export class PointsTo {
  readonly #variables = new Map<Local | Global | FunctionDeclaration, Set<AbstractObject>>();
  readonly #values = new Map<Expression, Set<AbstractObject>>();
  /** Objects by creating site, then by part of the created structure. */
  readonly #sites = new Map<object, Map<string | ClassDeclaration, AbstractObject>>();
  readonly #tables = new Map<string, TableLocation>();
  /** Functions that decoding may run for keys that items lack. */
  readonly decodedInitializers = new Set<Expression>();
  #changed = false;
  readonly #visited = new Set<FunctionDeclaration>();

  constructor(program: Program) {
    // variant: handler-parameters
    for (const { local } of program.handler.parameters)
      this.#include(this.#variable(local), this.#decoded(local, local.type, local.name));
    do {
      this.#changed = false;
      this.#visited.clear();
      for (const global of program.globals) {
        // variant: global-starts
        if (global.initializer !== null) this.#include(this.#variable(global), this.#evaluate(global.initializer));
      }
      this.#function(program.handler);
    } while (this.#changed);
  }

  /** Every function that the handler may call. */
  get reached(): ReadonlySet<FunctionDeclaration> {
    return this.#visited;
  }

  of(expression: Expression): ReadonlySet<AbstractObject> {
    return this.#values.get(expression) ?? NONE;
  }

  /** All expressions that no object, function or table is known for; also those that have none, as numbers. */
  referringToNothing(): Expression[] {
    return [...this.#values].flatMap(([expression, objects]) => (objects.size === 0 ? [expression] : []));
  }

  /** Notes that a copy of an expression refers to the same objects. */
  copied(original: Expression, copy: Expression): void {
    const objects = this.#values.get(original);
    if (objects !== undefined) this.#values.set(copy, objects);
  }

  /** The functions that a member of the library may call: its callback is the first argument. */
  callbacksOf({ member, arguments: args }: LibraryCall): FunctionDeclaration[] {
    return member.callback === null || args[0] === undefined ? [] : this.functionsOf(args[0]);
  }

  /** The functions that an expression may refer to. */
  functionsOf(expression: Expression): FunctionDeclaration[] {
    return [...this.of(expression)].flatMap((object) => object.functionValue ?? []);
  }

  /** The tables that an expression may refer to. */
  tablesOf(expression: Expression): TableLocation[] {
    return [...this.of(expression)].flatMap((object) => object.table ?? []);
  }

  // ── Solving ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #variable(key: Local | Global | FunctionDeclaration): Set<AbstractObject> {
    let set = this.#variables.get(key);
    if (set === undefined) this.#variables.set(key, (set = new Set()));
    return set;
  }

  #include(set: Set<AbstractObject>, objects: Iterable<AbstractObject>): void {
    for (const object of objects) {
      if (set.has(object)) continue;
      set.add(object);
      this.#changed = true;
    }
  }

  /** Notes that there may be nothing at some index of a list. */
  #pierce(list: AbstractObject): void {
    const type = nonNullable(list.type);
    if (list.hasHoles || type.kind !== "library" || (type.name !== "Array" && type.name !== "StaticArray")) return;
    const [element] = type.arguments;
    if (element === undefined || ["number", "bool", "nullable"].includes(element.kind)) return;
    list.hasHoles = true;
    this.#changed = true;
  }

  #created(site: object, part: string | ClassDeclaration, make: () => AbstractObject): AbstractObject {
    let parts = this.#sites.get(site);
    if (parts === undefined) this.#sites.set(site, (parts = new Map<string | ClassDeclaration, AbstractObject>()));
    let object = parts.get(part);
    if (object === undefined) parts.set(part, (object = make()));
    return object;
  }

  /** A decoded structure of a type: one object per class and per path of a container, so that recursive records end. */
  #decoded(site: Local | Access | Scan, type: Type, path: string): AbstractObject[] {
    const inner = nonNullable(type);
    const made = (): AbstractObject => new AbstractObject(inner, null, null, "kind" in site ? site : null);
    if (inner.kind === "class") {
      const known = this.#sites.get(site)?.has(inner.declaration) ?? false;
      const object = this.#created(site, inner.declaration, made);
      for (
        let declaration: ClassDeclaration | null = inner.declaration;
        declaration !== null;
        declaration = declaration.base
      ) {
        for (const field of declaration.fields) {
          const { targets } = object.cell(field);
          if (!known) this.#include(targets, this.#decoded(site, field.type, `${declaration.name}.${field.name}`));
          // The field has its initial value if the item has no such key.
          if (field.initializer !== null) {
            this.decodedInitializers.add(field.initializer);
            this.#include(targets, this.#evaluate(field.initializer));
          }
        }
      }
      return [object];
    }
    if (inner.kind === "library") {
      const object = this.#created(site, path, made);
      for (const argument of inner.arguments)
        this.#include(object.content.targets, this.#decoded(site, argument, `${path}[]`));
      return [object];
    }
    return [];
  }

  #function(declaration: FunctionDeclaration): void {
    if (this.#visited.has(declaration)) return;
    this.#visited.add(declaration);
    for (const { local, defaultValue } of declaration.parameters)
      if (defaultValue !== null) this.#include(this.#variable(local), this.#evaluate(defaultValue));
    this.#statements(declaration.initializers, declaration);
    this.#statements(declaration.body, declaration);
  }

  #statements(statements: readonly Statement[], owner: FunctionDeclaration): void {
    for (const statement of statements) {
      for (const expression of statementExpressions(statement)) this.#evaluate(expression);
      // variant: variable-starts
      if (statement.kind === "variable" && statement.initializer !== null)
        this.#include(this.#variable(statement.local), this.of(statement.initializer));
      // variant: result-refers
      if (statement.kind === "return" && statement.value !== null)
        this.#include(this.#variable(owner), this.of(statement.value));
      this.#statements(nestedStatements(statement), owner);
    }
  }

  #evaluate(expression: Expression): ReadonlySet<AbstractObject> {
    for (const operand of operands(expression)) this.#evaluate(operand);
    let value = this.#values.get(expression);
    if (value === undefined) this.#values.set(expression, (value = new Set()));
    this.#include(value, this.#objects(expression));
    return value;
  }

  #objects(expression: Expression): Iterable<AbstractObject> {
    switch (expression.kind) {
      case "constant":
      case "operation":
      case "template":
      case "instance-of":
      case "draw":
      case "now":
      case "caller":
      case "abort":
      case "lane":
        return NONE;
      case "local":
        return this.#variable(expression.local);
      case "global":
        return this.#variable(expression.global);
      case "field":
        return [...this.of(expression.object)].flatMap((object) => [...object.cell(expression.field).targets]);
      case "cast":
      case "non-null":
        return this.of(expression.operand);
      case "sequence": {
        const last = expression.operands.at(-1);
        return last === undefined ? NONE : this.of(last);
      }
      case "logical":
        return [...this.of(expression.left), ...this.of(expression.right)];
      case "conditional":
        // variant: choice-refers
        return [...this.of(expression.consequent), ...this.of(expression.alternative)];
      case "assignment":
        return this.#assigned(expression);
      case "call":
      case "construction":
      case "indirect-call":
        return this.#called(expression);
      case "library":
        return this.#libraryResult(expression);
      case "array": {
        const array = this.#created(expression, "array", () => new AbstractObject(expression.type));
        // variant: literal-elements
        for (const element of expression.elements) this.#include(array.content.targets, this.of(element));
        return [array];
      }
      case "function-value":
        this.#function(expression.declaration);
        return [
          this.#created(
            expression.declaration,
            "function",
            () => new AbstractObject(expression.type, expression.declaration),
          ),
        ];
      case "new-table": {
        const { name } = expression;
        let table = this.#tables.get(name);
        if (table === undefined) this.#tables.set(name, (table = { kind: "table", name }));
        const location = table;
        return [this.#created(expression, "table", () => new AbstractObject(expression.type, null, location))];
      }
      case "access":
        return expression.operation === "get" ? this.#decoded(expression, expression.type, "") : NONE;
      case "scan":
        // variant: rows-decoded
        return this.#decoded(expression, expression.type, "");
    }
  }

  #assigned(expression: Extract<Expression, { kind: "assignment" }>): ReadonlySet<AbstractObject> {
    const { target, value } = expression;
    // Updates and compound assignments make numbers and strings.
    if (value === null || expression.operator !== "") return NONE;
    const objects = this.of(value);
    switch (target.kind) {
      case "local":
        // variant: local-refers
        this.#include(this.#variable(target.local), objects);
        break;
      case "global":
        // variant: global-refers
        this.#include(this.#variable(target.global), objects);
        break;
      case "field":
        // variant: field-refers
        for (const object of this.of(target.object)) this.#include(object.cell(target.field).targets, objects);
        break;
      case "element":
        // The index of a map is one of its keys.
        for (const container of this.of(target.container)) {
          // variant: container-refers
          this.#include(container.content.targets, [...objects, ...this.of(target.index)]);
          // The index may be beyond the end.
          this.#pierce(container);
        }
        break;
    }
    return objects;
  }

  #bind(
    callee: FunctionDeclaration,
    self: Iterable<AbstractObject> | null,
    args: readonly Iterable<AbstractObject>[],
  ): ReadonlySet<AbstractObject> {
    // variant: self-refers
    if (callee.self !== null && self !== null) this.#include(this.#variable(callee.self), self);
    for (const [index, { local }] of callee.parameters.entries()) {
      const argument = args[index];
      // variant: parameter-refers
      if (argument !== undefined) this.#include(this.#variable(local), argument);
    }
    this.#function(callee);
    return this.#variable(callee);
  }

  #called(expression: Call | Construction | IndirectCall): Iterable<AbstractObject> {
    const args = expression.arguments.map((argument) => this.of(argument));
    switch (expression.kind) {
      case "call": {
        const self = expression.receiver === null ? null : this.of(expression.receiver);
        const results = expression.callees.flatMap((callee) => [...this.#bind(callee, self, args)]);
        // `object.property = value` has the value.
        return expression.callees[0]?.kind === "setter" ? (args[0] ?? NONE) : results;
      }
      case "construction": {
        const object = this.#created(expression, "new", () => new AbstractObject(expression.type));
        // variant: constructed-self
        this.#bind(expression.callee, [object], args);
        return [object];
      }
      case "indirect-call":
        return this.functionsOf(expression.callee).flatMap((callee) => [...this.#bind(callee, null, args)]);
    }
  }

  #libraryResult(expression: LibraryCall): Iterable<AbstractObject> {
    const { member, receiver } = expression;
    const containers = receiver === null ? NONE : this.of(receiver);
    const elements = new Set([...containers].flatMap((container) => [...container.content.targets]));
    // A callback is called, and becomes no element.
    // variant: library-values
    const values = expression.arguments
      .slice(member.callback === null ? 0 : 1)
      .flatMap((argument) => [...this.of(argument)]);
    if (member.name === "length=") for (const container of containers) this.#pierce(container);
    if (member.storesArguments) for (const container of containers) this.#include(container.content.targets, values);
    // `typed.set(source)` copies numbers only; nothing to include.
    const results: AbstractObject[] = [];
    if (member.callback !== null) {
      const given = {
        accumulator: expression.arguments[1] === undefined ? elements : this.of(expression.arguments[1]),
        element: elements,
        plain: NONE,
        receiver: containers,
      };
      for (const callee of this.callbacksOf(expression)) {
        const args = member.callback.map((parameter) =>
          parameter === "accumulator" ? [...given.accumulator, ...this.#variable(callee)] : given[parameter],
        );
        // variant: callback-elements
        results.push(...this.#bind(callee, null, args));
      }
    }
    const compared = [...elements, ...values];
    // variant: operators-given
    for (const callee of expression.calls) this.#bind(callee, compared, [compared, compared]);
    switch (member.result) {
      case "plain":
        return NONE;
      case "element":
        // variant: element-result
        return elements;
      case "receiver":
        return containers;
      case "argument":
        return expression.arguments[0] === undefined ? NONE : this.of(expression.arguments[0]);
      case "any-argument":
        return values;
      case "accumulator":
        return [...results, ...(expression.arguments[1] === undefined ? elements : this.of(expression.arguments[1]))];
      case "copy":
      case "flattened":
      case "mapped": {
        if (nonNullable(expression.type).kind !== "library") return NONE;
        const copy = this.#created(expression, "result", () => new AbstractObject(expression.type));
        // variant: copied-elements
        const contents =
          member.result === "mapped"
            ? results
            : member.result === "flattened"
              ? [...elements].flatMap((inner) => [...inner.content.targets])
              : [...elements, ...values.flatMap((object) => [...object.content.targets])];
        this.#include(copy.content.targets, contents);
        const isSized = member.form === "constructor" && expression.arguments.length > 0;
        if (isSized || [...containers, ...elements, ...values].some(({ hasHoles }) => hasHoles)) this.#pierce(copy);
        return [copy];
      }
    }
  }
}
