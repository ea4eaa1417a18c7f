/**
 * Key patterns: the key of an access in words, for people: `timelines/{me}`, `posts/{each ids of timelines/{me}}`.
 *
 *     pattern = table "/" { text | "{" value "}" }        braces of the text itself are doubled
 *     value   = parameter                                 of the handler
 *             | table "/" …                               the item that a read found
 *             | field " of " value                        a field of an item or of a record argument
 *             | "each " value | "each of " value          the elements of a container, one after the other
 *             | "each of " range                          the rows of a range, one after the other
 *             | "uuid" | "random" | "now" | "caller"
 *             | "…"                                       the pattern itself again: a recursion
 *             | "= " source                               computed
 *             | "?"                                       not known: there is no rule for it
 *
 *     range   = table "/" bounds
 *     bounds  = "…" | prefix "…" | from " … " to          and " after " or " before " a cursor
 *
 * A scan has a range, and which of its rows: `posts/{room}/…, last 20`. Constants are resolved, and helpers are looked through: an access in one has a pattern for each way to it. A pattern
 * is a description; nothing is derived from it.
 */
import type { SourceFile, Span } from "../diagnostics/diagnostic.ts";
import {
  statementExpressions,
  walkExpression,
  walkStatements,
  type Access,
  type Expression,
  type FieldDeclaration,
  type FunctionDeclaration,
  type LibraryCall,
  type Local,
  type Program,
  type Scan,
} from "../lower/ir.ts";
import { UNKNOWN } from "../lower/body/lower-body.ts";

/** The value of an expression. `record`: made here. `values`: a container made here. */
type Description =
  | { readonly kind: "text"; readonly parts: readonly Part[] }
  | { readonly kind: "value"; readonly value: Value }
  | { readonly kind: "record" }
  | { readonly kind: "values"; readonly elements: readonly Description[] };

type Part = { readonly kind: "literal" | "value"; readonly text: string };

/** `head of whole`, or the whole itself. */
interface Value {
  readonly head: string;
  readonly whole: string | null;
}

/** The values of the locals of the functions that were entered on the way, as far as they are known. */
type Scope = ReadonlyMap<Local, { readonly expression: Expression; readonly scope: Scope }>;

const NOWHERE: Scope = new Map();

/** Most patterns of one access, and longest source text in one. */
const MOST = 6;
const LONGEST = 48;
/** How deep functions and records are looked through. */
const DEEPEST = 32;

export class KeyPatterns {
  readonly #sources: ReadonlyMap<string, string>;
  readonly #parameters: ReadonlySet<Local>;
  /** The values that are assigned to a local; for parameters, by all calls. */
  readonly #definitions = new Map<Local, Expression[]>();
  /** The values that are put into the container that a local holds. */
  readonly #contents = new Map<Local, Expression[]>();
  /** The keys of the map that a local holds. */
  readonly #keys = new Map<Local, Expression[]>();
  readonly #fields = new Map<FieldDeclaration, Expression[]>();
  /** Locals that are also computed in place: `n += 1`. */
  readonly #updated = new Set<Local>();
  readonly #results = new Map<FunctionDeclaration, Expression[]>();
  readonly #open = new Set<Expression>();

  constructor(program: Program, functions: Iterable<FunctionDeclaration>, sources: readonly SourceFile[]) {
    this.#sources = new Map(sources.map(({ path, text }) => [path, text]));
    this.#parameters = new Set(program.handler.parameters.map(({ local }) => local));
    for (const declaration of functions) this.#read(declaration);
  }

