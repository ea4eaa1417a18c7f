/**
 * The codes with which a handler may abort, for the types of clients. They are found in the calls that the compiler resolved.
 * Each code is a literal, a constant of a file, or a parameter to which every caller gives one.
 */
import { NOT_UNIQUE } from "@radical/protocol";
import { type as, CommonFlags, ElementKind, LiteralKind, NodeKind, OperatorKind } from "../parse/assemblyscript.ts";
import { withoutParentheses } from "../parse/children.ts";
import { type CompiledProgram, SDK_LIBRARY } from "../parse/compile.ts";
import type { Facts, FactsCompiler } from "../parse/facts.ts";
import { tableClass } from "../parse/table-classes.ts";
import type { Schema } from "./schema.ts";

interface Call {
  readonly callee: as.Function;
  readonly args: readonly as.Expression[];
}

/** A function without those that it calls. */
interface Summary {
  readonly calls: readonly Call[];
  /** Functions that it mentions as values, which may be called with anything. */
  readonly values: readonly as.Function[];
  readonly codes: readonly (as.Expression | undefined)[];
  /** It stores an item in a table with a unique index. */
  readonly putsUnique: boolean;
}

interface CallSite {
  readonly caller: as.Function;
  readonly args: readonly as.Expression[];
}

/** By handler, in their order; null: the handler may abort with any code. */
export function abortCodesOf(
  { compiler }: CompiledProgram<FactsCompiler>,
  { handlers, indexes, tables }: Pick<Schema, "handlers" | "indexes" | "tables">,
): ReadonlyMap<string, readonly string[] | null> {
  if (compiler === null) return new Map();
  const unique = new Set(
    indexes.flatMap((index) => {
      const table = tables.find(({ name }) => index.unique && name === index.table)?.declaration;
      const global = table === undefined ? undefined : compiler.program.elementsByDeclaration.get(table);
      const item = global?.kind === ElementKind.Global ? itemOf((global as as.Global).type) : undefined;
      return item === undefined ? [] : [item];
    }),
  );
  const codes = new AbortCodes(compiler.facts, unique);
  return new Map(handlers.map(({ name, instance }) => [name, codes.of(instance)]));
}

class AbortCodes {
  readonly #facts: Facts;
  /** The items of tables with a unique index. */
  readonly #unique: ReadonlySet<as.Type>;
  readonly #summaries = new Map<as.Function, Summary>();
  /** Functions that the library may call. */
  readonly #ofLibrary: readonly as.Function[];

