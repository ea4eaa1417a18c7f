/**
 * TypeScript's `Record<string, T>`: a map with `map[key]`, which is null for a key that is absent, `map[key] = value`, and
 * `{ a: 1 }`. It is a class of the SDK that extends `Map`, of which `map[key]` is what it is in AssemblyScript.
 */
import {
  as,
  Constraints,
  DiagnosticCode,
  ElementKind,
  LiteralKind,
  NodeKind,
  ReportMode,
  Token,
} from "./assemblyscript.ts";
import { ASSIGNMENTS, INCREMENTS } from "./assignments.ts";
import { withoutParentheses } from "./children.ts";
import { isBoxable, nullableOf, type Original } from "./nullable-numbers.ts";

/** Path of the file with the functions that read entries, in the SDK. */
export const ENTRIES_FILE = "entries.ts";

const ENTRIES = "~lib/@radical/sdk/entries";
const RECORD = `${ENTRIES}/Record`;

/** The types of the keys and values of a `Record`; null: the type is another one. */
export function entriesOf(type: as.Type | null): { readonly key: as.Type; readonly value: as.Type } | null {
  const found = type?.getClass() ?? null;
  if (found?.prototype.internalName !== RECORD) return null;
  const [key, value] = found.typeArguments!;
  return { key: key!, value: value! };
}

/** The type of maps of texts with such values. */
export function recordOf({ elementsByName, resolver, stringInstance }: as.Program, value: as.Type): as.Type | null {
  const prototype = elementsByName.get(RECORD);
  if (prototype?.kind !== ElementKind.ClassPrototype) return null;
  return resolver.resolveClass(prototype as as.ClassPrototype, [stringInstance.type, value])?.type ?? null;
}

interface ResolverInternals {
  resolveExpression(node: as.Expression, flow: as.Flow, ...context: readonly unknown[]): as.Type | null;
  lookupExpression(node: as.Expression, flow: as.Flow, ...context: readonly unknown[]): as.Element | null;
}

/** Teaches the resolver of a program what the type of an entry is. */
export function resolveMapEntries(program: as.Program): void {
  const resolver = program.resolver as unknown as ResolverInternals;
  const resolveExpression = resolver.resolveExpression.bind(resolver);
  const lookupExpression = resolver.lookupExpression.bind(resolver);
  const entryType = (node: as.Expression, flow: as.Flow): as.Type | null => {
    if (node.kind !== NodeKind.ElementAccess || node.range.source.isLibrary) return null;
    const container = withoutParentheses((node as as.ElementAccessExpression).expression);
    const type = resolver.resolveExpression(container, flow, as.Type.auto, ReportMode.Swallow);
    const entries = entriesOf(type);
    return entries === null ? null : nullableOf(program, entries.value);
  };
  resolver.resolveExpression = (node, flow, ...context) =>
    entryType(withoutParentheses(node), flow) ?? resolveExpression(node, flow, ...context);
  resolver.lookupExpression = (node, flow, ...context) =>
    entryType(withoutParentheses(node), flow)?.getClass() ?? lookupExpression(node, flow, ...context);
}

/** The part of a compiler that is about entries of maps. */
export class MapEntries {
  readonly #compiler: as.Compiler;
  readonly #original: Original;

  constructor(compiler: as.Compiler, original: Original) {
    this.#compiler = compiler;
    this.#original = original;
  }

  /** Null: the expression is another one. */
  compile(node: as.Expression, context: as.Type, constraints: Constraints): as.ExpressionRef | null {
    if (node.range.source.isLibrary) return null;
    switch (node.kind) {
      case NodeKind.ElementAccess:
        return this.#read(node as as.ElementAccessExpression, context, constraints);
      case NodeKind.Binary:
        return this.#write(node as as.BinaryExpression, context);
      case NodeKind.UnaryPrefix:
      case NodeKind.UnaryPostfix:
        return this.#update(node as as.UnaryExpression);
      case NodeKind.Literal:
        return (node as as.LiteralExpression).literalKind === LiteralKind.Object
          ? this.#literal(node as as.ObjectLiteralExpression, context)
          : null;
      default:
        return null;
    }
  }