  /** The patterns of an access to a table; sorted. */
  of(access: Access | Scan, table: string): readonly string[] {
    const found = new Set<string>();
    if (access.kind === "scan") return this.#ofScan(access, table);
    for (const description of this.#describe(access.key, NOWHERE, 0)) found.add(`${table}/${this.#key(description)}`);
    // The default of a field that is set before it is used: no item has an empty key.
    found.delete(`${table}/`);
    if (found.size === 0 || found.size > MOST) return [`${table}/{= ${this.source(access.key.span)}}`];
    return [...found].toSorted();
  }

  #ofScan({ operation, range, limit }: Scan, table: string): readonly string[] {
    const words = { first: "first", last: "last", count: "count" } as const;
    const kind = operation.replace("touch", "").toLowerCase() as keyof typeof words;
    const limits = limit === null ? [""] : this.#describe(limit, NOWHERE, 0).map((one) => ` ${this.#key(one)}`);
    const bounds = new Set(this.#describe(range, NOWHERE, 0).map((one) => this.#key(one)));
    // `range = range.before(cursor)` narrows one of the others.
    const narrowed = [...bounds].filter((bound) => bound.startsWith("{…} "));
    if (narrowed.length < bounds.size) for (const bound of narrowed) bounds.delete(bound);
    const known = bounds.size === 0 || bounds.size > MOST ? [`{= ${this.source(range.span)}}`] : [...bounds].toSorted();
    const rows = limits.length === 1 ? limits[0]! : ` {= ${this.source(limit!.span)}}`;
    return known.map((bound) => `${table}/${bound}, ${words[kind]}${rows}`);
  }

  /** Source text on one line. */
  source({ file, start, end }: Span): string {
    const text = (this.#sources.get(file) ?? "").slice(start, end).replaceAll(/\s+/g, " ");
    return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
  }

  #read(declaration: FunctionDeclaration): void {
    const results: Expression[] = [];
    this.#results.set(declaration, results);
    walkStatements([...declaration.initializers, ...declaration.body], (statement) => {
      if (statement.kind === "variable" && statement.initializer !== null)
        add(this.#definitions, statement.local, statement.initializer);
      if (statement.kind === "return" && statement.value !== null) results.push(statement.value);
      for (const expression of statementExpressions(statement))
        walkExpression(expression, (inner) => this.#note(inner));
    });
  }

  #note(expression: Expression): void {
    switch (expression.kind) {
      case "assignment": {
        const { target, value, operator } = expression;
        if (target.kind === "local") {
          if (operator === "" && value !== null) add(this.#definitions, target.local, value);
          else this.#updated.add(target.local);
        } else if (target.kind === "field" && value !== null && operator === "") {
          add(this.#fields, target.field, value);
        } else if (target.kind === "element" && value !== null && target.container.kind === "local") {
          add(this.#contents, target.container.local, value);
        }
        return;
      }
      case "call":
        for (const { self, parameters } of expression.callees) {
          if (self !== null && expression.receiver !== null) add(this.#definitions, self, expression.receiver);
          expression.arguments.forEach((argument, index) => {
            const parameter = parameters[index];
            if (parameter !== undefined) add(this.#definitions, parameter.local, argument);
          });
        }
        return;
      case "construction":
        expression.arguments.forEach((argument, index) => {
          const parameter = expression.callee.parameters[index];
          if (parameter !== undefined) add(this.#definitions, parameter.local, argument);
        });
        return;
      case "library":
        if (expression.member.storesArguments && expression.receiver?.kind === "local")
          this.#noteContent(expression, expression.receiver.local);
        this.#noteCallback(expression);
        return;
      default:
    }
  }

  #noteContent({ member, arguments: given }: LibraryCall, container: Local): void {
    for (const argument of given) add(this.#contents, container, argument);
    if (member.owner === "Map" && given[0] !== undefined) add(this.#keys, container, given[0]);
  }

  /** The parameters of a callback that get elements. */
  #noteCallback({ member, receiver, arguments: given, type, span }: LibraryCall): void {
    const callback = given.find((argument) => argument.kind === "function-value");
    if (callback === undefined || receiver === null) return;
    member.callback?.forEach((gets, index) => {
      const parameter = callback.declaration.parameters[index];
      if (parameter === undefined || gets !== "element") return;
      const element: LibraryCall = {
        kind: "library",
        member: { ...member, name: "[]", result: "element", callback: null },
        receiver,
        name: "[]",
        typeArguments: [],
        arguments: [],
        calls: [],
        type,
        span,
      };
      add(this.#definitions, parameter.local, element);
    });
  }

  /** All that an expression may be; empty for null. */
  #describe(expression: Expression, scope: Scope, depth: number): readonly Description[] {
    if (this.#open.has(expression)) return [valueOf("…")];
    if (depth > DEEPEST) return [this.#computed(expression)];
    this.#open.add(expression);
    try {
      return distinct(this.#describeNow(expression, scope, depth + 1));
    } finally {
      this.#open.delete(expression);
    }
  }

  #describeNow(expression: Expression, scope: Scope, depth: number): readonly Description[] {
    const inner = (one: Expression): readonly Description[] => this.#describe(one, scope, depth);
    switch (expression.kind) {
      case "constant":
        if (expression.text === "null") return [];
        // A constant of the library has a name: `i32.MAX_VALUE`.
        if (/^[A-Za-z]\w*\.\w+$/.test(expression.text)) return [valueOf(`= ${expression.text}`)];
        return [literal(textOfConstant(expression.text))];
      case "local": {
        const { local } = expression;
        if (this.#parameters.has(local)) return [valueOf(local.name)];
        const bound = scope.get(local);
        if (bound !== undefined) return this.#describe(bound.expression, bound.scope, depth);
        const definitions = this.#definitions.get(local);
        if (definitions === undefined || this.#updated.has(local)) return [valueOf(`= ${local.name}`)];
        const contents = this.#contents.get(local);
        const found = definitions.flatMap(inner);
        if (contents === undefined || !found.some(({ kind }) => kind === "values" || kind === "record")) return found;
        return [{ kind: "values", elements: [...elementsOf(found), ...contents.flatMap(inner)] }];
      }
      case "global": {
        const { mutable, initializer } = expression.global;
        return mutable || initializer === null ? [this.#computed(expression)] : inner(initializer);
      }
      case "field":
        return inner(expression.object).flatMap((object): readonly Description[] => {
          const { field } = expression;
          if (field.owner.kind === "row" && field.name === "value") return [object];
          if (object.kind === "value") return [valueOf(field.name, whole(object.value))];
          const values = this.#fields.get(field);
          if (object.kind !== "record" || values === undefined) return [this.#computed(expression)];
          return values.length === 1 ? values.flatMap(inner) : withoutDefault(values.flatMap(inner));
        });
      case "cast":
      case "non-null":
        return inner(expression.operand);
      case "template":
        return this.#joined(
          expression,
          expression.parts.flatMap((part, index) => {
            const operand = expression.operands[index];
            const text: readonly Description[] = [literal(part)];
            return operand === undefined ? [text] : [text, inner(operand)];
          }),
        );
      case "operation": {
        if (expression.operator === UNKNOWN) return [valueOf("?")];
        const isText = expression.operator === "+" && expression.type.kind === "string";
        return isText ? this.#joined(expression, expression.operands.map(inner)) : [this.#computed(expression)];
      }
      case "sequence":
        return expression.operands.slice(-1).flatMap(inner);
      case "logical":
        return [...inner(expression.left), ...inner(expression.right)];
      case "conditional":
        return [...inner(expression.consequent), ...inner(expression.alternative)];
      case "assignment":
        return expression.value === null || expression.operator !== ""
          ? [this.#computed(expression)]
          : inner(expression.value);
      case "call":
        return expression.callees.flatMap((callee) => {
          const results = this.#results.get(callee);
          if (results === undefined || results.length === 0) return [this.#computed(expression)];
          const within = new Map(scope);
          if (callee.self !== null && expression.receiver !== null)
            within.set(callee.self, { expression: expression.receiver, scope });
          expression.arguments.forEach((argument, index) => {
            const parameter = callee.parameters[index];
            if (parameter !== undefined) within.set(parameter.local, { expression: argument, scope });
          });
          return results.flatMap((result) => this.#describe(result, within, depth));
        });
      case "construction":
        return [{ kind: "record" }];
      case "array":
        return [{ kind: "values", elements: expression.elements.flatMap(inner) }];
      case "library":
        return this.#library(expression, scope, depth);
      case "access": {
        if (expression.operation !== "get" || expression.table.kind !== "global") return [this.#computed(expression)];
        const table = expression.table.global.initializer;
        if (table?.kind !== "new-table") return [this.#computed(expression)];
        return inner(expression.key).map((key) => valueOf("", `${table.name}/${this.#key(key)}`));
      }
      case "scan": {
        const table = expression.limit === null ? null : this.#tableOf(expression.range, depth);
        if (table === null) return [this.#computed(expression)];
        return inner(expression.range).map((range) => valueOf("", `${table}/${this.#key(range)}`));
      }
      case "draw":
        return [valueOf(expression.source)];
      case "now":
      case "caller":
        return [valueOf(expression.kind)];
      case "instance-of":
      case "indirect-call":
      case "function-value":
      case "new-table":
      case "abort":
      case "lane":
        return [this.#computed(expression)];
    }
  }

  /** The name of the table that a range is a view of; null: it is not known, or one of several. */
  #tableOf(range: Expression, depth: number): string | null {
    if (depth > DEEPEST) return null;
    const all = (values: readonly Expression[] | undefined): string | null => {
      const names = new Set(values?.map((value) => this.#tableOf(value, depth + 1)));
      return names.size === 1 ? [...names][0]! : null;
    };
    switch (range.kind) {
      case "library":
        return range.receiver === null ? null : this.#tableOf(range.receiver, depth + 1);
      case "local":
        // `range = range.before(cursor)` stays in its table.
        return all(this.#definitions.get(range.local)?.filter((value) => !mentions(value, range.local)));
      case "global":
        return range.global.initializer?.kind === "new-table" ? range.global.initializer.name : null;
      case "conditional":
        return all([range.consequent, range.alternative]);
      default:
        return null;
    }
  }

  #library(expression: LibraryCall, scope: Scope, depth: number): readonly Description[] {
    const { member, receiver, arguments: given } = expression;
    const described = (one: Expression): readonly Description[] => this.#describe(one, scope, depth);
    // A part of an entry's key with its end.
    if (member.name === "entryPart") return this.#joined(expression, [described(given[0]!), [literal("·")]]);
    if (receiver === null)
      return member.form === "constructor" ? [{ kind: "values", elements: [] }] : [this.#computed(expression)];
    if (member.name === "toString" && given.length === 0) return described(receiver);
    if (member.owner === "String") return [this.#computed(expression)];
    if (member.owner === "Table" || member.owner === "Range") {
      const text = (words: string): readonly Description[] => [literal(words)];
      const [from, to] = given.map(described);
      switch (member.name) {
        case "all":
          return text("…");
        case "prefix":
          return this.#joined(expression, [from!, text("…")]);
        case "range":
          return this.#joined(expression, [from!, text(" … "), to!]);
        default:
          return this.#joined(expression, [described(receiver), text(` ${member.name} `), from!]);
      }
    }
    switch (member.result) {
      case "element": {
        const [index] = given;
        const place = index?.kind === "constant" ? index.text : null;
        return described(receiver).flatMap((container): readonly Description[] => {
          if (container.kind === "values") return container.elements;
          if (container.kind === "value") return [{ kind: "value", value: elementOf(container.value, place) }];
          return [this.#computed(expression)];
        });
      }
      case "copy":
      case "receiver": {
        const keys = member.name === "keys" && receiver.kind === "local" ? this.#keys.get(receiver.local) : undefined;
        return keys === undefined ? described(receiver) : [{ kind: "values", elements: keys.flatMap(described) }];
      }
      case "plain":
      case "flattened":
      case "mapped":
      case "accumulator":
      case "argument":
      case "any-argument":
        return [this.#computed(expression)];
    }
  }

  /** Texts one behind the other: every combination. */
  #joined(expression: Expression, pieces: readonly (readonly Description[])[]): readonly Description[] {
    let found: readonly (readonly Part[])[] = [[]];
    for (const piece of pieces) {
      found = found.flatMap((before) =>
        piece.map((description) => [...before, ...this.#parts(description, expression)]),
      );
      if (found.length > MOST) return [this.#computed(expression)];
    }
    return found.map((parts) => ({ kind: "text", parts }));
  }

  #parts(description: Description, { span }: Expression): readonly Part[] {
    switch (description.kind) {
      case "text":
        return description.parts;
      case "value":
        return [{ kind: "value", text: whole(description.value) }];
      case "record":
      case "values":
        return [{ kind: "value", text: `= ${this.source(span)}` }];
    }
  }

  #key(description: Description): string {
    if (description.kind === "record" || description.kind === "values") return "{…}";
    const parts: readonly Part[] =
      description.kind === "text" ? description.parts : [{ kind: "value", text: whole(description.value) }];
    return parts
      .map(({ kind, text }) => (kind === "value" ? `{${text}}` : text.replaceAll(/[{}]/g, (brace) => brace + brace)))
      .join("");
  }

  #computed({ span }: Expression): Description {
    return valueOf(`= ${this.source(span)}`);
  }
}

function add<K>(map: Map<K, Expression[]>, key: K, value: Expression): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}

function mentions(expression: Expression, local: Local): boolean {
  let found = false;
  walkExpression(expression, (part) => {
    found ||= part.kind === "local" && part.local === local;
  });
  return found;
}

function valueOf(head: string, of: string | null = null): Description {
  return { kind: "value", value: { head, whole: of } };
}

function whole({ head, whole: of }: Value): string {
  if (of === null) return head;
  return head === "" ? of : `${head} of ${of}`;
}

function elementOf({ head, whole: of }: Value, place: string | null): Value {
  if (place !== null) return { head: `${head === "" ? "item" : head}[${place}]`, whole: of };
  return { head: head === "" ? "each" : `each ${head}`, whole: of };
}

function elementsOf(descriptions: readonly Description[]): readonly Description[] {
  return descriptions.flatMap((one) => (one.kind === "values" ? one.elements : []));
}

function literal(text: string): Description {
  return { kind: "text", parts: [{ kind: "literal", text }] };
}

/** A field that is set before it is used has its empty default in no key. */
function withoutDefault(values: readonly Description[]): readonly Description[] {
  const others = values.filter((one) => one.kind !== "text" || one.parts.some(({ text }) => text !== ""));
  return others.length === 0 ? values : others;
}

/** A constant as it is in a key: without quotes. */
function textOfConstant(text: string): string {
  if (!/^["'`]/.test(text)) return text;
  try {
    return JSON.parse(text) as string;
  } catch {
    return text.slice(1, -1);
  }
}

function distinct(descriptions: readonly Description[]): readonly Description[] {
  const seen = new Set<string>();
  return descriptions.filter((description) => {
    const text = JSON.stringify(description);
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}