  constructor(facts: Facts, unique: ReadonlySet<as.Type>) {
    this.#facts = facts;
    this.#unique = unique;
    this.#ofLibrary = [...facts.functions()].filter(
      ({ prototype }) => prototype.name === "toString" || prototype.operatorKind !== OperatorKind.Invalid,
    );
  }

  of(handler: as.Function): readonly string[] | null {
    const sites = new Map<as.Function, CallSite[]>();
    const values = new Set<as.Function>([handler, ...this.#ofLibrary]);
    const reached = new Set<as.Function>(values);
    // The set grows as it is read.
    for (const caller of reached) {
      const summary = this.#summaryOf(caller);
      for (const { callee, args } of summary.calls) {
        reached.add(callee);
        sites.set(callee, [...(sites.get(callee) ?? []), { caller, args }]);
      }
      for (const value of summary.values) {
        values.add(value);
        reached.add(value);
      }
    }
    const found = new Set<string>();
    if ([...reached].some((one) => this.#summaryOf(one).putsUnique)) found.add(NOT_UNIQUE);
    const asked = new Set<string>();
    const isKnown = (owner: as.Function, code: as.Expression | undefined): boolean => {
      if (code === undefined) return false;
      const inner = withoutParentheses(code);
      if (inner.kind === NodeKind.Ternary) {
        const { ifThen, ifElse } = inner as as.TernaryExpression;
        return isKnown(owner, ifThen) && isKnown(owner, ifElse);
      }
      const text = textIn(inner);
      if (text !== null) {
        found.add(text);
        return true;
      }
      const { target } = this.#facts.get(owner, inner);
      if (target?.kind === ElementKind.Global) {
        const { initializerNode, flags } = target as as.Global;
        return (flags & CommonFlags.Const) !== 0 && initializerNode !== null && isKnown(owner, initializerNode);
      }
      if (target?.kind !== ElementKind.Local || values.has(owner)) return false;
      const { parameters } = (owner.prototype.declaration as as.FunctionDeclaration).signature;
      const index = parameters.findIndex(({ name }) => name.text === target.name);
      if (index < 0) return false;
      // Asked before, it is answered there.
      const question = `${owner.internalName}#${index}`;
      if (asked.has(question)) return true;
      asked.add(question);
      return (sites.get(owner) ?? []).every(({ caller, args }) =>
        index < args.length
          ? isKnown(caller, args[index])
          : isKnown(owner, parameters[index]?.initializer ?? undefined),
      );
    };
    for (const owner of reached)
      for (const code of this.#summaryOf(owner).codes) if (!isKnown(owner, code)) return null;
    return [...found].toSorted();
  }

  #summaryOf(owner: as.Function): Summary {
    let summary = this.#summaries.get(owner);
    if (summary === undefined) this.#summaries.set(owner, (summary = this.#summarize(owner)));
    return summary;
  }

  #summarize(owner: as.Function): Summary {
    const calls: Call[] = [];
    const values: as.Function[] = [];
    const codes: (as.Expression | undefined)[] = [];
    let putsUnique = false;
    const entries = [...this.#facts.entriesOf(owner)];
    /** The nodes that are called. */
    const called = new Set<as.Node>();
    for (const [node, { calls: callees = [], lambda }] of entries) {
      if (lambda !== undefined) values.push(lambda);
      const args = argumentsOf(node);
      if (args === null) {
        // An accessor or an operator.
        values.push(...callees);
        continue;
      }
      if (node.kind === NodeKind.Call) called.add(withoutParentheses((node as as.CallExpression).expression));
      for (const callee of callees) {
        putsUnique ||= this.#putsUnique(callee);
        if (callee.prototype.internalName === `${SDK_LIBRARY}/index/abort`) codes.push(args[1]);
        else for (const one of withOverrides(callee)) calls.push({ callee: one, args });
      }
    }
    for (const [node, { target }] of entries) {
      if (target?.kind !== ElementKind.FunctionPrototype || called.has(node)) continue;
      if (target.isAny(CommonFlags.Generic | CommonFlags.Instance)) continue;
      const mentioned = owner.program.resolver.resolveFunction(target as as.FunctionPrototype, null);
      if (mentioned !== null) values.push(mentioned);
    }
    return { calls, values, codes, putsUnique };
  }

  #putsUnique({ prototype, parent }: as.Function): boolean {
    if (prototype.name !== "put" || parent.kind !== ElementKind.Class) return false;
    const owner = parent as as.Class;
    const item = tableClass(owner.prototype.internalName) === null ? undefined : itemOf(owner.type);
    return item !== undefined && this.#unique.has(item);
  }
}

/** The type of the items of a table. */
function itemOf(table: as.Type): as.Type | undefined {
  for (let owner = table.getClass(); owner !== null; owner = owner.base)
    if (owner.typeArguments !== null) return owner.typeArguments[0];
  return undefined;
}

/** Null: it is neither a call nor a construction. */
function argumentsOf(node: as.Node): readonly as.Expression[] | null {
  if (node.kind === NodeKind.Call) return (node as as.CallExpression).args;
  return node.kind === NodeKind.New ? (node as as.NewExpression).args : null;
}

function withOverrides(callee: as.Function): readonly as.Function[] {
  const overrides = callee.is(CommonFlags.Overridden) ? callee.program.resolver.resolveOverrides(callee) : null;
  return [callee, ...(overrides ?? [])];
}

/** Null: it is not a literal text. */
function textIn(node: as.Node): string | null {
  if (node.kind !== NodeKind.Literal) return null;
  const literal = node as as.LiteralExpression;
  return literal.literalKind === LiteralKind.String ? (literal as as.StringLiteralExpression).value : null;
}