  #read(node: as.ElementAccessExpression, context: as.Type, constraints: Constraints): as.ExpressionRef | null {
    const type = this.#typeOf(node.expression);
    const entries = entriesOf(type);
    if (type === null || entries === null) return null;
    const { program, resolver } = this.#compiler;
    const name = isBoxable(entries.value) ? "boxedEntryOf" : "entryOf";
    const prototype = program.elementsByName.get(`${ENTRIES}/${name}`) as as.FunctionPrototype;
    const reading = resolver.resolveFunction(prototype, [entries.key, entries.value]);
    if (reading === null) return null;
    const map = this.#compiler.compileExpression(node.expression, type.nonNullableType, Constraints.ConvImplicit);
    const key = this.#compiler.compileExpression(node.elementExpression, entries.key, Constraints.ConvImplicit);
    const value = this.#original.makeCallDirect(reading, [map, key], node);
    const { returnType } = reading.signature;
    this.#compiler.currentType = returnType;
    const isExplicit = (constraints & Constraints.ConvExplicit) !== 0;
    if (returnType === context || (!isExplicit && (constraints & Constraints.ConvImplicit) === 0)) return value;
    // The entry may be absent: where null has no place, this is a mistake.
    // variant: entry-converted
    const converted = this.#compiler.convertExpression(value, returnType, context, isExplicit, node);
    this.#compiler.currentType = context;
    return converted;
  }

  /** `map[key] = value` is `map.set(key, value)`. */
  #write({ operator, left, right, range }: as.BinaryExpression, context: as.Type): as.ExpressionRef | null {
    if (!ASSIGNMENTS.has(operator)) return null;
    const target = this.#entry(left);
    if (target === null) return null;
    if (operator !== Token.Equals) return this.#refuseUpdate(range, target);
    if (context !== as.Type.void) return this.#refuse(range, "assignments to entries of maps inside of expressions");
    const set = as.Node.createIdentifierExpression("set", target.range);
    const callee = as.Node.createPropertyAccessExpression(target.expression, set, target.range);
    const call = as.Node.createCallExpression(callee, null, [target.elementExpression, right], range);
    return this.#compiler.compileExpression(call, as.Type.void, Constraints.ConvImplicit);
  }

  #update({ operator, operand, range }: as.UnaryExpression): as.ExpressionRef | null {
    if (!INCREMENTS.has(operator)) return null;
    const target = this.#entry(operand);
    return target === null ? null : this.#refuseUpdate(range, target);
  }

  /** The entry that an expression names; null: it names another thing. */
  #entry(node: as.Expression): as.ElementAccessExpression | null {
    const target = withoutParentheses(node);
    if (target.kind !== NodeKind.ElementAccess) return null;
    const access = target as as.ElementAccessExpression;
    return entriesOf(this.#typeOf(access.expression)) === null ? null : access;
  }

  #refuseUpdate(range: as.Range, { expression }: as.ElementAccessExpression): as.ExpressionRef {
    const { value } = entriesOf(this.#typeOf(expression))!;
    const isText = value.getClass() === this.#compiler.program.stringInstance;
    return this.#refuse(
      range,
      `updates of entries of maps of ${value.isValue ? "numbers" : isText ? "texts" : "objects"}`,
    );
  }

  #refuse(range: as.Range, what: string): as.ExpressionRef {
    this.#compiler.error(DiagnosticCode.Not_implemented_0, range, what);
    this.#compiler.currentType = as.Type.void;
    return this.#compiler.module.unreachable();
  }

  /** `{ a: 1 }` is `new Record().set("a", 1)`. */
  #literal(node: as.ObjectLiteralExpression, context: as.Type): as.ExpressionRef | null {
    const entries = entriesOf(context);
    if (entries === null) return null;
    const { names, values } = node;
    const found = context.getClass()!;
    const { resolver, module } = this.#compiler;
    const set = resolver.resolveFunction(found.getMember("set") as as.FunctionPrototype, null)!;
    const constructor = this.#compiler.ensureConstructor(found, node);
    let map = this.#original.makeCallDirect(constructor, [module.i32(0)], node);
    names.forEach((name, index) => {
      const key = this.#compiler.ensureStaticString(name.text);
      const value = this.#compiler.compileExpression(values[index]!, entries.value, Constraints.ConvImplicit);
      map = this.#original.makeCallDirect(set, [map, key, value], name);
    });
    this.#compiler.currentType = found.type;
    return map;
  }

  #typeOf(node: as.Expression): as.Type | null {
    const { resolver, program, currentFlow } = this.#compiler;
    const told = program.diagnostics.length;
    const type = resolver.resolveExpression(withoutParentheses(node), currentFlow, as.Type.auto, ReportMode.Swallow);
    program.diagnostics.length = told;
    return type;
  }
}
